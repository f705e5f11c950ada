"""From the name of a judge to the judge: ``offline``, ``llm:MODEL``, ``offline+llm:MODEL``, ``nli:FOLDER``, ``none``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from workbench.errors import InputError
from workbench.evidence.cache import Cache
from workbench.evidence.embed import Encoder
from workbench.evidence.judge import Judge

#: How a judge is named, for messages and help.
KNOWN = "offline, llm:MODEL, offline+llm:MODEL, nli:FOLDER or none"


def resolve_judge(
    judge: str | Judge | None,
    *,
    encoder: str | Encoder | None = "auto",
    cache: Cache | None = None,
    options: Mapping[str, Any] | str | Path | None = None,
    **llm: Any,
) -> Judge | None:
    """The judge of a name, an object of the protocol as it is, or None for ``None`` and ``"none"``.

    Parameters
    ----------
    encoder
        For the judges that use one. A language model compares reverse questions, and the answer with the reference, with
        one that is named; ``"auto"``, ``"none"`` and None leave it to that judge's default, character n-grams, because the
        embedded model takes longer for a sample than most services do.
    cache
        Where judgements are kept.
    options, llm
        For a language model: a mapping or the path of a TOML file with a table ``[llm]``, and single options
        (``timeout``, ``workers``, ``generator`` …), which win. ``share`` and ``doubt`` are those of ``offline+llm``.

    Raises
    ------
    InputError
        For a name or an option that is not known, an options file that cannot be read, an address that is none.
    JudgeError
        When the model of ``nli:FOLDER`` cannot be loaded.
    """
    if judge is None or judge == "none":
        return None
    if not isinstance(judge, str):
        if not callable(getattr(judge, "examine", None)) or not isinstance(getattr(judge, "name", None), str):
            raise InputError(f"judge {type(judge).__name__}: needs a name and examine(samples); or use {KNOWN}")
        return judge
    given = {name: value for name, value in llm.items() if value is not None}
    kind, _, rest = judge.partition(":")
    if judge == "offline":
        return _offline(encoder)
    if kind == "nli" and rest:
        from workbench.evidence.nli import NliJudge

        return cast(Judge, NliJudge(rest, encoder=encoder))
    if kind in ("llm", "offline+llm"):
        return _with_model(kind, rest, encoder, cache, {**_options(options), **given})
    raise InputError(f"judge {judge!r} is not known; use {KNOWN}")


def _options(options: Mapping[str, Any] | str | Path | None) -> dict[str, Any]:
    from workbench.evidence.llm.settings import read_options

    return read_options(options) if isinstance(options, (str, Path)) else dict(options or {})


def _with_model(kind: str, model: str, encoder: Any, cache: Cache | None, options: dict[str, Any]) -> Judge:
    """A language model as judge, alone or behind the offline judge. ``share`` and ``doubt`` are the cascade's."""
    from workbench.evidence.llm import LLMJudge
    from workbench.evidence.llm.cascade import CascadeJudge

    between = {name: options.pop(name) for name in ("share", "doubt") if name in options}
    wanted = None if isinstance(encoder, str) and encoder in ("auto", "none") else encoder
    alone = LLMJudge.from_spec(f"llm:{model}", cache=cache, **{"encoder": wanted, **options})
    if kind == "llm":
        return cast(Judge, alone)
    return cast(Judge, CascadeJudge(_offline(encoder), alone, **between))


def _offline(encoder: str | Encoder | None) -> Any:
    from workbench.evidence.offline import OfflineJudge

    return OfflineJudge(encoder)
