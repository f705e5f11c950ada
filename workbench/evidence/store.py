"""Evidence on disk: a folder of Parquet frames with a manifest, written whole or not at all."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.evidence.formats import SIGNS
from workbench.evidence.frames import COLUMNS, FRAMES, Evidence, conform

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = "manifest.json"

#: Version of the folder's layout; a folder of a later one is refused.
LAYOUT = 1


def write_frames(evidence: Evidence, folder: Path) -> None:
    """Write the six frames and the manifest into ``folder``, which exists."""
    for name in FRAMES:
        frame = getattr(evidence, name)
        stored = frame.rename_axis("sample_id").reset_index() if name == "samples" else frame
        stored.to_parquet(folder / f"{name}.parquet", index=False, compression="zstd")
    manifest = {"layout": LAYOUT, **evidence.manifest}
    text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True, default=str)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_frames(folder: str | Path) -> Evidence:
    """Read what :func:`write_frames` wrote.

    Raises
    ------
    InputError
        When the folder is no evaluation, is of a later layout, or a frame is missing, unreadable or has rows of samples
        that are not in ``samples``.
    """
    if not is_evaluation(folder):
        raise InputError(f"{folder}: no saved evaluation (it has no samples.parquet); give a folder that score --out wrote")
    path = Path(folder)
    manifest = _manifest(path)
    with ThreadPoolExecutor() as pool:  # reading and unpacking are done outside the interpreter's lock
        frames = dict(zip(FRAMES, pool.map(lambda name: _read(path, name), FRAMES), strict=True))
    samples = frames["samples"]
    if samples["sample_id"].duplicated().any():
        twice = samples.loc[samples["sample_id"].duplicated(), "sample_id"].iloc[0]
        raise InputError(f"{path}/samples.parquet: sample_id {twice!r} stands twice; each must be unique")
    _check_words(path, samples)
    frames["samples"] = samples.astype({"sample_id": "str"}).set_index("sample_id")
    evidence = Evidence(manifest=manifest, **{name: frames[name] for name in FRAMES})
    for name in ("contexts", "claims", "support", "questions"):
        try:
            evidence.codes(frames[name])
        except KeyError as error:
            raise InputError(f"{path}/{name}.parquet: {error.args[0]}") from error
    return evidence


def is_evaluation(path: str | Path) -> bool:
    """Whether ``path`` is the folder of a saved evaluation."""
    try:
        return (Path(path) / "samples.parquet").is_file()
    except (OSError, TypeError):  # a name that is too long, or no path at all
        return False


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}/{MANIFEST}: cannot be read ({error}); score the recording again") from error
    if not isinstance(manifest, dict):
        raise InputError(f"{path}/{MANIFEST}: not a table of names and values; score the recording again")
    layout = manifest.get("layout", LAYOUT)
    if not isinstance(layout, int):
        raise InputError(f"{path}/{MANIFEST}: layout {layout!r} is no number; score the recording again")
    if layout > LAYOUT:
        raise InputError(f"{path}: written by a later version (layout {manifest['layout']}); update the workbench")
    return manifest


def _check_words(path: Path, samples: pd.DataFrame) -> None:
    """Raise for a column of samples that holds other than the words that it is for."""
    for column, known in (("judge_method", None), ("text_format", SIGNS)):
        for value in samples[column].dropna().tolist() if column in samples else ():
            if not isinstance(value, str) or (known and value not in known):
                wanted = f"none of {', '.join(known)}" if known else "no text"
                shown = f"column {column} holds {str(value)[:40]!r}, {wanted}"
                raise InputError(f"{path}/samples.parquet: {shown}; score the recording again")


def _read(path: Path, name: str) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / f"{name}.parquet"
    categories = [column for column, dtype in COLUMNS[name].items() if dtype == "category"]
    try:
        frame = pq.read_table(file, read_dictionary=categories).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read ({error}); score the recording again") from error
    missing = [column for column in ("sample_id",) if column not in frame]
    if missing:
        raise InputError(f"{file}: column {missing[0]} is missing; score the recording again")
    try:
        return conform(name, frame)
    except (ValueError, TypeError) as error:
        raise InputError(f"{file}: holds values of the wrong kind ({error}); score the recording again") from error
