"""Panel 11: what would each fix bring?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import pandas as pd

from workbench.data.text.points import find_point
from workbench.errors import InputError
from workbench.language import numbers
from workbench.language import text as _t
from workbench.repair import words
from workbench.repair.plan import RepairPlan, accepted_synonyms, prompt, repair_plan
from workbench.repair.sweep import Sweep, sweep
from workbench.views import plots
from workbench.views.card import card_html
from workbench.views.html import Fragment, Mark, Markup, empty, excerpt, fragment, h, join, marked, quiet, table
from workbench.views.list_panel import FilterNote, ListPanel
from workbench.views.widgets import (
    Background,
    PagedTable,
    Panel,
    Picture,
    button,
    display,
    dropdown,
    markup,
    row,
    show,
    still,
)
from workbench.views.wording import cause_title, count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.repair.documents import Passage
    from workbench.repair.needs import Reader
    from workbench.views.session import Session

#: Sign and colour of a cell of the matrix.
_SIGNS = {"rescued": ("✓", "success"), "broken": ("✗", "danger"), "better": ("↑", "info"), "worse": ("↓", "warning"),
          "same": ("·", ""), "untold": ("?", "")}  # fmt: skip
#: Characters of a context that are shown, more where a key point stands later.
SHOWN = 260
#: Samples on one page of the matrix.
COLUMNS = 13
#: Seconds to wait for the plan before the panel opens without it.
PATIENCE = 1.0

Write = Callable[[RepairPlan, Path], Path]


class RepairPlanPanel(ListPanel):
    """The plan as a table, a matrix of fixes × samples whose cells are buttons, the sample's contexts before and after.

    Parameters
    ----------
    corpus, encoder, options
        As for ``wb.repair_plan``; synonyms accepted in notebook 04 are taken from the session.
    write
        Writes the plan's page of Markdown.

    The plan is worked out in a thread of its own, with a bar and a button that cancels.
    """

    stem = "repair_plan"

    def __init__(self, session: Session, write: Write, corpus: Any = None, encoder: Any = None, **options: Any) -> None:
        super().__init__(session)
        self._write, self._given = write, {"corpus": corpus, "encoder": encoder, **options}
        self.plan: RepairPlan | None = None
        self._matrix, self._first = pd.DataFrame(), 0
        self.headline, self.reading, self.before_after = markup(None, "wb-reading"), markup(), markup(None, "wb-contexts")
        self.list, self.unreached, self.stays = PagedTable(self, 12), PagedTable(self), markup()
        self.list.add_class("wb-plan")
        self.work = Background(self, "repair.panel", _progress_words, again=lambda: self.start_work())
        self.fix = dropdown(_t("repair.panel.fix"), [("–", "")], "")
        self.grid = W.GridBox(layout=W.Layout(grid_gap="1px", width="100%", overflow="auto"))
        self.grid.add_class("wb-matrix")
        self.back = button("◀", self.guarded(lambda: self._turn(-COLUMNS), "back"))
        self.forward = button("▶", self.guarded(lambda: self._turn(COLUMNS), "forward"))
        self.columns = markup()
        self.prompts = markup()
        self.filters = FilterNote(self)
        self.on(self.fix, lambda _: self._refresh())
        self.compose(
            self.work, self.headline, self.filters, self.picture, self.list, self.reading,
            row(self.back, self.columns, self.forward), self.grid, row(self.fix, self.count), self.bar, self.before_after,
            self.card, self.stays, self.unreached, self.prompts,
        )  # fmt: skip
        self.begin(draw=False)
        self.start_work(PATIENCE)

    # The plan, in a thread of its own.

    def start_work(self, patience: float = 0.0) -> None:
        """Carry every fix out; waits ``patience`` seconds for the end, then leaves it to the thread."""
        evaluation, synonyms = self.session.evaluation, accepted_synonyms(self.session.folder)

        def plan(progress: Any, cancelled: Any) -> RepairPlan:
            return repair_plan(evaluation, **self._given, synonyms=synonyms, progress=progress, cancel=cancelled)

        self.work.start(plan, self._done, words=_t("repair.panel.working"), patience=patience)

    def _done(self, result: RepairPlan) -> None:
        self.plan = result
        self._matrix = result.matrix()
        with self.quietly():
            self.fix.options = [(r.fix.title[:70], r.fix.key) for r in result.repairs]
            taken = [r.fix.key for r in result.repairs if r.taken] or result.keys
            self.fix.value = taken[0] if taken else None
        self._follow(frozenset(("filter", "thresholds")))

    # What is shown.

    def _refresh(self) -> None:
        plan = self.plan
        if plan is None:
            return
        show(self.headline, join([h("p", h("strong", words.headline(plan))), quiet(words.usual_words(plan), tag="p")]))
        none = plots.differences([], [], [], [], better=[], sure=[])
        self.picture.draw(lambda: self.figure("screen") or none, _t("repair.panel.caption"))
        self.list.set(words.shown_table(plan), empty=_t("repair.nothing"))
        show(self.reading, _legend())
        show(self.stays, _stays(plan))
        self.unreached.set(words.unreached_table(plan))
        show(self.prompts, join([prompts_html(plan), basis_html(plan)]))
        self._first = 0
        self._draw_grid()
        self.keep_selection()

    def _affected(self) -> list[str]:
        """Samples of the filter for which some fix does something, those that are mended or broken first."""
        kept = set(self.session.matching())
        strong = self._matrix.isin(["rescued", "broken"]).any()
        other = ~self._matrix.isin(["same", "untold"]).all() & ~strong
        return [s for mask in (strong, other) for s in self._matrix.columns[mask] if s in kept]

    def _turn(self, step: int) -> None:
        self._first = max(min(self._first + step, len(self._affected()) - 1), 0) // COLUMNS * COLUMNS
        self._draw_grid()

    def _draw_grid(self) -> None:
        """The page of the matrix: a row a fix, a button a sample."""
        assert self.plan is not None
        affected = self._affected()
        shown = affected[self._first : self._first + COLUMNS]
        layout = W.Layout(width="auto", height="24px", margin="0", padding="0")
        # A hyphen at which no line breaks.
        heads = [s[-6:].replace("-", "\u2011") for s in shown]
        cells: list[W.Widget] = [markup(quiet(head)) for head in (_t("repair.columns.fix"), *heads)]
        for repair in self.plan.repairs:
            cells.append(markup(h("span", excerpt(repair.fix.title, 60), cls="wb-good" if repair.taken else "")))
            for sample_id in shown:
                effect = str(self._matrix.at[repair.fix.key, sample_id])
                sign, style = _SIGNS[effect]
                words_of = f"{sample_id} · {repair.fix.title} · {_t(f'repair.effect.{effect}')}"
                cell = W.Button(description=sign, button_style=style, layout=layout, tooltip=words_of)
                cell.on_click(self.guarded(lambda _, key=repair.fix.key, one=sample_id: self.look_at(key, one), "cell"))
                cells.append(cell)
        self.grid.layout.grid_template_columns = f"minmax(140px, 330px) repeat({len(shown)}, minmax(32px, 52px))"
        self.grid.children = tuple(cells)
        show(self.columns, quiet(_t("repair.panel.columns", first=count(min(self._first + 1, len(affected))),
                                    last=count(self._first + len(shown)), n=count(len(affected)))))  # fmt: skip
        display(self.back, len(affected) > COLUMNS)
        display(self.forward, len(affected) > COLUMNS)

    def look_at(self, key: str, sample_id: str) -> None:
        """What a click on a cell does: that fix, that sample."""
        with self.quietly():
            self.fix.value = key
        if self.session.selection == sample_id:
            self.draw_card()
        else:
            self.session.select(sample_id)

    def ids(self) -> list[str]:
        """Samples that the chosen fix mends, breaks, or gives better or worse contexts, in this order."""
        if self.plan is None or not self.fix.value:
            return []
        kept, effects = set(self.session.matching()), self._matrix.loc[self.fix.value]
        return [s for name in ("rescued", "broken", "better", "worse") for s in effects.index[effects == name] if s in kept]

    @property
    def shown_id(self) -> str | None:
        """The sample on the card: the selected one whether or not the fix does anything to it."""
        selected = self.session.selection
        return selected if selected in self._matrix.columns else super().shown_id

    def draw_card(self) -> None:
        """The sample with its contexts before and after the chosen fix."""
        ids, shown = self.ids(), self.shown_id
        at = ids.index(shown) if shown in ids else 0
        self.stepper.set(at, len(ids), self._position(at, ids))
        self.card.draw(shown, self._empty_words())
        there = shown is not None and self.plan is not None and bool(self.fix.value)
        show(self.before_after, before_after(self.plan, shown, self.fix.value) if there else Markup())  # type: ignore[arg-type]
        show(self.count, h("span", self._count_words()))

    def _count_words(self) -> str:
        if self.plan is None or not self.fix.value:
            return ""
        repair = self.plan.repair(self.fix.value)
        return _t("repair.panel.count", rescued=count(len(repair.rescued)), broken=count(len(repair.broken)),
                  gain=words.gain_words(repair.gain))  # fmt: skip

    def _empty_words(self) -> str:
        return _t("repair.panel.empty")

    def table(self) -> pd.DataFrame:
        """The plan; see ``RepairPlan.table``."""
        return self.ready().table()

    def figure(self, theme: str = "print") -> Figure | None:
        """The estimated points of each fix with their intervals, dark on white; None where none can be estimated."""
        if self.plan is None or not any(r.gain.mean == r.gain.mean for r in self.plan.repairs):
            return None
        return gain_figure(self.plan, theme)

    def html(self) -> Fragment:
        """The plan as a page, with the contexts of the sample looked at before and after."""
        self.join()
        plan, shown = self.plan, self.shown_id
        if plan is None:
            return fragment(empty(_t("repair.panel.none")))
        parts = [plan_html(plan, self.figure())]
        if shown is not None and self.fix.value:
            parts += [h("h3", plan.repair(self.fix.value).fix.title),
                      before_after(plan, shown, self.fix.value), card_html(self.session, shown)]  # fmt: skip
        return fragment(*parts)

    def save(self, folder: str | Path) -> list[Path]:
        """The files of every panel, and the plan as ``repair_plan.md``."""
        written = super().save(folder)
        return [*written, self._write(self.ready(), (Path(folder).expanduser() / self.stem).with_suffix(".md"))]

    def ready(self) -> RepairPlan:
        """The plan, waited for; raises ``InputError`` when it was not worked out."""
        self.join()
        if self.plan is None:
            raise InputError("the repair plan was not worked out; see the line beside the bar")
        return self.plan

    def pin(self) -> None:
        """Keep what the fixes taken bring together as a finding."""
        plan = self.ready()
        self.card.keep(words.headline(plan), value=plan.total.mean, interval=(plan.total.low, plan.total.high))

    def _snippet(self) -> str:
        corpus, encoder = self._given["corpus"], self._given["encoder"]
        named = [f"{name}={value!r}" for name, value in (("encoder", encoder),) if isinstance(value, str)]
        source = repr(str(corpus)) if isinstance(corpus, (str, Path)) else "'corpus.jsonl'" if corpus is not None else "None"
        return self.script(f"wb.repair_plan({', '.join(['evaluation', source, *named])}).table()", opened="evaluation")


def _progress_words(progress: Any) -> str:
    return _t("repair.panel.progress", done=count(progress.done), total=count(progress.total))


def _stays(plan: RepairPlan) -> Markup:
    return h("div", h("h3", _t("repair.unreached_title")), h("p", words.unreached_words(plan)))


def _legend() -> Markup:
    names = [f"{sign} {_t(f'repair.effect.{name}')}" for name, (sign, _) in _SIGNS.items()]
    return h("p", h("strong", _t("repair.panel.matrix")), " ", quiet("   ".join(names)))


def gain_figure(plan: RepairPlan, theme: str = "print") -> Figure:
    """The estimated points of each fix."""
    shown = plan.repairs[: plots.MOST_BARS]
    gains = [r.gain for r in shown]
    better = [None if g.low <= 0 <= g.high else g.mean > 0 for g in gains]
    notes = [f"{words.gain_words(r.gain)} · +{len(r.rescued)} −{len(r.broken)}" for r in shown]
    columns = ([100 * value for value in values] for values in zip(*((g.mean, g.low, g.high) for g in gains), strict=True))
    return plots.differences([r.fix.title for r in shown], *columns, better=better, sure=[b is not None for b in better],
                             notes=notes, title=_t("repair.panel.figure"), theme=theme)  # fmt: skip


def before_after(plan: RepairPlan, sample_id: str, key: str) -> Markup:
    """The contexts of a sample today and under a fix, side by side: ★ what is needed, new and gone ones pointed out."""
    code = list(plan.now.index).index(sample_id)
    sides = [plan.contexts(sample_id), plan.contexts(sample_id, key)]
    known = [{_identity(c) for c in side} for side in sides]
    effect = str(plan.matrix().at[key, sample_id])
    head = h("p", h("strong", _t(f"repair.effect.{effect}")), " ", quiet(plan.repair(key).fix.title), " ",
             quiet(_t("repair.panel.marks")))  # fmt: skip
    columns = [
        h("div", h("h4", title), _contexts(side, others, mark, plan.reader, code))
        for title, side, others, mark in (
            (_t("repair.today"), sides[0], known[1], "wb-gone"), (_t("repair.panel.after"), sides[1], known[0], "wb-new"),
        )
    ]  # fmt: skip
    return h("div", head, h("div", *columns, cls="wb-sides"))


def _identity(context: Passage) -> tuple[str | None, str]:
    return context.doc_id, context.text


def _contexts(contexts: Sequence[Passage], others: set[Any], mark: str, reader: Reader, code: int) -> Markup:
    if not contexts:
        return empty(_t("repair.panel.no_contexts"))
    items, needed, points = [], reader.needed(code), reader.needs[code].points
    for rank, context in enumerate(contexts, 1):
        star = "★ " if needed(context) else ""
        kind = "" if _identity(context) in others else mark
        name = h("strong", f"{rank} · {star}{context.doc_id or '–'}", cls="wb-expected" if star else "")
        head = h("p", name, " ", quiet(excerpt(context.title or "", 50)), cls=kind)
        spans = [span for point in points for option in point if (span := find_point(option, context.text)) is not None]
        shown = max([SHOWN, *(span.end + 20 for span in spans)])
        items.append(h("div", head, h("p", marked(context.text, [Mark(s.start, s.end, "match") for s in spans], shown=shown))))
    return h("div", *items)


def prompts_html(plan: RepairPlan) -> Markup:
    """The prompts to paste for the causes there are."""
    if not plan.prompts():
        return Markup()
    parts = [h("details", h("summary", cause_title(name)), h("pre", prompt(name), cls="wb-text")) for name in plan.prompts()]
    return h("div", h("h3", _t("repair.prompts_title")), quiet(_t("repair.prompts_lead"), tag="p"), *parts)


def basis_html(plan: RepairPlan) -> Markup:
    """What the plan rests on, what it cannot tell, and the samples behind each fix."""
    return h(
        "div", h("h3", _t("repair.basis_title")), h("ul", *(h("li", note) for note in plan.notes)),
        table(words.levels_table(plan), caption=_t("repair.levels_title")),
        h("details", h("summary", _t("repair.samples_title")), h("ul", *(h("li", line) for line in words.behind(plan)))),
    )  # fmt: skip


def plan_html(plan: RepairPlan, figure: Figure | None) -> Markup:
    """The plan as one piece of a page."""
    unreached = words.unreached_table(plan)
    return h(
        "div", h("h3", _t("repair.title")), h("p", _t("repair.lead")), h("p", h("strong", words.headline(plan))),
        quiet(words.usual_words(plan), tag="p"), None if figure is None else still(figure, _t("repair.panel.caption")),
        h("div", table(words.shown_table(plan)), cls="wb-plan"), _stays(plan),
        table(unreached) if len(unreached) else None, prompts_html(plan), basis_html(plan),
    )  # fmt: skip


class SweepPanel(Panel):
    """Recall against prompt tokens over a grid, worked out in a thread of its own with a bar and a button that cancels.

    ``options`` as for ``wb.sweep``.
    """

    stem = "sweep"

    def __init__(self, session: Session, corpus: Any, **options: Any) -> None:
        super().__init__(session)

        def make(progress: Any, cancelled: Any) -> Sweep:
            return sweep(session.evaluation, corpus, progress=progress, cancel=cancelled, **options)

        self._make = make
        self.found: Sweep | None = None
        self.work = Background(self, "repair.panel", _progress_words, again=lambda: self.start_work())
        self.headline, self.picture, self.cells = markup(None, "wb-reading"), Picture(guarded=self.guarded), markup()
        display(self.picture, False)
        self.compose(self.work, self.headline, self.picture, self.cells)
        self.start_work(PATIENCE)

    def start_work(self, patience: float = 0.0) -> None:
        """Work the grid out; waits ``patience`` seconds for the end, then leaves it to the thread."""
        self.work.start(self._make, self._done, words=_t("repair.panel.working"), patience=patience)

    def _done(self, result: Sweep) -> None:
        self.found = result
        show(self.headline, h("p", h("strong", knee_words(result))))
        display(self.picture, True)
        self.picture.draw(lambda: plots.sweep_curve(result, theme="screen"), _t("repair.panel.sweep_caption"))
        show(self.cells, cells_html(result))

    def _ready(self) -> Sweep:
        self.work.join()
        if self.found is None:
            raise InputError("the sweep was not worked out; see the line beside the bar")
        return self.found

    def table(self) -> pd.DataFrame:
        """The grid; see ``Sweep.frame``."""
        return self._ready().frame

    def figure(self) -> Figure:
        """The curve, dark on white."""
        return plots.sweep_curve(self._ready())

    def html(self) -> Fragment:
        """The curve and the cells worth a look."""
        self.work.join()
        return fragment(empty(_t("repair.panel.none")) if self.found is None else sweep_html(self.found))


def knee_words(found: Sweep) -> str:
    """Where the knee is."""
    knee = found.knee
    if knee is None:
        return _t("repair.panel.no_knee")
    return _t("repair.panel.knee_words", ranking=_t(f"repair.ranking.{knee['ranking']}"), k=knee["k"],
              chunking=words.chunking_words(knee["chunking"]), recall=numbers.percent(knee["recall"]),
              tokens=count(knee["tokens"]))  # fmt: skip


def cells_html(found: Sweep) -> Markup:
    """The efficient cells."""
    listed = found.frame[found.frame["efficient"]].drop(columns=["efficient"]).sort_values("tokens")
    formats = {"ranking": lambda name: _t(f"repair.ranking.{name}"), "tokens": count, "chunking": words.chunking_words,
               "knee": lambda knee: "◯" if knee else ""}  # fmt: skip
    return table(listed, headings="repair.columns", formats=formats)


def sweep_html(found: Sweep) -> Markup:
    """The curve of recall against tokens, and the efficient cells."""
    curve = still(plots.sweep_curve(found), _t("repair.panel.sweep_caption"))
    return h("div", h("p", h("strong", knee_words(found))), curve, cells_html(found))
