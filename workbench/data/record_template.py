"""Requests made from a template, and answers read by paths.

A template is any JSON value. A string that is exactly ``"{field}"`` becomes the case's value with its type; ``{field}``
inside a longer string becomes text; ``${NAME}`` is an environment variable. A path is ``$.a.b[0].c`` or ``a.b[*].c``,
where ``[*]`` collects over a list.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.data.redact import HIDDEN
from workbench.errors import InputError

_SLOT = re.compile(r"\$\{(?P<env>\w+)\}|\{(?P<field>\w+)\}")
_STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>\*|-?\d+|'[^']*'|\"[^\"]*\")\]")
_SECRET_NAME = re.compile(r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE)


class Template:
    """A template made ready.

    Parameters
    ----------
    value
        The template.
    fields
        Names that cases may have.

    Raises
    ------
    InputError
        For a field that no case has, or an environment variable that is not set.
    """

    def __init__(self, value: Any, fields: Iterable[str] | None) -> None:
        self.value = value
        self.secrets: list[str] = []
        self._fields = None if fields is None else frozenset(fields)
        _walk(value, self._check)

    def filled(self, case: Mapping[str, Any]) -> Any:
        """The template with the values of ``case``; a field that it lacks is null."""
        return _walk(self.value, lambda text: self._fill(text, case))

    def _check(self, text: str) -> str:
        for match in _SLOT.finditer(text):
            if match["env"] is not None:
                value = os.environ.get(match["env"])
                if value is None:
                    raise InputError(f"template {text!r}: the environment variable {match['env']} is not set")
                self.secrets.append(value)
            elif self._fields is not None and match["field"] not in self._fields:
                known = ", ".join(sorted(self._fields)[:12])
                raise InputError(f"template {text!r}: no case has a field {match['field']!r}; known are {known}")
        return text

    def _fill(self, text: str, case: Mapping[str, Any]) -> Any:
        match = _SLOT.fullmatch(text)
        if match is not None and match["field"] is not None:
            return case.get(match["field"])
        return _SLOT.sub(lambda found: self._text_of(found, case), text)

    def _text_of(self, match: re.Match[str], case: Mapping[str, Any]) -> str:
        if match["env"] is not None:
            return os.environ.get(match["env"], "")
        value = case.get(match["field"])
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _walk(value: Any, change: Callable[[str], Any]) -> Any:
    """``value`` with every string in it (not the keys) passed through ``change``."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {str(key): _walk(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, change) for item in value]
    return value


def at_path(value: Any, path: str) -> Any:
    """What stands at ``path`` in ``value``; None where there is nothing.

    >>> at_path({"docs": [{"id": 1}, {"id": 2}]}, "$.docs[*].id")
    [1, 2]
    """
    steps = [
        match["key"] if match["key"] is not None else _index(match["index"])
        for match in _STEP.finditer(path.removeprefix("$"))
    ]
    return _follow(value, steps)


def _index(text: str) -> str | int | None:
    """A list index, a quoted key, or None for ``*``."""
    if text == "*":
        return None
    return text[1:-1] if text[0] in "'\"" else int(text)


def _follow(value: Any, steps: list[Any]) -> Any:
    for at, step in enumerate(steps):
        if step is None:
            items = value if isinstance(value, list) else []
            return [_follow(item, steps[at + 1 :]) for item in items]
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def checked_path(path: Any) -> str:
    """``path`` if it can be read to its end.

    Raises
    ------
    InputError
        When it is no path.
    """
    body = path.removeprefix("$") if isinstance(path, str) else ""
    if not body or "".join(match[0] for match in _STEP.finditer(body)) != body:
        raise InputError(f"response path {path!r} cannot be read; write it like $.data.answer or $.docs[*]")
    return str(path)


def hidden(mapping: Mapping[str, Any] | None) -> dict[str, Any]:
    """A mapping for a manifest: values under secret-sounding names are hidden unless they only name a variable."""
    return {str(key): _hidden_value(str(key), value) for key, value in (mapping or {}).items()}


def _hidden_value(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return hidden(value)
    if not _SECRET_NAME.search(key) or not isinstance(value, str):
        return value
    return value if "${" in value else HIDDEN
