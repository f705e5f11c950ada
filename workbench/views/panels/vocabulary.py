"""Panel 04: which words never meet?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.synonyms import FORMATS, SynonymTable, rescued, save_synonyms
from workbench.diagnosis.vocabulary import (
    GAP,
    Candidate,
    Gap,
    TermVectors,
    Vocabulary,
    absent_terms,
    candidates,
    find_gaps,
    heat,
    lures,
    term_vectors,
    terms_of,
)
from workbench.errors import CancelledError, WorkbenchError
from workbench.evidence.corpus_index import CorpusIndex
from workbench.evidence.corpus_ranks import as_corpus, find_misses, questions_of, with_ids
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import ANY, Card, FilterNote, card_html, term_marks
from workbench.views.html import Fragment, Markup, fragment, h, join, marked, picture, safe, table
from workbench.views.widgets import (
    CellWaits,
    Newest,
    Panel,
    Picture,
    Progress,
    Stepper,
    button,
    cut_slider,
    display,
    dropdown,
    markup,
    row,
    show,
)
from workbench.views.wording import rate_text, score_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.evidence.encoders.base import Encoder
    from workbench.views.session import Session


# ------------------------------------------------------------------------------
# What panel 04 shows, as plain functions of gaps: counts, the highlighted pair, tables and pictures.


VIEWS = ("heat", "failing")

Drawn = tuple["Figure", str]
Candidates = Mapping[str, Sequence[Candidate]]


def below(gaps: Sequence[Gap], cut: float) -> list[Gap]:
    """Gaps whose missed document covers less than ``cut`` of its question; one that is not indexed is none."""
    return [gap for gap in gaps if gap.coverage < cut]


def count_words(gaps: Sequence[Gap], cut: float) -> str:
    """ "12 of 21 misses are vocabulary gaps"."""
    return _t("vocabulary.count", n=f"{len(below(gaps, cut)):,}", total=f"{len(gaps):,}")


def pair(gap: Gap, vocabulary: Vocabulary) -> Markup:
    """Question and missed document side by side, shared words pointed out, missing ones underlined in the question."""
    index = vocabulary.index
    question, shared = gap.miss.question, [t for t, has in zip(gap.terms, gap.has, strict=True) if has]
    marks = [*term_marks(question, shared, "word"), *term_marks(question, gap.missing, "part")]
    grid: list[Any] = [h("span", _t("vocabulary.question"), cls="wb-key"), h("div", marked(question, marks, shown=900))]
    if gap.place < 0:
        document: Any = h("em", f"{gap.miss.doc_id}: {_t('vocabulary.not_indexed')}")
    else:
        words = index.texts[gap.place]
        name = h("strong", f"★ {index.ids[gap.place]} ", cls="wb-expected")
        document = join([name, marked(words, term_marks(words, shared, "word"), shown=900)])
    grid += [h("span", _t("vocabulary.document"), cls="wb-key"), h("div", document)]
    return h("div", h("div", *grid, cls="wb-grid"), h("p", missing_words(gap, vocabulary)), coverage_line(gap))


def missing_words(gap: Gap, vocabulary: Vocabulary) -> Markup:
    """ "missing: 两步登录 (idf 6.1, in no document)"."""
    if not gap.missing:
        return safe(_t("vocabulary.missing_none"))
    return safe(_t("vocabulary.missing", terms=" · ".join(f"{t} ({rarity(t, vocabulary)})" for t in gap.missing[:12])))


def rarity(term: str, vocabulary: Vocabulary) -> str:
    """IDF of a term and in how many documents it stands."""
    n, idf = vocabulary.count(term), f"{vocabulary.idf(term):.1f}"
    return _t("vocabulary.idf", idf=idf, n=f"{n:,}") if n else _t("vocabulary.idf_none", idf=idf)


def coverage_line(gap: Gap) -> Markup:
    """What the missed document and the best of those that came cover, and which of them lured."""
    words = [_t("vocabulary.coverage", missed=rate_text(gap.coverage), came=rate_text(gap.coverage_retrieved))]
    lured = lures([gap])
    if len(lured):
        words.append(_t("vocabulary.lure", docs=", ".join(str(doc_id) for doc_id in lured["doc_id"][:4])))
    return h("p", " ".join(words), cls="wb-quiet")


def candidate_table(gap: Gap, candidates: Candidates, vocabulary: Vocabulary) -> Markup:
    """Each missing term with its weight and what the document may call it."""
    import pandas as pd

    rows = [(term, vocabulary.idf(term), vocabulary.count(term), candidate_words(candidates.get(term, ())))
            for term in gap.missing[:12]]  # fmt: skip
    names = ["term", "weight", "n_documents", "candidates"]
    return table(pd.DataFrame(rows, columns=names), headings={name: _t(f"vocabulary.columns.{name}") for name in names},
                 total=len(gap.missing))  # fmt: skip


def candidate_words(found: Sequence[Candidate]) -> str:
    """ "双因素认证 0.99 (meaning) · 2fa 0.90 (abbreviation)"."""
    return " · ".join(f"{item.text} {item.score:.2f} ({_t(f'vocabulary.kind_{item.kind}')})" for item in found) or "–"


def gap_table(gaps: Sequence[Gap], candidates: Mapping[int, Candidates]) -> pd.DataFrame:
    """The columns of ``vocabulary_gaps`` for gaps and the candidates known of each (by position)."""
    import pandas as pd

    rows = [
        (gap.miss.sample_id, gap.miss.doc_id, gap.coverage, gap.coverage_retrieved, gap.missing,
         {term: [item.text for item in candidates.get(at, {}).get(term, ())] for term in gap.missing})
        for at, gap in enumerate(gaps)
    ]  # fmt: skip
    names = ["sample_id", "doc_id", "coverage", "coverage_retrieved", "missing_terms", "candidates"]
    return pd.DataFrame(rows, columns=names)


def gap_html(frame: pd.DataFrame, rows: int = 15) -> Markup:
    """The first rows as a reader wants them."""
    names = [name for name in frame.columns if name != "candidates"]
    headings = {name: _t(f"vocabulary.columns.{name}") for name in names}
    formats = dict.fromkeys(("coverage", "coverage_retrieved"), score_text)
    return table(frame[names].head(rows), headings=headings, formats=formats, total=len(frame))


def synonym_html(synonyms: SynonymTable) -> Markup:
    """The accepted pairs."""
    import pandas as pd

    rows = [(pair.term, pair.replacement, _t(f"vocabulary.kind_{pair.kind}")) for pair in synonyms]
    names = ["term", "replacement", "kind"]
    headings = {"term": _t("vocabulary.term"), **{n: _t(f"vocabulary.columns.{n}") for n in names[1:]}}
    return table(pd.DataFrame(rows, columns=names), headings=headings) if rows else Markup()


def accepted_words(synonyms: SynonymTable, before: Sequence[bool], after: Sequence[bool]) -> str:
    """How many of the missed documents BM25 finds with the accepted synonyms."""
    return _t("vocabulary.accepted", n=len(synonyms), after=sum(after), before=sum(before), total=len(after))


def draw(
    view: str, gap: Gap | None, gaps: Sequence[Gap], questions: Sequence[str], *, theme: str = "print"
) -> Drawn | None:
    """The picture ``view``; None where there is nothing to draw."""
    if view == "heat":
        return None if gap is None or not gap.terms else heat_picture(gap, theme)
    return failing_picture(questions, gaps, theme)


def heat_picture(gap: Gap, theme: str = "print") -> Drawn:
    """Question terms × documents."""
    terms, names, weights = heat(gap)
    title = _t("vocabulary.plot.heat_title", missing=len(gap.missing), n=len(gap.terms), doc=gap.miss.doc_id)
    return plots.heat_map(terms, names, weights, title=title, theme=theme), _t("vocabulary.caption.heat")


def absent_html(questions: Sequence[str], gaps: Sequence[Gap], vocabulary: Vocabulary, most: int = 20) -> Markup:
    """Words of questions that stand in no document, those of questions with a miss first."""
    missed = {gap.miss.code for gap in gaps}
    found = absent_terms(questions, [code in missed for code in range(len(questions))], vocabulary)
    words = ", ".join(f"{term} ({row})" for term, row in found["n"].head(most).items()) or "–"
    return h("p", _t("vocabulary.absent", n=f"{len(found):,}", terms=words), cls="wb-quiet")


def failing_picture(
    questions: Sequence[str], gaps: Sequence[Gap], theme: str = "print", most: int = 12
) -> Drawn | None:
    """Terms that questions with a miss have more often than others."""
    missed = {gap.miss.code for gap in gaps}
    found = terms_of(questions, [code in missed for code in range(len(questions))], top=most)
    if not len(found):
        return None
    notes = [f"{failing} / {n}" for failing, n in zip(found["n_failing"], found["n"], strict=True)]
    figure = plots.log_odds(
        found["term"].tolist(), found["log_odds"], found["low"], found["high"], notes=notes,
        title=_t("vocabulary.plot.failing_title"), theme=theme,
    )  # fmt: skip
    return figure, _t("vocabulary.caption.failing", base=rate_text(float(found["base_rate"].iloc[0])))


# ------------------------------------------------------------------------------


#: Words that are encoded for candidates by meaning, at most.
MOST_WORDS = 4000
#: Seconds to wait for candidates by meaning before the panel opens without.
PATIENCE = 0.5


class VocabularyPanel(Panel):
    """Coverage cut, the highlighted pair, candidates, the synonym table and the evidence card.

    Parameters
    ----------
    corpus
        The knowledge base, or anything that ``load_corpus`` reads; without one the panel says what it lacks.
    encoder
        For candidates by meaning: a name, an object of the protocol, ``"none"``; None = the embedded default.
    folder
        Where the synonym table is exported to.

    Accepted synonyms are on disk beside the session as soon as the button was pressed.
    """

    stem = "vocabulary"

    def __init__(
        self,
        session: Session,
        corpus: Any = None,
        encoder: str | Encoder | None = None,
        folder: str | Path = "findings",
    ) -> None:
        super().__init__(session)
        self.session: Session = session
        self._encoder = "auto" if encoder is None else encoder
        self._folder = Path(folder)
        self._quiet = False
        self._work = Newest(self._begin, self._on_progress, self.guarded(self._end, "end"))
        self._vectors: TermVectors | None = None
        self._known: dict[int, Mapping[str, Sequence[Candidate]]] = {}
        self.gaps: list[Gap] = []
        self.vocabulary: Vocabulary | None = None
        kept = None if session.folder is None else session.folder / "synonyms.json"
        self.synonyms = SynonymTable(kept)
        self._build()
        if corpus is not None:
            self.vocabulary = Vocabulary(CorpusIndex(as_corpus(corpus), None))
            self._corpus = as_corpus(corpus)
            self._find()
            self._start_work()
        session.observe(self.guarded(self._follow, "session"))
        self._refresh()

    # ------------------------------------------------------------ widgets

    def _build(self) -> None:
        self.cut = cut_slider(_t("vocabulary.cut"), GAP)
        self.count = markup(None, "wb-count")
        names = [(_t(f"vocabulary.shown_{name}"), name) for name in ("below", "all")]
        self.shown = dropdown(_t("vocabulary.shown"), names, "below")
        self.message, self.waits = markup(), CellWaits()
        self.cancel_button = button(_t("vocabulary.cancel"), self.guarded(self.cancel, "cancel"), "wb-cancel")
        self.stepper = Stepper(self, self._go)
        self.pair = markup(None, "wb-pair")
        self.terms = markup()
        self.view = W.ToggleButtons(options=[(_t(f"vocabulary.view_{name}"), name) for name in VIEWS],
                                    style={"button_width": "auto"})  # fmt: skip
        self.picture = Picture("wb-figure")
        self.card = Card(self, self._pin, self._ids)
        self.filtered = FilterNote(self)
        display(self.cancel_button, False)
        self._build_synonyms()
        self.on(self.cut, lambda _: None if self._quiet else self._refresh())
        self.on(self.shown, lambda _: None if self._quiet else self._refresh())
        self.on(self.view, lambda _: self._draw_picture())
        self.compose(
            row(self.cut, self.count), self.filtered,
            row(self.shown, self.stepper, self.message, self.cancel_button, self.waits),
            self.pair, self.terms,
            self.choosing, self.accepted, self.accepted_table, self.exporting, self.view, self.picture, self.card,
        )  # fmt: skip

    def _build_synonyms(self) -> None:
        """The row that accepts a synonym, the table of accepted ones, and the row that exports them."""
        self.term = dropdown(_t("vocabulary.term"), [], None, "220px")
        self.candidate = dropdown(_t("vocabulary.candidate"), [], None, "280px")
        self.edit = W.Text(description=_t("vocabulary.edit"), layout=W.Layout(width="220px"),
                           style={"description_width": "initial"})  # fmt: skip
        self.accept = button(_t("vocabulary.accept"), self.guarded(self._accept, "accept"), "wb-accept")
        self.skip = button(_t("vocabulary.skip"), self.guarded(self._skip, "skip"))
        self.on(self.term, lambda _: None if self._quiet else self._offer_candidates())
        self.on(self.candidate, lambda value: None if self._quiet else setattr(self.edit, "value", value or ""))
        self.on(self.edit, lambda _: self._may_accept())
        self.choosing = row(self.term, self.candidate, self.edit, self.accept, self.skip)
        self.accepted, self.accepted_table = markup(None, "wb-accepted"), markup()
        self.drop = dropdown("", [], None, "220px")
        self.remove = button(_t("vocabulary.remove"), self.guarded(self._remove, "remove"))
        self.format = dropdown(
            _t("vocabulary.format"), [(_t(f"vocabulary.format_{name}"), name) for name in FORMATS], "json"
        )
        self.export_button = button(_t("vocabulary.export"), self.guarded(lambda: self.export(), "export"), "wb-export")
        self.exported = markup()
        self.exporting = row(self.drop, self.remove, self.format, self.export_button, self.exported)

    # ------------------------------------------------------------ words, and their vectors in a thread of their own

    def _find(self) -> None:
        """Gaps at the k in force."""
        assert self.vocabulary is not None
        t, evidence = self.session.thresholds, self.session.evaluation.evidence
        misses = find_misses(with_ids(evidence, self.vocabulary.index), t.k, t.match)
        self.gaps = find_gaps(misses, self.vocabulary, t.k, t.match)
        self._known = {}

    def _start_work(self) -> None:
        if self._encoder == "none" or not self.gaps:
            return
        gaps, corpus, encoder = list(self.gaps), self._corpus, self._encoder

        def encode(progress: Any, cancelled: Any) -> TermVectors | None:
            return term_vectors(gaps, CorpusIndex(corpus, encoder, progress=progress, cancel=cancelled), MOST_WORDS)

        self._work.start(encode, PATIENCE)

    def _begin(self) -> None:
        display(self.cancel_button, True)
        self._say(_t("vocabulary.working"))

    def cancel(self) -> None:
        """Ask the encoding of words to stop; what was encoded is kept."""
        self._work.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait until candidates by meaning are there (for scripts and static results)."""
        self.waits.join(self._work, timeout)

    def _on_progress(self, progress: Progress) -> None:
        self._say(_t("vocabulary.progress", done=f"{progress.done:,}", total=f"{progress.total:,}"))

    def _end(self, result: Any, error: BaseException | None) -> None:
        display(self.cancel_button, False)
        self._say("")
        if isinstance(error, CancelledError):
            self._say(_t("vocabulary.cancelled"))
        elif isinstance(error, WorkbenchError):
            self._say(_t("vocabulary.failed", reason=error))
        elif error is not None:
            raise error
        else:
            self._vectors, self._known = result, {}
            self._draw_terms()

    def _say(self, words: str) -> None:
        show(self.message, h("span", words, cls="wb-quiet"))

    # ------------------------------------------------------------ what is listed

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names and self.vocabulary is not None:
            self._find()
            self._start_work()
        if names & {"thresholds", "filter"}:
            self._refresh()
        elif "selection" in names:
            self._draw_item()

    @property
    def listed(self) -> list[int]:
        """Positions of the gaps listed: of the session's filter, below the cut."""
        ids = set(self.session.matching())
        mine = [at for at, gap in enumerate(self.gaps) if gap.miss.sample_id in ids]
        low = self.shown.value == "below"
        return [at for at in mine if not low or self.gaps[at].coverage < self.cut.value]

    _document: str | None = None

    @property
    def at(self) -> int | None:
        """Position among ``gaps`` of the one looked at; None when none is listed."""
        listed = self.listed
        mine = [at for at in listed if self.gaps[at].miss.sample_id == self.session.selection]
        same = [at for at in mine if self.gaps[at].miss.doc_id == self._document]
        return next(iter(same or mine or listed), None)

    def _go(self, step: int) -> None:
        gap = self.gaps[self.listed[step]]
        self._document = gap.miss.doc_id
        if self.session.selection == gap.miss.sample_id:
            self._draw_item()
        else:
            self.session.select(gap.miss.sample_id)

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(self.gaps[at].miss.sample_id for at in self.listed))

    def candidates_of(self, at: int) -> Mapping[str, Sequence[Candidate]]:
        """What the missed document of gap ``at`` may call each missing term."""
        if at not in self._known:
            assert self.vocabulary is not None
            self._known[at] = candidates(self.gaps[at], self.vocabulary.index, self._vectors)
        return self._known[at]

    def _refresh(self) -> None:
        ids = set(self.session.matching())
        mine = [gap for gap in self.gaps if gap.miss.sample_id in ids]
        show(self.count, h("span", count_words(mine, self.cut.value)))
        self.filtered.fill()
        at = self.at
        if at is not None and self.gaps[at].miss.sample_id != self.session.selection:
            self._document = None
            self.session.select(self.gaps[at].miss.sample_id)
        else:
            self._draw_item()
        self._draw_synonyms()

    def _draw_item(self) -> None:
        at = self.at
        for widget in (self.choosing, self.exporting):
            display(widget, self.vocabulary is not None and bool(self.gaps))
        if at is None or self.vocabulary is None:
            self.stepper.set(0, 0, _t("vocabulary.none"))
            show(self.pair, h("div", self._empty_words(), cls="wb-empty"))
            self.card.draw(None)
        else:
            gap, listed = self.gaps[at], self.listed
            step = listed.index(at)
            where = _t("vocabulary.position", at=step + 1, n=len(listed))
            self.stepper.set(step, len(listed), f"{where}   {gap.miss.sample_id} · {gap.miss.doc_id}"[:90])
            show(self.pair, pair(gap, self.vocabulary))
            self.card.draw(gap.miss.sample_id)
        self._draw_terms()
        self._draw_picture()

    def _empty_words(self) -> str:
        if self.vocabulary is None:
            return _t("vocabulary.no_corpus")
        if not self.gaps:
            scores, k = self.session.scores, self.session.thresholds.k
            nothing_expected = f"recall@{k}" in scores and bool(scores[f"recall@{k}"].isna().all())
            return _t("missed.nothing_expected") if nothing_expected else _t("vocabulary.no_misses", k=k)
        return _t("vocabulary.empty", cut=f"{self.cut.value:.2f}")

    def _draw_terms(self) -> None:
        at = self.at
        display(self.choosing, at is not None and bool(self.gaps[at].missing))
        if at is None or self.vocabulary is None:
            show(self.terms, Markup())
            return
        missing, known = self.gaps[at].missing, self.candidates_of(at)
        show(self.terms, candidate_table(self.gaps[at], known, self.vocabulary))
        self._quiet = True
        self.term.options = missing
        # The weightiest one that something can be offered for.
        self.term.value = next((term for term in missing if known.get(term)), next(iter(missing), None))
        self._quiet = False
        self._offer_candidates()

    def _offer_candidates(self) -> None:
        at = self.at
        found = [] if at is None or self.term.value is None else self.candidates_of(at).get(self.term.value, [])
        options = [(item.text, item.text) for item in found] or [(_t("vocabulary.no_candidate"), ANY)]
        self._quiet = True
        self.candidate.options = options
        self.candidate.value = options[0][1]
        self._quiet = False
        self.edit.value = options[0][1]
        self._may_accept()

    def _may_accept(self) -> None:
        """An empty replacement cannot be accepted."""
        self.accept.disabled = not self.edit.value.strip()

    # ------------------------------------------------------------ synonyms

    def _accept(self) -> None:
        if self.term.value is None:
            return
        at = self.at
        found = {} if at is None else {c.text: c.kind for c in self.candidates_of(at).get(self.term.value, ())}
        self.synonyms.accept(self.term.value, self.edit.value, found.get(self.edit.value, "edited"))
        self._draw_synonyms()
        self._skip()

    def _skip(self) -> None:
        """On to the next missing term, and after the last one to the next document."""
        names = list(self.term.options)
        step = names.index(self.term.value) + 1 if self.term.value in names else len(names)
        if step < len(names):
            self.term.value = names[step]
        else:
            self.stepper.next.click()

    def _remove(self) -> None:
        if self.drop.value is not None:
            self.synonyms.remove(*self.drop.value)
            self._draw_synonyms()

    def _draw_synonyms(self) -> None:
        pairs = list(self.synonyms)
        options = [(f"{pair.term} → {pair.replacement}", (pair.term, pair.replacement)) for pair in pairs]
        self.drop.options = options
        # The newest one: an empty box beside "Remove" would remove nothing.
        self.drop.value = options[-1][1] if options else None
        for widget in (self.drop, self.remove):
            display(widget, bool(options))
        show(self.accepted_table, synonym_html(self.synonyms))
        show(
            self.accepted, h("p", self._accepted_words(), cls="wb-reading") if self.vocabulary is not None else Markup()
        )

    def _accepted_words(self) -> str:
        assert self.vocabulary is not None
        misses = [gap.miss for gap in self.gaps]
        match, k = self.session.thresholds.match, self.session.thresholds.k
        before, after = (
            rescued(misses, self.vocabulary.index, table, k, match) for table in (SynonymTable(), self.synonyms)
        )
        return accepted_words(self.synonyms, before, after)

    def export(self, folder: str | Path | None = None) -> Path:
        """Write the synonym table in the chosen format; gives the file."""
        path = save_synonyms(self.synonyms, self._folder if folder is None else folder, [self.format.value])[0]
        show(self.exported, h("span", _t("vocabulary.exported", path=path), cls="wb-quiet"))
        return path

    # ------------------------------------------------------------ pictures and handing over

    def _drawn(self, theme: str, view: str | None = None) -> Drawn | None:
        gap = None if self.at is None else self.gaps[self.at]
        questions = questions_of(self.session.evaluation.evidence)
        return draw(view or self.view.value, gap, self.gaps, questions, theme=theme)

    def _draw_picture(self) -> None:
        drawn = self._drawn("screen") if self.gaps else None
        display(self.picture, drawn is not None)
        if drawn is not None:
            self.picture.draw(*drawn)

    def _pin(self) -> None:
        low = len(below(self.gaps, self.cut.value))
        self.card.keep(count_words(self.gaps, self.cut.value), snippet=self.snippet(),
                       value=low / len(self.gaps) if self.gaps else None)  # fmt: skip

    def snippet(self) -> str:
        """Lines of Python that give the same table."""
        where = str(self.session.evaluation.path or self.session.evaluation.name)
        return f"import workbench as wb\nwb.vocabulary_gaps(wb.open({where!r}), 'corpus.jsonl')"

    def table(self) -> pd.DataFrame:
        """The listed gaps: the columns of ``vocabulary_gaps``."""
        self.join()
        listed = self.listed
        known = {step: self.candidates_of(at) for step, at in enumerate(listed)}
        return gap_table([self.gaps[at] for at in listed], known)

    def figure(self) -> Figure | None:
        """The picture in view, dark on white."""
        self.join()
        drawn = self._drawn("print") if self.gaps else None
        return None if drawn is None else drawn[0]

    def html(self, rows: int = 15) -> Fragment:
        """Counts, the highlighted pair, candidates, pictures, synonyms, the table and the card."""
        self.join()
        at = self.at
        if at is None or self.vocabulary is None:
            return fragment(h("div", self._empty_words(), cls="wb-empty"))
        gap = self.gaps[at]
        drawn = [self._drawn("print", name) for name in VIEWS]
        questions = questions_of(self.session.evaluation.evidence)
        return fragment(
            h("p", h("strong", count_words(self.gaps, self.cut.value))), pair(gap, self.vocabulary),
            candidate_table(gap, self.candidates_of(at), self.vocabulary),
            absent_html(questions, self.gaps, self.vocabulary),
            h("p", self._accepted_words(), cls="wb-reading"), synonym_html(self.synonyms),
            join(picture(plots.figure_png(figure), caption) for figure, caption in filter(None, drawn)),
            gap_html(self.table(), rows), card_html(self.session, gap.miss.sample_id),
        )  # fmt: skip
