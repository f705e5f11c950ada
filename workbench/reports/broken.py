"""Section 2 and the appendix: what is broken, with real samples, the wrong sentence in them, and the fix."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.data.schema import alternatives, none_if_missing
from workbench.data.text import language
from workbench.diagnosis.attribution import CAUSES
from workbench.diagnosis.layers import layer as layer_of
from workbench.diagnosis.statistics import wilson
from workbench.language import text as _t
from workbench.reports.report import CauseBlock, Example, Failing, Material, Stretch
from workbench.views.names import cause_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd

#: Real samples shown for each cause.
EXAMPLES = 2
#: Causes for which the whole answer is what is wrong.
_WHOLE = frozenset({"missing_refusal", "wrong_refusal", "off_topic", "format"})
_SERIOUS = ("medium", "high")


def causes(material: Material) -> tuple[CauseBlock, ...]:
    """The primary causes of failing samples, the most frequent first; red lines and ties in the order of the chain."""
    failing = material.failing
    primary = Counter(failing["primary_cause"].tolist())
    among = Counter(cause for row in failing["causes"] for cause in set(row))
    order = sorted(primary, key=lambda cause: (-primary[cause], CAUSES.index(cause)))
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
    spoken = _language(material, first[0][0])
    return [*first, next((item for item in rest if _language(material, item[0]) != spoken), rest[0])]


def _language(material: Material, sample_id: Any) -> str:
    return language(str(material.samples.at[sample_id, "question"])[:300])


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
        if cause in _WHOLE and answer:
            return (Stretch(0, len(answer), "contradicted"),)
        found = [
            Stretch(int(claim.start), int(claim.end), kind)
            for claim in self._claims.get(sample_id, [])
            if claim.start == claim.start and (kind := _fault(claim, evidence))
        ]
        return tuple(found) or _marks(answer, evidence if cause == "bad_citation" else "")


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


def failing_rows(material: Material) -> tuple[Failing, ...]:
    """Every failing sample, in the order of the causes and then of the data."""
    places = {cause: at for at, cause in enumerate(CAUSES)}
    failing = material.failing
    own = material.samples.loc[failing.index, ["question", "answer"]]
    names = ("primary_cause", "sub_cause", "confidence", "evidence", "advice")
    columns = [own["question"].tolist(), own["answer"].tolist(), *(failing[name].tolist() for name in names)]
    found = [_failing(material, str(row[0]), row[1:]) for row in zip(failing.index, *columns, strict=True)]
    return tuple(sorted(found, key=lambda item: places.get(item.cause, len(places))))


def _failing(material: Material, sample_id: str, row: tuple[Any, ...]) -> Failing:
    question, said, cause, sub_cause, confidence, evidence, advice = row
    own = material.annotations.get(sample_id)
    answer, sub = none_if_missing(said), none_if_missing(sub_cause)
    return Failing(
        sample_id, str(question), None if answer is None else str(answer), str(cause), cause_title(cause),
        None if sub is None else cause_title(sub), float(confidence), str(evidence), str(advice),
        verdict_title(own.verdict) if own is not None and own.verdict else "", own.note if own is not None else "",
    )  # fmt: skip
