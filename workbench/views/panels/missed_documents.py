"""Panel 03: where in embedding space are the documents that were missed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.data.text.normalise import normalise
from workbench.diagnosis.missed import (
    SUB_CAUSES,
    ExaminedMisses,
    examine,
    from_stored,
    missed_table,
    ranks,
    rivals,
    sub_cause,
)
from workbench.diagnosis.vocabulary import content_terms
from workbench.diagnosis.whatif import Weighted, fused_rank, hubs, never_retrieved, rescue_curve
from workbench.errors import WorkbenchError
from workbench.evidence.corpus_ranks import Found, as_corpus, near_copies
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import card_html, term_marks
from workbench.views.html import Fragment, Markup, empty, excerpt, fragment, h, join, marked, quiet, table
from workbench.views.list_panel import ANY, FilterNote, MissPanel, id_column, question_column
from workbench.views.widgets import (
    Background,
    Column,
    display,
    dropdown,
    markup,
    named,
    row,
    show,
    slider,
    still,
)
from workbench.views.wording import cause_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.data.schema import Corpus
    from workbench.evidence.corpus_index import CorpusIndex
    from workbench.evidence.encoders.base import Encoder
    from workbench.views.session import Session
    from workbench.views.widgets import WorkProgress


# What is shown, as plain functions of missed documents: sentences, tables and pictures.

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


def sentence(item: Found, examined: ExaminedMisses, k: int) -> Markup:
    """Where the document was, how near it came, and why it was missed."""
    if item.autopsy.indexed:
        where, body = _t("missed.sentence.comma").join(_rank_words(item, k)), _remarks(item, examined, k)
    else:
        where, body = label_title(NOT_INDEXED), [_t("missed.sentence.missing")]
    head = _t("missed.sentence.head", question=item.miss.question[:160], doc=item.miss.doc_id, ranks=where)
    own = label(item, k)
    cause = h("span", label_title(own), cls="wb-cause wb-fail")
    # That something filtered it is known only where it was recorded and not shown to the generator.
    kept_out = item.autopsy.rank is not None and item.autopsy.rank <= k
    advice = h("p", h("strong", _t("panels.card.try"), " "), _t(f"missed.advice.{'kept_out' if kept_out else own}"))
    return h("div", h("p", head), h("p", cause, " ", " ".join(body)), advice, cls="wb-reading")


def _rank_words(item: Found, k: int) -> list[str]:
    known, words = item.autopsy, []
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


def _remarks(item: Found, examined: ExaminedMisses, k: int) -> list[str]:
    known = item.autopsy
    smallest = next(iter(ranks(known)), None)
    copies = near_copies(item.place, examined.index) if examined.index is not None and item.place >= 0 else []
    asked, written = known.languages
    said: list[tuple[Any, str, dict[str, Any]]] = [
        (smallest is not None and smallest > k, "smallest", {"k": f"{smallest or 0:,}"}),
        (copies, "copies", {"docs": ", ".join(copies[:4])}),
        (asked != written, "languages", {"asked": asked, "written": written}),
        (known.cut, "cut_before" if known.beyond is False else "cut", {}),
        (known.at_edge, "edge", {}),
        (known.foreign, "foreign", {}),
        (known.rank is not None, "recorded", {"rank": known.rank}),
    ]
    return [_t(f"missed.sentence.{key}", **values) for holds, key, values in said if holds]


def texts(item: Found, examined: ExaminedMisses, k: int) -> Markup:
    """The missed document and what came instead, the question's words pointed out in each."""
    terms, index = content_terms(item.miss.question), examined.index

    def one(name: str, title: str | None, words: str) -> Markup:
        """A document; without a title of its own, the words that it shares."""
        marks = term_marks(words, terms)
        if title is None:
            shared = dict.fromkeys(normalise(words[mark.start : mark.end]) for mark in marks)
            title = _t("missed.sentence.shares", terms=", ".join(shared) or "–")
        head = h("p", h("strong", name, cls="wb-expected" if name.startswith("★") else ""), " ", excerpt(title, 80))
        return h("div", head, h("p", marked(words, marks, shown=900)))

    parts = []
    came = [(f"{rank} · {doc_id or '–'}", words) for rank, doc_id, words in item.miss.came if rank <= k]
    if index is not None:
        if item.place >= 0:
            parts.append(one(f"★ {index.ids[item.place]}", index.titles[item.place], index.texts[item.place]))
        recorded = {doc_id for _, doc_id, _ in item.miss.came}
        before = [doc_id for doc_id in rivals(item, index, k) if doc_id not in recorded]
        came += [(doc_id, index.texts[place]) for doc_id in before for place in index.places(doc_id)[:1]]
    if came:
        summary = h("summary", f"{_t('missed.sentence.instead')} ({len(came)})")
        parts.append(h("details", summary, h("div", *(one(name, None, words) for name, words in came), cls="wb-body")))
    return h("div", *parts)


def table_html(frame: pd.DataFrame, rows: int = 15) -> Markup:
    """The first rows as a reader wants them."""
    names = ["sample_id", "doc_id", "sub_cause", "dense_rank", "bm25_rank", "gap", "percentile", "smallest_k", "rivals"]

    def with_decimals(decimals: int) -> Any:
        return lambda value: "–" if value != value else f"{value:,.{decimals}f}"

    formats = {
        "sub_cause": label_title, "rivals": lambda items: ", ".join(items[:4]), "gap": with_decimals(3),
        **dict.fromkeys(("dense_rank", "bm25_rank", "smallest_k", "percentile"), with_decimals(0)),
    }  # fmt: skip
    return table(frame[names].head(rows), headings="missed.columns", total=len(frame), formats=formats)


def draw(view: str, found: Sequence[Found], at: int | None, examined: ExaminedMisses, evaluation: Any, corpus: Any, *,
         focus: str = "near", theme: str = "print") -> Drawn | None:  # fmt: skip
    """The picture ``view`` of the missed documents, ``at`` being the one looked at; None where it cannot be drawn."""
    k = evaluation.thresholds.k
    if view == "hubs":
        return hub_picture(evaluation, corpus, theme)
    if at is None:
        return None
    if view == "quadrant":
        return quadrant_picture(found, at, k, theme)
    if view == "rescue":
        return rescue_picture(examined, k, theme)
    item, index = found[at], examined.index
    if index is None or index.encoder is None or item.autopsy.dense_rank is None:
        return None
    return profile_picture(item, index, k, theme) if view == "profile" else map_picture(item, index, k, focus, theme)


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
    names = [f"{item.miss.sample_id} · {item.miss.doc_id}" for item in found]
    figure = plots.quadrant(dense, bm25, causes, k, n, names=names, current=at, title=title, theme=theme)
    return figure, _t("missed.caption.quadrant")


def rescue_picture(examined: ExaminedMisses, k: int, theme: str = "print") -> Drawn:
    """How many would be fetched at each depth."""
    curve = rescue_curve(examined, k)
    names = ("dense", "bm25", "hybrid") if curve[["dense", "hybrid"]].to_numpy().any() else ("bm25",)
    n, twice = int(curve["n"].iloc[0]), min(2 * k, len(curve))
    title = _t("missed.plot.rescue_title", rescued=int(curve.loc[twice, list(names)].max()), n=n, k=twice)
    figure = plots.rescue({name: curve[name] for name in names}, curve.index, n, k, title=title, theme=theme)
    return figure, _t("missed.caption.rescue")


def profile_picture(item: Found, index: CorpusIndex, k: int, theme: str = "print") -> Drawn:
    """Similarity of the whole corpus, of what came and of the missed document to one question."""
    cosines = index.vectors @ index.encode([item.miss.question], "query")[0]
    came = [p for _, doc_id, _ in item.miss.came if doc_id for p in index.places(doc_id)[:1]]
    rank = f"{item.autopsy.dense_rank:,}"
    title = _t("missed.plot.profile_title", doc=item.autopsy.doc_id, rank=rank, n=f"{len(index):,}")
    kth = float(np.sort(cosines)[::-1][min(k, len(cosines)) - 1])
    figure = plots.profile(cosines, cosines[came], float(cosines[item.place]), kth, title=title, theme=theme)
    return figure, _t("missed.caption.profile")


def map_picture(item: Found, index: CorpusIndex, k: int, focus: str = "near", theme: str = "print") -> Drawn:
    """The question, the missed document, what came, rivals and the background on two axes."""
    # Stronger roles come later and win.
    roles: dict[int, str] = dict.fromkeys(range(len(index)) if focus == "all" else item.dense.tolist(), "corpus")
    for role, ids in (
        ("rival", rivals(item, index, k)),
        ("came", [doc_id for rank, doc_id, _ in item.miss.came if rank <= k]),
        ("expected", sorted(item.miss.expected - {item.miss.doc_id})),
    ):
        roles.update((place, role) for doc_id in ids if doc_id for place in index.places(doc_id))
    roles[item.place] = "missed"
    places = list(roles)
    vectors = np.concatenate([index.vectors[places], index.encode([item.miss.question], "query")])
    names = [*(index.ids[place] for place in places), item.miss.question[:26]]
    title = _t("missed.plot.map_title", sample=item.miss.sample_id)
    figure, note = plots.neighbourhood(vectors, [*roles.values(), "question"], names, title=title, theme=theme)
    return figure, f"{_t('missed.caption.map')} {note}"


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
    return quiet(_t("missed.never", n=f"{len(found):,}", wanted=len(wanted), docs=names), tag="p")


def whatif_words(found: Sequence[Found], at: int, k: int, weighted: Sequence[int | None], hybrid: int | None) -> Markup:
    """What other weights and the fusion of both rankings would do for this document and for all."""
    before = sum(item.autopsy.bm25_rank is not None and item.autopsy.bm25_rank <= k for item in found)
    after = sum(rank is not None and rank <= k for rank in weighted)
    shown = ["–" if rank is None else f"{rank:,}" for rank in (weighted[at], found[at].autopsy.bm25_rank, hybrid)]
    return quiet(_t("missed.whatif", weighted=shown[0], bm25=shown[1], hybrid=shown[2], before=before, after=after,
                    n=len(found)), tag="p")  # fmt: skip


# The panel.

#: Seconds to wait for ranks before the panel opens with what was stored.
PATIENCE = 1.2
ENCODERS = ("auto", "ngram", "none")
DEEPEST = 50


class MissedDocuments(MissPanel):
    """Encoder, k, the missed document looked at, pictures around it, what-ifs and the evidence card.

    Parameters
    ----------
    corpus
        The knowledge base, or anything that ``load_corpus`` reads; without one the stored ranks are shown.
    encoder
        The one to begin with: a name or an object of the protocol; None = the embedded default.

    Ranks are worked out in a thread of their own: the panel opens at once, shows progress while texts are encoded, and
    can be cancelled.
    """

    stem = "missed_documents"

    def __init__(self, session: Session, corpus: Any = None, encoder: str | Encoder | None = None) -> None:
        super().__init__(session)
        self._source = corpus
        self._corpus: Corpus | None = None
        self._weighted: tuple[Any, Weighted] | None = None
        self._listed: list[Found] = []
        self.examined: ExaminedMisses = from_stored(session.evaluation)
        encoders: list[tuple[str, Any]] = [*named("missed.encoder_", ENCODERS)]
        if encoder is not None and encoder not in ENCODERS:
            encoders.append((str(getattr(encoder, "name", encoder)), encoder))
        self.encoder = dropdown(_t("missed.encoder"), encoders, encoder if encoder is not None else "auto")
        k = min(session.thresholds.k, DEEPEST)
        self.k = slider(W.IntSlider, _t("missed.k"), "260px", value=k, min=1, max=DEEPEST)
        self.k.add_class("wb-k")
        self.work = Background(self, "missed", _progress_words, again=lambda: self.start_work())
        self.message = self.work.message
        self.causes, self.sentence, self.texts = markup(), markup(None, "wb-sentence"), markup()
        self.cause = dropdown(_t("missed.cause"), [(_t("missed.any"), ANY)], ANY)
        self.view = W.ToggleButtons(options=named("missed.view_", VIEWS), style={"button_width": "auto"})
        self.focus = dropdown(_t("missed.focus"), named("missed.focus_", ("near", "all")), "near")
        self.title_weight, self.section_weight = (
            slider(W.FloatSlider, _t(f"missed.{name}_weight"), value=0, min=0, max=4, step=0.25)
            for name in ("title", "section")
        )  # fmt: skip
        self.whatif = markup(None, "wb-whatif")
        self.filters = self.filtered = FilterNote(self)
        self.on(self.encoder, lambda _: self.start_work())
        self.on(self.k, lambda k: session.set_thresholds(k=k))
        self.on(self.cause, lambda _: self._refresh())
        for widget in (self.view, self.focus):
            self.on(widget, lambda _: self._draw_picture())
        for widget in (self.title_weight, self.section_weight):
            self.on(widget, lambda _: self._draw_whatif())
        self.picture.clicked, self.picture.brushed = self._click, self._brush
        whatif = W.VBox([row(self.title_weight, self.section_weight), self.whatif])
        split = self.beside(*self._columns(), above=(self.sentence, self.texts), below=(whatif,))
        split.add_class("wb-wide")
        self.compose(
            row(self.encoder, self.k, self.cause, self.work, self.count), self.causes,
            row(self.view, self.focus, self.filtered), self.picture, self.bar, split,
        )  # fmt: skip
        if corpus is None:
            self.work.say(_t(f"missed.{'no_corpus' if self.examined.found else 'no_corpus_no_ranks'}"))
        self.begin(draw=corpus is None)
        self.start_work(PATIENCE)
        if self.work.running and self.examined.found:
            self._refresh()

    def _columns(self) -> list[Column]:
        def rank(value: float) -> str:
            return "–" if value != value else f"{value:,.0f}"

        order = {name: place for place, name in enumerate((*SUB_CAUSES, NOT_INDEXED))}
        title = {name: _t(f"missed.columns.{name}") for name in ("doc_id", "sub_cause", "dense_rank", "bm25_rank")}
        return [
            id_column(), Column("doc_id", title["doc_id"], "short"),
            Column("sub_cause", title["sub_cause"], "short", label_title, order.get),
            Column("dense_rank", title["dense_rank"], "number", rank), Column("bm25_rank", title["bm25_rank"], "number", rank),
            question_column(),
        ]  # fmt: skip

    def _click(self, key: Any) -> None:
        """A point of the ranks goes to its document; a hub lists the questions that it came to."""
        if isinstance(key, int):
            self.go(key)
        else:
            contexts = self.session.evaluation.contexts()
            ids = contexts.loc[contexts["doc_id"] == key["doc_id"], "sample_id"].unique().tolist()
            self.session.show(ids, _t("missed.came_to", doc=key["doc_id"]))

    def _brush(self, keys: Sequence[int]) -> None:
        """A drag over points lists their samples."""
        ids = list(dict.fromkeys(self.listed[at].miss.sample_id for at in keys))
        self.session.show(ids, _t("missed.dragged", n=len(ids)))

    def body(self, sample_id: str) -> Markup:
        """The card, with the sub-cause that the sentence beside it gives."""
        own = None if self.at is None else label(self.listed[self.at], self.session.thresholds.k)
        return card_html(self.session, sample_id, own)

    # Ranks, in a thread of their own.

    def start_work(self, patience: float = 0.0) -> None:
        """Rank under the chosen encoder; waits ``patience`` seconds for the end, then leaves it to the thread."""
        if self._source is None:
            return
        evaluation, encoder = self.session.evaluation, self.encoder.value

        def rank(progress: Any, cancelled: Any) -> ExaminedMisses:
            """Every missed document ranked; texts that the cache held already count as no work."""
            self._corpus = as_corpus(self._source)
            first: list[int] = []

            def tell(done: int, total: int) -> None:
                first.append(done)
                progress(done, total, first[0])

            found = examine(evaluation, self._corpus, encoder, progress=tell, cancel=cancelled)
            if found.index is not None:
                # Pictures encode their question later: that is no part of this work, and newer work must not stop it.
                found.index.progress = found.index.cancel = None
            return found

        self.work.start(rank, self._ranked, failed=self._not_ranked, words=_t("missed.working"), patience=patience)

    def _ranked(self, found: ExaminedMisses) -> None:
        self.examined = found
        self._refresh()

    def _not_ranked(self, error: BaseException) -> None:
        """Ranks by words alone."""
        if isinstance(error, WorkbenchError) and self.encoder.value != "none" and self._corpus is not None:
            self.examined = examine(self.session.evaluation, self._corpus, "none")
        self._refresh()

    # Following the session.

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            with self.quietly():
                self.k.value = min(self.session.thresholds.k, DEEPEST)
        super()._follow(names)

    @property
    def listed(self) -> list[Found]:
        """The missed documents of the session's filter, of the chosen sub-cause."""
        return self._listed

    def _refresh(self) -> None:
        """Counts, choices, picture and item for the k, filter and ranks in force."""
        k, ids = self.session.thresholds.k, set(self.session.matching())
        everything = self.examined.at(k)
        there = {label(item, k) for item in everything}
        labels = [name for name in (*SUB_CAUSES, NOT_INDEXED) if name in there]
        with self.quietly():
            chosen = self.cause.value if self.cause.value in labels else ANY
            self.cause.options = [(_t("missed.any"), ANY), *((label_title(name), name) for name in labels)]
            self.cause.value = chosen
        mine = [item for item in everything if item.miss.sample_id in ids]
        self._listed = found = [item for item in mine if chosen in (ANY, label(item, k))]
        self._list_rows()
        show(self.count, h("span", self._count_words(), quiet(depth_words(self.examined.found, k))))
        show(self.causes, quiet(cause_words(found, k)))
        # One that is in the corpus has more to say than one that is not.
        self.keep_selection(next((at for at, item in enumerate(found) if item.autopsy.indexed), 0))

    def _list(self) -> None:
        self._list_rows()
        self.keep_selection()

    def _list_rows(self) -> None:
        """The listed documents as rows, in the order that was clicked."""
        import pandas as pd

        assert self.rows is not None
        k = self.session.thresholds.k
        rows = [(item.miss.sample_id, item.miss.doc_id, label(item, k), item.autopsy.dense_rank, item.autopsy.bm25_rank,
                 item.miss.question) for item in self._listed]  # fmt: skip
        names = ["sample_id", "doc_id", "sub_cause", "dense_rank", "bm25_rank", "question"]
        frame = self.rows.ordered(pd.DataFrame(rows, columns=names))
        frame = frame.astype({"dense_rank": float, "bm25_rank": float})
        self._listed = [self._listed[at] for at in frame.index]
        self.rows.set(frame.reset_index(drop=True), empty=self._empty_words(), note=self._note())

    def draw_card(self) -> None:
        """Show the document looked at, in words, texts, pictures and with the sample's card."""
        item, k = self.draw_place(), self.session.thresholds.k
        show(self.sentence, empty(self._empty_words()) if item is None else sentence(item, self.examined, k))
        show(self.texts, Markup() if item is None else texts(item, self.examined, k))
        self._draw_picture()
        self._draw_whatif()

    def _empty_words(self) -> str:
        if self.cause.value != ANY:
            return _t("missed.empty_cause")
        if self._nothing_expected() or (self._source is not None and not self.examined.found and not self.work.busy):
            return _t("missed.nothing_expected")
        return _t("missed.empty", k=self.session.thresholds.k)

    def _position(self, at: int, ids: Sequence[str]) -> str:
        return _t("missed.position", at=f"{at + 1:,}", n=f"{len(ids):,}") if ids else _t("panels.low_scores.none")

    def _count_words(self) -> str:
        """How many are missed; nothing where no sample expects a document, which is not the same as none missed."""
        return "" if self._nothing_expected() else count_words(self.listed, self.session.thresholds.k)

    def _nothing_expected(self) -> bool:
        return not self.listed and nothing_expected(self.session)

    def _draw_picture(self) -> None:
        display(self.focus, self.view.value == "map")
        drawn = self._drawn("screen")
        display(self.picture.frame, drawn is not None)
        if drawn is None:
            show(self.picture.caption, quiet(_t("missed.no_vectors") if self.listed else "", tag="p"))
        else:
            self.picture.draw(self._again, drawn[1])

    def _drawn(self, theme: str, view: str | None = None) -> Drawn | None:
        return draw(view or self.view.value, self.listed, self.at, self.examined, self.session.evaluation, self._corpus,
                    focus=self.focus.value, theme=theme)  # fmt: skip

    def _draw_whatif(self) -> None:
        found, at, index = self.listed, self.at, self.examined.index
        for widget in (self.title_weight, self.section_weight):
            display(widget, bool(found) and index is not None)
        if at is None or index is None:
            show(self.whatif, Markup())
            return
        if self._weighted is None or self._weighted[0] is not index:
            self._weighted = (index, Weighted(index))
        weighted = self._weighted[1].ranks(found, self.title_weight.value, self.section_weight.value)
        show(self.whatif, whatif_words(found, at, self.session.thresholds.k, weighted, fused_rank(found[at])))

    # Handing over.

    def pin(self) -> None:
        """Keep what is shown as a finding."""
        k = self.session.thresholds.k
        self.card.keep(f"{count_words(self.listed, k)}: {cause_words(self.listed, k)}")

    def _snippet(self) -> str:
        corpus = self._source if isinstance(self._source, str) else "corpus.jsonl"
        chosen = self.encoder.value if isinstance(self.encoder.value, str) else None
        return self.script(
            f"evaluation = evaluation.with_thresholds(evaluation.thresholds.replace(k={self.session.thresholds.k}))",
            f"wb.missed_documents(evaluation, {corpus!r}, encoder={chosen!r})", opened="evaluation",
        )  # fmt: skip

    def rows_known(self) -> pd.DataFrame:
        """The listed documents: the columns of ``missed_documents``, with ``not_indexed`` named."""
        found, k = self.listed, self.session.thresholds.k
        return missed_table(found, self.examined.index, k).assign(sub_cause=[label(item, k) for item in found])

    def figure(self) -> Figure | None:
        """The picture in view, dark on white; the quadrant where that one needs vectors that are not there."""
        if (found := super().figure()) is not None:
            return found
        drawn = self._drawn("print", "quadrant")
        return None if drawn is None else drawn[0]

    def page(self, rows: int = 15) -> Fragment:
        """Counts, every picture that can be drawn, the sentence of the document looked at, the table and the card."""
        k, found, at = self.session.thresholds.k, self.listed, self.at
        head = h("p", h("strong", self._count_words()), " ", cause_words(found, k))
        if at is None:
            return fragment(head, empty(self._empty_words()))
        drawn = [draw(name, found, at, self.examined, self.session.evaluation, self._corpus) for name in VIEWS]
        return fragment(
            head, sentence(found[at], self.examined, k), texts(found[at], self.examined, k),
            join(still(*one) for one in drawn if one), never_html(self.session.evaluation, self._corpus),
            table_html(self.rows_known(), rows), self.body(found[at].miss.sample_id),
        )  # fmt: skip


def nothing_expected(session: Session) -> bool:
    """Whether no sample has a recall, because none expects a document."""
    scores, recall = session.scores, f"recall@{session.thresholds.k}"
    return recall in scores and bool(scores[recall].isna().all())


def _progress_words(progress: WorkProgress) -> str:
    if progress.done >= progress.total:
        # One lot of texts is done; another one, or the ranking, is next.
        return _t("missed.working")
    left = "" if progress.left is None else _t("missed.progress_left", seconds=f"{progress.left:.0f}")
    return _t("missed.progress", done=f"{progress.done:,}", total=f"{progress.total:,}", left=left)
