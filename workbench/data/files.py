"""Writing files so that a half-written one never exists under its name."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import InputError


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> Path:
    """Write ``text`` to ``path`` through a temporary file in the same folder; line ends are kept as given."""
    return write_bytes(path, text.encode(encoding))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write ``content`` to ``path`` through a temporary file in the same folder.

    Raises
    ------
    InputError
        When the place cannot be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path; when the block ends well it replaces ``path``, otherwise it is removed.

    Raises
    ------
    InputError
        When the place cannot be written, or is a folder, a device or a pipe: those are never replaced.
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

    Raises
    ------
    InputError
        When the place cannot be written, or is something else than a folder: that is never replaced.
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
