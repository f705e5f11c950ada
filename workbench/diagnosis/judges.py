"""Judges held against each other and against themselves: a panel of several, the order of contexts, the length of answers,
and which of two systems they prefer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.diagnosis.calibration import (
    RIGHT,
    WRONG,
    consensus,
    count_table,
    krippendorff_alpha,
    load_labels,
    scores_of,
)
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.statistics import Z, agreement, bca, mcnemar_mid_p, wilson
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.evidence.llm.judge import LLMJudge


# ---------------------------------------------------------------- a panel: several judgements of one recording


def judge_panel(
    evaluations: Mapping[str, Any] | Sequence[Any], labels: Any = (), *, score: str = PASSED, alone: str | None = None
) -> JudgePanel:
    """Several judgements of one recording side by side.

    Parameters
    ----------
    evaluations
        Two or more evaluations of the same recording, by name or in a list (then named by their judges, as briefly as
        tells them apart).
    labels
        Verdicts of people, as ``wb.load_verdicts`` reads: what each judge is held against.
    score
        What is compared: ``passed``, or a metric, right from its low score on.
    alone
        The judge that would have been used alone; by default the first that made no calls.

    Raises
    ------
    InputError
        With fewer than two evaluations, or evaluations without a sample in common.

    Examples
    --------
    >>> panel = wb.judge_panel({"one": wb.load_evaluation("evaluations/baseline"),
    ...                         "other": wb.load_evaluation("evaluations/baseline")})
    >>> len(panel.differences())
    0
    """
    if isinstance(evaluations, Mapping):
        named = {str(name): item for name, item in evaluations.items()}
    else:
        named = {}
        whole = [str(item.manifest.get("judge") or "none") for item in evaluations]
        # What follows is an endpoint and its options, or versions and an encoder.
        brief = [re.split(r" at=|/\d" if name.startswith("offline") else " at=", name)[0] for name in whole]
        for item, name, short in zip(evaluations, whole, brief, strict=True):
            own = short if brief.count(short) == 1 else name.partition(" at=")[0]
            named[own if own not in named else f"{own} ({len(named) + 1})"] = item
    if len(named) < 2:
        raise InputError("judge_panel: give two or more evaluations of the same recording")
    first, *rest = named.values()
    ids = [name for name in first.evidence.ids if all(name in other.evidence.ids for other in rest)]
    if not ids:
        raise InputError("judge_panel: the evaluations have no sample in common; give judgements of one recording")
    if alone is not None and alone not in named:
        raise InputError(f"judge_panel: {alone!r} is none of the judges; they are {', '.join(named)}")
    free = next((name for name, item in named.items() if not item.manifest.get("spending")), None)
    return JudgePanel(named, pd.Index(ids, name="sample_id"), consensus(load_labels(labels, first.name)), score, alone or free)


@dataclass(frozen=True)
class JudgePanel:
    """Judges by name over the samples that all of them have; ``alone`` is the one that might have done without the others."""

    evaluations: Mapping[str, Any]
    ids: pd.Index
    human: pd.Series
    score: str
    alone: str | None

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Index ``sample_id``, one column a judge: ``right``, ``wrong`` or None where it has no score."""
        columns = {}
        for name, item in self.evaluations.items():
            values = scores_of(item, self.score)[item.evidence.ids.get_indexer(self.ids)]
            cut = 1.0 if self.score == PASSED else item.thresholds.low_cut(self.score)
            said = np.where(values >= cut, RIGHT, WRONG).astype(object)
            said[np.isnan(values)] = None
            columns[name] = said
        return pd.DataFrame(columns, index=self.ids, dtype=object)

    def agreement(self) -> pd.DataFrame:
        """Every two judges: ``first, second, n, accuracy, kappa, kappa_low, kappa_high``; ``attrs["alpha"]`` of all."""
        rows = [{"first": a, "second": b, **agreement(self.verdicts[a], self.verdicts[b])[_AGREED]}
                for a, b in combinations(self.verdicts, 2)]  # fmt: skip
        frame = pd.DataFrame(rows, columns=["first", "second", *_AGREED]).astype({"n": int})
        long = self.verdicts.stack().dropna()
        frame.attrs["alpha"] = krippendorff_alpha(count_table(long.index.get_level_values(0), long.to_numpy()))
        return frame

    @cached_property
    def majority(self) -> pd.Series:
        """Sample id → what most judges say; None where they are evenly split or say nothing."""
        votes = (self.verdicts == RIGHT).sum(axis=1) - (self.verdicts == WRONG).sum(axis=1)
        said = [RIGHT if vote > 0 else WRONG if vote < 0 else None for vote in votes]
        return pd.Series(said, index=self.ids, dtype=object, name="majority")

    def differences(self) -> pd.DataFrame:
        """The samples that judges differ on, the most evenly split first: the verdicts, ``majority``, ``people``, ``split``
        (share of the smaller side, up to 0.5)."""
        right, wrong = ((self.verdicts == said).sum(axis=1) for said in (RIGHT, WRONG))
        split = np.minimum(right, wrong) / (right + wrong).clip(lower=1)
        frame = self.verdicts.assign(majority=self.majority, people=self.human.reindex(self.ids), split=split)
        return frame[split > 0].sort_values("split", ascending=False, kind="stable")

    def against_people(self) -> pd.DataFrame:
        """Index ``judge`` (each, and ``majority``): ``n, accuracy, kappa, kappa_low, kappa_high`` over labelled samples."""
        human = self.human.reindex(self.ids)
        columns = {**{name: self.verdicts[name] for name in self.verdicts}, "majority": self.majority}
        rows = {name: agreement(human, said)[_AGREED] for name, said in columns.items()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=_AGREED).astype({"n": int}).rename_axis("judge")

    def saved(self) -> pd.Series:
        """What the judge ``alone`` would have saved: ``calls, tokens, cost`` (dollars) that the others took, the samples
        where it says ``other`` than the majority, out of ``n``. NaN for an unknown price; all NaN without such a judge.
        """
        if self.alone is None:
            return pd.Series(dict.fromkeys(("calls", "tokens", "cost", "other", "n"), np.nan))
        spent = [item.manifest.get("spending") or {} for name, item in self.evaluations.items() if name != self.alone]
        cost = [item["cost"] if item.get("cost") is not None else np.nan for item in spent if item]
        both = self.verdicts[self.alone].notna() & self.majority.notna()
        return pd.Series({
            "calls": float(sum(item.get("calls", 0) for item in spent)),
            "tokens": float(sum(item.get("sent", 0) + item.get("received", 0) for item in spent)),
            "cost": float(np.sum(cost)), "other": float((self.verdicts[self.alone] != self.majority)[both].sum()),
            "n": float(both.sum()),
        })  # fmt: skip


_AGREED = ["n", "accuracy", "kappa", "kappa_low", "kappa_high"]


# ---------------------------------------------------------------- position and length


def order_bias(recorded: Any, reversed_: Any) -> pd.DataFrame:
    """Whether a judge favours contexts by where they stand: the same samples in two orders.

    Parameters
    ----------
    recorded, reversed_
        Evaluations of one recording by one judge, the second with ``judge_options={"order": "reversed"}``.

    Returns
    -------
    DataFrame
        Index ``relevance``, ``support`` (by answer claim and context), ``passed``; ``n`` pairs, ``flips`` whose verdict is
        another, ``rate`` with its 95 % interval ``low, high``, and ``early``: by how much the value is higher where the
        context stands in the first half (mean difference of the same pair, with ``early_low, early_high``, BCa bootstrap;
        NaN for ``passed``, and without pairs). The middle context of an odd number moves nowhere and is left out.

    Raises
    ------
    InputError
        Where they do not hold the same samples with the same contexts.

    Examples
    --------
    >>> wb.order_bias(*[wb.load_evaluation("evaluations/baseline")] * 2)["flips"].tolist()
    [0, 0, 0]
    """
    first, second = recorded.evidence, reversed_.evidence
    same = len(first) == len(second) and list(first.ids) == list(second.ids)
    if not same or first.contexts["text"].tolist() != second.contexts["text"].tolist():
        raise InputError("order_bias: give two evaluations of the same recording, in two orders of the contexts")
    t, rows = recorded.thresholds, {}
    facts = recorded.view.facts, reversed_.view.facts
    contexts = facts[0].contexts
    middle = (np.bincount(contexts.code[contexts.prompted], minlength=len(first)) + 1)[contexts.code] / 2
    relevance = [one.contexts.relevance for one in facts]
    rows["relevance"] = _order(relevance[0], relevance[1], t.relevance, contexts.rank - middle)
    cells = [_cells(item) for item in (recorded, reversed_)]
    both = cells[0].merge(cells[1], left_index=True, right_index=True, suffixes=("_a", "_b"))
    at = middle[both["context_a"].to_numpy(dtype=np.int64)] if len(both) else np.zeros(0)
    places = both.index.get_level_values("rank").to_numpy(dtype=float) - at
    rows["support"] = _order(both["entail_a"].to_numpy(dtype=float), both["entail_b"].to_numpy(dtype=float), t.support, places)
    passed = [scores_of(item, PASSED) for item in (recorded, reversed_)]
    rows["passed"] = _order(passed[0], passed[1], 0.5, np.zeros(len(first)))
    columns = ["n", "flips", "rate", "low", "high", "early", "early_low", "early_high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype({"n": int, "flips": int})


def _cells(evaluation: Any) -> pd.DataFrame:
    """Support of each answer claim by each context; claims are told by their text, which a judge may word anew."""
    facts = evaluation.view.facts
    claims, support = facts.claims("answer"), facts.support("answer")
    texts = evaluation.evidence.claims["text"].to_numpy(dtype=object)[claims.row]
    frame = pd.DataFrame({
        "code": claims.code[support.claim], "text": texts[support.claim], "rank": facts.contexts.rank[support.context],
        "entail": support.entail, "context": support.context,
    })  # fmt: skip
    return frame.drop_duplicates(["code", "text", "rank"]).set_index(["code", "text", "rank"])


def _order(first: Any, second: Any, cut: float, place: Any) -> list[float]:
    """``place`` below 0: shown early in the first evaluation, and late in the second."""
    known = ~(np.isnan(first) | np.isnan(second))
    n, flips = int(known.sum()), int(((first >= cut) != (second >= cut))[known].sum())
    moved = known & (place != 0)
    difference = np.where(place < 0, first - second, second - first)[moved]
    early = float(difference.mean()) if len(difference) else np.nan
    interval = bca(difference) if len(difference) > 1 and np.ptp(difference) > 0 else (early, early)
    return [n, flips, flips / n if n else np.nan, *wilson(flips, n)[:2], early, interval[0], interval[1]]


def verbosity_bias(ratings: pd.DataFrame, samples: Any, labels: Any = ()) -> pd.DataFrame:
    """Whether ratings rise with the length of the answer.

    Parameters
    ----------
    ratings
        What ``wb.rate`` gave.
    samples
        The samples that were rated.
    labels
        Verdicts of people; with them the answers that are right and those that are wrong are looked at apart, since a good
        answer may well be longer.

    Returns
    -------
    DataFrame
        ``criterion, answers`` (all, right, wrong)``, n, rho`` (Spearman, rating against characters)``, low, high`` (95 %,
        Fisher's z with Bonett and Wright's variance), NaN below four answers or where all are rated alike.

    Examples
    --------
    >>> wb.verbosity_bias(wb.rate("llm:MODEL", samples), samples)  # doctest: +SKIP
    """
    from scipy.stats import spearmanr

    frame = samples.frame if hasattr(samples, "frame") else samples.samples.frame
    human = consensus(load_labels(labels, getattr(samples, "name", "")))
    length = frame["answer"].map(lambda text: np.nan if text is None else float(len(str(text))))
    rows = []
    for name, group in ratings[ratings["state"] == "ok"].groupby("criterion", sort=False):
        group = group.set_index("sample_id")["score"]
        said = human.reindex(group.index)
        for which in ("all", *((RIGHT, WRONG) if len(human) else ())):
            own = group if which == "all" else group[said == which]
            lengths = length.reindex(own.index)
            rho = low = high = np.nan
            if len(own) >= 4 and own.nunique() > 1 and lengths.nunique() > 1:
                rho = float(spearmanr(own, lengths)[0])
                half = Z * np.sqrt((1 + rho**2 / 2) / (len(own) - 3))
                middle = np.arctanh(np.clip(rho, -0.999999, 0.999999))
                low, high = float(np.tanh(middle - half)), float(np.tanh(middle + half))
            rows.append((name, which, len(own), rho, low, high))
    return pd.DataFrame(rows, columns=["criterion", "answers", "n", "rho", "low", "high"])


# ---------------------------------------------------------------- which of two systems is preferred


@dataclass(frozen=True)
class Preferences:
    """Which of two answers a judge prefers, sample by sample, asked in both orders.

    ``rows``: ``sample_id, preferred`` (``a, b, tie``; None where it could not be asked)``, shown_first, shown_second,
    state, reason``. Where the two orders disagree it is a tie: the judge followed the place and not the answer.
    """

    rows: pd.DataFrame

    def summary(self) -> pd.Series:
        """``n`` samples asked about; ``a, b, ties`` how many each way, ``swayed`` how many of the ties are answers that
        changed with the order; ``share`` of b among those decided, ``low, high`` (Wilson), ``p_value`` (sign test, mid-p);
        ``first`` share of the decided replies for the answer shown first, ``first_low, first_high``: 0.5 is no bias.
        """
        rows = self.rows[self.rows["state"] == "ok"]
        a, b, ties = (int((rows["preferred"] == which).sum()) for which in ("a", "b", "tie"))
        swayed = int((rows["shown_first"] != rows["shown_second"]).sum())
        first = int((rows["shown_first"] == "a").sum() + (rows["shown_second"] == "b").sum())
        told = int((rows[["shown_first", "shown_second"]] != "tie").to_numpy().sum())
        decided = a + b
        found = {
            "n": len(rows), "a": a, "b": b, "ties": ties, "swayed": swayed, "share": b / decided if decided else np.nan,
            **dict(zip(("low", "high"), wilson(b, decided), strict=False)), "p_value": mcnemar_mid_p(a, b),
            "first": first / told if told else np.nan,
            **dict(zip(("first_low", "first_high"), wilson(first, told), strict=False)),
        }  # fmt: skip
        return pd.Series(found, dtype=float)


def prefer(
    a: Any, b: Any, samples: Any, *, judge: LLMJudge | str, by: Any = "completeness",
) -> Preferences:  # fmt: skip
    """Which of two answers to each sample a language model prefers; both orders are asked.

    Parameters
    ----------
    a, b
        The answers: an evaluation or a sample set (matched by id), a mapping by sample id, or a list in the order of
        ``samples``.
    samples
        A sample set, or an evaluation: questions, contexts, references.
    judge
        A language model as judge, or ``"llm:MODEL"``.
    by
        The criterion: a preset of ``wb.rate``, or a mapping with a name and its words.

    Raises
    ------
    InputError
        For lists of another length, or a judge or criterion that is not known.
    JudgeError
        When the model cannot be asked at all.

    Examples
    --------
    >>> wb.prefer(baseline, improved, baseline, judge="llm:MODEL").summary()  # doctest: +SKIP
    """
    from workbench.evidence.llm.rubric import preferences

    known = getattr(samples, "samples", None)
    whole = samples if callable(known) else known
    if whole is None:
        raise InputError(f"prefer: samples is a {type(samples).__name__}; give an evaluation or wb.load_samples(…)")
    items = whole.samples()
    ids = [item.sample_id for item in items]
    rows = preferences(judge, items, _answers(a, ids), _answers(b, ids), by)
    same = rows["shown_first"] == rows["shown_second"]
    said = [(first if alike else "tie") if state == "ok" else None
            for first, alike, state in zip(rows["shown_first"], same, rows["state"], strict=True)]  # fmt: skip
    rows["preferred"] = pd.Series(said, index=rows.index, dtype=object)
    return Preferences(rows[["sample_id", "preferred", "shown_first", "shown_second", "state", "reason"]])


def _answers(given: Any, ids: Sequence[str]) -> list[str | None]:
    if hasattr(given, "evidence"):
        given = dict(zip(map(str, given.evidence.ids), given.evidence.plain("answer"), strict=True))
    elif hasattr(given, "frame"):
        given = given.frame["answer"]
    if isinstance(given, (Mapping, pd.Series)):
        return [None if (text := given.get(name)) is None or text != text else str(text) for name in ids]
    if len(given) != len(ids):
        raise InputError(f"prefer: {len(given)} answers for {len(ids)} samples; give one for each, or a mapping by sample id")
    return [None if text is None else str(text) for text in given]
