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
        For the judges that use one.
    cache
        Where judgements are kept.
    options, llm
        For a language model: a mapping or the path of a TOML file, and single options (``timeout``, ``workers`` …).

    Raises
    ------
    InputError
        For a name that is not known.
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

        return cast(Judge, NliJudge(rest, offline=_offline(encoder)))
    if kind == "llm" and rest:
        from workbench.evidence.llm import LLMJudge

        return cast(Judge, LLMJudge.from_spec(judge, options, cache=cache, **given))
    if kind == "offline+llm" and rest:
        from workbench.evidence.llm import LLMJudge
        from workbench.evidence.llm.cascade import CascadeJudge

        model = LLMJudge.from_spec(f"llm:{rest}", options, cache=cache, **given)
        return cast(Judge, CascadeJudge(_offline(encoder), model))
    raise InputError(f"judge {judge!r} is not known; use {KNOWN}")


def _offline(encoder: str | Encoder | None) -> Any:
    from workbench.evidence.offline import OfflineJudge

    return OfflineJudge(encoder)
