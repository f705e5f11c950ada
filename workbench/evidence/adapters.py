"""RAGAS metrics over the same samples, shown beside ours. Needs the optional package ``ragas``.

RAGAS runs in a thread and loop of its own, so that nothing patches the notebook's loop. A score that it could not
compute is NaN and counted, never 0.

Tried with ragas 0.4.3, which needs ``langchain-community<0.4`` beside it and takes the client ``openai`` back to version
1: install it in an environment of its own and carry the scores over, or do without ``LLMJudge`` there.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.data.formats.records import opened
from workbench.data.record import Put, iterate
from workbench.data.schema import Sample, SampleSet
from workbench.errors import InputError, JudgeError

# ---------------------------------------------------------------- what another tool's judge wrote beside its scores
#
# Reasons, verdicts, errors and the model that judged.
# ``load_samples`` keeps the scores themselves (``SampleSet.recorded_scores``); this reads the rest of the same file.
# Known are DeepEval's test results (``metrics_data``) and TruLens's records with feedback (``<name>_calls``).


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

    Examples
    --------
    >>> wb.recorded_judgements("deepeval_results.json")  # doctest: +SKIP
    """
    rows = [(sample_id, *judgement) for sample_id, record in _identified(source) for judgement in _judgements(record)]
    if not rows:
        raise InputError(f"{source}: no judgements of DeepEval (metrics_data) or TruLens (…_calls) are in it")
    return pd.DataFrame(rows, columns=list(JUDGEMENT_COLUMNS))


def _identified(source: str | Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Records that became samples, with the ids of those."""
    from workbench.data.formats.source import read_source
    from workbench.data.load import load_samples

    samples = load_samples(source)
    rejected = set(samples.rejected["row"].tolist())
    records = read_source(source)
    kept = [row for number, row in zip(records.numbers, records.rows, strict=True) if number not in rejected]
    return zip(samples.frame.index.astype(str).tolist(), kept, strict=True)


def _judgements(record: Mapping[str, Any]) -> Iterator[Judgement]:
    deepeval = opened(record.get("metrics_data", record.get("metricsData")))
    if isinstance(deepeval, list):
        yield from (_from_deepeval(item) for item in deepeval if isinstance(item, Mapping) and item.get("name"))
    for column, value in record.items():
        calls = opened(value) if column.endswith("_calls") else None
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


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return _NAN
    try:
        number = float(value)
    except ValueError:
        return _NAN
    return number if math.isfinite(number) else _NAN


# ---------------------------------------------------------------- RAGAS

METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
#: Put before RAGAS's own names, so that they are never taken for ours.
PREFIX = "ragas_"


def ragas_scores(
    samples: SampleSet | Sequence[Sample],
    metrics: Sequence[Any] = METRICS,
    *,
    llm: Any = None,
    embeddings: Any = None,
    model: str | None = None,
    base_url: str | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """RAGAS's scores for samples.

    Parameters
    ----------
    metrics
        Names of RAGAS metrics, or its metric objects.
    llm, embeddings
        RAGAS's own objects; or ``model`` (with ``base_url`` and the key from ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``).
    progress
        Show RAGAS's progress bar.

    Returns
    -------
    DataFrame
        Index ``sample_id``, a float column ``ragas_<metric>`` for each metric, NaN where RAGAS gave nothing.

    Raises
    ------
    InputError
        When ``ragas`` is not installed or has no metric of that name.
    JudgeError
        When RAGAS itself fails.
    """
    ragas = _library()
    items = samples.samples() if isinstance(samples, SampleSet) else list(samples)
    rows = [_row(sample) for sample in items]
    chosen = [_metric(ragas, item) for item in metrics]
    options: dict[str, Any] = {"llm": llm if llm is not None or model is None else _llm(model, base_url)}
    options |= {"embeddings": embeddings, "show_progress": progress, "raise_exceptions": False}

    async def run(put: Put) -> None:
        """Ask ragas in this loop, or in a thread where its version has no such call."""
        data = ragas.EvaluationDataset.from_list(rows)
        # ``aevaluate`` leaves the loop alone; older versions only have ``evaluate``.
        if hasattr(ragas, "aevaluate"):
            put(await ragas.aevaluate(data, metrics=chosen, **options))
        else:
            put(await asyncio.to_thread(ragas.evaluate, data, metrics=chosen, **options))

    try:
        (result,) = iterate(run)
    except Exception as error:  # noqa: BLE001 - whatever the other library raises, said in one line
        raise JudgeError(f"ragas failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}") from None
    index = pd.Index([sample.sample_id for sample in items], name="sample_id", dtype="str")
    names = list(dict.fromkeys(name for row in result.scores for name in row))
    columns = {f"{PREFIX}{name}": [_number(row.get(name)) for row in result.scores] for name in names}
    return pd.DataFrame(columns, index=index, dtype=float)


def with_ragas(samples: SampleSet, metrics: Sequence[Any] = METRICS, **options: Any) -> SampleSet:
    """The samples with RAGAS's scores among ``recorded_scores``, where every panel shows them beside ours.

    Options are those of :func:`ragas_scores`, as are the errors raised.

    Examples
    --------
    >>> wb.with_ragas(samples, llm=llm)  # doctest: +SKIP
    """
    found = ragas_scores(samples, metrics, **options)
    kept = samples.recorded_scores.drop(columns=found.columns, errors="ignore")
    return dataclasses.replace(samples, recorded_scores=pd.concat([kept, found.reindex(kept.index)], axis=1))


def _library() -> Any:
    try:
        import ragas
        import ragas.metrics
    except ImportError as error:
        raise InputError(f"RAGAS cannot be used ({error}); pip install ragas") from error
    return ragas


def _row(sample: Sample) -> dict[str, Any]:
    """A sample under RAGAS's names; what is missing is left out, because RAGAS takes None for a text."""
    prompted = None if sample.contexts is None else [c.text for c in sample.contexts if c.prompted]
    row = {
        "user_input": sample.question, "response": sample.answer, "retrieved_contexts": prompted,
        "reference": sample.reference,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None}


def _metric(ragas: Any, metric: Any) -> Any:
    if not isinstance(metric, str):
        return metric
    found = getattr(ragas.metrics, metric, None)
    if found is None:
        raise InputError(f"ragas has no metric {metric!r}; common ones are {', '.join(METRICS)}")
    return found() if isinstance(found, type) else found


def _llm(model: str, base_url: str | None) -> Any:
    import openai
    from ragas.llms import llm_factory

    address = base_url or os.environ.get("OPENAI_BASE_URL")
    return llm_factory(
        model, client=openai.AsyncOpenAI(base_url=address, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    )
