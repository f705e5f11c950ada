"""The evidence card: everything that is known about one sample, and the user's own verdict on it.

:func:`card_html` is the plain function; :class:`Card` is its view, embedded in panels 02 to 07.
"""

from __future__ import annotations

import datetime
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.data.schema import alternatives, judgements, none_if_missing
from workbench.data.text.normalise import HAN_RUN, normalise_with_map
from workbench.data.text.points import find_any
from workbench.diagnosis.causes import NOT_FAILING, sign
from workbench.diagnosis.queries import value_title
from workbench.language import listed
from workbench.language import text as _t
from workbench.scoring.metrics import definition
from workbench.views.filtering import CHOICES, explained, is_low, records
from workbench.views.html import Mark, excerpt, h, join, marked, safe
from workbench.views.plots import figure_png
from workbench.views.session import VERDICTS
from workbench.views.widgets import Panel, Stepper, button, display, dropdown, markup, row, show
from workbench.views.wording import cause_title, metric_title, score_text, state_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session


# ------------------------------------------------------------------------------
# The parts of an evidence card, each a plain function of a session and a sample id that gives markup.


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
    kind = "wb-fail" if failing else "wb-pass"
    return h("span", f"{sign(found['primary_cause'])} ", *parts, cls=f"wb-cause {kind}")


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
    from workbench.data.text.words import content_words

    return frozenset(content_words(question[:2000]))


def word_marks(text: str, words: frozenset[str], most: int = 200) -> list[Mark]:
    """Where the words stand in ``text`` (its first 20,000 characters, at most ``most`` places)."""
    from workbench.data.text.normalise import normalise
    from workbench.data.text.words import tokens

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
    known = definition(name)
    low = not (known and known.bounded == "depth") and is_low(name, value, session.thresholds.low_cut(name))
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


# ------------------------------------------------------------------------------
# The row of filters that panels share: cause, type, language, tag, free text, undo and reset.


def choices(session: Session, name: str) -> list[tuple[str, Any]]:
    """What can be chosen for one part of the filter, with counts over the whole set, most frequent first."""
    counts: Counter[str] = Counter()
    if name == "cause":
        counts.update(session.causes.counts())
    elif name in ("tag", "asked"):
        column = session.facets["tags" if name == "tag" else name]
        counts.update(value for values in column if values for value in set(values))
    else:
        counts.update(value for value in session.facets[name] if value)
    any_one = (_t("panels.filters.any"), ANY)
    return [any_one, *((f"{_called(name, key)} ({n:,})", key) for key, n in counts.most_common(200) if n)]


def _called(name: str, key: str) -> str:
    if name == "asked":
        return value_title("query_type", key)
    if name != "cause":
        return key[:60]
    return _t("panels.filters.failing") if key == "failing" else cause_title(key)


#: The value of "any" in a drop-down list (None would show as an empty box).
ANY = ""


class FilterBar(W.VBox):
    """Choices for each part of the session's filter; a part without anything to choose is not shown."""

    def __init__(self, panel: Panel) -> None:
        assert panel.session is not None
        self._session = panel.session
        self._quiet = False
        self.choices = {name: dropdown(_t(f"panels.filters.{name}"), choices(self._session, name), ANY, "172px")
                        for name in CHOICES}  # fmt: skip
        self.text = W.Text(description=_t("panels.filters.search"), continuous_update=False,
                           layout=W.Layout(width="190px"), style={"description_width": "initial"})  # fmt: skip
        self.undo = button(_t("panels.filters.undo"), panel.guarded(self._session.undo, "undo"))
        self.reset = button(_t("panels.filters.reset"), panel.guarded(self._session.reset, "reset"))
        self.note = markup()
        for name, widget in self.choices.items():
            panel.on(widget, partial(self._choose, name))
        panel.on(self.text, lambda value: self._choose("text", value.strip()))
        super().__init__([row(*self.choices.values(), self.text, self.undo, self.reset), self.note])

    def _choose(self, part: str, value: Any) -> None:
        if not self._quiet:
            self._session.set_filter(**{part: value or ("" if part == "text" else None)})

    def fill(self) -> None:
        """Show the session's filter; causes are counted anew, since thresholds move them."""
        self._quiet = True
        for name, widget in self.choices.items():
            options = choices(self._session, name)
            wanted = getattr(self._session.filter, name) or ANY
            if wanted not in [value for _, value in options]:
                options.append((f"{_called(name, wanted)} (0)", wanted))
            if list(widget.options) != options:
                widget.options = options
            widget.value = wanted
            display(widget, len(options) > 1)
        self.text.value = self._session.filter.text
        self._quiet = False
        label = self._session.filter.label
        show(self.note, h("p", _t("panels.filters.only", label=label), cls="wb-note") if label else h("span"))


class FilterNote(W.HBox):
    """What the session's filter lets through, and a button that takes it off; nothing while everything is shown.

    For panels that follow the filter without choices of their own. ``take_off`` is called by the button.
    """

    def __init__(self, panel: Panel, take_off: Callable[[], None] | None = None) -> None:
        assert panel.session is not None
        self._session = panel.session
        self.note = markup()
        self.everything = button(_t("panels.filters.everything"), panel.guarded(take_off or self._session.clear_filter,
                                                                                "show all"), "wb-everything")  # fmt: skip
        super().__init__([self.note, self.everything], layout=W.Layout(align_items="center", grid_gap="2px 10px"))
        self.fill()

    def fill(self) -> None:
        """Say what is in force."""
        words = self._session.filter.words()
        show(self.note, h("p", _t("panels.filters.in_force", label=words), cls="wb-note") if words else h("span"))
        display(self, bool(words))


# ------------------------------------------------------------------------------
# Where the words of a question stand in a text, as marks to point out.


def term_marks(text: str, terms: Iterable[str], kind: str = "word") -> list[Mark]:
    """A mark for each place where a normalised term stands in ``text`` as a whole word (Chinese: as a stretch)."""
    folded, offsets = normalise_with_map(text)
    marks = []
    for term in dict.fromkeys(terms):
        pattern = re.escape(term) if HAN_RUN.fullmatch(term) else rf"(?<!\w){re.escape(term)}(?!\w)"
        for match in re.finditer(pattern, folded):
            start, end = offsets.span(match.start(), match.end())
            marks.append(Mark(start, end, kind))
    return marks


# ------------------------------------------------------------------------------


def card_html(session: Session, sample_id: str) -> Markup:
    """The evidence of one sample as static markup: question, cause, answer, expectations, contexts, scores."""
    parts = (header_part, answer_part, expected_part, contexts_part, scores_part)
    return h("div", *(part(session, sample_id) for part in parts), cls="wb-cardbody")


class Card(W.VBox):
    """The card of the session's selected sample, with verdict, note, pin and copyable ids.

    Parameters
    ----------
    panel
        The panel that it stands in; its red line shows what fails here.
    on_pin
        Called when the pin button is pressed.
    ids
        Gives the ids that "copy ids" offers and a pin is about; by default the selected one.
    body
        Gives the markup of a sample; by default :func:`card_html`.
    """

    def __init__(self, panel: Panel, on_pin: Callable[[], Any], ids: Callable[[], list[str]] | None = None,
                 body: Callable[[str], Markup] | None = None) -> None:  # fmt: skip
        assert panel.session is not None
        self._panel, self._session = panel, panel.session
        self._markup = body or (lambda sample_id: card_html(self._session, sample_id))
        self._ids = ids or (lambda: [self._session.selection] if self._session.selection else [])
        self._quiet = False
        self.body = markup(None, "wb-card")
        self.verdict = W.ToggleButtons(
            options=[(_t("panels.card.no_verdict"), None), *((verdict_title(name), name) for name in VERDICTS)],
            value=None, description=_t("panels.card.my_verdict"),
            style={"button_width": "auto", "description_width": "initial"},
            layout=W.Layout(width="max-content", margin="2px"),
        )  # fmt: skip
        self.note = W.Text(description=_t("panels.card.note"), continuous_update=False, layout=W.Layout(width="330px"),
                           style={"description_width": "initial"})  # fmt: skip
        self.saved = markup()
        self.pin = button(f"⚑ {_t('panels.card.pin')}", panel.guarded(on_pin, "pin"), "wb-pin")
        self.copy = button(_t("panels.card.copy_ids"), panel.guarded(self._show_ids, "copy ids"))
        self.id_box = W.Textarea(layout=W.Layout(width="100%", height="70px"))
        display(self.id_box, False)
        panel.on(self.verdict, lambda _: self._annotate())
        panel.on(self.note, lambda _: self._annotate())
        mine = row(self.verdict, self.note, self.saved, self.pin, self.copy)
        super().__init__([self.body, mine, self.id_box], layout=W.Layout(width="100%"))
        self.mine = mine

    def draw(self, sample_id: str | None, empty: str = "") -> None:
        """Show a sample, or the words of ``empty`` when there is none to show."""
        display(self.mine, sample_id is not None)
        display(self.id_box, False)
        if sample_id is None:
            show(self.body, h("div", empty, cls="wb-empty") if empty else Markup())
            return
        show(self.body, self._markup(sample_id))
        self._fill(sample_id)

    def _fill(self, sample_id: str) -> None:
        """Show the verdict and note as saved, without saving them again."""
        annotation = self._session.annotations.get(sample_id)
        self._quiet = True
        self.verdict.value = annotation.verdict if annotation else None
        self.note.value = annotation.note if annotation else ""
        self._quiet = False
        self._say_saved(annotation.at if annotation else "")

    def _annotate(self) -> None:
        if self._quiet or self._session.selection is None:
            return
        chosen = self._session.annotate(self._session.selection, verdict=self.verdict.value, note=self.note.value)
        self._say_saved(chosen.at)

    def _say_saved(self, at: str) -> None:
        key = "panels.card.saved" if self._session.saved else "panels.card.kept"
        show(self.saved, h("span", _t(key, time=_clock(at)), cls="wb-quiet") if at else Markup())

    def _show_ids(self) -> None:
        self.id_box.value = "\n".join(self._ids())
        display(self.id_box, self.id_box.layout.display == "none")

    def keep(self, title: str, **stated: Any) -> None:
        """Pin the panel's picture and table with the note on the selected sample; ``stated``: further arguments of
        :meth:`~workbench.views.session.Session.pin`."""
        table, figure = self._panel.table(), self._panel.figure()
        own = self._session.annotations.get(self._session.selection or "")
        self._session.pin(
            title, panel=self._panel.stem, note=own.note if own else "",
            figure=None if figure is None else figure_png(figure),
            table=table if table.index.name is None else table.reset_index(), sample_ids=self._ids(), **stated,
        )  # fmt: skip
        self.say(_t("panels.card.pinned", n=len(self._session.findings)))

    def say(self, line: str) -> None:
        """Say something beside the buttons, e.g. that a pin was saved."""
        show(self.saved, join([h("span", line, cls="wb-quiet")]))


def _clock(at: str) -> str:
    try:
        return datetime.datetime.fromisoformat(at).astimezone().strftime("%H:%M")
    except ValueError:
        return at


# ------------------------------------------------------------------------------
# Panels around a list of samples, with previous and next and the card of the selected one.


class ListPanel(Panel):
    """Base of those panels. Subclasses make ``stepper`` (which calls :meth:`go`) and ``card``, and say what is listed."""

    stepper: Stepper
    card: Card

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session: Session = session
        self._quiet = False

    @abstractmethod
    def ids(self) -> list[str]:
        """Ids of the list, in its order."""

    @abstractmethod
    def position(self, at: int, ids: Sequence[str]) -> str:
        """What stands beside the buttons for place ``at`` (from 0) of ``ids``, which may be empty."""

    @abstractmethod
    def empty_words(self) -> str:
        """What the card says when nothing is listed."""

    def go(self, at: int) -> None:
        """Select the sample at a place of the list."""
        self.session.select(self.ids()[at])

    def settle(self) -> None:
        """After the list changed: keep the selected sample when it is listed, else select the first."""
        ids = self.ids()
        if self.session.selection in ids or not ids:
            self.draw_card()
        else:
            self.session.select(ids[0])

    def draw_card(self) -> None:
        """Show the selected sample and its place; the first one when the selected one is not listed."""
        ids, selected = self.ids(), self.session.selection
        at = ids.index(selected) if selected in ids else 0
        self.stepper.set(at, len(ids), self.position(at, ids))
        self.card.draw(ids[at] if ids else None, self.empty_words())
