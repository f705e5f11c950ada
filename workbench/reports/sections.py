"""The content of a report, gathered section by section; :func:`build_report` puts them together."""

from __future__ import annotations

import dataclasses
import datetime
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.files import redacted
from workbench.data.run_config import config_words
from workbench.data.schema import alternatives, none_if_missing
from workbench.data.text.words import language
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.causes import LAYERS, advice, cause_names, rule_of, rules
from workbench.diagnosis.causes import layer as layer_of
from workbench.diagnosis.comparison import CHANGES, compared, right_words
from workbench.diagnosis.fitting import fitted_in
from workbench.diagnosis.hallucinations import clean_bound
from workbench.diagnosis.queries import Dimensions, grouped, outcomes, value_title
from workbench.diagnosis.slices import worst_slices
from workbench.diagnosis.statistics import wilson
from workbench.evidence.offline.models import coefficient_tables
from workbench.language import get_language, has_text, listed, speaking
from workbench.language import text as _t
from workbench.reports.content import (
    CARDS,
    Action,
    Breakdown,
    BrokenPair,
    CauseBlock,
    Changes,
    Example,
    FailingSample,
    Flow,
    Material,
    Measure,
    Measured,
    Moved,
    Report,
    SliceRow,
    Step,
    Stretch,
)
from workbench.scoring.metrics import HEADLINE, definition
from workbench.scoring.thresholds import Thresholds
from workbench.views import wording
from workbench.views.html import text_differences
from workbench.views.session import Finding
from workbench.views.wording import cause_title, metric_reading, metric_title, state_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd

    from workbench.repair.plan import RepairPlan


# ------------------------------------------------------------------------------
# A report, gathered from its sections.


def build_report(
    evaluation: Any,
    *,
    baseline: Any = None,
    findings: Sequence[Finding] = (),
    annotations: Mapping[str, Any] | None = None,
    language: str | None = None,
    date: datetime.date | None = None,
    gate: Any = None,
    repair: RepairPlan | None = None,
) -> Report:
    """Gather the content of a report.

    Parameters
    ----------
    evaluation
        An ``Evaluation``, under the thresholds that hold.
    baseline
        The evaluation that it is compared with; None leaves the comparison out.
    findings, annotations
        The pins in their order, and the user's verdicts by sample id (see ``Session``).
    language
        a code of :func:`workbench.language.codes`; default: the one in force.
    date
        Printed on the report; default today.
    gate
        What ``reports.gate.check`` found, to be said on page one; or a function that gives it, called in the report's
        language.
    repair
        A repair plan, which gets a page of its own.

    Raises
    ------
    InputError
        For an unknown language.
    """
    with speaking(language or get_language()):
        comparison = None if baseline is None else compared(baseline, evaluation)
        material = Material(evaluation, baseline, _failures(evaluation), evaluation.samples.frame,
                            evaluation.summary(spread=True), comparison, annotations or {})  # fmt: skip
        table, changed, findings = measures(material), changes(material), tuple(findings)
        day = date or datetime.datetime.now(datetime.UTC).date()
        named = {"name": evaluation.name} | ({} if baseline is None else {"baseline": baseline.name})
        return Report(
            title=_t(f"report.title.{'one' if baseline is None else 'two'}", **named), subtitle=_subtitle(material, day),
            language=get_language(), date=day, verdict=verdict(material, table, changed), measures=table,
            ladder=ladder(material), causes=causes(material), places=places(material), changes=changed, findings=findings,
            actions=actions(material), measured=measured(material), failing=failing_rows(material), n_total=material.n,
            failures=material.failures, evaluation=evaluation, baseline=baseline, cards=_cards(material, findings),
            gate=gate() if callable(gate) else gate, repair=repair,
        )  # fmt: skip


def _failures(evaluation: Any) -> pd.DataFrame:
    failures: pd.DataFrame = evaluation.failures()
    # What a service said when it failed may hold the key that it was called with.
    silent = [bool((rule := rule_of(cause)) and rule.quotes_service) for cause in failures["primary_cause"]]
    failures["evidence"] = [redacted(t) if s else t for t, s in zip(failures["evidence"], silent, strict=True)]
    return failures


def _subtitle(material: Material, date: datetime.date) -> str:
    judge = str(material.evaluation.manifest.get("judge") or "none").partition("/")[0]
    said = _t("report.title.no_judge") if judge == "none" else _t("report.title.judge", judge=judge)
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.month - 1]
    return " · ".join([_t("report.title.date", year=date.year, month=date.month, day=date.day, name=month),
                       _t("report.title.cases", n=f"{material.n:,}"), said])  # fmt: skip


# ------------------------------------------------------------------------------
# The box on top: a reader who stops after it knows the verdict.


#: Up to so many samples that broke are named.
NAMED = 5


def verdict(material: Material, measures: Sequence[Measure], changed: Changes | None) -> tuple[str, ...]:
    """Up to five sentences: how many are right, what changed, where the failures are, red lines, targets."""
    right = next((item for item in measures if item.metric == HEADLINE and item.n_ok), None)
    said = (_right(material, right), _changed(changed), _layers(material), _leaks(material, measures), _met(measures))
    return tuple(filter(None, said))


def _right(material: Material, right: Measure | None) -> str:
    if right is None:
        return _t("report.verdict.unknown", n_failing=wording.count(len(material.failing)), n=wording.count(material.n))
    if right.delta is not None and right.n_pairs:
        before, after, low, high, p = (
            math.nan if value is None else value
            for value in (right.before, right.after, right.delta_low, right.delta_high, right.p)
        )
        return right_words(before, after, right.delta, (low, high), right.n_pairs, p)
    return _t(
        "report.verdict.right", right=wording.count(round(right.mean * right.n_ok)), n=wording.count(right.n_ok),
        rate=wording.percent(right.mean), interval=wording.rate_interval(right.low, right.high),
    )  # fmt: skip


def _changed(changed: Changes | None) -> str:
    if changed is None:
        return ""
    fixed, broken = changed.counts.get("fixed", 0), changed.counts.get("broken", 0)
    ids = [item.sample_id for item in (*changed.flipped, *changed.same_answer) if item.change == "broken"]
    named = _t("report.verdict.which", ids=listed(ids)) if 0 < len(ids) <= NAMED else ""
    return _t("report.verdict.flips", fixed=wording.count(fixed), broken=wording.count(broken),
              n=wording.count(changed.n_pairs), which=named)  # fmt: skip


def _layers(material: Material) -> str:
    """The layer that most failures belong to, with its commonest causes, and the next one."""
    primary = Counter(material.failing["primary_cause"].tolist())
    if not primary:
        return _t("report.verdict.all_pass", n=wording.count(material.n))
    layers = Counter(map(layer_of, primary.elements()))
    ranked = sorted(layers.items(), key=lambda item: (-item[1], LAYERS.index(item[0])))
    shown = [f"{_t(f'report.layer.{layer}')} {n}" for layer, n in ranked[:3]]
    commonest = [f"{cause_title(cause)} {n}" for cause, n in primary.most_common(2)]
    return _t("report.verdict.layers", n_failing=wording.count(len(material.failing)), n=wording.count(material.n),
              layers=listed(shown), causes=listed(commonest))  # fmt: skip


def _leaks(material: Material, measures: Sequence[Measure]) -> str:
    n = int((material.failing["primary_cause"] == "permission_leak").sum())
    if n:
        return _t("report.verdict.leaks", n=wording.count(n), total=wording.count(material.n))
    checked = next((item.n_ok for item in measures if item.metric == "leaks"), 0)
    return _t("report.verdict.no_leak", n=wording.count(checked), bound=f"{clean_bound(checked):.1%}") if checked else ""


def _met(measures: Sequence[Measure]) -> str:
    judged = [item for item in measures if item.meets_target is not None]
    if not judged:
        return ""
    missed = [item.title for item in judged if not item.meets_target]
    key = "missed" if missed else "met"
    return _t(f"report.verdict.targets_{key}", met=len(judged) - len(missed), n=len(judged), missed=listed(missed))


# ------------------------------------------------------------------------------
# Section 1: how good is it? Metrics with intervals, targets and states, and what better retrieval would bring.


STATES = ("not_applicable", "undefined", "error", "skipped")


def measures(material: Material) -> tuple[Measure, ...]:
    """Every metric of the evaluation: those of the first table in its order, then the rest."""
    tests = _tests(material)
    rows = [_measure(str(name), row, tests.get(str(name))) for name, row in material.summary.iterrows()]
    return tuple(sorted(rows, key=lambda measure: (not measure.shown, _first(measure.metric) or sys.maxsize)))


def _first(metric: str) -> int:
    """The place of a metric in the first table; 0: it has none."""
    return known.in_report if (known := definition(metric)) else 0


def _measure(name: str, row: Any, test: Any) -> Measure:
    has_target = row["target"] == row["target"]
    # A first table of dashes says nothing; what has no score, targets included, is listed under how it was measured.
    shown = row["n_ok"] > 0 and (has_target or _first(name))
    return Measure(
        name, metric_title(name), metric_reading(name), float(row["mean"]), float(row["low"]), float(row["high"]),
        int(row["n_ok"]), int(row["n_total"]), {state: int(row[f"n_{state}"]) for state in STATES if row[f"n_{state}"]},
        float(row["low_bound"]), float(row["high_bound"]), float(row["target"]), float(row["attainable"]),
        None if row["meets_target"] is None else bool(row["meets_target"]), str(row["method"]), bool(shown),
        level=none_if_missing(row["level"]), **_difference(name, test),
    )  # fmt: skip


def _difference(name: str, test: Any) -> dict[str, Any]:
    """The paired comparison of one metric; nothing without a baseline or without a pair."""
    if test is None or not test["n_pairs"]:
        return {}
    # The headline is the question asked and stands alone; the others are corrected for how many were looked at.
    chance = float(test["p_value" if name == HEADLINE else "p_adjusted"])
    return {
        "before": float(test["before"]), "after": float(test["after"]), "delta": float(test["delta"]),
        "delta_low": float(test["low"]), "delta_high": float(test["high"]), "p": chance, "n_pairs": int(test["n_pairs"]),
    }  # fmt: skip


def _tests(material: Material) -> dict[str, Any]:
    if material.comparison is None:
        return {}
    frame: pd.DataFrame = material.comparison.tests()
    named = frame.set_index("metric") if "metric" in frame.columns else frame
    return {str(name): row for name, row in named.iterrows()}


def ladder(material: Material) -> tuple[Step, ...]:
    """What is right now, what the retrieved evidence allows, the estimate for perfect retrieval; empty without n."""
    from workbench.diagnosis.summary import oracle_ladder

    return tuple(
        Step(str(name), _t(f"report.ladder.{name}"), float(row["rate"]), float(row["low"]), float(row["high"]), int(row["n"]))
        for name, row in oracle_ladder(material.evaluation.view).iterrows()
        if row["n"]
    )


# ------------------------------------------------------------------------------
# Section 2 and the appendix: what is broken, with real samples, the wrong sentence in them, and the fix.


#: Real samples shown for each cause.
EXAMPLES = 2
_SERIOUS = ("medium", "high")


def causes(material: Material) -> tuple[CauseBlock, ...]:
    """The primary causes of failing samples, the most frequent first; red lines and ties in the order of the chain."""
    failing = material.failing
    primary = Counter(failing["primary_cause"].tolist())
    among = Counter(cause for row in failing["causes"] for cause in set(row))
    order = sorted(primary, key=lambda cause: (-primary[cause], cause_names().index(cause)))
    wrong = _Wrong(material)
    return tuple(_block(material, cause, primary[cause], among[cause], wrong) for cause in order)


def _block(material: Material, cause: str, n: int, n_any: int, wrong: _Wrong) -> CauseBlock:
    rows = material.failing[material.failing["primary_cause"] == cause]
    interval = wilson(n, material.n)
    subs = Counter(cause_title(sub) for sub in rows["sub_cause"] if none_if_missing(sub) is not None)
    layer = layer_of(cause)
    return CauseBlock(
        cause, cause_title(cause), layer, _t(f"report.layer.{layer}"), n, max(n, n_any), material.n, interval.low,
        interval.high, dict(subs.most_common()), str(rows["advice"].iloc[0]),
        tuple(_example(material, str(name), row, wrong) for name, row in _chosen(material, rows)),
    )  # fmt: skip


def _chosen(material: Material, rows: pd.DataFrame) -> list[tuple[Any, Any]]:
    """The surest sample of a cause, and the next one, in another language where there is one."""
    ranked = list(rows.sort_values("confidence", ascending=False, kind="stable").iterrows())
    first, rest = ranked[:1], ranked[1:]
    if not first or not rest:
        return first

    def asked_in(item: tuple[Any, Any]) -> str:
        return language(str(material.samples.at[item[0], "question"])[:300])

    return [*first, next((item for item in rest if asked_in(item) != asked_in(first[0])), rest[0])]


def _example(material: Material, sample_id: str, row: Any, wrong: _Wrong) -> Example:
    answer = none_if_missing(material.samples.at[sample_id, "answer"])
    return Example(
        sample_id,
        str(material.samples.at[sample_id, "question"]),
        None if answer is None else str(answer),
        wrong.stretches(sample_id, str(answer or ""), row),
        expected(material.samples.loc[sample_id]),
        str(row["evidence"]),
        float(row["confidence"]),
    )


def _cards(material: Material, findings: Sequence[Finding]) -> dict[str, tuple[Example, ...]]:
    """The samples of findings about a few, with what is wrong in each under the thresholds that were in force when it was
    saved: what was saved is what was looked at. A saved sample has its own card."""
    few = [item for item in findings if not item.card and len(item.sample_ids) <= CARDS]
    return {item.finding_id: tuple(_as_saved(material, item)) for item in few}


def _as_saved(material: Material, finding: Finding) -> Iterator[Example]:
    for name in finding.sample_ids:
        if name not in material.failures.index:
            continue
        small = material.evaluation.one(name)
        if finding.thresholds:
            small = small.with_thresholds(small.thresholds.replace(**finding.thresholds))
        own = dataclasses.replace(material, evaluation=small, failures=_failures(small))
        yield _example(own, name, own.failures.loc[name], _Wrong(own))


def expected(sample: Any) -> str:
    """What a sample should have said: its reference, else its key points, else that it should have been declined."""
    if sample.get("expect_refusal") is True:
        return _t("report.broken.decline")
    reference = none_if_missing(sample.get("reference"))
    if reference is not None:
        return str(reference)
    points = sample.get("must_include")
    if not isinstance(points, (list, tuple)):
        return ""
    return "; ".join(" / ".join(alternatives(point)) for point in points)


class _Wrong:
    """Which stretches of an answer are wrong, from the verdicts on its claims."""

    def __init__(self, material: Material) -> None:
        claims = material.evaluation.claims()
        own = claims[(claims["side"] == "answer").to_numpy(dtype=bool)]
        self._claims: dict[str, list[Any]] = {}
        for claim in own.itertuples():
            self._claims.setdefault(str(claim.sample_id), []).append(claim)

    def stretches(self, sample_id: str, answer: str, row: Any) -> tuple[Stretch, ...]:
        """Contradicted and unsupported claims, the one that the evidence quotes, or the whole answer."""
        cause, evidence = str(row["primary_cause"]), str(row["evidence"])
        rule = rule_of(cause)
        marks = rule.marks if rule else "claims"
        if marks == "answer" and answer:
            return (Stretch(0, len(answer), "contradicted"),)
        found = [
            Stretch(int(claim.start), int(claim.end), kind)
            for claim in self._claims.get(sample_id, [])
            if claim.start == claim.start and (kind := _fault(claim, evidence))
        ]
        return tuple(found) or _marks(answer, evidence if marks == "citations" else "")


def _fault(claim: Any, evidence: str) -> str:
    """The kind of fault of a claim; empty for none."""
    if claim.verdict == "contradicted":
        return "contradicted"
    if claim.verdict == "not_mentioned" and claim.severity in _SERIOUS:
        return "not_mentioned"
    words = " ".join(str(claim.text).split())[:119]
    return "contradicted" if f"“{words}" in evidence else ""


def _marks(answer: str, evidence: str) -> tuple[Stretch, ...]:
    """Citation marks of the answer that the evidence names."""
    named = [word for word in evidence.split() if word[:1] in "[【" and word in answer]
    return tuple(Stretch(answer.index(word), answer.index(word) + len(word), "contradicted") for word in named[:1])


def failing_rows(material: Material) -> tuple[FailingSample, ...]:
    """Every failing sample, in the order of the causes and then of the data."""
    places = {cause: at for at, cause in enumerate(cause_names())}
    failing = material.failing
    own = material.samples.loc[failing.index, ["question", "answer"]]
    names = ("primary_cause", "sub_cause", "confidence", "evidence", "advice")
    columns = [own["question"].tolist(), own["answer"].tolist(), *(failing[name].tolist() for name in names)]
    found = [_failing(material, str(row[0]), row[1:]) for row in zip(failing.index, *columns, strict=True)]
    return tuple(sorted(found, key=lambda item: places.get(item.cause, len(places))))


def _failing(material: Material, sample_id: str, row: tuple[Any, ...]) -> FailingSample:
    question, said, cause, sub_cause, confidence, evidence, advice = row
    own = material.annotations.get(sample_id)
    answer, sub = none_if_missing(said), none_if_missing(sub_cause)
    return FailingSample(
        sample_id, str(question), None if answer is None else str(answer), str(cause), cause_title(cause),
        None if sub is None else cause_title(sub), float(confidence), str(evidence), str(advice),
        verdict_title(own.verdict) if own is not None and own.verdict else "", own.note if own is not None else "",
    )  # fmt: skip


# ------------------------------------------------------------------------------
# Section 3: where the failures are. Query types, case types, languages, and the worst slices.


#: Fewest samples of a part that stands by itself.
MIN_N = 5
#: Slices, and parts of one dimension, shown.
WORST, PARTS = 6, 15
#: Causes named beside a part.
CAUSES_SHOWN = 4
DIMENSIONS = ("query_type", "case_type", "language")


def places(material: Material) -> tuple[Breakdown, ...]:
    """One table for each dimension that parts the samples, and the worst slices."""
    dimensions, found = Dimensions(material.evaluation), outcomes(material.evaluation)
    tables = [_breakdown(dimensions, found, by) for by in DIMENSIONS]
    return (*(table for table in tables if table is not None), _worst(material))


def _breakdown(dimensions: Dimensions, found: Any, by: str) -> Breakdown | None:
    """One dimension; None where all samples are of one kind."""
    if len(dimensions[by].values) < 2 or not found.tested.any():
        return None
    frame = grouped(dimensions, found, by, MIN_N)[0]
    frame = frame[(frame["n"] > 0).to_numpy()]
    rows = tuple(_row(by, row) for row in frame.head(PARTS).itertuples())
    notes = [_t("report.where.several", n=wording.count(frame.attrs["n_tested"])) if frame.attrs["multiple"] else ""]
    if len(frame) > PARTS:
        notes.append(_t("report.where.first", shown=PARTS, n=wording.count(len(frame))))
    return Breakdown(by, _t(f"report.where.{by}"), rows, wording.sentences(notes))


def _row(by: str, row: Any) -> SliceRow:
    name = str(row.value) if row.folded > 1 else value_title(by, str(row.value))
    return SliceRow(name, int(row.n), int(row.n_failing), float(row.rate), float(row.low), float(row.high),
                    _causes(row.causes))  # fmt: skip


def _causes(causes: dict[str, int]) -> str:
    """The most frequent causes with their counts, in one line."""
    named = [f"{cause_title(name)} {n}" for name, n in list(causes.items())[:CAUSES_SHOWN]]
    return listed(named) + ("…" if len(causes) > CAUSES_SHOWN else "")


def _worst(material: Material) -> Breakdown:
    frame = worst_slices(material.evaluation)
    tried = frame.attrs.get("n_tried", 0)
    rows = []
    for row in frame.head(WORST).itertuples():
        interval = wilson(row.n_failing, row.n)
        rows.append(SliceRow(str(row.rule), int(row.n), int(row.n_failing), float(row.rate), interval.low, interval.high,
                             lift=float(row.lift), q_value=float(row.q_value)))  # fmt: skip
    key = "worst_note" if rows else "no_slice" if tried else "nothing_tried"
    reason = _t(f"report.where.{key}", n=wording.count(frame.attrs.get("n_tested", 0)), tried=wording.count(tried))
    return Breakdown("worst", _t("report.where.worst"), tuple(rows), reason)


# ------------------------------------------------------------------------------
# Section 4: what changed against the baseline.


def changes(material: Material) -> Changes | None:
    """Counts, flows of causes, and the samples that were fixed or broken; None without a baseline."""
    comparison = material.comparison
    if comparison is None:
        return None
    flips = comparison.flips().set_index("sample_id")
    flipped = flips[flips["change"].isin(("broken", "fixed")).to_numpy()].sort_values("change", kind="stable")
    moved = [_moved(material, str(name), row) for name, row in flipped.iterrows()]
    red = comparison.red_lines()["change"].tolist()
    # The smallest change of the pass rate that this many pairs could show.
    smallest = none_if_missing(comparison.tests([PASSED])["smallest_detectable"].iloc[0])
    return Changes(
        {name: getattr(comparison.counts, name) for name in CHANGES}, len(comparison), _flows(comparison.ledger()),
        tuple(item for item in moved if item.answer_changed), tuple(item for item in moved if not item.answer_changed),
        tuple(_moved(material, str(name), row) for name, row in comparison.noise().set_index("sample_id").iterrows()),
        {name: red.count(name) for name in ("new", "gone", "still")}, smallest, tuple(comparison.warnings),
        tuple(comparison.notes), _broken_pairs(material, moved),
    )  # fmt: skip


def _broken_pairs(material: Material, moved: Sequence[Moved]) -> tuple[BrokenPair, ...]:
    """Every broken sample with both answers, and what differs between them."""
    earlier, wrong = material.baseline.samples.frame, _Wrong(material)
    found = []
    for item in moved:
        if item.change != "broken":
            continue
        name = item.sample_id
        before, after = (none_if_missing(frame.at[name, "answer"]) for frame in (earlier, material.samples))
        gone: tuple[Stretch, ...] = ()
        new: tuple[Stretch, ...] = ()
        if isinstance(before, str) and isinstance(after, str) and before != after:
            gone, new = (tuple(Stretch(mark.start, mark.end, kind) for mark in text_differences(own, other, kind))
                         for own, other, kind in ((before, after, "gone"), (after, before, "new")))  # fmt: skip
        row = material.failures.loc[name]
        found.append(BrokenPair(
            name, item.question, item.cause_before, item.cause_after, before, after, gone, new,
            wrong.stretches(name, str(after or ""), row), expected(material.samples.loc[name]), str(row["evidence"]),
            _documents(earlier.at[name, "contexts"], material.samples.at[name, "contexts"]),
        ))  # fmt: skip
    return tuple(found)


def _documents(before: Any, after: Any) -> tuple[str, ...]:
    """Ids of the contexts that only one of the runs retrieved."""
    first, second = ([str(c["doc_id"]) for c in own if c.get("doc_id")] if isinstance(own, list) else []
                     for own in (before, after))  # fmt: skip
    return (*(f"− {name}" for name in dict.fromkeys(first) if name not in second),
            *(f"+ {name}" for name in dict.fromkeys(second) if name not in first))  # fmt: skip


def _moved(material: Material, sample_id: str, row: Any) -> Moved:
    return Moved(
        sample_id, str(material.samples.at[sample_id, "question"]), str(row.get("change") or ""),
        cause_title(row["cause_before"]), cause_title(row["cause_after"]), bool(row.get("answer_changed", False)),
    )  # fmt: skip


def _flows(ledger: Any) -> tuple[Flow, ...]:
    return tuple(
        Flow(cause_title(row.cause_before), cause_title(row.cause_after), int(row.n), tuple(map(str, row.sample_ids)),
             row.cause_before != row.cause_after)
        for row in ledger.itertuples()
    )  # fmt: skip


# ------------------------------------------------------------------------------
# Section 6: what to do next. Three actions at most, by layer, each with how many failures it would touch.


MOST = 3
#: Causes of a layer whose advice is written out.
ADVICES = 3


def actions(material: Material) -> tuple[Action, ...]:
    """Red lines first, then the layers that most failures belong to; ties in the order of the pipeline."""
    primary = Counter(material.failing["primary_cause"].tolist())
    layers = Counter(map(layer_of, primary.elements()))
    red = {rule.layer for rule in rules() if rule.red_line}
    ranked = sorted(layers, key=lambda layer: (layer not in red, -layers[layer], LAYERS.index(layer)))
    return tuple(_action(layer, primary, len(material.failing)) for layer in ranked[:MOST])


def _action(layer: str, primary: Counter[str], n_failing: int) -> Action:
    own = {cause: n for cause, n in primary.items() if layer_of(cause) == layer}
    order = sorted(own, key=lambda cause: (-own[cause], cause_names().index(cause)))
    return Action(
        layer, _t(f"report.layer.{layer}"), sum(own.values()), n_failing,
        tuple((cause_title(cause), own[cause]) for cause in order),
        tuple(advice(cause) for cause in order[:ADVICES]),
        any((rule := rule_of(cause)) and rule.red_line for cause in own),
    )  # fmt: skip


# ------------------------------------------------------------------------------
# Section 7: how it was measured, how far to trust it here, and what could not be checked.


#: Characters of a hash that are shown.
HASH = 16


def measured(material: Material) -> Measured:
    """Judge, encoder, thresholds, data, versions; the judge's validation; fields that were missing."""
    trust, table = _trust(material)
    return Measured(tuple(_facts(material)), trust, table, _unchecked(material), material.n, tuple(_notes(material)))


def _facts(material: Material) -> list[tuple[str, str]]:
    manifest = material.evaluation.manifest
    fitted = manifest.get("fitted") or {}
    prompts = " · ".join([_short(manifest.get("prompt_hash")), *(manifest.get("own_prompts") or [])])
    known = {
        "judge": manifest.get("judge"), "fitted": fitted.get("name"), "prompt_hash": prompts,
        "encoder": manifest.get("encoder"), "thresholds": thresholds_words(material.evaluation.thresholds),
        "targets": " · ".join(f"{name} {cut:g}" for name, cut in material.evaluation.thresholds.targets.items()),
        "data": _data(manifest), "corpus": _corpus(manifest),
        "config": config_words(manifest.get("config") or {}), "scored": manifest.get("started"),
        "versions": _versions(manifest),
    }  # fmt: skip
    if material.baseline is not None:
        theirs = material.baseline.manifest
        known["baseline"] = " · ".join(filter(None, [material.baseline.name, str(theirs.get("judge")), _data(theirs)]))
    return [(_t(f"report.measured.{name}"), redacted(str(value))) for name, value in known.items() if value]


def thresholds_words(thresholds: Thresholds) -> str:
    """All cut-offs in one line; those that differ from the defaults carry an asterisk."""
    usual = Thresholds()
    plain, defaults = thresholds.to_dict(), usual.to_dict()
    own = [(name, value, defaults.get(name)) for name, value in plain.items() if not isinstance(value, Mapping)]
    own += [(f"low {name}", cut, usual.low_cut(name)) for name, cut in thresholds.low_scores.items()]
    return " · ".join(f"{name} {value}{'' if value == default else '*'}" for name, value, default in own)


def _data(manifest: Mapping[str, Any]) -> str:
    counts = manifest.get("counts") or {}
    rows = _t("report.measured.rows", **{name: wording.count(counts.get(name)) for name in ("read", "samples", "rejected")})
    return " · ".join(filter(None, [manifest.get("source"), _short(manifest.get("data_hash")), rows if counts else ""]))


def _corpus(manifest: Mapping[str, Any]) -> str:
    corpus = manifest.get("corpus")
    if not isinstance(corpus, Mapping):
        return _t("report.measured.no_corpus")
    return f"{corpus.get('name')} · {_short(corpus.get('hash'))} · " + _t(
        "report.measured.documents", n=wording.count(corpus.get("documents"))
    )


def _versions(manifest: Mapping[str, Any]) -> str:
    libraries = manifest.get("libraries") or {}
    own = [f"workbench {manifest['workbench']}"] if manifest.get("workbench") else []
    own += [f"Python {manifest['python']}"] if manifest.get("python") else []
    return ", ".join(own + [f"{name} {version}" for name, version in libraries.items()])


def _short(value: Any) -> str:
    return str(value)[:HASH] if value else ""


# ---------------------------------------------------------------- how far to trust the judge


def _trust(material: Material) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    judge = str(material.evaluation.manifest.get("judge") or "none")
    if judge == "none":
        return (_t("report.trust.none"),), ()
    table = _validation(judge) if judge.startswith("offline") else ()
    measured_how = "" if table else _t("report.trust.not_measured" if judge.startswith("offline") else "report.trust.model")
    return tuple(filter(None, [*_fitted(material), _unsure(material), measured_how])), table


def _fitted(material: Material) -> list[str]:
    """What the judge was fitted to, what that is worth, and how many answers are unsure for it."""
    fitted = fitted_in(material.evaluation.manifest)
    if fitted is None:
        return []
    lines = [_t("fitting.report", name=fitted.name, hash=fitted.hash, labels=fitted.labels, evaluation=fitted.evaluation)]
    lines += fitted.words()
    if (part := fitted.parts.get("verdict")) is not None:
        p = material.evaluation.metric("fitted_right").values
        known = p[np.isfinite(p)]
        lines.append(_t("fitting.unsure", n=int(part.unsure(known).sum()), total=len(known)))
    return [redacted(line) for line in lines]


def _unsure(material: Material) -> str:
    share = material.evaluation.metric("unsure_share")
    n = int(share.ok.sum())
    if not n:
        return _t("report.trust.no_claims")
    return _t("report.trust.unsure", share=wording.percent(float(share.values[share.ok].mean())), n=wording.count(n))


def _validation(judge: str) -> tuple[tuple[str, ...], ...]:
    """The judge's figures on labelled sets, a heading row first; empty when none are kept with its coefficients."""
    mine = (own for own in coefficient_tables().values()
            if judge.startswith(str(own.get("method"))) and str(own.get("version", "")) in judge)  # fmt: skip
    rows = [row for own in mine for row in _validation_rows(own.get("validation"))]
    if not rows:
        return ()
    heads = list(dict.fromkeys(name for row in rows for name in row))
    titles = [_t(f"report.trust.{name}") if has_text(f"report.trust.{name}") else name for name in heads]
    return (tuple(titles), *(tuple(_figure(row.get(name)) for name in heads) for row in rows))


def _validation_rows(validation: Any) -> list[dict[str, Any]]:
    """``[validation.<set>]`` tables or a list of tables, as rows with plain values."""
    if isinstance(validation, Mapping):
        nested = [{"set": name, **row} for name, row in validation.items() if isinstance(row, Mapping)]
        return nested or [dict(validation)]
    return [dict(row) for row in validation] if isinstance(validation, list) else []


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return wording.count(value) if isinstance(value, int) and not isinstance(value, bool) else str(value or "–")


# ---------------------------------------------------------------- what could not be checked


def _unchecked(material: Material) -> tuple[tuple[str, int, str], ...]:
    """What is missing, in how many samples, and what it would unlock."""
    lacks = Counter(name for row in material.failures.get("unchecked", []) for name in row)
    return tuple(
        (_t(f"report.lacks.{name}.what"), n, _t(f"report.lacks.{name}.unlocks")) for name, n in lacks.most_common()
    )


def _notes(material: Material) -> list[str]:
    """Samples that could not be tested or judged, rejected rows, metrics without any score."""
    notes = []
    untested = int(material.failures["passed"].isna().sum())
    if untested:
        notes.append(_t("report.measured.untested", n=wording.count(untested), total=wording.count(material.n)))
    errors = material.evaluation.errors()
    if len(errors):
        reasons = listed(f"{reason} {n}" for reason, n in Counter(errors["reason"].tolist()).most_common(3))
        ids = errors["sample_id"].nunique()
        notes.append(_t("report.measured.errors", n=wording.count(ids), total=wording.count(material.n), reasons=reasons))
    empty = [_empty(str(name), row) for name, row in material.summary.iterrows() if not row["n_ok"]]
    if empty:
        notes.append(_t("report.measured.no_score", metrics=listed(empty)))
    return notes


def _empty(name: str, row: Any) -> str:
    states = [f"{state_title(s)} {int(row[f'n_{s}'])}" for s in ("not_applicable", "undefined", "skipped") if row[f"n_{s}"]]
    errors = [f"{_t('report.quality.error')} {int(row['n_error'])}"] if row["n_error"] else []
    return f"{metric_title(name)} ({' · '.join(states + errors)})"
