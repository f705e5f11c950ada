"""Fit the models of refusals for the embedded e5: ``python -m workbench.training.refusals_vectors tests/data/refusals``.

Takes the collection, the negatives and the options of :mod:`workbench.training.refusals`, whose words it is fitted
beside: the lexical judgement of each clause comes from a fit that has not seen its style. Writes
``coefficients/refusal_e5.json``; needs the e5 encoder and about four minutes. ``--held-out STYLE …`` first reports
precision and recall on styles left out, and ``--report`` on every style by turns, by words alone and with vectors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.refusals import ASKED, Clause, logistic, segments, with_log_odds
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.offline.models import E5_FILE, clause_vectors, pair_log_odds, pair_row
from workbench.evidence.offline.vectors import VectorStore
from workbench.training import refusals as words
from workbench.training.fit import E5_NAMES, SHIPPED
from workbench.training.refusals import Answer, Judged

_LOG = logging.getLogger("workbench.train")
_PENALTY, _NEGATIVE_WEIGHT, _ENCODED, _BATCH = 0.03, 0.3, 1200, 256
_PAIR_PENALTY = 10.0

Floats = NDArray[Any]


@dataclass(frozen=True)
class Vectors:
    """Rows of :func:`~workbench.evidence.offline.models.clause_vectors` by answer, one for each clause that states, and rows
    of :func:`~workbench.evidence.offline.models.pair_row` by question and answer."""

    answers: Mapping[str, Floats]
    stating: Floats
    pairs: Mapping[tuple[str, str], Floats]


def encoded(store: VectorStore, texts: Sequence[str]) -> dict[str, Floats]:
    """The rows of the clauses of each text."""
    found: dict[str, Floats] = {}
    order = sorted(set(texts), key=lambda text: (len(text), text))
    for at in range(0, len(order), _BATCH):
        fresh = store.get(order[at : at + _BATCH], "passage")
        found |= {text: clause_vectors(text, segments(text), vectors) for text, vectors in fresh.items()}
        _LOG.info("encoded %d of %d texts", len(found), len(order))
    return found


def vectors_of(store: VectorStore, answers: Sequence[Answer], stating: Sequence[str]) -> Vectors:
    """What the fits need of one language; of ``stating`` the command encodes ``_ENCODED`` clauses."""
    rows = encoded(store, [a.text for a in answers] + list(stating))
    asked = store.get(sorted({a.question for a in answers if a.question}), "query")
    d = store.encoder.dimension
    pairs = {
        (a.question, a.text): pair_row(rows[a.text][0, d:], asked[a.question].text) for a in answers if a.question
    }
    return Vectors(rows, np.array([rows[clause][0] for clause in stating if len(rows[clause])]), pairs)


def fit_head(answers: Sequence[Answer], vectors: Vectors) -> dict[str, Any]:
    """The softmax by vectors: ``intercept`` (2,) and ``weights`` (2, 2 d) against stating, for vectors as they are."""
    from sklearn.linear_model import LogisticRegression

    own = np.concatenate([vectors.answers[a.text] for a in answers])
    centre, scale = own.mean(axis=0), own.std()
    rows = (np.concatenate([own, vectors.stating]) - centre) / scale
    kinds = [words.KINDS.index(kind) for a in answers for kind in a.kinds] + [2] * len(vectors.stating)
    weight = np.concatenate([np.ones(len(own)), np.full(len(vectors.stating), _NEGATIVE_WEIGHT)])
    fitted = LogisticRegression(C=_PENALTY, max_iter=500, tol=1e-4).fit(rows, kinds, sample_weight=weight)
    weights = (fitted.coef_[:2] - fitted.coef_[2]) / scale
    level = fitted.intercept_[:2] - fitted.intercept_[2] - weights @ centre
    return {"intercept": level.round(4).tolist(), "weights": weights.round(4).tolist()}


def _with_head(lexical: Sequence[Judged], vectors: Vectors, head: Mapping[str, Any]) -> list[Judged]:
    level, weights = np.array(head["intercept"]), np.array(head["weights"])
    judged: list[Judged] = []
    for answer, clauses in lexical:
        more = vectors.answers[answer.text] @ weights.T + level
        judged.append((answer, [with_log_odds(c, *row) for c, row in zip(clauses, more.tolist(), strict=True)]))
    return judged


def left_out(lexical: Sequence[Judged], vectors: Vectors) -> list[Judged]:
    """``lexical``, itself fitted without each answer's style, with a head that was fitted without it as well."""
    judged: list[Judged] = []
    for out in words.style_folds([a for a, _ in lexical]):
        head = fit_head([a for a, _ in lexical if a.style not in out], vectors)
        judged += _with_head([pair for pair in lexical if pair[0].style in out], vectors, head)
    return judged


def fit_pair(answers: Sequence[Answer], vectors: Vectors) -> dict[str, Any]:
    """A plain logistic model of a refusal on the rows of answers whose question is known."""
    from sklearn.linear_model import LogisticRegression

    known = [a for a in answers if a.question]
    rows = np.array([vectors.pairs[a.question, a.text] for a in known])
    centre = rows.mean(axis=0)
    fitted = LogisticRegression(C=_PAIR_PENALTY, max_iter=2000).fit(rows - centre, [a.refusal for a in known])
    level = float(fitted.intercept_[0] - fitted.coef_[0] @ centre)
    return {"intercept": round(level, 4), "weights": fitted.coef_[0].round(4).tolist()}


def pairs_left_out(answers: Sequence[Answer], vectors: Vectors) -> dict[tuple[str, str], float]:
    """What the vectors say of each answer whose question is known, by a model fitted without its style."""
    said: dict[tuple[str, str], float] = {}
    for out in words.style_folds(answers):
        said |= pairs_by(
            fit_pair([a for a in answers if a.style not in out], vectors),
            [a for a in answers if a.style in out],
            vectors,
        )
    return said


def pairs_by(pair: Mapping[str, Any], answers: Sequence[Answer], vectors: Vectors) -> dict[tuple[str, str], float]:
    """The same by one model, see :meth:`~workbench.evidence.offline.models.RefusalModel.pair`."""
    weights = np.array(pair["weights"])
    keys = [(a.question, a.text) for a in answers if a.question]
    return {key: pair_log_odds(pair["intercept"], weights, vectors.pairs[key]) for key in keys}


def fit_ends(judged: Sequence[Judged], pairs: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """The models of what is left and of the answer as a whole."""
    rest = words.fit_rest(judged)
    known = [(answer, clauses) for answer, clauses in judged if answer.question]
    values = [_asked(answer, clauses, rest, pairs) for answer, clauses in known]
    asked = words.fit_logistic(values, [answer.refusal for answer, _ in known], (*ASKED, "pair"))
    return {"rest": rest, "whole": words.fit_whole(judged, rest), "asked": asked}


def _asked(answer: Answer, clauses: list[Clause], rest: Mapping[str, Any], pairs: Mapping[Any, float]) -> list[float]:
    return [*words.asked_of(answer, clauses, rest), pairs[answer.question, answer.text]]


def fit(lexical: Sequence[Judged], vectors: Vectors) -> dict[str, Any]:
    """All five models of one language."""
    answers = [a for a, _ in lexical]
    ends = fit_ends(left_out(lexical, vectors), pairs_left_out(answers, vectors))
    return {"clause": fit_head(answers, vectors), **ends, "pair": fit_pair(answers, vectors)}


def said(
    judged: Sequence[Judged], models: Mapping[str, Any], pairs: Mapping[tuple[str, str], float]
) -> list[tuple[str, float, bool]]:
    """The style of each answer, the probability of a refusal, and whether it is one."""
    found = []
    for answer, clauses in judged:
        if answer.question:
            p = logistic(_asked(answer, clauses, models["rest"], pairs), models["asked"])
        else:
            p = words.whole_probability(answer, clauses, models)
        found.append((answer.style, p, answer.refusal))
    return found


def report_held_out(answers: Sequence[Answer], stating: Sequence[str], vectors: Vectors, out: Sequence[str]) -> None:
    """Log the rates on the styles ``out`` of models fitted without them, by words alone and with vectors."""
    known, new = [a for a in answers if a.style not in out], [a for a in answers if a.style in out]
    lexical = words.left_out(known, stating)
    fitted = words.fit(known, stating)
    judged: list[Judged] = [(a, words.clauses_by(a, fitted["clause"])) for a in new]
    models = fit(lexical, vectors)
    alone = [(words.whole_probability(a, clauses, fitted), a.refusal) for a, clauses in judged]
    _LOG.info("held out, words: %s", words.rates(alone))
    both = said(_with_head(judged, vectors, models["clause"]), models, pairs_by(models["pair"], new, vectors))
    _LOG.info("held out, vectors: %s", words.rates([(p, true) for _, p, true in both]))


def report_by_turns(lexical: Sequence[Judged], vectors: Vectors) -> None:
    """Log the rates on clauses that were judged without their style: all styles, and each whose questions are known."""
    answers = [a for a, _ in lexical]
    judged, pairs = left_out(lexical, vectors), pairs_left_out(answers, vectors)
    found = said(judged, fit_ends(judged, pairs), pairs)
    _LOG.info("styles by turns: %s", words.rates([(p, true) for _, p, true in found]))
    for style in sorted({a.style for a in answers if a.question}):
        _LOG.info("  %s: %s", style, words.rates([(p, true) for name, p, true in found if name == style]))


def written(languages: Mapping[str, Any], dimension: int) -> str:
    """The file: JSON with a line for each row of numbers."""
    version = hashlib.sha256(json.dumps(languages, sort_keys=True).encode()).hexdigest()[:8]
    table = {"encoders": list(E5_NAMES), "dimension": dimension, "version": version, "languages": languages}
    text = json.dumps(table, indent=1)
    return re.sub(r"\[[^\[\]{}\"]+\]", lambda row: json.dumps(json.loads(row[0])), text) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training.refusals_vectors", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--negatives", type=Path, nargs="*", default=[])
    parser.add_argument("--held-out", nargs="*", default=[])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--out", type=Path, default=SHIPPED / E5_FILE)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    answers, stating = words.collection(options.folder), words.negatives(options.negatives)
    store = VectorStore(resolve_encoder("e5"), tokens=True)
    languages = {}
    for language in sorted({a.language for a in answers} & stating.keys()):
        own = [a for a in answers if a.language == language]
        vectors = vectors_of(store, own, stating[language][:_ENCODED])
        if options.held_out:
            report_held_out(own, stating[language], vectors, options.held_out)
        lexical = words.left_out(own, stating[language])
        if options.report:
            report_by_turns(lexical, vectors)
        languages[language] = fit(lexical, vectors)
    options.out.write_text(written(languages, store.encoder.dimension), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
