"""Ask the generator again with other contexts: faults of generation and of retrieval told apart by experiment, not by rule.

Each *arm* is a run of its own over the same questions: ``oracle`` gives exactly the expected documents, ``none`` gives
nothing, ``recorded`` what came (how far answers move by themselves), ``plan`` what all fixes taken would give, the key of
a fix what that one would give.

A call that failed tells nothing: its sample is left out of the run, and asked again next time.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.api import evaluate
from workbench.data.files import JsonLines, safe_name
from workbench.data.load import load_samples
from workbench.data.record import DEFAULT_REQUEST, Recording, arguments_for, record
from workbench.data.schema import SampleSet, objects
from workbench.data.text.normalise import normalise
from workbench.diagnosis.comparison import Comparison
from workbench.errors import InputError
from workbench.evaluation import Evaluation
from workbench.evidence.cache import content_key
from workbench.evidence.llm.budget import Budget, Price, estimate_tokens
from workbench.evidence.waiting import bar
from workbench.language import text as _t
from workbench.repair.documents import Passage
from workbench.repair.needs import Need
from workbench.repair.plan import RepairPlan, as_price
from workbench.repair.retrieval import Progress, Retrieval

#: Questions that are asked first: when none is answered, or one from other contexts than it was given, no more are asked.
PROBES = 3
#: Field of a recorded row that tells which contexts and prompt were given.
ASKED = "replayed"
#: What a service by address is sent.
REQUEST = DEFAULT_REQUEST | {"contexts": "{contexts}", "instructions": "{instructions}"}


@dataclass(frozen=True)
class ReplayPlan:
    """What a replay would send: ``rows`` by arm with ``arm, calls, recorded, tokens, cost`` (dollars for the prompts; NaN
    unknown)."""

    rows: pd.DataFrame

    @property
    def calls(self) -> int:
        """Calls still to be made."""
        return int(self.rows["calls"].sum())

    @property
    def tokens(self) -> int:
        """Estimated tokens still to be sent."""
        return int(self.rows["tokens"].sum())

    def __str__(self) -> str:
        cost = "–" if self.rows["cost"].isna().any() else f"${self.rows['cost'].sum():.4f}"
        return _t("repair.replay.plan", calls=f"{self.calls:,}", arms=len(self.rows), tokens=f"{self.tokens:,}", cost=cost)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from workbench.repair.words import calls_table, page

        return page(str(self), calls_table(self))


@dataclass(frozen=True)
class Replay:
    """What was asked again.

    Attributes
    ----------
    before
        The evaluation that the plan was made for.
    runs
        Arm → evaluation of its answers; samples whose call failed are not in it.
    planned
        The calls that were planned.
    errors
        One row a call that failed: ``arm, sample_id, error``.
    prompt
        The instructions that were tried; empty without.
    """

    before: Evaluation
    runs: Mapping[str, Evaluation]
    planned: ReplayPlan
    errors: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["arm", "sample_id", "error"]))
    recordings: Mapping[str, Recording] = field(default_factory=dict)
    prompt: str = ""

    def compare(self, arm: str) -> Comparison:
        """Today's run against an arm, as any two runs are compared."""
        return Comparison(self.before, self.runs[arm])

    def table(self) -> pd.DataFrame:
        """One row an arm: ``arm, n`` (answers that could be tested, today too), of them ``passing``, ``before`` (today),
        ``fixed, broken``; ``untested``: other answers; ``errors``: calls that failed. Measured."""
        rows = []
        for arm, run in self.runs.items():
            now = _passed(run)
            was = _passed(self.before).reindex(now.index)
            known = now.notna() & was.notna()
            sums = (known, known & (now == 1), known & (was == 1), (was == 0) & (now == 1), (was == 1) & (now == 0), ~known)
            rows.append((arm, *(int(mask.sum()) for mask in sums), int((self.errors["arm"] == arm).sum())))
        return pd.DataFrame(rows, columns=["arm", "n", "passing", "before", "fixed", "broken", "untested", "errors"])

    def faults(self) -> pd.DataFrame:
        """For each failing sample what the experiment says, index ``sample_id``: ``fault``, and whether each arm passes.

        ``generation``: it fails with the expected documents as well; ``retrieval``: it passes with them; ``unstable``: it
        passes with the recorded contexts already when it is asked again (``prompt``: with the instructions that were
        tried); ``untold``: no oracle could be given, or its call failed.
        """
        was = _passed(self.before)
        failing = was[was == 0].index
        arms = pd.DataFrame({arm: _passed(run).reindex(failing) for arm, run in self.runs.items()}, index=failing)
        missing = pd.Series(np.nan, index=failing)
        oracle, again = arms.get("oracle", missing), arms.get("recorded", missing)
        names = ["prompt" if self.prompt else "unstable", "retrieval", "generation"]
        fault = np.select([again == 1, oracle == 1, oracle == 0], names, "untold")
        arms.insert(0, "fault", fault)
        return arms.rename_axis("sample_id")

    def __str__(self) -> str:
        from workbench.repair.words import replay_plain

        return replay_plain(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from workbench.repair.words import page, replay_lines, replay_table

        return page(_t("repair.replay.title"), replay_table(self), replay_lines(self))


def _passed(run: Evaluation) -> pd.Series:
    return pd.Series(run.causes.inputs.failing.passed, index=run.evidence.ids)


def replay(
    service: Callable[..., Any] | str, plan: RepairPlan, *, contexts: str | Sequence[str] = ("oracle", "none"),
    out: str | Path = "replays", samples: str | Sequence[str] = "all", prompt: str | None = None, ask: bool = True,
    budget: Any = None, price: Price | float | str | None = None, judge: Any = "same", encoder: Any = "auto",
    progress: bool | Progress = True, cancelled: Callable[[], bool] | None = None, **recording: Any,
) -> Replay | ReplayPlan:  # fmt: skip
    """Ask a generator the questions of a plan again, with contexts that it is given.

    Parameters
    ----------
    service
        A function, whose parameters get ``question``, ``contexts`` (a list of ``{"doc_id", "text", "title"}``),
        ``instructions`` (the prompt) or any other field of the case by name; or the address of a service, which gets
        ``question``, ``contexts`` and ``instructions`` as JSON, or what ``request={"q": "{question}", "docs":
        "{contexts}"}`` says.
    plan
        What ``wb.repair_plan`` returned.
    contexts
        Arms: ``oracle``, ``none``, ``recorded``, ``plan``, or keys of fixes.
    out
        Folder of the recordings, ``<arm>.jsonl`` each (a prompt has files of its own); what was answered there is not
        asked again.
    samples
        ``all``, ``failing``, or ids. Samples whose oracle is not known are left out of that arm.
    prompt
        Instructions to try, for example ``workbench.repair.plan.prompt("omission")``.
    ask
        False returns the plan of calls and sends nothing.
    budget
        As for a judge: dollars (by ``price``, of the prompts alone; default the plan's), or ``{"calls": …, "tokens": …,
        "cost": …}``; when the plan of calls is beyond it nothing is sent.
    judge, encoder
        Judge the answers, see ``wb.evaluate``; ``"same"`` is the judge of the plan's run, where that was the offline one or
        none.
    progress
        True shows a bar, a callable gets ``(done, total)`` of all arms.
    recording
        Further options of ``workbench.data.record.record``: ``concurrency``, ``timeout``, ``request``, ``response`` …

    Raises
    ------
    InputError
        For an unknown arm or sample, a plan beyond the budget, a service that cannot be given contexts or answers from
        others, or that answers none of the first questions.
    CancelledError
        When ``cancelled()`` turned true; what was recorded stays.

    Examples
    --------
    >>> plan = wb.repair_plan("evaluations/baseline", "corpus.jsonl", encoder="none")
    >>> wb.replay(print, plan, contexts=("oracle", "plan"), samples="failing", ask=False).calls
    62
    """
    arms = list(dict.fromkeys([contexts] if isinstance(contexts, str) else contexts))
    ids = _chosen(plan, samples)
    cases = {arm: _cases(plan, arm, ids, prompt) for arm in arms}
    if isinstance(service, str):
        recording.setdefault("request", REQUEST)
    for name in ("contexts", *(("instructions",) if prompt else ())):
        if not _takes(service, recording.get("request"), name):
            raise InputError(f"replay: the service is never given the {name}; name a parameter {name!r}, or in a request "
                             f"template {{{name}}}")  # fmt: skip
    suffix = f"-{content_key(prompt)[:8]}" if prompt else ""
    files = {arm: Path(out).expanduser() / f"{safe_name(arm)}{suffix}.jsonl" for arm in arms}
    known = as_price(price) or plan.price
    planned = _planned(cases, files, known)
    if not ask:
        return planned
    if planned.calls and (over := _beyond(Budget.of(budget), planned, known)):
        raise InputError(f"replay: {planned}; {over}; choose fewer samples or arms, or a larger budget")
    if judge == "same":
        judge, encoder = _judge_of(plan.evaluation)
    target = {"endpoint": service} if isinstance(service, str) else {"call": service}
    runs, recordings = {}, {}
    errors: list[tuple[str, str, str]] = []
    done, total = 0, sum(map(len, cases.values()))
    with bar(progress, "call") as tell:
        for arm, chosen in cases.items():

            def told(n: int, _of: int, _errors: int, before: int = done) -> None:
                if tell is not None:
                    tell(before + n, total)

            options = {**target, "out": files[arm], "given": ("contexts",), "cancelled": cancelled, "retry_errors": True,
                       "config": {"arm": arm, "prompt": prompt or ""}, **recording}  # fmt: skip
            # A service that is down, or that retrieves by itself, is not asked a thousand times.
            first = dataclasses.replace(chosen, frame=chosen.frame.iloc[:PROBES])
            record(first, **options)
            failed: list[tuple[str, str, str]] = []
            if not len(_answered(arm, first, files[arm], failed)):
                raise InputError(f"replay {arm}: none of the first {len(first)} questions was answered ({failed[0][2]}); "
                                 "nothing else was asked")  # fmt: skip
            recordings[arm] = record(chosen, **options, progress=told)
            done += len(chosen)
            runs[arm] = evaluate(_answered(arm, chosen, files[arm], errors), judge=judge, encoder=encoder, name=arm,
                                 thresholds=plan.evaluation.thresholds, progress=False, cancelled=cancelled)  # fmt: skip
    failed_calls = pd.DataFrame(errors, columns=["arm", "sample_id", "error"])
    return Replay(plan.evaluation, runs, planned, failed_calls, recordings, prompt or "")


def _judge_of(evaluation: Evaluation) -> tuple[str | None, str]:
    """Judge and encoder that an evaluation was made with."""
    name = str(evaluation.manifest.get("judge") or "none")
    if "fitted" in evaluation.manifest or not (name == "none" or name.startswith("offline-")):
        raise InputError(f"replay: {name} judged the run before; name that judge with judge=, so that both are judged alike")
    return None if name == "none" else "offline", "auto" if evaluation.manifest.get("encoder") else "none"


def _takes(service: Callable[..., Any] | str, request: Any, name: str) -> bool:
    """Whether a service is given that field."""
    if isinstance(service, str):
        return f"{{{name}}}" in (request if isinstance(request, str) else json.dumps(request))
    given = arguments_for(service, {"question": "", "contexts": [], "instructions": ""})
    values = given.values() if isinstance(given, dict) else given
    return name in given or any(isinstance(value, dict) for value in values)


def _chosen(plan: RepairPlan, samples: str | Sequence[str]) -> list[str]:
    ids = [str(sample_id) for sample_id in plan.now.index]
    if samples == "all":
        return ids
    if samples == "failing":
        return [sample_id for sample_id, passed in zip(ids, plan.passed, strict=True) if passed == 0]
    unknown = [one for one in samples if one not in ids]
    if isinstance(samples, str) or unknown:
        raise InputError(f"replay: samples {samples if isinstance(samples, str) else unknown[0]!r} is not known")
    return list(samples)


def _cases(plan: RepairPlan, arm: str, ids: Sequence[str], prompt: str | None) -> SampleSet:
    """The samples with the contexts of an arm, those left out whose contexts are not known."""
    lists = dict(zip(plan.now.index.astype(str), _lists(plan, arm), strict=True))
    kept = [sample_id for sample_id in ids if lists[sample_id] is not None]
    if not kept:
        more = "; name expected documents and give the knowledge base, or choose other contexts=" * (arm == "oracle")
        raise InputError(f"replay: no chosen sample has contexts for the arm {arm!r}{more}")
    samples = plan.evaluation.samples
    frame = samples.frame.loc[kept].copy()
    frame["contexts"] = pd.Series(objects([[_item(p) for p in lists[one] or ()] for one in kept]), index=frame.index)
    frame["instructions"] = prompt or ""
    frame[ASKED] = [content_key(prompt, [item["text"] for item in items]) for items in frame["contexts"]]
    return SampleSet(frame, samples.rejected.iloc[:0], samples.warnings.iloc[:0], len(frame), samples.recorded_scores.iloc[:0],
                     name=arm)  # fmt: skip


def _lists(plan: RepairPlan, arm: str) -> Sequence[Sequence[Passage] | None]:
    simulator = plan.simulator
    if arm == "none":
        return [[]] * len(plan.now)
    if arm == "oracle":
        return [_oracle(plan, need) for need in plan.reader.needs]
    if arm not in ("recorded", "plan", *plan.keys):
        raise InputError(f"replay: contexts {arm!r} are not known; use oracle, none, recorded, plan, or a key of {plan.keys}")
    return simulator.contexts({"recorded": Retrieval(), "plan": plan.together}.get(arm) or plan.repair(arm).retrieval)


def _oracle(plan: RepairPlan, need: Need) -> list[Passage] | None:
    """Of each expected entry the first document that is known (all its chunks where whole documents are expected)."""
    known, base = plan.simulator.known, plan.simulator.base
    found: dict[str, Passage] = {}
    for entry in need.entries:
        for doc_id in entry:
            places = base.index.places(doc_id, plan.reader.match) if plan.reader.match == "document" else []
            given = [base.passages[place] for place in places] or [known[one] for one in (doc_id,) if one in known]
            if given:
                found |= {str(passage.doc_id): passage for passage in given}
                break
        else:
            return None
    return list(found.values()) if found or need.nothing else None


def _item(passage: Passage) -> dict[str, Any]:
    found = {"doc_id": passage.doc_id, "text": passage.text, "title": passage.title, "tenant": passage.tenant,
             "position": passage.position, "metadata": {"source": passage.source} if passage.source else None}  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _planned(cases: Mapping[str, SampleSet], files: Mapping[str, Path], price: Price | None) -> ReplayPlan:
    rows = []
    for arm, samples in cases.items():
        frame = samples.frame
        rows_before = JsonLines(files[arm]).read_new()
        recorded = {row.get("sample_id"): row.get(ASKED) for row in rows_before if row.get("error") is None}
        if changed := [one for one, asked in frame[ASKED].items() if recorded.get(one, asked) != asked]:
            raise InputError(f"{files[arm]}: sample {changed[0]} was asked with other contexts before (the plan has changed); "
                             "choose another folder with out=")  # fmt: skip
        waiting = frame[~frame.index.isin(list(recorded))]
        tokens = sum(
            sum(map(estimate_tokens, (question, prompt, *(item["text"] for item in items))))
            for question, prompt, items in zip(waiting["question"], waiting["instructions"], waiting["contexts"], strict=True)
        )
        rows.append((arm, len(waiting), len(samples) - len(waiting), tokens,
                     np.nan if price is None else price.cost(tokens, 0)))  # fmt: skip
    return ReplayPlan(pd.DataFrame(rows, columns=["arm", "calls", "recorded", "tokens", "cost"]))


def _beyond(budget: Budget, planned: ReplayPlan, price: Price | None) -> str:
    """The bound that the plan breaks, in words; empty when it is within."""
    if budget.cost is not None and price is None:
        return "a budget in dollars needs price="
    values = {"calls": planned.calls, "tokens": planned.tokens, "cost": price.cost(planned.tokens, 0) if price else 0.0}
    over = [name for name, value in values.items() if (bound := getattr(budget, name)) is not None and value > bound]
    return f"beyond the budget of {getattr(budget, over[0]):g} {over[0]}" if over else ""


def _answered(arm: str, asked: SampleSet, path: Path, errors: list[tuple[str, str, str]]) -> SampleSet:
    """The samples that were answered; failed calls are added to ``errors``.

    Raises ``InputError`` when a service answered from contexts that it was not given: then nothing is known of its
    generator. It may leave out or shorten some.
    """
    found = load_samples(path)
    frame = found.frame[found.frame.index.isin(asked.frame.index)]
    failed = frame["error"].notna()
    errors += [(arm, str(one), str(error)) for one, error in frame.loc[failed, "error"].items()]
    given = {sample_id: _texts(items) for sample_id, items in asked.frame["contexts"].items()}
    for sample_id, items in frame.loc[~failed, "contexts"].items():
        if not _within(_texts(items), given[sample_id]):
            raise InputError(f"replay {arm}, sample {sample_id}: the service answered from other contexts than it was given; "
                             "give a function or endpoint that takes contexts")  # fmt: skip
    return dataclasses.replace(found, frame=frame[~failed])


def _texts(items: Iterable[Any] | None) -> list[str]:
    return [normalise(str(item["text"])) for item in items or () if item]


def _within(found: Sequence[str], given: Sequence[str]) -> bool:
    """Whether every text is one of those given, or a part of one."""
    return all(any(text in other for other in given) for text in found)
