"""One sample in two runs, side by side, with the differences marked in answers, contexts and claims."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.data.schema import none_if_missing
from workbench.diagnosis.comparing_words import change_title
from workbench.diagnosis.comparison import Comparison
from workbench.language import text as _t
from workbench.views.causes import NOT_FAILING, explained
from workbench.views.html import Mark, excerpt, h, join, marked
from workbench.views.names import cause_title, metric_title, score_text, verdict_title
from workbench.views.panels.card_parts import claim_marks, document_name
from workbench.views.panels.compare_parts import gain_class
from workbench.views.slices import Slices

if TYPE_CHECKING:
    import pandas as pd

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


def pair_html(comparison: Comparison, sides: tuple[Side, Side], sample_id: str) -> Markup:
    """One sample in both runs, side by side, with the differences marked in answers, contexts and claims."""
    rows = [side.slices.sample(sample_id) for side in sides]
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
        name = document_name(item, facts.loc[rank] if rank in facts.index else None)
        head = h("summary", h("span", f"{sign} ", cls=kind), f"{rank} ", name)
        lines.append(h("details", head, h("div", marked(item["text"], marks), cls="wb-body")))
    return h("div", h("h4", _t("panels.card.contexts")), *(lines or [h("em", _t("panels.card.empty_contexts"))]))


#: Classes of what only one run has.
_ONLY = ("wb-bad", "wb-good")


def _key(item: Mapping[str, Any]) -> str:
    return str(none_if_missing(item.get("doc_id")) or item["text"])


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
        moved = h("strong", f"{score_text(first)} → {score_text(second)}", cls=gain_class(gain))
        chips.append(h("span", f"{metric_title(name)} ", moved, cls="wb-chip"))
    return h("p", h("span", _t("panels.card.scores"), " ", cls="wb-quiet"), *chips) if chips else None
