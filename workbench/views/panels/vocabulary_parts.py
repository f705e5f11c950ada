"""What panel 04 shows, as plain functions of gaps: counts, the highlighted pair, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.diagnosis.synonyms import SynonymTable
from workbench.diagnosis.term_statistics import absent_terms, failing_terms, heat, lures
from workbench.diagnosis.variants import Candidate
from workbench.diagnosis.vocabulary import Gap, Vocabulary
from workbench.language import text as _t
from workbench.views import plots_missed, plots_terms
from workbench.views.html import Markup, h, join, marked, safe, table
from workbench.views.names import rate_text, score_text
from workbench.views.panels.term_marks import term_marks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    shelf = vocabulary.shelf
    question, shared = gap.miss.question, [t for t, has in zip(gap.terms, gap.has, strict=True) if has]
    marks = [*term_marks(question, shared, "word"), *term_marks(question, gap.missing, "part")]
    grid: list[Any] = [h("span", _t("vocabulary.question"), cls="wb-key"), h("div", marked(question, marks, shown=900))]
    if gap.place < 0:
        document: Any = h("em", f"{gap.miss.doc_id}: {_t('vocabulary.not_indexed')}")
    else:
        words = shelf.texts[gap.place]
        name = h("strong", f"★ {shelf.ids[gap.place]} ", cls="wb-expected")
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
    return plots_missed.heat_map(terms, names, weights, title=title, theme=theme), _t("vocabulary.caption.heat")


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
    found = failing_terms(questions, [code in missed for code in range(len(questions))]).head(most)
    if not len(found):
        return None
    notes = [f"{a} / {a + b}" for a, b in zip(found["n_failing"], found["n_passing"], strict=True)]
    figure = plots_terms.log_odds(
        [str(term) for term in found.index], found["log_odds"], found["low"], found["high"], notes=notes,
        title=_t("vocabulary.plot.failing_title"), theme=theme,
    )  # fmt: skip
    return figure, _t("vocabulary.caption.failing", base=rate_text(float(found["base_rate"].iloc[0])))
