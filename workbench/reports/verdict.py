"""The box on top: a reader who stops after it knows the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.diagnosis.hallucinations import clean_bound
from workbench.diagnosis.layers import LAYERS
from workbench.diagnosis.layers import layer as layer_of
from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.next_steps import RED_LINE
from workbench.reports.quality import HEADLINE
from workbench.reports.report import Changes, Material, Measure
from workbench.views.names import cause_title

#: Up to so many samples that broke are named.
NAMED = 5


def verdict(material: Material, measures: Sequence[Measure], changed: Changes | None) -> tuple[str, ...]:
    """Up to five sentences: how many are right, what changed, where the failures are, red lines, targets."""
    right = next((item for item in measures if item.metric == HEADLINE and item.n_ok), None)
    return tuple(
        sentence
        for sentence in (
            _right(material, right), _changed(changed), _layers(material), _leaks(material, measures), _targets(measures),
        )
        if sentence
    )  # fmt: skip


def _right(material: Material, right: Measure | None) -> str:
    if right is None:
        return _t("report.verdict.unknown", n_failing=words.count(len(material.failing)), n=words.count(material.n))
    if right.delta is not None and right.n_pairs:
        real = not words.missing(right.p) and right.p < 0.05  # type: ignore[operator]
        interval = "" if words.missing(right.delta_low) else _t(
            "report.verdict.points_interval", low=words.points(right.delta_low), high=words.points(right.delta_high)
        )  # fmt: skip
        kind = "same" if right.delta == 0 else "real" if real else "noise"
        return _t(
            f"report.verdict.against_{kind}", before=words.percent(right.before), after=words.percent(right.after),
            delta=words.points(right.delta), interval=interval, n=words.count(right.n_pairs),
        )  # fmt: skip
    return _t(
        "report.verdict.right", right=words.count(round(right.mean * right.n_ok)), n=words.count(right.n_ok),
        rate=words.percent(right.mean), interval=words.rate_interval(right.low, right.high),
    )  # fmt: skip


def _changed(changed: Changes | None) -> str:
    if changed is None:
        return ""
    fixed, broken = changed.counts.get("fixed", 0), changed.counts.get("broken", 0)
    ids = [item.sample_id for item in (*changed.flipped, *changed.same_answer) if item.change == "broken"]
    named = _t("report.verdict.which", ids=words.listed(ids)) if 0 < len(ids) <= NAMED else ""
    return _t("report.verdict.flips", fixed=words.count(fixed), broken=words.count(broken),
              n=words.count(changed.n_pairs), which=named)  # fmt: skip


def _layers(material: Material) -> str:
    """The layer that most failures belong to, with its commonest causes, and the next one."""
    primary = Counter(material.failing["primary_cause"].tolist())
    if not primary:
        return _t("report.verdict.all_pass", n=words.count(material.n))
    layers = Counter[str]()
    for cause, n in primary.items():
        layers[layer_of(cause)] += n
    ranked = sorted(layers.items(), key=lambda item: (-item[1], LAYERS.index(item[0])))
    shown = [f"{_t(f'report.layer.{layer}')} {n}" for layer, n in ranked[:3]]
    commonest = [f"{cause_title(cause)} {n}" for cause, n in primary.most_common(2)]
    return _t("report.verdict.layers", n_failing=words.count(len(material.failing)), n=words.count(material.n),
              layers=words.listed(shown), causes=words.listed(commonest))  # fmt: skip


def _leaks(material: Material, measures: Sequence[Measure]) -> str:
    n = int((material.failing["primary_cause"] == RED_LINE).sum())
    if n:
        return _t("report.verdict.leaks", n=words.count(n), total=words.count(material.n))
    checked = next((item.n_ok for item in measures if item.metric == "leaks"), 0)
    return _t("report.verdict.no_leak", n=words.count(checked), bound=f"{clean_bound(checked):.1%}") if checked else ""


def _targets(measures: Sequence[Measure]) -> str:
    judged = [item for item in measures if item.meets_target is not None]
    if not judged:
        return ""
    missed = [item.title for item in judged if not item.meets_target]
    key = "missed" if missed else "met"
    return _t(f"report.verdict.targets_{key}", met=len(judged) - len(missed), n=len(judged), missed=words.listed(missed))
