"""Panel 03: where in embedding space are the documents that were missed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
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
from workbench.errors import CancelledError, WorkbenchError
from workbench.evidence.corpus_ranks import Found, as_corpus, near_duplicates
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import ANY, Card, FilterNote, card_html, term_marks
from workbench.views.html import Fragment, Markup, excerpt, fragment, h, join, marked, picture, table
from workbench.views.widgets import (
    CellWaits,
    Newest,
    Panel,
    Picture,
    Progress,
    Stepper,
    button,
    display,
    dropdown,
    markup,
    row,
    show,
)
from workbench.views.wording import cause_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.data.schema import Corpus
    from workbench.evidence.encoders.base import Encoder
    from workbench.views.session import Session


# ------------------------------------------------------------------------------
# What panel 03 shows, as plain functions of autopsies: sentences, tables and pictures.


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


def sentence(item: Found, examined: ExaminedMisses, k: int) -> Markup:
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


def _remarks(item: Found, examined: ExaminedMisses, k: int) -> list[str]:
    known = item.autopsy
    smallest = next(iter(ranks(known)), None)
    copies = near_duplicates(item.place, examined.index) if examined.index is not None and item.place >= 0 else []
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


def texts(item: Found, examined: ExaminedMisses, k: int) -> Markup:
    """The missed document and what came instead, the question's words pointed out in each."""
    terms = content_terms(item.miss.question)
    parts = []
    if examined.index is not None and item.place >= 0:
        title = examined.index.titles[item.place]
        parts.append(_text(f"★ {examined.index.ids[item.place]}", title, examined.index.texts[item.place], terms))
    came = [(f"{rank} · {doc_id or '–'}", words) for rank, doc_id, words in item.miss.came if rank <= k]
    recorded = {doc_id for _, doc_id, _ in item.miss.came}
    index = examined.index
    if index is not None:
        before = [doc_id for doc_id in rivals(item, index, k) if doc_id not in recorded]
        came += [(doc_id, index.texts[place]) for doc_id in before for place in index.places(doc_id)[:1]]
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


def shown_table(found: Sequence[Found], examined: ExaminedMisses, k: int) -> pd.DataFrame:
    """The columns of ``missed_documents`` with ``not_indexed`` named."""
    frame = missed_table(found, examined.index, k)
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


def draw(view: str, found: Sequence[Found], at: int, examined: ExaminedMisses, evaluation: Any, corpus: Any, *,
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


def has_vectors(item: Found, examined: ExaminedMisses) -> bool:
    """Whether pictures of similarities can be drawn."""
    return examined.index is not None and examined.index.encoder is not None and item.autopsy.dense_rank is not None


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


def rescue_picture(examined: ExaminedMisses, k: int, theme: str = "print") -> Drawn:
    """How many would be fetched at each depth."""
    curve = rescue_curve(examined, k)
    names = ("dense", "bm25", "hybrid") if curve[["dense", "hybrid"]].to_numpy().any() else ("bm25",)
    n, twice = int(curve["n"].iloc[0]), min(2 * k, len(curve))
    title = _t("missed.plot.rescue_title", rescued=int(curve.loc[twice, list(names)].max()), n=n, k=twice)
    figure = plots.rescue({name: curve[name] for name in names}, curve.index, n, k, title=title, theme=theme)
    return figure, _t("missed.caption.rescue")


def profile_picture(item: Found, examined: ExaminedMisses, k: int, theme: str = "print") -> Drawn:
    """Similarity of the whole corpus, of what came and of the missed document to one question."""
    index = examined.index
    assert index is not None and item.autopsy.similarity is not None
    cosines = index.vectors @ index.encode([item.miss.question], "query")[0]
    came = [p for _, doc_id, _ in item.miss.came if doc_id for p in index.places(doc_id)[:1]]
    known = item.autopsy
    title = _t("missed.plot.profile_title", doc=known.doc_id, rank=f"{known.dense_rank:,}", n=f"{len(index):,}")
    kth = float(np.sort(cosines)[::-1][min(k, len(cosines)) - 1])
    figure = plots.profile(cosines, cosines[came], float(cosines[item.place]), kth, title=title, theme=theme)
    return figure, _t("missed.caption.profile")


def map_picture(item: Found, examined: ExaminedMisses, k: int, focus: str = "near", theme: str = "print") -> Drawn:
    """The question, the missed document, what came, rivals and the background on two axes."""
    index = examined.index
    assert index is not None
    roles = _roles(item, examined, k, focus)
    places = list(roles)
    vectors = np.concatenate([index.vectors[places], index.encode([item.miss.question], "query")])
    names = [*(index.ids[place] for place in places), item.miss.question[:26]]
    title = _t("missed.plot.map_title", sample=item.miss.sample_id)
    figure, note = plots.neighbourhood(vectors, [*roles.values(), "question"], names, title=title, theme=theme)
    return figure, f"{_t('missed.caption.map')} {note}"


def _roles(item: Found, examined: ExaminedMisses, k: int, focus: str) -> dict[int, str]:
    """Place → role of every document on the map; stronger roles come later and win."""
    index = examined.index
    assert index is not None
    background = range(len(index)) if focus == "all" else item.dense.tolist()
    roles = dict.fromkeys(background, "corpus")

    def put(ids: Sequence[str | None], role: str) -> None:
        roles.update((place, role) for doc_id in ids if doc_id for place in index.places(doc_id))

    put(rivals(item, index, k), "rival")
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


# ------------------------------------------------------------------------------


#: Seconds to wait for ranks before the panel opens with what was stored.
PATIENCE = 1.2
ENCODERS = ("auto", "ngram", "none")
DEEPEST = 50


class MissedDocuments(Panel):
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
        self.session: Session = session
        self._source = corpus
        self._corpus: Corpus | None = None
        self._work = Newest(lambda: self._busy(True), self._on_progress, self.guarded(self._end, "end"))
        self._weighted: tuple[Any, Weighted] | None = None
        self._quiet, self._waiting = False, False
        self.examined: ExaminedMisses = from_stored(session.evaluation)
        self._build(encoder)
        session.observe(self.guarded(self._follow, "session"))
        if corpus is None:
            key = "no_corpus" if self.examined.found else "no_corpus_no_ranks"
            self._say(_t(f"missed.{key}"))
            self._refresh()
        else:
            self.start_work(PATIENCE)

    # ------------------------------------------------------------ widgets

    def _build(self, encoder: str | Encoder | None) -> None:
        options: list[tuple[str, Any]] = [(_t(f"missed.encoder_{name}"), name) for name in ENCODERS]
        if encoder is not None and encoder not in ENCODERS:
            options.append((str(getattr(encoder, "name", encoder)), encoder))
        self.encoder = dropdown(_t("missed.encoder"), options, encoder if encoder is not None else "auto")
        wide = {"description_width": "initial"}
        self.k = W.IntSlider(value=min(self.session.thresholds.k, DEEPEST), min=1, max=DEEPEST, continuous_update=False,
                             description=_t("missed.k"), layout=W.Layout(width="260px"), style=wide)  # fmt: skip
        self.k.add_class("wb-k")
        self.count = markup(None, "wb-count")
        self.bar = W.IntProgress(min=0, max=1, layout=W.Layout(width="180px"))
        self.message, self.waits = markup(), CellWaits()
        self.cancel_button = button(_t("missed.cancel"), self.guarded(self.cancel, "cancel"), "wb-cancel")
        self.start_button = button(_t("missed.start"), self.guarded(lambda: self.start_work(), "start"))
        self.causes = markup()
        self.cause = dropdown(_t("missed.cause"), [(_t("missed.any"), ANY)], ANY)
        self.stepper = Stepper(self, self._go)
        self.sentence = markup(None, "wb-sentence")
        self.view = W.ToggleButtons(options=[(_t(f"missed.view_{name}"), name) for name in VIEWS],
                                    style={"button_width": "auto"})  # fmt: skip
        self.focus = dropdown(
            _t("missed.focus"), [(_t(f"missed.focus_{name}"), name) for name in ("near", "all")], "near"
        )
        self.picture = Picture("wb-figure")
        self.texts = markup()
        self.title_weight, self.section_weight = (
            W.FloatSlider(value=0, min=0, max=4, step=0.25, continuous_update=False, style=wide,
                          description=_t(f"missed.{name}_weight"), layout=W.Layout(width="300px"))
            for name in ("title", "section")
        )  # fmt: skip
        self.whatif = markup(None, "wb-whatif")
        self.card = Card(self, self._pin, self._ids)
        self.filtered = FilterNote(self)
        self._wire()
        self._busy(False)
        self.compose(
            row(self.encoder, self.k, self.count),
            row(self.bar, self.message, self.cancel_button, self.waits, self.start_button),
            self.filtered, row(self.causes, self.cause, self.stepper), self.sentence, row(self.view, self.focus), self.picture,
            row(self.title_weight, self.section_weight), self.whatif, self.texts, self.card,
        )  # fmt: skip

    def _wire(self) -> None:
        self.on(self.encoder, lambda _: self.start_work())
        self.on(self.k, lambda k: None if self._quiet else self.session.set_thresholds(k=k))
        self.on(self.cause, lambda _: None if self._quiet else self._refresh())
        for widget in (self.view, self.focus):
            self.on(widget, lambda _: self._draw_picture())
        for widget in (self.title_weight, self.section_weight):
            self.on(widget, lambda _: self._draw_whatif())

    # ------------------------------------------------------------ ranks, in a thread of their own

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

        self._work.start(rank, patience)
        if self._work.running and self.examined.found:
            self._refresh()

    def cancel(self) -> None:
        """Ask the encoding to stop; what was encoded is kept."""
        self._work.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the ranks are there (for scripts and static results)."""
        self.waits.join(self._work, timeout)

    def _busy(self, busy: bool) -> None:
        self._waiting = busy
        for widget in (self.bar, self.cancel_button):
            display(widget, busy)
        display(self.start_button, False)
        self.bar.value, self.bar.max = 0, 1
        self._say(_t("missed.working") if busy else "")

    def _on_progress(self, progress: Progress) -> None:
        self.bar.max, self.bar.value = max(progress.total, 1), progress.done
        if progress.done >= progress.total:
            # One lot of texts is done; another one, or the ranking, is next.
            self._say(_t("missed.working"))
            return
        left = "" if progress.left is None else _t("missed.progress_left", seconds=f"{progress.left:.0f}")
        self._say(_t("missed.progress", done=f"{progress.done:,}", total=f"{progress.total:,}", left=left))

    def _end(self, result: Any, error: BaseException | None) -> None:
        self._busy(False)
        if isinstance(error, CancelledError):
            self._say(_t("missed.cancelled"))
            display(self.start_button, True)
        elif isinstance(error, WorkbenchError) and self.encoder.value != "none" and self._corpus is not None:
            self.examined = examine(self.session.evaluation, self._corpus, "none")
            self._say(_t("missed.failed", reason=error))
        elif error is not None:
            raise error
        else:
            self.examined = result
        self._refresh()

    def _say(self, words: str) -> None:
        show(self.message, h("span", words, cls="wb-quiet"))

    # ------------------------------------------------------------ following the session

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            self._quiet = True
            self.k.value = min(self.session.thresholds.k, DEEPEST)
            self._quiet = False
        if names & {"thresholds", "filter"}:
            self._refresh()
        elif "selection" in names:
            self._draw_item()

    @property
    def found(self) -> list[Found]:
        """The missed documents listed: of the session's filter, of the chosen sub-cause."""
        k, ids = self.session.thresholds.k, set(self.session.matching())
        mine = [item for item in self.examined.at(k) if item.miss.sample_id in ids]
        return [item for item in mine if self.cause.value in (ANY, label(item, k))]

    @property
    def at(self) -> int:
        """Position of the document looked at: the chosen one of the selected sample, else the first."""
        found = self.found
        mine = [at for at, item in enumerate(found) if item.miss.sample_id == self.session.selection]
        same = [at for at in mine if found[at].miss.doc_id == self._document]
        return next(iter(same or mine), 0)

    _document: str | None = None

    def _go(self, at: int) -> None:
        item = self.found[at]
        self._document = item.miss.doc_id
        if self.session.selection == item.miss.sample_id:
            self._draw_item()
        else:
            self.session.select(item.miss.sample_id)

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(item.miss.sample_id for item in self.found))

    def _refresh(self) -> None:
        """Counts, choices, picture and item for the k, filter and ranks in force."""
        k = self.session.thresholds.k
        everything = self.examined.at(k)
        self._quiet = True
        labels = present_labels(everything, k)
        chosen = self.cause.value if self.cause.value in labels else ANY
        self.cause.options = [(_t("missed.any"), ANY), *((label_title(name), name) for name in labels)]
        self.cause.value = chosen
        self._quiet = False
        found = self.found
        deeper = depth_words(self.examined.found, k)
        show(self.count, h("span", self._count_words(), h("span", deeper, cls="wb-quiet")))
        self.filtered.fill()
        show(self.causes, h("span", cause_words(found, k), cls="wb-quiet"))
        if found and self.session.selection not in {item.miss.sample_id for item in found}:
            # One that is in the corpus has more to say than one that is not.
            first = next((item for item in found if item.autopsy.indexed), found[0])
            self._document = first.miss.doc_id
            self.session.select(first.miss.sample_id)
        else:
            self._draw_item()

    def _draw_item(self) -> None:
        found, k = self.found, self.session.thresholds.k
        if not found:
            self.stepper.set(0, 0, _t("missed.none"))
            show(self.sentence, h("div", self._empty_words(), cls="wb-empty"))
            show(self.texts, Markup())
            self.card.draw(None)
        else:
            item = found[self.at]
            where = _t("missed.position", at=self.at + 1, n=len(found))
            self.stepper.set(self.at, len(found), f"{where}   {item.miss.sample_id} · {item.miss.doc_id}"[:90])
            show(self.sentence, sentence(item, self.examined, k))
            show(self.texts, texts(item, self.examined, k))
            self.card.draw(item.miss.sample_id)
        self._draw_picture()
        self._draw_whatif()

    def _empty_words(self) -> str:
        if self.cause.value != ANY:
            return _t("missed.empty_cause")
        if self._nothing_expected() or (self._source is not None and not self.examined.found and not self._waiting):
            return _t("missed.nothing_expected")
        return _t("missed.empty", k=self.session.thresholds.k)

    def _count_words(self) -> str:
        """How many are missed; nothing where no sample expects a document, which is not the same as none missed."""
        return "" if self._nothing_expected() else count_words(self.found, self.session.thresholds.k)

    def _nothing_expected(self) -> bool:
        scores, recall = self.session.scores, f"recall@{self.session.thresholds.k}"
        return not self.found and recall in scores and bool(scores[recall].isna().all())

    def _draw_picture(self) -> None:
        display(self.focus, self.view.value == "map")
        drawn = self._drawn("screen")
        display(self.picture.image, drawn is not None)
        if drawn is None:
            show(self.picture.caption, h("p", _t("missed.no_vectors") if self.found else "", cls="wb-quiet"))
        else:
            self.picture.draw(*drawn)

    def _drawn(self, theme: str) -> Drawn | None:
        return draw(self.view.value, self.found, self.at, self.examined, self.session.evaluation, self._corpus,
                          focus=self.focus.value, theme=theme)  # fmt: skip

    def _draw_whatif(self) -> None:
        found, index = self.found, self.examined.index
        for widget in (self.title_weight, self.section_weight):
            display(widget, bool(found) and index is not None)
        if not found or index is None:
            show(self.whatif, Markup())
            return
        if self._weighted is None or self._weighted[0] is not index:
            self._weighted = (index, Weighted(index))
        ranks = self._weighted[1].ranks(found, self.title_weight.value, self.section_weight.value)
        words = whatif_words(found, self.at, self.session.thresholds.k, ranks, fused_rank(found[self.at]))
        show(self.whatif, words)

    # ------------------------------------------------------------ handing over

    def _pin(self) -> None:
        k, found = self.session.thresholds.k, self.found
        self.card.keep(f"{count_words(found, k)}: {cause_words(found, k)}", snippet=self.snippet())

    def snippet(self) -> str:
        """Lines of Python that give the same table."""
        where = str(self.session.evaluation.path or self.session.evaluation.name)
        corpus = self._source if isinstance(self._source, str) else "corpus.jsonl"
        chosen = self.encoder.value if isinstance(self.encoder.value, str) else None
        return "\n".join([
            "import workbench as wb", f"evaluation = wb.open({where!r})",
            f"evaluation = evaluation.with_thresholds(evaluation.thresholds.replace(k={self.session.thresholds.k}))",
            f"wb.missed_documents(evaluation, {str(corpus)!r}, encoder={chosen!r})",
        ])  # fmt: skip

    def table(self) -> pd.DataFrame:
        """The listed documents: the columns of ``missed_documents``."""
        self.join()
        return shown_table(self.found, self.examined, self.session.thresholds.k)

    def figure(self) -> Figure | None:
        """The picture in view, dark on white; the quadrant where that one needs vectors that are not there."""
        self.join()
        drawn = self._drawn("print")
        if drawn is None and self.found:
            drawn = quadrant_picture(self.found, self.at, self.session.thresholds.k)
        return None if drawn is None else drawn[0]

    def html(self, rows: int = 15) -> Fragment:
        """Counts, every picture that can be drawn, the sentence of the document looked at, the table and the card."""
        self.join()
        k, found = self.session.thresholds.k, self.found
        head = h("p", h("strong", self._count_words()), " ", cause_words(found, k))
        if not found:
            return fragment(head, h("div", self._empty_words(), cls="wb-empty"))
        item = found[self.at]
        drawn = [draw(name, found, self.at, self.examined, self.session.evaluation, self._corpus)
                 for name in VIEWS]  # fmt: skip
        shown = [picture(plots.figure_png(figure), caption) for figure, caption in filter(None, drawn)]
        return fragment(head, sentence(item, self.examined, k), texts(item, self.examined, k), join(shown),
                        never_html(self.session.evaluation, self._corpus),
                        table_html(self.table(), rows), card_html(self.session, item.miss.sample_id))  # fmt: skip
