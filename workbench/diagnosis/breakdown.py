"""How often samples fail in each group: by one dimension or by two, with intervals and causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.diagnosis.dimensions import Dimension, Dimensions
from workbench.diagnosis.statistics import wilson
from workbench.errors import InputError
from workbench.language import text as _t

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

COLUMNS = ("value", "n", "n_failing", "rate", "low", "high", "causes", "n_not_checked", "folded")
#: Between the two values of a pivot.
TIMES = " × "


class Outcomes(NamedTuple):
    """Per sample: failed, tested (neither passed nor failed where False), and the primary cause by name."""

    failed: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    causes: NDArray[Any]


def outcomes(evaluation: Any) -> Outcomes:
    """What became of every sample, in the order of the samples."""
    causes = getattr(evaluation, "causes", None)
    if causes is not None:
        return Outcomes(causes.primary >= 0, causes.primary >= -1, causes.names())
    failures = evaluation.failures()
    names = failures["primary_cause"].to_numpy(dtype=object)
    return Outcomes(~np.isin(names, ("pass", "not_checked")), names != "not_checked", names)


@dataclass(frozen=True)
class Group:
    """Samples that are counted together: positions ``rows``; ``values``: one for each dimension, None = folded."""

    values: tuple[str, ...] | None
    rows: NDArray[np.intp]
    folded: int = 0

    @property
    def label(self) -> str:
        """What the column ``value`` says."""
        return _t("queries.folded", n=f"{self.folded:,}") if self.values is None else TIMES.join(self.values)


def groups(dimensions: Dimensions, by: Sequence[str], tested: NDArray[np.bool_], min_n: int) -> list[Group]:
    """The groups of one or two dimensions; those with fewer than ``min_n`` tested samples are folded into one (a single
    such group keeps its name).

    In a dimension where samples have several values, the folded group holds the samples that stand in no other.
    """
    parts = [dimensions[name] for name in by]
    rows, codes = _memberships(parts)
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.empty(0, dtype=np.int64)
    kept: list[Group] = []
    small: list[Group] = []
    for start, stop in pairwise([*starts, len(codes)]):
        found = rows[start:stop]
        values = _values(parts, int(codes[start]))
        (kept if tested[found].sum() >= min_n else small).append(Group(values, found))
    if len(small) == 1:
        kept.append(Group(small[0].values, small[0].rows, 1))
    elif small:
        shown = np.unique(np.concatenate([group.rows for group in kept])) if kept else np.empty(0, dtype=np.int64)
        rest = np.setdiff1d(np.concatenate([group.rows for group in small]), shown)
        kept.append(Group(None, rest, len(small)))
    return kept


def _memberships(parts: Sequence[Dimension]) -> tuple[NDArray[Any], NDArray[Any]]:
    if len(parts) == 1:
        return parts[0].rows, parts[0].codes
    import pandas as pd

    left, right = (pd.DataFrame({"row": part.rows, "code": part.codes}) for part in parts)
    both = left.merge(right, on="row", suffixes=("", "_other"))
    codes = both["code"].to_numpy() * (len(parts[1].values) + 1) + both["code_other"].to_numpy()
    return both["row"].to_numpy(), codes


def _values(parts: Sequence[Dimension], code: int) -> tuple[str, ...]:
    codes = [code] if len(parts) == 1 else list(divmod(code, len(parts[1].values) + 1))
    missing = _t("queries.missing")
    return tuple(
        part.values[at] if at < len(part.values) else missing for part, at in zip(parts, codes, strict=True)
    )


def breakdown(evaluation: Any, by: str | Sequence[str], min_n: int = 5) -> pd.DataFrame:
    """Failures by group.

    Parameters
    ----------
    by
        A dimension (``query_type, case_type, language, length, numbers, expected_documents, tenant``, a tag, a column of
        the user, or one question type), or two of them for a pivot.
    min_n
        Groups with fewer tested samples are folded into one last row that says how many they are, so that n adds up.

    Returns
    -------
    DataFrame with ``value`` (of a pivot ``"a × b"``), ``n`` tested samples, ``n_failing``, ``rate`` in [0, 1] with its
    95 % Wilson interval ``low, high``, ``causes`` (primary cause → number, most frequent first), ``n_not_checked`` (samples
    that nothing could be said of; not part of ``n``) and ``folded`` (how many values the row stands for; 0 for an
    ordinary one). Ordered dimensions keep their order, others begin with the highest rate. A rate without samples is NaN.
    ``attrs``: ``by, n_tested, n_not_checked, multiple`` (a sample is counted in several rows, so that n does not add up).

    Raises
    ------
    InputError
        For an unknown dimension, more than two, or ``min_n`` below 1.
    """
    return grouped(Dimensions(evaluation), outcomes(evaluation), by, min_n)[0]


def grouped(
    dimensions: Dimensions, found: Outcomes, by: str | Sequence[str], min_n: int = 5
) -> tuple[pd.DataFrame, list[Group]]:
    """:func:`breakdown` over what is known already, and the groups row by row."""
    import pandas as pd

    names = checked_names(dimensions, by)
    if min_n < 1:
        raise InputError(f"min_n is {min_n}; use a number from 1 on")
    rows = groups(dimensions, names, found.tested, min_n)
    frame = pd.DataFrame([_row(group, found) for group in rows], columns=list(COLUMNS))
    ordered = len(names) == 1 and dimensions[names[0]].ordered
    keys = [group.folded > 0 for group in rows]
    frame = frame.assign(_last=keys, _rate=0.0 if ordered else -frame["rate"].astype(float), _n=0 if ordered else -frame["n"])
    order = frame.sort_values(["_last", "_rate", "_n"], kind="stable").index
    rows = [rows[at] for at in order]
    frame = frame.loc[order, list(COLUMNS)].reset_index(drop=True)
    if len(names) == 2:
        for place, name in enumerate(names):
            frame[name] = [None if group.values is None else group.values[place] for group in rows]
    frame.attrs = {
        "by": names, "n_tested": int(found.tested.sum()), "n_not_checked": int((~found.tested).sum()),
        "multiple": any(dimensions[name].multiple for name in names),
    }  # fmt: skip
    return frame, rows


def checked_names(dimensions: Dimensions, by: str | Sequence[str]) -> list[str]:
    """The stable names of one or two dimensions. Raises ``InputError`` for another number or an unknown name."""
    names = [dimensions.resolve(name) for name in ([by] if isinstance(by, str) else by)]
    if not 1 <= len(names) <= 2 or len(set(names)) != len(names):
        raise InputError(f"group by one dimension or by two different ones, not by {', '.join(names) or 'none'}")
    return names


def _row(group: Group, found: Outcomes) -> tuple[Any, ...]:
    tested = group.rows[found.tested[group.rows]]
    failing = tested[found.failed[tested]]
    n, n_failing = len(tested), len(failing)
    interval = wilson(n_failing, n)
    names, counts = np.unique(found.causes[failing].astype(str), return_counts=True)
    causes = {str(names[at]): int(counts[at]) for at in np.argsort(-counts, kind="stable")}
    rate = n_failing / n if n else float("nan")
    return (
        group.label, n, n_failing, rate, interval.low, interval.high, causes, len(group.rows) - n, group.folded
    )  # fmt: skip
