"""The one object a user holds: evidence and thresholds, from which scores, states, failures and causes follow."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.data.files import replacing_folder, write_csv
from workbench.data.schema import AS_RECORDED, SampleSet
from workbench.diagnosis.cause_inputs import Failing
from workbench.diagnosis.causes import NOT_CHECKED, PASS, Causes, attribute, failure_rows, rules
from workbench.diagnosis.fitting import FittedJudge, load_judge
from workbench.diagnosis.summary import Tally, joined, summarise, tallies
from workbench.errors import InputError
from workbench.evidence.frames import Evidence, read_frames, restore, write_frames
from workbench.evidence.parts import EvidenceOfParts, in_parts, part_folders
from workbench.language import get_language, speaking
from workbench.scoring.facts import Facts
from workbench.scoring.metrics import HEADLINE, chosen, definition, definitions, formulas, score
from workbench.scoring.scored import JUDGE_ERROR, LazyTexts, Scored
from workbench.scoring.thresholds import Thresholds
from workbench.scoring.view import View, claim_rows, context_rows, error_rows, span_rows, support_rows

if TYPE_CHECKING:
    import pandas as pd

THRESHOLDS = "thresholds.toml"

#: What a user did with an evaluation lives here, beside the frames; saving again keeps it.
SESSION = "session"


class Evaluation:
    """Evidence under thresholds. Cheap to make: everything is computed when it is first asked for, and never changed.

    Attributes
    ----------
    evidence
        The frames (see ``workbench.evidence.frames``).
    thresholds
        The cut-offs in force.
    name
        Shown in titles; from ``name=`` or the file's or folder's stem.
    path
        The folder it was saved to or loaded from, or None.

    Examples
    --------
    >>> evaluation = wb.load_evaluation("evaluations/baseline")
    >>> len(evaluation), len(evaluation[0]), "faithfulness" in evaluation.metrics
    (80, 1, True)
    """

    def __init__(
        self,
        evidence: Evidence,
        thresholds: Thresholds | None = None,
        *,
        name: str = "evaluation",
        metrics: str | Iterable[str] | None = None,
        path: Path | None = None,
        view: View | None = None,
    ) -> None:
        self.evidence = evidence
        self.thresholds = thresholds or Thresholds()
        self.name = name
        self.path = path
        self._chosen = tuple(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else metrics
        #: Facts under the thresholds in force: what metrics and causes are computed from.
        self.view = view or View(Facts(evidence), self.thresholds)
        self._causes: Causes | None = None
        self._of_one: dict[str, pd.DataFrame] = {}
        self.metrics = chosen(self._chosen, self.thresholds.k)

    # -- as a collection of samples ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.evidence)

    def __iter__(self) -> Iterator[Evaluation]:
        """Each sample as an evaluation of its own."""
        return (self.one(str(sample_id)) for sample_id in self.evidence.ids)

    def __contains__(self, sample_id: object) -> bool:
        return sample_id in self.evidence.ids

    def __getitem__(self, key: str | int) -> Evaluation:
        """One sample, by its id or its position."""
        if not isinstance(key, str):
            place = operator.index(key)
            if not -len(self) <= place < len(self):
                raise IndexError(f"position {place} is outside of {self!r}")
            key = str(self.evidence.ids[place])
        return self.one(key)

    def one(self, sample_id: str) -> Evaluation:
        """The evaluation of one sample as part of this one: same scores, states, causes and tables as it has here.

        What was computed for all samples is cut, not computed again.

        Raises
        ------
        KeyError
            When no sample has this id.
        """
        if sample_id not in self:
            raise KeyError(f"{self!r} holds no sample_id {sample_id!r}")
        code = int(self.evidence.ids.get_loc(sample_id))
        small = self._over(self.view.one(code))
        small.path = None  # it was never saved
        if self._causes is not None and self._causes.rules == rules():
            small._causes = self._causes.one(code, small.view)
        return small

    def head(self, n: int = 5) -> pd.DataFrame:
        """The first ``n`` samples as a table: question, answer, whether it passed, cause, and the metrics begun with."""
        import pandas as pd

        evidence = self.evidence
        shown = {name: evidence.plain(name)[:n] for name in ("question", "answer")}
        names = self.causes.names()[:n]
        first = [name for name in self.metrics if (known := definition(name)) and known.begin_with]
        passed = pd.array([None if name == NOT_CHECKED else name == PASS for name in names], dtype="boolean")
        return pd.DataFrame(
            {**shown, "passed": passed, "primary_cause": names, **{name: self.metric(name).values[:n] for name in first}},
            index=evidence.ids[:n],
        )

    def __repr__(self) -> str:
        return f"Evaluation({self.name!r}, {len(self):,} samples, judge {self.manifest.get('judge', 'none')!r})"

    def _repr_html_(self) -> str:
        shown = self.head()
        for name in ("question", "answer"):
            shown[name] = [None if words is None else words[:80] + "…" * (len(words) > 80) for words in shown[name]]
        return f"<p>{escape(repr(self))}</p>{shown.to_html(float_format='%.2f', na_rep='–', escape=True)}"

    @property
    def manifest(self) -> dict[str, Any]:
        """How the evidence came about: judge, encoder, data hash, versions, times, counts."""
        return self.evidence.manifest

    @cached_property
    def samples(self) -> SampleSet:
        """The samples as they were loaded."""
        return restore(self.evidence, self.name)

    # -- scores -----------------------------------------------------------------------------------------------------

    def metric(self, name: str) -> Scored:
        """One metric's values and states over all samples, whether or not it is among the chosen ones."""
        return score(self.view, chosen([name], self.thresholds.k)[0])

    @cached_property
    def _scored(self) -> dict[str, Scored]:
        return {name: score(self.view, name) for name in self.metrics}

    def scores(self) -> pd.DataFrame:
        """Index ``sample_id``, one float column a metric; NaN where the state is not ``ok``."""
        import pandas as pd

        return pd.DataFrame({name: scored.values for name, scored in self._scored.items()}, index=self.evidence.ids)

    def states(self) -> pd.DataFrame:
        """The state of every score, same shape as :meth:`scores`."""
        import pandas as pd

        from workbench.scoring.scored import state_names

        return pd.DataFrame({name: state_names(s.states) for name, s in self._scored.items()}, index=self.evidence.ids)

    def summary(self, intervals: bool = True, spread: bool = False) -> pd.DataFrame:
        """Index ``metric``; ``mean, low, high, n_ok, n_not_applicable, n_undefined, n_error, n_skipped, n_total,
        low_bound, high_bound, target, attainable, meets_target, method``.

        ``low``, ``high``: 95 % interval of the mean (left out with ``intervals=False``); ``low_bound``, ``high_bound``: the
        mean if every applicable sample without a score were the worst / the best; ``attainable``: the highest mean that
        the data allow, which a higher target is judged against. ``spread=True`` adds ``min, median, max, std`` of the scores
        and ``level``, the mean in one word by ``Thresholds.levels`` (None where it has none).
        """
        return summarise(self.view, self._scored, definitions(self.thresholds.k), intervals=intervals, spread=spread)

    def formulas(self) -> np.ndarray:
        """(n,) by which formula ``overall`` was computed for each sample."""
        return np.asarray(formulas(self.view), dtype=object)

    # -- causes -----------------------------------------------------------------------------------------------------

    @property
    def causes(self) -> Causes:
        """Causes as arrays; :meth:`failures` is the table."""
        if self._causes is None or self._causes.rules != rules():  # a cause was registered since
            self._causes = attribute(self.view)
        return self._causes

    def failures(self) -> pd.DataFrame:
        """Index ``sample_id``, one row a sample, passing ones included: ``passed, primary_cause, sub_cause, causes,
        confidence, evidence, advice, refusal_outcome, unchecked``.

        ``passed`` is null and ``primary_cause`` ``not_checked`` when nothing could be tested. Texts are in the language
        in force.
        """
        return failure_rows(self.causes)

    def to_frame(self) -> pd.DataFrame:
        """One row a sample, index ``sample_id``: everything recorded, then every score, then what :meth:`failures` says.

        A recorded column that has the name of a score or a verdict ends in " (as recorded)".
        """
        import pandas as pd

        found = pd.concat([self.scores(), self.failures()], axis=1)
        recorded = self.samples.frame
        return pd.concat([recorded.rename(columns={n: f"{n}{AS_RECORDED}" for n in recorded if n in found}), found], axis=1)

    # -- evidence as tables -----------------------------------------------------------------------------------------

    def claims(self) -> pd.DataFrame:
        """One row a claim of an answer or a reference, with its verdicts under the thresholds in force."""
        return self._rows("claims", claim_rows)

    def contexts(self) -> pd.DataFrame:
        """One row a recorded context: relevance, whether expected, leaked, used."""
        return self._rows("contexts", context_rows)

    def _rows(self, name: str, rows: Callable[[View], pd.DataFrame]) -> pd.DataFrame:
        """A table of all samples; that of one, for which a card and a comparison ask several times, is kept."""
        if len(self) > 1:
            return rows(self.view)
        if name not in self._of_one:
            self._of_one[name] = rows(self.view)
        return self._of_one[name].copy()

    def support(self) -> pd.DataFrame:
        """The matrix of claims against contexts: ``entail, contradict`` in [0, 1], evidence span in the context."""
        return self._rows("support", support_rows)

    def spans(self) -> pd.DataFrame:
        """Parts of claims with their own support: every number, date, entity, negation and content term."""
        return self._rows("spans", span_rows)

    def errors(self) -> pd.DataFrame:
        """``sample_id, state, reason``: one row for each sample and cause of ``judge_error`` or ``input_error``."""
        return self._rows("errors", lambda view: error_rows(view.facts.evidence))

    # -- thresholds and disk ----------------------------------------------------------------------------------------

    def with_thresholds(self, thresholds: Thresholds) -> Evaluation:
        """The same evidence under other thresholds; nothing is judged anew."""
        return self._over(self.view.under(thresholds))

    def with_judge(self, judge: str | Path | FittedJudge) -> Evaluation:
        """The same evaluation under a fitted judge (or its file): its probabilities are mapped, nothing is judged anew.

        The metric ``fitted_right`` is among its scores, and ``manifest["fitted"]`` says what was fitted, and how well.

        Raises
        ------
        InputError
            For a file that is no fitted judge, one that was fitted to another judge, or an evaluation that has one already.
        """
        fitted = load_judge(judge) if isinstance(judge, (str, Path)) else judge
        own = ["fitted_right"] if "verdict" in fitted.parts else []
        # Without their depth, so that another one can be set later.
        wanted = dict.fromkeys((*(name.partition("@")[0] for name in self.metrics), *own))
        return Evaluation(fitted.applied(self), self.thresholds, name=self.name, metrics=tuple(wanted))

    def renamed(self, names: Mapping[str, str]) -> Evaluation:
        """The same evaluation with other sample ids (old → new); nothing is judged anew."""
        return Evaluation(self.evidence.renamed(names), self.thresholds, name=self.name, metrics=self._chosen)

    def _over(self, view: View) -> Evaluation:
        """This evaluation with another view."""
        evidence = view.facts.evidence
        return Evaluation(evidence, view.t, name=self.name, metrics=self._chosen, path=self.path, view=view)

    def save(self, folder: str | Path) -> Path:
        """Write everything to ``folder``, whole or not at all; ``session/`` of an evaluation already there is kept.

        Raises
        ------
        InputError
            When ``folder`` is something else than an evaluation or an empty folder, or cannot be written.
        """
        check_target(folder)
        target = Path(folder).expanduser()
        self.manifest.update(name=self.name, metrics=self._chosen)
        with replacing_folder(target, keep=(SESSION,)) as temporary:
            write_frames(self.evidence, temporary)
            self.thresholds.to_toml(temporary / THRESHOLDS)
            for name in ("scores", "states", "failures", "summary", "errors"):
                write_csv(temporary / f"{name}.csv", getattr(self, name)(), index=name != "errors")
        self.path = target
        return target

    @property
    def n_judge_errors(self) -> int:
        """Samples that could not be judged at all."""
        return int((self.evidence.plain("judge_state") == JUDGE_ERROR).sum())


def load_evaluation(
    folder: str | Path, *, thresholds: Thresholds | None = None, name: str | None = None, metrics: Any = None
) -> Evaluation:
    """Open a saved evaluation.

    Parameters
    ----------
    folder
        What :meth:`Evaluation.save`, ``score --out`` or ``score_on_cluster`` wrote; the last is opened part by part, see
        :class:`EvaluationOfParts`.
    thresholds
        Instead of those saved with it.

    Raises
    ------
    InputError
        When it is no evaluation or damaged.

    Examples
    --------
    >>> len(wb.load_evaluation("evaluations/baseline"))
    80
    """
    if parts := part_folders(folder):
        path = Path(folder)
        return EvaluationOfParts(EvidenceOfParts(parts), thresholds, name=name or path.name, path=path, metrics=metrics)
    evidence, path = read_frames(folder), Path(folder)
    thresholds = thresholds or _saved_thresholds(path)
    chosen_metrics = metrics if metrics is not None else evidence.manifest.get("metrics")
    title = name or evidence.manifest.get("name") or path.name
    return Evaluation(evidence, thresholds, name=str(title), metrics=chosen_metrics, path=path)


def _saved_thresholds(folder: Path) -> Thresholds:
    saved = folder / THRESHOLDS
    return Thresholds.from_toml(saved) if saved.is_file() else Thresholds()


# -- several saved evaluations as one ----------------------------------------------------------------------------------

#: Of evaluations in parts so many samples stay in memory with their evidence, of all such evaluations together.
KEPT_OPEN = 50_000


class _OpenParts:
    """The parts that were looked at last, up to :data:`KEPT_OPEN` samples; safe to be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: dict[Path, tuple[int, Evaluation]] = {}

    def get(self, folder: Path, passing: bool = False) -> Evaluation:
        """A part under the thresholds that it was saved with; ``passing``: one of all of them, for which none has to go."""
        stamp = (folder / "samples.parquet").stat().st_mtime_ns
        with self._lock:
            known = self._opened.pop(folder, None)
            if known is None or known[0] != stamp:
                known = (stamp, load_evaluation(folder))
            held = sum(len(part) for _, part in self._opened.values()) + len(known[1])
            if held <= KEPT_OPEN or not passing:
                self._opened[folder] = known
            for old in tuple(self._opened)[:-1] if not passing else ():
                if held > KEPT_OPEN:
                    held -= len(self._opened.pop(old)[1])
            return known[1]


_OPEN_PARTS = _OpenParts()


@dataclass(frozen=True)
class _WorkedOut:
    """What follows from the evidence of all parts: scores, causes, and what the summary needs of each part."""

    scored: dict[str, Scored]
    causes: Causes
    formulas: np.ndarray
    tallies: list[dict[str, Tally]]


class EvaluationOfParts(Evaluation):
    """Saved evaluations of several files as one, see :func:`workbench.score_on_cluster`.

    Scores, states and causes of all samples are in memory, worked out one part after the other; their evidence is read again
    for the samples that are looked at. What needs the evidence of all samples at once (``view``) is refused.
    """

    evidence: Any

    def __init__(self, evidence: Any, thresholds: Thresholds | None = None, *, name: str, path: Path | None = None,
                 metrics: Any = None) -> None:  # fmt: skip
        self.evidence, self.name, self.path = evidence, name, path
        self.thresholds = thresholds or _saved_thresholds(evidence.folders[0])
        self._chosen = metrics if metrics is not None else evidence.manifest.get("metrics")
        self.metrics = chosen(self._chosen, self.thresholds.k)
        self._worked: _WorkedOut | None = None
        self._more: dict[str, Scored] = {}

    @property
    def view(self) -> Any:  # type: ignore[override]
        """Raises ``InputError``: it would hold the evidence of all samples."""
        raise in_parts(self.parts)

    def part(self, place: int, passing: bool = False) -> Evaluation:
        """The evaluation of one file, under the thresholds in force."""
        part = _OPEN_PARTS.get(self.evidence.folders[place], passing)
        return part if part.thresholds == self.thresholds else part.with_thresholds(self.thresholds)

    @property
    def parts(self) -> tuple[Path, ...]:
        """The folders of the parts, in their order."""
        return tuple(self.evidence.folders)

    def _every(self) -> Iterator[Evaluation]:
        """All parts, each opened when it is its turn."""
        return (self.part(place, passing=True) for place in range(len(self.parts)))

    def work_out(self, progress: Callable[[int, int], None] | None = None) -> _WorkedOut:
        """Scores and causes of all parts, once; ``progress(done, total)`` is told of parts."""
        if self._worked is None:
            self._worked = self._work_out(progress or (lambda done, total: None))
        return self._worked

    def _work_out(self, progress: Callable[[int, int], None]) -> _WorkedOut:
        known, names = definitions(self.thresholds.k), dict.fromkeys((*self.metrics, *_ALSO))
        scored: list[dict[str, Scored]] = []
        causes: list[Causes] = []  # without what they were worked out from, which holds all evidence of their part
        told: list[dict[str, Tally]] = []
        used: list[np.ndarray] = []
        for place, part in enumerate(self._every()):
            progress(place, len(self.parts))
            own = {name: _compact(part.metric(name)) for name in names}
            scored.append(own)
            told.append({
                name: tally._replace(attainable=_constant(tally.attainable), basis=_constant(tally.basis))
                for name, tally in tallies(part.view, {name: own[name] for name in self.metrics}, known).items()
            })  # fmt: skip
            found = part.causes
            causes.append(replace(found, inputs=cast("Any", SimpleNamespace(failing=found.inputs.failing))))
            used.append(_constant(part.formulas()))
        failing = Failing(*(np.concatenate([getattr(one.inputs.failing, side) for one in causes]) for side in Failing._fields))
        joined_causes = Causes(
            np.concatenate([one.primary for one in causes]), np.concatenate([one.holds for one in causes]),
            np.concatenate([one.confidence for one in causes]), cast("Any", SimpleNamespace(failing=failing)), causes[0].rules,
        )  # fmt: skip
        together = {name: Scored(*(_joined([one[name][side] for one in scored]) for side in (0, 1))) for name in names}
        ends = self.evidence.starts
        for place, own_tallies in enumerate(told):  # their scores are places of those of all
            mine = slice(ends[place], ends[place + 1])
            for name, tally in own_tallies.items():
                both = together[name]
                own_tallies[name] = tally._replace(scored=Scored(both.values[mine], both.states[mine]))
        progress(len(told), len(told))
        return _WorkedOut(together, joined_causes, _joined(used), told)

    def metric(self, name: str) -> Scored:
        """One metric of all samples."""
        found = self.work_out().scored
        if name not in found and name not in self._more:
            own = [part.metric(name) for part in self._every()]
            self._more[name] = Scored(*(_joined([one[side] for one in own]) for side in (0, 1)))
        return found.get(name) or self._more[name]

    @cached_property
    def _scored(self) -> dict[str, Scored]:
        return {name: self.metric(name) for name in self.metrics}

    def scores(self) -> pd.DataFrame:
        """As of ``Evaluation``; the columns are not copied."""
        import pandas as pd

        values = {name: scored.values for name, scored in self._scored.items()}
        return pd.DataFrame(values, index=self.evidence.ids, copy=False)

    def summary(self, intervals: bool = True, spread: bool = False) -> pd.DataFrame:
        """As of ``Evaluation``, over the samples of all parts."""
        t = self.thresholds
        return joined(self.work_out().tallies, definitions(t.k), t, intervals=intervals, spread=spread)

    def formulas(self) -> np.ndarray:
        """As of ``Evaluation``."""
        return self.work_out().formulas

    @property
    def causes(self) -> Causes:
        """As of ``Evaluation``; what explains a cause is in the causes of :meth:`one`."""
        if self._worked is not None and self._worked.causes.rules != rules():  # a cause was registered since
            self._worked = None
        return self.work_out().causes

    def failures(self) -> pd.DataFrame:
        """As of ``Evaluation``; evidence sentences are made when they are read."""
        import pandas as pd

        found = pd.concat([failure_rows(part.causes).drop(columns="evidence") for part in self._every()])
        found.index = self.evidence.ids
        language = get_language()

        def said(code: int) -> str:
            """The sentence of one sample."""
            with speaking(language):
                return str(self.one(str(self.evidence.ids[code])).failures()["evidence"].iloc[0])

        found.insert(found.columns.get_loc("advice"), "evidence", LazyTexts.of(np.arange(len(self)), said))
        return found

    def _rows(self, name: str, rows: Callable[[View], pd.DataFrame]) -> pd.DataFrame:
        import pandas as pd

        found = []
        for place, part in enumerate(self._every()):
            frame, start = rows(part.view), self.evidence.starts[place]
            codes = part.evidence.ids.get_indexer(frame["sample_id"])
            found.append(frame.assign(sample_id=self.evidence.ids[start + codes].astype("str")))
        return pd.concat(found, ignore_index=True)

    def one(self, sample_id: str) -> Evaluation:
        """As of ``Evaluation``: only the part that holds the sample is opened."""
        if sample_id not in self:
            raise KeyError(f"{self!r} holds no sample_id {sample_id!r}")
        place, code = self.evidence.place(int(self.evidence.ids.get_loc(sample_id)))
        part = self.part(place)
        own = str(part.evidence.ids[code])
        found = part.one(own)
        return found if own == sample_id else found.renamed({own: sample_id})

    @property
    def samples(self) -> SampleSet:
        """Raises ``InputError``: they are in the files that were scored."""
        raise in_parts(self.parts)

    def with_thresholds(self, thresholds: Thresholds) -> Evaluation:
        """As of ``Evaluation``; all parts are read again when scores or causes are asked for."""
        return EvaluationOfParts(self.evidence, thresholds, name=self.name, path=self.path, metrics=self._chosen)

    def with_judge(self, judge: str | Path | FittedJudge) -> Evaluation:
        """Raises ``InputError``; a part has it."""
        raise in_parts(self.parts)

    def renamed(self, names: Mapping[str, str]) -> Evaluation:
        """As of ``Evaluation``."""
        evidence = copy(self.evidence)
        evidence.ids = self.evidence.ids.map(lambda one: names.get(one, one)).rename("sample_id")
        return EvaluationOfParts(evidence, self.thresholds, name=self.name, path=self.path, metrics=self._chosen)

    def save(self, folder: str | Path) -> Path:
        """Raises ``InputError``: it is saved already, in its parts."""
        raise in_parts(self.parts)


#: What comparisons ask for beside the chosen metrics.
_ALSO = (HEADLINE, "evidence_retrieved")


def _constant(values: np.ndarray) -> np.ndarray:
    """``values``; where all are the same, one value that is repeated without taking memory."""
    if not len(values):
        return values
    missing = values.dtype.kind == "f" and np.isnan(values).all()
    return np.broadcast_to(values[:1], values.shape) if missing or (values == values[:1]).all() else values


def _compact(scored: Scored) -> Scored:
    return Scored(_constant(scored.values), _constant(scored.states))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The values of all parts."""
    same = all(len(part) and not part.strides[0] for part in parts)
    if same and len(heads := np.concatenate([part[:1] for part in parts])) == len(parts) and not _constant(heads).strides[0]:
        return np.broadcast_to(heads[:1], (sum(map(len, parts)),))
    return np.concatenate(list(parts))


def check_target(folder: str | Path) -> None:
    """Raise ``InputError`` unless an evaluation may be written to ``folder``: new, empty, or an evaluation."""
    try:
        target = Path(folder).expanduser()
        if target.exists() and not target.is_dir():
            raise InputError(f"{target}: is no folder; choose a folder to write the evaluation to")
        others = target.is_dir() and any(target.iterdir()) and not (target / "samples.parquet").is_file()
    except (OSError, TypeError) as error:
        raise InputError(f"{folder}: no evaluation can be written there ({error}); choose a folder") from error
    if others:
        raise InputError(f"{target}: holds other files; choose a new folder or one that an evaluation was written to")
