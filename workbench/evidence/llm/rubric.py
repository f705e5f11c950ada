"""Ratings by criteria of one's own, and the consistency of an answer with other answers to the same question.

Both use the judge's endpoint, cache, budget and reading rules; neither puts a number where a reply could not be read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from workbench.data.record import iterate
from workbench.data.schema import Context, Sample, SampleSet
from workbench.errors import InputError
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.judge import Asker, LLMJudge, Repairs
from workbench.evidence.llm.prompts import Task, make_task, part_call, rubric_call
from workbench.evidence.llm.replies import read_part, read_rating

if TYPE_CHECKING:
    import pandas as pd

RATING_COLUMNS = ("sample_id", "criterion", "score", "reasoning", "state", "reason", "method")
CONSISTENCY_COLUMNS = ("sample_id", "score", "n_sentences", "n_answers", "inconsistent", "state", "reason", "method")
_NAN = float("nan")
#: Names of the criteria that ``rubrics.toml`` words.
PRESETS = ("faithfulness", "relevance", "completeness")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is rated: a short name and the criterion in words, in English and in Chinese (either may serve for both)."""

    name: str
    en: str
    zh: str

    def text(self, language: str) -> str:
        """The criterion for a prompt in ``language``."""
        return self.zh if language == "zh" else self.en


@cache
def presets() -> Mapping[str, Criterion]:
    """The criteria that are known by name: ``faithfulness, relevance, completeness``."""
    table = tomllib.loads(resources.files(__package__).joinpath("rubrics.toml").read_text(encoding="utf-8"))
    return {name: Criterion(name, **texts) for name, texts in table.items()}


def criterion(value: str | Criterion | Mapping[str, str]) -> Criterion:
    """A criterion from the name of a preset, ``{"name": …, "en": …, "zh": …}`` (one language is enough), or itself.

    Raises
    ------
    InputError
        For a name that is no preset, or a mapping without a name or without words.
    """
    if isinstance(value, Criterion):
        return value
    if isinstance(value, str):
        if value not in presets():
            raise InputError(f"criterion {value!r} is not known; use {', '.join(presets())} or give its words")
        return presets()[value]
    words = value.get("en") or value.get("zh")
    if not value.get("name") or not words:
        raise InputError("a criterion needs a name and its words in en or zh")
    return Criterion(value["name"], value.get("en") or words, value.get("zh") or words)


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
        Names of presets (see :func:`presets`), criteria of one's own as ``{"name": …, "en": …, "zh": …}``, or one of them.

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
    """
    import pandas as pd

    several = [criteria] if isinstance(criteria, (str, Criterion, Mapping)) else criteria
    wanted = [criterion(value) for value in several]
    model = LLMJudge.from_spec(judge) if isinstance(judge, str) else judge
    rated = samples.samples() if isinstance(samples, SampleSet) else list(samples)
    items = [_Rating(sample, chosen, model) for sample in rated for chosen in wanted]
    rows = dict(iterate(lambda put: model.batch().work(items, _Rating.ask, put, _Rating.failed)))
    return pd.DataFrame([rows[item.key] for item in items], columns=list(RATING_COLUMNS))


@dataclass(frozen=True)
class _Rating:
    sample: Sample
    criterion: Criterion
    judge: LLMJudge

    @property
    def key(self) -> tuple[str, str]:
        """Sample and criterion."""
        return self.sample.sample_id, self.criterion.name

    def row(self, score: float, reasoning: str, state: str, reason: str) -> tuple[tuple[str, str], tuple[Any, ...]]:
        """The key and the row of :data:`RATING_COLUMNS`."""
        return self.key, (*self.key, score, reasoning, state, reason, self.judge.method)

    def failed(self, reason: str, state: str = "judge_error") -> tuple[tuple[str, str], tuple[Any, ...]]:
        """The row without a score."""
        return self.row(_NAN, "", state, reason)

    async def ask(self, asker: Asker) -> tuple[tuple[str, str], tuple[Any, ...]]:
        """The row of one rating, after one call (none without an answer)."""
        settings = self.judge.settings
        task = make_task(self.sample, settings.context_tokens, settings.language)
        if not task.answer:
            return self.failed("no_answer", "undefined")
        call = rubric_call(task, self.criterion.name, self.criterion.text(task.language))
        reply = await asker.ask(call, lambda text, cut: read_rating(text, cut_off=cut), Repairs(), task.language, 120)
        assert reply.rating is not None
        return self.row(reply.rating.score, reply.rating.reasoning, "ok", "; ".join(task.notes))


# ---------------------------------------------------------------- several answers to one question


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
    import pandas as pd

    items = [_Consistency(sample, judge) for sample in samples]
    rows = dict(iterate(lambda put: judge.batch().work(items, _Consistency.ask, put, _Consistency.failed)))
    frame = pd.DataFrame([rows[item.sample.sample_id] for item in items], columns=list(CONSISTENCY_COLUMNS))
    return frame.astype({"n_sentences": "int64", "n_answers": "int64"})


@dataclass(frozen=True)
class _Consistency:
    sample: Sample
    judge: LLMJudge

    def failed(self, reason: str, state: str = "judge_error") -> tuple[str, tuple[Any, ...]]:
        """The row without a score."""
        key = self.sample.sample_id
        return key, (key, _NAN, 0, len(self.sample.sampled_answers), [], state, reason, self.judge.method)

    async def ask(self, asker: Asker) -> tuple[str, tuple[Any, ...]]:
        """The sample id and the row of :data:`CONSISTENCY_COLUMNS`."""
        from workbench.data.text.sentences import sentences

        others = [text for text in self.sample.sampled_answers if text.strip()]
        claims = [span.text for span in sentences(self.sample.answer or "")][:MAX_CLAIMS]
        if not others:
            return self.failed("no sampled_answers were recorded", "not_applicable")
        if not claims:
            return self.failed("no_answer", "undefined")
        shares = await self._shares(asker, claims, others)
        key = self.sample.sample_id
        score = 1 - sum(shares) / len(shares)
        return key, (key, score, len(claims), len(others), shares, "ok", "", self.judge.method)

    async def _shares(self, asker: Asker, claims: list[str], others: list[str]) -> list[float]:
        """Per sentence the share of other answers that do not support it."""
        settings = self.judge.settings
        contexts = tuple(Context(text) for text in others)
        material = Sample(self.sample.sample_id, self.sample.question, contexts=contexts)
        task = make_task(material, settings.context_tokens, settings.language)
        supported: list[set[int]] = [set() for _ in claims]
        repairs = Repairs()
        for number in range(len(task.parts)):
            await self._part(asker, task, number, claims, repairs, supported)
        return [1 - len(found) / len(others) for found in supported]

    @staticmethod
    async def _part(
        asker: Asker, task: Task, number: int, claims: list[str], repairs: Repairs, supported: list[set[int]]
    ) -> None:
        pieces = task.parts[number]
        call = part_call(task, number, claims, relevance=False)

        def read(text: str, cut_off: bool) -> Any:
            reply = read_part(text, len(claims), len(pieces), relevance=False, cut_off=cut_off)
            return reply.strict()

        reply = await asker.ask(call, read, repairs, task.language, 12 * len(claims) * len(pieces))
        for at, found in enumerate(supported, start=1):
            verdicts = reply.by_number[at].verdicts
            found |= {pieces[n - 1].index for n, verdict in verdicts.items() if verdict == "supported"}
