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
from workbench.evidence.corpus_index import CorpusIndex
from workbench.evidence.corpus_ranks import as_corpus, find_misses, questions_of, with_ids
from workbench.language import numbers
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import card_html, term_marks
from workbench.views.html import Fragment, Markup, empty, fragment, h, join, marked, quiet, table
from workbench.views.list_panel import ANY, FilterNote, MissPanel
from workbench.views.panels.missed_documents import nothing_expected
from workbench.views.widgets import (
    Background,
    button,
    cut_slider,
    display,
    dropdown,
    markup,
    named,
    row,
    show,
    still,
    text_box,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.evidence.encoders.base import Encoder
    from workbench.views.session import Session
    from workbench.views.widgets import WorkProgress


# What is shown, as plain functions of gaps: counts, the highlighted pair, tables and pictures.

VIEWS = ("heat", "failing")
#: Missing terms that are shown of a document.
MOST_TERMS = 12

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
    index, question = vocabulary.index, gap.miss.question
    shared = [term for term, has in zip(gap.terms, gap.has, strict=True) if has]
    marks = [*term_marks(question, shared, "word"), *term_marks(question, gap.missing, "part")]
    if gap.place < 0:
        document = h("em", f"{gap.miss.doc_id}: {_t('vocabulary.not_indexed')}")
    else:
        words, name = index.texts[gap.place], h("strong", f"★ {index.ids[gap.place]} ", cls="wb-expected")
        document = join([name, marked(words, term_marks(words, shared, "word"), shown=900)])
    parts = (("question", marked(question, marks, shown=900)), ("document", document))
    grid = [(h("span", _t(f"vocabulary.{key}"), cls="wb-key"), h("div", words)) for key, words in parts]
    missing = " · ".join(f"{term} ({rarity(term, vocabulary)})" for term in gap.missing[:MOST_TERMS])
    lines = [_t("vocabulary.coverage", missed=numbers.percent(gap.coverage), came=numbers.percent(gap.coverage_retrieved))]
    if len(lured := lures([gap])):
        lines.append(_t("vocabulary.lure", docs=", ".join(str(doc_id) for doc_id in lured["doc_id"][:4])))
    return h("div", h("div", *(cell for cells in grid for cell in cells), cls="wb-grid"),
             h("p", _t("vocabulary.missing", terms=missing) if missing else _t("vocabulary.missing_none")),
             quiet(" ".join(lines), tag="p"))  # fmt: skip


def rarity(term: str, vocabulary: Vocabulary) -> str:
    """IDF of a term and in how many documents it stands."""
    n, idf = vocabulary.count(term), f"{vocabulary.idf(term):.1f}"
    return _t("vocabulary.idf", idf=idf, n=f"{n:,}") if n else _t("vocabulary.idf_none", idf=idf)


def candidate_table(gap: Gap, candidates: Candidates, vocabulary: Vocabulary) -> Markup:
    """Each missing term with its weight and what the document may call it: "2fa 0.90 (abbreviation) · …"."""
    import pandas as pd

    def words(found: Sequence[Candidate]) -> str:
        return " · ".join(f"{one.text} {one.score:.2f} ({_t(f'vocabulary.kind_{one.kind}')})" for one in found) or "–"

    rows = [(term, vocabulary.idf(term), vocabulary.count(term), words(candidates.get(term, ())))
            for term in gap.missing[:MOST_TERMS]]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["term", "weight", "n_documents", "candidates"])
    return table(frame, headings="vocabulary.columns", total=len(gap.missing))


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
    formats = dict.fromkeys(("coverage", "coverage_retrieved"), numbers.score)
    shown = frame.drop(columns="candidates").head(rows)
    return table(shown, headings="vocabulary.columns", formats=formats, total=len(frame))


def synonym_html(synonyms: SynonymTable) -> Markup:
    """The accepted pairs."""
    import pandas as pd

    rows = [(pair.term, pair.replacement, _t(f"vocabulary.kind_{pair.kind}")) for pair in synonyms]
    names = ["term", "replacement", "kind"]
    headings = {"term": _t("vocabulary.term"), **{n: _t(f"vocabulary.columns.{n}") for n in names[1:]}}
    return table(pd.DataFrame(rows, columns=names), headings=headings) if rows else Markup()


def draw(
    view: str, gap: Gap | None, gaps: Sequence[Gap], questions: Sequence[str], *, theme: str = "print"
) -> Drawn | None:
    """The picture ``view``; None where there is nothing to draw."""
    if view != "heat":
        return failing_picture(questions, gaps, theme)
    if gap is None or not gap.terms:
        return None
    title = _t("vocabulary.plot.heat_title", missing=len(gap.missing), n=len(gap.terms), doc=gap.miss.doc_id)
    return plots.heat_map(*heat(gap), title=title, theme=theme), _t("vocabulary.caption.heat")


def absent_html(questions: Sequence[str], gaps: Sequence[Gap], vocabulary: Vocabulary, most: int = 20) -> Markup:
    """Words of questions that stand in no document, those of questions with a miss first."""
    missed = {gap.miss.code for gap in gaps}
    found = absent_terms(questions, [code in missed for code in range(len(questions))], vocabulary)
    words = ", ".join(f"{term} ({row})" for term, row in found["n"].head(most).items()) or "–"
    return quiet(_t("vocabulary.absent", n=f"{len(found):,}", terms=words), tag="p")


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
    return figure, _t("vocabulary.caption.failing", base=numbers.percent(float(found["base_rate"].iloc[0])))


# The panel.

#: Words that are encoded for candidates by meaning, at most.
MOST_WORDS = 4000
#: Seconds to wait for candidates by meaning before the panel opens without.
PATIENCE = 0.5


class VocabularyPanel(MissPanel):
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

    def __init__(self, session: Session, corpus: Any = None, encoder: str | Encoder | None = None,
                 folder: str | Path = "findings") -> None:  # fmt: skip
        super().__init__(session)
        self._encoder = "auto" if encoder is None else encoder
        self._folder = Path(folder)
        self._vectors: TermVectors | None = None
        self._known: dict[tuple[str, str], Candidates] = {}
        self._listed: list[Gap] = []
        self.gaps: list[Gap] = []
        self.vocabulary: Vocabulary | None = None
        self.synonyms = SynonymTable(None if session.folder is None else session.folder / "synonyms.json")
        self._build()
        self.begin(draw=False)
        if corpus is not None:
            self._corpus = as_corpus(corpus)
            self.vocabulary = Vocabulary(CorpusIndex(self._corpus, None))
            self._find()
        self._refresh()

    def _build(self) -> None:
        self.cut = cut_slider(_t("vocabulary.cut"), GAP)
        self.shown = dropdown(_t("vocabulary.shown"), named("vocabulary.shown_", ("below", "all")), "below")
        self.work = Background(self, "vocabulary", _progress_words)
        self.message = self.work.message
        self.pair, self.terms = markup(None, "wb-pair"), markup()
        self.view = W.ToggleButtons(options=named("vocabulary.view_", VIEWS), style={"button_width": "auto"})
        self.filters = self.filtered = FilterNote(self)
        self.picture.clicked = self._click
        for widget in (self.cut, self.shown):
            self.on(widget, lambda _: self._refresh())
        self.on(self.view, lambda _: self._draw_picture())
        # The row that accepts a synonym, the table of accepted ones, and the row that exports them.
        self.term = dropdown(_t("vocabulary.term"), [], None, "220px")
        self.candidate = dropdown(_t("vocabulary.candidate"), [], None, "280px")
        self.edit = text_box(_t("vocabulary.edit"), width="220px")
        self.accept = button(_t("vocabulary.accept"), self.guarded(self._accept, "accept"), "wb-accept")
        self.skip = button(_t("vocabulary.skip"), self.guarded(self._skip, "skip"))
        self.on(self.term, lambda _: self._offer_candidates())
        self.on(self.candidate, lambda value: setattr(self.edit, "value", value or ""))
        self.on(self.edit, lambda _: self._may_accept())
        self.choosing = row(self.term, self.candidate, self.edit, self.accept, self.skip)
        self.accepted, self.accepted_table, self.exported = markup(None, "wb-accepted"), markup(), markup()
        self.drop = dropdown("", [], None, "220px")
        self.remove = button(_t("vocabulary.remove"), self.guarded(self._remove, "remove"))
        self.format = dropdown(_t("vocabulary.format"), named("vocabulary.format_", FORMATS), "json")
        self.export_button = button(_t("vocabulary.export"), self.guarded(lambda: self.export(), "export"), "wb-export")
        self.exporting = row(self.drop, self.remove, self.format, self.export_button, self.exported)
        self.compose(
            row(self.cut, self.shown, self.work, self.count), self.filtered, self.bar, self.choosing, self.pair, self.terms,
            self.accepted, self.accepted_table, self.exporting, self.view, self.picture, self.card,
        )  # fmt: skip

    # Words, and their vectors in a thread of their own.

    def _find(self) -> None:
        """Gaps at the k in force, and candidates by meaning for their words."""
        assert self.vocabulary is not None
        t, evidence = self.session.thresholds, self.session.evaluation.evidence
        misses = find_misses(with_ids(evidence, self.vocabulary.index), t.k, t.match)
        self.gaps = gaps = find_gaps(misses, self.vocabulary, t.k, t.match)
        self._known = {}
        if self._encoder == "none" or not gaps:
            return
        corpus, encoder = self._corpus, self._encoder

        def encode(progress: Any, cancelled: Any) -> TermVectors | None:
            return term_vectors(gaps, CorpusIndex(corpus, encoder, progress=progress, cancel=cancelled), MOST_WORDS)

        self.work.start(encode, self._compared, words=_t("vocabulary.working"), patience=PATIENCE)

    def _compared(self, vectors: TermVectors | None) -> None:
        self._vectors, self._known = vectors, {}
        self._draw_terms()

    # What is listed.

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names and self.vocabulary is not None:
            self._find()
        super()._follow(names)

    @property
    def listed(self) -> list[Gap]:
        """The gaps of the session's filter, below the cut."""
        return self._listed

    @property
    def gap(self) -> Gap | None:
        """The gap looked at; None when none is listed."""
        return None if self.at is None else self.listed[self.at]

    def candidates_of(self, gap: Gap) -> Candidates:
        """What the missed document of a gap may call each missing term."""
        key = (gap.miss.sample_id, gap.miss.doc_id)
        if key not in self._known:
            assert self.vocabulary is not None
            self._known[key] = candidates(gap, self.vocabulary.index, self._vectors)
        return self._known[key]

    def _refresh(self) -> None:
        ids = set(self.session.matching())
        mine = [gap for gap in self.gaps if gap.miss.sample_id in ids]
        self._listed = below(mine, self.cut.value) if self.shown.value == "below" else mine
        show(self.count, h("span", count_words(mine, self.cut.value)))
        self.keep_selection()
        self._draw_synonyms()

    def draw_card(self) -> None:
        """Show the document looked at, its words, its picture and the sample's card."""
        gap = self.draw_place()
        display(self.exporting, bool(self.gaps))
        if gap is None or self.vocabulary is None:
            show(self.pair, empty(self._empty_words()))
        else:
            show(self.pair, pair(gap, self.vocabulary))
        self._draw_terms()
        self._draw_picture()

    def _empty_words(self) -> str:
        if self.vocabulary is None:
            return _t("vocabulary.no_corpus")
        if self.gaps:
            return _t("vocabulary.empty", cut=numbers.score(self.cut.value))
        if nothing_expected(self.session):
            return _t("missed.nothing_expected")
        return _t("vocabulary.no_misses", k=self.session.thresholds.k)

    def _draw_terms(self) -> None:
        gap = self.gap
        display(self.choosing, gap is not None and bool(gap.missing))
        if gap is None or self.vocabulary is None:
            show(self.terms, Markup())
            return
        known = self.candidates_of(gap)
        show(self.terms, candidate_table(gap, known, self.vocabulary))
        with self.quietly():
            self.term.options = gap.missing
            # The weightiest one that something can be offered for.
            self.term.value = next((term for term in gap.missing if known.get(term)), next(iter(gap.missing), None))
        self._offer_candidates()

    def _offered(self) -> Sequence[Candidate]:
        """Candidates for the chosen term."""
        return () if self.gap is None else self.candidates_of(self.gap).get(self.term.value, ())

    def _offer_candidates(self) -> None:
        options = [(item.text, item.text) for item in self._offered()] or [(_t("vocabulary.no_candidate"), ANY)]
        with self.quietly():
            self.candidate.options = options
            self.candidate.value = self.edit.value = options[0][1]
        self._may_accept()

    def _may_accept(self) -> None:
        """An empty replacement cannot be accepted."""
        self.accept.disabled = not self.edit.value.strip()

    # Synonyms.

    def _accept(self) -> None:
        if self.term.value is not None:
            kinds = {item.text: item.kind for item in self._offered()}
            self.synonyms.accept(self.term.value, self.edit.value, kinds.get(self.edit.value, "edited"))
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
        show(self.accepted, self._accepted_words())

    def _accepted_words(self) -> Markup:
        """How many of the missed documents BM25 finds with the accepted synonyms."""
        if self.vocabulary is None:
            return Markup()
        misses, t = [gap.miss for gap in self.gaps], self.session.thresholds
        before, after = (
            rescued(misses, self.vocabulary.index, words, t.k, t.match) for words in (SynonymTable(), self.synonyms)
        )
        words = _t("vocabulary.accepted", n=len(self.synonyms), after=sum(after), before=sum(before), total=len(after))
        return h("p", words, cls="wb-reading")

    def export(self, folder: str | Path | None = None) -> Path:
        """Write the synonym table in the chosen format; gives the file."""
        path = save_synonyms(self.synonyms, self._folder if folder is None else folder, [self.format.value])[0]
        show(self.exported, quiet(_t("vocabulary.exported", path=path)))
        return path

    # Pictures and handing over.

    def _drawn(self, theme: str, view: str | None = None) -> Drawn | None:
        if not self.gaps:
            return None
        questions = questions_of(self.session.evaluation.evidence)
        return draw(view or self.view.value, self.gap, self.gaps, questions, theme=theme)

    def _draw_picture(self) -> None:
        drawn = self._drawn("screen")
        display(self.picture, drawn is not None)
        if drawn is not None:
            self.picture.draw(self._again, drawn[1])

    def _click(self, key: Any) -> None:
        """A term lists the questions that have it."""
        self.session.set_filter(text="" if self.session.filter.text == key else str(key))

    def pin(self) -> None:
        """Keep the share of vocabulary gaps as a finding."""
        low, n = len(below(self.gaps, self.cut.value)), len(self.gaps)
        self.card.keep(count_words(self.gaps, self.cut.value), value=low / n if n else None)

    def _snippet(self) -> str:
        return self.script("wb.vocabulary_gaps(evaluation, 'corpus.jsonl')", opened="evaluation")

    def rows_known(self) -> pd.DataFrame:
        """The listed gaps: the columns of ``vocabulary_gaps``."""
        return gap_table(self.listed, dict(enumerate(map(self.candidates_of, self.listed))))

    def page(self, rows: int = 15) -> Fragment:
        """Counts, the highlighted pair, the candidates known now, pictures, synonyms, the table and the card."""
        gap = self.gap
        if gap is None or self.vocabulary is None:
            return fragment(empty(self._empty_words()))
        drawn = [self._drawn("print", name) for name in VIEWS]
        return fragment(
            h("p", h("strong", count_words(self.gaps, self.cut.value))), pair(gap, self.vocabulary),
            candidate_table(gap, self.candidates_of(gap), self.vocabulary),
            absent_html(questions_of(self.session.evaluation.evidence), self.gaps, self.vocabulary),
            self._accepted_words(), synonym_html(self.synonyms), join(still(*one) for one in drawn if one),
            gap_html(self.rows_known(), rows), card_html(self.session, gap.miss.sample_id),
        )  # fmt: skip


def _progress_words(progress: WorkProgress) -> str:
    return _t("vocabulary.progress", done=f"{progress.done:,}", total=f"{progress.total:,}")
