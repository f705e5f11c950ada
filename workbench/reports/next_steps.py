"""Section 6: what to do next. Three actions at most, by layer, each with how many failures it would touch."""

from __future__ import annotations

from collections import Counter

from workbench.diagnosis.attribution import CAUSES
from workbench.diagnosis.explain import advice
from workbench.diagnosis.layers import LAYERS
from workbench.diagnosis.layers import layer as layer_of
from workbench.language import text as _t
from workbench.reports.report import Action, Material
from workbench.views.names import cause_title

MOST = 3
#: Causes of a layer whose advice is written out.
ADVICES = 3
#: What blocks a release whatever the averages say.
RED_LINE = "permission_leak"


def actions(material: Material) -> tuple[Action, ...]:
    """Red lines first, then the layers that most failures belong to; ties in the order of the pipeline."""
    primary = Counter(material.failing["primary_cause"].tolist())
    layers = Counter[str]()
    for cause, n in primary.items():
        layers[layer_of(cause)] += n
    ranked = sorted(layers, key=lambda layer: (layer != layer_of(RED_LINE), -layers[layer], LAYERS.index(layer)))
    return tuple(_action(layer, primary, len(material.failing)) for layer in ranked[:MOST])


def _action(layer: str, primary: Counter[str], n_failing: int) -> Action:
    own = {cause: n for cause, n in primary.items() if layer_of(cause) == layer}
    order = sorted(own, key=lambda cause: (-own[cause], CAUSES.index(cause)))
    return Action(
        layer, _t(f"report.layer.{layer}"), sum(own.values()), n_failing,
        tuple((cause_title(cause), own[cause]) for cause in order),
        tuple(advice(cause) for cause in order[:ADVICES]), RED_LINE in own,
    )  # fmt: skip
