"""What a reply of the judge looks like: the strict JSON schemas sent, their short form for the prompt, the items read.

Field names are those of the contract: ``context`` and ``claim`` are numbers from 1, lists of claims are named for what
they hold, verdicts are plain words. Items are validated one by one, so that one bad verdict does not cost the others.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from workbench.evidence.llm.words import read_flag, read_number, read_score, read_verdict

Verdict = Literal["supported", "contradicted", "not_mentioned"]
VERDICTS: tuple[Verdict, ...] = ("supported", "contradicted", "not_mentioned")

Number = Annotated[int, BeforeValidator(read_number)]
Flag = Annotated[bool, BeforeValidator(read_flag)]
VerdictWord = Annotated[Verdict, BeforeValidator(read_verdict)]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class ContextItem(_Item):
    """Whether one context is relevant."""

    context: Number
    relevant: Flag


class VerdictItem(_Item):
    """What one context says about one claim. ``quote`` is the passage it rests on, empty when there is none."""

    context: Number
    verdict: VerdictWord
    quote: Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")] = ""


class RefusalItem(_Item):
    """Whether the answer declines, and whether it states something that answers the question anyway."""

    declines: Flag
    answers_anyway: Flag


class ConflictItem(_Item):
    """Two answer claims that cannot both be true, by number."""

    claim: Number
    other_claim: Number


class RubricReply(_Item):
    """A rating in [0, 1] and why."""

    reasoning: str
    score: Annotated[float, BeforeValidator(read_score)]


# ---------------------------------------------------------------- schemas

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FLAG = {"type": "boolean"}
_VERDICT = {"type": "string", "enum": list(VERDICTS)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


_VERDICT_LIST = _list({"context": _NUMBER, "verdict": _VERDICT, "quote": _TEXT})


@cache
def verify_schema(flags: frozenset[str]) -> dict[str, Any]:
    """Schema of the first reply; ``flags``: which of ``contexts, answer, reference`` the sample has. Not to be changed.

    Short parts come first, so that a reply that is cut off loses as little as possible.
    """
    parts: dict[str, Any] = {}
    if "contexts" in flags:
        parts["contexts"] = _list({"context": _NUMBER, "relevant": _FLAG})
    if "answer" in flags:
        parts["refusal"] = _object({"declines": _FLAG, "answers_anyway": _FLAG})
        parts["answer_claims"] = _list(_claim(flags, "reference", "reference_verdict"))
    if "reference" in flags:
        parts["reference_claims"] = _list(_claim(flags, "answer", "answer_verdict"))
    if "answer" in flags:
        parts["conflicts"] = _list({"claim": _NUMBER, "other_claim": _NUMBER})
    return _object(parts)


def _claim(flags: Collection[str], other: str, field: str) -> dict[str, Any]:
    properties: dict[str, Any] = {"text": _TEXT}
    if "contexts" in flags:
        properties["verdicts"] = _VERDICT_LIST
    if other in flags:
        properties[field] = _VERDICT
    return properties


@cache
def part_schema(relevance: bool = True) -> dict[str, Any]:
    """Schema of a reply about numbered claims over further contexts."""
    claims = _list({"claim": _NUMBER, "verdicts": _VERDICT_LIST})
    if not relevance:
        return _object({"claims": claims})
    return _object({"contexts": _list({"context": _NUMBER, "relevant": _FLAG}), "claims": claims})


@cache
def questions_schema() -> dict[str, Any]:
    """Schema of the reply that holds reverse questions."""
    return _object({"questions": {"type": "array", "items": _TEXT}})


@cache
def rubric_schema() -> dict[str, Any]:
    """Schema of a rating."""
    return _object({"reasoning": _TEXT, "score": {"type": "number"}})


def sized(schema: dict[str, Any], sizes: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """``schema`` with (least, most) items, characters or values for the lists, texts and numbers named in ``sizes``.

    For servers that make a grammar of it: a small model else lists contexts that do not exist, or says one sentence
    again and again, until its tokens are used up. Not for hosted models, which refuse such bounds or compile each
    schema that they have not seen. ``items`` is the name of what a list without named parts holds.
    """
    changed = dict(schema)
    if schema["type"] == "array":
        changed["items"] = sized(schema["items"], sizes) | _bounds(schema["items"], sizes.get("items"))
    elif schema["type"] == "object":
        changed["properties"] = {
            name: sized(node, sizes) | _bounds(node, sizes.get(name)) for name, node in schema["properties"].items()
        }
    return changed


def _bounds(node: dict[str, Any], size: tuple[int, int] | None) -> dict[str, Any]:
    if size is None or node["type"] not in ("array", "string", "integer"):
        return {}
    if node["type"] == "integer":
        return {"enum": list(range(size[0], size[1] + 1))}
    what = "Items" if node["type"] == "array" else "Length"
    return {f"min{what}": size[0], f"max{what}": size[1]}


def shape(schema: dict[str, Any]) -> str:
    """``schema`` in the short form that the prompt shows: ``{"context": integer, …}``."""
    return _shape_of(json.dumps(schema))


@cache
def _shape_of(schema: str) -> str:
    return _shape(json.loads(schema))


def _shape(node: dict[str, Any]) -> str:
    if node["type"] == "object":
        return "{" + ", ".join(f"{json.dumps(key)}: {_shape(value)}" for key, value in node["properties"].items()) + "}"
    if node["type"] == "array":
        return f"[{_shape(node['items'])}, …]"
    if "enum" in node:
        return " | ".join(json.dumps(word) for word in node["enum"])
    return {"boolean": "true | false", "string": '"…"'}.get(node["type"], node["type"])
