"""From a path to text: decompression with a size limit, byte order marks, encodings."""

from __future__ import annotations

import codecs
import zlib
from pathlib import Path

from workbench.data.formats.records import WHOLE_FILE, Remark
from workbench.errors import InputError

#: Largest content that is read, after decompression.
MAX_BYTES = 4 * 1024**3

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

    Raises
    ------
    InputError
        When there is no such file, it is a folder, cannot be read, is empty, damaged or larger than ``MAX_BYTES``.
    """
    shown = path.name[-80:]
    try:
        if path.is_dir():
            raise InputError(f"{shown}: is a folder; give the file in it")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{shown}: is larger than {MAX_BYTES >> 30} GB; split it into parts")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{str(path)[-200:]}: no such file; check the path") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shown}: cannot be read ({reason}); check the path and its permissions") from error
    if content[:2] == b"\x1f\x8b":
        content = _gunzip(shown, content)
    if not content.strip(b" \t\r\n\x00\xef\xbb\xbf"):
        raise InputError(f"{shown}: the file is empty; give one with at least one record")
    return content


def _gunzip(shown: str, content: bytes) -> bytes:
    """All members of a gzip file; stops at the limit, so that a small file cannot fill the memory."""
    pieces: list[bytes] = []
    total = 0
    try:
        while content:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                piece = member.decompress(content, _CHUNK)
                content = member.unconsumed_tail
                total += len(piece)
                pieces.append(piece)
                if total > MAX_BYTES:
                    raise InputError(f"{shown}: unpacks to more than {MAX_BYTES >> 30} GB; split it into parts")
                if not content and not piece and not member.eof:
                    raise InputError(f"{shown}: the gzip file is cut off; copy or export it again")
            content = member.unused_data.lstrip(b"\x00")
    except zlib.error as error:
        raise InputError(f"{shown}: the gzip file is damaged ({error}); copy or export it again") from error
    return b"".join(pieces)


def decode(content: bytes) -> tuple[str, list[Remark]]:
    """The text of ``content`` and warnings about how it was decoded.

    A byte order mark decides; else UTF-8; else GB 18030 or Big5 (a warning); else UTF-8 with U+FFFD for what is broken (a
    warning that names the first line).
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace"), []
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    chinese = _as_chinese(content)
    if chinese is not None:
        text, encoding = chinese
        reason = f"is not UTF-8; read as {encoding}. Save it as UTF-8 if text looks wrong"
        return text, [Remark(WHOLE_FILE, "", reason)]
    reason = f"is not UTF-8 (first at line {line}); the broken characters became U+FFFD. Save it as UTF-8"
    return content.decode("utf-8", "replace"), [Remark(WHOLE_FILE, "", reason)]


#: Name, codec, and the codes between which the standard has its common characters (GB 2312 level 1, Big5 level 1).
_CHINESE = (("GB 18030", "gb18030", b"\xb0\xa1", b"\xd7\xf9"), ("Big5", "cp950", b"\xa4\x40", b"\xc6\x7e"))


def _as_chinese(content: bytes) -> tuple[str, str] | None:
    """``content`` read in the encoding in which more of it is common characters, and that encoding's name.

    None when it is valid in neither or does not look Chinese.
    """
    found = []
    for name, codec, low, high in _CHINESE:
        try:
            text = content.decode(codec)
        except UnicodeDecodeError:
            continue
        codes = [c.encode(codec) for c in text[:100_000] if c > "\x7f"]
        found.append((sum(low <= code <= high for code in codes), text, name))
    _, text, name = max(found, key=lambda item: item[0], default=(0, "", ""))
    return (text, name) if text and _looks_chinese(text) else None


def _looks_chinese(text: str) -> bool:
    """Whether most of the text beyond ASCII is Chinese; Latin-1 read as GB 18030 seldom is."""
    beyond = [c for c in text[:100_000] if c > "\x7f"]
    common = sum("\u4e00" <= c <= "\u9fff" or "\u3000" <= c <= "\u303f" or "\uff00" <= c <= "\uffef" for c in beyond)
    return common >= 0.9 * len(beyond)
