"""Languages: everything that depends on one stands in its folder; code asks the object.

``language/<code>/`` holds ``language.toml`` (its name, how lists and labels are written, how its texts are told from
others), ``texts/<area>.toml`` (what users read), and the tables that reading its texts needs: words, units, patterns,
prompts. Adding a language is adding a folder here, or naming one of your own: :func:`add_language`.

``text("causes.omission.advice", n=2)`` reads a text in the language in force. What a language of yours does not say is
said in English; a key that English lacks is an error: a reader never meets a bare key.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, wraps
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from workbench.errors import InputError

Given = ParamSpec("Given")
Result = TypeVar("Result")

#: What holds of a language that does not say otherwise.
_FACTS = {"spaced": True, "list_separator": ", ", "colon": ": ", "percent_sign": " %", "sentence_separator": " "}


class Language:
    """One language: what its folder holds, read when it is first asked for.

    Attributes
    ----------
    code
        ISO 639-1, ``"en"``.
    folder
        Where its files are.
    """

    def __init__(self, code: str, folder: Traversable | Path) -> None:
        self.code = code
        self.folder = folder
        self._tables: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, dict[str, str]] = {}

    def __repr__(self) -> str:
        return f"Language({self.code!r})"

    @cached_property
    def facts(self) -> dict[str, Any]:
        """``language.toml``: ``name``, ``spaced`` (words are parted by spaces), ``list_separator``, ``colon`` …"""
        return _FACTS | {"name": self.code} | self.table("language")

    def table(self, name: str) -> dict[str, Any]:
        """The table ``<name>.toml`` of its folder; empty when it has none."""
        if name not in self._tables:
            content = self.file(f"{name}.toml")
            self._tables[name] = {} if content is None else tomllib.loads(content)
        return self._tables[name]

    def file(self, *path: str) -> str | None:
        """A file of its folder as text; None when there is none."""
        found = self.folder.joinpath(*path)
        return found.read_text(encoding="utf-8") if found.is_file() else None

    @cached_property
    def script(self) -> re.Pattern[str] | None:
        """One character of a script of its own (``script`` in ``language.toml``: ranges of characters); None for Latin."""
        ranges = self.facts.get("script")
        return re.compile(f"[{ranges}]") if ranges else None

    def template(self, key: str) -> str | None:
        """The text ``<area>.<name…>`` with its gaps unfilled; None when this language does not have it."""
        area, _, name = key.partition(".")
        if area not in self._texts:
            content = self.file("texts", f"{area}.toml")
            self._texts[area] = {} if content is None else dict(_leaves(tomllib.loads(content)))
        return self._texts[area].get(name)


def _leaves(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


_known = {code: Language(code, resources.files(__package__).joinpath(code)) for code in ("en", "zh")}
_current = "en"
_chosen = False


def languages() -> tuple[Language, ...]:
    """Every language that is known, English first."""
    return tuple(_known.values())


def codes() -> tuple[str, ...]:
    """The codes of :func:`languages`."""
    return tuple(_known)


def language_of(code: str | None = None) -> Language:
    """The language with that code, English for one that is not known; without a code, the one in force."""
    return _known.get(code or _current) or _known["en"]


def by_languages(maxsize: int) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Decorates a function that asks the known languages: as ``lru_cache``, but worked out anew once others are known."""

    def decorated(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @lru_cache(maxsize)
        def kept(known: tuple[Language, ...], *given: Given.args, **named: Given.kwargs) -> Result:
            return function(*given, **named)

        @wraps(function)
        def looked_up(*given: Given.args, **named: Given.kwargs) -> Result:
            return kept(languages(), *given, **named)  # type: ignore[arg-type]  # whatever it is given has to be hashable

        return looked_up

    return decorated


@by_languages(maxsize=64)
def words_of(table: str, *path: str) -> dict[str, tuple[str, ...]]:
    """Lists of words by name, those of all languages together, English first: section ``path`` of their ``table``."""
    found: dict[str, tuple[str, ...]] = {}
    for language in languages():
        section = language.table(table)
        for name in path:
            section = section.get(name, {})
        for name, words in section.items():
            found[name] = (*found.get(name, ()), *words)
    return found


def add_language(code: str, folder: str | Path) -> Language:
    """Make a language of your own known: its folder has the same files as ``workbench/language/en``, each optional.

    Raises ``InputError`` for a folder without ``language.toml``, or a code that the package has itself.
    """
    if not Path(folder, "language.toml").is_file():
        raise InputError(f"{folder} holds no language.toml; see workbench/language/en for what a language's folder has")
    if code in ("en", "zh"):
        raise InputError(f"language {code!r} is in the package already; choose another code")
    _known[code] = Language(code, Path(folder))
    return _known[code]


@by_languages(maxsize=256)
def pattern(table: str, template: str, flags: int = 0) -> re.Pattern[str]:
    """``template`` as a regular expression in which ``«name»`` stands for the patterns of that name in any language's table.

    A name that no language has stands for what never matches.
    """

    def either(match: re.Match[str]) -> str:
        entries = [language.table(table).get(match[1]) for language in languages()]
        found = [entry for entry in entries if entry]
        return "|".join(one for entry in found for one in ([entry] if isinstance(entry, str) else entry)) or "(?!)"

    return re.compile(re.sub("«(\\w+)»", either, template), flags)


# ------------------------------------------------------------------------------
# The language in force: of panels, advice and reports.


def set_language(language: str | None) -> None:
    """Choose the language of panels, advice and reports, by its code; None follows the data.

    Raises
    ------
    InputError
        For a language that is not known.

    Examples
    --------
    >>> wb.set_language("en")
    """
    global _current, _chosen
    if language is not None:
        _current = checked(language)
    _chosen = language is not None


def get_language() -> str:
    """The code of the language in force."""
    return _current


def main_language(texts: Iterable[object]) -> str:
    """The code of the language in whose script most (over 60 %) of the first 200 texts are written; else English."""
    shown = [text for text in itertools.islice(texts, 200) if isinstance(text, str)]
    for language in languages():
        if language.script and sum(bool(language.script.search(text)) for text in shown) > 0.6 * len(shown):
            return language.code
    return "en"


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
    if language not in _known:
        raise InputError(f"language {language!r} is not known; use one of {', '.join(_known)}")
    return language


def text(key: str, /, language: str | None = None, **values: Any) -> str:
    """The text ``<area>.<name…>`` in ``language`` (default: the one in force), with ``{values}`` filled in.

    Raises ``KeyError`` when no such text exists.
    """
    template = language_of(language).template(key)
    if template is None:
        template = _known["en"].template(key)
    if template is None:
        raise KeyError(f"no text {key}")
    return template.format(**values) if values else template


def has_text(key: str) -> bool:
    """Whether ``key`` names a text."""
    return _known["en"].template(key) is not None


def listed(parts: Iterable[object]) -> str:
    """Words joined as an enumeration in the language in force."""
    return str(language_of().facts["list_separator"]).join(map(str, parts))


def labelled(name: object, value: object) -> str:
    """``name: value`` with the colon of the language in force."""
    return f"{name}{language_of().facts['colon']}{value}"


def sentences(parts: Iterable[object]) -> str:
    """Whole sentences one after the other; empty ones are left out."""
    return str(language_of().facts["sentence_separator"]).join(str(part) for part in parts if part)
