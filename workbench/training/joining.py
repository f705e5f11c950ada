"""Fit how a claim's words and the reader count together: ``python -m workbench.training.joining --data FOLDER --out FILE``.

A logistic regression over :data:`workbench.evidence.offline.reading.FEATURES`, on claims that the reader was not trained on:
half of the balanced families kept apart, the part of ``nli``, ``wice``, ``begin_wow`` and ``xquad`` that is left for this, and
answers of ``clapnq``. Each set counts alike, however many claims it has. The other half of the families, and the fifth of
the other sets, are what it is measured on. Run it again whenever the reader, the words or a rule changed.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from workbench.data.schema import Context, Sample
from workbench.diagnosis.statistics import auroc
from workbench.evidence.offline import reading
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.models import Logistic, write_table
from workbench.language import codes
from workbench.training import rows
from workbench.training.reading import by_hand, left, share

_log = logging.getLogger(__name__)
Floats = NDArray[Any]

#: Answers of one set at most, to fit on and to measure on; the strength of the fit (the less, the smaller the weights).
MOST, MEASURED, STRENGTH = 300, 60, 0.3
#: How much a set counts, with 1 for all others.
COUNTS = {"nli": 2.0, "families-en": 2.0, "families-zh": 2.0}
#: A question that names nothing: the pair alone decides.
ANY = "?"


@dataclass(frozen=True, slots=True)
class Case:
    """An answer, whether its contexts bear it out, the set it is of, and whether it is one to measure on."""

    sample: Sample
    supported: bool
    of: str
    held_out: bool


def cases(folder: Path) -> Iterator[Case]:
    """The answers to fit on and those to measure on."""
    for code in codes():
        for family, group in by_hand(code):
            # Where right ones are free and wrong ones near, as in the others, closeness to a text would tell what it does not.
            balanced = "form" in family["claims"][0]
            for claim in family["claims"] if balanced and share(f"apart {group}", rows.APART) else ():
                sample = _sample(family["question"], family["contexts"], claim["text"])
                yield Case(sample, claim["label"] == "supported", f"families-{code}", share(f"half {group}", 2))
    changed = [e for code in codes() for e in rows.perturbed(folder, code)]
    for e in (*rows.nli(folder, rows.PER_FILE), *rows.wice(folder), *rows.begin(folder), *changed):
        if rows.apart(e) or left(e.group):
            of = "nli" if e.source.startswith("nli") else e.source
            yield Case(_sample(ANY, [e.evidence], e.claim), e.supported, of, rows.apart(e))
    answers = rows.clapnq(folder)
    for one, following in zip(answers, [*answers[1:], *answers[:1]], strict=True):
        for passage in (one.passage, following.passage):
            held_out = share(f"apart {one.passage}", rows.APART)
            yield Case(_sample(one.question, [passage], one.answer), passage == one.passage, "clapnq-en", held_out)


def _sample(question: str, contexts: Sequence[str], answer: str) -> Sample:
    return Sample("", question, answer, tuple(map(Context, contexts)))


class _Recorder(OfflineJudge):
    """A judge that keeps the features of the claims that were read, and what words alone say of them; by sample."""

    reads_near = True

    def __init__(self) -> None:
        super().__init__("auto")
        self.found: list[tuple[Floats, Floats]] = []

    def _support(self, seen: Examination) -> tuple[Floats, Floats]:
        numbers = list(seen.readings)
        made = [reading.features(seen, number, seen.readings[number]) for number in numbers]
        end = seen.n_contexts + len(seen.joints)
        self.found.append((np.array(made), seen.by_words[0][numbers, :end].max(axis=1, initial=0.0)))
        return super()._support(seen)


def recorded(found: Sequence[Case]) -> list[tuple[Floats, Floats]]:
    """(claims read, features) and (claims read,) of each case."""
    judge = _Recorder()
    for _ in judge.examine([case.sample for case in found]):
        if len(judge.found) % 500 == 0:
            _log.info("%d of %d", len(judge.found), len(found))
    return judge.found


def fit(found: Sequence[Case], features: Sequence[tuple[Floats, Floats]]) -> Logistic:
    """The weights of :data:`workbench.evidence.offline.reading.FEATURES`.

    Of an answer with several claims that is not borne out it is not known which of them are not: it is left out.
    """
    table: list[Floats] = []
    labels: list[bool] = []
    sets: list[str] = []
    for case, (rows_of, _) in zip(found, features, strict=True):
        if not case.held_out and (case.supported or len(rows_of) == 1):
            table += list(rows_of)
            labels += [case.supported] * len(rows_of)
            sets += [case.of] * len(rows_of)
    values = np.array(table)
    weight = np.array([COUNTS.get(name, 1.0) / sets.count(name) for name in sets])
    center, scale = values.mean(axis=0), values.std(axis=0) + 1e-9
    model = LogisticRegression(C=STRENGTH, max_iter=1000)
    model.fit((values - center) / scale, labels, sample_weight=weight * 1000)
    return Logistic(reading.FEATURES, model.coef_[0], center, scale, float(model.intercept_[0]))


def report(found: Sequence[Case], features: Sequence[tuple[Floats, Floats]], model: Logistic) -> Iterator[str]:
    """For each set, on what is held out: AUROC of the least support of the claims read, by words alone and joined, and the
    balanced accuracy at one half."""
    by: dict[str, list[tuple[bool, float, float]]] = defaultdict(list)
    for case, (rows_of, words) in zip(found, features, strict=True):
        if case.held_out and len(rows_of):
            joined = model.probability(rows_of, reading.FEATURES)
            by[case.of].append((case.supported, float(words.min()), float(joined.min())))
    for name, of in sorted(by.items()):
        label, words, joined = (np.array(column) for column in zip(*of, strict=True))
        balanced = [((p[label] >= 0.5).mean() + (p[~label] < 0.5).mean()) / 2 for p in (words, joined)]
        areas = auroc(label, words), auroc(label, joined)
        yield (f"{name:12} n {len(of):4}  AUROC {areas[0]:.3f} {areas[1]:.3f}  balanced {balanced[0]:.3f} {balanced[1]:.3f}")


def some(found: Sequence[Case]) -> list[Case]:
    """At most :data:`MOST` and :data:`MEASURED` of each set."""
    by: dict[tuple[str, bool], list[Case]] = defaultdict(list)
    for case in found:
        by[case.of, case.held_out].append(case)
    taken = {key: min(len(of), MEASURED if key[1] else MOST) for key, of in by.items()}
    return [case for key, of in by.items() for case in random.Random(1).sample(of, taken[key])]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the report goes to the log (standard error)."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training.joining", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with nli/, wice/, begin_wow/, …")
    parser.add_argument("--out", type=Path, required=True, help="where the file of the coefficients goes")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    _log.setLevel(logging.INFO)
    found = some(list(cases(options.data)))
    features = recorded(found)
    model = fit(found, features)
    options.out.write_text(HEAD + write_table("joined", model), encoding="utf-8")
    for line in report(found, features, model):
        _log.info("%s", line)
    return 0


#: How the file begins.
HEAD = """# How words and reader count together, written by `python -m workbench.training.joining`; see reading.py.
# p = 1 / (1 + exp(-(intercept + sum of weight * (value - center) / scale)))

"""


if __name__ == "__main__":
    sys.exit(main())
