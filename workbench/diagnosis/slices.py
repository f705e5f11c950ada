"""The worst slices: conjunctions of up to three conditions under which samples fail more often than elsewhere.

How they are counted, and corrected for how many were tried, is in ``candidates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.breakdown import outcomes
from workbench.diagnosis.candidates import SEED, Candidates, Table, chosen, corrected, strongest_exact
from workbench.diagnosis.dimensions import Dimension, Dimensions, dimension_title, value_title
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Masks = NDArray[np.bool_]

COLUMNS = ("rule", "n", "n_failing", "rate", "lift", "p_value", "q_value", "conditions", "same_samples", "sample_ids")
#: Conditions that are combined at most; those that part the samples most evenly come first.
MOST_CONDITIONS = 60
#: Weight of the base rate in ``lift``, in samples.
PRIOR = 5.0


@dataclass(frozen=True)
class Condition:
    """One part of a rule: ``dimension`` ``sign`` ``value``, and (n,) where it holds."""

    dimension: str
    sign: str
    value: str
    holds: Masks = field(repr=False, compare=False)

    @property
    def words(self) -> str:
        """For a reader: "expected documents ≥ 2"."""
        return f"{dimension_title(self.dimension)} {self.sign} {value_title(self.dimension, self.value)}"


def conditions(dimensions: Dimensions, names: Sequence[str]) -> list[Condition]:
    """All single conditions over the given dimensions: each value, and for numbers each cut from below and above."""
    found: list[Condition] = []
    for name in names:
        dimension = dimensions[name]
        found.extend(_cuts(dimension) if dimension.numbers is not None else _values(dimension, dimensions.n))
    return found


def _values(dimension: Dimension, n: int) -> list[Condition]:
    counts = np.bincount(dimension.codes, minlength=len(dimension.values) + 1)[: len(dimension.values)]
    most = np.argsort(-counts, kind="stable")[:MOST_CONDITIONS]
    return [Condition(dimension.name, "=", dimension.values[code], dimension.mask(code, n)) for code in map(int, most)]


def _cuts(dimension: Dimension) -> list[Condition]:
    assert dimension.numbers is not None
    numbers = dimension.numbers
    known = numbers[np.isfinite(numbers)]
    distinct = np.unique(known)
    cuts = distinct[1:] if len(distinct) <= 8 else np.unique(np.quantile(known, [0.25, 0.5, 0.75, 0.9]))
    found = []
    for cut in cuts:
        found.append(Condition(dimension.name, "≥", f"{cut:.4g}", numbers >= cut))
        found.append(Condition(dimension.name, "<", f"{cut:.4g}", numbers < cut))
    return found


def worst_slices(
    evaluation: Any,
    columns: Sequence[str] | None = None,
    before: Any = None,
    *,
    min_n: int = 5,
    alpha: float = 0.05,
    top: int = 10,
) -> pd.DataFrame:
    """Where samples fail more often than elsewhere, found among all conjunctions of up to three conditions.

    Parameters
    ----------
    columns
        Dimensions to look at, by default all that part the samples (see :meth:`Dimensions.informative`).
    before
        An earlier evaluation of the same cases: then "failing" means broken (passed before, fails now, with another
        answer), among the samples that passed before, matched by id.
    min_n
        Samples that a slice has at least (and never under 0.5 % of all).
    alpha
        Largest corrected p-value that is reported; 1 shows the strongest candidates whatever they are worth.
    top
        Slices reported at most.

    Returns
    -------
    DataFrame, strongest first: ``rule`` for a reader; ``n`` tested samples, ``n_failing``, ``rate``; ``lift`` = rate / base
    rate, the rate drawn to the base rate by five samples' weight; ``p_value`` exact, one-sided, of this slice alone;
    ``q_value`` corrected for all that were tried (family-wise); ``conditions`` as (dimension, sign, value); ``same_samples``:
    rules that hold nearly the same samples; ``sample_ids``. Empty when nothing stands out.
    ``attrs``: ``n_tried, n_tested, n_failing, method``.

    Raises
    ------
    InputError
        For an unknown column.
    """
    dimensions = Dimensions(evaluation)
    failed, tested = _broken(evaluation, before) if before is not None else outcomes(evaluation)[:2]
    return slices_of(dimensions, failed, tested, columns, min_n=min_n, alpha=alpha, top=top)


def slices_of(
    dimensions: Dimensions, failed: Masks, tested: Masks, columns: Sequence[str] | None = None, *, min_n: int = 5,
    alpha: float = 0.05, top: int = 10, seed: int = SEED,
) -> pd.DataFrame:  # fmt: skip
    """:func:`worst_slices` over masks of the samples."""
    if min_n < 1:
        raise InputError(f"min_n is {min_n}; use a number from 1 on")
    names = [dimensions.resolve(name) for name in columns] if columns is not None else dimensions.informative()
    failed = (failed & tested)[tested]
    table = Table(len(failed), int(failed.sum()))
    least = max(min_n, int(np.ceil(0.005 * len(failed))))
    known = _useful(conditions(dimensions, names), tested, least)
    if not known or not 0 < table.failing_all < table.n_all:
        return _frame([], dimensions, tested, {**_attrs(table), "n_tried": 0, "method": ""})
    items = np.stack([item.holds[tested] for item in known], axis=1)
    candidates = Candidates(items, _exclusive(known, dimensions), least)
    x = candidates.failing(failed)
    p = strongest_exact(candidates, x, table)
    q, method = corrected(candidates, x, table, p, seed)
    found = chosen(candidates, x, table, q, failed, alpha, top)
    base = table.failing_all / table.n_all
    rows = []
    for at, same in found:
        n, bad = int(candidates.n[at]), int(x[at])
        lift = (bad + PRIOR * base) / (n + PRIOR) / base
        parts = _parts(candidates, known, at)
        rows.append((rule_words(parts), n, bad, bad / n, lift, float(p[at]), float(q[at]), parts,
                     [rule_words(_parts(candidates, known, other)) for other in same], candidates.holds(at)))  # fmt: skip
    return _frame(rows, dimensions, tested, {**_attrs(table), "n_tried": len(candidates), "method": method})


def rule_words(parts: Sequence[Condition]) -> str:
    """A rule for a reader: "type = policy ∧ language = zh ∧ expected documents ≥ 2"."""
    return " ∧ ".join(part.words for part in parts)


def _parts(candidates: Candidates, known: Sequence[Condition], at: int) -> list[Condition]:
    return [known[int(item)] for item in candidates.members[at] if item >= 0]


def _attrs(table: Table) -> dict[str, Any]:
    return {"n_tested": table.n_all, "n_failing": table.failing_all}


def _useful(known: Sequence[Condition], tested: Masks, least: int) -> list[Condition]:
    """Conditions that hold for enough samples and not for all, each set of samples once, the most even ones first."""
    n = int(tested.sum())
    sizes = [int((item.holds & tested).sum()) for item in known]
    seen: set[bytes] = set()
    kept = []
    for place in sorted(range(len(known)), key=lambda at: -min(sizes[at], n - sizes[at])):
        packed = np.packbits(known[place].holds & tested).tobytes()
        if least <= sizes[place] < n and packed not in seen:
            seen.add(packed)
            kept.append(place)
    return [known[place] for place in sorted(kept[:MOST_CONDITIONS])]


def _exclusive(known: Sequence[Condition], dimensions: Dimensions) -> Ints:
    """Group of each condition: those of a dimension together, but each question type for itself."""
    names: dict[Any, int] = {}
    keys = [
        (item.dimension, item.value if dimensions[item.dimension].multiple else "") for item in known
    ]
    return np.array([names.setdefault(key, len(names)) for key in keys], dtype=np.int64)


def _frame(rows: Sequence[tuple[Any, ...]], dimensions: Dimensions, tested: Masks, attrs: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    ids = dimensions.frame.index[tested]
    plain = [
        (*row[:7], [(part.dimension, part.sign, part.value) for part in row[7]], row[8], ids[row[9]].tolist())
        for row in rows
    ]
    frame = pd.DataFrame(plain, columns=list(COLUMNS))
    frame.attrs = attrs
    return frame


def _broken(evaluation: Any, before: Any) -> tuple[Masks, Masks]:
    """Which samples broke, among those that passed before and are in both; an identical answer never counts as changed."""
    now, then = outcomes(evaluation), outcomes(before)
    frame, earlier = Dimensions(evaluation).frame, Dimensions(before).frame
    place = earlier.index.get_indexer(frame.index)
    matched = place >= 0
    at_risk = matched & now.tested & (then.tested & ~then.failed)[place]
    old = earlier["answer"].to_numpy(dtype=object)[place] if "answer" in earlier else np.full(len(frame), None)
    new = frame["answer"].to_numpy(dtype=object) if "answer" in frame else np.full(len(frame), None)
    same = np.array([isinstance(a, str) and a == b for a, b in zip(new, old, strict=True)], dtype=bool)
    return now.failed & at_risk & ~same, at_risk
