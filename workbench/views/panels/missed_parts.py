"""What panel 03 shows, as plain functions of autopsies: sentences, tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.normalising import normalise
from workbench.diagnosis.autopsy import Found, near_duplicates
from workbench.diagnosis.corpus_view import hubs, never_retrieved
from workbench.diagnosis.missed import Examined, missed_table, rivals
from workbench.diagnosis.subcauses import SUB_CAUSES, ranks, sub_cause
from workbench.diagnosis.vocabulary import content_terms
from workbench.diagnosis.whatif import rescue_curve
from workbench.language import text as _t
from workbench.views import plots_missed as plots
from workbench.views.html import Markup, excerpt, h, join, marked, table
from workbench.views.names import cause_title
from workbench.views.panels.term_marks import term_marks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VIEWS = ("quadrant", "profile", "map", "rescue", "hubs")
#: What the sub-cause of a document that is not in the corpus is called.
NOT_INDEXED = "not_indexed"

Drawn = tuple["Figure", str]


def label(item: Found, k: int) -> str:
    """The sub-cause, or ``not_indexed``."""
    return sub_cause(item.autopsy, k) or NOT_INDEXED


def label_title(name: str) -> str:
    """The readable name of a sub-cause or of ``not_indexed``."""
    return _t("missed.not_indexed") if name == NOT_INDEXED else cause_title(name)


def count_words(found: Sequence[Found], k: int) -> str:
    """ "17 questions miss 21 documents"."""
    if not found:
        return _t("missed.count_zero", k=k)
    questions = len({item.miss.code for item in found})
    return _t("missed.count", questions=f"{questions:,}", documents=f"{len(found):,}")


def depth_words(found: Sequence[Found], k: int) -> str:
    """That k lies beyond what was recorded, so that no more can have come; nothing where it does not."""
    recorded = max((rank for item in found for rank, _, _ in item.miss.came), default=0)
    return f" · {_t('missed.recorded_depth', n=recorded)}" if 0 < recorded < k else ""


def cause_words(found: Sequence[Found], k: int, most: int | None = None) -> str:
    """ "just below k 6 · crowded out 5 · …", most frequent first."""
    counts = Counter(label(item, k) for item in found).most_common()
    named = [f"{label_title(name)} {count}" for name, count in counts[:most]]
    return " · ".join(named) + (" …" if len(named) < len(counts) else "")


def present_labels(found: Sequence[Found], k: int) -> list[str]:
    """Sub-causes that occur, in a fixed order."""
    there = {label(item, k) for item in found}
    return [name for name in (*SUB_CAUSES, NOT_INDEXED) if name in there]


# ---------------------------------------------------------------- one document in words


def sentence(item: Found, examined: Examined, k: int) -> Markup:
    """Where the document was, how near it came, and why it was missed."""
    known = item.autopsy
    if not known.indexed:
        body: list[str] = [_t("missed.sentence.missing")]
        where = label_title(NOT_INDEXED)
    else:
        where = _t("missed.sentence.comma").join(_rank_words(item, k))
        body = _remarks(item, examined, k)
    head = _t("missed.sentence.head", question=item.miss.question[:160], doc=item.miss.doc_id, ranks=where)
    cause = h("span", label_title(label(item, k)), cls="wb-cause wb-fail")
    return h("div", h("p", head), h("p", cause, " ", " ".join(body)), cls="wb-reading")


def _rank_words(item: Found, k: int) -> list[str]:
    known = item.autopsy
    words = []
    if known.dense_rank is not None:
        words.append(_t("missed.sentence.dense", rank=f"{known.dense_rank:,}"))
    if known.coverage == 0 or known.bm25_rank == known.n_documents:
        words.append(_t("missed.sentence.bm25_none"))
    else:
        words.append(_t("missed.sentence.bm25", rank=f"{known.bm25_rank:,}", n=f"{known.n_documents:,}"))
    if known.similarity is not None and known.percentile is not None:
        words.append(_t("missed.sentence.similarity", similarity=f"{known.similarity:.3f}",
                        percentile=f"{known.percentile:.0f}"))  # fmt: skip
    gap = known.gap(k)
    if gap == gap:
        words.append(_t(f"missed.sentence.{'below' if gap > 0 else 'above'}", gap=f"{abs(gap):.3f}", k=k))
    return words


def _remarks(item: Found, examined: Examined, k: int) -> list[str]:
    known = item.autopsy
    smallest = next(iter(ranks(known)), None)
    copies = near_duplicates(item.place, examined.shelf) if examined.shelf is not None and item.place >= 0 else []
    said: list[tuple[Any, Callable[[], str]]] = [
        (smallest is not None and smallest > k, lambda: _t("missed.sentence.smallest", k=f"{smallest:,}")),
        (copies, lambda: _t("missed.sentence.copies", docs=", ".join(copies[:4]))),
        (known.languages[0] != known.languages[1],
         lambda: _t("missed.sentence.languages", asked=known.languages[0], written=known.languages[1])),
        (known.cut, lambda: _t(f"missed.sentence.{'cut_before' if known.beyond is False else 'cut'}")),
        (known.at_edge, lambda: _t("missed.sentence.edge")),
        (known.foreign, lambda: _t("missed.sentence.foreign")),
        (known.rank is not None, lambda: _t("missed.sentence.recorded", rank=known.rank)),
    ]  # fmt: skip
    return [words() for holds, words in said if holds]


def texts(item: Found, examined: Examined, k: int) -> Markup:
    """The missed document and what came instead, the question's words pointed out in each."""
    terms = content_terms(item.miss.question)
    parts = []
    if examined.shelf is not None and item.place >= 0:
        title = examined.shelf.titles[item.place]
        parts.append(_text(f"★ {examined.shelf.ids[item.place]}", title, examined.shelf.texts[item.place], terms))
    came = [(f"{rank} · {doc_id or '–'}", words) for rank, doc_id, words in item.miss.came if rank <= k]
    recorded = {doc_id for _, doc_id, _ in item.miss.came}
    shelf = examined.shelf
    if shelf is not None:
        before = [doc_id for doc_id in rivals(item, shelf, k) if doc_id not in recorded]
        came += [(doc_id, shelf.texts[place]) for doc_id in before for place in shelf.places(doc_id)[:1]]
    if came:
        rows = [_text(name, _shared(words, terms), words, terms) for name, words in came]
        summary = h("summary", f"{_t('missed.sentence.instead')} ({len(came)})")
        parts.append(h("details", summary, h("div", *rows, cls="wb-body")))
    return h("div", *parts)


def _shared(words: str, terms: Sequence[str]) -> str:
    """Which of the question's words a rival has."""
    there = dict.fromkeys(normalise(words[mark.start : mark.end]) for mark in term_marks(words, terms))
    return _t("missed.sentence.shares", terms=", ".join(there) or "–")


def _text(name: str, title: str, words: str, terms: Sequence[str]) -> Markup:
    head = h("p", h("strong", name, cls="wb-expected" if name.startswith("★") else ""), " ", excerpt(title, 80))
    return h("div", head, h("p", marked(words, term_marks(words, terms), shown=900)))


# ---------------------------------------------------------------- tables


def shown_table(found: Sequence[Found], examined: Examined, k: int) -> pd.DataFrame:
    """The columns of ``missed_documents`` with ``not_indexed`` named."""
    frame = missed_table(found, examined.shelf, k)
    frame["sub_cause"] = [label(item, k) for item in found]
    return frame


def table_html(frame: pd.DataFrame, rows: int = 15) -> Markup:
    """The first rows as a reader wants them."""
    names = ["sample_id", "doc_id", "sub_cause", "dense_rank", "bm25_rank", "gap", "percentile", "smallest_k", "rivals"]
    shown = frame[names].head(rows).copy()
    shown["sub_cause"] = shown["sub_cause"].map(label_title)
    shown["rivals"] = [", ".join(items[:4]) for items in shown["rivals"]]
    whole = dict.fromkeys(("dense_rank", "bm25_rank", "smallest_k"), _whole)
    return table(shown, headings={name: _t(f"missed.columns.{name}") for name in names}, total=len(frame),
                 formats={**whole, "gap": _three, "percentile": _whole})  # fmt: skip


def _whole(value: float) -> str:
    return "–" if value != value else f"{value:,.0f}"


def _three(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


# ---------------------------------------------------------------- pictures


def draw(view: str, found: Sequence[Found], at: int, examined: Examined, evaluation: Any, corpus: Any, *,
         focus: str = "near", theme: str = "print") -> Drawn | None:  # fmt: skip
    """The picture ``view`` of the missed documents, ``at`` being the one looked at; None where it cannot be drawn."""
    k = evaluation.thresholds.k
    if view == "hubs":
        return hub_picture(evaluation, corpus, theme)
    if not found:
        return None
    if view == "quadrant":
        return quadrant_picture(found, at, k, theme)
    if view == "rescue":
        return rescue_picture(examined, k, theme)
    if not has_vectors(found[at], examined):
        return None
    return (
        profile_picture(found[at], examined, k, theme)
        if view == "profile"
        else map_picture(found[at], examined, k, focus, theme)
    )


def has_vectors(item: Found, examined: Examined) -> bool:
    """Whether pictures of similarities can be drawn."""
    return examined.shelf is not None and examined.shelf.encoder is not None and item.autopsy.dense_rank is not None


def quadrant_picture(found: Sequence[Found], at: int, k: int, theme: str = "print") -> Drawn:
    """Dense × lexical ranks of all missed documents."""
    dense, bm25 = (
        [np.nan if rank is None else rank for rank in (getattr(item.autopsy, name) for item in found)]
        for name in ("dense_rank", "bm25_rank")
    )
    if all(item.autopsy.dense_rank is None for item in found):
        dense = bm25
    title = _t("missed.plot.quadrant_title", n=len(found), top=cause_words(found, k, 3))
    n = max(item.autopsy.n_documents for item in found)
    causes = [sub_cause(item.autopsy, k) for item in found]
    figure = plots.quadrant(dense, bm25, causes, k, n, current=at, title=title, theme=theme)
    return figure, _t("missed.caption.quadrant")


def rescue_picture(examined: Examined, k: int, theme: str = "print") -> Drawn:
    """How many would be fetched at each depth."""
    curve = rescue_curve(examined, k)
    names = ("dense", "bm25", "hybrid") if curve[["dense", "hybrid"]].to_numpy().any() else ("bm25",)
    n, twice = int(curve["n"].iloc[0]), min(2 * k, len(curve))
    title = _t("missed.plot.rescue_title", rescued=int(curve.loc[twice, list(names)].max()), n=n, k=twice)
    figure = plots.rescue({name: curve[name] for name in names}, curve.index, n, k, title=title, theme=theme)
    return figure, _t("missed.caption.rescue")


def profile_picture(item: Found, examined: Examined, k: int, theme: str = "print") -> Drawn:
    """Similarity of the whole corpus, of what came and of the missed document to one question."""
    shelf = examined.shelf
    assert shelf is not None and item.autopsy.similarity is not None
    cosines = shelf.vectors @ shelf.encode([item.miss.question], "query")[0]
    came = [p for _, doc_id, _ in item.miss.came if doc_id for p in shelf.places(doc_id)[:1]]
    known = item.autopsy
    title = _t("missed.plot.profile_title", doc=known.doc_id, rank=f"{known.dense_rank:,}", n=f"{len(shelf):,}")
    kth = float(np.sort(cosines)[::-1][min(k, len(cosines)) - 1])
    figure = plots.profile(cosines, cosines[came], float(cosines[item.place]), kth, title=title, theme=theme)
    return figure, _t("missed.caption.profile")


def map_picture(item: Found, examined: Examined, k: int, focus: str = "near", theme: str = "print") -> Drawn:
    """The question, the missed document, what came, rivals and the background on two axes."""
    shelf = examined.shelf
    assert shelf is not None
    roles = _roles(item, examined, k, focus)
    places = list(roles)
    vectors = np.concatenate([shelf.vectors[places], shelf.encode([item.miss.question], "query")])
    names = [*(shelf.ids[place] for place in places), item.miss.question[:26]]
    title = _t("missed.plot.map_title", sample=item.miss.sample_id)
    figure, note = plots.neighbourhood(vectors, [*roles.values(), "question"], names, title=title, theme=theme)
    return figure, f"{_t('missed.caption.map')} {note}"


def _roles(item: Found, examined: Examined, k: int, focus: str) -> dict[int, str]:
    """Place → role of every document on the map; stronger roles come later and win."""
    shelf = examined.shelf
    assert shelf is not None
    background = range(len(shelf)) if focus == "all" else item.dense.tolist()
    roles = dict.fromkeys(background, "corpus")

    def put(ids: Sequence[str | None], role: str) -> None:
        roles.update((place, role) for doc_id in ids if doc_id for place in shelf.places(doc_id))

    put(rivals(item, shelf, k), "rival")
    put([doc_id for rank, doc_id, _ in item.miss.came if rank <= k], "came")
    put(sorted(item.miss.expected - {item.miss.doc_id}), "expected")
    roles[item.place] = "missed"
    return roles


def hub_picture(evaluation: Any, corpus: Any, theme: str = "print", most: int = 15) -> Drawn | None:
    """Documents that came most often."""
    table = hubs(evaluation, corpus)
    if not len(table):
        return None
    never = 0 if corpus is None else len(never_retrieved(evaluation, corpus))
    n = len(table) if corpus is None else len(corpus)
    top = table.head(most)
    title = _t("missed.plot.hubs_title", hubs=int(table["hub"].sum()), never=f"{never:,}", n=f"{n:,}")
    names = [str(name) for name in top.index]
    figure = plots.hub_chart(names, top["n"], top["n_expected"], top["hub"].tolist(), title=title, theme=theme)
    return figure, _t("missed.caption.hubs")


def never_html(evaluation: Any, corpus: Any, most: int = 10) -> Markup | None:
    """Documents that came to no question although one expects them; None without a corpus."""
    if corpus is None:
        return None
    found = never_retrieved(evaluation, corpus)
    wanted = found[found["n_expected"] > 0]
    names = ", ".join(str(name) for name in wanted.index[:most]) or "–"
    return h("p", _t("missed.never", n=f"{len(found):,}", wanted=len(wanted), docs=names), cls="wb-quiet")


def whatif_words(found: Sequence[Found], at: int, k: int, weighted: Sequence[int | None], hybrid: int | None) -> Markup:
    """What other weights and the fusion of both rankings would do for this document and for all."""
    before = sum(item.autopsy.bm25_rank is not None and item.autopsy.bm25_rank <= k for item in found)
    after = sum(rank is not None and rank <= k for rank in weighted)
    shown = ["–" if rank is None else f"{rank:,}" for rank in (weighted[at], found[at].autopsy.bm25_rank, hybrid)]
    words = _t(
        "missed.whatif", weighted=shown[0], bm25=shown[1], hybrid=shown[2], before=before, after=after, n=len(found)
    )
    return join([h("p", words, cls="wb-quiet")])
