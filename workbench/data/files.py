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
    """Yield a temporary path; when the block ends well it replaces ``path``, otherwise it is removed."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def replacing_folder(path: str | Path, keep: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield a temporary folder; when the block ends well it takes the place of the folder ``path``.

    Entries of the old folder that are named in ``keep`` move into the new one.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:50]}.", dir=target.parent))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        _swap(temporary, target, keep)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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
