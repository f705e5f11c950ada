"""The evidence card: everything that is known about one sample, and the user's own verdict on it.

:func:`card_html` is the plain function; :class:`Card` is its view, embedded in panels 02 to 08, and :class:`ListPanel`
what these panels share.
"""

from __future__ import annotations

import asyncio
import datetime
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.data.schema import alternatives, judgements, none_if_missing
from workbench.data.text.normalise import normalise, normalise_with_map, unspaced
from workbench.data.text.words import content_words, tokens
from workbench.diagnosis.causes import NOT_FAILING, cause_names, sign
from workbench.diagnosis.queries import value_title
from workbench.language import listed, numbers
from workbench.language import text as _t
from workbench.scoring.metrics import definition
from workbench.views.figures import figure_png
from workbench.views.filtering import CHOICES, Filter, explained, is_low, records
from workbench.views.html import Fragment, Mark, empty, excerpt, h, join, marked, quiet
from workbench.views.session import VERDICTS, Annotation
from workbench.views.widgets import (
    LABEL,
    Column,
    Panel,
    Picture,
    RowList,
    Stepper,
    button,
    display,
    dropdown,
    markup,
    row,
    show,
    text_box,
)
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
    from matplotlib.figure import Figure

    from workbench.views.session import Session

# The parts of an evidence card, each a plain function of a session and a sample id.

#: Sign of a claim's verdict; the colour never stands alone.
SIGNS = {"supported": "✓", "contradicted": "✗", "not_mentioned": "✗", "unsure": "?"}
#: Contexts that a card shows, and how far into a context the question's words are pointed out, and how often.
MOST_CONTEXTS, WORDS_WITHIN, MOST_WORDS = 30, 20_000, 200
#: Cards that are kept ready, and seconds until the next one is made.
MADE, SOON = 12, 0.15


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
        evidence = getattr(session.slices.small(sample_id), "evidence", None)
        judged = evidence is not None and evidence.samples["judge_state"].loc[sample_id] == "ok"
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
    words = frozenset(content_words(str(row["question"])[:2000]))
    shown = []
    for rank, item in enumerate(contexts[:MOST_CONTEXTS], start=1):
        known = facts.loc[rank] if rank in facts.index else {}
        inside = (Mark(token.start, token.end, "word") for token in tokens(item["text"][:WORDS_WITHIN])
                  if normalise(token.text) in words)  # fmt: skip
        marks = [*_support_marks(support, rank, session.thresholds), *islice(inside, MOST_WORDS)]
        head = h("summary", f"{rank} ", document_name(item, known), quiet(*_facts(item, known)))
        body = h("div", marked(item["text"], marks), cls="wb-body")
        shown.append(h("details", head, body, open=bool(known.get("used"))))
    if len(contexts) > MOST_CONTEXTS:
        shown.append(quiet(_t("panels.common.of", shown=MOST_CONTEXTS, total=len(contexts)), tag="p"))
    return _grid([("contexts", join(shown))])


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


# The filter of the session, as widgets.

#: The value of "any" in a drop-down list (None would show as an empty box).
ANY = ""


class FilterBar(W.VBox):
    """Choices for each part of the session's filter, free text, undo, reset; a part with nothing to choose is not shown."""

    def __init__(self, panel: Panel) -> None:
        assert panel.session is not None
        self._panel, self._session = panel, panel.session
        self.choices = {name: dropdown(_t(f"panels.filters.{name}"), self._offered(name), ANY, "165px")
                        for name in CHOICES}  # fmt: skip
        self.text = text_box(_t("panels.filters.search"), width="165px", continuous_update=False)
        self.undo = button(_t("panels.filters.undo"), panel.guarded(self._session.undo, "undo"))
        self.reset = button(_t("panels.filters.reset"), panel.guarded(self._session.reset, "reset"))
        for name, widget in self.choices.items():
            panel.on(widget, partial(self._choose, name))
        panel.on(self.text, lambda value: self._session.set_filter(text=value.strip()))
        super().__init__([row(*self.choices.values(), self.text, self.undo, self.reset)])

    def _choose(self, part: str, value: str) -> None:
        self._session.set_filter(**{part: value or None})

    def _offered(self, name: str) -> list[tuple[str, Any]]:
        """What can be chosen for one part, with counts over the whole set, most frequent first."""
        if name == "cause":
            counts = Counter(self._session.causes.counts())
        elif name in ("tag", "asked"):
            column = self._session.facets["tags" if name == "tag" else name]
            counts = Counter(value for values in column if values for value in set(values))
        else:
            counts = Counter(value for value in self._session.facets[name] if value)
        found = [(f"{self._called(name, key)} ({n:,})", key) for key, n in counts.most_common(200) if n]
        return [(_t("panels.filters.any"), ANY), *found]

    def _called(self, part: str, value: str) -> str:
        if part == "asked":
            return value_title("query_type", value)
        if part != "cause":
            return value[:60]
        return _t("panels.filters.failing") if value == "failing" else cause_title(value)

    def fill(self) -> None:
        """Show the session's filter; causes are counted anew, since thresholds move them."""
        chosen = self._session.filter
        with self._panel.quietly():
            for name, widget in self.choices.items():
                options, wanted = self._offered(name), getattr(chosen, name) or ANY
                if wanted not in [value for _, value in options]:
                    options.append((f"{self._called(name, wanted)} (0)", wanted))
                if list(widget.options) != options:
                    widget.options = options
                widget.value = wanted
                display(widget, len(options) > 1)
            self.text.value = chosen.text


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
        # Its place is kept, so that nothing below moves.
        self.layout.visibility = "visible" if words else "hidden"


# The card with the user's own verdict, and panels around a list of samples.


class Card(W.VBox):
    """The card of the session's selected sample, inside a :class:`ListPanel`.

    What the user says of it (verdict, note, saving) is ``bar``, which stands above whatever may change its height.
    """

    def __init__(self, panel: ListPanel) -> None:
        self._panel, self._session = panel, panel.session
        self.body = markup(None, "wb-card")
        self.verdict = W.ToggleButtons(
            options=[(_t("panels.card.no_verdict"), None), *((verdict_title(name), name) for name in VERDICTS)],
            value=None, description=_t("panels.card.my_verdict"), style={"button_width": "auto", **LABEL},
            layout=W.Layout(width="max-content", margin="2px"),
        )  # fmt: skip
        self.note = text_box(_t("panels.card.note"), width="190px", continuous_update=False)
        self.note.add_class("wb-own-note")
        #: A verdict by one key: JupyterLab leaves the keys of a text box alone.
        self.key = W.Text(placeholder=_t("panels.card.key"), layout=W.Layout(width="110px"))
        self.key.tooltip = _t("panels.card.key_hint")
        self.key.add_class("wb-key")
        self._typed = ""
        self.saved = markup(None, "wb-saved")
        self.save = button(_t("lists.save_sample"), panel.guarded(self.keep_sample, "save sample"), "wb-save")
        self.pin = button(_t("lists.save_view"), panel.guarded(panel.pin, "pin"), "wb-pin")
        self.save.tooltip, self.pin.tooltip = _t("lists.save_sample_hint"), _t("lists.save_view_hint")
        self.copy = button(_t("panels.card.copy_ids"), panel.guarded(self._show_ids, "copy ids"))
        self.id_box = W.Textarea(layout=W.Layout(width="100%", height="70px", display="none"))
        for widget in (self.verdict, self.note):
            panel.on(widget, lambda _: self._annotate())
        panel.on(self.key, self._keyed)
        buttons = row(panel.stepper, self.verdict, self.key, self.note, self.save, self.pin, self.copy)
        self.bar = W.VBox([buttons, self.saved])
        super().__init__([self.body, self.id_box], layout=W.Layout(width="100%"))

    def draw(self, sample_id: str | None, words: str = "") -> None:
        """Show a sample with the verdict and note as saved, or ``words`` when there is none to show."""
        display(self.id_box, False)
        for widget in (self.verdict, self.note, self.save, self.copy):
            widget.disabled = sample_id is None
        if sample_id is None:
            show(self.body, empty(words) if words else Markup())
        else:
            show(self.body, self._panel.card_of(sample_id))
        annotation = self._session.annotations.get(sample_id or "")
        with self._panel.quietly():
            self.verdict.value = annotation.verdict if annotation else None
            self.note.value = annotation.note if annotation else ""
        self._say_saved(annotation.at if annotation else "")

    def _annotate(self) -> None:
        if self._session.selection is not None:
            verdict, note = self.verdict.value, self.note.value
            self._say_saved(self._session.annotate(self._session.selection, verdict=verdict, note=note).at)

    def _keyed(self, typed: str) -> None:
        """The first letter of a verdict, or its number, gives it and goes on to the next sample.

        The box is never emptied: a key that was typed while the kernel was busy must not be read twice.
        """
        letters = {key: name for at, name in enumerate(VERDICTS) for key in (name[0], str(at + 1))}
        new = typed[len(self._typed) :] if typed.startswith(self._typed) else ""
        self._typed = typed
        for verdict in filter(None, map(letters.get, new.lower())):
            with self._session.batch():  # one notification: what is shown is drawn once
                if self._session.selection is not None:
                    note = self._session.annotations.get(self._session.selection, Annotation()).note
                    self._session.annotate(self._session.selection, verdict=verdict, note=note)
                    self._panel.stepper.next.click()

    def _say_saved(self, at: str) -> None:
        with suppress(ValueError):
            at = datetime.datetime.fromisoformat(at).astimezone().strftime("%H:%M")
        key = "panels.card.saved" if self._session.saved else "panels.card.kept"
        show(self.saved, quiet(_t(key, time=at)) if at else Markup())

    def _show_ids(self) -> None:
        self.id_box.value = "\n".join(self._panel.ids())
        display(self.id_box, self.id_box.layout.display == "none")

    def keep(self, title: str, **stated: Any) -> None:
        """Save the view: the panel's picture, counts, filter and table with the note on the selected sample. ``stated``:
        further arguments of :meth:`~workbench.views.session.Session.pin`, which win."""
        own = self._session.annotations.get(self._session.selection or "")
        if "table" not in stated:
            table = self._panel.table()
            stated["table"] = table if table.index.name is None else table.reset_index()
        if (figure := self._panel.figure()) is not None:
            stated["figure"] = figure_png(figure)
        known = {"note": own.note if own else "", "sample_ids": self._panel.ids(), "snippet": self._panel._snippet()}
        found = self._session.pin(title, panel=self._panel.stem, **{**known, **stated})
        self._say_kept("view", n=f"{found.n:,}")

    def keep_sample(self) -> None:
        """Save the sample that is looked at, with its card as it stands."""
        shown = self._panel.shown_id
        if shown is None:
            return
        own, found = self._session.annotations.get(shown), explained(self._session.slices, shown)
        question = " ".join(str(self._session.sample(shown)["question"]).split())
        self._session.pin(
            f"{shown}: {cause_title(found['primary_cause'])} – {question[:90]}", panel=self._panel.stem,
            note=own.note if own else "", sample_ids=[shown], n_total=len(self._session.samples),
            card=str(self._panel.body(shown)), snippet=self._panel.script(f"session.select({shown!r})"),
            table=sample_table(self._session, shown, found),
        )  # fmt: skip
        self._say_kept("sample", id=shown[:40])

    def _say_kept(self, what: str, **values: str) -> None:
        show(self.saved, quiet(_t(f"lists.kept_{what}", total=len(self._session.findings), **values)))


def id_column() -> Column:
    """The ids of samples."""
    return Column("sample_id", _t("panels.columns.sample_id"), "id")


def question_column() -> Column:
    """The questions, on one line."""
    return Column("question", _t("panels.columns.question"), "text", lambda text: " ".join(str(text)[:400].split()))


def cause_column(key: str = "cause", title: str | None = None) -> Column:
    """Causes with their sign, sorted as they break a chain."""
    order = {name: place for place, name in enumerate((*cause_names(), *NOT_FAILING))}

    def shown(name: str) -> tuple[str, str]:
        return f"{sign(name)} {cause_title(name)}", "wb-pass" if name in NOT_FAILING else "wb-fail"

    return Column(key, title or _t("panels.columns.cause"), "short", shown, lambda name: order.get(name, len(order)))


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


class ListPanel(Panel):
    """Base of panels around a list of samples: counts, a picture, previous and next, the list, the card of one sample.

    Subclasses say what is listed and draw it in :meth:`_refresh`; once put together they call :meth:`begin`.
    """

    filters: FilterBar | FilterNote | None = None
    #: Whether the card of the next row is made while this one is read; only where nothing but the sample decides what it says.
    ahead = False
    _at = -1
    rows: RowList | None = None

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session: Session = session
        self.count = markup(None, "wb-count")
        self.picture = Picture("wb-figure", guarded=self.guarded)
        self.stepper = Stepper(self, self.go)
        self._made: dict[str, Markup] = {}
        self._soon: asyncio.TimerHandle | None = None
        self.card = Card(self)
        self.bar = self.card.bar

    def beside(self, *columns: Column, above: Sequence[W.Widget] = (), below: Sequence[W.Widget] = ()) -> W.Box:
        """A list with these columns, and the card beside it (below it on a narrow page) between other widgets."""
        self.rows = RowList(columns, self.guarded, self.go, lambda: self._list(), self._key)
        box = W.Box([self.rows, W.VBox([*above, self.card, *below])])
        box.add_class("wb-split")
        display(self.card.key, False)  # the list takes the keys itself
        return box

    def _list(self) -> None:
        """Put the listed samples together anew, in the order of the list."""

    def _key(self, key: str) -> None:
        if key == "p":
            self.card.keep_sample()
        elif key.isdigit() and self.shown_id is not None:
            self.card.verdict.value = VERDICTS[int(key) - 1]

    def _note(self) -> str:
        """What stands above the list: a set of samples that was chosen elsewhere."""
        label = self.session.filter.label
        return _t("panels.filters.only", label=label) if label else ""

    def begin(self, *, draw: bool = True) -> None:
        """Follow the session from now on, and draw for the first time."""
        self.session.observe(self.guarded(self._follow, "session"))
        if draw:
            self._follow(frozenset(("filter", "thresholds")))

    def _follow(self, names: frozenset[str]) -> None:
        if self.filters is not None and "filter" in names:
            self.filters.fill()
        if names & {"filter", "thresholds"}:
            self._refresh()
        elif "selection" in names:
            self.draw_card()

    @abstractmethod
    def _refresh(self) -> None:
        """Draw everything under the filter and thresholds in force."""

    @abstractmethod
    def ids(self) -> list[str]:
        """Ids of the list, in its order."""

    @abstractmethod
    def _empty_words(self) -> str:
        """What the card says when nothing is listed."""

    @abstractmethod
    def pin(self) -> None:
        """Keep what is shown as a finding."""

    @abstractmethod
    def _snippet(self) -> str:
        """Lines of Python that give the same table."""

    def _position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41" and the id, for place ``at`` (from 0) of ``ids``, which may be empty."""
        if not ids:
            return _t("panels.low_scores.none")
        return _t("panels.low_scores.position", at=f"{at + 1:,}", n=f"{len(ids):,}")

    def body(self, sample_id: str) -> Markup:
        """What the card shows of a sample."""
        return card_html(self.session, sample_id)

    def card_of(self, sample_id: str) -> Markup:
        """:meth:`body`; one that was made for this list is kept."""
        if not self.ahead:
            return self.body(sample_id)
        if sample_id not in self._made:
            self._made = {**dict(islice(self._made.items(), max(len(self._made) - MADE + 1, 0), None)),
                          sample_id: self.body(sample_id)}  # fmt: skip
        return self._made[sample_id]

    def _make_soon(self, sample_id: str) -> None:
        """Make the card of a sample once the page has what it waits for; at once is too early, it would wait for this too."""
        if self._soon is not None:
            self._soon.cancel()
        with suppress(RuntimeError):  # outside of a kernel no loop runs, and nobody waits
            loop = asyncio.get_running_loop()
            self._soon = loop.call_later(SOON, self.guarded(lambda: self.card_of(sample_id), "ahead"))

    def still_card(self) -> Markup | None:
        """The card of the selected sample for static HTML; None when it is not listed."""
        selected = self.session.selection
        return self.card_of(selected) if selected is not None and selected in self.ids() else None

    def row_ids(self) -> Sequence[str]:
        """The sample of each row of the list; a sample may have several."""
        return self.ids()

    def go(self, at: int) -> None:
        """Look at a row of the list."""
        self._at, sample_id = at, self.row_ids()[at]
        if self.session.selection == sample_id:
            self.draw_card()
        else:
            self.session.select(sample_id)

    def keep_selection(self, first: int = 0) -> None:
        """After the list changed: keep the selected sample when it is listed, else go to row ``first``."""
        self._made = {}
        if self._soon is not None:
            self._soon.cancel()
        ids = self.row_ids()
        if self.session.selection in ids or not len(ids):
            self.draw_card()
        else:
            self.go(first)

    @property
    def at(self) -> int | None:
        """The row looked at: the one gone to, else the first of the selected sample, else the first; None without any."""
        ids, selected = self.row_ids(), self.session.selection
        if 0 <= self._at < len(ids) and ids[self._at] == selected:
            return self._at
        return ids.index(selected) if selected in ids else 0 if len(ids) else None

    @property
    def shown_id(self) -> str | None:
        """The sample on the card: the selected one, the first when that is not listed, None when nothing is."""
        return None if self.at is None else self.row_ids()[self.at]

    def draw_card(self) -> None:
        """Show the sample of the row looked at, and its place."""
        ids, at = self.row_ids(), self.at
        self.stepper.set(at or 0, len(ids), self._position(at or 0, ids))
        if self.rows is not None:
            self.rows.point(-1 if at is None else at)
        self.card.draw(None if at is None else ids[at], self._empty_words())
        if self.ahead and at is not None and at + 1 < len(ids):
            self._make_soon(ids[at + 1])

    def script(self, *lines: str, opened: str = "session") -> str:
        """Lines of Python after those that open the ``session`` with its filter, or the ``evaluation``."""
        call = f"wb.open({str(self.session.evaluation.path or self.session.evaluation.name)!r})"
        first = [f"session = wb.Session({call})" if opened == "session" else f"evaluation = {call}"]
        if opened == "session" and self.session.filter != Filter():
            first.append(f"session.set_filter(**{self.session.filter.to_dict()!r})")
        return "\n".join(["import workbench as wb", *first, *lines])

    @abstractmethod
    def html(self) -> Fragment:
        """What is shown, as a static piece of HTML."""


class MissPanel(ListPanel):
    """Base of panels around questions and the documents that they missed; a sample may stand there with several."""

    _document: str | None = None

    @property
    @abstractmethod
    def listed(self) -> Sequence[Any]:
        """What is listed, in order; each has ``miss.sample_id`` and ``miss.doc_id``."""

    @property
    def at(self) -> int | None:
        """Place of what is looked at: the chosen document of the selected sample, else the first; None without any."""
        listed = self.listed
        mine = [at for at, item in enumerate(listed) if item.miss.sample_id == self.session.selection]
        same = [at for at in mine if listed[at].miss.doc_id == self._document]
        return next(iter(same or mine), 0 if listed else None)

    def row_ids(self) -> list[str]:
        """The sample of each listed document."""
        return [item.miss.sample_id for item in self.listed]

    def ids(self) -> list[str]:
        """Samples with a listed document."""
        return list(dict.fromkeys(self.row_ids()))

    def go(self, at: int) -> None:
        """Look at the document at a place of the list."""
        self._document = self.listed[at].miss.doc_id
        super().go(at)

    def draw_place(self) -> Any:
        """Show which one of how many is looked at, and its card; what that is, or None."""
        listed, at = self.listed, self.at
        if at is None:
            self.stepper.set(0, 0, _t("panels.low_scores.none"))
            if self.rows is not None:
                self.rows.point(-1)
            self.card.draw(None)
            return None
        miss = listed[at].miss
        where = _t("missed.position", at=at + 1, n=len(listed))
        self.stepper.set(at, len(listed), where)
        if self.rows is not None:
            self.rows.point(at)
        self.card.draw(miss.sample_id)
        return listed[at]

    @abstractmethod
    def _drawn(self, theme: str, view: str | None = None) -> tuple[Figure, str] | None:
        """A picture (that in view) and its caption; None where it cannot be drawn."""

    def _again(self) -> Figure:
        drawn = self._drawn("screen")
        assert drawn is not None
        return drawn[0]

    # Handing over: what waits for the work that goes on is built of what is known now.

    def figure(self) -> Figure | None:
        """The picture in view, dark on white."""
        self.join()
        drawn = self._drawn("print")
        return None if drawn is None else drawn[0]

    @abstractmethod
    def rows_known(self) -> pd.DataFrame:
        """What is listed, as far as it is known now."""

    def table(self) -> pd.DataFrame:
        """:meth:`rows_known` once all is known."""
        self.join()
        return self.rows_known()

    @abstractmethod
    def page(self, rows: int = 15) -> Fragment:
        """As :meth:`html`, of what is known now."""

    def html(self, rows: int = 15) -> Fragment:
        """What is shown, as a static piece of HTML, once all is known."""
        self.join()
        return self.page(rows)
