"""Writing files: whole ones that never exist half-written, JSON lines that only grow, tables that no spreadsheet runs."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


#: Format of a report → ending of its file.
REPORT_FORMATS = {
    "html": ".html", "md": ".md", "xlsx": ".xlsx", "csv": ".csv", "parquet": ".parquet", "junit": ".xml", "summary": ".md",
    "langfuse": ".json", "langsmith": ".jsonl", "phoenix": ".json", "mlflow": ".jsonl",
}  # fmt: skip

# ------------------------------------------------------------------------------
# The cache folder, and small choices of the user that are kept in it.


def cache_folder() -> Path:
    """The folder of all caches: ``WORKBENCH_CACHE``, else ``rag-workbench`` in the user's cache folder.

    The path is not created here.
    """
    named = os.environ.get("WORKBENCH_CACHE")
    if named:
        return Path(named).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        own = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        own = home / "Library" / "Caches"
    else:
        own = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return own / "rag-workbench"


def choices(name: str) -> dict[str, Any]:
    """What the file ``name`` of the cache folder remembers; empty when there is none or it is not readable."""
    try:
        known = json.loads((cache_folder() / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).warning("%s is not readable and was left out: %s", name, error)
        return {}
    return known if isinstance(known, dict) else {}


def keep_choice(name: str, key: str, value: Any) -> None:
    """Remember ``value`` under ``key`` in the file ``name`` of the cache folder; None or an empty value forgets it."""
    known = choices(name)
    known.pop(key, None)
    if value:
        known[key] = value
    write_text(cache_folder() / name, json.dumps(known, ensure_ascii=False, indent=1))


# ------------------------------------------------------------------------------
# Keeping keys out of everything that is written: messages, logs, caches, manifests.


HIDDEN = "***"

_KEY_SHAPED = re.compile(
    r"\b(?:sk|pk|rk|key|tok|ghp|gsk|xai|hf)[-_][A-Za-z0-9_-]{8,}|(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"
)
_SECRET_NAME = re.compile(r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE)
_SHORTEST = 4


class Secret:
    """A value that does not show itself: ``repr`` and ``str`` are ``***``; it takes no part in pickles.

    ``value`` reads it. Another process has to get its key from its own environment.
    """

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("",))


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the given secrets and without anything that looks like a key or an Authorization value."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    return _KEY_SHAPED.sub(HIDDEN, text)


def hidden(mapping: Mapping[str, Any] | None) -> dict[str, Any]:
    """A mapping for a manifest: values under secret-sounding names are hidden unless they only name a variable."""

    def shown(key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return hidden(value)
        return HIDDEN if isinstance(value, str) and _SECRET_NAME.search(key) and "${" not in value else value

    return {str(key): shown(str(key), value) for key, value in (mapping or {}).items()}


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, so that it can be shown and kept."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


class RedactingFilter(logging.Filter):
    """A logging filter that removes the given secrets from each record's message, arguments and traceback."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; every record passes."""
        record.msg, record.args = redacted(record.getMessage(), self._secrets), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redacted(record.exc_text, self._secrets)
        return True


#: Loggers of the client and of what it sends with; their debug records hold requests with headers.
CLIENT_LOGGERS = (
    "openai", "openai._base_client", "openai._response", "openai._legacy_response", "httpx", "httpx2", "httpcore",
    "httpcore.connection", "httpcore.http11", "httpcore2", "httpcore2.connection", "httpcore2.http11",
)  # fmt: skip


def guard_client_loggers(secrets: Iterable[str]) -> None:
    """Put a redacting filter for ``secrets`` on the client's loggers, once for each set of secrets."""
    wanted = tuple(secret for secret in secrets if len(secret) >= _SHORTEST)
    for name in CLIENT_LOGGERS if wanted else ():
        logger = logging.getLogger(name)
        if not any(isinstance(item, RedactingFilter) and item._secrets == wanted for item in logger.filters):
            logger.addFilter(RedactingFilter(wanted))


# ------------------------------------------------------------------------------
# Texts and settings that a user wrote.


def read_text(path: str | Path) -> str:
    """A text in UTF-8, with or without a byte order mark.

    Raises ``InputError`` when there is no such file, or none of UTF-8.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from error


def parsed_toml(text: str, source: str | Path) -> dict[str, Any]:
    """The tables of a TOML text; ``InputError`` names its ``source`` when it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML ({error})") from error


# ------------------------------------------------------------------------------
# Whole files and folders, replaced at once.


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> Path:
    """Write ``text`` to ``path`` through a temporary file in the same folder; line ends are kept as given."""
    return write_bytes(path, text.encode(encoding))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write ``content`` to ``path`` through a temporary file in the same folder.

    Raises ``InputError`` when the place cannot be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path; when the block ends well it replaces ``path``, otherwise it is removed.

    Raises ``InputError`` when the place cannot be written, or is a folder, a device or a pipe: those are never
    replaced.
    """
    with _said(path):
        target = _place(path)
        if target.exists() and not target.is_file():
            raise InputError(f"{path}: is no ordinary file; choose another place")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


@contextmanager
def replacing_folder(path: str | Path, keep: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield a temporary folder; when the block ends well it takes the place of the folder ``path``.

    Entries of the old folder that are named in ``keep`` move into the new one.

    Raises ``InputError`` when the place cannot be written, or is something else than a folder: that is never replaced.
    """
    with _said(path):
        target = _place(path)
        if target.exists() and not target.is_dir():
            raise InputError(f"{path}: is no folder; choose another place")
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:50]}.", dir=target.parent))
        try:
            yield temporary
            temporary.chmod(0o755)
            _swap(temporary, target, keep)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _place(path: str | Path) -> Path:
    """The absolute path, so that "." and "~" have a name and a parent; a link is replaced, not what it leads to."""
    place = Path(os.path.abspath(Path(path).expanduser()))
    try:
        possible = b"\0" not in os.fsencode(place) and place.name
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise InputError(f"{str(path)!r} is no possible name of a file or folder; choose another")
    return place


@contextmanager
def _said(path: str | Path) -> Iterator[None]:
    """Any refusal of the file system (full, read-only, a name that is too long) as one ``InputError``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


def _swap(temporary: Path, target: Path, keep: tuple[str, ...]) -> None:
    if not target.exists():
        temporary.rename(target)
        return
    for name in keep:
        if (target / name).exists():
            shutil.copytree(target / name, temporary / name, dirs_exist_ok=True)
    old = Path(tempfile.mkdtemp(prefix=f".{target.name[:50]}.old.", dir=target.parent)) / "folder"
    target.rename(old)
    temporary.rename(target)
    shutil.rmtree(old.parent, ignore_errors=True)


# ------------------------------------------------------------------------------
# JSON lines that only grow.


class JsonLines:
    """A file of JSON objects, one a line, to which any number of processes may append.

    A line is written by one ``write`` under a lock. One that a killed process or a full disk tore is never glued to the
    next, and is skipped when read.

    Attributes
    ----------
    unreadable
        Lines met so far that are no JSON object.
    """

    def __init__(self, path: str | Path, *, ascii: bool = True, sync: bool = True) -> None:
        self.path = Path(path)
        self.unreadable = 0
        self._ascii, self._sync = ascii, sync
        self._offset = 0

    def append(self, *records: Mapping[str, Any]) -> None:
        """Write the records, and with ``sync`` wait until they are on disk; without any, only try whether one could.

        Raises ``OSError`` when the place cannot be written.
        """
        lines = b"".join(
            json.dumps(record, ensure_ascii=self._ascii, default=str, separators=(",", ":")).encode("utf-8", "replace")
            + b"\n"
            for record in records
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            with _locked(handle):
                size = os.fstat(handle).st_size
                if lines and size and os.pread(handle, 1, size - 1) != b"\n":
                    lines = b"\n" + lines
                while lines:
                    lines = lines[os.write(handle, lines) :]
                if self._sync:
                    os.fsync(handle)
        finally:
            os.close(handle)

    def read_new(self) -> list[dict[str, Any]]:
        """The objects written since the last call, by any process; an unfinished last line waits for its end."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                content = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return []
        complete = content.rfind(b"\n") + 1
        self._offset += complete
        found = [self._parsed(line) for line in content[:complete].split(b"\n") if line.strip()]
        return [record for record in found if record is not None]

    def _parsed(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            return record
        self.unreadable += 1
        return None


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Hold an advisory lock where the system has one; a single appending write is the fallback."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


# ------------------------------------------------------------------------------
# Tables for people and their spreadsheets: CSV whose text is text, whatever it begins with.


#: A cell that begins with one of these would be run as a formula by a spreadsheet.
_FORMULA = re.compile(r"^[\s\x00-\x1f]*[=+\-@|%＝＋－＠]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")


def without_controls(text: str) -> str:
    """``text`` without control characters but tab and line feed; carriage returns become line feeds."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def in_one_cell(value: Any) -> Any:
    """A list as "a; b", an object as "key=a; other=b"; any other value as it is."""
    if isinstance(value, dict):
        value = [f"{key}={item}" for key, item in value.items()]
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def neutral(value: Any) -> Any:
    """A cell's value such that no spreadsheet runs it: text that looks like a formula gets an apostrophe in front."""
    value = in_one_cell(value)
    if not isinstance(value, str):
        return value
    clean = without_controls(value)
    return "'" + clean if _FORMULA.match(clean) else clean


def neutral_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with every text cell, index and heading neutral; numbers and booleans are left alone."""
    changed = {
        place: [neutral(value) for value in frame.iloc[:, place].tolist()]
        if getattr(frame.dtypes.iloc[place], "kind", "O") not in "biufM"
        else frame.iloc[:, place].to_numpy()
        for place in range(frame.shape[1])
    }
    import pandas as pd

    result = pd.DataFrame(changed, index=[neutral(value) for value in frame.index.tolist()])
    result.columns = pd.Index([neutral(name) for name in frame.columns])
    result.index.name = frame.index.name
    return result


def safe_name(name: str) -> str:
    """``name`` as part of a file's name: letters, digits, ``-`` and ``_`` as they are, anything else ``_``."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)


def to_csv(frame: pd.DataFrame, *, index: bool = True) -> str:
    """``frame`` as CSV text with neutral cells and line feeds only."""
    return neutral_frame(frame).to_csv(index=index, lineterminator="\n")


def write_csv(path: str | Path, frame: pd.DataFrame, *, index: bool = True) -> Path:
    """Write ``frame`` as CSV in UTF-8 with a byte order mark (spreadsheets need it for Chinese), atomically."""
    return write_text(path, to_csv(frame, index=index), encoding="utf-8-sig")
