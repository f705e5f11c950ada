"""The worst slices: conjunctions of up to three conditions under which samples fail more often than elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.diagnosis.queries import Dimension, Dimensions, dimension_title, outcomes, value_title
from workbench.diagnosis.statistics import SEED, Totals, strength
from workbench.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Masks = NDArray[np.bool_]


# ------------------------------------------------------------------------------
# Every conjunction of up to three conditions, how unusual each is, and which of them are worth telling.
#
# Every candidate with enough samples is tried, and the p-value of each is corrected for all of them: by the permutation
# distribution of the strongest candidate (Westfall & Young 1993) where that is affordable, else by Bonferroni over those
# candidates that could have become significant at all (Tarone 1990). Either way a set in which failing has nothing to do
# with any condition yields a slice in at most 5 % of cases.


#: Draws of the permutation distribution, at most and at once.
DRAWS, BATCH = 1000, 100
#: Stop drawing once so many draws beat the strongest slice (Besag & Clifford 1991).
ENOUGH = 25
#: Candidates × distinct profiles up to which permutations are drawn.
AFFORDABLE = 20_000_000
#: Share of samples in common (of those in either) from which two slices are one.
NEARLY_THE_SAME = 0.8
#: Significant candidates that are compared with each other at most, the strongest.
MOST_COMPARED = 400
#: What a slice must still show outside the slices listed before it.
LEFT_OVER = 0.01


class Candidates:
    """Every conjunction of up to three conditions with enough samples.

    Parameters
    ----------
    items
        (n, m) where each condition holds, over the tested samples only.
    groups
        (m,) conditions of one group exclude each other or say the same, and are not combined.
    least
        Samples that a candidate has at least.

    Attributes
    ----------
    members
        (c, 3) the conditions of each candidate, −1 where there are fewer.
    n
        (c,) samples of each.
    """

    def __init__(self, items: Masks, groups: Ints, least: int) -> None:
        self.items = items
        profiles, self.profile = _profiles(items)
        self.profiles = profiles.astype(np.float32)
        self.weights = np.bincount(self.profile, minlength=len(profiles)).astype(np.float32)
        free = groups[:, None] != groups[None, :]
        self.members, self.n = self._search(free, least)

    def _search(self, free: Masks, least: int) -> tuple[Ints, Ints]:
        a, w, m = self.profiles, self.weights, self.profiles.shape[1]
        ones = np.rint(w @ a).astype(np.int64)
        pairs = np.rint(a.T @ (w[:, None] * a)).astype(np.int64)
        good = free & (pairs >= least) & (pairs < np.minimum(ones[:, None], ones[None, :]))
        single = np.flatnonzero((ones >= least) & (ones < w.sum()))
        first, second = np.nonzero(np.triu(good, 1))
        rows = [np.stack([single, np.full_like(single, -1), np.full_like(single, -1)], axis=1),
                np.stack([first, second, np.full_like(first, -1)], axis=1)]  # fmt: skip
        counts = [ones[single], pairs[first, second]]
        for i in range(m - 2):
            held = a[a[:, i] > 0]
            triples = np.rint(held.T @ (w[a[:, i] > 0, None] * held)).astype(np.int64)
            fit = good & good[i][:, None] & good[i][None, :] & (triples >= least) & (triples < pairs)
            fit &= (triples < pairs[i][:, None]) & (triples < pairs[i][None, :])
            j, k = np.nonzero(np.triu(fit, 1)[i + 1 :, i + 1 :])
            rows.append(np.stack([np.full_like(j, i), j + i + 1, k + i + 1], axis=1))
            counts.append(triples[j + i + 1, k + i + 1])
        return np.concatenate(rows), np.concatenate(counts)

    def __len__(self) -> int:
        return len(self.members)

    def holds(self, candidate: int) -> Masks:
        """(n,) the samples of one candidate."""
        return np.asarray(self.items[:, [at for at in self.members[candidate] if at >= 0]].all(axis=1))

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """(c, u) which profiles of conditions belong to each candidate."""
        return self.by_profile(np.arange(len(self)))

    def by_profile(self, some: Ints) -> NDArray[np.float32]:
        """(len(some), u) the rows of :attr:`matrix` of some candidates."""
        padded = np.concatenate([self.profiles.T, np.ones((1, len(self.profiles)), dtype=np.float32)])
        members = self.members[some]
        return np.asarray(padded[members[:, 0]] * padded[members[:, 1]] * padded[members[:, 2]], dtype=np.float32)

    def count(self, failed: Masks) -> NDArray[np.float32]:
        """(u,) failing samples of each profile."""
        return np.bincount(self.profile, weights=failed, minlength=len(self.profiles)).astype(np.float32)

    def failing(self, failed: Masks) -> Ints:
        """(c,) failing samples of each candidate."""
        f = self.count(failed)
        if self.affordable:
            return np.rint(self.matrix @ f).astype(np.int64)
        return self._counted(f)

    @property
    def affordable(self) -> bool:
        """Whether permutations of all candidates are counted in reasonable time and memory."""
        return len(self) * len(self.profiles) <= AFFORDABLE

    def _counted(self, f: NDArray[np.float32]) -> Ints:
        """Failing samples without a matrix of all candidates."""
        a, m = self.profiles, self.profiles.shape[1]
        found = np.empty(len(self), dtype=np.int64)
        depth = (self.members >= 0).sum(axis=1)
        ones, pairs = f @ a, a.T @ (f[:, None] * a)
        found[depth == 1] = np.rint(ones[self.members[depth == 1, 0]])
        found[depth == 2] = np.rint(pairs[self.members[depth == 2, 0], self.members[depth == 2, 1]])
        for i in range(m - 2):
            mine = (depth == 3) & (self.members[:, 0] == i)
            held = a[:, i] > 0
            triples = a[held].T @ (f[held, None] * a[held])
            found[mine] = np.rint(triples[self.members[mine, 1], self.members[mine, 2]])
        return found


def _profiles(items: Masks) -> tuple[Masks, Ints]:
    """The distinct rows of ``items`` (at most 64 columns), and which of them each row is."""
    bits = items.astype(np.uint64) @ (np.uint64(1) << np.arange(items.shape[1], dtype=np.uint64))
    distinct, profile = np.unique(bits, return_inverse=True)
    unpacked = (distinct[:, None] >> np.arange(items.shape[1], dtype=np.uint64)) & np.uint64(1)
    return unpacked.astype(bool), profile.ravel().astype(np.int64)


def exact(n: Any, x: Any, totals: Totals) -> Floats:
    """One-sided exact p-value (hypergeometric) of at least ``x`` failing among ``n``."""
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.sf(np.asarray(x) - 1, totals.n_all, totals.failing_all, n), dtype=float)


def strongest_exact(candidates: Candidates, x: Ints, totals: Totals) -> Floats:
    """(c,) exact p-values of the candidates that may be reported; 1 for the others, which would cost time for nothing."""
    p = np.ones(len(candidates))
    some = np.argsort(-strength(candidates.n, x, totals), kind="stable")[:MOST_COMPARED]
    p[some] = exact(candidates.n[some], x[some], totals)
    return p


def corrected(candidates: Candidates, x: Ints, totals: Totals, p: Floats, seed: int = SEED) -> tuple[Floats, str]:
    """(c,) p-values corrected for all candidates, and the name of the correction."""
    if candidates.affordable:
        return _by_permutation(candidates, strength(candidates.n, x, totals), totals, seed), "Westfall–Young"
    # The p-value that each would have if as many of its samples failed as can fail.
    least = np.sort(exact(candidates.n, np.minimum(candidates.n, totals.failing_all), totals))
    tried = np.arange(1, len(least) + 1)
    reachable = np.searchsorted(least, 0.05 / tried, side="right")
    k = int(tried[np.argmax(reachable <= tried)]) if (reachable <= tried).any() else len(least)
    return np.minimum(1.0, p * k), "Tarone–Bonferroni"


def _by_permutation(candidates: Candidates, observed: Floats, totals: Totals, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    weights = candidates.weights.astype(np.int64)
    strongest = np.empty(0)
    best = observed.max(initial=0.0)
    while len(strongest) < DRAWS and (strongest >= best - 1e-9).sum() < ENOUGH:
        drawn = rng.multivariate_hypergeometric(weights, totals.failing_all, size=BATCH, method="marginals")
        strongest = np.concatenate([strongest, _maxima(candidates, drawn.T.astype(np.float32), totals)])
    ranked = np.sort(strongest)
    beaten = len(ranked) - np.searchsorted(ranked, observed - 1e-9, side="left")
    return np.asarray((1.0 + beaten) / (1.0 + len(ranked)), dtype=float)


def _maxima(candidates: Candidates, drawn: NDArray[np.float32], totals: Totals) -> Floats:
    """(b,) the strength of the strongest candidate in each draw of failing samples by profile (u, b)."""
    best = np.zeros(drawn.shape[1])
    step = max(1, 2_000_000 // drawn.shape[1])
    for at in range(0, len(candidates), step):
        x = np.rint(candidates.matrix[at : at + step] @ drawn).astype(np.int64)
        best = np.maximum(best, strength(candidates.n[at : at + step, None], x, totals).max(axis=0))
    return best


class Slice(NamedTuple):
    """A slice to report: the candidate, and others that hold nearly the same samples."""

    candidate: int
    same: list[int]


def chosen(candidates: Candidates, x: Ints, totals: Totals, q: Floats, failed: Masks, alpha: float, top: int) -> list[Slice]:
    """The significant candidates, strongest first, without those that say again what one before them said.

    Of nearly identical ones the shortest is taken unless it is clearly weaker. What a slice shows beyond the samples of
    those before it must be unusual by itself.
    """
    power = strength(candidates.n, x, totals)
    depth = (candidates.members >= 0).sum(axis=1)
    left = np.array([at for at in np.lexsort((depth, -power))[:MOST_COMPARED] if q[at] <= alpha and power[at] > 0], dtype=int)
    held = candidates.by_profile(left)
    failing = candidates.count(failed)
    uncovered = np.ones(len(failing), dtype=bool)
    found: list[Slice] = []
    while len(left) and len(found) < top:
        both = held @ (candidates.weights * held[0])
        either = held @ candidates.weights + held[0] @ candidates.weights - both
        near = both / either >= NEARLY_THE_SAME
        similar = left[near]
        pick = min((at for at in similar if power[at] >= 0.9 * power[left[0]]), key=lambda at: (depth[at], -power[at]))
        mine = held[near][int(np.flatnonzero(similar == pick)[0])] > 0
        if _unusual_beyond(mine, uncovered, candidates.weights, failing):
            found.append(Slice(int(pick), [int(at) for at in similar if at != pick][:5]))
            uncovered &= ~mine
        left, held = left[~near], held[~near]
    return found


def _unusual_beyond(mine: Masks, uncovered: Masks, weights: NDArray[np.float32], failing: NDArray[np.float32]) -> bool:
    rest = mine & uncovered
    n, x = round(float(weights[rest].sum())), round(float(failing[rest].sum()))
    totals = Totals(round(float(weights[uncovered].sum())), round(float(failing[uncovered].sum())))
    return n > 0 and float(exact(n, x, totals)) <= LEFT_OVER


# ------------------------------------------------------------------------------
# Conditions, and the slices that are reported.


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
    return [Condition(dimension.name, sign, f"{cut:.4g}", holds) for cut in cuts
            for sign, holds in (("≥", numbers >= cut), ("<", numbers < cut))]  # fmt: skip


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

    Examples
    --------
    >>> slices = wb.worst_slices(wb.load_evaluation("evaluations/baseline"))
    >>> slices.columns[:3].tolist()
    ['rule', 'n', 'n_failing']
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
    totals = Totals(len(failed), int(failed.sum()))
    least = max(min_n, int(np.ceil(0.005 * len(failed))))
    known = _useful(conditions(dimensions, names), tested, least)
    attrs = {"n_tested": totals.n_all, "n_failing": totals.failing_all}
    if not known or not 0 < totals.failing_all < totals.n_all:
        return _frame([], dimensions, tested, {**attrs, "n_tried": 0, "method": ""})
    items = np.stack([item.holds[tested] for item in known], axis=1)
    candidates = Candidates(items, _exclusive(known, dimensions), least)
    x = candidates.failing(failed)
    p = strongest_exact(candidates, x, totals)
    q, method = corrected(candidates, x, totals, p, seed)
    found = chosen(candidates, x, totals, q, failed, alpha, top)
    base = totals.failing_all / totals.n_all
    rows = []
    for at, same in found:
        n, bad = int(candidates.n[at]), int(x[at])
        lift = (bad + PRIOR * base) / (n + PRIOR) / base
        parts = _parts(candidates, known, at)
        rows.append((rule_words(parts), n, bad, bad / n, lift, float(p[at]), float(q[at]), parts,
                     [rule_words(_parts(candidates, known, other)) for other in same], candidates.holds(at)))  # fmt: skip
    return _frame(rows, dimensions, tested, {**attrs, "n_tried": len(candidates), "method": method})


def rule_words(parts: Sequence[Condition]) -> str:
    """A rule for a reader: "type = policy ∧ tenant = north ∧ expected documents ≥ 2"."""
    return " ∧ ".join(part.words for part in parts)


def _parts(candidates: Candidates, known: Sequence[Condition], at: int) -> list[Condition]:
    return [known[int(item)] for item in candidates.members[at] if item >= 0]


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
    keys = [(item.dimension, item.value if dimensions[item.dimension].multiple else "") for item in known]
    places = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    return np.array([places[key] for key in keys], dtype=np.int64)


def _frame(rows: Sequence[tuple[Any, ...]], dimensions: Dimensions, tested: Masks, attrs: dict[str, Any]) -> pd.DataFrame:
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
