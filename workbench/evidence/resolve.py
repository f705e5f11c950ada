"""From the name of a judge to the judge: ``offline``, ``llm:MODEL``, ``offline+llm:MODEL``, ``nli:FOLDER``, ``none``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from workbench.errors import InputError, JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.judge import Judge

if TYPE_CHECKING:
    from workbench.data.schema import SampleSet


# ---------------------------------------------------------------- who wrote the answers, and what judging did cost

#: Where recordings name the model that wrote the answers, in this order.
GENERATOR_KEYS = ("generator", "generator_model", "model", "model_name", "llm")


def generator_of(samples: SampleSet) -> str | None:
    """The model that wrote the answers, or None where nothing tells.

    It is the most frequent one that ``usage`` names (``{"model": …}``), else the one of the configuration in the manifest
    that ``record`` wrote beside the recording (``RUN.manifest.json``).
    """
    usage = samples.frame["usage"].tolist() if "usage" in samples.frame else []
    named = Counter(name for row in usage if (name := _named(row)))
    if named:
        return named.most_common(1)[0][0]
    return next((name for part in _recorded_parts(samples.source) if (name := _named(part))), None)


def _named(row: Any) -> str | None:
    values = [row.get(key) for key in GENERATOR_KEYS] if isinstance(row, Mapping) else []
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)


def _recorded_parts(source: str) -> Iterator[Any]:
    """The configuration and the request that a recording was made with; nothing without a readable manifest."""
    if not source:
        return
    path = Path(source)
    try:
        content = json.loads(path.with_name(f"{path.stem}.manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(content, Mapping):
        yield from (content.get("config"), content.get("request"))


def language_model(judge: Any) -> Any | None:
    """The language model of a judge, of a cascade too; None for a judge that asks none."""
    model = getattr(judge, "llm", judge)
    return model if hasattr(model, "spending") else None


def tell_generator(judge: Any, name: str | None) -> list[str]:
    """Tell a judge who wrote the answers, unless its options did; return what it warns of.

    A judge that cannot ask at all warns of nothing: its error, when something is to be asked, says enough.
    """
    model = language_model(judge)
    if model is not None and hasattr(model, "know_generator"):
        model.know_generator(name)
    try:
        getattr(model, "check_ready", list)()
    except JudgeError:
        return []
    return list(getattr(model, "warnings", []))


def spent_so_far(judge: Any) -> str:
    """For the end of a progress bar: ``, 12 calls, $0.0031``; empty for a judge that asks no language model."""
    model = language_model(judge)
    if model is None:
        return ""
    cost = model.spending.cost
    return f", {model.spending.calls} calls, {'price unknown' if cost is None else f'${cost:.4f}'}"


class Actuals:
    """What a judge spends from here on; a judge may have been used before."""

    def __init__(self, judge: Any) -> None:
        self._judge, self._model = judge, language_model(judge)
        self._spent, self._saved = self._figures()

    def _figures(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of the language model and of the cascade."""
        spent = {} if self._model is None else dict(self._model.spending.to_dict())
        return spent, dict(getattr(self._judge, "report", dict)())

    def record(self) -> dict[str, Any]:
        """Entries for the manifest; empty for a judge that asks no language model.

        ``generator``; ``judge_warnings``; ``spending``: ``requests, calls, repairs, cached, sent, received`` (tokens)``,
        cost`` (dollars, None when the price is unknown); ``cascade``: see ``CascadeJudge.report``.
        """
        if self._model is None:
            return {}
        spent, cascade = self._figures()
        before = self._spent
        since = {
            key: None if value is None or before[key] is None else value - before[key] for key, value in spent.items()
        }
        found = {
            "generator": getattr(getattr(self._model, "settings", None), "generator", None),
            "judge_warnings": list(getattr(self._model, "warnings", [])),
            "spending": since,
        }
        if not cascade:
            return found
        # Counts as differences, rates anew; a rate of nothing is None.
        counts = {key: value - self._saved[key] for key, value in cascade.items() if isinstance(value, int)}
        rates = {key: value for key, value in cascade.items() if isinstance(value, float) and math.isfinite(value)}
        share = counts["calls"] / counts["calls_full"] if counts["calls_full"] else None
        differ = counts["n_disagreed"] / counts["n_compared"] if counts["n_compared"] else None
        return found | {"cascade": {**rates, **counts, "share": share, "disagreement": differ}}


# ---------------------------------------------------------------- the judge of a name

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
    from workbench.evidence.llm.judge import read_options

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
    from workbench.evidence.offline.judge import OfflineJudge

    return OfflineJudge(encoder)
