"""Texts that users read, in English and Chinese, side by side in TOML files.

Each file ``<area>.toml`` beside this module holds entries with an ``en`` and a ``zh`` string::

    [omission.advice]
    en = "Ask the generator to use every cited fragment; {n} points were dropped."
    zh = "…"

``text("causes.omission.advice", n=2)`` reads it in the current language. A key without a text, or a text
without one of its languages, is an error: a reader never meets a bare key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

from workbench.errors import InputError

LANGUAGES = ("en", "zh")

_current = "en"
_chosen = False


def set_language(language: str | None) -> None:
    """Choose the language of panels, advice and reports: ``"en"`` or ``"zh"``; None follows the data.

    Raises
    ------
    InputError
        For any other value.
    """
    global _current, _chosen
    if language is not None:
        _current = checked(language)
    _chosen = language is not None


def get_language() -> str:
    """The language in force, ``"en"`` or ``"zh"``."""
    return _current


def suggest_language(language: str) -> None:
    """Use ``language`` unless the user chose one: the default follows the data."""
    global _current
    if not _chosen:
        _current = checked(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use ``language`` inside the block only; what was in force before is in force again afterwards."""
    global _current, _chosen
    before = _current, _chosen
    _current, _chosen = checked(language), True
    try:
        yield
    finally:
        _current, _chosen = before


def checked(language: str) -> str:
    """``language`` itself when it is known, else an ``InputError``."""
    if language not in LANGUAGES:
        raise InputError(f"language {language!r} is not known; use one of {', '.join(LANGUAGES)}")
    return language


def text(key: str, /, language: str | None = None, **values: Any) -> str:
    """The text ``<area>.<name…>`` in ``language`` (default: the one in force), with ``{values}`` filled in.

    Raises
    ------
    KeyError
        When no such text exists in that language.
    """
    area, _, name = key.partition(".")
    template = _entry(area, name)[language or _current]
    return template.format(**values) if values else template


def listed(parts: Iterable[object]) -> str:
    """Words joined as an enumeration in the language in force."""
    return ("、" if _current == "zh" else ", ").join(str(part) for part in parts)


def labelled(name: object, value: object) -> str:
    """``name: value`` with the colon of the language in force."""
    return f"{name}：{value}" if _current == "zh" else f"{name}: {value}"


def has_text(key: str) -> bool:
    """Whether ``key`` names a text."""
    area, _, name = key.partition(".")
    try:
        _entry(area, name)
    except KeyError:
        return False
    return True


def _entry(area: str, name: str) -> dict[str, str]:
    node: Any = _area(area)
    for part in name.split("."):
        if not isinstance(node, dict) or part not in node:
            raise KeyError(f"no text {area}.{name}")
        node = node[part]
    if not isinstance(node, dict) or set(LANGUAGES) - node.keys():
        raise KeyError(f"no text {area}.{name}")
    return node


@cache
def _area(area: str) -> dict[str, Any]:
    file = resources.files(__package__).joinpath(f"{area}.toml")
    if not file.is_file():
        raise KeyError(f"no texts for {area}")
    return tomllib.loads(file.read_text(encoding="utf-8"))
