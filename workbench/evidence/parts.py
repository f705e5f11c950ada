"""The evidence of several saved evaluations as one, of which a column or a part at a time is read from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.files import write_text
from workbench.errors import InputError
from workbench.evidence.frames import (
    FRAMES,
    Evidence,
    distinct_values,
    frame_of,
    is_evaluation,
    read_frame,
    read_manifest,
)

#: Names the parts of a folder, in their order; written when all of them are complete.
PARTS = "parts.json"
#: Parts of the manifest that are the same in every part, or said of each.
_SAID = ("judge", "prompt_hash", "encoder", "data_hash")


def write_parts(folder: Path, parts: Sequence[Path]) -> None:
    """Say that ``parts``, folders in ``folder``, are one result."""
    write_text(folder / PARTS, json.dumps({"parts": [part.name for part in parts]}, indent=1) + "\n")


def part_folders(folder: str | Path) -> tuple[Path, ...]:
    """The parts that :func:`write_parts` named in ``folder``, in their order; none where there is no such list.

    Raises
    ------
    InputError
        When the list is damaged, or a part is gone.
    """
    if not isinstance(folder, str | Path):
        return ()
    path = Path(folder)
    try:
        names = json.loads((path / PARTS).read_text(encoding="utf-8"))["parts"]
        parts = tuple(path / Path(name).name for name in names)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path / PARTS}: cannot be read ({error}); score the files again, complete ones are kept") from error
    for part in parts:
        if not is_evaluation(part):
            raise InputError(f"{part}: this part is gone; score the files again, complete ones are kept")
    return parts


def is_saved(path: str | Path) -> bool:
    """Whether ``path`` is a saved evaluation, in one folder or in parts."""
    try:
        return is_evaluation(path) or (Path(path) / PARTS).is_file()
    except (OSError, TypeError):  # a name that is too long, or no path at all
        return False


class EvidenceOfParts:
    """What :class:`~workbench.evidence.frames.Evidence` says of samples, over several folders; nothing read is kept but ids.

    The frames themselves are only in the parts.

    Attributes
    ----------
    folders
        The parts, in their order.
    starts
        (p + 1,) the position of the first sample of each part, and how many there are.
    ids
        The sample ids in order. Where two parts have one in common, all are named after their part: ``2:id``.
    """

    in_parts = True

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        own = [read_frame(folder, "samples", ["sample_id"])["sample_id"].astype("str") for folder in self.folders]
        self.starts = np.concatenate([[0], np.cumsum([len(ids) for ids in own])])
        ids = pd.Index(pd.concat(own), name="sample_id")
        if not ids.is_unique:
            ids = pd.Index(pd.concat([f"{at}:" + one for at, one in enumerate(own, start=1)]), name="sample_id")
        self.ids: pd.Index = ids

    def __len__(self) -> int:
        return len(self.ids)

    def __getattr__(self, name: str) -> Any:
        if name in FRAMES:
            raise in_parts(self.folders)
        raise AttributeError(name)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """That of the first part, with what the others say otherwise, their counts and times."""
        every = [read_manifest(folder) for folder in self.folders]
        found = dict(every[0])
        for name in _SAID:
            told = list(dict.fromkeys(str(one[name]) for one in every if one.get(name) is not None))
            found[name] = (" + ".join(told[:3]) or None) if len(told) > 1 else every[0].get(name)
        counts = [one.get("counts") or {} for one in every]
        found["counts"] = {name: sum(one.get(name, 0) for one in counts) for name in counts[0]}
        found["seconds"] = round(sum(one.get("seconds", 0) for one in every), 2)
        return found | {"parts": len(every)}

    @cached_property
    def columns(self) -> list[str]:
        """Columns of ``samples`` that some part has."""
        import pyarrow.parquet as parquet

        named = (parquet.read_schema(folder / "samples.parquet").names for folder in self.folders)
        return [name for name in dict.fromkeys(name for names in named for name in names) if name != "sample_id"]

    def place(self, code: int) -> tuple[int, int]:
        """The part of a sample, and its position there."""
        part = int(np.searchsorted(self.starts, code, side="right")) - 1
        return part, code - int(self.starts[part])

    def pieces(self, columns: Sequence[str] | None = None, contexts: bool = True) -> Iterator[Evidence]:
        """The evidence of one part after the other, no more of it than ``samples`` (all columns or some) and ``contexts``."""
        rest = {name: frame_of(name, {}) for name in FRAMES if name != "samples"}
        for folder in self.folders:
            samples = read_frame(folder, "samples", None if columns is None else ["sample_id", *columns])
            own = {"contexts": read_frame(folder, "contexts")} if contexts else {}
            yield Evidence(samples=samples.astype({"sample_id": "str"}).set_index("sample_id"), **{**rest, **own})

    def nested(self, name: str) -> list[Any]:
        """As of ``Evidence``; samples with the same value share one object."""
        places, values = self.distinct(name)
        return [None if at < 0 else values[at] for at in places.tolist()]

    def distinct(self, name: str) -> tuple[NDArray[Any], list[Any]]:
        """As of ``Evidence``."""
        return distinct_values(pd.Series(self.plain(name), dtype=object, name=name))

    def plain(self, name: str) -> NDArray[Any]:
        """As of ``Evidence``; read anew each time, but for what a judge wrote, which is a few words."""
        if not name.startswith("judge_"):
            return np.concatenate([piece.plain(name) for piece in self.pieces([name], contexts=False)])
        kept = self.__dict__.setdefault("_judged", {})
        if name not in kept:
            kept[name] = np.concatenate([piece.plain(name) for piece in self.pieces([name], contexts=False)])
        return np.asarray(kept[name])

    def number(self, name: str) -> NDArray[np.float64]:
        """As of ``Evidence``."""
        return np.concatenate([piece.number(name) for piece in self.pieces([name], contexts=False)])

    def beginnings(self, name: str, characters: int) -> NDArray[Any]:
        """:meth:`plain` with texts cut to ``characters``."""
        found = [
            [value[:characters] if isinstance(value, str) else value for value in piece.plain(name)]
            for piece in self.pieces([name], contexts=False)
        ]
        column = np.empty(len(self), dtype=object)
        column[:] = [value for own in found for value in own]
        return column


def in_parts(folders: Sequence[Path]) -> InputError:
    """The error of what needs the evidence of all samples at once."""
    return InputError(
        f"{folders[0].parent}: this needs the evidence of all samples at once, and the result lies in {len(folders)} parts; "
        f"open one of them, such as {folders[0].name}",
        key="in_parts", where=folders[0].parent, n=len(folders), part=folders[0].name,
    )  # fmt: skip
