"""Which data the notebooks open: the one line ``DATA``, or what was chosen in notebook 00.

The choice is kept in the cache folder, one for each folder of notebooks, and holds only where ``DATA`` still is the
line that the notebooks come with: a path that somebody wrote there always wins.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from workbench.data.files import write_text
from workbench.evidence.cache import cache_folder

#: What ``DATA`` and ``CORPUS`` are in the notebooks as they come.
FOLDER = "../sample_data/"
SAMPLE = "../sample_data/support/evaluations/baseline"
#: What ``DATA`` is in the notebook that compares two runs; there :data:`SAMPLE` is ``BASELINE``.
SAMPLE_AFTER = "../sample_data/support/evaluations/improved"
SAMPLE_CORPUS = "../sample_data/support/corpus.jsonl"
SAMPLE_LABELS = "../sample_data/support/verdicts.csv"
SAMPLE_LOG = "../sample_data/support/query_log.jsonl"

_log = logging.getLogger(__name__)


def data_path(data: str | Path = SAMPLE) -> str:
    """The path to open for the line ``DATA = …``.

    A path of the user's own is returned as it is. The line that the notebooks come with gives what was chosen in
    notebook 00 in this folder, else the sample data, also when the notebook runs from elsewhere.

    Examples
    --------
    >>> wb.data_path("runs/baseline")  # doctest: +SKIP
    """
    if str(data) not in (SAMPLE, SAMPLE_AFTER):
        return _found(str(data))
    return remembered() or _found(str(data))


def baseline_path(baseline: str | Path | None = SAMPLE, data: str | Path = SAMPLE_AFTER) -> str | None:
    """The run to compare with for the lines ``BASELINE = …`` and ``DATA = …``; None without one.

    Examples
    --------
    >>> wb.baseline_path("runs/before", "runs/after")  # doctest: +SKIP
    """
    return _beside(baseline, SAMPLE, data)


def corpus_path(corpus: str | Path | None = SAMPLE_CORPUS, data: str | Path = SAMPLE) -> str | None:
    """The corpus to open for the lines ``CORPUS = …`` and ``DATA = …``; None without one.

    Examples
    --------
    >>> wb.corpus_path("corpus.jsonl", "runs/baseline")  # doctest: +SKIP
    """
    return _beside(corpus, SAMPLE_CORPUS, data)


def log_path(log: str | Path | None = SAMPLE_LOG, data: str | Path = SAMPLE) -> str | None:
    """The query log to open for the lines ``LOG = …`` and ``DATA = …``; None without one.

    Examples
    --------
    >>> wb.log_path("query_log.jsonl", "runs/baseline")  # doctest: +SKIP
    """
    return _beside(log, SAMPLE_LOG, data)


def labels_path(labels: str | Path | None = SAMPLE_LABELS) -> str | None:
    """The file of verdicts for the line ``LABELS = …``; None stays None, and so does the line that the notebook comes with
    where there are no sample data. Verdicts on other runs than the one opened do not count anyway.

    Examples
    --------
    >>> wb.labels_path("verdicts.csv")  # doctest: +SKIP
    """
    found = None if labels is None else _found(str(labels))
    return None if found is None or (str(labels) == SAMPLE_LABELS and not Path(found).exists()) else found


def _beside(path: str | Path | None, sample: str, data: str | Path) -> str | None:
    """``path``; what the notebooks come with belongs to the sample data: beside other data it is none."""
    if path is None:
        return None
    if str(path) == sample and Path(_found(SAMPLE)).resolve().parents[1] not in Path(data_path(data)).resolve().parents:
        return None
    return _found(str(path))


def remembered() -> str | None:
    """What was chosen in notebook 00 in this folder and still exists; None without a choice."""
    path = _choices().get(str(Path.cwd()))
    return path if path is not None and Path(path).exists() else None


def remember(path: str | Path | None) -> None:
    """Let the notebooks in this folder open ``path``; None goes back to the sample data."""
    choices = _choices()
    choices.pop(str(Path.cwd()), None)
    if path is not None:
        choices[str(Path.cwd())] = str(Path(path).resolve())
    write_text(_file(), json.dumps(choices, ensure_ascii=False, indent=1))


def _found(path: str) -> str:
    """``path``; sample data that are not beside the notebook are taken from beside the package."""
    if Path(path).exists() or not path.startswith(FOLDER):
        return path
    beside_package = Path(__file__).resolve().parents[2] / "notebooks" / path
    return str(beside_package.resolve()) if beside_package.exists() else path


def _file() -> Path:
    return cache_folder() / "chosen_data.json"


def _choices() -> dict[str, str]:
    try:
        choices = json.loads(_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("the choice of data is not readable and was left out: %s", error)
        return {}
    return choices if isinstance(choices, dict) else {}
