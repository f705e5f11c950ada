"""The same examination file by file over a Dask cluster, in bounded memory; a killed worker loses nothing.

Each file is loaded, evaluated and saved inside one task, and only its folder and a small summary travel back. Tasks run
at least once: judgements go to the cache from inside the task, and a complete folder is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from workbench.evaluation import Evaluation
    from workbench.scoring.thresholds import Thresholds

_CONTENT = "content.txt"
#: Texts of a sample by which nothing is grouped.
_HEAVY = ("answer", "reference", "references", "must_include", "must_not_include", "history", "sampled_answers", "metadata")


@dataclass(frozen=True)
class ClusterRun:
    """Saved evaluations of several files.

    Attributes
    ----------
    parts
        Folders, in the order of the paths given.
    """

    parts: tuple[Path, ...]

    def summary(self) -> pd.DataFrame:
        """The summary over all parts together, one row a metric; parts are joined in their order.

        Scores are read from the parts; means, counts and bounds are those of the whole, intervals as in ``summary()`` of
        one evaluation.
        """
        from workbench.evaluation import summary_of_parts

        return summary_of_parts(self.parts)

    def __iter__(self) -> Iterator[Evaluation]:
        """The evaluation of each part, opened when it is its turn; let go of one before the next to stay in memory."""
        from workbench.evaluation import load_evaluation

        return (load_evaluation(part) for part in self.parts)

    def failures(self, thresholds: Thresholds | None = None) -> pd.DataFrame:
        """``failures()`` of all parts without the texts: index ``sample_id``; ``part, passed, primary_cause, sub_cause,
        confidence, refusal_outcome``. Some 100 bytes a sample; one part at a time is in memory beside it.

        Under the ``thresholds`` given, or those that each part was saved with.
        """
        import pandas as pd

        columns = ["passed", "primary_cause", "sub_cause", "confidence", "refusal_outcome"]
        found = []
        for place, part in enumerate(self):
            frame = (part if thresholds is None else part.with_thresholds(thresholds)).failures()[columns]
            frame.insert(0, "part", place)
            found.append(frame.astype({"primary_cause": "category", "sub_cause": "category", "refusal_outcome": "category"}))
        return pd.concat(found).astype(dict.fromkeys(("primary_cause", "sub_cause", "refusal_outcome"), "category"))

    def slices(self, columns: Sequence[str] | None = None, **options: Any) -> pd.DataFrame:
        """``worst_slices`` over all parts together; of each sample its question and what it can be grouped by are in
        memory, not its other texts.

        Parameters
        ----------
        columns, options
            As for ``worst_slices``.
        """
        import numpy as np
        import pandas as pd

        from workbench.diagnosis.queries import Dimensions, outcomes, sample_frame
        from workbench.diagnosis.slices import slices_of

        frames, failed, tested = [], [], []
        for part in self:
            frame = sample_frame(part)
            frames.append(frame.drop(columns=[name for name in _HEAVY if name in frame]))
            bad, known, _ = outcomes(part)
            failed.append(bad)
            tested.append(known)
        dimensions = Dimensions(pd.concat(frames))
        return slices_of(dimensions, np.concatenate(failed), np.concatenate(tested), columns, **options)

    def compare(self, before: ClusterRun, thresholds: Thresholds | None = None) -> pd.DataFrame:
        """What changed since ``before``: ``flips()`` of the comparison of two evaluations, over all samples that both runs
        have, in the order of this one. ``frame["change"].value_counts()`` counts them.

        A part of either run is in memory at a time. Runs that were cut into the same files are compared fastest.
        """
        import pandas as pd

        from workbench.diagnosis.comparison import compared
        from workbench.evaluation import load_evaluation

        places = pd.concat([pd.Series(place, index=_ids(part)) for place, part in enumerate(before.parts)])
        found, held, opened = [], -1, None
        for part in self.parts:
            after = load_evaluation(part, thresholds=thresholds)
            mine = places.reindex(after.evidence.ids).dropna().astype(int)
            flips = []
            for place in sorted(mine.unique().tolist()):
                if place != held:
                    held, opened = place, load_evaluation(before.parts[place], thresholds=thresholds)
                flips.append(compared(opened, after).flips().set_index("sample_id"))
            if flips:
                found.append(pd.concat(flips).reindex(mine.index).rename_axis("sample_id").reset_index())
        if not found:
            raise InputError("the two runs have no sample in common; compare runs of the same cases")
        return pd.concat(found, ignore_index=True)

    def one(self, sample_id: str) -> Evaluation:
        """The evaluation of one sample: only the part that holds it is opened.

        Raises
        ------
        KeyError
            When no part has this id.
        """
        from workbench.evaluation import load_evaluation

        for part in self.parts:
            if sample_id in _ids(part):
                return load_evaluation(part).one(sample_id)
        raise KeyError(sample_id)


def _ids(part: Path) -> list[str]:
    """The ids of the samples of a part; nothing else of it is read."""
    import pyarrow.parquet as parquet

    ids: list[str] = parquet.read_table(part / "samples.parquet", columns=["sample_id"])["sample_id"].to_pylist()
    return ids


def open_cluster_run(out: str | Path) -> ClusterRun:
    """The parts that :func:`score_on_cluster` left below ``out``, in their order; nothing is read yet.

    Raises ``InputError`` when there is none.
    """
    from workbench.evidence.frames import is_evaluation

    folder = Path(out).expanduser()
    parts = tuple(sorted(part for part in folder.glob("[0-9]*-*") if is_evaluation(part))) if folder.is_dir() else ()
    if not parts:
        raise InputError(f"{out}: no parts of a cluster run are there; give the folder that score_on_cluster wrote to")
    return ClusterRun(parts)


def score_on_cluster(paths: Sequence[str | Path], out: str | Path, client: Any, **evaluate_options: Any) -> ClusterRun:
    """Evaluate each file of ``paths`` over ``client``, one saved evaluation a file below ``out``.

    Parameters
    ----------
    paths
        Recordings that every worker can read. Parts are numbered, so equal file names do not clash.
    out
        A folder that every worker can write to.
    client
        A ``dask.distributed.Client``.
    evaluate_options
        As for ``evaluate``; they travel to the workers, so names of judges and encoders rather than objects.

    Returns
    -------
    ClusterRun

    Raises
    ------
    InputError
        When a file cannot be used or a worker kept failing on it; the message names the file.

    Examples
    --------
    >>> wb.score_on_cluster(["a.jsonl", "b.jsonl"], "runs", dask.distributed.Client()).summary()  # doctest: +SKIP
    """
    from distributed import KilledWorker

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    parts = tuple(folder / f"{place:05d}-{Path(path).name.split('.')[0]}" for place, path in enumerate(paths))
    options = {"progress": False, **evaluate_options}
    futures = [
        client.submit(_examine, str(path), str(part), options, pure=False, retries=2)
        for path, part in zip(paths, parts, strict=True)
    ]
    for path, future in zip(paths, futures, strict=True):
        try:
            future.result()
        except KilledWorker as error:
            raise InputError(f"{path}: workers kept dying on it; split the file or give workers more memory") from error
    return ClusterRun(parts)


def _examine(path: str, part: str, options: dict[str, Any]) -> str:
    """Evaluate one file, unless its folder already holds just that."""
    from workbench.api import data_hash, evaluate
    from workbench.data.files import write_text
    from workbench.data.load import load_samples
    from workbench.evidence.cache import content_key
    from workbench.evidence.frames import is_evaluation

    samples = load_samples(path)
    content = content_key(data_hash(samples), repr(sorted((name, repr(value)) for name, value in options.items())))
    mark = Path(part) / _CONTENT
    if is_evaluation(part) and mark.is_file() and mark.read_text(encoding="utf-8") == content:
        return part
    evaluate(samples, **options).save(part)
    write_text(mark, content)
    return part
