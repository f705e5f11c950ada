"""Human verdicts on answers: read from a file, put together where several people judged, and how far they agree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.formats.detect import read_source
from workbench.diagnosis.agreement import agreement
from workbench.diagnosis.statistics import DRAWS, SEED
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
COLUMNS = ("run", "sample_id", "annotator", "verdict", "note")
#: The annotator of a file that names none.
SOMEBODY = "annotator"

_WORDS: Mapping[str, tuple[str, ...]] = {
    RIGHT: ("right", "correct", "pass", "passed", "good", "yes", "true", "1", "1.0", "正确", "对", "通过", "是"),
    WRONG: ("wrong", "incorrect", "fail", "failed", "bad", "no", "false", "0", "0.0", "错误", "错", "不正确",
            "不通过", "否"),
    UNSURE: ("unsure", "unclear", "unknown", "skip", "不确定", "未知"),
}  # fmt: skip
_MEANING = {word: verdict for verdict, words in _WORDS.items() for word in words}
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "evaluation", "运行"),
    "sample_id": ("sample_id", "id", "question_id", "case_id", "样本", "编号"),
    "annotator": ("annotator", "rater", "reviewer", "user", "标注者", "标注人"),
    "verdict": ("verdict", "label", "human_verdict", "human", "判断", "标签"),
    "note": ("note", "comment", "notes", "备注"),
}


def load_verdicts(source: str | Path | Any, run: str | None = None) -> pd.DataFrame:
    """Human verdicts from a file (CSV, Excel, JSON lines …), a frame or a list of dicts.

    Parameters
    ----------
    source
        One row a verdict: ``sample_id`` and ``verdict`` (right / wrong / unsure, 正确 / 错误 / 不确定, pass / fail,
        true / false, 1 / 0), and where there are any ``run``, ``annotator``, ``note``.
    run
        Only the verdicts on this run, where the source names runs; a row that names none counts for every run. A run
        without verdicts gives an empty frame whose ``attrs["runs"]`` names those that have some.

    Returns
    -------
    DataFrame
        ``run, sample_id, annotator, verdict, note``, one row an annotator and sample; who judged a sample twice is
        taken at the last word (``attrs["n_replaced"]`` counts them). A row without a verdict is left out.

    Raises
    ------
    InputError
        When the source cannot be read, has no ids or verdicts, or a verdict is none of the words above.
    """
    import pandas as pd

    records = read_source(source)
    name = Path(str(source)).name[-80:] if isinstance(source, (str, Path)) else "verdicts"
    found = _columns(records.columns, name)
    rows = [_row(row, found, f"{name}, row {at}") for at, row in zip(records.numbers, records.rows, strict=True)]
    frame = pd.DataFrame([row for row in rows if row is not None], columns=list(COLUMNS), dtype=object)
    runs = sorted({item for item in frame["run"] if item})
    if run is not None and runs:
        frame = frame[frame["run"].isin([run, ""])]
    kept = frame.drop_duplicates(["run", "sample_id", "annotator"], keep="last").reset_index(drop=True)
    kept.attrs.update(runs=runs, n_replaced=len(frame) - len(kept))
    return kept


def _columns(given: Sequence[str], name: str) -> dict[str, str]:
    """Our column → the column of the source."""
    folded = {str(column).strip().lower().replace(" ", "_"): column for column in given}
    found = {own: folded[alias] for own, names in _ALIASES.items() for alias in reversed(names) if alias in folded}
    for needed in ("sample_id", "verdict"):
        if needed not in found:
            listed = ", ".join(str(column) for column in given[:8])
            raise InputError(f"{name}: has no column {needed!r} (it has {listed}); name the column {needed}")
    return found


def _row(row: Mapping[str, Any], found: Mapping[str, str], where: str) -> dict[str, str] | None:
    own = {name: _text(row.get(column)) for name, column in found.items()}
    if not own["verdict"] or not own["sample_id"]:
        return None
    verdict = _MEANING.get(own["verdict"].lower())
    if verdict is None:
        raise InputError(f"{where}, verdict: {own['verdict'][:40]!r} is no verdict; use right, wrong or unsure")
    return {"run": "", "annotator": SOMEBODY, "note": "", **{k: v for k, v in own.items() if v}, "verdict": verdict}


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value).strip()


def own_verdicts(annotations: Mapping[str, Any], annotator: str = "me") -> pd.DataFrame:
    """The verdicts that a user gave in a session, in the form of :func:`load_verdicts`."""
    import pandas as pd

    rows = [("", sample_id, annotator, own.verdict, own.note) for sample_id, own in annotations.items() if own.verdict]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def consensus(verdicts: pd.DataFrame) -> pd.Series:
    """Sample id → ``right`` or ``wrong`` by the majority of those who were sure; None where they are evenly split or
    nobody was sure. In the order in which samples appear."""
    import pandas as pd

    votes: dict[str, int] = {}
    for sample_id, verdict in zip(verdicts["sample_id"], verdicts["verdict"], strict=True):
        votes[sample_id] = votes.get(sample_id, 0) + (verdict == RIGHT) - (verdict == WRONG)
    said = [RIGHT if vote > 0 else WRONG if vote < 0 else None for vote in votes.values()]
    return pd.Series(said, index=pd.Index(list(votes), name="sample_id", dtype=object), dtype=object, name="human")


# ---------------------------------------------------------------- agreement between people


def annotator_agreement(verdicts: pd.DataFrame) -> pd.Series:
    """Krippendorff's alpha (nominal) between those who judged; ``unsure`` is a verdict of its own.

    Parameters
    ----------
    verdicts
        ``sample_id, annotator, verdict``, as :func:`load_verdicts` gives.

    Returns
    -------
    Series
        ``alpha`` (1 full agreement, 0 no more than by chance, below 0 less) with a 95 % bootstrap interval over samples
        ``alpha_low, alpha_high``; ``agreement`` share of pairs of verdicts on one sample that are equal; ``n`` samples
        judged by two or more, ``n_samples`` judged at all, ``n_annotators``. NaN without such a sample, and alpha also
        where only one verdict was ever used.

    Source: Krippendorff, Content Analysis (2004), ch. 11.
    """
    import pandas as pd

    counts = _coincidences(verdicts)
    several = counts[counts.sum(axis=1) >= 2]
    low, high = _alpha_interval(several)
    pairs = (several * (several - 1)).sum()
    all_pairs = (several.sum(axis=1) * (several.sum(axis=1) - 1)).sum()
    found = {
        "alpha": krippendorff_alpha(several), "alpha_low": low, "alpha_high": high,
        "agreement": pairs / all_pairs if all_pairs else np.nan, "n": len(several), "n_samples": len(counts),
        "n_annotators": verdicts["annotator"].nunique(),
    }  # fmt: skip
    return pd.Series(found, dtype=float)


def annotator_pairs(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Cohen's kappa of every two annotators over what both judged: ``first, second, n, accuracy, kappa, kappa_low,
    kappa_high``."""
    import pandas as pd

    wide = verdicts.pivot_table(index="sample_id", columns="annotator", values="verdict", aggfunc="last")
    rows = []
    for first, second in combinations(wide.columns, 2):
        both = wide[[first, second]].dropna()
        found = agreement(both[first], both[second])
        rows.append({"first": first, "second": second, **found[["n", "accuracy", "kappa", "kappa_low", "kappa_high"]]})
    return pd.DataFrame(rows, columns=["first", "second", "n", "accuracy", "kappa", "kappa_low", "kappa_high"])


def _coincidences(verdicts: pd.DataFrame) -> NDArray[np.float64]:
    """(samples, classes) how often each verdict was given to each sample."""
    units, values = list(verdicts["sample_id"]), list(verdicts["verdict"])
    return count_table(units, values)


def count_table(units: Iterable[Hashable], values: Iterable[Hashable]) -> NDArray[np.float64]:
    """(units, classes) counts from one unit and one value for each judgement, both in the order of appearance."""
    pairs = list(zip(units, values, strict=True))
    rows = {unit: at for at, unit in enumerate(dict.fromkeys(unit for unit, _ in pairs))}
    columns = {value: at for at, value in enumerate(dict.fromkeys(value for _, value in pairs))}
    table = np.zeros((len(rows), len(columns)))
    np.add.at(table, ([rows[unit] for unit, _ in pairs], [columns[value] for _, value in pairs]), 1)
    return table


def krippendorff_alpha(counts: NDArray[np.float64]) -> float:
    """Alpha for nominal data from (units, classes) counts; NaN when it is undefined. Units judged once do not count.

    1 − D_o / D_e, with D_o = Σ_u Σ_{c≠k} n_uc n_uk / (m_u − 1) / n and D_e = Σ_{c≠k} n_c n_k / (n (n − 1)).
    """
    used = counts[counts.sum(axis=1) >= 2]
    if not len(used):
        return float("nan")
    return float(_alphas(used, np.ones((1, len(used))))[0])


def _alphas(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Alpha of each row of (draws, units) weights; NaN where all values are of one class."""
    judged = counts.sum(axis=1)
    differing = (judged**2 - (counts**2).sum(axis=1)) / (judged - 1)
    totals = weights @ counts
    n = totals.sum(axis=1)
    expected = n**2 - (totals**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alphas: NDArray[np.float64] = np.where(expected > 0, 1 - (n - 1) * (weights @ differing) / expected, np.nan)
    return alphas


def _alpha_interval(counts: NDArray[np.float64]) -> tuple[float, float]:
    if len(counts) < 2:
        return float("nan"), float("nan")
    weights = np.random.default_rng(SEED).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=DRAWS)
    drawn = _alphas(counts, weights.astype(float))
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)
