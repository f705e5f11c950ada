"""The parts of an evidence card, each a plain function of a session and a sample id that gives markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.data.points import find_any
from workbench.data.schema import alternatives, judgements, none_if_missing
from workbench.language import listed
from workbench.language import text as _t
from workbench.views.causes import NOT_FAILING, explained
from workbench.views.html import Mark, excerpt, h, join, marked, safe
from workbench.views.names import cause_title, metric_title, score_text, state_title, verdict_title
from workbench.views.ranges import is_low
from workbench.views.slices import records

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session

#: Sign of a claim's verdict; the colour never stands alone.
SIGNS = {"supported": "✓", "contradicted": "✗", "not_mentioned": "✗", "unsure": "?"}
#: Contexts that a card shows.
MOST_CONTEXTS = 30


def header_part(session: Session, sample_id: str) -> Markup:
    """Question, cause with confidence, why, what to try, what else contributed and what could not be checked."""
    question = str(session.sample(sample_id)["question"])
    found = explained(session.slices, sample_id)
    lines = [_line("why", found.get("evidence")), _line("try", found.get("advice"))]
    for name, words in found["others"].items():
        lines.append(_line("also", join([cause_title(name), f" – {words}" if words else ""])))
    if unchecked := found.get("unchecked"):
        lacking = listed(_t(f"report.lacks.{name}.what") for name in unchecked)
        lines.append(h("p", _t("panels.card.unchecked"), " ", lacking, cls="wb-quiet"))
    return h("div", h("div", h("h3", marked(question, shown=600)), _cause(found), cls="wb-head"), *lines)


def _cause(found: Mapping[str, Any]) -> Markup:
    failing = found["primary_cause"] not in NOT_FAILING
    parts: list[Any] = [cause_title(found["primary_cause"])]
    if sub_cause := none_if_missing(found.get("sub_cause")):
        parts.append(f" · {cause_title(sub_cause)}")
    if failing and none_if_missing(found.get("confidence")) is not None:
        parts.append(h("span", f" ({found['confidence']:.2f})", cls="wb-light"))
    sign, kind = ("✗ ", "wb-fail") if failing else ("✓ ", "wb-pass")
    return h("span", sign if found["primary_cause"] != "not_checked" else "○ ", *parts, cls=f"wb-cause {kind}")


def _line(key: str, words: Any) -> Markup | None:
    return h("p", h("strong", _t(f"panels.card.{key}"), " "), words) if words else None


# ---------------------------------------------------------------- the answer


def answer_part(session: Session, sample_id: str) -> Markup:
    """The answer with its claims in colour and with a sign, what contradicts them, and the reference to unfold."""
    row = session.sample(sample_id)
    answer = none_if_missing(row.get("answer"))
    claims = _answer_claims(session, sample_id)
    if answer is None:
        shown: Any = h("em", _t("panels.card.no_answer"), cls="wb-quiet")
    else:
        shown = marked(answer, claim_marks(claims, session.slices.rows("spans", sample_id)))
    unlock = _t(_without_claims(session, sample_id)) if answer is not None and not len(claims) else ""
    pairs = [
        (_t("panels.card.answer"), join([shown, _counts(claims), h("p", unlock, cls="wb-quiet") if unlock else ""]))
    ]
    pairs += [(_t("panels.card.problems"), problems)] if (problems := _problems(session, sample_id, claims)) else []
    reference = none_if_missing(row.get("reference"))
    pairs.append((_t("panels.card.reference"), marked(reference) if reference else _missing("no_reference")))
    return _grid(pairs)


def _without_claims(session: Session, sample_id: str) -> str:
    """Why an answer has no claims: it was judged and states nothing, or it was not judged."""
    evidence = getattr(session.slices.small(sample_id), "evidence", None)
    judged = evidence is not None and evidence.samples["judge_state"].loc[sample_id] == "ok"
    return "panels.card.no_statement" if judged else "panels.card.no_claims"


def _answer_claims(session: Session, sample_id: str) -> pd.DataFrame:
    claims = session.slices.rows("claims", sample_id)
    return claims[claims["side"] == "answer"] if len(claims) else claims


def claim_marks(claims: pd.DataFrame, spans: pd.DataFrame) -> list[Mark]:
    """One mark a claim, and one for each part of a claim (a number, a name) that the contexts do not bear out."""
    marks = []
    for claim in records(claims):
        if claim.verdict in SIGNS and claim.start >= 0:
            title = _t(
                "panels.card.claim_title", verdict=verdict_title(claim.verdict), support=score_text(claim.support)
            )
            marks.append(Mark(int(claim.start), int(claim.end), claim.verdict, SIGNS[claim.verdict], title))
    open_claims = set(claims.loc[claims["verdict"] != "supported", "claim_id"]) if len(claims) else set()
    for part in records(spans[spans["side"] == "answer"]) if len(spans) else ():
        if part.claim_id in open_claims and part.support < 0.5:
            title = _t("panels.card.part_title", kind=part.kind, support=score_text(part.support))
            marks.append(Mark(int(part.start), int(part.end), "part", "", title))
    return marks


def _counts(claims: pd.DataFrame) -> Markup | None:
    if not len(claims):
        return None
    counts = claims["verdict"].value_counts()
    chips = [
        h("span", h("span", sign, cls=f"wb-sign wb-{name}"), f" {verdict_title(name)} {counts[name]}", cls="wb-chip")
        for name, sign in SIGNS.items()
        if counts.get(name, 0)
    ]
    return h("div", *chips, cls="wb-quiet")


def _problems(session: Session, sample_id: str, claims: pd.DataFrame) -> Markup | None:
    """What speaks against each contradicted or unmentioned claim, the sentence of the context quoted."""
    bad = claims[claims["verdict"].isin(("contradicted", "not_mentioned"))] if len(claims) else claims
    lines = [h("p", h("span", "✗", cls=f"wb-sign wb-{claim.verdict}"), " ", _problem(session, sample_id, claim))
             for claim in records(bad.head(8))]  # fmt: skip
    return join(lines) if lines else None


def _problem(session: Session, sample_id: str, claim: Any) -> Markup:
    severity = none_if_missing(claim.severity)
    level = f" · {_t('panels.severities.' + severity)}" if severity in ("low", "medium", "high") else ""
    what = [excerpt(claim.text, 90), " — ", verdict_title(claim.verdict), level]
    if claim.verdict == "contradicted" and (quote := _quote(session, sample_id, claim)):
        what += [" ", quote]
    return join(what)


def _quote(session: Session, sample_id: str, claim: Any) -> Markup | None:
    support = session.slices.rows("support", sample_id)
    own = support[(support["side"] == "answer") & (support["claim_id"] == claim.claim_id)]
    if not len(own) or own["contradict"].isna().all():
        return None
    best = own.loc[own["contradict"].idxmax()]
    contexts = _listed(session.sample(sample_id).get("contexts"))
    if not 1 <= int(best["rank"]) <= len(contexts):
        return None
    context = contexts[int(best["rank"]) - 1]
    text = context["text"][int(best["span_start"]) : int(best["span_end"])] if best["span_start"] >= 0 else ""
    return join([h("span", f"{context.get('doc_id') or '#' + str(best['rank'])}: ", cls="wb-quiet"),
                 "“", excerpt(text or context["text"], 160), "”"])  # fmt: skip


# ---------------------------------------------------------------- what was expected


def expected_part(session: Session, sample_id: str) -> Markup | None:
    """Expected documents with the rank at which they came, key points made or missing, forbidden content."""
    row = session.sample(sample_id)
    pairs = [(_t("panels.card.expected"), _expected(row))]
    if points := _listed(row.get("must_include")):
        pairs.append((_t("panels.card.points"), _found(points, row.get("answer"), good_when_found=True)))
    if forbidden := _listed(row.get("must_not_include")):
        pairs.append((_t("panels.card.forbidden"), _found(forbidden, row.get("answer"), good_when_found=False)))
    if none_if_missing(row.get("expect_refusal")):
        pairs.append((_t("panels.card.refusal"), safe(_t("panels.card.refusal_expected"))))
    return _grid(pairs)


def _expected(row: Mapping[str, Any]) -> Markup:
    wanted = judgements(none_if_missing(row.get("expected_docs")))
    if wanted is None:
        return _missing("no_expected")
    if not wanted:
        return safe(_t("panels.card.nothing_expected"))
    contexts = row.get("contexts")
    ranks = {str(item.get("doc_id")): rank for rank, item in reversed(list(enumerate(_listed(contexts), start=1)))}
    return join([_expected_one(entry.doc_ids, entry.grade, ranks) for entry in wanted])


def _expected_one(doc_ids: Sequence[str], grade: float, ranks: Mapping[str, int]) -> Markup:
    found = [ranks[name] for name in doc_ids if name in ranks]
    name = join(["★ ", f" {_t('panels.card.or')} ".join(doc_ids)])
    if grade < 1:
        outcome: Any = h("span", _t("panels.card.grade_zero"), cls="wb-quiet")
    elif found:
        outcome = h("span", f"→ {_t('panels.card.rank', rank=min(found))} ✓", cls="wb-good")
    else:
        outcome = h("span", f"→ {_t('panels.card.not_retrieved')} ✗", cls="wb-bad")
    return h("span", h("span", name, cls="wb-expected"), " ", outcome, cls="wb-chip")


def _found(entries: Sequence[Any], answer: Any, *, good_when_found: bool) -> Markup:
    chips = []
    for entry in entries:
        options = alternatives(entry)
        found = isinstance(answer, str) and find_any(options, answer) is not None
        good = found is good_when_found
        word = (
            "" if found is good_when_found else " " + _t("panels.card." + ("missing" if good_when_found else "present"))
        )
        mark = h("span", ("✓" if good else "✗") + word, cls="wb-good" if good else "wb-bad")
        chips.append(h("span", excerpt(" / ".join(options), 60), " ", mark, cls="wb-chip"))
    return join(chips)


# ---------------------------------------------------------------- contexts


def contexts_part(session: Session, sample_id: str) -> Markup:
    """Each context to unfold: id, score, relevance, and its text with matched words and spans pointed out."""
    row = session.sample(sample_id)
    contexts = none_if_missing(row.get("contexts")) if not isinstance(row.get("contexts"), list) else row["contexts"]
    if contexts is None:
        return _grid([(_t("panels.card.contexts"), _missing("no_contexts"))])
    if not contexts:
        return _grid([(_t("panels.card.contexts"), h("em", _t("panels.card.empty_contexts"), cls="wb-quiet"))])
    facts = session.slices.rows("contexts", sample_id).set_index("rank")
    support = session.slices.rows("support", sample_id)
    words = question_words(str(row["question"]))
    shown = [
        _context(rank, item, facts.loc[rank] if rank in facts.index else None, support, words, session.thresholds)
        for rank, item in enumerate(contexts[:MOST_CONTEXTS], start=1)
    ]
    if len(contexts) > MOST_CONTEXTS:
        shown.append(h("p", _t("panels.common.of", shown=MOST_CONTEXTS, total=len(contexts)), cls="wb-quiet"))
    return _grid([(_t("panels.card.contexts"), join(shown))])


def _context(rank: int, item: Mapping[str, Any], facts: Any, support: pd.DataFrame, words: frozenset[str],
             thresholds: Any) -> Markup:  # fmt: skip
    marks = [*_support_marks(support, rank, thresholds), *word_marks(item["text"], words)]
    head = h("summary", f"{rank} ", document_name(item, facts), *_facts(item, facts))
    opened = facts is not None and bool(facts.get("used"))
    return h("details", head, h("div", marked(item["text"], marks), cls="wb-body"), open=opened)


def document_name(item: Mapping[str, Any], facts: Any) -> Markup:
    """The id of a context, or how it begins, with a sign where it leaked or was expected."""
    name = none_if_missing(item.get("doc_id")) or excerpt(item["text"], 40)
    if facts is not None and facts.get("leaked") is True:
        return h("span", f"⚠ {name}", cls="wb-leaked", title=_t("panels.card.leaked"))
    if facts is not None and bool(none_if_missing(facts.get("expected"))):
        return h("span", f"★ {name}", cls="wb-expected", title=_t("panels.card.expected"))
    return h("span", name)


def _facts(item: Mapping[str, Any], facts: Any) -> list[Markup]:
    parts = []
    if none_if_missing(item.get("score")) is not None:
        parts.append(_t("panels.card.retriever_score", score=f"{float(item['score']):.2f}"))
    if facts is not None and none_if_missing(facts.get("relevance")) is not None:
        parts.append(_t("panels.card.relevance", score=score_text(facts["relevance"])))
    if facts is not None and facts.get("used") is True:
        parts.append(_t("panels.card.used"))
    if item.get("prompted") is False:
        parts.append(_t("panels.card.not_prompted"))
    return [h("span", " · " + part, cls="wb-quiet") for part in parts]


def _support_marks(support: pd.DataFrame, rank: int, thresholds: Any) -> list[Mark]:
    own = support[(support["rank"] == rank) & (support["side"] == "answer")] if len(support) else support
    marks = []
    for pair in records(own):
        if pair.span_start < 0 or pair.span_end <= pair.span_start:
            continue
        if pair.contradict >= thresholds.contradiction and pair.contradict > pair.entail:
            marks.append(Mark(int(pair.span_start), int(pair.span_end), "clash", "✗", _t("panels.card.clash_title")))
        elif pair.entail >= thresholds.support:
            marks.append(Mark(int(pair.span_start), int(pair.span_end), "match", "✓", _t("panels.card.match_title")))
    return marks


def question_words(question: str) -> frozenset[str]:
    """The content words of a question, normalised, for pointing them out in contexts."""
    from workbench.data.text import content_words

    return frozenset(content_words(question[:2000]))


def word_marks(text: str, words: frozenset[str], most: int = 200) -> list[Mark]:
    """Where the words stand in ``text`` (its first 20,000 characters, at most ``most`` places)."""
    from workbench.data.normalising import normalise
    from workbench.data.text import tokens

    found = (Mark(token.start, token.end, "word") for token in tokens(text[:20_000]) if normalise(token.text) in words)
    return [mark for mark, _ in zip(found, range(most), strict=False)]


# ---------------------------------------------------------------- scores


def scores_part(session: Session, sample_id: str) -> Markup:
    """All scores of the sample, those without a value with their state to unfold, and other tools' scores."""
    small = session.slices.small(sample_id)
    scores, states = small.scores().loc[sample_id].to_dict(), small.states().loc[sample_id].to_dict()
    chips = [_score_chip(session, str(name), value) for name, value in scores.items() if states[name] == "ok"]
    without = _without({str(name): state for name, state in states.items() if state != "ok"})
    pairs: list[tuple[str, Any]] = [(_t("panels.card.scores"), join([*chips, without]))]
    recorded = small.samples.recorded_scores
    if sample_id in recorded.index:
        own = {name: value for name, value in recorded.loc[sample_id].to_dict().items() if value == value}
        others = [h("span", f"{name} ", h("strong", score_text(value)), cls="wb-chip") for name, value in own.items()]
        pairs += [(_t("panels.card.other_tool"), join(others))] if others else []
    return _grid(pairs)


def _score_chip(session: Session, name: str, value: float) -> Markup:
    # The highest precision@k depends on how many documents are expected: one of one is 0.20 at k = 5, and no fault.
    low = not name.startswith("precision@") and is_low(name, value, session.thresholds.low_cut(name))
    number = h("strong", score_text(value), cls="wb-bad" if low else "")
    return h("span", f"{metric_title(name)} ", number, " ✗" if low else "", cls="wb-chip")


def _without(states: Mapping[str, str]) -> Markup | None:
    if not states:
        return None
    groups: dict[str, list[str]] = {}
    for name, state in states.items():
        groups.setdefault(state, []).append(metric_title(name))
    lines = [h("p", f"{state_title(state)}: ", ", ".join(names)) for state, names in groups.items()]
    return h("details", h("summary", _t("panels.card.without", n=len(states)), cls="wb-quiet"), *lines)


# ---------------------------------------------------------------- small pieces


def _grid(pairs: Sequence[tuple[str, Any]]) -> Markup:
    cells = [piece for key, value in pairs for piece in (h("div", key, cls="wb-key"), h("div", value))]
    return h("div", *cells, cls="wb-grid")


def _missing(key: str) -> Markup:
    """What is missing, and which column would unlock it."""
    return h("span", _t(f"panels.card.{key}"), cls="wb-quiet")


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
