"""The evidence card: everything that is known about one sample, as static markup; each part a plain function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.data.schema import alternatives, judgements, none_if_missing
from workbench.data.text.normalise import normalise, normalise_with_map, unspaced
from workbench.data.text.words import content_words, tokens
from workbench.diagnosis.causes import NOT_FAILING, sign
from workbench.language import by_languages, listed, numbers
from workbench.language import text as _t
from workbench.scoring.metrics import definition
from workbench.views.filtering import explained, is_low, records
from workbench.views.html import Mark, excerpt, h, join, marked, quiet
from workbench.views.wording import (
    by_layer,
    cause_title,
    direction,
    metric_reading,
    metric_title,
    state_title,
    verdict_title,
)

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session

#: Sign of a claim's verdict; the colour never stands alone.
SIGNS = {"supported": "✓", "contradicted": "✗", "not_mentioned": "✗", "unsure": "?"}
#: Contexts that a card shows, and how far into a context the question's words are pointed out, and how often.
MOST_CONTEXTS, WORDS_WITHIN, MOST_WORDS = 30, 20_000, 200


def card_html(session: Session, sample_id: str, sub_cause: str | None = None) -> Markup:
    """The evidence of one sample as static markup: question, cause, answer, expectations, contexts, scores.

    ``sub_cause`` is that of a retrieval miss by ranks that the session does not know, so that the card says the same as
    what stands beside it.
    """
    parts = (_answer, _expectations, _contexts, _scores)
    head = _header(session, sample_id, sub_cause)
    return h("div", head, *(part(session, sample_id) for part in parts), cls="wb-cardbody")


def _grid(pairs: Sequence[tuple[str, Any]]) -> Markup:
    """Parts with what they are called beside them; the names are keys of the card's texts."""
    cells = [(h("div", _t(f"panels.card.{key}"), cls="wb-key"), h("div", value)) for key, value in pairs]
    return h("div", *(piece for pair in cells for piece in pair), cls="wb-grid")


def _header(session: Session, sample_id: str, sub_cause: str | None) -> Markup:
    """Question, cause with confidence, why, what to try, what else contributed and what could not be checked."""
    found = explained(session.slices, sample_id)
    if sub_cause and found["primary_cause"] == "retrieval_miss":
        # What to try stands beside it.
        found |= {"sub_cause": sub_cause, "advice": ""}

    def line(key: str, words: Any) -> Markup | None:
        return h("p", h("strong", _t(f"panels.card.{key}"), " "), words) if words else None

    lines = [line("why", found.get("evidence")), line("try", found.get("advice"))]
    for name, words in found["others"].items():
        lines.append(line("also", join([cause_title(name), f" – {words}" if words else ""])))
    if unchecked := found.get("unchecked"):
        lacking = listed(_t(f"report.lacks.{name}.what") for name in unchecked)
        lines.append(quiet(_t("panels.card.unchecked"), " ", lacking, tag="p"))
    question = h("h3", marked(str(session.sample(sample_id)["question"]), shown=600))
    head = h("div", question, cause_mark(found, detailed=True), cls="wb-head")
    return h("div", _history(session.sample(sample_id)), head, *lines)


def _history(row: Mapping[str, Any]) -> Markup | None:
    """What was said before the question, to unfold, and the question as the service rewrote it."""
    said, rewritten = none_if_missing(row.get("history")), none_if_missing(row.get("rewritten_question"))
    talk = [h("p", h("strong", _t(f"panels.card.said_{item['role']}"), " "), marked(item["content"], shown=600))
            for item in said or ()]  # fmt: skip
    told = h("details", h("summary", _t("panels.card.history", n=len(talk))), *talk, cls="wb-history") if talk else None
    new = quiet(_t("panels.card.rewritten"), " ", marked(rewritten, shown=600), tag="p") if rewritten else None
    return join([told, new]) if told or new else None


def cause_mark(found: Mapping[str, Any], *, detailed: bool = False) -> Markup:
    """The primary cause of a row of ``failures()`` with its sign; ``detailed``: with sub-cause and confidence."""
    cause, sub_cause = found["primary_cause"], none_if_missing(found.get("sub_cause"))
    failing = cause not in NOT_FAILING
    parts: list[Any] = [f"{sign(cause)} ", cause_title(cause)]
    if detailed and sub_cause:
        parts.append(f" · {cause_title(sub_cause)}")
    if detailed and failing and none_if_missing(found.get("confidence")) is not None:
        parts.append(h("span", f" ({numbers.score(found['confidence'])})", cls="wb-light"))
    return h("span", *parts, cls=f"wb-cause {'wb-fail' if failing else 'wb-pass'}")


def _answer(session: Session, sample_id: str) -> Markup:
    """The answer with its claims in colour and with a sign, what contradicts them, and the reference to unfold."""
    row = session.sample(sample_id)
    answer, reference = none_if_missing(row.get("answer")), none_if_missing(row.get("reference"))
    claims = session.slices.rows("claims", sample_id)
    claims = claims[claims["side"] == "answer"] if len(claims) else claims
    if answer is None:
        shown = quiet(_t("panels.card.no_answer"), tag="em")
    else:
        shown = marked(answer, claim_marks(claims, session.slices.rows("spans", sample_id)))
    if answer is not None and not len(claims):
        # It was judged and states nothing, or it was not judged.
        judged = session.slices.small(sample_id).evidence.samples["judge_state"].loc[sample_id] == "ok"
        shown = join([shown, quiet(_t(f"panels.card.{'no_statement' if judged else 'no_claims'}"), tag="p")])
    counts = claims["verdict"].value_counts() if len(claims) else {}
    chips = [
        h("span", h("span", own, cls=f"wb-sign wb-{name}"), f" {verdict_title(name)} {counts[name]}", cls="wb-chip")
        for name, own in SIGNS.items() if name in counts
    ]  # fmt: skip
    pairs = [("answer", join([shown, quiet(*chips, tag="div") if chips else None]))]
    if len(bad := claims[claims["verdict"].isin(("contradicted", "not_mentioned"))] if len(claims) else claims):
        pairs.append(("problems", join(_problem(session, sample_id, claim) for claim in records(bad.head(8)))))
    pairs.append(("reference", marked(reference) if reference else quiet(_t("panels.card.no_reference"))))
    return _grid(pairs)


def claim_marks(claims: pd.DataFrame, spans: pd.DataFrame) -> list[Mark]:
    """One mark a claim, and one for each part of a claim (a number, a name) that the contexts do not bear out."""
    marks = []
    for claim in records(claims):
        if claim.verdict in SIGNS and claim.start >= 0:
            support = numbers.score(claim.support)
            title = _t("panels.card.claim_title", verdict=verdict_title(claim.verdict), support=support)
            marks.append(Mark(int(claim.start), int(claim.end), claim.verdict, SIGNS[claim.verdict], title))
    open_claims = set(claims.loc[claims["verdict"] != "supported", "claim_id"]) if len(claims) else set()
    for part in records(spans[spans["side"] == "answer"]) if len(spans) else ():
        if part.claim_id in open_claims and part.support < 0.5:
            title = _t("panels.card.part_title", kind=part.kind, support=numbers.score(part.support))
            marks.append(Mark(int(part.start), int(part.end), "part", "", title))
    return marks


def _problem(session: Session, sample_id: str, claim: Any) -> Markup:
    """What speaks against a contradicted or unmentioned claim, the sentence of the context quoted."""
    level = f" · {_t('panels.severities.' + claim.severity)}" if none_if_missing(claim.severity) else ""
    said = [h("span", "✗", cls=f"wb-sign wb-{claim.verdict}"), " ", excerpt(claim.text, 90), " — ",
            verdict_title(claim.verdict), level]  # fmt: skip
    support = session.slices.rows("support", sample_id)
    own = support[(support["side"] == "answer") & (support["claim_id"] == claim.claim_id)]
    contexts = session.sample(sample_id).get("contexts") or ()
    if claim.verdict == "contradicted" and own["contradict"].notna().any():
        best = own.loc[own["contradict"].idxmax()]
        if 1 <= int(best["rank"]) <= len(contexts):
            context = contexts[int(best["rank"]) - 1]
            text = context["text"][int(best["span_start"]) : int(best["span_end"])] if best["span_start"] >= 0 else ""
            name = context.get("doc_id") or f"#{best['rank']}"
            said += [" ", quiet(f"{name}: "), "“", excerpt(text or context["text"], 160), "”"]
    return h("p", *said)


def _expectations(session: Session, sample_id: str) -> Markup:
    """Expected documents with the rank at which they came, key points made or missing, forbidden content."""
    row = session.sample(sample_id)
    wanted, contexts = judgements(none_if_missing(row.get("expected_docs"))), none_if_missing(row.get("contexts")) or ()
    ranks = {str(item.get("doc_id")): rank for rank, item in reversed(list(enumerate(contexts, start=1)))}
    shown: Any = quiet(_t("panels.card.no_expected")) if wanted is None else _t("panels.card.nothing_expected")
    pairs = [("expected", join(_expected(one.doc_ids, one.grade, ranks) for one in wanted) if wanted else shown)]
    points = session.slices.rows("points", sample_id)
    for key, side, field in (("points", "point", "must_include"), ("forbidden", "forbidden", "must_not_include")):
        if entries := none_if_missing(row.get(field)):
            own = points[points["side"] == side].set_index("claim_id")["start"]
            chips = [_point(entry, bool(own.get(at, -1) >= 0), side) for at, entry in enumerate(entries)]
            pairs.append((key, join(chips)))
    if none_if_missing(row.get("expect_refusal")):
        pairs.append(("refusal", _t("panels.card.refusal_expected")))
    return _grid(pairs)


def _expected(doc_ids: Sequence[str], grade: float, ranks: Mapping[str, int]) -> Markup:
    found = [ranks[name] for name in doc_ids if name in ranks]
    if grade < 1:
        outcome = quiet(_t("panels.card.grade_zero"))
    elif found:
        outcome = h("span", f"→ {_t('panels.card.rank', rank=min(found))} ✓", cls="wb-good")
    else:
        outcome = h("span", f"→ {_t('panels.card.not_retrieved')} ✗", cls="wb-bad")
    name = join(["★ ", f" {_t('panels.card.or')} ".join(doc_ids)])
    return h("span", h("span", name, cls="wb-expected"), " ", outcome, cls="wb-chip")


def _point(entry: Any, made: bool, side: str) -> Markup:
    """A key point, good when it was made, or a forbidden content, good when it was not."""
    good = made is (side == "point")
    word = "" if good else f" {_t('panels.card.' + ('missing' if side == 'point' else 'present'))}"
    said = h("span", ("✓" if good else "✗") + word, cls="wb-good" if good else "wb-bad")
    return h("span", excerpt(" / ".join(alternatives(entry)), 60), " ", said, cls="wb-chip")


def _contexts(session: Session, sample_id: str) -> Markup:
    """Each context to unfold: id, score, relevance, and its text with matched words and spans pointed out."""
    row = session.sample(sample_id)
    contexts = none_if_missing(row.get("contexts"))
    if not contexts:
        missing = contexts is None
        said = _t(f"panels.card.{'no_contexts' if missing else 'empty_contexts'}")
        return _grid([("contexts", quiet(said, tag="span" if missing else "em"))])
    facts = session.slices.rows("contexts", sample_id).set_index("rank")
    support = session.slices.rows("support", sample_id)
    question, shown = str(row["question"])[:2000], []
    for rank, item in enumerate(contexts[:MOST_CONTEXTS], start=1):
        known = facts.loc[rank] if rank in facts.index else {}
        marks = [*_support_marks(support, rank, session.thresholds), *_word_marks(question, item["text"][:WORDS_WITHIN])]
        head = h("summary", f"{rank} ", document_name(item, known), quiet(*_facts(item, known)))
        body = h("div", marked(item["text"], marks), cls="wb-body")
        shown.append(h("details", head, body, open=bool(known.get("used"))))
    if len(contexts) > MOST_CONTEXTS:
        shown.append(quiet(_t("panels.common.of", shown=MOST_CONTEXTS, total=len(contexts)), tag="p"))
    return _grid([("contexts", join(shown))])


@by_languages(maxsize=256)
def _word_marks(question: str, text: str) -> tuple[Mark, ...]:
    """Where the question's words stand in a context: kept, since no threshold moves them."""
    words = frozenset(content_words(question))
    inside = (Mark(token.start, token.end, "word") for token in tokens(text) if normalise(token.text) in words)
    return tuple(islice(inside, MOST_WORDS))


def document_name(item: Mapping[str, Any], facts: Any) -> Markup:
    """The id of a context, or how it begins, with a sign where it leaked or was expected by its row of ``contexts()``."""
    name = none_if_missing(item.get("doc_id")) or excerpt(item["text"], 40)
    if none_if_missing(facts.get("leaked")):
        return h("span", f"⚠ {name}", cls="wb-leaked", title=_t("panels.card.leaked"))
    if none_if_missing(facts.get("expected")):
        return h("span", f"★ {name}", cls="wb-expected", title=_t("panels.card.expected"))
    return h("span", name)


def _facts(item: Mapping[str, Any], facts: Any) -> list[str]:
    score, relevance = none_if_missing(item.get("score")), none_if_missing(facts.get("relevance"))
    parts = [
        _t("panels.card.from_tool") if item.get("kind") == "tool" else "",
        _t("panels.card.retriever_score", score=numbers.score(float(score))) if score is not None else "",
        _t("panels.card.relevance", score=numbers.score(relevance)) if relevance is not None else "",
        _t("panels.card.used") if none_if_missing(facts.get("used")) else "",
        _t("panels.card.not_prompted") if item.get("prompted") is False else "",
    ]
    return [f" · {part}" for part in parts if part]


def _support_marks(support: pd.DataFrame, rank: int, thresholds: Any) -> list[Mark]:
    """The stretches of a context that bear out a claim of the answer, or contradict it."""
    own = support[(support["rank"] == rank) & (support["side"] == "answer")] if len(support) else support
    marks = []
    for pair in records(own):
        start, end = int(pair.span_start), int(pair.span_end)
        if 0 <= start < end and pair.contradict >= thresholds.contradiction and pair.contradict > pair.entail:
            marks.append(Mark(start, end, "clash", "✗", _t("panels.card.clash_title")))
        elif 0 <= start < end and pair.entail >= thresholds.support:
            marks.append(Mark(start, end, "match", "✓", _t("panels.card.match_title")))
    return marks


def _scores(session: Session, sample_id: str) -> Markup:
    """All scores of the sample by layer, to unfold; those without a value with their state, and other tools' scores."""
    small = session.slices.small(sample_id)
    states, scores = small.states().loc[sample_id].to_dict(), small.scores().loc[sample_id].to_dict()
    chips, without = [], dict[str, list[str]]()
    for name, state in states.items():
        if state != "ok":
            without.setdefault(state, []).append(metric_title(name))
    for layer, names in by_layer(name for name in scores if states[name] == "ok"):
        own, n_low = [], 0
        for name in names:
            # The highest precision@k depends on how many documents are expected: one of one is 0.20 at k = 5, no fault.
            known, value = definition(name), scores[name]
            low = not (known and known.bounded == "depth") and is_low(name, value, session.thresholds.low_cut(name))
            n_low += low
            number = h("strong", numbers.score(value), cls="wb-bad" if low else "")
            own.append(h("span", f"{metric_title(name)} {direction(name)} ", number, " ✗" if low else "", cls="wb-chip",
                         title=metric_reading(name) or None))  # fmt: skip
        said = h("span", _t("lists.low", n=n_low), cls="wb-bad") if n_low else quiet(_t("lists.none_low"))
        chips.append(h("details", h("summary", f"{layer} ({len(names)}) ", said), h("div", *own, cls="wb-body")))
    if without:
        lines = [h("p", f"{state_title(state)}: ", ", ".join(names)) for state, names in without.items()]
        n = sum(len(names) for names in without.values())
        chips.append(h("details", h("summary", _t("panels.card.without", n=n), cls="wb-quiet"), *lines))
    pairs = [("scores", join(chips))]
    if recorded := session.slices.recorded(sample_id):
        others = [
            h("span", f"{name} ", h("strong", numbers.score(value)), cls="wb-chip") for name, value in recorded.items()
        ]
        pairs.append(("other_tool", join(others)))
    return _grid(pairs)


def term_marks(text: str, terms: Iterable[str], kind: str = "word") -> list[Mark]:
    """A mark for each place where a normalised term stands in ``text`` as a whole word, or as a stretch of at least two
    characters where words are not parted by spaces: one alone stands in too many other words."""
    folded, offsets = normalise_with_map(text)
    run, marks = re.compile(f"[{unspaced()}]+"), []
    for term in dict.fromkeys(terms):
        if len(term) < 2 and run.fullmatch(term):
            continue
        pattern = re.escape(term) if run.fullmatch(term) else rf"(?<!\w){re.escape(term)}(?!\w)"
        for match in re.finditer(pattern, folded):
            start, end = offsets.span(match.start(), match.end())
            marks.append(Mark(start, end, kind))
    return marks


def sample_table(session: Session, sample_id: str, found: Mapping[str, Any]) -> pd.DataFrame:
    """What is known of one sample in two columns, for findings in formats without a card."""
    import pandas as pd

    sample, own = session.sample(sample_id), session.annotations.get(sample_id)
    contexts = [item.get("doc_id") or f"#{rank}" for rank, item in enumerate(sample.get("contexts") or (), 1)]
    rows = {
        "question": sample["question"], "answer": sample.get("answer"), "reference": sample.get("reference"),
        "cause": cause_title(found["primary_cause"]), "why": found.get("evidence"), "try": found.get("advice"),
        "contexts": ", ".join(map(str, contexts)), "verdict": verdict_title(own.verdict) if own and own.verdict else None,
    }  # fmt: skip
    kept = [(_t(f"lists.field.{name}"), str(value)) for name, value in rows.items() if none_if_missing(value) is not None]
    return pd.DataFrame(kept, columns=[_t("lists.field.field"), _t("lists.field.value")])
