"""Which data the notebooks open: what the lines ``DATA``, ``BASELINE``, ``CORPUS`` … say, and what ``None`` stands for.

A path that somebody wrote means what it says: absolute, from the home folder (``~``), or relative to the notebook. None
is what was chosen in notebook 00, kept in the cache folder for each folder of notebooks, else the sample data.
"""

from __future__ import annotations

from pathlib import Path

from workbench.data.files import choices, keep_choice

#: The sample data as notebooks find them.
FOLDER = "../sample_data/support"
SAMPLE = f"{FOLDER}/evaluations/baseline"
_CHOSEN, _BEFORE = "chosen_data.json", "chosen_before.json"


def data_path(data: str | Path | None = None, sample: str = "baseline") -> str:
    """The path to open for the line ``DATA = …``; None: what notebook 00 chose in this folder, else the sample data.

    ``sample``: which evaluation of the sample data, ``"baseline"`` or ``"improved"``.

    Examples
    --------
    >>> wb.data_path("runs/baseline")
    'runs/baseline'
    """
    return _found(data) if data else remembered() or _found(f"{FOLDER}/evaluations/{sample}")


def baseline_path(baseline: str | Path | None = None, data: str | Path | None = None) -> str | None:
    """The run to compare with for the lines ``BASELINE = …`` and ``DATA = …``; None: what notebook 00 chose beside the data
    that it chose, the sample's beside the sample's, else none; never the data themselves.

    Examples
    --------
    >>> wb.baseline_path("runs/before", "runs/after")
    'runs/before'
    """
    if baseline is None and (chosen := _chosen(_BEFORE)) is not None and data_path(data) == remembered():
        return chosen
    found = _beside(baseline, "evaluations/baseline", data)
    same = baseline is None and found is not None and Path(found).resolve() == Path(data_path(data)).resolve()
    return None if same else found


def corpus_path(corpus: str | Path | None = None, data: str | Path | None = None) -> str | None:
    """The corpus for the lines ``CORPUS = …`` and ``DATA = …``; None: the sample's beside the sample data, else none.

    Examples
    --------
    >>> wb.corpus_path("corpus.jsonl", "runs/baseline")
    'corpus.jsonl'
    """
    return _beside(corpus, "corpus.jsonl", data)


def log_path(log: str | Path | None = None, data: str | Path | None = None) -> str | None:
    """The query log for the lines ``LOG = …`` and ``DATA = …``; None: the sample's beside the sample data, else none.

    Examples
    --------
    >>> wb.log_path("query_log.jsonl", "runs/baseline")
    'query_log.jsonl'
    """
    return _beside(log, "query_log.jsonl", data)


def labels_path(labels: str | Path | None = None, data: str | Path | None = None) -> str | None:
    """The verdicts for the lines ``LABELS = …`` and ``DATA = …``; None: the sample's beside the sample data, else none.

    Examples
    --------
    >>> wb.labels_path("verdicts.csv")
    'verdicts.csv'
    """
    return _beside(labels, "verdicts.csv", data)


def _beside(path: str | Path | None, sample: str, data: str | Path | None) -> str | None:
    """``path`` where one is given, none for an empty one; else the file ``sample`` where the data are the sample data."""
    if path is not None:
        return _found(path) if str(path) else None
    own = Path(_found(FOLDER)).resolve()
    return _found(f"{FOLDER}/{sample}") if own in Path(data_path(data)).resolve().parents else None


def remembered() -> str | None:
    """What was chosen in notebook 00 in this folder and still exists; None without a choice."""
    return _chosen(_CHOSEN)


def remember(path: str | Path | None) -> None:
    """Let the notebooks in this folder open ``path`` where their ``DATA`` is None; None goes back to the sample data."""
    _choose(_CHOSEN, path)


def remember_before(path: str | Path | None) -> None:
    """Let the notebooks in this folder compare with ``path`` where ``BASELINE`` is None and the data are those chosen."""
    _choose(_BEFORE, path)


def _chosen(kind: str) -> str | None:
    path = choices(kind).get(str(Path.cwd()))
    return path if path is not None and Path(path).exists() else None


def _choose(kind: str, path: str | Path | None) -> None:
    keep_choice(kind, str(Path.cwd()), None if path is None else str(Path(path).expanduser().resolve()))


def _found(path: str | Path) -> str:
    """``path``; sample data that are not beside the notebook are taken from beside the package."""
    path = str(Path(path).expanduser()) if str(path).startswith("~") else str(path)
    if Path(path).exists() or not path.startswith(FOLDER):
        return path
    beside_package = Path(__file__).resolve().parents[2] / "notebooks" / path
    return str(beside_package.resolve()) if beside_package.exists() else path
