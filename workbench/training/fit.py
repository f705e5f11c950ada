"""Train the offline judge's coefficients on labelled sets: ``python -m workbench.training.fit --data FOLDER``.

Writes ``coefficients/e5.toml`` and ``coefficients/lexical.toml`` and reports, for each set and language, how the models
do on folds they were not trained on. Real data, pairs by phenomenon and perturbations are weighted 20 : 2 : 1 a set:
perturbations alone teach a model the generator. Run it again whenever a feature changes.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.diagnosis.statistics import auroc
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.offline import models, relevance
from workbench.evidence.offline.examination import UNTOLD
from workbench.evidence.offline.models import Logistic, load_coefficients, write_table
from workbench.evidence.offline.relations import RELATION
from workbench.language import codes
from workbench.training import rows
from workbench.training.rows import AskedRows, Example, Features, Table, joined, span_table, support_table

# ------------------------------------------------------------------------------
# How good calibrated probabilities are on labelled rows: the figures of the training report and its plot.


Numbers = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Paired bootstrap draws for the difference to the floor.
DRAWS = 1000


@dataclass(frozen=True)
class Report:
    """Figures of one set.

    ``auroc`` and the ``floor``'s; ``low`` and ``high`` bound their difference (95 %, paired bootstrap over groups);
    ``balanced``, ``f1`` at a cut of .5; ``brier``; ``calibration`` = expected calibration error over ten equal bins.
    """

    source: str
    n: int
    auroc: float
    floor: float
    low: float
    high: float
    balanced: float
    f1: float
    brier: float
    calibration: float

    HEADER = "set            n   AUROC  floor  difference       bal.acc  F1    Brier  ECE"

    def line(self) -> str:
        """One line of the report's table."""
        return (
            f"{self.source:<12} {self.n:>5}  {self.auroc:.3f}  {self.floor:.3f}  [{self.low:+.3f}, {self.high:+.3f}]"
            f"  {self.balanced:.3f}    {self.f1:.3f} {self.brier:.3f}  {self.calibration:.3f}"
        )


def report(source: str, labels: Bools, probabilities: Numbers, floor: Numbers, groups: NDArray[np.str_]) -> Report:
    """The figures of one set."""
    low, high = difference_interval(labels, probabilities, floor, groups)
    balanced, f1 = at_cut(labels, probabilities)
    return Report(
        source,
        len(labels),
        auroc(labels, probabilities),
        auroc(labels, floor),
        low,
        high,
        balanced,
        f1,
        float(np.mean((probabilities - labels) ** 2)),
        calibration_error(labels, probabilities),
    )


def at_cut(labels: Bools, probabilities: Numbers, cut: float = 0.5) -> tuple[float, float]:
    """(balanced accuracy, F1 of the positive class) at a cut; NaN where they are undefined."""
    said = probabilities >= cut
    hits = int((said & labels).sum())
    recall = hits / labels.sum() if labels.any() else float("nan")
    specificity = float((~said & ~labels).sum() / (~labels).sum()) if (~labels).any() else float("nan")
    total = int(said.sum() + labels.sum())
    return float((recall + specificity) / 2), 2 * hits / total if total else float("nan")


def calibration_error(labels: Bools, probabilities: Numbers, bins: int = 10) -> float:
    """Expected calibration error: mean gap of probability and frequency over equally wide bins, weighted by size."""
    bin_of = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = [
        abs(float(probabilities[bin_of == b].mean()) - float(labels[bin_of == b].mean())) * (bin_of == b).sum()
        for b in range(bins)
        if (bin_of == b).any()
    ]
    return float(sum(gaps) / len(labels))


def difference_interval(
    labels: Bools, scores: Numbers, floor: Numbers, groups: NDArray[np.str_], seed: int = 0
) -> tuple[float, float]:
    """95 % interval of auroc(scores) − auroc(floor), drawing whole groups with replacement."""
    random = np.random.default_rng(seed)
    names, of = np.unique(groups, return_inverse=True)
    ranks = [np.unique(values, return_inverse=True)[1] for values in (scores, floor)]
    differences = []
    for _ in range(DRAWS):
        drawn = np.bincount(random.integers(0, len(names), len(names)), minlength=len(names))[of].astype(np.float64)
        mine, other = (_drawn_auroc(labels, rank, drawn) for rank in ranks)
        differences.append(mine - other)
    low, high = np.nanpercentile(differences, [2.5, 97.5])
    return float(low), float(high)


def _drawn_auroc(labels: Bools, rank: NDArray[np.int64], drawn: Numbers) -> float:
    """:func:`auroc` of rows that are there ``drawn`` times each, by the rank of their scores: a draw costs microseconds."""
    right, wrong = np.bincount(rank, drawn * labels), np.bincount(rank, drawn * ~labels)
    pairs = right.sum() * wrong.sum()
    return float(right @ (np.cumsum(wrong) - wrong / 2) / pairs) if pairs else float("nan")


def calibration_plot(path: Path, series: Sequence[tuple[str, Bools, Numbers]]) -> None:
    """Reliability of each set as a PNG: frequency of supported against probability, ten bins."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for name, labels, probabilities in series:
        bin_of = np.minimum((probabilities * 10).astype(int), 9)
        filled = [b for b in range(10) if (bin_of == b).sum() >= 5]
        points = [(probabilities[bin_of == b].mean(), labels[bin_of == b].mean()) for b in filled]
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xlabel="probability", ylabel="share supported", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path, dpi=120)


# ------------------------------------------------------------------------------


_log = logging.getLogger("workbench.train")

Floats = NDArray[Any]

#: The folder of the coefficients that the package ships.
SHIPPED = Path(models.__file__).with_name("coefficients")

FOLDS = 10
#: Inverse strength of the penalty on standardised weights.
PENALTY = 0.03
#: Encoders that the coefficients of the embedded e5 hold for.
E5_NAMES = ("multilingual-e5-small-q4",)
#: Features of the support model: those that kept their sign and their use when others were left out.
LEXICAL_SUPPORT = (
    "token_cover", "gram_cover", "missing_mass", "number_missing", "name_altered", "sentence_worst", "sentence_missing",
    "personal",
    *(name for name in RELATION if name not in ("polarity_agrees", "exception_dropped", "disorder", "only_added", "edited")),
)  # fmt: skip
ALIGNMENT_SUPPORT = ("worst_name", "three_worst", "worst_relational", "three_worst_relational")
#: (rows, model) → the features of each model of relevance, None for all; the first is the floor in the report.
VARIANTS: dict[tuple[str, str], tuple[str, ...] | None] = {
    ("relevance", "relevance_question"): relevance.QUESTION,
    ("relevance", "relevance_reference"): (*relevance.QUESTION, *relevance.REFERENCE[:4]),
    ("relevance_across", "relevance_question_across"): ("similarity", "name_cover"),
    ("relevance_across", "relevance_reference_across"): ("similarity", "name_cover", "entail", "reference_names"),
    ("sentence", "sentence_question"): ("question_cover", "question_similarity", "length"),
    ("sentence", "sentence_reference"): None,
}
#: Questions of XQuAD used for the models of relevance, and for that of relevancy, in each language.
ASKED, REPLIES = 300, 400


def fit(values: Floats, labels: NDArray[np.bool_], weights: NDArray[np.float64], names: Sequence[str]) -> Logistic:
    """A logistic regression on standardised features with an L2 penalty."""
    from sklearn.linear_model import LogisticRegression

    center = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - center) ** 2, axis=0, weights=weights))
    scale = np.where(scale > 1e-9, scale, 1.0)
    model = LogisticRegression(C=PENALTY, max_iter=5000)
    model.fit((values - center) / scale, labels, sample_weight=weights)
    return Logistic(tuple(names), model.coef_[0].astype(np.float64), center, scale, float(model.intercept_[0]))


def fit_table(table: Table, names: Sequence[str] | None = None) -> Logistic:
    """A model on all rows of a table, on some of its features where ``names`` are given."""
    chosen = tuple(names or table.names)
    values = table.values[:, [table.names.index(name) for name in chosen]]
    return fit(values, table.labels, table.weights, chosen)


def cross_validated(table: Table, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """(n,) probabilities, each from a model that saw no row of the same group."""
    chosen = tuple(names or table.names)
    values = table.values[:, [table.names.index(name) for name in chosen]]
    folds = np.array([fold_of(group) for group in table.groups])
    result = np.full(len(table.labels), np.nan)
    for fold in np.unique(folds):
        test = folds == fold
        model = fit(values[~test], table.labels[~test], table.weights[~test], chosen)
        result[test] = model.probability(values[test], chosen)
    return result


def fold_of(group: str) -> int:
    """The fold of a group, the same in every run."""
    return int.from_bytes(hashlib.blake2b(str(group).encode(), digest_size=4).digest(), "little") % FOLDS


def word_overlap(example: Example) -> float:
    """The floor: share of the distinct words of the claim that stand in the text."""
    from workbench.data.text.words import words

    mine = set(words(example.claim))
    return len(mine & set(words(example.evidence))) / max(len(mine), 1)


#: The line before the figures that are kept with the coefficients.
MEASURED = "# Support on held-out folds of labelled sets; reports show it beside offline scores."
#: Sets whose figures are kept with the coefficients.
VALIDATED = ("wice", "begin", "xquad")

# ---------------------------------------------------------------- one file of coefficients


def train(
    folder: Path,
    encoder: str,
    out: Path,
    plot: Path | None = None,
    *,
    cache: Path | None = None,
    without_apart: bool = False,
    only: str = "",
) -> list[Report]:
    """Train all models for one encoder (``e5`` or ``none``), write their file, and return the report of support.

    ``cache``: a folder of kept encodings; ``without_apart``: leave the fifth of each set out that is kept apart;
    ``only``: ``support`` keeps the models of relevance and of two scripts as they are, ``relevancy`` all but that one.
    """
    features = Features(None if encoder == "none" else resolve_encoder(encoder), cache)
    kept = load_coefficients(None if encoder == "none" else E5_NAMES[0])
    if only == "relevancy":
        reports: list[Report] = []
        pairs = {**kept.random_pairs, **_relevancy(folder, features, reports)}
        _write(out, encoder, {**kept.models, **features.models}, pairs, reports)
        return reports
    examples = [
        *rows.wice(folder),
        *rows.begin(folder),
        *(e for code in codes() for e in rows.perturbed(folder, code)),
        *(e for code in codes() for e in rows.perturbed_more(folder, code)),
        *rows.nli(folder, rows.PER_FILE),
    ]
    if without_apart:
        examples = [example for example in examples if not rows.apart(example)]
    table, words = support_table(examples, features)
    names = LEXICAL_SUPPORT + (() if encoder == "none" else ALIGNMENT_SUPPORT)
    held_out = cross_validated(table, names) * _lowered(table)
    reports = _reports(table, held_out, np.array([word_overlap(example) for example in examples]))
    features.models["support"] = fit_table(table, names)
    unseen = rows.own_and_other(rows.clapnq(folder))
    other_table, other_words = support_table(unseen, features)
    probabilities = features.models["support"].probability(other_table.values, other_table.names).astype(np.float64)
    floor = np.array([word_overlap(example) for example in unseen])
    reports += _reports(other_table, probabilities * _lowered(other_table), floor, "unseen ")
    spans = span_table([*examples, *unseen], [*words, *other_words])
    features.models["span"] = fit_table(spans)
    reports += _reports(spans, cross_validated(spans), spans.values[:, 0].astype(np.float64), "words ")
    if only == "support":
        features.models = {**kept.models, **features.models}
        pairs = dict(kept.random_pairs)
    else:
        if encoder != "none":
            reports += _across(folder, features)
        pairs = _relevance(folder, features, reports) | _relevancy(folder, features, reports)
    _write(out, encoder, features.models, pairs, reports)
    if plot is not None:
        sources = np.unique(table.sources)
        calibration_plot(plot, [(s, table.labels[table.sources == s], held_out[table.sources == s]) for s in sources])
    return reports


def _lowered(table: Table) -> Floats:
    """(n,) what the judge leaves of the model's probability: less where a number of the claim stands nowhere."""
    return np.where(table.values[:, -1] > 0, UNTOLD, 1.0)


def _reports(table: Table, held_out: NDArray[np.float64], floor: NDArray[np.float64], prefix: str = "") -> list[Report]:
    found = []
    for source in dict.fromkeys(table.sources.tolist()):
        mine = table.sources == source
        if len(np.unique(table.labels[mine])) < 2:
            continue
        found.append(report(prefix + source, table.labels[mine], held_out[mine], floor[mine], table.groups[mine]))
    return found


def _across(folder: Path, features: Features) -> list[Report]:
    """Train support across two scripts into ``features.models``."""
    table, _ = support_table(rows.across(folder), features)
    names = [*ALIGNMENT_SUPPORT, "mean_alignment", "number_missing"]
    features.models["support_across"] = fit_table(table, names)
    return _reports(table, cross_validated(table, names), np.zeros(len(table.labels)), "across ")


def _relevance(folder: Path, features: Features, reports: list[Report]) -> dict[str, NDArray[np.float64]]:
    """Train the models of relevance into ``features.models``; returns the cosines of random pairs."""
    sets = [rows.clapnq(folder)] + [rows.some(rows.xquad(folder, code), ASKED) for code in codes()]
    tables_of = [AskedRows(features, asked) for asked in sets]
    found = [row.random_pairs() for row in tables_of]
    pairs = {key: np.mean([one[key] for one in found], axis=0) for key in found[0]}
    across = [AskedRows(features, rows.some(rows.xquad_across(folder, code), ASKED)) for code in codes()]
    unrelated = [row.random_pairs() for row in across]
    between = {key: np.mean([one[key] for one in unrelated], axis=0) for key in unrelated[0]}
    tables = {
        "relevance": joined([row.contexts(pairs) for row in tables_of]),
        "relevance_across": joined([row.contexts(between) for row in across]),
        "sentence": joined([row.sentences(pairs) for row in tables_of]),
    }
    for (name, variant), names in VARIANTS.items():
        table = tables[name]
        features.models[variant] = fit_table(table, names)
        floor = table.values[:, table.names.index((names or table.names)[0])].astype(np.float64)
        reports += _reports(table, cross_validated(table, names), floor, f"{variant} ")
    return pairs | {f"{key}_across": values for key, values in between.items() if key == "question_passage"}


def _relevancy(folder: Path, features: Features, reports: list[Report]) -> dict[str, NDArray[np.float64]]:
    """Train the model of relevancy into ``features.models``; returns the cosines of unrelated pairs."""
    sets = [rows.clapnq(folder)] + [rows.some(rows.xquad(folder, code), REPLIES) for code in codes()]
    made = [reply for asked in sets for reply in rows.replies(asked)]
    features.keep([text for r in made for text in (r.answer, *r.contexts)], [r.question for r in made])
    table, pairs = rows.replies_table(features, made)
    features.models["relevancy"] = fit_table(table)
    reports += _reports(table, cross_validated(table), table.values[:, 0].astype(np.float64), "relevancy ")
    return pairs


def _write(
    out: Path, encoder: str, models: dict[str, Logistic], pairs: dict[str, NDArray[np.float64]], reports: list[Report]
) -> None:
    method = "offline-lexical" if encoder == "none" else f"offline-{encoder}"
    body = "\n".join(write_table(name, models[name]) for name in sorted(models))
    cosines = [f"{key} = {[round(float(value), 4) for value in values]}" for key, values in sorted(pairs.items())]
    version = hashlib.blake2b(body.encode(), digest_size=4).hexdigest()
    head = [
        "# Coefficients of the offline judge, written by `python -m workbench.training.fit`; see support.py.",
        "# p = 1 / (1 + exp(-(intercept + sum of weight * (value - center) / scale)))",
        "",
        f'method = "{method}"',
        f'version = "{version}"',
        f"uses_tokens = {'false' if encoder == 'none' else 'true'}",
        f"encoders = {list(E5_NAMES) if encoder == 'e5' else []}".replace("'", '"'),
        "",
    ]
    if pairs:
        head += ["# Quantiles (0 %, 5 %, ... 100 %) of the cosines of unrelated pairs.", "[random_pairs]", *cosines, ""]
    measured = validation(reports)
    if "[validation" not in measured and out.exists():
        measured = "".join(out.read_text(encoding="utf-8").partition(MEASURED)[1:])
    out.write_text("\n".join(head) + "\n" + body + "\n" + measured, encoding="utf-8")


def validation(reports: Sequence[Report]) -> str:
    """The figures of support on held-out folds as TOML tables: what a report shows of how far to trust this judge."""
    lines = [MEASURED, ""]
    for one in reports:
        name, _, language = one.source.rpartition("-")
        if name in VALIDATED:
            lines += [f"[validation.{one.source}]", f'language = "{language}"', f"n = {one.n}", f"auroc = {one.auroc:.3f}",
                      f"word_overlap = {one.floor:.3f}", f"brier = {one.brier:.3f}", ""]  # fmt: skip
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the report goes to the log (standard error)."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training.fit", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with wice/, begin_wow/, clapnq/, xquad/")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="where the files go")
    parser.add_argument("--encoders", nargs="+", default=["none", "e5"], choices=["none", "e5"])
    parser.add_argument("--cache", type=Path, help="folder where encodings are kept between runs")
    parser.add_argument("--without-apart", action="store_true", help="leave out the fifth that is kept apart")
    parser.add_argument("--only", default="", choices=["support", "relevancy"], help="train that alone, keep the rest")
    parser.add_argument("--plot", type=Path, help="folder for calibration plots (PNG)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for encoder in options.encoders:
        name = "lexical" if encoder == "none" else encoder
        plot = None if options.plot is None else options.plot / f"calibration-{name}.png"
        reports = train(
            options.data,
            encoder,
            options.out / f"{name}.toml",
            plot,
            cache=options.cache,
            without_apart=options.without_apart,
            only=options.only,
        )
        _log.info("%s\n%s", name, Report.HEADER)
        for one in reports:
            _log.info("%s", one.line())
    return 0


if __name__ == "__main__":
    sys.exit(main())
