"""Parts of panel 06, each a plain function of a comparison that gives markup or a picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.data.schema import none_if_missing
from workbench.diagnosis.comparing_words import change_title, layer_title, p_text, points
from workbench.diagnosis.comparison import PASSED, Comparison
from workbench.language import text as _t
from workbench.views import plots_compare
from workbench.views.causes import NOT_FAILING, explained
from workbench.views.html import Fragment, Mark, excerpt, fragment, h, join, marked, picture, safe, table
from workbench.views.names import cause_title, metric_title, rate_text, score_text, verdict_title
from workbench.views.panels.card_parts import claim_marks
from workbench.views.plots import figure_png
from workbench.views.slices import Slices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Metrics that the picture of differences shows at most; the table has all.
DRAWN = 14
#: Tokens of an answer that are compared; longer ones are compared as far as that.
MOST_TOKENS = 1500
#: Words, numbers, single Han characters, white space, other signs.
_TOKEN = re.compile(r"[0-9]+(?:[.,:][0-9]+)*|[^\W\d_\u4e00-\u9fff]+|\s+|.", re.DOTALL)


class Side:
    """One run as the parts of a card need it: single samples, their rows of every frame, thresholds."""

    def __init__(self, evaluation: Any) -> None:
        self.evaluation = evaluation
        self.thresholds = evaluation.thresholds
        self.slices = Slices(evaluation)

    def sample(self, sample_id: str) -> dict[str, Any]:
        """One sample as loaded: field → value."""
        frame = self.slices.small(sample_id).samples.frame
        return dict(zip(frame.columns, frame.loc[sample_id].tolist(), strict=True))


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
          h("strong", _signed(int(row["change"])), cls=_side(-row["change"])), cls="wb-chip")
        for name, row in layers.iterrows()
    ]  # fmt: skip
    total = layers["change"].sum()
    return h("p", h("span", _t("compare.panel.layers"), " ", cls="wb-quiet"), *parts,
             h("span", "= ", h("strong", _signed(int(total)), cls=_side(-total)), cls="wb-chip"))  # fmt: skip


def split_line(comparison: Comparison) -> Markup | None:
    """The change of right answers split between retriever and generator."""
    split = comparison.split()
    if not len(split) or not split.loc["total", "points"]:
        return None
    parts = {name: points(split.loc[name, "points"]) for name in split.index}
    return h("p", _t("compare.panel.split", n=f"{int(split.loc['total', 'n']):,}", **parts), cls="wb-quiet")


def _signed(n: int) -> str:
    return f"{n:+,}".replace("-", "−") if n else "0"


def _side(gain: float) -> str:
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


# ---------------------------------------------------------------- one sample, side by side


def pair_html(comparison: Comparison, sides: tuple[Side, Side], sample_id: str) -> Markup:
    """One sample in both runs, side by side, with the differences marked in answers, contexts and claims."""
    rows = [side.sample(sample_id) for side in sides]
    flip = comparison.flips().iloc[int(comparison.pairing.ids.get_indexer([sample_id])[0])]
    head = h("div", h("h3", marked(str(rows[1]["question"]), shown=600)), _outcome(flip), cls="wb-head")
    columns = [
        h("div", h("h4", f"{_t(f'compare.panel.{name}')} · {side.evaluation.name}"), _why(side, sample_id),
          _answer(side, sample_id, rows, place), _contexts(side, sample_id, rows, place))
        for place, (name, side) in enumerate(zip(("before", "after"), sides, strict=True))
    ]  # fmt: skip
    parts = [
        head,
        _differences(sides, sample_id, flip),
        h("div", *columns, cls="wb-sides"),
        _reference(rows),
    ]
    return h("div", *parts, _scores(comparison, sample_id), cls="wb-cardbody")


def _outcome(flip: Any) -> Markup:
    sign, kind = {"fixed": ("✓ ", "wb-pass"), "broken": ("✗ ", "wb-fail")}.get(flip["change"], ("", ""))
    causes = f"{cause_title(flip['cause_before'])} → {cause_title(flip['cause_after'])}"
    return h(
        "span", f"{sign}{change_title(flip['change'])} ", h("span", causes, cls="wb-light"), cls=f"wb-cause {kind}"
    )


def _why(side: Side, sample_id: str) -> Markup:
    found = explained(side.slices, sample_id)
    failing = found["primary_cause"] not in NOT_FAILING
    kind = "wb-fail" if failing else "wb-pass"
    sign = "✗ " if failing else "✓ " if found["primary_cause"] == "pass" else "○ "
    words = h("span", f" {found['evidence']}") if found.get("evidence") else None
    return h("p", h("span", sign, cause_title(found["primary_cause"]), cls=f"wb-cause {kind}"), words)


def _answer(side: Side, sample_id: str, rows: Sequence[Mapping[str, Any]], place: int) -> Markup:
    """The answer with its claims marked, and what the other run has not underlined."""
    own, other = none_if_missing(rows[place].get("answer")), none_if_missing(rows[1 - place].get("answer"))
    if own is None:
        return h("p", h("em", _t("panels.card.no_answer"), cls="wb-quiet"))
    claims, spans = side.slices.rows("claims", sample_id), side.slices.rows("spans", sample_id)
    marks = claim_marks(claims[claims["side"] == "answer"] if len(claims) else claims, spans)
    if isinstance(other, str) and other != own:
        marks = [*marks, *text_differences(own, other, "new" if place else "gone")]
    return h("p", marked(own, marks))


def text_differences(own: str, other: str, kind: str) -> list[Mark]:
    """The stretches of ``own`` that ``other`` has not, by words (Latin) and characters (Chinese)."""
    mine = [match.group() for match in _TOKEN.finditer(own)][:MOST_TOKENS]
    theirs = [match.group() for match in _TOKEN.finditer(other)][:MOST_TOKENS]
    starts = [0]
    for token in mine:
        starts.append(starts[-1] + len(token))
    title = _t(f"compare.panel.only_{'after' if kind == 'new' else 'before'}")
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    return [
        Mark(starts[i], starts[j], kind, "", title)
        for tag, i, j, _, _ in matcher.get_opcodes()
        if tag in ("replace", "delete") and "".join(mine[i:j]).strip()
    ]


def _contexts(side: Side, sample_id: str, rows: Sequence[Mapping[str, Any]], place: int) -> Markup:
    """The contexts in order: = in both, − only before, + only after, ~ the same id with another text."""
    contexts = rows[place].get("contexts")
    if not isinstance(contexts, list):
        return h("p", _t("panels.card.no_contexts"), cls="wb-quiet")
    others = {_key(item): item["text"] for item in rows[1 - place].get("contexts") or []}
    facts = side.slices.rows("contexts", sample_id).set_index("rank")
    lines = []
    for rank, item in enumerate(contexts[:30], start=1):
        known = _key(item) in others
        altered = known and others[_key(item)] != item["text"]
        sign, kind = ("~", "wb-altered") if altered else ("=", "wb-quiet") if known else ("+−"[1 - place], _ONLY[place])
        marks = text_differences(item["text"], others[_key(item)], "new" if place else "gone") if altered else []
        name = _document(item, facts.loc[rank] if rank in facts.index else None)
        head = h("summary", h("span", f"{sign} ", cls=kind), f"{rank} ", name)
        lines.append(h("details", head, h("div", marked(item["text"], marks), cls="wb-body")))
    return h("div", h("h4", _t("panels.card.contexts")), *(lines or [h("em", _t("panels.card.empty_contexts"))]))


#: Classes of what only one run has.
_ONLY = ("wb-bad", "wb-good")


def _key(item: Mapping[str, Any]) -> str:
    return str(none_if_missing(item.get("doc_id")) or item["text"])


def _document(item: Mapping[str, Any], facts: Any) -> Markup:
    name = none_if_missing(item.get("doc_id")) or excerpt(item["text"], 40)
    if facts is not None and facts.get("leaked") is True:
        return h("span", f"⚠ {name}", cls="wb-leaked", title=_t("panels.card.leaked"))
    if facts is not None and bool(none_if_missing(facts.get("expected"))):
        return h("span", f"★ {name}", cls="wb-expected", title=_t("panels.card.expected"))
    return h("span", name)


def _reference(rows: Sequence[Mapping[str, Any]]) -> Markup | None:
    reference = none_if_missing(rows[1].get("reference")) or none_if_missing(rows[0].get("reference"))
    return h("p", h("strong", _t("panels.card.reference"), " "), marked(str(reference))) if reference else None


def _differences(sides: tuple[Side, Side], sample_id: str, flip: Any) -> Markup:
    """In words: what is the same, which documents moved, which claims changed."""
    if flip["judge_noise"]:
        return h("p", "⚠ ", _t("compare.panel.noise"), cls="wb-note")
    small = Comparison(sides[0].slices.small(sample_id), sides[1].slices.small(sample_id))
    lines = [*_same_lines(flip), *_rank_lines(small.rank_moves(), sample_id), *_claim_lines(small.claims(), sample_id)]
    return h("ul", *(h("li", line) for line in lines)) if lines else h("span")


def _same_lines(flip: Any) -> list[Any]:
    same = [name for name in ("answer", "contexts") if not flip[f"{name}_changed"]]
    lines: list[Any] = [_t(f"compare.panel.same_{'both' if len(same) == 2 else same[0]}")] if same else []
    return [*lines, _t("compare.panel.case_changed")] if flip["case_changed"] else lines


def _rank_lines(moves: pd.DataFrame, sample_id: str) -> list[Any]:
    own = moves[(moves["sample_id"] == sample_id) & moves["move"].isin(["gained", "lost", "up", "down"])]
    lines = []
    for row in own.itertuples():
        ranks = [
            _t("panels.card.not_retrieved") if rank != rank else f"{rank:.0f}"
            for rank in (row.rank_before, row.rank_after)
        ]
        kind = "wb-good" if row.move in ("gained", "up") else "wb-bad"
        lines.append(
            join(
                [h("span", f"★ {row.doc_id}", cls="wb-expected"), " ", h("span", f"{ranks[0]} → {ranks[1]}", cls=kind)]
            )
        )
    return lines


def _claim_lines(claims: pd.DataFrame, sample_id: str) -> list[Any]:
    own = claims[(claims["sample_id"] == sample_id) & (claims["change"] != "kept")]
    lines = []
    for row in own.head(8).itertuples():
        texts = [excerpt(text, 90) for text in (row.text_before, row.text_after) if isinstance(text, str)]
        verdicts = [verdict_title(v) for v in (row.verdict_before, row.verdict_after) if isinstance(v, str)]
        said = join(["“", join(texts if row.change != "verdict" else texts[:1], "” → “"), "”"])
        bad = h("span", " ✗ ", _t("compare.panel.newly_unsupported"), cls="wb-bad") if row.newly_unsupported else ""
        lines.append(join([_t(f"compare.claim.{row.change}"), " ", said, h("span", f" {' → '.join(dict.fromkeys(verdicts))}",
                                                                          cls="wb-quiet"), bad]))  # fmt: skip
    return lines


def _scores(comparison: Comparison, sample_id: str) -> Markup | None:
    """The scores that moved, before → after."""
    place = int(comparison.pairing.ids.get_indexer([sample_id])[0])
    chips = []
    for name, metric in comparison.metrics.items():
        first, second = (float(scored.values[place]) for scored in comparison.scored(name))
        if score_text(first) == score_text(second):
            continue
        gain = 0.0 if metric.higher_is_better is None else (second - first) * (1 if metric.higher_is_better else -1)
        moved = h("strong", f"{score_text(first)} → {score_text(second)}", cls=_side(gain))
        chips.append(h("span", f"{metric_title(name)} ", moved, cls="wb-chip"))
    return h("p", h("span", _t("panels.card.scores"), " ", cls="wb-quiet"), *chips) if chips else None


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
