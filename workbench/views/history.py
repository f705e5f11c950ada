"""A history of runs as words, pictures and tables: plain functions that panel, report and command line share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from workbench.data.run_config import config_words
from workbench.data.schema import none_if_missing
from workbench.diagnosis.series import Series
from workbench.language import listed, numbers, sentences
from workbench.language import text as _t
from workbench.language.numbers import p_value, percent, points
from workbench.runs import History
from workbench.scoring.metrics import HEADLINE
from workbench.views import figures
from workbench.views.figures import drawable
from workbench.views.html import empty, h, marked, picture, quiet, safe, table, text_differences
from workbench.views.wording import cause_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Runs that are drawn at most, the newest; ids that a sentence names; rows of the matrix that are drawn.
DRAWN, NAMED, ROWS = 60, 8, 40
#: Cards of samples in a page at most.
CARDS = 60


# ------------------------------------------------------------------------------
# In words.


def verdict_lines(history: History) -> list[str]:
    """What happened, a sentence or two a line: the last run, what broke it and by which change, drift, noise, flaky ones."""
    series = history.series
    rates, steps = series.rates(), series.steps()
    last = rates.iloc[-1]
    figures = {"samples": numbers.count(len(series.ids)), "run": last["run"], "rate": percent(last["rate"]),
               "low": percent(last["low"]), "high": percent(last["high"])}  # fmt: skip
    if len(series) == 1:
        return [_t("history.verdict.runs_one", **figures)]
    lines = [_t("history.verdict.runs", n=len(series), first=series.runs[0], last=series.runs[-1], **figures)]
    sure = steps[steps["verdict"] != "noise"]
    lines += [step_words(series, row) for row in sure.to_dict("records")]
    drift = series.drift()
    if drift["sure"]:
        lines.append(_t("history.verdict.drift", points=points(drift["per_run"]), low=points(drift["low"]),
                        high=points(drift["high"]), p=p_value(drift["p_adjusted"])))  # fmt: skip
    if not (sure["verdict"] == "broke").any() and not drift["sure"]:
        lines.append(_t("history.verdict.quiet", points=points(_detectable(series), signed=False)))
    return [*lines, *noise_lines(history)]


def _detectable(series: Series) -> float:
    """What the newest step would have had to lose to be called: (z of its share + z of 80 %) standard errors."""
    from scipy.stats import norm

    from workbench.diagnosis.series import share_of_step

    row = series.steps().iloc[-1]
    error = (row["high"] - row["low"]) / 2 / 1.96
    z = float(norm.isf(0.45 * series.alpha * share_of_step(int(row["step"])))) + 0.84
    return float(max(error * z, 9 / row["n"] if row["n"] else np.nan))


def step_words(series: Series, row: Mapping[str, Any]) -> str:
    """A step that broke it or made it better, with what changed and what is to blame."""
    kind = row["verdict"] if row["verdict"] != "broke" or row["standing"] else "repaired"
    figures = {name: points(row[name]) for name in ("low", "high")} | {"points": points(abs(row["delta"]), signed=False)}
    figures |= {"run": row["run"], "before": row["before"], "p": p_value(row["p_adjusted"]), "n": row["n"]}
    return sentences([_t(f"history.verdict.{kind}", **figures), change_words(series, row)])


def change_words(series: Series, row: Mapping[str, Any]) -> str:
    """What changed at a step, and which of it did it, or what to run to know."""
    if row["change"] in ("none", "unknown"):
        return _t(f"history.verdict.{row['change']}")
    step, keys, blamed = int(row["step"]), row["keys"], row["blamed"]
    changes = series.changes_between(step - 1, step)
    if len(keys) == 1:
        return _t("history.verdict.key", changes=changes)
    if blamed:
        return _t("history.verdict.keys", changes=changes, keys=listed(blamed))
    if runs := series.to_record(step):
        shown = "; ".join(f"({at}) {config_words(config)}" for at, config in enumerate(runs, start=1))
        return _t("history.verdict.cannot_tell", changes=changes, keys=listed(keys), runs=shown)
    return _t("history.verdict.weak", changes=changes)


def noise_lines(history: History) -> list[str]:
    """The noise floor, flaky samples, and what a judge changed its mind about."""
    series = history.series
    noise, moves, flaky = series.noise(), series.judge_moves, series.ids[series.flaky]
    if len(noise):
        lines = [_t("history.verdict.floor", points=points(noise["floor"].max(), signed=False),
                    flipping=percent(float(np.average(noise["flipping"], weights=noise["n_runs"])), decimals=1),
                    n=int(noise["n_runs"].sum()))]  # fmt: skip
    else:
        lines = [_t("history.verdict.no_repeats")]
    if len(flaky):
        ids = listed(flaky[:NAMED]) + (" …" if len(flaky) > NAMED else "")
        lines.append(
            _t("history.verdict.flaky", n=len(flaky), share=percent(len(flaky) / len(series.ids), decimals=1), ids=ids)
        )
    if history.without_flaky:
        lines.append(_t("history.verdict.left_out"))
    if moves[["up", "down"]].to_numpy().sum():
        lines.append(_t("history.verdict.judge", up=int(moves["up"].sum()), down=int(moves["down"].sum())))
    return lines


def bisect_lines(history: History, good: str, bad: str) -> list[str]:
    """What is suspected between a good and a bad run, from which runs that is known, and which to record next."""
    found = history.series.bisect(good, bad)
    if found.record is None:
        (key,) = found.suspects or ("–",)
        before, after = found.changed.get(key, ("–", "–"))
        lines = [_t("history.report.bisect_found", key=key, before=_value(before), after=_value(after))]
    else:
        lines = [_t("history.report.bisect_next", keys=listed(found.suspects), config=config_words(found.record))]
    if found.used:
        runs = listed(f"{run} ({_t(f'history.report.{side}')})" for run, side in found.used)
        lines.append(_t("history.report.bisect_used", runs=runs))
    return lines


# ------------------------------------------------------------------------------
# Tables.


def steps_frame(series: Series) -> pd.DataFrame:
    """Every step as a reader sees it: ``run, changed, delta, interval, p, verdict, blamed``."""
    rows = []
    for row in series.steps().to_dict("records"):
        changed = series.changes_between(row["step"] - 1, row["step"])
        rows.append({
            "run": row["run"], "changed": changed or _t(f"history.change.{row['change']}"), **_figures(row),
            "verdict": _t(f"history.step.{row['verdict']}"), "blamed": listed(row["blamed"]) or "–",
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "changed", "delta", "interval", "p", "verdict", "blamed"])


def _figures(row: Mapping[str, Any]) -> dict[str, str]:
    """A difference, its interval and its corrected p, as texts."""
    interval = f"{points(row['low'])} … {points(row['high'])}" if row["n"] else "–"
    return {"delta": points(row["delta"]), "interval": interval, "p": numbers.chance(row["p_adjusted"])}


def keys_frame(series: Series) -> pd.DataFrame:
    """Every key and change of value: ``key, values, method, delta, interval, p, verdict``."""
    rows = []
    for row in series.key_effects().to_dict("records"):
        together = f" ({listed(row['together'])})" if row["together"] else ""
        rows.append({
            "key": row["key"], "values": f"{_value(row['value_before'])} → {_value(row['value_after'])}",
            "method": _t(f"history.panel.method_{row['method']}", n=row["n_pairs"]), **_figures(row),
            "verdict": _t(f"history.effect.{row['verdict']}") + together,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["key", "values", "method", "delta", "interval", "p", "verdict"])


def _value(value: Any) -> str:
    return "–" if none_if_missing(value) is None else str(value)


def runs_frame(history: History) -> pd.DataFrame:
    """Every run, the newest first: ``run, date, n, passed, end_to_end_correct, changed``."""
    series, whole = history.series, history.table
    rows = []
    for at in reversed(range(len(whole))):
        row = whole.iloc[at]
        rows.append({
            "run": row["run"], "date": str(row["date"])[:16].replace("T", " "), "n": int(row["n"]),
            "passed": _rate(row, "passed"), HEADLINE: _rate(row, HEADLINE),
            "changed": series.changes_between(at - 1, at) if at else "",
        })  # fmt: skip
    return pd.DataFrame(rows)


def _rate(row: Any, name: str) -> str:
    value = row.get(name)
    ends = numbers.interval(row.get(f"{name}_low"), row.get(f"{name}_high"), rate=True)
    return percent(value) + (f" ({ends})" if ends else "")


def broken_frame(history: History) -> pd.DataFrame:
    """Samples that broke and are not repaired, the newest first: index ``sample_id``; ``broke_in, passed_in, changed, cause,
    output_changed, flaky``."""
    series = history.series
    samples = series.samples()
    broken = samples[samples["state"] == "broken"].set_index("sample_id")
    place = {run: at for at, run in enumerate(series.runs)}
    order = broken["broke_in"].map(place).sort_values(ascending=False, kind="stable").index
    return broken.loc[order, ["broke_in", "passed_in", "changed", "cause", "output_changed", "flaky"]]


def frame_markup(frame: pd.DataFrame, caption: str = "", total: int | None = None) -> Markup:
    """A table of this history."""
    formats = dict.fromkeys(frame.columns, lambda value: value if isinstance(value, bool) else safe(value))
    known = {"cause": lambda value: safe(cause_title(value)), "output_changed": _yes, "flaky": _yes}
    return table(frame, headings="history.column", formats={**formats, **known}, caption=caption, total=total)


def verdict_markup(history: History) -> list[Markup]:
    """The lines of the verdict, the first one large."""
    return [h("p", line, cls="wb-verdict" if at == 0 else "") for at, line in enumerate(verdict_lines(history))]


def history_tables(history: History) -> list[Markup]:
    """Steps, keys and the newest runs."""
    series = history.series
    tables = [frame_markup(steps_frame(series), _t("history.panel.steps"))]
    if series.keys:
        tables.append(frame_markup(keys_frame(series), _t("history.panel.keys")))
    return [*tables, frame_markup(runs_frame(history).head(DRAWN), _t("history.panel.runs"), len(history))]


def _yes(value: Any) -> Markup:
    return safe("–" if value is None else _t("panels.common.yes" if value else "panels.common.no"))


# ------------------------------------------------------------------------------
# Pictures.


def cause_colors(names: Iterable[str]) -> dict[str, str]:
    """A colour a cause, the most frequent first; those after the eighth share a grey."""
    palette = (figures.VERMILLION, figures.BLUE, figures.ORANGE, figures.PURPLE, figures.SKY, "#8C510A", "#5E4FA2", "#999933")
    return {name: palette[at] if at < len(palette) else "#777777" for at, name in enumerate(names)}


def series_figure(history: History, theme: str = "print") -> Figure:
    """Rates with their intervals over the runs; below, failing samples by cause; on the axis, what changed."""
    series, whole = history.series, history.table
    first = max(len(series) - DRAWN, 0)
    shown = whole.iloc[first:]
    x = np.arange(len(shown))
    counts = series.cause_counts().iloc[first:]
    height = 3.3 if theme == "screen" else 4.8
    with figures.drawing(height, theme) as (figure, _):
        figure.clear()
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (1.5, 1), "hspace": 0.34})
        below = 0.67 if len(shown) > 6 else 0.32  # names of many runs lean
        figure.subplots_adjust(left=0.06, right=_room_for_names(figure), top=1 - 0.38 / height, bottom=below / height)
        for axis in (upper, lower):
            axis.spines[["top", "right"]].set_visible(False)
        ends = []
        for name, color, title in ((HEADLINE, figures.BLUE, "rate"), ("passed", figures.GREEN, "passed")):
            if name in shown and shown[name].notna().any():
                mean, low, high = (shown[key].to_numpy(dtype=float) for key in (name, f"{name}_low", f"{name}_high"))
                upper.errorbar(
                    x, mean, [mean - low, high - mean], fmt="o-", color=color, lw=1.6, ms=4, elinewidth=0.8, capsize=2
                )
                ends.append((mean[-1], f"{_t(f'history.panel.{title}')} {percent(mean[-1])}", color))
        upper.set_ylim(0, 1.04)
        upper.yaxis.set_major_formatter(lambda value, _: percent(value))
        _labels(upper, ends, len(shown) - 1)
        _steps(upper, series, first)
        bottom = np.zeros(len(shown))
        colors = cause_colors(counts.columns)
        for at, name in enumerate(counts):
            words = cause_title(name) if at < 8 else _t("history.panel.others") if at == 8 else "_"
            lower.bar(x, counts[name], 0.75, bottom=bottom, color=colors[name], label=drawable(words, 22))
            bottom += counts[name].to_numpy()
        if len(counts.columns):
            lower.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7.5)
        lower.set_title(drawable(_t("history.panel.failing"), 60), fontsize=8.5, pad=3)
        names = [drawable(str(run), 16) for run in shown["run"]]
        every = max(1, len(names) // 20)
        lower.set_xticks(x[::every], names[::every], rotation=40 if len(names) > 6 else 0,
                         ha="right" if len(names) > 6 else "center", fontsize=8)  # fmt: skip
        upper.set_title(drawable(_t("history.panel.figure_title", runs=len(series)), 110))
        for at, run in enumerate(shown["run"].tolist()):
            label = _run_label(history, first + at)
            for axes in (upper, lower):
                figures.stand_for(axes, ["run", run], label, box=(at - 0.5, math.nan, at + 0.5, math.nan))
    return figure


def _room_for_names(figure: Figure) -> float:
    """Where axes end that have names of causes beside them, as a share of the width."""
    return 1 - 1.8 / float(figure.get_figwidth())


def _run_label(history: History, at: int) -> str:
    """What a pointer over a run says."""
    row = history.table.iloc[at]
    parts = [row["run"], str(row["date"])[:10], f"{_t('history.panel.passed')} {_rate(row, 'passed')}"]
    return " · ".join(part for part in [*parts, history.series.changes_between(at - 1, at) if at else ""] if part)


def _labels(axes: Axes, ends: Sequence[tuple[float, str, str]], at: int) -> None:
    """The names of the lines at their ends, not over each other."""
    last = -1.0
    for y, words, color in sorted(ends):
        last = max(y, last + 0.1)
        axes.annotate(drawable(words, 30), (at, y), xytext=(1.01, last), textcoords=axes.get_yaxis_transform(),
                      color=figures.readable(color, vars(axes.figure)["paper"]),
                      va="center", fontsize=8.5)  # fmt: skip


def _steps(axes: Axes, series: Series, first: int) -> None:
    """A line where the configuration changed, with what changed; a mark where it moved beyond noise."""
    level = 0
    for row in series.steps().to_dict("records"):
        at = row["step"] - first
        if at < 1:
            continue
        if row["keys"]:
            axes.axvline(at - 0.5, color=figures.GREY, lw=0.7, ls=":")
        if row["verdict"] != "noise":
            broke = row["verdict"] == "broke"
            color = figures.VERMILLION if broke else figures.GREEN
            axes.plot([at], [0.03], marker="v" if broke else "^", color=color, ms=9)
        if row["keys"] and (len(series) - first <= 25 or row["verdict"] != "noise"):
            words = drawable(
                series.changes_between(row["step"] - 1, row["step"]), 26 if len(series) - first > 8 else 44
            )
            axes.annotate(words, (at - 0.45, 0.10 + 0.08 * (level % 3)), fontsize=7.5,
                          color=figures.readable(figures.GREY, vars(axes.figure)["paper"]))  # fmt: skip
            level += 1


def matrix_caption(history: History, matrix: pd.DataFrame) -> str:
    """What stands under the matrix."""
    return _t("history.panel.matrix_caption", shown=min(len(matrix), ROWS), differing=f"{len(matrix):,}",
              total=f"{len(history.series.ids):,}")  # fmt: skip


def matrix_figure(history: History, matrix: pd.DataFrame, theme: str = "print") -> Figure:
    """Sample × run, cause in colour with its first letter; passing is light."""
    shown = matrix.iloc[:ROWS, -DRAWN:]
    colors = cause_colors(history.series.cause_counts().columns)
    with figures.drawing(1.1 + 0.19 * max(len(shown), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        left, right = 1.05 / figure.get_figwidth(), _room_for_names(figure)
        figure.subplots_adjust(left=left, right=right, top=1 - 0.35 / height, bottom=0.72 / height)
        from matplotlib.colors import to_rgb

        known = {"pass": (0.80, 0.92, 0.87), "": (1, 1, 1), "not_checked": (0.9, 0.9, 0.9)}
        known |= {name: to_rgb(color) for name, color in colors.items()}
        cells = np.array([[known[cause] for cause in row] for row in shown.to_numpy()]).reshape(*shown.shape, 3)
        axes.imshow(cells, aspect="auto", interpolation="none")
        if shown.shape[1] <= 30:
            for (at, run), cause in np.ndenumerate(shown.to_numpy()):
                if cause not in ("pass", "", "not_checked"):
                    axes.text(
                        run,
                        at,
                        drawable(cause_title(cause)[:1].upper(), 1),
                        ha="center",
                        va="center",
                        color="white",
                        fontsize=6.5,
                    )
        axes.set_yticks(range(len(shown)), [drawable(str(name), 18) for name in shown.index], fontsize=7)
        every = max(1, shown.shape[1] // 20)
        places = list(range(0, shown.shape[1], every))
        axes.set_xticks(places, [drawable(str(shown.columns[at]), 14) for at in places], fontsize=7.5,
                        rotation=40 if shown.shape[1] > 6 else 0, ha="right" if shown.shape[1] > 6 else "center")  # fmt: skip
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(drawable(_t("history.panel.matrix_title", n=len(matrix)), 110), x=(0.02 - left) / (right - left))
        for (at, run), cause in np.ndenumerate(shown.to_numpy()):
            label = f"{shown.index[at]} · {shown.columns[run]} · {cause_title(cause) if cause else '–'}"
            box = (run - 0.5, at - 0.5, run + 0.5, at + 0.5)
            figures.stand_for(axes, ["sample", str(shown.index[at])], label, box=box)
        there = [name for name in colors if (shown == name).to_numpy().any()]
        for at, name in enumerate(there):
            for words, color, shift in (("■", colors[name], 6), (drawable(cause_title(name), 24), None, 17)):
                style = {} if color is None else {"color": color}
                axes.annotate(words, (1, 1 - (at + 0.5) * 0.19 / height), xytext=(shift, 0), xycoords="axes fraction",
                              textcoords="offset points", fontsize=7.5, va="center", annotation_clip=False,
                              **style)  # fmt: skip
    return figure


# ------------------------------------------------------------------------------
# One sample through time.


def through_time(history: History, sample_id: str, opened: Mapping[str, Any]) -> Markup:
    """The answers of one sample in every run, with what changed against the run before; equal answers are drawn together.

    ``opened``: run → its evaluation, or a function's result of one; runs that are not in it are left out.
    """
    series = history.series
    at = int(series.ids.get_indexer([sample_id])[0])
    parts: list[Markup] = []
    before: tuple[str | None, list[str]] | None = None
    question = ""
    for place, run in enumerate(series.runs):
        evaluation = opened.get(run)
        if evaluation is None or sample_id not in evaluation:
            continue
        evidence = evaluation.one(sample_id).evidence
        question, answer = str(evidence.plain("question")[0]), evidence.plain("answer")[0]
        own = evidence.contexts
        ids = [str(none_if_missing(name) or text) for name, text in zip(own["doc_id"], own["text"], strict=True)]
        cause = None if series.cause is None else int(series.cause[place, at])
        passes = cause == -1
        failing = series.causes[cause] if cause is not None and cause >= 0 else "not_checked"
        name = _t("history.report.passes") if passes else cause_title(failing)
        kind = "wb-good" if passes else "wb-bad"
        changes = quiet(" · ", series.changes_between(place - 1, place)) if place else None
        head = h("p", h("strong", run, " "), h("span", "✓ " if passes else "✗ ", name, cls=kind), changes)
        if before is not None and before == (answer, ids):
            parts.append(h("div", head, quiet(_t("history.panel.same"))))
            continue
        new = text_differences(answer, before[0], "new") if answer and before and before[0] else []
        said = quiet(_t("panels.card.no_answer"), tag="em") if answer is None else marked(answer, new)
        moved = _moved(before[1] if before else None, ids)
        parts.append(h("div", head, h("p", said), moved))
        before = (answer, ids)
    title = _t("history.panel.through_time", id=sample_id)
    return h(
        "div", h("h3", title), h("p", marked(question, shown=600)), *parts, cls="wb-cardbody", id=card_anchor(sample_id)
    )


def card_anchor(sample_id: str) -> str:
    """The anchor of a sample's card in a page: letters, digits, ``-`` and ``_`` as they are, anything else by its code."""
    return "sample-" + "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f".{ord(c):x}" for c in sample_id)


def _moved(before: list[str] | None, ids: list[str]) -> Markup | None:
    """Documents that came and went against the run before."""
    if before is None or before == ids:
        return None
    parts = [h("span", f"+ {name[:60]} ", cls="wb-good") for name in ids if name not in before]
    parts += [h("span", f"− {name[:60]} ", cls="wb-bad") for name in before if name not in ids]
    return h("p", *parts) if parts else None


# ------------------------------------------------------------------------------
# All of it as static HTML.


def history_parts(history: History, *, cards: int = 0) -> list[Markup]:
    """Verdict, pictures and tables; with ``cards``, so many broken samples through time."""
    series = history.series
    parts = verdict_markup(history)
    if len(series) < 2:
        return parts
    parts.append(picture(figures.figure_png(series_figure(history)), _t("history.panel.caption")))
    matrix = series.matrix()
    if len(matrix):
        parts.append(picture(figures.figure_png(matrix_figure(history, matrix)), matrix_caption(history, matrix)))
    else:
        parts.append(empty(_t("history.panel.no_matrix")))
    broken = broken_frame(history)
    if len(broken):
        listing = broken.head(CARDS).drop(columns="passed_in").reset_index()
        if cards:
            names = listing["sample_id"].tolist()
            links = [
                h("a", name, href=f"#{card_anchor(name)}") if at < cards else name for at, name in enumerate(names)
            ]
            listing["sample_id"] = pd.Series(links, dtype=object)  # in a column of texts it would be markup no more
        parts.append(frame_markup(listing, _t("history.panel.broken_samples"), len(broken)))
    parts += history_tables(history)
    if cards and len(broken):
        chosen = broken.index[:cards]
        # A card shows the last run that passed, the one in which it broke, and the newest.
        shown = {*broken.loc[chosen, ["passed_in", "broke_in"]].to_numpy().ravel(), series.runs[-1]}
        wanted = sorted(shown, key=series.runs.index)
        opened = {run: history.open(run) for run in wanted if history.table["path"].iloc[series.place(run)]}
        parts += [through_time(history, str(name), opened) for name in chosen]
    return parts


def _told(series: Series, row: Any) -> list[str]:
    """Runs that a card shows: the last that passed, the one in which it broke, and the newest."""
    return [row["passed_in"], row["broke_in"], series.runs[-1]]
