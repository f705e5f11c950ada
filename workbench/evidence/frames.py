"""Evidence as tidy frames, the form in which it is stored, joined and derived from.

Every frame has ``sample_id``; other ids are unique within their sample. Nested values (lists, mappings) are JSON text,
so that a frame in memory is the frame on disk.

``samples``   one row a sample: the fields as recorded, what a judge said of it (``judge_…``), what its texts show
              without any judge (``text_…``), scores of other tools (``recorded:…``)
``contexts``  one row a recorded context, ``rank`` from 1 in the order recorded
``claims``    one row a claim (``side`` answer, reference), key point (point), forbidden content (forbidden) or citation
              (citation); the last three are read from the texts
``support``   one row for each claim or key point and context
``questions`` reverse questions
``rejected``  rows of the source that could not be used
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.schema import NESTED_FIELDS, REJECTED_COLUMNS, SAMPLE_FIELDS, SampleSet, is_derived, object_frame
from workbench.errors import InputError
from workbench.evidence.observe import SIGNS

FRAMES = ("samples", "contexts", "claims", "support", "questions", "rejected")

#: Columns of each frame and their types; ``samples`` may have more (the user's own, facts of the texts).
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "samples": {"sample_id": "str"},
    "contexts": {
        "sample_id": "category", "rank": "int32", "doc_id": "str", "text": "str", "score": "float64", "title": "str",
        "tenant": "str", "position": "float64", "source": "str", "prompted": "bool", "metadata": "str",
        "relevance": "float64", "similarity": "float64", "relevant_sentences": "float64", "n_sentences": "float64",
        "n_tokens": "float64", "answer_share": "float64", "state": "str", "reason": "str",
    },
    "claims": {
        "sample_id": "category", "side": "category", "claim_id": "int32", "text": "str", "start": "int32", "end": "int32",
        "sentence": "int32", "other_entail": "float64", "other_contradict": "float64", "conflict": "float64",
        "kinds": "str", "spans": "str", "cited_rank": "int32", "cited_doc": "str", "elsewhere": "str", "state": "str",
        "reason": "str",
    },
    "support": {
        "sample_id": "category", "side": "category", "claim_id": "int32", "rank": "int32", "entail": "float32",
        "contradict": "float32", "stitched_entail": "float32", "stitched_contradict": "float32", "span_start": "int32",
        "span_end": "int32", "state": "category",
    },
    "questions": {"sample_id": "category", "number": "int32", "text": "str", "similarity": "float64"},
    "rejected": {"sample_id": "str", "row": "int64", "field": "str", "reason": "str", "excerpt": "str"},
}  # fmt: skip

SIDES = ("answer", "reference", "point", "forbidden", "citation")


@dataclass
class Evidence:
    """The frames of one evaluation and the manifest that says how they came about.

    Attributes
    ----------
    samples
        Index ``sample_id``, see the module's docstring.
    manifest
        For people: judge, model, prompt hash, encoder, data hash, library versions, times, counts.
    """

    samples: pd.DataFrame
    contexts: pd.DataFrame
    claims: pd.DataFrame
    support: pd.DataFrame
    questions: pd.DataFrame
    rejected: pd.DataFrame
    manifest: dict[str, Any] = field(default_factory=dict)
    _read: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    #: Whether it is read part by part, see :mod:`workbench.evidence.parts`.
    in_parts = False

    @cached_property
    def ids(self) -> pd.Index:
        """The sample ids in order; a sample's position here is its code everywhere."""
        return self.samples.index

    @property
    def columns(self) -> list[str]:
        """Columns of ``samples``."""
        return [str(column) for column in self.samples.columns]

    def pieces(self, columns: Sequence[str] | None = None, contexts: bool = True) -> Iterator[Evidence]:
        """The evidence by parts that fit in memory: all of it."""
        yield self

    def beginnings(self, name: str, characters: int) -> np.ndarray:
        """:meth:`plain`, of which no more than the first ``characters`` of a text are asked for."""
        return self.plain(name)

    def codes(self, frame: pd.DataFrame) -> np.ndarray:
        """Position in ``ids`` of the sample of each row of ``frame``; a row of an unknown sample raises KeyError."""
        column = frame["sample_id"]
        if column.dtype == "category":
            positions = np.append(self.ids.get_indexer(column.cat.categories), -1)  # the code -1 is a missing id
            found = positions[column.cat.codes.to_numpy()]
        else:
            found = self.ids.get_indexer(column)
        if (found < 0).any():
            raise KeyError(f"sample_id {column.iloc[int(np.argmax(found < 0))]!r} stands in no row of samples")
        return found

    def one(self, code: int) -> Evidence:
        """The evidence of one sample; rejected rows belong to no sample and are left out."""
        parts = {}
        for name in ("contexts", "claims", "support", "questions"):
            rows = getattr(self, name)
            own = rows.iloc[np.flatnonzero(self._sample_codes(name) == code)]
            if own["sample_id"].dtype == "category":
                own = own.assign(sample_id=own["sample_id"].cat.remove_unused_categories())
            parts[name] = own
        return Evidence(self.samples.iloc[[code]], rejected=self.rejected.iloc[:0], manifest=self.manifest, **parts)

    def renamed(self, names: Mapping[str, str]) -> Evidence:
        """The same evidence with other sample ids (old → new, unique after)."""
        parts = {}
        for name in ("contexts", "claims", "support", "questions"):
            frame = getattr(self, name)
            ids = frame["sample_id"].astype(object).map(lambda one: names.get(one, one))
            parts[name] = frame.assign(sample_id=ids.astype("category" if frame["sample_id"].dtype == "category" else "str"))
        samples = self.samples.rename(index=names)
        return Evidence(samples, rejected=self.rejected, manifest=self.manifest, **parts)

    def _sample_codes(self, name: str) -> np.ndarray:
        if ("codes", name) not in self._read:
            self._read["codes", name] = self.codes(getattr(self, name))
        codes: np.ndarray = self._read["codes", name]
        return codes

    def nested(self, name: str) -> list[Any]:
        """A nested column of ``samples``, decoded; None where nothing was recorded or the column is absent."""
        return self._once("nested", name, _decoded)

    def distinct(self, name: str) -> tuple[np.ndarray, list[Any]]:
        """A nested column of ``samples``: (n,) which of its distinct values a sample has, -1 for none, and those, decoded."""
        return self._once("distinct", name, distinct_values)

    def plain(self, name: str) -> np.ndarray:
        """A plain column of ``samples`` as objects, missing values None. Not to be written to."""
        return self._once("plain", name, _objects)

    def number(self, name: str) -> np.ndarray:
        """A numeric column of ``samples`` as float64, NaN where missing or absent. Not to be written to."""
        return self._once("number", name, _floats)

    def _once(self, kind: str, name: str, read: Callable[[pd.Series], Any]) -> Any:
        if (kind, name) not in self._read:
            absent = pd.Series([None] * len(self.samples), index=self.ids, dtype="object", name=name)
            self._read[kind, name] = read(self.samples.get(name, absent))
        return self._read[kind, name]


def _decoded(column: pd.Series) -> list[Any]:
    try:
        found: list[Any] = [None] * len(column)
        there = column.notna().to_numpy()  # most samples lack most fields
        for place, item in zip(np.flatnonzero(there).tolist(), column[there].tolist(), strict=True):
            found[place] = json.loads(item) if isinstance(item, str) else None
        return found
    except (ValueError, RecursionError) as error:
        raise InputError(f"samples: column {column.name} holds no JSON ({error}); score the recording again") from error


def distinct_values(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Of a nested column (n,) which of its distinct values a row has, -1 for none, and those, decoded."""
    places, values = pd.factorize(column.where(column.notna(), None))
    return places, _decoded(pd.Series(values, name=column.name))


def _objects(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object, copy=True)
    values[column.isna().to_numpy()] = None
    return values


def _floats(column: pd.Series) -> np.ndarray:
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)


def encode(value: Any) -> str | None:
    """A nested value as JSON text; None stays None."""
    return None if value is None else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """JSON's fallback: numpy and pandas scalars, tuples, mappings; anything else as text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, set, frozenset, np.ndarray)):
        return list(value)
    return value.item() if isinstance(value, np.generic) else str(value)


def frame_of(name: str, rows: Mapping[str, Sequence[Any] | np.ndarray]) -> pd.DataFrame:
    """A frame with the columns and types of :data:`COLUMNS`; columns that are not given are missing values."""
    length = max((len(values) for values in rows.values()), default=0)
    return pd.DataFrame(
        {
            column: _typed(rows[column] if column in rows else [None] * length, dtype)
            for column, dtype in COLUMNS[name].items()
        }
    )


def conform(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with every column of :data:`COLUMNS` in its type, others left out (kept for ``samples``)."""
    wanted = COLUMNS[name]
    if name == "samples" or {column: str(dtype) for column, dtype in frame.dtypes.items()} == wanted:
        return frame
    return frame_of(name, {column: frame[column] for column in COLUMNS[name] if column in frame})


def _typed(values: Any, dtype: str) -> Any:
    if dtype == "category":
        return values if getattr(values, "dtype", None) == "category" else pd.Categorical(values)
    if dtype.startswith("int"):
        return pd.to_numeric(pd.Series(np.asarray(values))).fillna(-1).astype(dtype).to_numpy()
    if dtype == "bool":
        return pd.Series(np.asarray(values, dtype=object)).fillna(True).astype(bool).to_numpy()
    return pd.Series(values).reset_index(drop=True).astype(dtype)


def concatenate(name: str, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several frames one after the other, categories united."""
    from pandas.api.types import union_categoricals

    parts = list(frames)
    if len(parts) == 1:
        return parts[0]
    joined = {
        column: union_categoricals([part[column] for part in parts])
        if dtype == "category"
        else pd.concat([part[column] for part in parts], ignore_index=True)
        for column, dtype in COLUMNS[name].items()
    }
    return pd.DataFrame(joined)


# ---------------------------------------------------------------- back to the samples that were loaded


def restore(evidence: Evidence, name: str) -> SampleSet:
    """The sample set behind ``evidence``; rejected rows as they were, warnings are not kept."""
    frame = object_frame({c: _array(values) for c, values in recorded_fields(evidence).items()}, evidence.ids)
    rejected = evidence.rejected[list(REJECTED_COLUMNS)]
    return SampleSet(
        frame=frame,
        rejected=rejected,
        warnings=rejected.iloc[:0],
        n_read=len(frame) + rejected["row"].nunique(),
        recorded_scores=pd.DataFrame(recorded_scores(evidence), index=evidence.ids),
        name=name,
    )


def recorded_fields(evidence: Evidence) -> dict[str, Sequence[Any] | np.ndarray]:
    """Every field of the samples as loaded, one value a sample: the fields of a sample first, then the user's own."""
    own = own_columns(evidence)
    columns = {c: evidence.nested(c) if c in NESTED_FIELDS else evidence.plain(c) for c in own}
    columns["contexts"] = context_lists(evidence)
    order = [f for f in SAMPLE_FIELDS if f in columns] + [c for c in own if c not in SAMPLE_FIELDS]
    return {c: columns[c] for c in order}


def recorded_scores(evidence: Evidence) -> dict[str, np.ndarray]:
    """The scores that another tool recorded, by metric, NaN where there is none."""
    recorded = [c for c in evidence.samples if c.startswith("recorded:") and is_derived(c)]
    return {c.removeprefix("recorded:"): evidence.number(c) for c in recorded}


def own_columns(evidence: Any) -> list[str]:
    """Columns of ``evidence.samples`` that were recorded: the fields of a sample and the user's own."""
    return [str(c) for c in evidence.columns if not is_derived(str(c))]


def plain_columns(frame: pd.DataFrame, names: Iterable[str]) -> list[list[Any]]:
    """Columns as lists of plain values, None for what is missing."""
    return [_objects(frame[name]).tolist() for name in names]


def context_lists(evidence: Evidence) -> list[list[dict[str, Any]] | None]:
    """``contexts`` of each sample as lists of mappings; None where none were recorded."""
    frame = evidence.contexts
    names = ("doc_id", "text", "score", "title", "tenant", "position", "prompted", "metadata")
    recorded = evidence.plain("contexts_recorded")
    lists: list[list[dict[str, Any]] | None] = [[] if there is True else None for there in recorded]
    for code, *values in zip(evidence.codes(frame).tolist(), *plain_columns(frame, names), strict=True):
        item = dict(zip(names, values, strict=True))
        item["metadata"] = json.loads(item["metadata"]) if item["metadata"] else None
        if item["metadata"] and item["metadata"].get("kind") == "tool":
            item["kind"] = "tool"
        item["position"] = None if item["position"] is None else int(item["position"])
        here = lists[code]
        if here is not None:
            here.append(item)
    return lists


def _array(values: Any) -> np.ndarray:
    """One object a sample: numpy would make a table of lists that are equally long."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


# ---------------------------------------------------------------- on disk: a folder of Parquet frames with a manifest

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

    Raises ``InputError`` when the folder is no evaluation, is of a later layout, or a frame is missing, unreadable or
    has rows of samples that are not in ``samples``.
    """
    if not is_evaluation(folder):
        if isinstance(folder, str | Path) and os.path.isfile(folder):
            command = f"python -m workbench score {folder} --out runs/{Path(folder).stem}"
            raise InputError(f"{folder}: is a file, not a scored evaluation; score the recording first: {command}")
        raise InputError(
            f"{folder}: no saved evaluation (it has no samples.parquet); give a folder that score --out wrote"
        )
    path = Path(folder)
    manifest = read_manifest(path)
    frames = {name: read_frame(path, name) for name in FRAMES}
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
    """Whether ``path`` is the folder of a saved evaluation; not one of several parts."""
    try:
        return (Path(path) / "samples.parquet").is_file()
    except (OSError, TypeError):  # a name that is too long, or no path at all
        return False


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest in the folder ``path``; empty without one. Raises ``InputError`` for a damaged one."""
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


def read_frame(path: Path, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """One frame of a saved evaluation, or those of its ``columns`` that it has.

    Raises
    ------
    InputError
        When it is missing, unreadable or of the wrong kind.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / f"{name}.parquet"
    categories = [column for column, dtype in COLUMNS[name].items() if dtype == "category"]
    try:
        there = columns if columns is None else [c for c in pq.read_schema(file).names if c in columns]
        frame = pq.read_table(file, columns=there, read_dictionary=categories).to_pandas(self_destruct=True)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read ({error}); score the recording again") from error
    if "sample_id" not in frame:
        raise InputError(f"{file}: column sample_id is missing; score the recording again")
    try:
        return conform(name, frame)
    except (ValueError, TypeError) as error:
        raise InputError(f"{file}: holds values of the wrong kind ({error}); score the recording again") from error
