"""Pictures of missed documents and of words that never meet; plain arrays in, ``Figure`` objects out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import text as _t
from workbench.views.fonts import drawable
from workbench.views.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, drawing, sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

#: Roles of documents in the neighbourhood map → colour, marker, size.
ROLES: Mapping[str, tuple[str, str, float]] = {
    "corpus": (GREY, "o", 14), "rival": (ORANGE, "s", 34), "came": (SKY, "o", 46), "expected": (GREEN, "P", 60),
    "missed": (VERMILLION, "X", 90), "question": (BLUE, "*", 170),
}  # fmt: skip
#: Sub-causes → colour and marker, so that colour never stands alone.
MARKS: Mapping[str, tuple[str, str]] = {
    "filtered": (BLUE, "s"), "just_below_k": (GREEN, "^"), "crowded_out": (ORANGE, "D"),
    "lexical_gap": (VERMILLION, "v"),
    "semantic_gap": (PURPLE, "o"), "language_gap": (SKY, "P"), "truncated": (GREY, "X"),
}  # fmt: skip


def profile(
    background: ArrayLike, came: ArrayLike, missed: float, kth: float, *, title: str = "", theme: str = "print"
) -> Figure:
    """Similarity profile of one question: the corpus as a histogram, what came as ticks, the missed document as a line.

    Parameters
    ----------
    background, came
        Cosines of all documents (n,) and of the recorded contexts.
    missed, kth
        Cosines of the missed document and of the k-th nearest one.
    """
    values = np.asarray(background, dtype=float)
    edges = np.linspace(values.min(), values.max() + 1e-9, 60)
    with drawing(9.6, 2.6, theme) as (figure, axes):
        figure.subplots_adjust(left=0.055, right=0.985, top=0.86, bottom=0.2)
        axes.hist(values, edges.tolist(), color=GREY, alpha=0.45)
        top = axes.get_ylim()[1]
        axes.vlines(np.asarray(came, dtype=float), 0, top * 0.35, color=SKY, lw=2.2)
        axes.axvline(kth, color=BLUE, lw=1.2, ls="--")
        axes.axvline(missed, color=VERMILLION, lw=2.2)
        for value, key, color, height in ((missed, "missed", VERMILLION, 0.97), (kth, "kth", BLUE, 0.82)):
            _label(axes, value, height, _t(f"missed.plot.{key}"), color, (edges[0] + edges[-1]) / 2)
        if np.size(came):
            _label(axes, float(np.max(came)), 0.36, _t("missed.plot.came"), SKY, (edges[0] + edges[-1]) / 2)
        axes.set_xlabel(drawable(_t("missed.plot.similarity")))
        axes.set_title(drawable(title, 120))
    return figure


def _label(axes: Axes, value: float, height: float, words: str, color: str, middle: float) -> None:
    """A direct label beside a line, on the side where there is room."""
    left = value > middle
    axes.annotate(drawable(words), (value, height), xycoords=("data", "axes fraction"), xytext=(-4 if left else 4, 0),
                  textcoords="offset points", color=color, ha="right" if left else "left", va="top")  # fmt: skip


def neighbourhood(
    vectors: NDArray[np.float32], roles: Sequence[str], names: Sequence[str], *, title: str = "", theme: str = "print"
) -> tuple[Figure, str]:
    """2-D map (PCA) of documents and the question; everything but the corpus background is named.

    Parameters
    ----------
    vectors
        Unit rows (n, d).
    roles, names
        Of each row: one of :data:`ROLES`, and its label.

    Returns
    -------
    The figure, and the sentence that says what share of the variance it shows and how many points were left out.
    """
    kinds = np.array(roles, dtype=object)
    drawn, notice = sampled(len(kinds), kinds != "corpus", 2000)
    points, share = project(vectors[drawn])
    with drawing(9.6, 4.6, theme) as (figure, axes):
        figure.subplots_adjust(left=0.02, right=0.82, top=0.92, bottom=0.03)
        for role, (color, marker, size) in ROLES.items():
            mine = kinds[drawn] == role
            style: dict[str, Any] = {"alpha": 0.4, "linewidths": 0} if role == "corpus" else {"edgecolors": "white"}
            across, up = points[mine].T
            axes.scatter(across, up, c=color, marker=marker, s=size, label=drawable(_t(f"missed.role.{role}")), **style)
        _name_points(axes, points, [names[at] for at in drawn], kinds[drawn])
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(drawable(title, 120))
    words = _t("missed.plot.map_note", share=f"{share:.0%}".replace("%", " %"))
    return figure, f"{words} {notice}".strip()


def _name_points(axes: Axes, points: NDArray[np.floating], names: Sequence[str], kinds: NDArray[Any]) -> None:
    """Labels that do not lie on each other: one is left out where another stands already."""
    scale = np.ptp(points, axis=0) if len(points) else np.ones(2)
    placed: list[NDArray[np.floating]] = []
    middle = np.min(points[:, 0], initial=np.inf) + 0.7 * scale[0]
    for wanted in ("missed", "question", "expected", "came", "rival"):
        for at in np.flatnonzero(kinds == wanted).tolist():
            place = points[at] / np.where(scale > 0, scale, 1)
            if any(abs(place[0] - other[0]) < 0.2 and abs(place[1] - other[1]) < 0.035 for other in placed):
                continue
            placed.append(place)
            left = points[at, 0] > middle
            axes.annotate(drawable(names[at], 26), points[at], xytext=(-6 if left else 6, 3), fontsize=8,
                          textcoords="offset points", ha="right" if left else "left")  # fmt: skip


def project(vectors: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """The first two principal components (n, 2) of rows, and the share of the variance that they hold."""
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = min(2, len(sizes))
    points = np.zeros((len(centred), 2))
    points[:, :kept] = left[:, :kept] * sizes[:kept]
    total = float((sizes**2).sum())
    return points, float((sizes[:2] ** 2).sum() / total) if total else 1.0


def quadrant(
    dense: ArrayLike, bm25: ArrayLike, causes: Sequence[str | None], k: int, n_documents: int, *,
    current: int | None = None, title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Dense rank against BM25 rank of each missed document, log scales, with what each quadrant means.

    Parameters
    ----------
    dense, bm25
        Ranks (n,); rows with a missing one are left out.
    current
        The row to point out.
    """
    across, up = np.asarray(dense, dtype=float), np.asarray(bm25, dtype=float)
    known = np.isfinite(across) & np.isfinite(up)
    with drawing(9.6, 4.2, theme) as (figure, axes):
        figure.subplots_adjust(left=0.07, right=0.75, top=0.91, bottom=0.12)
        limit = max(n_documents, k + 1) * 1.3
        axes.set(xscale="log", yscale="log", xlim=(0.8, limit), ylim=(0.45, limit * 1.8))  # room for the words
        axes.axvline(k + 0.5, color=GREY, lw=1)
        axes.axhline(k + 0.5, color=GREY, lw=1)
        for cause, (color, marker) in MARKS.items():
            mine = known & np.array([name == cause for name in causes], dtype=bool)
            if mine.any():
                axes.scatter(across[mine], up[mine], c=color, marker=marker, s=48, alpha=0.85, edgecolors="white",
                             label=drawable(f"{_t(f'causes.sub.{cause}')} {int(mine.sum())}"))  # fmt: skip
        if current is not None and known[current]:
            axes.scatter(across[current], up[current], s=210, facecolors="none", edgecolors=BLUE, linewidths=1.8)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _quadrant_words(axes)
        axes.set_xlabel(drawable(_t("missed.plot.dense_rank")))
        axes.set_ylabel(drawable(_t("missed.plot.bm25_rank")))
        if known.any():
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
        axes.set_title(drawable(title, 110))
    return figure


def _quadrant_words(axes: Axes) -> None:
    for x, y, key in (
        (0.01, 0.01, "both"),
        (0.99, 0.01, "words_only"),
        (0.01, 0.99, "meaning_only"),
        (0.99, 0.99, "none"),
    ):
        words = drawable(_t(f"missed.quadrant.{key}")).replace(": ", ":\n").replace("：", "：\n")
        axes.annotate(words, (x, y), xycoords="axes fraction", fontsize=8, alpha=0.75,
                      ha="left" if x < 0.5 else "right", va="bottom" if y < 0.5 else "top")  # fmt: skip


def rescue(curves: Mapping[str, ArrayLike], depths: ArrayLike, n: int, k: int, *, title: str = "",
           theme: str = "print") -> Figure:  # fmt: skip
    """How many missed documents each ranking would fetch at each depth; ``curves``: name → counts (d,)."""
    from matplotlib.ticker import MaxNLocator

    styles = {"dense": (BLUE, "-"), "bm25": (ORANGE, "--"), "hybrid": (GREEN, "-.")}
    x = np.asarray(depths)
    with drawing(9.6, 2.9, theme) as (figure, axes):
        figure.subplots_adjust(left=0.06, right=0.86, top=0.87, bottom=0.17)
        heights = sorted((float(np.asarray(y)[-1]), name) for name, y in curves.items())
        last = -np.inf
        for end, name in heights:
            color, line = styles.get(name, (GREY, "-"))
            axes.step(x, np.asarray(curves[name]), where="post", color=color, ls=line, lw=2)
            last = max(end, last + 0.09 * max(n, 1))
            axes.annotate(drawable(_t(f"missed.curve.{name}")), (x[-1], last), xytext=(5, -3), color=color,
                          textcoords="offset points", annotation_clip=False)  # fmt: skip
        axes.axvline(k, color=GREY, lw=1)
        axes.set(xlim=(1, x[-1]), ylim=(0, max(n, 1) * 1.05))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(drawable(_t("missed.plot.depth")))
        axes.set_title(drawable(title, 110))
    return figure


def hub_chart(names: Sequence[str], counts: ArrayLike, expected: ArrayLike, hub: Sequence[bool], *, title: str = "",
              theme: str = "print") -> Figure:  # fmt: skip
    """How often documents came: expected ones solid, the rest hatched; hubs carry a mark."""
    from matplotlib.ticker import MaxNLocator

    total, wanted = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    with drawing(9.6, 0.9 + 0.24 * max(len(names), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.27, right=0.93, top=1 - 0.36 / height, bottom=0.46 / height)
        rows = np.arange(len(names))
        axes.barh(rows, wanted, 0.7, color=GREEN, label=drawable(_t("missed.hub.expected")))
        axes.barh(rows, total - wanted, 0.7, left=wanted, color=ORANGE, hatch="////", edgecolor="white", lw=0,
                  label=drawable(_t("missed.hub.other")))  # fmt: skip
        for row, value, marked in zip(rows, total, hub, strict=True):
            axes.annotate(
                f"{int(value)}{' ⚠' if marked else ''}", (value, row), xytext=(4, -3), textcoords="offset points"
            )
        axes.set_yticks(rows, [drawable(name, 34) for name in names])
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="lower right", frameon=False, fontsize=8)
        axes.set_xlabel(drawable(_t("missed.hub.axis")))
        axes.set_title(drawable(title, 100), x=-0.36)
    return figure


def heat_map(terms: Sequence[str], names: Sequence[str], weights: NDArray[np.floating], *, title: str = "",
             theme: str = "print") -> Figure:  # fmt: skip
    """Question terms (rows) × documents (columns): darker where a weightier term stands, ``·`` where none does."""
    from matplotlib.colors import LinearSegmentedColormap

    cells = np.asarray(weights, dtype=float).reshape(len(terms), len(names))
    blues = LinearSegmentedColormap.from_list("coverage", ["#ffffff00", BLUE])
    with drawing(9.6, 1.3 + 0.26 * max(len(terms), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.16, right=0.985, top=1 - 0.36 / height, bottom=0.8 / height)
        axes.imshow(cells, cmap=blues, aspect="auto", vmin=0, vmax=max(float(cells.max(initial=0)), 1e-9))
        for row, column in np.ndindex(cells.shape):
            value = cells[row, column]
            axes.annotate(f"{value:.1f}" if value else "·", (column, row), ha="center", va="center", fontsize=8,
                          color="white" if value > 0.6 * cells.max(initial=0) else None)  # fmt: skip
        axes.set_yticks(range(len(terms)), [drawable(term, 20) for term in terms])
        axes.set_xticks(range(len(names)), [drawable(name, 24) for name in names], rotation=18, ha="right", fontsize=8)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_title(drawable(title, 100), x=-0.16)
    return figure
