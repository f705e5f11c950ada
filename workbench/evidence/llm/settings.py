"""The options of the judge: defaults, an options file, arguments, checked once."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.data.redact import Secret
from workbench.errors import InputError
from workbench.evidence.llm.budget import Budget
from workbench.evidence.llm.client import DEFAULT_BASE_URL, EndpointOptions
from workbench.language import LANGUAGES


@dataclass(frozen=True)
class Settings:
    """Everything that ``LLMJudge`` takes by name, documented there."""

    base_url: str | None = field(default=None, repr=False)
    api_key: Secret | str | None = None
    language: str | None = None
    timeout: float = 60.0
    retries: int = 3
    workers: int = 16
    budget: Budget | Mapping[str, Any] | float | None = None
    context_tokens: int = 12_000
    questions: int = 3
    generator: str | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    prices: str | Path | None = None
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    max_tokens_name: str = "max_tokens"
    query: Mapping[str, str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    extra: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings from arguments and, for what they leave out, the ``[llm]`` table of ``options_file``.

        Raises
        ------
        InputError
            For an unknown name, a value out of range, or a file that cannot be read.
        """
        given = dict(options)
        path = given.pop("options_file", None)
        merged = {**(read_options(path) if path is not None else {}), **given}
        known = {item.name for item in dataclasses.fields(cls)}
        unknown = sorted(merged.keys() - known)
        if unknown:
            raise InputError(f"llm judge: unknown option {unknown[0]!r}; known are {', '.join(sorted(known))}")
        key = merged.pop("api_key", None)
        settings = cls(**merged, api_key=_secret(key))
        _check(settings)
        return settings

    def endpoint(self, model: str) -> EndpointOptions:
        """Where and how ``model`` is asked."""
        assert isinstance(self.api_key, Secret)
        return EndpointOptions(
            model=model, base_url=self.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL,
            api_key=self.api_key, timeout=self.timeout, retries=self.retries, temperature=self.temperature,
            max_output_tokens=self.max_output_tokens, max_tokens_name=self.max_tokens_name, query=self.query,
            headers=self.headers, extra=self.extra,
        )  # fmt: skip


def _secret(value: Secret | str | None) -> Secret:
    if isinstance(value, Secret):
        return value if value else Secret(os.environ.get("OPENAI_API_KEY", ""))
    return Secret(value if value is not None else os.environ.get("OPENAI_API_KEY", ""))


def read_options(path: str | Path) -> dict[str, Any]:
    """The ``[llm]`` table of a TOML file.

    Raises
    ------
    InputError
        When the file cannot be read, has no such table, or holds a key.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: the options file cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from error
    options = table.get("llm")
    if not isinstance(options, dict):
        raise InputError(f"{path}: the options file needs a table [llm]")
    if "api_key" in options:
        raise InputError(f"{path}: a key does not belong in a file; set OPENAI_API_KEY")
    return options


#: Option → (lowest value, whether it may be a fraction).
_RANGES: dict[str, tuple[float, bool]] = {
    "timeout": (0.01, True), "retries": (0, False), "workers": (1, False), "context_tokens": (50, False),
    "questions": (0, False), "requests_per_minute": (0.01, True), "tokens_per_minute": (1, True),
    "temperature": (0, True), "max_output_tokens": (1, False),
}  # fmt: skip


def _check(settings: Settings) -> None:
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    if not address.startswith(("http://", "https://")):
        raise InputError("llm judge: OPENAI_BASE_URL is no address; write http://HOST:PORT/v1 or https://…")
    if settings.language is not None and settings.language not in LANGUAGES:
        raise InputError(f"llm judge: language is {settings.language!r}; use one of {', '.join(LANGUAGES)}")
    for name, (lowest, fraction) in _RANGES.items():
        value = getattr(settings, name)
        kinds = (int, float) if fraction else (int,)
        if value is None and name in _OPTIONAL:
            continue
        if isinstance(value, bool) or not isinstance(value, kinds) or not lowest <= value < float("inf"):
            whole = "number" if fraction else "whole number"
            raise InputError(f"llm judge: {name} is {value!r}; use a {whole} from {lowest:g} on")


_OPTIONAL = frozenset(("requests_per_minute", "tokens_per_minute", "temperature", "max_output_tokens"))
