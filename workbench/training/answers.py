"""Fit the model of :mod:`workbench.evidence.offline.answers` and say how well it judges.

``python -m workbench.training.answers --data FOLDER --report --out FILE`` reads ``evouna`` (answers judged by
people) and ``xquad`` (questions, spans and sentences in English and Chinese) below ``FOLDER``. Real answers teach the
English model. No labelled Chinese set has an open licence, so pairs made by rule teach the Chinese one what differs; it
starts from the English weights and moves away from them only as far as its pairs ask for. Runs are repeatable.

A fifth of the questions of EVOUNA is kept apart: ``--last`` adds its figures to the report, to be looked at once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from workbench.diagnosis.statistics import auroc, sigmoid
from workbench.evidence.offline.answer_features import compared
from workbench.evidence.offline.answers import FEATURES, SHAPES, cleaned
from workbench.training.answer_pairs import CHINESE, Maker, Pair

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

FOLDS = 5
#: Strength of the L2 penalty on the weights, which are all of values near [0, 1] or logarithms of counts.
PENALTY = 2.0
#: The same on how far Chinese weights lie from English ones, and those of statements from those of spans.
PULL = 6.0
#: How much a real pair counts with one reference, against one with several.
ONE_REFERENCE = 2.0
#: How much a wrong answer counts beside a right one: a little less, for a right answer that is failed costs more trust than
#: a wrong one that is passed. Of the answers with one reference about .05 of the right and .10 of the wrong are misjudged.
WRONG = 0.9
#: How much a pair counts whose alternatives were cut to the most typical one, as most users have but one.
CUT = 0.6
#: How much a pair made by rule counts beside the real ones: little where it only shows wording, of which the real ones show
#: more, and more where it shows what the real ones hardly have.
MADE, MADE_WORDING = 0.6, 0.16
#: And how much less where the reference is a span: of those the judged pairs tell nearly everything, but for these kinds.
MADE_SPAN, MADE_SPAN_RARE = 0.1, 0.35
RARE = frozenset(("yes or no", "denied premise", "held premise", "unspecified", "identifier", "exchanged", "contrast"))
WORDING = frozenset((
    "span", "span in sentence", "longer than the reference", "other span", "replaced", "elsewhere", "reworded", "altered",
    "both points",
))  # fmt: skip
#: Share of the labelled pairs that are called close.
CLOSE = 0.1


# ---------------------------------------------------------------- pairs that people judged


def judged(folder: Path) -> list[Pair]:
    """The pairs of EVOUNA below ``folder``."""
    rows = [
        json.loads(line)
        for source in sorted((folder / "evouna").glob("*.jsonl"))
        for line in source.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
    return [Pair(r["question"], r["answer"], tuple(r["reference"]), r["right"], r["system"], "en") for r in rows]


def part_of(question: str) -> int:
    """A number from the text of the question alone, so that its five rows stay together."""
    return int(hashlib.sha256(question.encode()).hexdigest()[:8], 16)


@cache
def typical(references: tuple[str, ...]) -> int:
    """The alternative that is most like all the others in its letters: the first ones are often odd."""
    grams = [{r.lower()[i : i + 3] for i in range(max(1, len(r) - 2))} for r in references]
    likeness = [sum(2 * len(a & b) / (len(a) + len(b)) for b in grams) for a in grams]
    return int(np.argmax(likeness))


# ---------------------------------------------------------------- rows of values


@dataclass(frozen=True, slots=True)
class Table:
    """The values of pairs: ``rows`` (m, n) for each way to read each reference, the pair ``starts`` at, (k,) ``right``."""

    pairs: list[Pair]
    rows: Floats
    owners: Ints
    starts: Ints
    right: Flags

    def best(self, weights: Floats) -> tuple[Ints, Floats]:
        """(k,) the row of the best alternative of each pair under ``weights``, and its log-odds."""
        scores = log_odds(self.rows, weights)
        top = np.maximum.reduceat(scores, self.starts)
        which = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(scores))))
        candidates = np.flatnonzero(scores == top[which])
        _, first = np.unique(which[candidates], return_index=True)
        return candidates[first], top


def log_odds(rows: Floats, weights: Floats) -> Floats:
    """(m,) log-odds of rows under ``weights`` (2, n + 1): one line for each shape, the intercept last."""
    of = weights[rows[:, -1].astype(int)]
    return np.asarray((rows * of[:, :-1]).sum(axis=1) + of[:, -1])


def table(pairs: Sequence[Pair]) -> Table:
    """The :class:`Table` of pairs."""
    rows: list[list[float]] = []
    owners: list[int] = []
    starts = []
    for pair in pairs:
        found, of = compared(pair.question, cleaned(pair.answer), pair.references)
        starts.append(len(rows))
        rows += found
        owners += of
    right = np.array([pair.right for pair in pairs])
    return Table(list(pairs), np.array(rows), np.array(owners), np.array(starts), right)


def cut_to_one(judged_table: Table) -> tuple[Floats, Flags]:
    """(k, n) the row of the most typical alternative alone, and (k,) whether the pair makes sense so.

    It makes none where there was one alternative before, nor where the answer was accepted for another alternative that
    shares nothing with this one.
    """
    recall, grams = (list(FEATURES).index(name) for name in ("recall", "grams"))
    ends = np.append(judged_table.starts[1:], len(judged_table.rows))
    chosen, sensible = [], []
    for pair, start, end in zip(judged_table.pairs, judged_table.starts, ends, strict=True):
        of = judged_table.owners[start:end] == typical(pair.references)
        candidates = start + np.flatnonzero(of)
        row = judged_table.rows[candidates[np.argmax(judged_table.rows[candidates, recall])]]
        chosen.append(row)
        alien = row[recall] < 0.2 and row[grams] < 0.15
        sensible.append(len(pair.references) > 1 and not (pair.right and alien))
    return np.array(chosen), np.array(sensible)


# ---------------------------------------------------------------- fitting


#: Values that speak for an answer, and values that speak against it: a weight of the other sign is an accident of the
#: pairs and is left out. The rest may have either sign.
SPEAKS_FOR = frozenset((
    "recall", "recall_exact", "all_found", "grams", "some_grams", "squashed", "recall_lead", "covered", "within", "surname",
    "number_near", "polarity_agrees", "both_deny", "both_negate", "best_point", "declines_alike",
))  # fmt: skip
SPEAKS_AGAINST = frozenset((
    "half_missing", "rarest_missing", "first_missing", "family_missing", "word_beside", "declined_first",
    "rival_word", "number_missing", "number_other", "substituted", "name_other", "opposite",
    "flipped", "asked_other", "code_missing", "names_missing", "rival_names", "negated", "refused", "polarity_differs",
    "denial_differs", "worst_point", "apart", "declines_not",
))  # fmt: skip


#: Least weights for statements. Pairs made by rule hold the words of their reference or lose them by chance, so they
#: cannot show what judged pairs do: that of two answers the one with more of what is new is the better one.
AT_LEAST = {"recall": 1.0, "grams": 2.0, "some_grams": 0.5, "polarity_agrees": 2.0}
AT_LEAST_SPAN = {"polarity_agrees": 2.0, "squashed": 1.5, "number_near": 3.0}
#: Weights that are at most so: a quantity, an identifier or a name in the place of that of the reference is a fault by what
#: notation means, however many words around it agree.
AT_MOST = {"number_missing": -1.0, "number_other": -3.5, "code_missing": -1.5, "name_other": -3.0, "opposite": -5.0,
           "asked_other": -6.5, "negated": -6.0, "polarity_differs": -3.0, "declined_first": -5.0, "family_missing": -2.5,
           "first_missing": -2.5, "rival_word": -3.5, "word_beside": -1.5, "refused": -1.0}  # fmt: skip
#: More of them for statements.
AT_MOST_STATEMENT = AT_MOST | {"number_missing": -1.5, "names_missing": -0.7, "flipped": -1.5, "word_beside": 0.0,
                                 "negated": -1.5}


def logistic(rows: Floats, right: Flags, counts: Floats, penalty: float, prior: Floats | None = None) -> Floats:
    """(n + 1,) weights of a logistic regression, the intercept last, none of the wrong sign.

    The L2 penalty draws the weights to ``prior`` (zero without one); the intercept is free. ``counts`` (m,) say how much
    each row counts.
    """
    least, most = (AT_LEAST, AT_MOST_STATEMENT) if rows[:, -1].all() else (AT_LEAST_SPAN, AT_MOST)
    bounds = [
        (least.get(name, 0.0) if name in SPEAKS_FOR else None, most.get(name, 0.0) if name in SPEAKS_AGAINST else None)
        for name in [*FEATURES, ""]
    ]
    values = np.column_stack([rows, np.ones(len(rows))])
    centre = np.zeros(len(bounds)) if prior is None else prior
    strength = np.full(len(bounds), penalty)
    strength[-1] = 1e-3
    side = np.where(right, 1.0, -1.0)

    def loss(at: Floats) -> tuple[float, Floats]:
        margin = side * (values @ at)
        slope = -counts * side / (1 + np.exp(np.clip(margin, -30, 30)))
        away = strength * (at - centre)
        return float(counts @ np.logaddexp(0, -margin) + away @ (at - centre) / 2), values.T @ slope + away

    low, high = np.array([(-99 if a is None else a, 99 if b is None else b) for a, b in bounds]).T
    start = np.clip(centre, low, high)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500, "ftol": 1e-8})
    return np.asarray(found.x)


@dataclass(frozen=True, slots=True)
class Data:
    """Everything that is fitted on: judged pairs, the same cut to one alternative, and pairs made by rule."""

    judged: Table
    cut: Floats
    sensible: Flags
    made: Mapping[str, Table]


def fit_shapes(rows: Floats, right: Flags, counts: Floats, prior: Floats | None = None) -> Floats:
    """(2, n + 1) weights for spans and for statements, each drawn to its line of ``prior``, else statements to spans."""
    found: list[Floats] = []
    for shape in range(len(SHAPES)):
        of = rows[:, -1] == shape
        centre = prior[shape] if prior is not None else (found[0] if found else None)
        found.append(logistic(rows[of], right[of], counts[of], PENALTY if centre is None else PULL, centre))
    return np.array(found)


def fit_english(data: Data, use: Flags, made: Flags) -> Floats:
    """The English weights (2, n + 1) from the judged pairs ``use`` and the made pairs ``made``.

    Which alternative of a pair is meant is not said by the labels: it is the one that the model of the round before
    likes best.
    """
    many = np.array([len(pair.references) > 1 for pair in data.judged.pairs])
    right = data.judged.right
    base = np.where(many, 1.0, ONE_REFERENCE) * np.where(right, 1.0, WRONG)
    cut = use & data.sensible
    ours = data.made["en"]
    told = np.array([MADE_WORDING if pair.kind in WORDING else MADE for pair in ours.pairs])
    span = np.array([MADE_SPAN_RARE if pair.kind in RARE else MADE_SPAN for pair in ours.pairs])
    told[ours.right] *= told[~ours.right].sum() / told[ours.right].sum()
    weights = np.zeros((len(SHAPES), len(FEATURES) + 1))
    for name in ("recall", "squashed", "grams"):
        weights[:, list(FEATURES).index(name)] = 1.0
    for _ in range(3):
        at, _ = data.judged.best(weights)
        mine = ours.rows[ours.best(weights)[0]][made]
        rows = np.vstack([data.judged.rows[at][use], data.cut[cut], mine])
        labels = np.concatenate([right[use], right[cut], ours.right[made]])
        by_rule = told[made] * np.where(mine[:, -1] == 0, span[made], 1.0)
        parts = [base[use], CUT * np.where(right, 1.0, WRONG)[cut], by_rule]
        weights = fit_shapes(rows, labels, np.concatenate(parts))
    return weights


def fit_chinese(data: Data, english: Floats, made: Flags) -> Floats:
    """The Chinese weights from pairs made by rule, drawn to the English ones."""
    ours = data.made[CHINESE]
    at, _ = ours.best(english)
    counts = 2 * np.where(ours.right, (~ours.right).sum() / ours.right.sum(), 1.0)
    return fit_shapes(ours.rows[at][made], ours.right[made], counts[made], english)


# ---------------------------------------------------------------- figures


def figures(scores: Floats, right: Flags) -> dict[str, float]:
    """Number of pairs, agreement at one half, AUROC, share of right ones failed and of wrong ones passed."""
    passed = scores >= 0.5
    failed = float((~passed[right]).mean()) if right.any() else math.nan
    let_by = float(passed[~right].mean()) if (~right).any() else math.nan
    return {
        "pairs": len(right), "agreement": round(float((passed == right).mean()), 4), "auroc": round(auroc(right, scores), 4),
        "right_failed": round(failed, 4), "wrong_passed": round(let_by, 4),
    }  # fmt: skip


def by_part(pairs: Sequence[Pair], scores: Floats, right: Flags) -> dict[str, dict[str, float]]:
    """:func:`figures` of all pairs, with one reference and with several, and for each kind."""
    many = np.array([len(pair.references) > 1 for pair in pairs])
    kinds = np.array([pair.kind for pair in pairs])
    parts = {"all": np.ones(len(pairs), dtype=bool), "one reference": ~many, "several references": many}
    parts |= {kind: kinds == kind for kind in dict.fromkeys(kinds.tolist())}
    return {name: figures(scores[part], right[part]) for name, part in parts.items() if part.any()}


def close_band(scores: Floats) -> tuple[float, float]:
    """The band around one half, even in log-odds, that holds the share :data:`CLOSE` of the scores."""
    distance = np.sort(np.abs(np.log(scores / (1 - scores))))
    reach = float(distance[int(CLOSE * len(distance))])
    return round(1 / (1 + math.exp(reach)), 4), round(1 / (1 + math.exp(-reach)), 4)


def examined(data: Data) -> tuple[dict[str, Any], dict[str, Floats], tuple[float, float]]:
    """The report, the final weights by language, and the band of close calls.

    The band is that of pairs with one reference, or cut to one: with dozens of aliases hardly any call is close.
    """
    parts = np.array([part_of(pair.question) for pair in data.judged.pairs])
    apart = parts % 5 == 4
    fold = parts // 5 % FOLDS
    made_fold = {k: np.array([part_of(p.question) // 5 % FOLDS for p in t.pairs]) for k, t in data.made.items()}
    scores, alone = np.zeros(len(parts)), np.zeros(len(parts))
    made_scores = {k: np.zeros(len(t.pairs)) for k, t in data.made.items()}
    for number in range(FOLDS):
        english = fit_english(data, ~apart & (fold != number), made_fold["en"] != number)
        weights = {"en": english, CHINESE: fit_chinese(data, english, made_fold[CHINESE] != number)}
        held = ~apart & (fold == number)
        scores[held] = sigmoid(data.judged.best(english)[1][held])
        alone[held] = sigmoid(log_odds(data.cut[held], english))
        for language, made in data.made.items():
            held = made_fold[language] == number
            made_scores[language][held] = sigmoid(made.best(weights[language])[1][held])
    everything = np.ones(len(data.made["en"].pairs), dtype=bool)
    tuned = fit_english(data, ~apart, everything)
    right = data.judged.right
    report: dict[str, Any] = {}
    report["EVOUNA TQ, folds by question"] = by_part(_some(data.judged.pairs, ~apart), scores[~apart], right[~apart])
    cut = ~apart & data.sensible
    report["EVOUNA TQ, cut to the typical alternative"] = {"all": figures(alone[cut], right[cut])}
    last = sigmoid(data.judged.best(tuned)[1])[apart]
    report["EVOUNA TQ, the fifth kept apart"] = by_part(_some(data.judged.pairs, apart), last, right[apart])
    for language, made in data.made.items():
        report[f"made by rule, {language}"] = by_part(made.pairs, made_scores[language], made.right)
    english = fit_english(data, np.ones(len(parts), dtype=bool), everything)
    chinese = fit_chinese(data, english, np.ones(len(data.made[CHINESE].pairs), dtype=bool))
    alike = np.array([len(pair.references) == 1 for pair in data.judged.pairs]) & ~apart
    return report, {"en": english, CHINESE: chinese}, close_band(np.concatenate([scores[alike], alone[cut]]))


def _some(pairs: Sequence[Pair], use: Flags) -> list[Pair]:
    return [pair for pair, used in zip(pairs, use, strict=True) if used]


def resource(report: Mapping[str, Any], weights: Mapping[str, Floats], band: tuple[float, float]) -> dict[str, Any]:
    """What is written to ``answer_right.json``."""
    models = {
        language: {
            shape: {
                "intercept": round(float(found[i, -1]), 4),
                "weights": {name: round(float(w), 4) for name, w in zip(FEATURES, found[i], strict=False)},
            }
            for i, shape in enumerate(SHAPES)
        }
        for language, found in weights.items()
    }
    return {
        "about": "Logistic models of offline/answers.py, fitted by training/answers.py. English: answers of EVOUNA (TriviaQA"
        " half, Apache-2.0) and pairs made by rule; Chinese: pairs made by rule over XQuAD (CC BY-SA 4.0).",
        "close_call": list(band), "models": models, "checked": report,
    }  # fmt: skip


def gathered(folder: Path) -> Data:
    """Read, make and compare all pairs."""
    people = table(judged(folder))
    cut, sensible = cut_to_one(people)
    return Data(people, cut, sensible, {language: table(Maker(folder, language).pairs()) for language in ("en", CHINESE)})


def _written(report: Mapping[str, Any], last: bool) -> Iterator[str]:
    for part, lines in report.items():
        if "kept apart" in part and not last:
            continue
        yield part
        for name, f in lines.items():
            yield (
                f"  {name:26} {f['pairs']:6}  agreement {f['agreement']:.3f}  AUROC {f['auroc']:.3f}"
                f"  right failed {f['right_failed']:.3f}  wrong passed {f['wrong_passed']:.3f}"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Fit the model that says whether an answer is right.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds evouna and xquad")
    parser.add_argument("--report", action="store_true", help="print the figures")
    parser.add_argument("--last", action="store_true", help="with the figures of the fifth that is kept apart")
    parser.add_argument("--out", type=Path, help="file for the coefficients")
    options = parser.parse_args(arguments)
    report, weights, band = examined(gathered(options.data))
    if options.report:
        for line in _written(report, options.last):
            sys.stdout.write(line + "\n")
    if options.out:
        text = json.dumps(resource(report, weights, band), ensure_ascii=False, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
