"""What another tool's judge wrote beside its scores: reasons, verdicts, errors and the model that judged.

``load_samples`` keeps the scores themselves (``SampleSet.recorded_scores``); this reads the rest of the same file.
Known are DeepEval's test results (``metrics_data``) and TruLens's records with feedback (``<name>_calls``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

JUDGEMENT_COLUMNS = ("sample_id", "tool", "metric", "score", "passed", "threshold", "reason", "judge", "state")
_NAN = float("nan")

Judgement = tuple[str, str, float, bool | None, float, str, str, str]


def recorded_judgements(source: str | Path) -> pd.DataFrame:
    """The judgements that DeepEval or TruLens wrote into a file.

    Returns
    -------
    DataFrame
        ``sample_id`` (as ``load_samples`` gives it)``, tool`` (deepeval | trulens)``, metric, score`` (as recorded, NaN
        unless ``state`` is ok)``, passed`` (None where the tool has no threshold)``, threshold, reason, judge, state``
        (``ok`` or ``judge_error``), one row for each sample and metric.

    Raises
    ------
    InputError
        When the file holds no such judgements.
    """
    import pandas as pd

    rows = [(sample_id, *judgement) for sample_id, record in _identified(source) for judgement in _judgements(record)]
    if not rows:
        raise InputError(f"{source}: no judgements of DeepEval (metrics_data) or TruLens (…_calls) are in it")
    return pd.DataFrame(rows, columns=list(JUDGEMENT_COLUMNS))


def _identified(source: str | Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Records that became samples, with the ids of those."""
    from workbench.data.formats.detect import read_source
    from workbench.data.load import load_samples

    samples = load_samples(source)
    rejected = set(samples.rejected["row"].tolist())
    records = read_source(source)
    kept = [row for number, row in zip(records.numbers, records.rows, strict=True) if number not in rejected]
    return zip(samples.frame.index.astype(str).tolist(), kept, strict=True)


def _judgements(record: Mapping[str, Any]) -> Iterator[Judgement]:
    deepeval = _opened(record.get("metrics_data", record.get("metricsData")))
    if isinstance(deepeval, list):
        yield from (_from_deepeval(item) for item in deepeval if isinstance(item, Mapping) and item.get("name"))
    for column, value in record.items():
        calls = _opened(value) if column.endswith("_calls") else None
        if isinstance(calls, list):
            yield _from_trulens(column.removesuffix("_calls"), record, calls)


def _from_deepeval(item: Mapping[str, Any]) -> Judgement:
    score, error = _number(item.get("score")), item.get("error")
    state = "ok" if math.isfinite(score) and not error else "judge_error"
    passed = item.get("success")
    return (
        "deepeval", str(item["name"]), score if state == "ok" else _NAN,
        passed if isinstance(passed, bool) and state == "ok" else None, _number(item.get("threshold")),
        str(error or item.get("reason") or ""), str(item.get("evaluation_model") or item.get("evaluationModel") or ""),
        state,
    )  # fmt: skip


def _from_trulens(name: str, record: Mapping[str, Any], calls: list[Any]) -> Judgement:
    score = _number(record.get(name))
    metas = [call.get("meta") for call in calls if isinstance(call, Mapping)]
    reasons = [str(m.get("reasons") or m.get("reason") or "") for m in metas if isinstance(m, Mapping)]
    if not math.isfinite(score):
        returned = [_number(call.get("ret")) for call in calls if isinstance(call, Mapping)]
        score = sum(returned) / len(returned) if returned else _NAN
    state = "ok" if math.isfinite(score) else "judge_error"
    text = "\n".join(reason for reason in reasons if reason)
    return ("trulens", name, score, None, _NAN, text, "", state)


def _opened(value: Any) -> Any:
    """A structure written as JSON text, opened."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return _NAN
    try:
        number = float(value)
    except ValueError:
        return _NAN
    return number if math.isfinite(number) else _NAN
