"""Any source as records: what a file is, is read from its content and not from its name.

:func:`_from_bytes` tells the kinds of files apart and calls what reads each; what tools nest in records is for ``tools.py``.
"""

from __future__ import annotations

import codecs
import difflib
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from workbench.data.columns import name_tables
from workbench.data.formats import json, tables
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt, number_records, why
from workbench.data.text.normalise import scrub
from workbench.errors import InputError

# ------------------------------------------------------------------------------
# From a path to text: decompression with a size limit, byte order marks, encodings.


#: Largest content that is read, after decompression.
MAX_BYTES = 4 * 1024**3

#: Longest line of a text, and how much larger than packed a file may become before it counts as made to fill the memory.
MAX_LINE, MAX_RATIO, SAFE = 256 * 1024**2, 150, 64 * 1024**2

_CHUNK = 1024 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_bytes(path: Path) -> bytes:
    """Content of the file, decompressed when it is gzip.

    Raises ``InputError`` when there is no such file, it is a folder, cannot be read, is empty, damaged or larger than
    ``MAX_BYTES``.
    """
    shown = path.name[-80:]
    try:
        if path.is_dir():
            raise InputError(f"{shown}: is a folder; give the file in it", key="folder", where=shown)
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{shown}: is larger than {MAX_BYTES >> 30} GB; split it into parts")
        if path.stat().st_size > MAX_LINE:
            _check_lines(path, shown)
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise absent(path) from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shown}: cannot be read ({reason}); check the path and its permissions") from error
    if content[:2] == b"\x1f\x8b":
        content = _gunzip(shown, content)
    if not content.strip(b" \t\r\n\x00\xef\xbb\xbf"):
        raise InputError(f"{shown}: the file is empty; give one with at least one record", key="empty", where=shown)
    return content


def absent(path: str | os.PathLike[str]) -> InputError:
    """The error for a path at which there is nothing, with where it was looked for and a name there that is nearly it."""
    path = Path(path).expanduser()
    try:
        names = sorted(item.name for item in path.absolute().parent.iterdir())
    except (OSError, ValueError):
        names = []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else "check the path"
    place = "" if path.is_absolute() else f" in {str(Path.cwd())[-120:]}"
    told = {"where": str(path)[-200:], "folder": str(path.absolute().parent), "near": near[0] if near else ""}
    return InputError(f"{told['where']}: no such file{place}; {hint}", key="absent_near" if near else "absent", **told)


def _check_lines(path: Path, shown: str) -> None:
    """Raise for a text in which a line is longer than ``MAX_LINE``, before it is read whole."""
    with path.open("rb") as stream:
        if stream.peek(6)[:6].startswith((b"PAR1", b"ARROW1", b"PK\x03\x04", b"\x1f\x8b")):
            return
        length = 0  # of the line so far
        while piece := stream.read(16 * _CHUNK):
            first = min((at for at in (piece.find(b"\n"), piece.find(b"\r")) if at >= 0), default=len(piece))
            if length + first > MAX_LINE:
                raise InputError(f"{shown}: a line is longer than {MAX_LINE >> 20} MB; write one record a line (JSONL)")
            last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
            length = length + len(piece) if last < 0 else len(piece) - last - 1


def _gunzip(shown: str, content: bytes) -> bytes:
    """All members of a gzip file; stops at the limit, so that a small file cannot fill the memory."""
    pieces: list[bytes] = []
    total, packed = 0, len(content)
    try:
        while content:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                piece = member.decompress(content, _CHUNK)
                content = member.unconsumed_tail
                total += len(piece)
                pieces.append(piece)
                if total > SAFE and total > MAX_RATIO * packed:
                    raise InputError(
                        f"{shown}: unpacks to more than {MAX_RATIO} times its size; unpack it and check what it holds"
                    )
                if total > MAX_BYTES:
                    raise InputError(f"{shown}: unpacks to more than {MAX_BYTES >> 30} GB; split it into parts")
                if not content and not piece and not member.eof:
                    raise InputError(f"{shown}: the gzip file is cut off; copy or export it again", key="damaged", where=shown)
            content = member.unused_data.lstrip(b"\x00")
    except zlib.error as error:
        reason = f"{shown}: the gzip file is damaged ({error}); copy or export it again"
        raise InputError(reason, key="damaged", where=shown) from error
    return b"".join(pieces)


def decode(content: bytes, where: str = "the data", encoding: str | None = None) -> tuple[str, list[Remark]]:
    """The text of ``content`` and warnings about how it was decoded.

    ``encoding`` when given; else a byte order mark; else UTF-8; else UTF-16 by its zero bytes; else the encoding in which the
    text looks most like one of its language (a warning that shows a line); else, when most of it is UTF-8, that with U+FFFD
    for what is broken (a warning that names the first line).

    Raises ``InputError`` when it is no text in any of these.
    """
    if encoding is not None:
        try:
            return content.decode(encoding), []
        except (LookupError, UnicodeDecodeError) as error:
            raise InputError(
                f"{where}: cannot be read as {encoding!r} ({error}); leave encoding= out or name another"
            ) from error
    for mark, codec in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(codec, "replace"), []
    wide = _utf16(content[:4096])
    if wide is not None:
        return content.decode(wide, "replace"), [
            Remark(WHOLE_FILE, "", why("no_mark", encoding=wide.upper()))
        ]
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    broken = content[: 1 << 20].decode("utf-8", "replace")
    if 2 * broken.count("\ufffd") < sum(c > "\x7f" for c in broken):
        reason = why("broken_utf8", line=line)
        return content.decode("utf-8", "replace"), [Remark(WHOLE_FILE, "", reason)]
    for name, codec in _likely(content):
        try:
            text = content.decode(codec)
        except UnicodeDecodeError:
            continue
        shown = next((part for part in text.splitlines() if not part.isascii()), "")
        reason = why("read_as", encoding=name)
        return text, [Remark(WHOLE_FILE, "", reason, excerpt(shown))]
    raise InputError(
        f"{where}: is not UTF-8 (first at line {line}) nor in another known encoding; pass encoding= or save it as UTF-8"
    )


def _utf16(head: bytes) -> str | None:
    """UTF-16 without a mark, by zero bytes that stand at every second place."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) < 0.05 * len(head) or 3 * min(even, odd) > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


#: What a character counts that is frequent in the language, common in its encoding, one of its script, or strange to it.
_FREQUENT, _COMMON, _OWN, _STRANGE = 1.0, 0.35, 0.0, -0.5
#: Least mean over the characters beyond ASCII.
_LIKELY = 0.25


def _likely(content: bytes) -> list[tuple[str, str]]:
    """Names and codecs of encodings in which the beginning of ``content`` looks like a text, the best first."""
    shared, *own_ones = (table.get("known", []) for table in name_tables("encodings"))
    found = []
    for name, codec, low, high, frequent, script, *never in [*chain(*own_ones), *shared]:
        try:
            text = codecs.getincrementaldecoder(codec)().decode(content[:200_000])
        except UnicodeDecodeError:
            continue
        beyond = "".join(c for c in text if c > "\x7f")
        common, own = (bytes.fromhex(low), bytes.fromhex(high)), re.compile(f"[{script}]")
        weights = {c: _weight(c, codec, common, frequent, own) for c in set(beyond)}
        score = sum(weights[c] for c in beyond) - sum(len(re.findall(pattern, text)) for pattern in never)
        if beyond and score / len(beyond) >= _LIKELY:
            # Two bytes that make one good character speak louder than two good characters by chance.
            found.append((score / len(beyond), name, codec))
    return [(name, codec) for _, name, codec in sorted(found, reverse=True)]


def _weight(c: str, codec: str, common: tuple[bytes, bytes], frequent: str, own: re.Pattern[str]) -> float:
    if c in frequent:
        return _FREQUENT
    if not own.match(c):
        return _STRANGE
    return _COMMON if common[0] <= c.encode(codec) <= common[1] else _OWN


# ------------------------------------------------------------------------------
# What a source is.


#: What ``format=`` may be.
FORMATS = ("json", "jsonl", "csv", "tsv", "excel", "parquet")

_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)", "save it as .xlsx or CSV"),
    (b"%PDF", "a PDF", "export the data as JSON, JSONL or CSV"),
    (b"\x80\x04", "a Python pickle, which is never opened", "export the data as JSONL or Parquet"),
    (b"\x80\x05", "a Python pickle, which is never opened", "export the data as JSONL or Parquet"),
    (b"SQLite format 3", "a SQLite database", "export the table as JSONL or CSV"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it first"),
    (b"BZh", "a bzip2 file", "unpack it first"),
    (b"\xfd7zXZ", "an xz file", "unpack it first"),
    (b"\x89PNG", "a picture", "give the data behind it"),
)


_SURROGATE_ESCAPE = re.compile(r"\\[uU](?:0000)?[dD][89a-fA-F]")


def read_source(source: Any, format: str | None = None, encoding: str | None = None) -> Records:
    """Records of a path, a DataFrame, a list of dicts, a dict, or an object with ``to_pandas`` or ``to_list``.

    ``format`` (one of :data:`FORMATS`) says what a file is when its content leaves a doubt, ``encoding`` how it is encoded.

    Raises ``InputError`` when nothing can be read, with the remedy.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"format {format!r} is not known; use one of {', '.join(FORMATS)}, or leave it out")
    if isinstance(source, (str, os.PathLike)):
        return read_records(source, format, encoding=encoding)
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return tables.from_frame(source)
    if hasattr(source, "column_names") or hasattr(source, "to_pandas"):
        return tables.from_dataset(source)
    if isinstance(source, Mapping):
        return tables.from_splits(source) if tables.is_splits(source) else json.records_in(source, "the data")
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _from_list(list(source))
    raise InputError(f"a {type(source).__name__} cannot be loaded; give a path, a DataFrame or a list of dicts")


def _from_list(items: list[Any]) -> Records:
    if not any(isinstance(item, Mapping) for item in items):
        raise InputError(f"the list given holds no dicts ({json.describe(items)}); give one dict for each question")
    return number_records(items, "list of dicts")


def read_records(
    path: str | os.PathLike[str], format: str | None = None, *, log: bool = False, encoding: str | None = None
) -> Records:
    """Records of a file of any known format, or of a folder that the Hugging Face library saved.

    ``log``: each record stands for itself, so that a single JSON object is one record whatever its fields are called.

    Raises ``InputError`` when nothing can be read, with the remedy.
    """
    path = Path(path)
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    records = tables.from_folder(path) if is_folder else _from_bytes(read_bytes(path), path, format, log, encoding)
    records.name, records.source = scrub(stem(path)), scrub(str(path))
    return records


def stem(path: Path) -> str:
    """File name without its endings: ``baseline.jsonl.gz`` → ``baseline``."""
    name = path.name.removesuffix(".gz")
    return Path(name).stem or name or "samples"


def _from_bytes(content: bytes, path: Path, format: str | None, log: bool, encoding: str | None) -> Records:
    where = path.name[-80:]
    if format == "parquet" or content[:4] == b"PAR1":
        return tables.from_parquet(content, where)
    if content[:6] == b"ARROW1":
        return tables.from_arrow(content, where)
    if format == "excel" or content[:4] == b"PK\x03\x04":
        return tables.read_workbook(content, where)
    for magic, what, remedy in _FOREIGN:
        if content.startswith(magic):
            raise InputError(f"{where}: is {what}; {remedy}", key="foreign", where=where)
    text, warnings = decode(content, where, encoding)
    _refuse_binary(text, where)
    records = _from_text(text, where, format, log)
    records.warnings = warnings + records.warnings
    records.may_hold_surrogates = _SURROGATE_ESCAPE.search(text) is not None
    return records


def _from_text(text: str, where: str, format: str | None, log: bool) -> Records:
    if format in (None, "json", "jsonl"):
        records = json.read_json(text, where, log=log)
        if records is not None:
            return records
    if format in (None, "csv", "tsv"):
        records = tables.read_delimited(text)
        if records is not None:
            return records
    first = " ".join(text.split())[:60]
    what = f"is no {format}" if format else "is no table and no JSON; it looks like a text report"
    remedy = "give the file with one record for each question"
    raise InputError(f"{where}: {what} ({first!r}); {remedy}", key="no_table", where=where, first=first)


def _refuse_binary(text: str, where: str) -> None:
    head = text[:4096]
    strange = sum((c < " " and c not in "\t\r\n\f\x1b") or c == "\ufffd" for c in head)
    if strange > 0.3 * len(head):
        remedy = "give JSON, JSONL, CSV, Excel or Parquet"
        raise InputError(f"{where}: is no text and of no known format; {remedy}", key="foreign", where=where)
