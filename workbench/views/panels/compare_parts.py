"""Parts of panel 06, each a plain function of a comparison that gives markup or a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.diagnosis.comparing_words import change_title, layer_title, p_text, points
from workbench.diagnosis.comparison import Comparison
from workbench.diagnosis.failing import PASSED
from workbench.language import text as _t
from workbench.views import plots_compare
from workbench.views.html import Fragment, fragment, h, join, picture, safe, table
from workbench.views.names import cause_title, metric_title, rate_text, score_text
from workbench.views.plots import figure_png

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Metrics that the picture of differences shows at most; the table has all.
DRAWN = 14


# ---------------------------------------------------------------- headline


def headline(comparison: Comparison) -> Markup:
    """What to know before any number, then the verdict in words."""
    warnings = [h("p", "⚠ ", line, cls="wb-note wb-warning") for line in comparison.warnings]
    notes = [h("p", line, cls="wb-quiet") for line in comparison.notes]
    return h("div", *warnings, *notes, h("p", comparison.verdict, cls="wb-verdict"))


def counts_markup(comparison: Comparison) -> Markup:
    """ "fixed 16  broken 3 …" and the smallest change that this set can show."""
    counts = comparison.counts
    signs = {"fixed": ("✓", "wb-good"), "broken": ("✗", "wb-bad")}
    chips = []
    for name in ("fixed", "broken", "still_failing", "still_passing", "not_comparable"):
        if name == "not_comparable" and not counts.not_comparable:
            continue
        sign, kind = signs.get(name, ("", ""))
        chips.append(
            h("span", f"{sign} {change_title(name)} ", h("strong", f"{getattr(counts, name):,}"), cls=f"wb-chip {kind}")
        )
    least = comparison.passing["smallest_detectable"]
    if least == least:
        chips.append(h("span", _t("compare.panel.detectable", points=points(least, sign=False)), cls="wb-quiet"))
    return h("div", *chips)


def layers_line(comparison: Comparison) -> Markup:
    """Failing samples by layer, before → after, with the change; it adds up to the change of all."""
    layers = comparison.layers()
    if not len(layers):
        return h("p", _t("compare.panel.no_failures"), cls="wb-quiet")
    parts = [
        h("span", f"{layer_title(str(name))} {row['before']} → {row['after']} ",
          h("strong", _signed(int(row["change"])), cls=gain_class(-row["change"])), cls="wb-chip")
        for name, row in layers.iterrows()
    ]  # fmt: skip
    total = layers["change"].sum()
    return h("p", h("span", _t("compare.panel.layers"), " ", cls="wb-quiet"), *parts,
             h("span", "= ", h("strong", _signed(int(total)), cls=gain_class(-total)), cls="wb-chip"))  # fmt: skip


def split_line(comparison: Comparison) -> Markup | None:
    """The change of right answers split between retriever and generator."""
    split = comparison.split()
    if not len(split) or not split.loc["total", "points"]:
        return None
    parts = {name: points(split.loc[name, "points"]) for name in split.index}
    return h("p", _t("compare.panel.split", n=f"{int(split.loc['total', 'n']):,}", **parts), cls="wb-quiet")


def _signed(n: int) -> str:
    return f"{n:+,}".replace("-", "−") if n else "0"


def gain_class(gain: float) -> str:
    """The style of a difference: good when it helps, bad when it harms."""
    return "wb-good" if gain > 0 else "wb-bad" if gain < 0 else ""


# ---------------------------------------------------------------- pictures and tables


def flow_figure(comparison: Comparison, theme: str = "print") -> Figure:
    """Causes before → after."""
    moved = int((comparison.ledger().query("cause_before != cause_after")["n"]).sum())
    title = _t("compare.panel.flow_title", moved=f"{moved:,}", n=f"{len(comparison):,}")
    names = (comparison.before.name, comparison.after.name)
    return plots_compare.flow(comparison.ledger(), names=names, title=title, theme=theme)


def differences_figure(comparison: Comparison, theme: str = "print") -> Figure:
    """Differences of the metrics in [0, 1] that moved most, surest first."""
    tests = comparison.tests()
    known = {name: metric.high <= 1 for name, metric in comparison.known.items()} | {PASSED: True}
    shown = tests[tests["metric"].map(known).fillna(False) & tests["low"].notna() & (tests["delta"] != 0)]
    order = shown["p_value"].where(shown["metric"] != PASSED, -1.0).sort_values(kind="stable").index
    shown = shown.loc[order].head(DRAWN)
    sure = (shown["p_adjusted"] < 0.05).tolist()
    n_tested = int(tests["p_value"].notna().sum()) - 1
    title = _t("compare.panel.differences_title", n=sum(sure), tested=n_tested)
    return plots_compare.differences(
        [metric_words(name) for name in shown["metric"]], shown["delta"], shown["low"], shown["high"],
        better=[None if value is None else bool(value) for value in shown["better"]], sure=sure,
        notes=[_note(row) for row in shown.to_dict("records")], title=title, theme=theme,
    )  # fmt: skip


def _note(row: Mapping[str, Any]) -> str:
    return f"{row['before']:.2f} → {row['after']:.2f}   {p_text(row['p_adjusted'])}   n {row['n_pairs']:,}"


def metric_words(metric: str) -> str:
    """A row of the tests as a reader calls it."""
    return _t("compare.panel.passed") if metric == PASSED else metric_title(metric)


def tests_table(comparison: Comparison, metrics: Sequence[str] | None = None) -> Markup:
    """The paired tests as a table; metrics without a pair are left out and counted."""
    tests = comparison.tests(metrics)
    shown = tests[tests["n_pairs"] > 0]
    text = [{
        "metric": metric_words(row.metric), "n_pairs": f"{row.n_pairs:,}", "before": score_text(row.before),
        "after": score_text(row.after), "delta": _delta(row.delta), "interval": f"{_delta(row.low)} … {_delta(row.high)}",
        "p": p_text(row.p_adjusted).removeprefix("p = "), "detectable": score_text(row.smallest_detectable),
    } for row in shown.itertuples()]  # fmt: skip
    import pandas as pd

    frame = pd.DataFrame(text, columns=["metric", "n_pairs", "before", "after", "delta", "interval", "p", "detectable"])
    headings = {name: _t(f"compare.column.{name}") for name in frame.columns}
    left_out = len(tests) - len(shown)
    note = h("p", _t("compare.panel.no_pairs", n=left_out), cls="wb-quiet") if left_out else None
    return h("div", table(frame, headings=headings), note)


def _delta(value: float) -> str:
    return "–" if value != value else f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00"


def ledger_table(comparison: Comparison, rows: int = 30) -> Markup:
    """The flows that moved, with the first ids of each."""
    ledger = comparison.ledger()
    moved = ledger[ledger["cause_before"] != ledger["cause_after"]]
    shown = moved.head(rows)[["cause_before", "cause_after", "n", "sample_ids"]].copy()
    for name in ("cause_before", "cause_after"):
        shown[name] = shown[name].map(cause_title)
    headings = {name: _t(f"compare.column.{name}") for name in shown.columns}
    return table(shown, headings=headings, total=len(moved))


def slices_markup(comparison: Comparison) -> Markup:
    """Where samples broke more often than elsewhere, corrected for how many slices were tried; or that nothing stands out."""
    frame = comparison.slices()
    tried = f"{int(frame.attrs.get('n_tried', 0)):,}"
    if not len(frame):
        return h("p", _t("compare.panel.no_slices", tried=tried), cls="wb-quiet")
    shown = frame[["rule", "n", "n_failing", "lift", "q_value"]]
    headings = {name: _t(f"compare.column.slice_{name}") for name in shown.columns}
    return h("div", h("p", _t("compare.panel.slices", tried=tried), cls="wb-caption"), table(shown, headings=headings))


def listed_table(rows: pd.DataFrame, total: int, current: Any = None) -> Markup:
    """Samples of the list (see :func:`workbench.views.panels.compare.changed_samples`) as a table."""
    shown = rows.reset_index()[["sample_id", "question", "change", "cause_before", "cause_after", "contrast"]].copy()
    shown.index = rows.index
    shown["change"] = shown["change"].map(change_title)
    for name in ("cause_before", "cause_after"):
        shown[name] = shown[name].map(cause_title)
    shown["contrast"] = shown["contrast"].map(_delta)
    headings = {name: _t(f"compare.column.{name}") for name in shown.columns}
    return table(shown, headings=headings, total=total, current=current)


def comparison_html(comparison: Comparison) -> Fragment:
    """The whole comparison as a static piece of HTML, without a session: words, pictures, tables."""
    flips = comparison.flips().set_index("sample_id")
    flips["question"] = comparison.after.evidence.samples["question"].reindex(flips.index)
    flipped = flips[flips["change"].isin(["broken", "fixed"])].sort_values("contrast", kind="stable")
    return fragment(
        headline(comparison), counts_markup(comparison), *figures_html(comparison), layers_line(comparison),
        split_line(comparison), listed_table(flipped.head(50), len(flipped)), ledger_table(comparison),
        slices_markup(comparison), tests_table(comparison),
    )  # fmt: skip


def figures_html(comparison: Comparison) -> list[Markup]:
    """Both pictures with their captions; none without a matched sample."""
    if not len(comparison):
        return []
    pairs = ((flow_figure(comparison), "compare.panel.flow_caption"),
             (differences_figure(comparison), "compare.panel.differences_caption"))  # fmt: skip
    return [picture(figure_png(figure), _t(caption)) for figure, caption in pairs]


def runs_markup(frame: pd.DataFrame) -> Markup:
    """The table over runs: one row a run, one column a metric, the difference to the first in lighter type."""
    import pandas as pd

    rows = []
    for run, own in frame.groupby("run", sort=False):
        cells: dict[str, Any] = {"run": safe(run)}
        for row in own.itertuples():
            delta = "" if row.delta != row.delta else f" {_delta(row.delta)}"
            text = rate_text(row.mean) if row.metric == PASSED else score_text(row.mean)
            cells[metric_words(row.metric)] = join([text, h("span", delta, cls="wb-light")])
        rows.append(cells)
    shown = pd.DataFrame(rows)
    return table(shown, headings={"run": _t("compare.column.run")}, formats=dict.fromkeys(shown.columns, safe))
