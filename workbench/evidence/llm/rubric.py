"""Ratings by criteria of one's own, and the consistency of an answer with other answers to the same question.

Both use the judge's endpoint, cache, budget and reading rules; neither puts a number where a reply could not be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.data.record import iterate
from workbench.data.schema import Context, Sample, SampleSet
from workbench.data.text.sentences import sentences
from workbench.errors import InputError
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.asking import Asker, Repairs
from workbench.evidence.llm.judge import LLMJudge
from workbench.evidence.llm.prompts import part_call, prefer_call, rubric_call
from workbench.evidence.llm.replies import Reply, read_part, read_preference, read_rating
from workbench.language import codes, languages

RATING_COLUMNS = ("sample_id", "criterion", "score", "reasoning", "state", "reason", "method")
CONSISTENCY_COLUMNS = ("sample_id", "score", "n_sentences", "n_answers", "inconsistent", "state", "reason", "method")
_NAN = float("nan")
#: Names of the criteria that ``rubrics.toml`` of each language words.
PRESETS = ("faithfulness", "relevance", "completeness")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is rated: a short name and the criterion in words, by code of the language."""

    name: str
    words: Mapping[str, str]

    def text(self, language: str) -> str:
        """The criterion for a prompt in ``language``; in another language where it has none in that."""
        return self.words.get(language) or next(iter(self.words.values()))


def presets() -> Mapping[str, Criterion]:
    """The criteria that are known by name: ``faithfulness, relevance, completeness``."""
    tables = {item.code: item.table("rubrics") for item in languages()}
    return {name: Criterion(name, {code: t[name] for code, t in tables.items() if name in t}) for name in PRESETS}


def criterion(value: str | Criterion | Mapping[str, str]) -> Criterion:
    """A criterion from the name of a preset, from a name and its words by language (one is enough), or itself.

    Raises ``InputError`` for a name that is no preset, or a mapping without a name or without words.
    """
    if isinstance(value, Criterion):
        return value
    known = presets()
    if isinstance(value, str):
        if value not in known:
            raise InputError(f"criterion {value!r} is not known; use {', '.join(known)} or give its words")
        return known[value]
    words = {code: value[code] for code in codes() if value.get(code)}
    if not value.get("name") or not words:
        raise InputError(f"a criterion needs a name and its words in {' or '.join(codes())}")
    return Criterion(value["name"], words)


def rate(
    judge: LLMJudge | str,
    samples: SampleSet | Sequence[Sample],
    criteria: str | Criterion | Mapping[str, str] | Sequence[str | Criterion | Mapping[str, str]] = PRESETS,
) -> pd.DataFrame:
    """Rate each answer by each criterion: one call each, kept by content.

    Parameters
    ----------
    judge
        A judge, or ``"llm:MODEL"`` (endpoint and key from the environment).
    criteria
        Names of presets (see :func:`presets`), criteria of one's own (see :func:`criterion`), or one of them.

    Returns
    -------
    DataFrame
        ``sample_id, criterion, score`` (in [0, 1], NaN unless ``state`` is ok)``, reasoning, state, reason, method``,
        one row for each sample and criterion in their order. Without an answer the state is ``undefined``.

    Raises
    ------
    InputError
        For a criterion or a judge that is not known.
    JudgeError
        As :meth:`LLMJudge.examine` does.

    Examples
    --------
    >>> wb.rate("llm:MODEL", samples, "faithfulness")  # doctest: +SKIP
    """
    wanted = [criterion(v) for v in ([criteria] if isinstance(criteria, (str, Criterion, Mapping)) else criteria)]
    model = LLMJudge.from_spec(judge) if isinstance(judge, str) else judge
    items = [(s, c) for s in (samples.samples() if isinstance(samples, SampleSet) else samples) for c in wanted]

    def row(
        item: tuple[Sample, Criterion], reason: str, state: str = "judge_error", score: float = _NAN, why: str = ""
    ) -> Any:
        """One row of the table under its key; by default that of a judgement that failed."""
        key = (item[0].sample_id, item[1].name)
        return key, (*key, score, why, state, reason, model.method)

    async def ask(item: tuple[Sample, Criterion], asker: Asker) -> Any:
        """One sample by one criterion; without an answer there is nothing to ask."""
        sample, chosen = item
        task = model.settings.task(sample)
        if not task.answer:
            return row(item, "no_answer", "undefined")
        call = rubric_call(task, chosen.name, chosen.text(task.language))
        reply = await asker.ask(call, lambda text, cut: read_rating(text, cut_off=cut), Repairs(), task.language, 120)
        assert reply.rating is not None
        return row(item, "; ".join(task.notes), "ok", reply.rating.score, reply.rating.reasoning)

    rows = dict(iterate(lambda put: model.batch().work(items, ask, put, row)))
    ordered = [rows[sample.sample_id, chosen.name] for sample, chosen in items]
    return pd.DataFrame(ordered, columns=list(RATING_COLUMNS))


def preferences(
    judge: LLMJudge | str, samples: Sequence[Sample], first: Sequence[str | None], second: Sequence[str | None],
    by: str | Criterion | Mapping[str, str] = "completeness",
) -> pd.DataFrame:  # fmt: skip
    """Which of two answers to each sample is better, asked in both orders: two calls each, kept by content.

    Returns
    -------
    DataFrame
        ``sample_id, shown_first, shown_second`` (what was said with the first answer shown first, and second: ``a, b,
        tie``)``, state, reason``. Equal answers are a tie without a call; without one of the answers the state is
        ``undefined``.
    """
    model = LLMJudge.from_spec(judge) if isinstance(judge, str) else judge
    wanted = criterion(by)
    items = [(s, a or "", b or "") for s, a, b in zip(samples, first, second, strict=True)]

    def row(item: Any, reason: str, state: str = "judge_error", *said: str | None) -> Any:
        return item[0].sample_id, (item[0].sample_id, *(said or (None, None)), state, reason)

    async def ask(item: Any, asker: Asker) -> Any:
        """Both answers in both orders; equal or missing ones cost no call."""
        sample, a, b = item
        if not a.strip() or not b.strip():
            return row(item, "no_answer", "undefined")
        if a.strip() == b.strip():
            return row(item, "the same answer", "ok", "tie", "tie")
        task, repairs, said = model.settings.task(sample), Repairs(), []
        for answers, names in (((a, b), {"first": "a", "second": "b"}), ((b, a), {"first": "b", "second": "a"})):
            call = prefer_call(task, answers, wanted.name, wanted.text(task.language))
            reply = await asker.ask(call, lambda text, cut: read_preference(text, cut_off=cut), repairs, task.language, 120)
            assert reply.preferred is not None
            said.append(names.get(reply.preferred.better, "tie"))
        return row(item, "; ".join(task.notes), "ok", *said)

    rows = dict(iterate(lambda put: model.batch().work(items, ask, put, row)))
    columns = ["sample_id", "shown_first", "shown_second", "state", "reason"]
    return pd.DataFrame([rows[sample.sample_id] for sample, *_ in items], columns=columns)


def sampled_consistency(judge: LLMJudge, samples: Sequence[Sample]) -> pd.DataFrame:
    """How far each answer agrees with ``sampled_answers``, other answers of the same system to the same question.

    SelfCheckGPT with prompts (Manakul et al. 2023): each sentence of the answer is checked against each other answer;
    it is inconsistent with those that do not support it. The score is 1 − the mean share over sentences: 1 when
    every other answer supports every sentence. One call a sample (more when the answers are long).

    Returns
    -------
    DataFrame
        ``sample_id, score`` (in [0, 1], higher is better, NaN unless ``state`` is ok)``, n_sentences, n_answers,
        inconsistent`` (per sentence the share of other answers that do not support it)``, state, reason, method``.
        ``not_applicable`` without other answers, ``undefined`` without an answer.

    Raises
    ------
    JudgeError
        As :meth:`LLMJudge.examine` does.
    """

    def failed(sample: Sample, reason: str, state: str = "judge_error") -> Any:
        """The row of a sample that has no score, with the reason."""
        key = sample.sample_id
        return key, (key, _NAN, 0, len(sample.sampled_answers), [], state, reason, judge.method)

    async def ask(sample: Sample, asker: Asker) -> Any:
        others = [text for text in sample.sampled_answers if text.strip()]
        claims = [span.text for span in sentences(sample.answer or "")][:MAX_CLAIMS]
        if not others:
            return failed(sample, "no sampled_answers were recorded", "not_applicable")
        if not claims:
            return failed(sample, "no_answer", "undefined")
        shares = await _shares(judge, asker, sample, claims, others)
        key, score = sample.sample_id, 1 - sum(shares) / len(shares)
        return key, (key, score, len(claims), len(others), shares, "ok", "", judge.method)

    rows = dict(iterate(lambda put: judge.batch().work(samples, ask, put, failed)))
    frame = pd.DataFrame([rows[sample.sample_id] for sample in samples], columns=list(CONSISTENCY_COLUMNS))
    return frame.astype({"n_sentences": "int64", "n_answers": "int64"})


async def _shares(judge: LLMJudge, asker: Asker, sample: Sample, claims: list[str], others: list[str]) -> list[float]:
    """Per sentence the share of other answers that do not support it."""
    material = Sample(sample.sample_id, sample.question, contexts=tuple(Context(text) for text in others))
    task = judge.settings.task(material)
    supported: list[set[int]] = [set() for _ in claims]
    repairs = Repairs()
    for number, pieces in enumerate(task.parts):

        def read(text: str, cut_off: bool, n: int = len(pieces)) -> Reply:
            """The verdicts of one reply, which has to have them all."""
            return read_part(text, len(claims), n, relevance=False, cut_off=cut_off).strict()

        call = part_call(task, number, claims, relevance=False)
        reply = await asker.ask(call, read, repairs, task.language, 12 * len(claims) * len(pieces))
        for at, found in enumerate(supported, start=1):
            verdicts = reply.by_number[at].verdicts
            found |= {pieces[n - 1].index for n, verdict in verdicts.items() if verdict == "supported"}
    return [1 - len(found) / len(others) for found in supported]
