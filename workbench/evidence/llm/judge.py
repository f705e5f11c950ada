"""A language model as judge: any OpenAI-compatible endpoint, at most three calls a sample for the whole metric set.

One structured reply holds the claims of answer and reference, the verdict of every numbered context on each, each
context's relevance and whether the answer declines; a second call, which sees the answer alone, makes reverse
questions; at most one call repairs. Contexts over the token budget add one call for each further part.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.redact import redacted
from workbench.data.runner import iterate
from workbench.data.schema import Sample
from workbench.errors import InputError
from workbench.evidence.answer_similarity import AnswerSimilarity
from workbench.evidence.cache import Cache
from workbench.evidence.judge import SampleEvidence
from workbench.evidence.llm.asking import ReplyCache
from workbench.evidence.llm.assemble import warm_up
from workbench.evidence.llm.batch import Batch
from workbench.evidence.llm.budget import Budget, Plan, Spending, price_of
from workbench.evidence.llm.client import check_ready
from workbench.evidence.llm.estimate import make_plan
from workbench.evidence.llm.family import family_warning
from workbench.evidence.llm.outcomes import Outcomes
from workbench.evidence.llm.prompts import PROMPT_VERSION, prompt_hash
from workbench.evidence.llm.relevancy import QuestionComparer
from workbench.evidence.llm.settings import Settings

if TYPE_CHECKING:
    from workbench.evidence.embed import Encoder


class LLMJudge:
    """Judges with a language model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    model
        The name that the endpoint knows.
    base_url, api_key
        Default ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``. The key is never shown, logged, pickled or written.
    language
        ``"en"`` or ``"zh"`` for all prompts; None: the language of each question.
    cache
        Where replies and the endpoint's reply format are kept; None for the default cache, False for none.
    timeout, retries
        Seconds for one attempt; further attempts on 429, 5xx, closed connections and time-outs.
    workers
        Most requests at once; fewer while the endpoint pushes back.
    budget
        Dollars, or ``{"calls": …, "tokens": …, "cost": …}``. When spent, the samples left are ``skipped``.
    context_tokens
        Most estimated tokens of contexts in one call; longer ones are judged in parts.
    questions
        Reverse questions a sample, 0 for none (then answer relevancy is ``skipped``).
    encoder
        Compares reverse questions with the real one, and the answer with the reference: a name that ``resolve_encoder``
        knows (``"auto"``: the embedded model, slower and better) or an encoder; default the character n-gram encoder.
    generator
        The model that wrote the answers; one of the judge's own family gives a warning.
    requests_per_minute, tokens_per_minute
        The endpoint's allowances, when there are any.
    prices
        A price table (see ``prices.toml``); default the package's own.
    options_file
        TOML file whose ``[llm]`` table gives any of these but the key; arguments given here win.
    temperature, max_output_tokens, max_tokens_name, query, headers, extra
        See :class:`~workbench.evidence.llm.client.EndpointOptions`.

    Attributes
    ----------
    warnings
        Things to know before trusting the verdicts.
    spending
        Requests, calls, tokens and dollars so far.
    outcomes
        How each sample ended; ``outcomes.frame()`` counts them by cause.

    Raises
    ------
    InputError
        For an option that is not known or out of range, or a budget in dollars with an unknown price.
    """

    def __init__(
        self, model: str, *, cache: Cache | bool | None = None, encoder: str | Encoder | None = None, **options: Any
    ) -> None:
        self.model = model
        self.settings = Settings.of(options)
        self.endpoint = self.settings.endpoint(model)
        self.price = price_of(model, self.settings.prices)
        budget = Budget.of(self.settings.budget)
        if budget.cost is not None and self.price is None:
            raise InputError(f"budget: the price of {model} is unknown; give a price table (prices=) or bound tokens")
        self.spending = Spending(budget, self.price)
        self.warnings = family_warning(model, self.settings.generator)
        self.outcomes = Outcomes()
        self.cache: Cache | None = Cache() if cache is None or cache is True else cache or None
        self._wanted_encoder = encoder if encoder is not None else "ngram"
        self._cancelled = _Flag()

    @classmethod
    def from_spec(cls, spec: str, options: Mapping[str, Any] | str | Path | None = None, **more: Any) -> LLMJudge:
        """A judge from ``"llm:MODEL"`` and options: a mapping, a TOML file with a ``[llm]`` table, or nothing.

        Raises
        ------
        InputError
            When ``spec`` names no model, and for what the constructor refuses.
        """
        kind, _, model = spec.partition(":")
        if kind != "llm" or not model.strip():
            raise InputError(f"judge {spec!r}: write llm:MODEL, for example llm:gpt-4.1-mini")
        given = {"options_file": options} if isinstance(options, str | Path) else dict(options or {})
        return cls(model.strip(), **{**given, **more})

    def __repr__(self) -> str:
        return f"LLMJudge({self.model!r}, endpoint={self.endpoint.address!r})"

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded when it is first needed."""
        from workbench.evidence.embed_resolve import resolve_encoder

        return resolve_encoder(self._wanted_encoder)

    @property
    def method(self) -> str:
        """Which judge this is, as scores say it."""
        return f"llm:{self.model}"

    @property
    def name(self) -> str:
        """Model, endpoint, prompts and every option that can change a verdict; never the key."""
        from workbench.evidence.embed import encoder_identity

        s = self.settings
        name = " ".join((
            self.method, f"at={self.endpoint.address}", f"prompts={self.prompt_hash}",
            f"language={s.language or 'auto'}", f"context_tokens={s.context_tokens}", f"questions={s.questions}",
            f"temperature={s.temperature}", f"max_output={s.max_output_tokens}",
            f"extra={sorted((s.extra or {}).items())}", f"encoder={encoder_identity(self.encoder)}",
        ))  # fmt: skip
        return redacted(name, self.endpoint.secrets())

    def know_generator(self, name: str | None) -> None:
        """Say which model wrote the answers, unless the options did; a warning may follow."""
        if name and not self.settings.generator:
            self.settings = dataclasses.replace(self.settings, generator=name)
        self.warnings = family_warning(self.model, self.settings.generator)

    def plan(self, samples: Sequence[Sample]) -> Plan:
        """Calls, tokens, time and price of judging ``samples``, without sending anything; kept replies cost nothing."""
        kept = ReplyCache(self.cache, self.endpoint)
        return make_plan(samples, self.settings, kept, self.model, self.price, self.warnings)

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        """Yield evidence as it completes, one item a sample; see :class:`~workbench.evidence.judge.Judge`.

        Raises
        ------
        JudgeError
            After repeated rejection of the key, an exhausted quota, an unknown model or an unreachable endpoint, and
            when the package ``openai`` is missing. Replies that came before are kept.
        """
        if not samples:
            return
        self.check_ready()
        by_id = {sample.sample_id: sample for sample in samples}
        comparer, likeness = QuestionComparer(self.encoder), AnswerSimilarity(self.encoder)
        if self.settings.questions:
            comparer.prepare()
        if any(sample.answer and sample.reference for sample in samples):
            _ = likeness.background
        warm_up()
        self._cancelled.clear()
        self.outcomes.start(len(samples))
        for evidence in iterate(lambda put: self.batch().run(samples, put)):
            sample = by_id[evidence.sample_id]
            comparer.compare(evidence, sample.question)
            likeness.compare(evidence, sample)
            self.outcomes.add(evidence)
            yield evidence

    def check_ready(self) -> None:
        """Raise what would stop the first call, before anything else is done.

        Raises
        ------
        JudgeError
            When the package ``openai`` is missing, or OpenAI itself would be asked without a key.
        """
        check_ready(self.endpoint)

    @property
    def prompt_hash(self) -> str:
        """Version and hash of all prompts."""
        return f"{PROMPT_VERSION}.{prompt_hash()}"

    def batch(self) -> Batch:
        """A run over this judge's endpoint, cache and budget; what other ways of judging are built on."""
        return Batch(self.settings, self.endpoint, self.cache, self.spending, self._cancelled.event, self.method)

    def with_options(self, **changes: Any) -> LLMJudge:
        """The same judge, with its cache, budget and counts, under changed options (see the constructor)."""
        other = copy.copy(self)
        other.settings = dataclasses.replace(self.settings, **changes)
        other.endpoint = other.settings.endpoint(self.model)
        return other

    def cancel(self) -> None:
        """Stop within about a second; samples left are ``skipped``, replies that came are kept. Safe from any thread."""
        self._cancelled.set()

    def status(self) -> str:
        """Progress in one line: samples done, rate, calls, cost so far."""
        return self.outcomes.line(self.spending)


class _Flag:
    """A cancel flag that can be pickled (cleared) with its judge."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.set, self.clear = self.event.set, self.event.clear

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Flag, ())
