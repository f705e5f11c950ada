"""What judging will cost, what it did cost, and where to stop.

Token numbers before a call are estimates from the characters (no tokenizer is downloaded): Chinese, Japanese and Korean
characters count 1 each, other characters 1/3.5, which errs on the high side for current models. Prices are dollars for
a million tokens from an editable TOML table; a model that is not in it has an unknown price, never a guessed one.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.errors import InputError
from workbench.language import text

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff]")
_OTHER_PER_TOKEN = 3.5
#: Tokens that a chat endpoint adds around each message.
MESSAGE_TOKENS = 4
_DATED = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{8}|-latest)$")


def estimate_tokens(text: str) -> int:
    """Estimated tokens of ``text``, ≥ 0."""
    wide = len(_WIDE.findall(text))
    return wide + math.ceil((len(text) - wide) / _OTHER_PER_TOKEN)


def message_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """Estimated tokens of a list of chat messages."""
    return sum(estimate_tokens(message["content"]) + MESSAGE_TOKENS for message in messages)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens sent and received."""

    input: float
    output: float

    def cost(self, sent: float, received: float) -> float:
        """Dollars for so many tokens."""
        return (sent * self.input + received * self.output) / 1e6


def price_of(model: str, table: str | Path | None = None) -> Price | None:
    """The price of ``model`` from ``table`` (default: the package's own), or None when it is unknown.

    A date at the end of the name (``-2024-07-18``) and a vendor before a slash are left out when the whole is absent.

    Raises ``InputError`` when the table cannot be read.
    """
    prices = _table(table)
    name = model.lower()
    for candidate in (name, _DATED.sub("", name), _DATED.sub("", name.rsplit("/", 1)[-1])):
        if candidate in prices:
            return prices[candidate]
    return None


def _table(path: str | Path | None) -> dict[str, Price]:
    label = "prices.toml" if path is None else str(path)
    try:
        source = resources.files(__package__).joinpath("prices.toml") if path is None else Path(path)
        models = tomllib.loads(source.read_text(encoding="utf-8"))["models"]
        return {name.lower(): Price(float(row["input"]), float(row["output"])) for name, row in models.items()}
    except OSError as error:
        raise InputError(f"{label}: the price table cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f'{label}: not a price table ({error}); it needs [models] with "NAME" = {{ input = 0.1, output = 0.4 }}'
        ) from error


@dataclass(frozen=True, slots=True)
class Budget:
    """Where spending stops; None for no bound. ``cost`` is in dollars and needs a known price."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    @classmethod
    def of(cls, value: Budget | Mapping[str, Any] | float | None) -> Budget:
        """From a number of dollars, a mapping with ``calls, tokens, cost``, or nothing.

        Raises ``InputError`` for another name, or a bound that is no number ≥ 0.
        """
        if value is None or isinstance(value, Budget):
            return value or cls()
        fields = dict(value) if isinstance(value, Mapping) else {"cost": value}
        for name, bound in fields.items():
            if name not in cls.__slots__:
                raise InputError(f"budget: unknown bound {name!r}; known are calls, tokens, cost")
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound < math.inf:
                raise InputError(f"budget: {name} is {bound!r}; use a number from 0 on")
        return cls(**fields)


@dataclass(slots=True)
class Spending:
    """Actual figures of a judge, and the decision whether one more call is within the budget.

    ``requests`` counts everything that was sent, retries and format probes too; ``calls`` only completed ones.
    """

    budget: Budget = field(default_factory=Budget)
    price: Price | None = None
    requests: int = 0
    calls: int = 0
    repairs: int = 0
    cached: int = 0
    sent: int = 0
    received: int = 0
    _reserved: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    @property
    def cost(self) -> float | None:
        """Dollars so far, None when the price is unknown."""
        return None if self.price is None else self.price.cost(self.sent, self.received)

    def exceeded_by(self, sent: float, received: float) -> str | None:
        """The bound that one more call of so many tokens would break, in words, or None."""
        calls, tokens, cost = self._reserved
        price = self.price.cost(sent, received) if self.price else 0.0
        checks = (
            ("calls", self.budget.calls, self.calls + calls + 1),
            ("tokens", self.budget.tokens, self.sent + self.received + tokens + sent + received),
            ("dollars", self.budget.cost, (self.cost or 0.0) + cost + price),
        )
        for name, bound, value in checks:
            if bound is not None and value > bound * (1 + 1e-9):
                return f"the budget of {bound:g} {name} is spent"
        return None

    def reserve(self, sent: float, received: float, sign: int = 1) -> None:
        """Set aside what a running call will cost (``sign=-1`` gives it back)."""
        price = self.price.cost(sent, received) if self.price else 0.0
        for n, amount in enumerate((1.0, sent + received, price)):
            self._reserved[n] += sign * amount

    def completed(self, sent: int, received: int) -> None:
        """Count a completed call."""
        self.calls += 1
        self.sent += sent
        self.received += received

    def to_dict(self) -> dict[str, Any]:
        """Plain figures for manifests and progress lines."""
        names = ("requests", "calls", "repairs", "cached", "sent", "received", "cost")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Plan:
    """What judging would take; nothing was sent to make it.

    Attributes
    ----------
    n_samples, n_cached
        Samples, and those whose every call is in the cache already.
    calls, repairs_at_most
        Calls still to be made without repairs; each sample may add one repair.
    sent, received, seconds, price
        Estimated tokens, time and dollars (None when the price of the model is unknown).
    rows
        For each sample: ``sample_id, calls, cached, parts, sent, received``. ``parts`` > 1: contexts over the budget of
        tokens are judged in so many calls.
    """

    model: str
    n_samples: int
    n_cached: int
    calls: int
    repairs_at_most: int
    sent: int
    received: int
    seconds: float
    price: float | None
    context_tokens: int
    rows: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """``rows`` as a frame."""
        return pd.DataFrame(list(self.rows), columns=["sample_id", "calls", "cached", "parts", "sent", "received"])

    def to_dict(self) -> dict[str, Any]:
        """Plain figures without the rows."""
        names = ("model", "n_samples", "n_cached", "calls", "repairs_at_most", "sent", "received", "seconds", "price")
        return {name: getattr(self, name) for name in names} | {"split": self.n_split, "warnings": list(self.warnings)}

    @property
    def n_split(self) -> int:
        """Samples whose contexts need more than one call."""
        return sum(row["parts"] > 1 for row in self.rows)

    def text(self, language: str | None = None) -> str:
        """The plan in words."""
        price = text("llm.plan.unknown_price", language) if self.price is None else f"${self.price:.4f}"
        line = text(
            "llm.plan.summary", language, model=self.model, samples=self.n_samples, cached=self.n_cached,
            calls=self.calls, repairs=self.repairs_at_most, sent=self.sent, received=self.received,
            seconds=f"{self.seconds:.0f}", price=price,
        )  # fmt: skip
        if not self.n_split:
            return line
        return line + "\n" + text("llm.plan.split", language, n=self.n_split, tokens=self.context_tokens)

    def __str__(self) -> str:
        return self.text()
