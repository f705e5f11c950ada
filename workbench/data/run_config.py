"""How the system was set up that a recording is of: model, prompt, k, index version … as plain keys and values.

It is written beside the recording (``run.toml``, or the manifest that ``record`` writes), stands in its rows (a column
``config``), or is given when it is scored. Nested tables become dotted keys, long texts such as prompts their hash, and
what looks like a key or a password is hidden.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workbench.data.files import hidden, parsed_toml, read_text, redacted
from workbench.errors import InputError

#: Keys that say which run it was, not how it was set up; ``commit`` stands for what no other key says.
TIMES = frozenset(("date", "time", "timestamp", "started", "finished", "run", "run_id", "name", "author", "note"))
COMMITS = frozenset(("commit", "git_commit", "git", "sha", "revision", "build"))
#: Longer texts are kept as their hash.
LONGEST = 120


def plain_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A configuration as a flat mapping of texts, numbers and booleans, in its own order.

    >>> plain_config({"retriever": {"k": 5}, "model": "small"})
    {'retriever.k': 5, 'model': 'small'}
    """
    flat: dict[str, Any] = {}
    for key, value in hidden(config).items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": item for inner, item in plain_config(value).items()}
        elif value is not None:
            flat[str(key)] = value if isinstance(value, bool | int | float) else _short(value)
    return flat


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = redacted(value.isoformat() if hasattr(value, "isoformat") else text)
    if len(text) <= LONGEST and "\n" not in text:
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def read_config(given: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """A configuration from a mapping or a TOML file: its table ``[config]``, or all of it when it has none.

    Raises ``InputError`` when the file cannot be read or is no TOML.
    """
    if isinstance(given, Mapping):
        return plain_config(given)
    tables = parsed_toml(read_text(given), given)
    found = tables.get("config", tables)
    if not isinstance(found, Mapping):
        raise InputError(f"{given}: config is no table; write [config] and below it key = value")
    return plain_config(found)


def recorded_config(source: str, column: Iterable[Any]) -> dict[str, Any]:
    """The configuration of a recording: from the manifest beside it, the values that all its rows share in ``column``,
    and ``<recording>.toml`` beside it; the later ones win. With ``date``: when it was recorded, if the manifest says so.

    Raises ``InputError`` for a TOML file beside it that cannot be read.
    """
    rows = [plain_config(row) for row in column if isinstance(row, Mapping)]
    found = {key: value for key, value in rows[0].items() if all(row.get(key) == value for row in rows)} if rows else {}
    path = Path(source.split("::")[0]) if source else None
    if path is None or not path.is_file():
        return found
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    manifest = _manifest(path.with_name(f"{stem}.manifest.json"))
    beside = path.with_name(f"{stem}.toml")
    return {**manifest, **found, **(read_config(beside) if beside.is_file() else {})}


def _manifest(path: Path) -> dict[str, Any]:
    """What ``record`` wrote; nothing when it is not there or something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        date = content.get("started")
        return plain_config(content.get("config") or {}) | ({"date": date} if isinstance(date, str) else {})
    except (OSError, ValueError, AttributeError):
        return {}


def config_words(config: Mapping[str, Any]) -> str:
    """ "k = 5, model = small": on one line."""
    return ", ".join(f"{key} = {value}" for key, value in config.items())


def change_words(changes: Mapping[str, tuple[Any, Any]]) -> str:
    """ "k 5 → 8; model a → b"; a key that is not recorded has an en dash."""
    shown = {key: ["–" if value is None else str(value) for value in pair] for key, pair in changes.items()}
    return "; ".join(f"{key} {old} → {new}" for key, (old, new) in shown.items())


def config_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Key → (before, after) of what differs, times left out; None where a key is not recorded."""
    keys = [key for key in dict.fromkeys([*before, *after]) if key.lower() not in TIMES]
    return {key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}
