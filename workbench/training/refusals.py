"""Fit the model of refusals on collections of answers whose clauses are marked.

``python -m workbench.training.refusals tests/data/refusals --negatives FILE …`` writes each language's
``refusal_model.json``. A collection is a text file for each style of writing, ``en-legal.txt``: an answer a line, ``^`` before
what refuses, ``~`` before what fills, ``§`` (or nothing, at the start of a line) before what states; the question and a tab
before the answer where it is known. ``--negatives``: files of SQuAD form or JSON Lines with ``text`` or a list ``evidence``
(WiCE), all of whose sentences state. ``--held-out STYLE …``: styles left out of a first fit, on which precision and recall
are reported.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workbench.language
from workbench.data.files import write_text
from workbench.data.text import refusals as model
from workbench.data.text.refusals import ASKED, asked_values, features, model_language, segments
from workbench.language import codes, numbers

_LOG = logging.getLogger(__name__)
_MARKS = {"^": "refuses", "~": "fills", "§": "states"}
KINDS = ("refuses", "fills", "states")
_NEGATIVES, _NEGATIVE_WEIGHT = 8000, 1.0
_MIN_COUNT, _STRENGTH, _KEPT, _FOLDS = 2, 0.5, 3000, 6


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a collection: its clauses, the number of each one's sentence, and what each does."""

    style: str
    text: str
    clauses: tuple[str, ...]
    in_sentence: tuple[int, ...]
    kinds: tuple[str, ...]
    refusal: bool
    question: str = ""

    @property
    def language(self) -> str:
        """The code of its language, with which the style's name begins."""
        return self.style.partition("-")[0]


def parse(line: str, style: str) -> Answer:
    """The answer of one line of a collection."""
    question, _, marked = line.rpartition("\t")
    text, kind = "", "states"
    kind_of: list[str] = []
    for part in re.split(r"([\^~§])", marked):
        if part in _MARKS:
            kind = _MARKS[part]
        else:
            kind_of += [kind] * len(part)
            text += part
    cut = segments(text)
    # A clause is of the kind of most of its characters.
    kinds = tuple(Counter(kind_of[span.start : span.end]).most_common(1)[0][0] for span, _ in cut)
    refusal = "refuses" in kind_of and "states" not in kind_of
    return Answer(style, text, tuple(s.text for s, _ in cut), tuple(n for _, n in cut), kinds, refusal, question)


def collection(folder: Path) -> list[Answer]:
    """The answers of all styles in ``folder``."""
    found = []
    for path in sorted(folder.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [parse(line, path.stem) for line in lines if line.strip()]
    return [answer for answer in found if answer.clauses]


def negatives(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Clauses that state, of each language, at most ``_NEGATIVES`` a language, drawn with a fixed seed."""
    found: dict[str, list[str]] = {code: [] for code in codes()}
    for path in paths:
        for text in _texts(path):
            for span, _ in segments(text):
                found[model_language(span.text)].append(span.text)
    return {name: random.Random(0).sample(rows, min(_NEGATIVES, len(rows))) for name, rows in found.items()}


def _texts(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in content.splitlines() if line.strip()]
        return list(dict.fromkeys(row["text"] if "text" in row else " ".join(row["evidence"]) for row in rows))
    return [p["context"] for article in json.loads(content)["data"] for p in article["paragraphs"]]


def fit_clauses(answers: Sequence[Answer], stating: Sequence[str]) -> dict[str, Any]:
    """The softmax of clauses: ``intercept`` and, for each feature, the weights of refusing and of filling.

    Fitted twice: on all features that occur twice, then on the ``_KEPT`` that weigh most.
    """
    rows = [(features(c), kind, 1.0) for a in answers for c, kind in zip(a.clauses, a.kinds, strict=True)]
    rows += [(features(c), "states", _NEGATIVE_WEIGHT) for c in stating]
    counts = Counter(name for found, *_ in rows for name in found)
    names = sorted(name for name, count in counts.items() if count >= _MIN_COUNT)
    first = _softmax(rows, names)
    load = {n: max(map(abs, w)) * counts[n] ** 0.5 for n, w in first["weights"].items()}
    kept = sorted(names, key=lambda name: (-load[name], name))[:_KEPT]
    return _softmax(rows, sorted(kept))


def _softmax(rows: Sequence[tuple[set[str], str, float]], names: Sequence[str]) -> dict[str, Any]:
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    place = {name: i for i, name in enumerate(names)}
    cells = [(r, place[name]) for r, (found, *_) in enumerate(rows) for name in sorted(found & place.keys())]
    down, across = zip(*cells, strict=True)
    matrix = csr_matrix(([1.0] * len(cells), (down, across)), shape=(len(rows), len(names)))
    fitted = LogisticRegression(C=_STRENGTH, max_iter=500)
    fitted.fit(matrix, [KINDS.index(kind) for _, kind, _ in rows], sample_weight=[weight for *_, weight in rows])
    weights, level = fitted.coef_, fitted.intercept_
    both = (weights[:2] - weights[2]).T.round(4).tolist()
    return {
        "intercept": (level[:2] - level[2]).round(4).tolist(),
        "weights": dict(zip(names, both, strict=True)),
    }


def fit_logistic(values: Sequence[Sequence[float]], labels: Sequence[bool], names: Sequence[str]) -> dict[str, Any]:
    """One plain logistic model as ``intercept`` and named ``weights``."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1.0, max_iter=1000).fit(values, labels)
    weights = dict(zip(names, fitted.coef_[0].round(4).tolist(), strict=True))
    return {"intercept": round(float(fitted.intercept_[0]), 4), "weights": weights}


Judged = tuple[Answer, list[model.Clause]]


def left_out(answers: Sequence[Answer], stating: Sequence[str]) -> list[Judged]:
    """Every answer with its clauses as judged by a model that was fitted without the answer's style (and some more)."""
    judged: list[Judged] = []
    for out in style_folds(answers):
        fitted = fit_clauses([a for a in answers if a.style not in out], stating)
        judged += [(a, clauses_by(a, fitted)) for a in answers if a.style in out]
    return judged


def style_folds(answers: Sequence[Answer]) -> list[set[str]]:
    """The styles in groups, each of which is left out in turn."""
    styles = sorted({a.style for a in answers})
    return [set(styles[fold::_FOLDS]) for fold in range(min(_FOLDS, len(styles)))]


def clauses_by(answer: Answer, fitted: Mapping[str, Any]) -> list[model.Clause]:
    """The clauses of an answer as judged by a softmax that need not be the one in use."""
    return [model.weighed(features(c), fitted) for c in answer.clauses]


def fit_rest(judged: Sequence[Judged]) -> dict[str, Any]:
    """What is left, learned from answers in which some clause seems to refuse."""
    values, labels = [], []
    for answer, clauses in judged:
        if max(c.refuses for c in clauses) >= 0.35:
            for i, row in model.rest_values(answer.clauses, answer.in_sentence, clauses).items():
                values.append(row)
                labels.append(answer.kinds[i] == "states")
    return fit_logistic(values, labels, model.REST)


def _strongest(answer: Answer, clauses: list[model.Clause], rest: Mapping[str, Any]) -> tuple[float, float | None]:
    rows = model.rest_values(answer.clauses, answer.in_sentence, clauses).values()
    return max(c.refuses for c in clauses), max((model.logistic(row, rest) for row in rows), default=None)


def fit_whole(judged: Sequence[Judged], rest: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as a whole."""
    values = [model.whole_values(*_strongest(answer, clauses, rest)) for answer, clauses in judged]
    return fit_logistic(values, [answer.refusal for answer, _ in judged], model.WHOLE)


def fit_asked(judged: Sequence[Judged], rest: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as a whole where the question is known."""
    known = [(answer, clauses) for answer, clauses in judged if answer.question]
    values = [asked_of(answer, clauses, rest) for answer, clauses in known]
    return fit_logistic(values, [answer.refusal for answer, _ in known], ASKED)


def asked_of(answer: Answer, clauses: list[model.Clause], rest: Mapping[str, Any]) -> list[float]:
    """The values of ``ASKED`` for an answer of a collection."""
    rows = model.rest_values(answer.clauses, answer.in_sentence, clauses)
    left = {i: model.logistic(row, rest) for i, row in rows.items()}
    return asked_values(answer.question, answer.clauses, clauses, left)


def fit(answers: Sequence[Answer], stating: Sequence[str]) -> dict[str, Any]:
    """All four models of one language."""
    judged = left_out(answers, stating)
    rest = fit_rest(judged)
    ends = {"whole": fit_whole(judged, rest), "asked": fit_asked(judged, rest)}
    return {"clause": fit_clauses(answers, stating), "rest": rest, **ends}


def probability(answer: Answer, fitted: Mapping[str, Any]) -> float:
    """The probability of a refusal by models that need not be the ones in use."""
    return whole_probability(answer, clauses_by(answer, fitted["clause"]), fitted)


def whole_probability(answer: Answer, clauses: list[model.Clause], fitted: Mapping[str, Any]) -> float:
    """The same from clauses that were judged already, by the models ``rest`` and ``asked`` or ``whole``."""
    if answer.question:
        return model.logistic(asked_of(answer, clauses, fitted["rest"]), fitted["asked"])
    values = model.whole_values(*_strongest(answer, clauses, fitted["rest"]))
    return model.logistic(values, fitted["whole"])


def rates(said: Sequence[tuple[float, bool]]) -> str:
    """Precision and recall at .5 in words."""
    hits = sum(p >= 0.5 and true for p, true in said)
    claimed, real = sum(p >= 0.5 for p, _ in said), sum(true for _, true in said)
    precision, recall = (numbers.score(hits / n if n else None, decimals=3) for n in (claimed, real))
    return f"n {len(said)}, precision {precision}, recall {recall}"


def report(answers: Sequence[Answer], stating: Sequence[str], held_out: Sequence[str]) -> None:
    """Log precision and recall on the styles ``held_out``, together and apart."""
    fitted = fit([a for a in answers if a.style not in held_out], stating)
    tested = [(a, probability(a, fitted)) for a in answers if a.style in held_out]
    for style in sorted({a.style for a, _ in tested}):
        _LOG.info("%s: %s", style, rates([(p, a.refusal) for a, p in tested if a.style == style]))
    _LOG.info("held out: %s", rates([(p, a.refusal) for a, p in tested]))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training.refusals", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--negatives", type=Path, nargs="*", default=[])
    parser.add_argument("--held-out", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path(workbench.language.__file__).parent)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    answers, stating = collection(options.folder), negatives(options.negatives)
    if strange := sorted(set(options.held_out) - {a.style for a in answers}):
        parser.error(f"no collection {', '.join(strange)}.txt in {options.folder}; name files, e.g. {answers[0].style}")
    for language in sorted({a.language for a in answers} & set(codes())):
        own = [a for a in answers if a.language == language]
        if options.held_out:
            report(own, stating[language], options.held_out)
        # A line for each coefficient, so that a change can be read.
        text = json.dumps(fit(own, stating[language]), ensure_ascii=False, indent=1)
        text = re.sub(r"\[\s+(-?[\d.e-]+),\s+(-?[\d.e-]+)\s+\]", r"[\1, \2]", text) + "\n"
        write_text(options.out / language / "refusal_model.json", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
