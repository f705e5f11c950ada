"""What a user does while looking at an evaluation: filter, selection, thresholds, verdicts, pins.

Plain Python. Every change is on disk before the call returns, in ``<evaluation>/session/``, and is there again when
another notebook opens the evaluation; the evaluation itself is never changed. Panels observe the session.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.files import JsonLines, write_bytes
from workbench.data.schema import none_if_missing
from workbench.errors import InputError
from workbench.language import main_language, suggest_language
from workbench.language import text as _t
from workbench.scoring.thresholds import Thresholds
from workbench.views.filtering import CauseTable, Filter, Slices, facets, light_samples, matching, search_texts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


# A finding: what a user pinned, with everything that is needed to show it elsewhere and to find it again.

#: Rows of a table that a finding keeps; ``n`` says how many there were.
TABLE_ROWS = 200


@dataclass(frozen=True)
class Finding:
    """One saved view or sample.

    Attributes
    ----------
    finding_id, created, panel
        Unique id, ISO time, and the panel that it comes from (``low_scores`` …).
    title, note
        What it says, in the user's words; both can be edited later.
    columns, rows
        The table that was shown (at most :data:`TABLE_ROWS` rows), plain values.
    sample_ids, n, n_total
        The samples it is about, how many they are, out of how many.
    value, low, high
        The number it states with its 95 % interval; None where there is none.
    filter, thresholds, runs
        What was in force, and the names of the evaluations.
    snippet
        Lines of Python that reproduce it.
    card
        The card of a saved sample as it stood, as markup; show it by :func:`workbench.views.html.restored` only.
    figure, figure_bytes
        The picture as a file beside the journal, or in memory when nothing is saved.
    """

    finding_id: str
    title: str
    note: str = ""
    panel: str = ""
    created: str = ""
    sample_ids: tuple[str, ...] = ()
    n: int = 0
    n_total: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    snippet: str = ""
    card: str = ""
    figure: Path | None = None
    figure_bytes: bytes | None = field(default=None, repr=False)

    def png(self) -> bytes | None:
        """The picture as PNG bytes; None when it has none or its file is gone."""
        if self.figure_bytes is not None:
            return self.figure_bytes
        return self.figure.read_bytes() if self.figure is not None and self.figure.is_file() else None

    def table(self) -> pd.DataFrame:
        """The table that was shown; without columns when there was none."""
        import pandas as pd

        return pd.DataFrame([list(row) for row in self.rows], columns=list(self.columns))

    def replace(self, **changes: Any) -> Finding:
        """A copy with some values changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the journal; the picture by its file name only."""
        kept = (item.name for item in dataclasses.fields(self) if item.name not in ("figure_bytes", "figure"))
        plain = {name: getattr(self, name) for name in kept}
        plain["figure"] = self.figure.name if self.figure else None
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], folder: Path | None = None) -> Finding:
        """Read what :meth:`to_dict` wrote. Unknown names are left out, so that older journals stay readable."""
        known = {item.name for item in dataclasses.fields(cls)}
        values = {name: value for name, value in plain.items() if name in known}
        for name in ("sample_ids", "columns", "runs"):
            values[name] = tuple(values.get(name) or ())
        values["rows"] = tuple(tuple(row) for row in values.get("rows") or ())
        figure = values.get("figure")
        # Only the name counts: a journal cannot make us read a file elsewhere.
        values["figure"] = folder / Path(figure).name if figure and folder is not None else None
        return cls(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    value = none_if_missing(value)
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


# What a session remembers, and how it is written down and read again, change by change.

@dataclass(frozen=True)
class Annotation:
    """A user's own verdict on one sample (``right``, ``wrong``, ``unsure`` or None), a note, and when (ISO time)."""

    verdict: str | None = None
    note: str = ""
    at: str = ""


@dataclass(frozen=True)
class State:
    """Everything that a session remembers; never changed in place."""

    filter: Filter = field(default_factory=Filter)
    selection: str | None = None
    thresholds: Thresholds | None = None
    annotations: Mapping[str, Annotation] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def difference(before: State, after: State) -> dict[str, Any]:
    """What to write down so that ``before`` becomes ``after``, whatever another kernel changes elsewhere."""
    entry: dict[str, Any] = {}
    if after.filter != before.filter:
        entry["filter"] = after.filter.to_dict()
    if after.selection != before.selection:
        entry["selection"] = after.selection
    if after.thresholds != before.thresholds:
        entry["thresholds"] = None if after.thresholds is None else after.thresholds.to_dict()
    annotated = {key: after.annotations.get(key) for key in sorted(before.annotations.keys() | after.annotations.keys())
                 if before.annotations.get(key) != after.annotations.get(key)}  # fmt: skip
    if annotated:
        entry["annotations"] = {key: own and dataclasses.asdict(own) for key, own in annotated.items()}
    if after.findings != before.findings:
        known = {item.finding_id: item for item in before.findings}
        entry["findings"] = [item.to_dict() for item in after.findings if known.get(item.finding_id) != item]
        gone = known.keys() - {item.finding_id for item in after.findings}
        entry["removed"] = sorted(gone)
        entry["order"] = [item.finding_id for item in after.findings]
    return entry


def replay(state: State, entry: Mapping[str, Any], figures: Path | None) -> State:
    """``state`` after one entry of the journal; an entry that makes no sense raises."""
    values: dict[str, Any] = {}
    if "filter" in entry:
        values["filter"] = Filter.from_dict(entry["filter"])
    if "selection" in entry:
        values["selection"] = entry["selection"]
    if "thresholds" in entry:
        plain = entry["thresholds"]
        values["thresholds"] = None if plain is None else Thresholds().replace(**plain)
    if "annotations" in entry:
        new = {key: Annotation(**plain) for key, plain in entry["annotations"].items() if plain is not None}
        kept = {key: value for key, value in state.annotations.items() if key not in entry["annotations"]}
        values["annotations"] = {**kept, **new}
    if "order" in entry:
        items = {item.finding_id: item for item in state.findings}
        found = [Finding.from_dict(plain, figures) for plain in entry.get("findings", ())]
        items |= {item.finding_id: item for item in found}
        for finding_id in entry.get("removed", ()):
            items.pop(finding_id, None)
        # A pin that this entry does not know was made by another kernel meanwhile: it stays, at the end.
        places = {finding_id: place for place, finding_id in enumerate(entry["order"])}
        values["findings"] = tuple(sorted(items.values(), key=lambda item: places.get(item.finding_id, len(places))))
    return dataclasses.replace(state, **values)


# The session.

#: The journal: entries of any kernel, in the order in which they were written.
JOURNAL = "session.jsonl"
VERDICTS = ("right", "wrong", "unsure")
#: Names of what an observer is told about.
CHANGES = ("filter", "selection", "thresholds", "annotations", "findings")
#: Steps that can be undone.
HISTORY = 100

Observer = Callable[[frozenset[str]], None]
_log = logging.getLogger(__name__)


class Session:
    """One user's look at one evaluation.

    Parameters
    ----------
    evaluation
        An ``Evaluation``; ``.evaluation`` is the one in force, after the thresholds that the user chose.
    path
        Folder for the journal; default ``<evaluation>/session``. Without either, everything stays in memory and
        ``notes`` says so.

    Attributes
    ----------
    notes
        Lines that a panel shows: what was restored, what could not be saved.

    Examples
    --------
    >>> session = wb.Session(wb.open("runs/baseline"))  # doctest: +SKIP
    >>> wb.panels.low_scores(session)  # doctest: +SKIP
    """

    def __init__(self, evaluation: Any, path: str | Path | None = None) -> None:
        self._opened = evaluation
        self._state = State()
        self._history: list[State] = []
        self._observers: list[Observer] = []
        self._waiting: set[str] | None = None
        self.notes: list[str] = []
        self.evaluation = evaluation
        own = getattr(evaluation, "path", None)
        folder = Path(path) if path is not None else Path(own) / "session" if own is not None else None
        self._journal = JsonLines(folder / JOURNAL) if folder is not None else None
        suggest_language(main_language(self.samples["question"]))
        self._restore()

    # What is in force.

    @property
    def filter(self) -> Filter:
        """The filter in force."""
        return self._state.filter

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds in force."""
        return self._state.thresholds or self._opened.thresholds

    @property
    def annotations(self) -> Mapping[str, Annotation]:
        """Verdicts and notes by sample id."""
        return self._state.annotations

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The pins, in the order in which they are to be handed over."""
        return self._state.findings

    @property
    def selection(self) -> str | None:
        """The sample looked at; None before the first choice."""
        return self._state.selection

    @property
    def saved(self) -> bool:
        """Whether changes are written to disk."""
        return self._journal is not None

    @property
    def folder(self) -> Path | None:
        """Where the journal is; None when everything stays in memory."""
        return self._journal.path.parent if self._journal is not None else None

    @cached_property
    def facets(self) -> pd.DataFrame:
        """What samples can be filtered by, see :func:`workbench.views.filtering.facets`."""
        return facets(self.samples)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Questions, answers, references, types, tags and tenants as loaded, index ``sample_id``; contexts and the
        other fields of one sample are in :meth:`sample`."""
        return light_samples(self._opened)

    def sample(self, sample_id: str) -> dict[str, Any]:
        """One sample as loaded, every field: field → value."""
        return self.slices.sample(sample_id)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """``Evaluation.scores`` under the thresholds in force."""
        return self.evaluation.scores()

    @cached_property
    def states(self) -> pd.DataFrame:
        """``Evaluation.states`` under the thresholds in force. Costly for many samples: a score is missing if and only
        if its state is not ok, so most questions are answered by :attr:`scores`."""
        return self.evaluation.states()

    @cached_property
    def causes(self) -> CauseTable:
        """The causes of every sample under the thresholds in force."""
        return CauseTable(self.evaluation)

    @cached_property
    def slices(self) -> Slices:
        """Claims, contexts, support … of single samples, under the thresholds in force."""
        return Slices(self.evaluation)

    def places(self) -> NDArray[np.intp]:
        """Positions of the samples that pass the filter, in the order of the data."""
        return np.flatnonzero(matching(self.filter, self.facets, self.causes, lambda: self._texts))

    def matching(self) -> pd.Index[str]:
        """Ids of the samples that pass the filter, in the order of the data."""
        return self.samples.index[self.places()]

    @cached_property
    def _texts(self) -> list[str]:
        return search_texts(self.samples)

    def _look_at(self, evaluation: Any, *changed: str) -> None:
        """Look at ``evaluation``: forget what follows from what ``changed``."""
        self.evaluation = evaluation
        for name in ("causes", "slices", *changed):
            self.__dict__.pop(name, None)

    # Changes.

    def set_filter(self, **changes: Any) -> None:
        """Change parts of the filter, e.g. ``set_filter(cause="omission", type="fact")``; None = any."""
        self._change({"filter"}, filter=self.filter.replace(**changes))

    def show(self, sample_ids: Sequence[str], label: str) -> None:
        """Look at exactly these samples, under a readable name, until the filter is cleared."""
        self._change({"filter"}, filter=Filter(sample_ids=tuple(str(item) for item in sample_ids), label=label))

    def clear_filter(self) -> None:
        """Show every sample."""
        self._change({"filter"}, filter=Filter())

    def select(self, sample_id: str | None) -> None:
        """Look at one sample. Raises ``InputError`` for an unknown id."""
        if sample_id is not None and sample_id not in self.samples.index:
            raise InputError(f"sample {sample_id!r} is not in {self.evaluation.name}; use an id of its scores()")
        self._change({"selection"}, selection=sample_id)

    def set_thresholds(self, thresholds: Thresholds | None = None, **changes: Any) -> None:
        """Use other thresholds (or change some of them): scores, states and causes follow at once.

        Raises
        ------
        InputError
            For an unknown name or a value out of range.
        """
        self._change({"thresholds"}, thresholds=(thresholds or self.thresholds).replace(**changes))

    def set_low_score(self, metric: str, cut: float) -> None:
        """Change the cut below which a score of ``metric`` is low."""
        self.set_thresholds(low_scores={**self.thresholds.low_scores, metric: round(float(cut), 6)})

    def annotate(self, sample_id: str, *, verdict: str | None = None, note: str = "") -> Annotation:
        """Save the user's verdict and note on a sample (both replace what was there)."""
        if verdict is not None and verdict not in VERDICTS:
            raise InputError(f"verdict {verdict!r} is not known; use one of {', '.join(VERDICTS)}")
        annotation = Annotation(verdict, note, _now())
        self._change({"annotations"}, annotations={**self.annotations, sample_id: annotation})
        return annotation

    def pin(self, title: str, *, panel: str = "", note: str = "", figure: bytes | None = None,
            table: pd.DataFrame | None = None, sample_ids: Sequence[str] = (), n_total: int | None = None,
            value: float | None = None, interval: tuple[float, float] | None = None, snippet: str = "",
            card: str = "", runs: Sequence[str] | None = None) -> Finding:  # fmt: skip
        """Keep a view as a finding; it is on disk when this returns.

        Parameters
        ----------
        figure
            PNG bytes.
        table, sample_ids, n_total, value, interval
            What was shown, the samples it is about, out of how many, and the number that it states.
        snippet
            Lines of Python that reproduce it.
        card
            The card of one sample, as :func:`workbench.views.card.card_html` made it.
        """
        import pandas as pd

        table = pd.DataFrame() if table is None else table
        columns = [[_plain(value) for value in table[name].head(TABLE_ROWS)] for name in table]
        low, high = interval or (None, None)
        finding = Finding(
            uuid.uuid4().hex[:12], title, note, panel, _now(), tuple(str(item) for item in sample_ids), len(sample_ids),
            len(self.samples) if n_total is None else n_total, value, low, high, tuple(map(str, table.columns)),
            tuple(zip(*columns, strict=True)), self.filter.to_dict(), self.thresholds.to_dict(),
            tuple(runs or (self.evaluation.name,)), snippet, card, figure_bytes=figure,
        )  # fmt: skip
        if figure is not None and self._journal is not None:
            with contextlib.suppress(InputError):
                path = write_bytes(self._journal.path.parent / "figures" / f"{finding.finding_id}.png", figure)
                finding = finding.replace(figure=path, figure_bytes=None)
        self._change({"findings"}, findings=(*self.findings, finding))
        return finding

    def edit_finding(self, finding_id: str, **changes: Any) -> None:
        """Change the title or the note of a pin."""
        kept = tuple(item.replace(**changes) if item.finding_id == finding_id else item for item in self.findings)
        self._change({"findings"}, findings=kept)

    def remove_finding(self, finding_id: str) -> None:
        """Take a pin away (``undo`` brings it back)."""
        self._change({"findings"}, findings=tuple(item for item in self.findings if item.finding_id != finding_id))

    def move_finding(self, finding_id: str, step: int) -> None:
        """Move a pin up (negative) or down in the order."""
        order = [item.finding_id for item in self.findings]
        at = order.index(finding_id)
        to = min(max(at + step, 0), len(order) - 1)
        moved = list(self.findings)
        moved.insert(to, moved.pop(at))
        self._change({"findings"}, findings=tuple(moved))

    def use(self, evaluation: Any) -> None:
        """Look at another evaluation from now on, with its own journal; observers are told that everything changed."""
        observers = self._observers
        self._look_at(evaluation, "facets", "samples", "scores", "states", "_texts")
        Session.__init__(self, evaluation)
        self._observers = observers
        self._tell(set(CHANGES))

    def undo(self) -> bool:
        """Take back the last change (moving to another sample is none). False when there is nothing to undo."""
        if not self._history:
            return False
        self._apply(self._history.pop(), set(CHANGES), record=False)
        return True

    def reset(self) -> None:
        """Filter and thresholds as at the beginning; verdicts and pins stay."""
        self._change({"filter", "thresholds"}, filter=Filter(), thresholds=self._opened.thresholds)

    # Observers.

    def observe(self, observer: Observer) -> None:
        """Call ``observer(names)`` after each change, with the names among :data:`CHANGES` that changed."""
        self._observers.append(observer)

    def unobserve(self, observer: Observer) -> None:
        """Stop telling ``observer``; unknown ones are no error."""
        self._observers = [item for item in self._observers if item != observer]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Gather the changes of a block into one notification."""
        if self._waiting is not None:
            yield
            return
        self._waiting = set()
        try:
            yield
        finally:
            names, self._waiting = self._waiting, None
            self._tell(names)

    def _tell(self, names: set[str]) -> None:
        if not names:
            return
        if self._waiting is not None:
            self._waiting |= names
            return
        for observer in list(self._observers):
            observer(frozenset(names))

    # Keeping.

    def refresh(self) -> bool:
        """Take over verdicts and pins that another kernel wrote since; True when anything changed."""
        if self._journal is None:
            return False
        shared = ("annotations", "findings", "removed", "order")
        entries = [{key: entry[key] for key in shared if key in entry} for entry in self._journal.read_new()]
        before = self._state
        self._apply(self._replayed(entries), set(CHANGES), record=False, write=False)
        return self._state != before

    def _change(self, names: set[str], **values: Any) -> None:
        after = dataclasses.replace(self._state, **values)
        if after != self._state:
            self._apply(after, names, record=names != {"selection"})

    def _apply(self, after: State, names: set[str], *, record: bool, write: bool = True) -> None:
        before = self._state
        changed = {name for name in names if getattr(before, name) != getattr(after, name)}
        if "thresholds" in changed:
            new = self._opened if after.thresholds is None else self.evaluation.with_thresholds(after.thresholds)
            # No score depends on low scores and targets.
            old, now = (one.thresholds.replace(low_score=0.5, low_scores={}, targets={}) for one in (self.evaluation, new))
            self._look_at(new, *(() if old == now else ("scores", "states")))
        if record:
            self._history = [*self._history[1 - HISTORY :], before]
        self._state = after
        if write:
            self._write(difference(before, after))
        self._tell(changed)

    def _write(self, difference: dict[str, Any]) -> None:
        if self._journal is None or not difference:
            return
        try:
            self._journal.append({"at": _now(), **difference})
        except OSError as error:
            _log.warning("session is kept in memory only: %s", error)
            self._journal = None
            self.notes.append(_t("panels.session.not_saved", reason=error.strerror or type(error).__name__))

    def _restore(self) -> None:
        if self._journal is None:
            self.notes.append(_t("panels.session.memory_only"))
            return
        entries = self._journal.read_new()
        if not entries:
            return
        self._apply(self._replayed(entries), set(CHANGES), record=False, write=False)
        if self._journal.unreadable:
            self.notes.append(_t("panels.session.unreadable", n=self._journal.unreadable))
        if self._state.filter != Filter() or self.thresholds != self._opened.thresholds:
            self.notes.append(_t("panels.session.restored"))

    def _replayed(self, entries: Sequence[Mapping[str, Any]]) -> State:
        state = self._state
        figures = self._journal.path.parent / "figures" if self._journal is not None else None
        for entry in entries:
            try:
                state = replay(state, entry, figures)
            except (InputError, TypeError, ValueError, AttributeError, KeyError):
                if self._journal is not None:
                    self._journal.unreadable += 1
        selection = state.selection if state.selection in self.samples.index else None
        return dataclasses.replace(state, selection=selection)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
