"""Panel 03: where in embedding space are the documents that were missed?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.autopsy import Found
from workbench.diagnosis.missed import Examined, as_corpus, examine, from_stored
from workbench.diagnosis.whatif import Weighted, fused_rank
from workbench.errors import CancelledError, WorkbenchError
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.html import Fragment, Markup, fragment, h, join, picture
from workbench.views.panels import missed_parts as parts
from workbench.views.panels.card import Card, card_html
from workbench.views.panels.filters import ANY, FilterNote
from workbench.views.widgets import CellWaits, Panel, Picture, Stepper, button, display, dropdown, markup, row, show
from workbench.views.work import Newest, Progress

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.data.schema import Corpus
    from workbench.evidence.embed import Encoder
    from workbench.views.session import Session

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
        self.examined: Examined = from_stored(session.evaluation)
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
        self.view = W.ToggleButtons(options=[(_t(f"missed.view_{name}"), name) for name in parts.VIEWS],
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

        def rank(progress: Any, cancelled: Any) -> Examined:
            """Every missed document ranked; texts that the cache held already count as no work."""
            self._corpus = as_corpus(self._source)
            first: list[int] = []

            def tell(done: int, total: int) -> None:
                first.append(done)
                progress(done, total, first[0])

            found = examine(evaluation, self._corpus, encoder, progress=tell, cancel=cancelled)
            if found.shelf is not None:
                # Pictures encode their question later: that is no part of this work, and newer work must not stop it.
                found.shelf.progress = found.shelf.cancel = None
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
        return [item for item in mine if self.cause.value in (ANY, parts.label(item, k))]

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
        labels = parts.present_labels(everything, k)
        chosen = self.cause.value if self.cause.value in labels else ANY
        self.cause.options = [(_t("missed.any"), ANY), *((parts.label_title(name), name) for name in labels)]
        self.cause.value = chosen
        self._quiet = False
        found = self.found
        deeper = parts.depth_words(self.examined.found, k)
        show(self.count, h("span", self._count_words(), h("span", deeper, cls="wb-quiet")))
        self.filtered.fill()
        show(self.causes, h("span", parts.cause_words(found, k), cls="wb-quiet"))
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
            show(self.sentence, parts.sentence(item, self.examined, k))
            show(self.texts, parts.texts(item, self.examined, k))
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
        return "" if self._nothing_expected() else parts.count_words(self.found, self.session.thresholds.k)

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

    def _drawn(self, theme: str) -> parts.Drawn | None:
        return parts.draw(self.view.value, self.found, self.at, self.examined, self.session.evaluation, self._corpus,
                          focus=self.focus.value, theme=theme)  # fmt: skip

    def _draw_whatif(self) -> None:
        found, shelf = self.found, self.examined.shelf
        for widget in (self.title_weight, self.section_weight):
            display(widget, bool(found) and shelf is not None)
        if not found or shelf is None:
            show(self.whatif, Markup())
            return
        if self._weighted is None or self._weighted[0] is not shelf:
            self._weighted = (shelf, Weighted(shelf))
        ranks = self._weighted[1].ranks(found, self.title_weight.value, self.section_weight.value)
        words = parts.whatif_words(found, self.at, self.session.thresholds.k, ranks, fused_rank(found[self.at]))
        show(self.whatif, words)

    # ------------------------------------------------------------ handing over

    def _pin(self) -> None:
        k, found = self.session.thresholds.k, self.found
        self.card.keep(f"{parts.count_words(found, k)}: {parts.cause_words(found, k)}", snippet=self.snippet())

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
        return parts.shown_table(self.found, self.examined, self.session.thresholds.k)

    def figure(self) -> Figure | None:
        """The picture in view, dark on white; the quadrant where that one needs vectors that are not there."""
        self.join()
        drawn = self._drawn("print")
        if drawn is None and self.found:
            drawn = parts.quadrant_picture(self.found, self.at, self.session.thresholds.k)
        return None if drawn is None else drawn[0]

    def html(self, rows: int = 15) -> Fragment:
        """Counts, every picture that can be drawn, the sentence of the document looked at, the table and the card."""
        self.join()
        k, found = self.session.thresholds.k, self.found
        head = h("p", h("strong", self._count_words()), " ", parts.cause_words(found, k))
        if not found:
            return fragment(head, h("div", self._empty_words(), cls="wb-empty"))
        item = found[self.at]
        drawn = [parts.draw(name, found, self.at, self.examined, self.session.evaluation, self._corpus)
                 for name in parts.VIEWS]  # fmt: skip
        shown = [picture(plots.figure_png(figure), caption) for figure, caption in filter(None, drawn)]
        return fragment(head, parts.sentence(item, self.examined, k), parts.texts(item, self.examined, k), join(shown),
                        parts.never_html(self.session.evaluation, self._corpus),
                        parts.table_html(self.table(), rows), card_html(self.session, item.miss.sample_id))  # fmt: skip
