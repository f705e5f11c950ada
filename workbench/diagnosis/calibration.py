"""A judge held against people: where it agrees, which cut agrees best, and what the pass rate is once corrected.

The judge calls an answer right when its score is on the good side of the cut; ``passed`` is the verdict of the whole
examination, which the cut of support (or another threshold) moves.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.formats.source import read_source
from workbench.data.schema import none_if_missing
from workbench.data.text.words import language
from workbench.diagnosis.cause_inputs import PASSED, failing
from workbench.diagnosis.changes import pair
from workbench.diagnosis.statistics import (
    DRAWS,
    GRID,
    NO_CUT,
    SEED,
    Cut,
    Interval,
    agreement,
    auroc,
    auroc_interval,
    best_cut,
    judge_corrected_mean,
    kappas,
    rates,
    wilson,
)
from workbench.errors import InputError
from workbench.language import words_of
from workbench.scoring.facts import Facts
from workbench.scoring.metrics import definitions
from workbench.scoring.view import View

Floats = NDArray[np.float64]


# ------------------------------------------------------------------------------
# Human verdicts on answers: read from a file, put together where several people judged, and how far they agree.


RIGHT, WRONG, UNSURE = "right", "wrong", "unsure"
COLUMNS = ("run", "sample_id", "annotator", "verdict", "note", "about")
#: The annotator of a file that names none.
SOMEBODY = "annotator"


def load_verdicts(source: str | Path | Any, run: str | None = None) -> pd.DataFrame:
    """Human verdicts from a file (CSV, Excel, JSON lines …), a frame or a list of dicts.

    Parameters
    ----------
    source
        One row a verdict: ``sample_id`` and ``verdict`` (right / wrong / unsure, pass / fail, true / false, 1 / 0, or
        such words of another language), and where there are any ``run``, ``annotator``, ``note`` and ``about``: what
        the verdict speaks of, ``claim 0`` (the number in ``claims()``: the contexts support it), ``context 2`` (its rank:
        it is relevant) or ``refusal`` (the answer declines); empty: the answer.
    run
        Only the verdicts on this run, where the source names runs; a row that names none counts for every run. A run
        without verdicts gives an empty frame whose ``attrs["runs"]`` names those that have some.

    Returns
    -------
    DataFrame
        ``run, sample_id, annotator, verdict, note, about``, one row an annotator and subject; who judged one twice is
        taken at the last word (``attrs["n_replaced"]`` counts them). A row without a verdict is left out.

    Raises
    ------
    InputError
        When the source cannot be read, has no ids or verdicts, or a verdict is none of the words above.

    Examples
    --------
    >>> "verdict" in wb.load_verdicts("verdicts.csv")
    True
    """
    records = read_source(source)
    name = Path(str(source)).name[-80:] if isinstance(source, (str, Path)) else "verdicts"
    found = _columns(records.columns, name)
    meaning = {word: verdict for verdict, words in words_of("verdicts", "words").items() for word in words}
    rows = [_row(row, found, meaning, f"{name}, row {at}")
            for at, row in zip(records.numbers, records.rows, strict=True)]  # fmt: skip
    frame = pd.DataFrame([row for row in rows if row is not None], columns=list(COLUMNS), dtype=object)
    runs = sorted({item for item in frame["run"] if item})
    if run is not None and runs:
        frame = frame[frame["run"].isin([run, ""])]
    kept = frame.drop_duplicates(["run", "sample_id", "annotator", "about"], keep="last").reset_index(drop=True)
    kept.attrs.update(runs=runs, n_replaced=len(frame) - len(kept))
    return kept


def _columns(given: Sequence[str], name: str) -> dict[str, str]:
    """Our column → the column of the source."""
    folded = {str(column).strip().lower().replace(" ", "_"): column for column in given}
    aliases = words_of("verdicts", "columns")
    found = {own: folded[alias] for own, names in aliases.items() for alias in reversed(names) if alias in folded}
    for needed in ("sample_id", "verdict"):
        if needed not in found:
            listed = ", ".join(str(column) for column in given[:8])
            raise InputError(f"{name}: has no column {needed!r} (it has {listed}); name the column {needed}")
    return found


def _row(
    row: Mapping[str, Any], found: Mapping[str, str], meaning: Mapping[str, str], where: str
) -> dict[str, str] | None:
    values = {name: none_if_missing(row.get(column)) for name, column in found.items()}
    own = {name: "" if value is None else str(value).strip() for name, value in values.items()}
    if not own["verdict"] or not own["sample_id"]:
        return None
    verdict = meaning.get(own["verdict"].lower())
    if verdict is None:
        raise InputError(f"{where}, verdict: {own['verdict'][:40]!r} is no verdict; use right, wrong or unsure")
    about = _about(own.pop("about", ""), where)
    return {"run": "", "annotator": SOMEBODY, "note": "", **{k: v for k, v in own.items() if v}, "verdict": verdict,
            "about": about}  # fmt: skip


def _about(said: str, where: str) -> str:
    """What a verdict speaks of, in our words: ``claim 0``, ``context 2``, ``refusal``, or empty for the answer."""
    found = re.fullmatch(r"(\D*?)[\s:#_-]*(\d*)", said.lower())
    kind = next((own for own, words in words_of("verdicts", "about").items() if found and found[1] in words), None)
    if kind is None or (kind in ("claim", "context")) != bool(found and found[2]):
        raise InputError(f"{where}, about: {said[:40]!r} is not known; use claim 0, context 1, refusal, or leave it empty")
    return "" if kind == "answer" else f"{kind} {int(found[2])}" if found and found[2] else kind


def own_verdicts(annotations: Mapping[str, Any], annotator: str = "me") -> pd.DataFrame:
    """The verdicts that a user gave in a session, in the form of :func:`load_verdicts`."""
    rows = [("", sample_id, annotator, own.verdict, own.note, "") for sample_id, own in annotations.items() if own.verdict]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def consensus(verdicts: pd.DataFrame) -> pd.Series:
    """Sample id → ``right`` or ``wrong`` by the majority of those who were sure; None where they are evenly split or
    nobody was sure. In the order in which samples appear; verdicts on parts of samples do not count."""
    votes: dict[str, int] = {}
    verdicts = verdicts[verdicts["about"] == ""]
    for sample_id, verdict in zip(verdicts["sample_id"], verdicts["verdict"], strict=True):
        votes[sample_id] = votes.get(sample_id, 0) + (verdict == RIGHT) - (verdict == WRONG)
    said = [RIGHT if vote > 0 else WRONG if vote < 0 else None for vote in votes.values()]
    return pd.Series(said, index=pd.Index(list(votes), name="sample_id", dtype=object), dtype=object, name="human")


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

    Examples
    --------
    >>> wb.annotator_agreement(wb.load_verdicts("verdicts.csv")).index[0]
    'alpha'
    """
    counts = count_table(verdicts["sample_id"], verdicts["verdict"])
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
    wide = verdicts.pivot_table(index="sample_id", columns="annotator", values="verdict", aggfunc="last")
    rows = []
    for first, second in combinations(wide.columns, 2):
        both = wide[[first, second]].dropna()
        found = agreement(both[first], both[second])
        rows.append({"first": first, "second": second, **found[["n", "accuracy", "kappa", "kappa_low", "kappa_high"]]})
    return pd.DataFrame(rows, columns=["first", "second", "n", "accuracy", "kappa", "kappa_low", "kappa_high"])


def count_table(units: Iterable[Hashable], values: Iterable[Hashable]) -> NDArray[np.float64]:
    """(units, classes) counts from one unit and one value for each judgement, both in the order of appearance."""
    rows, columns = (pd.factorize(pd.Series(list(items), dtype=object))[0] for items in (units, values))
    table = np.zeros((rows.max(initial=-1) + 1, columns.max(initial=-1) + 1))
    np.add.at(table, (rows, columns), 1)
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


# ------------------------------------------------------------------------------
# A score against those verdicts.


#: Thresholds that move ``passed``.
MOVES = ("support", "contradiction", "refusal", "answer_right")
#: Labels from which on a cut is suggested, and how many of them must be right and wrong.
NEEDED, EACH = 20, 5
#: Up to so many samples all are judged at every cut; of larger sets the labelled ones only.
WHOLE_UP_TO = 2000


def scores_of(evaluation: Any, score: str) -> Floats:
    """(n,) one score of every sample, NaN where there is none; ``passed`` is 1 or 0, NaN if nothing could be tested."""
    values: Floats = failing(evaluation.view).passed if score == PASSED else evaluation.metric(score).values
    return values


def calibratable(evaluation: Any) -> list[str]:
    """``passed`` and the metrics from 0 to 1 with a direction that have a score here."""
    known = definitions(evaluation.thresholds.k)
    scores = evaluation.scores()
    there = [str(name) for name in scores.columns[scores.notna().any()] if name in known]
    fitting = [name for name in there if known[name].higher_is_better is not None and not known[name].binary]
    return [PASSED, *(name for name in fitting if (known[name].low, known[name].high) == (0.0, 1.0))]


def calibrate(
    evaluation: Any, labels: Any, score: str = PASSED, *, threshold: str = "support", cut: float | None = None
) -> Calibration:
    """Hold one score against human verdicts.

    Parameters
    ----------
    evaluation
        An ``Evaluation``.
    labels
        A file or frame of verdicts (see ``load_verdicts``; rows of other runs are left out), or sample id → ``right``
        or ``wrong``. Several people's verdicts on a sample count by majority.
    score
        ``passed``, or a metric from 0 to 1.
    threshold
        Which threshold moves ``passed``: support, contradiction, refusal or answer_right.
    cut
        In [0, 1]; default the one in force.

    Raises
    ------
    InputError
        For labels that cannot be read, and for an unknown score, threshold or cut.

    Examples
    --------
    >>> found = wb.calibrate(wb.load_evaluation("evaluations/baseline"), "verdicts.csv")
    >>> found.cut
    0.5
    """
    if threshold not in MOVES:
        raise InputError(f"calibrate: threshold {threshold!r} does not move passed; use one of {', '.join(MOVES)}")
    if cut is not None and not 0 <= cut <= 1:
        raise InputError(f"calibrate: cut is {cut!r}; use a number from 0 to 1")
    return Calibration(evaluation, _human(labels, evaluation.name), score, threshold, cut)


def _human(labels: Any, run: str) -> pd.Series:
    return consensus(load_labels(labels, run))


def load_labels(labels: Any, run: str) -> pd.DataFrame:
    """Verdicts on one run in the form of :func:`load_verdicts`: what that reads, or sample id → verdict.

    Raises ``InputError`` as :func:`load_verdicts` does, and where all of them are on other runs.
    """
    if not isinstance(labels, (str, Path)) and not len(labels):
        return own_verdicts({})
    if isinstance(labels, pd.Series) or (isinstance(labels, Mapping) and "verdict" not in labels):
        plain = pd.Series(labels, dtype=object)
        return load_verdicts([{"sample_id": str(key), "verdict": said} for key, said in plain.items()])
    if isinstance(labels, pd.DataFrame) and {"sample_id", "verdict"} <= set(labels.columns):
        labels = labels.to_dict("records")
    found = load_verdicts(labels if not isinstance(labels, str) else Path(labels), run)
    if not len(found) and (others := found.attrs["runs"]):
        raise InputError(
            f"the labels are on {', '.join(others[:5])} and none on {run!r}: give those of this run; verdicts without a run "
            "count for every one"
        )
    return found


class Calibration:
    """One score, its verdicts at every cut, and what people said. Everything is computed when it is first asked for.

    Attributes
    ----------
    human
        Sample id → ``right`` or ``wrong``, of samples in the evaluation; ``n_elsewhere`` labels are of others,
        ``n_split`` are without a majority.
    score, threshold, cut
        What is calibrated, by which threshold, and the cut in force.
    """

    def __init__(self, evaluation: Any, human: pd.Series, score: str, threshold: str = "support",
                 cut: float | None = None) -> None:  # fmt: skip
        self.evaluation = evaluation
        here = human[human.index.isin(evaluation.evidence.ids)] if len(human) else human
        self.n_elsewhere, self.n_split = len(human) - len(here), int(here.isna().sum())
        self.human = here.dropna()
        self.score, self.threshold = score, threshold
        t = evaluation.thresholds
        self.cut = float(cut if cut is not None else getattr(t, threshold) if score == PASSED else t.low_cut(score))

    def at(self, cut: float, evaluation: Any = None) -> Calibration:
        """The same at another cut; what holds for all cuts is not computed again."""
        other = Calibration(evaluation or self.evaluation, self.human, self.score, self.threshold, cut)
        other.n_elsewhere, other.n_split = self.n_elsewhere, self.n_split
        shared = ("right", "places", "swept", "values", "suggested", "area", "languages")
        other.__dict__.update({name: self.__dict__[name] for name in shared if name in self.__dict__})
        return other

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """(n,) positions of the labelled samples in the evaluation."""
        found: NDArray[np.intp] = self.evaluation.evidence.ids.get_indexer(self.human.index)
        return found

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """(n,) what people said."""
        return np.asarray(self.human == RIGHT, dtype=bool)

    @cached_property
    def swept(self) -> Floats:
        """(n, cuts) the judge's verdicts at each cut of ``GRID``: 1 right, 0 wrong, NaN none."""
        if not len(self.human):
            return np.zeros((0, len(GRID)))
        if self.score != PASSED:
            return np.column_stack([self._good(self.values, cut) for cut in GRID])
        facts, places = _labelled_facts(self.evaluation, self.human.index, self.places)
        t = self.evaluation.thresholds
        views = (View(facts, t.replace(**{self.threshold: float(cut)})) for cut in GRID)
        return np.column_stack([failing(view).passed[places] for view in views])

    @cached_property
    def values(self) -> Floats:
        """(n,) the score; of ``passed`` the share of all cuts at which the sample passes, so that it can be ranked."""
        if self.score == PASSED:
            return np.asarray(self.swept.mean(axis=1), dtype=float)
        return scores_of(self.evaluation, self.score)[self.places]

    def _good(self, values: Floats, cut: float) -> Floats:
        good = values >= cut - 1e-12 if self.low_is_bad else values <= cut + 1e-12
        return np.where(np.isnan(values), np.nan, good.astype(float))

    @property
    def low_is_bad(self) -> bool:
        """Whether an answer is called wrong below the cut (else above it)."""
        known = definitions(self.evaluation.thresholds.k).get(self.score)
        return known is None or known.higher_is_better is not False

    @cached_property
    def judged_all(self) -> Floats:
        """(all samples,) the judge's verdicts at the cut."""
        if self.score != PASSED:
            return self._good(scores_of(self.evaluation, self.score), self.cut)
        t = self.evaluation.thresholds
        if getattr(t, self.threshold) == self.cut:
            return failing(self.evaluation.view).passed
        return failing(self.evaluation.with_thresholds(t.replace(**{self.threshold: self.cut})).view).passed

    @cached_property
    def judged(self) -> Floats:
        """(n,) the judge's verdicts on the labelled samples at the cut."""
        return self.judged_all[self.places]

    @property
    def counts(self) -> dict[str, int]:
        """``n`` labelled samples with a score at any cut, how many of them are ``right`` and ``wrong``."""
        own = self.right[np.isfinite(self.swept).any(axis=1)]
        n = int(own.sum())
        return {"n": len(own), RIGHT: n, WRONG: len(own) - n}

    @property
    def lacking(self) -> dict[str, int]:
        """How many labels a suggestion still takes: in all ``n``, ``right``, ``wrong``; zeros when there are enough."""
        counts = self.counts
        right, wrong = max(EACH - counts[RIGHT], 0), max(EACH - counts[WRONG], 0)
        return {"n": max(NEEDED - counts["n"], right + wrong, 0), RIGHT: right, WRONG: wrong}

    @property
    def enough(self) -> bool:
        """Whether there are labels enough for a suggestion."""
        return not any(self.lacking.values())

    def labelled(self) -> pd.DataFrame:
        """Index ``sample_id``; ``human``, ``judge`` (right, wrong or None), ``value``, ``language``, ``agree``."""
        judge = [None if np.isnan(said) else RIGHT if said == 1 else WRONG for said in self.judged]
        frame = pd.DataFrame({"human": self.human.to_numpy(), "judge": judge, "value": self.values,
                              "language": self.languages}, index=self.human.index, dtype=object)  # fmt: skip
        frame["value"] = frame["value"].astype(float)
        return frame.assign(agree=frame["human"] == frame["judge"]).rename_axis("sample_id")

    @cached_property
    def languages(self) -> list[str]:
        """The language of each labelled sample's question."""
        questions = self.evaluation.evidence.plain("question")
        return [language(str(questions[place] or "")) for place in self.places]

    def confusion(self) -> pd.DataFrame:
        """Counts: index what people said, columns what the judge said (``right, wrong, none``)."""
        states = {RIGHT: self.judged == 1, WRONG: self.judged == 0, "none": np.isnan(self.judged)}
        people = (self.right, ~self.right)
        cells = {name: [int((mask & said).sum()) for said in people] for name, mask in states.items()}
        return pd.DataFrame(cells, index=pd.Index([RIGHT, WRONG], name="human"))

    def agreement(self) -> pd.Series:
        """See ``wb.agreement``; precision and recall speak of answers called wrong."""
        rows = self.labelled()
        return agreement(rows["human"], rows["judge"], positive=WRONG)

    def disagreements(self) -> pd.DataFrame:
        """The rows of :meth:`labelled` where judge and people differ, the farthest from the cut first."""
        rows = self.labelled()
        rows = rows[~rows["agree"] & rows["judge"].notna()]
        rows = rows.assign(distance=(rows["value"] - self.cut).abs())
        return rows.sort_values("distance", ascending=False, kind="stable")

    def roc(self) -> pd.DataFrame:
        """``cut, found`` (share of wrong answers called wrong)``, false_alarm`` (share of right ones)``, kappa`` for
        every cut from 0 to 1."""
        false_alarm, found = rates(self.right, self.swept)
        kappa = kappas(self.right, self.swept)
        return pd.DataFrame({"cut": GRID, "found": found, "false_alarm": false_alarm, "kappa": kappa})

    @cached_property
    def area(self) -> tuple[float, Interval]:
        """AUROC with its 95 % interval; NaN unless both verdicts occur."""
        ordered = self.values if self.low_is_bad else -self.values
        return auroc(self.right, ordered), auroc_interval(self.right, ordered)

    @cached_property
    def suggested(self) -> Cut:
        """The cut that agrees best; NaN with too few labels (:attr:`lacking`) and where none agrees beyond chance."""
        found = best_cut(self.right, self.swept) if self.enough else NO_CUT
        return found if found.kappa > 0 else NO_CUT

    def by_language(self) -> pd.DataFrame:
        """Index ``language``; ``n, n_wrong, accuracy, kappa, kappa_low, kappa_high, auroc, auroc_low, auroc_high, cut,
        cut_low, cut_high``. The cut is NaN in a language with too few labels."""
        own = np.array(self.languages, dtype=object)
        rows = {name: self._part(own == name) for name in sorted(set(self.languages))}
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(_PART))
        return frame.rename_axis("language").astype({"n": int, "n_wrong": int})

    def _part(self, mask: NDArray[np.bool_]) -> dict[str, float]:
        rows = self.labelled()[mask]
        found = agreement(rows["human"], rows["judge"], positive=WRONG)
        right, values = self.right[mask], self.values[mask] if self.low_is_bad else -self.values[mask]
        n, n_wrong = len(right), int((~right).sum())
        cut = best_cut(right, self.swept[mask]) if n >= NEEDED and min(n_wrong, n - n_wrong) >= EACH else NO_CUT
        area, interval = auroc(right, values), auroc_interval(right, values)
        numbers = [n, n_wrong, *found[["accuracy", "kappa", "kappa_low", "kappa_high"]]]
        return dict(zip(_PART, [*numbers, area, interval.low, interval.high, *cut[:3]], strict=True))

    def corrected(self) -> pd.DataFrame:
        """The share of right answers over all samples: index ``judge`` (as it is), ``people`` (labelled samples only),
        ``corrected`` (prediction-powered); columns ``share, low, high, n``.

        Rests on the labelled samples being a random part of all.
        """
        known = ~np.isnan(self.judged_all)
        naive, n = float(self.judged_all[known].sum()), int(known.sum())
        ends = {"judge": [naive / n if n else np.nan, *wilson(naive, n)[:2], n]}
        good, labels = float(self.right.sum()), len(self.right)
        ends["people"] = [good / labels if labels else np.nan, *wilson(good, labels)[:2], labels]
        others = known.copy()
        others[self.places] = False
        both = ~np.isnan(self.judged)
        found = judge_corrected_mean(self.right[both], self.judged[both], self.judged_all[others])
        ends["corrected"] = [found.mean, found.low, found.high, found.n + found.n_other]
        return pd.DataFrame.from_dict(ends, orient="index", columns=["share", "low", "high", "n"]).astype({"n": int})


_PART = ("n", "n_wrong", "accuracy", "kappa", "kappa_low", "kappa_high", "auroc", "auroc_low", "auroc_high", "cut",
         "cut_low", "cut_high")  # fmt: skip


def _labelled_facts(evaluation: Any, ids: pd.Index, places: NDArray[np.intp]) -> tuple[Facts, NDArray[np.intp]]:
    """Facts to sweep over, and where the labelled samples are in them."""
    if len(evaluation) <= WHOLE_UP_TO:
        return evaluation.view.facts, places
    from workbench.evidence.frames import Evidence

    whole = evaluation.evidence
    wanted = set(ids)
    parts = {name: getattr(whole, name) for name in ("contexts", "claims", "support", "questions")}
    own = {name: frame[frame["sample_id"].isin(wanted).to_numpy()] for name, frame in parts.items()}
    small = Evidence(whole.samples.iloc[places], rejected=whole.rejected.iloc[:0], manifest=whole.manifest, **own)
    return Facts(small), np.arange(len(places))


def calibration_table(evaluation: Any, labels: Any) -> pd.DataFrame:
    """Which score agrees best with people.

    Returns
    -------
    DataFrame, index ``score`` (``passed`` and every metric that can be calibrated), highest AUROC first; ``n`` labelled
    samples with a score, ``auroc, auroc_low, auroc_high``, ``cut`` in force, ``kappa`` there, ``suggested`` cut with
    ``suggested_low, suggested_high`` and ``suggested_kappa``.

    Examples
    --------
    >>> wb.calibration_table(evaluation, "verdicts.csv")  # doctest: +SKIP
    """
    human, rows = _human(labels, evaluation.name), {}
    for name in calibratable(evaluation):
        found = Calibration(evaluation, human, name)
        area, interval = found.area
        rows[name] = [int(np.isfinite(found.values).sum()), area, interval.low, interval.high, found.cut,
                      found.agreement()["kappa"], *found.suggested]  # fmt: skip
    names = ["n", "auroc", "auroc_low", "auroc_high", "cut", "kappa", "suggested", "suggested_low", "suggested_high",
             "suggested_kappa"]  # fmt: skip
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("score")
    return frame.sort_values("auroc", ascending=False, kind="stable")


# ------------------------------------------------------------------------------
# The judge's own noise: the same recording judged several times, and how often the verdict flips.


def repeated_samples(evaluations: Sequence[Any], score: str = PASSED) -> pd.DataFrame:
    """How one score moved between judgements of identical text.

    Parameters
    ----------
    evaluations
        Two or more; only samples whose question, answer and contexts are the same in all are looked at, so that two
        runs of a system serve as well where they did exactly the same.
    score
        ``passed`` or a metric.

    Returns
    -------
    DataFrame, index ``sample_id``; ``n`` judgements with a score, ``mean``, ``low``, ``high`` (smallest, largest),
    ``sd`` (NaN below two), ``flips`` (whether the verdict under the thresholds in force is not always the same).

    Raises
    ------
    InputError
        With fewer than two evaluations.
    """
    if len(evaluations) < 2:
        raise InputError("repeat_noise: give two or more evaluations of the same recording")
    first, *rest = evaluations
    same = np.ones(len(first), dtype=bool)
    places = []
    for other in rest:
        pairing = pair(first.evidence, other.evidence)
        same &= np.isin(np.arange(len(first)), pairing.left[pairing.identical & ~pairing.case_changed])
        places.append(other.evidence.ids.get_indexer(first.evidence.ids))
    columns = [scores_of(first, score), *(scores_of(other, score)[at] for other, at in zip(rest, places, strict=True))]
    values = np.column_stack(columns)[same]
    cuts = np.array([1.0 if score == PASSED else item.thresholds.low_cut(score) for item in evaluations])
    known = definitions(first.thresholds.k).get(score)
    low_is_bad = known is None or known.higher_is_better is not False
    good = values >= cuts if low_is_bad else values <= cuts
    return pd.DataFrame(_spread(values, good), index=first.evidence.ids[same])


def _spread(values: NDArray[np.float64], good: NDArray[np.bool_]) -> dict[str, Any]:
    frame, known = pd.DataFrame(values), np.isfinite(values)
    n, n_good = known.sum(axis=1), (good & known).sum(axis=1)
    rows = {"mean": frame.mean(axis=1), "low": frame.min(axis=1), "high": frame.max(axis=1), "sd": frame.std(axis=1)}
    return {"n": n, **{name: row.to_numpy() for name, row in rows.items()}, "flips": (n_good > 0) & (n_good < n)}


def repeat_noise(evaluations: Sequence[Any], score: str = PASSED) -> pd.Series:
    """The judge's noise over all samples judged more than once, see :func:`repeated_samples`.

    Returns
    -------
    Series
        ``n`` samples with two scores or more, ``n_flips`` of them with verdicts that differ, ``rate`` with its 95 %
        interval (Wilson) ``low, high``, ``sd`` the pooled standard deviation of the score. NaN for n = 0.

    Examples
    --------
    >>> wb.repeat_noise([wb.load_evaluation("evaluations/baseline")] * 2).index[0]
    'n'
    """
    rows = repeated_samples(evaluations, score)
    rows = rows[rows["n"] >= 2]
    n, flips = len(rows), int(rows["flips"].sum())
    interval = wilson(flips, n)
    freedom = (rows["n"] - 1).sum()
    pooled = float(np.sqrt((rows["sd"] ** 2 * (rows["n"] - 1)).sum() / freedom)) if freedom else np.nan
    found = {"n": n, "n_flips": flips, "rate": flips / n if n else np.nan, "low": interval.low, "high": interval.high,
             "sd": pooled}  # fmt: skip
    return pd.Series(found, dtype=float)
