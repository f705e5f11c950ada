"""The same examination file by file over a Dask cluster, in bounded memory; a killed worker loses nothing.

Each file is loaded, evaluated and saved inside one task, and only its folder and a small summary travel back. Tasks run
at least once: judgements go to the cache from inside the task, and a complete folder is not computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.evaluation import EvaluationOfParts

_CONTENT = "content.txt"


def score_on_cluster(
    paths: Sequence[str | Path], out: str | Path, client: Any, **evaluate_options: Any
) -> EvaluationOfParts:
    """Evaluate each file of ``paths`` over ``client``, one saved evaluation a file below ``out``, which opens as one.

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
    An evaluation of all samples whose ``parts`` are the folders in the order of ``paths``; ``wb.open(out)`` and
    the notebooks open the same, a part at a time.

    Raises
    ------
    InputError
        When a file cannot be used or a worker kept failing on it; the message names the file.

    Examples
    --------
    >>> wb.score_on_cluster(["a.jsonl", "b.jsonl"], "runs", dask.distributed.Client()).summary()  # doctest: +SKIP
    """
    from distributed import KilledWorker

    from workbench.evaluation import load_evaluation
    from workbench.evidence.parts import write_parts

    if not paths:
        raise InputError("there is no file to score; give the paths of recordings")
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
    write_parts(folder, parts)
    return cast("EvaluationOfParts", load_evaluation(folder))


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
