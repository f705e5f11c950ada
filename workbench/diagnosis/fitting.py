"""A judge fitted to its user: the probabilities it gives, recalibrated by verdicts of the user's own.

Each part is a map from what the judge said to the probability that the user would say so: ``answer_right``, ``support``,
``refusal`` and ``relevance`` one number to one number, ``verdict`` several of them to whether the answer as a whole is
right. A map is used only where it does better than the judge as it is on labels that it was not fitted on; otherwise the
part is refused with the reason. Around one half lies a band of *unsure*, as wide as it must be for the verdicts outside it
to be wrong no more often than the user asks for.

Sources: Platt, Probabilistic outputs for support vector machines (1999); Zadrozny and Elkan, Transforming classifier scores
(2002); Angelopoulos, Bates, Fisch, Lei and Schuster, Conformal risk control (2022).
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.files import write_text
from workbench.diagnosis.calibration import RIGHT, UNSURE, WRONG, consensus, load_labels, scores_of
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.statistics import SEED, Z, auroc_interval, judge_corrected_mean, sigmoid, wilson
from workbench.errors import InputError
from workbench.evidence.frames import Evidence
from workbench.language import numbers
from workbench.language import text as _t
from workbench.scoring.groups.refusal import declining

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PARTS = ("verdict", "answer_right", "support", "refusal", "relevance")
#: Labels that a part takes, and of each kind; from so many on a map may have any rising shape.
NEEDED, EACH, ISOTONIC_FROM = 30, 5, 200
FOLDS, REPEATS = 5, 4
#: How strongly a map is drawn to the judge as it is: the inverse variance of the prior on each coefficient.
PULL = 1.0
#: The judge's log-odds count up to this size.
MOST = 5.0
#: Before any label, a sample that passes is right with odds of e^2.
TRUST = 2.0
#: What the verdict is told from, in the order of its weights.
SIGNS = ("passed", "answer_right", "support")


@dataclass(frozen=True)
class Part:
    """One part of a fitted judge.

    Attributes
    ----------
    method
        ``platt`` (``weights``, ``intercept`` over log-odds), ``isotonic`` (``x``, ``y``: knots, straight between them), or
        ``as it is`` where the map was refused.
    n, n_wrong
        Labels it was fitted on, and how many of them say no.
    before, after
        Agreement with the labels in [0, 1] of the judge as it is, and of the map on labels that it had not seen.
    gain
        By how much the map lowers the mean log loss on those labels; ``gain_error`` its standard error.
    reason
        Why the map was refused: ``not_better`` than the judge as it is, or ``tells_nothing``: here it does not tell
        right from wrong beyond chance (the interval of the AUROC reaches 0.5), and all is unsure; empty where it is used.
    doubt
        Half the width of the band: p is unsure where \\|p − 0.5\\| ≤ doubt; −1: never. NaN: no band can keep the rate.
    told, told_error
        On labels not seen: the share that is not unsure, and the share of wrong ones among these.
    """

    method: str
    n: int
    n_wrong: int
    before: float
    after: float
    gain: float = math.nan
    gain_error: float = math.nan
    reason: str = ""
    weights: tuple[float, ...] = ()
    intercept: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    doubt: float = math.nan
    told: float = math.nan
    told_error: float = math.nan

    def __call__(self, values: Any) -> Floats:
        """Probabilities in [0, 1] from the judge's own, (n,) or for the verdict (n, signs); NaN stays NaN."""
        given = np.asarray(values, dtype=float)
        if self.method == "isotonic":
            return np.interp(given, self.x, self.y)
        if self.method == "platt":
            rows = given if given.ndim == 2 else log_odds(given)[:, None]
            return sigmoid(rows @ np.array(self.weights) + self.intercept)
        return given

    def unsure(self, probabilities: Floats) -> Mask:
        """Where a probability lies in the band."""
        return np.abs(probabilities - 0.5) <= (np.inf if math.isnan(self.doubt) else self.doubt)


@dataclass(frozen=True)
class FittedJudge:
    """A judge as its user would have it; a small text file, see :meth:`save` and :func:`load_judge`.

    Attributes
    ----------
    name
        For titles and the manifest.
    judge
        Whose probabilities it maps, as in the manifest of an evaluation; it is applied to no other.
    spec
        How to name that judge to ``wb.evaluate``.
    error_rate
        The share of verdicts outside the band that may be wrong.
    parts, refused
        The parts that could be examined, and why the others could not.
    """

    name: str
    judge: str
    spec: str
    encoder: str
    error_rate: float
    labels: int
    evaluation: str
    parts: Mapping[str, Part]
    refused: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> pd.DataFrame:
        """Index ``part``; ``used`` (False: refused, with ``reason``), ``method, n, n_wrong, before, after, doubt, told,
        told_error``; see :class:`Part`."""
        rows = {name: {"used": not part.reason, **dataclasses.asdict(part)} for name, part in self.parts.items()}
        rows |= {name: {"used": False, "reason": reason} for name, reason in self.refused.items()}
        columns = ["used", "reason", "method", "n", "n_wrong", "before", "after", "doubt", "told", "told_error"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return frame.reindex([name for name in PARTS if name in rows]).rename_axis("part")

    def words(self) -> list[str]:
        """What was fitted, how much better it agrees, and what is unsure: a line for each part, in the language in force."""
        lines = [_t("fitting.head", name=self.name, labels=self.labels, judge=_spec(self.judge),
                    rate=numbers.percent(self.error_rate))]  # fmt: skip
        for name, part in self.parts.items():
            said: dict[str, Any] = {"n": part.n, "before": numbers.percent(part.before), "after": numbers.percent(part.after)}
            line = _t(f"fitting.{part.reason or 'used'}", part=_t(f"fitting.parts.{name}"), **said)
            if part.reason != "tells_nothing":
                line += _t("fitting.no_band") if math.isnan(part.doubt) else _t(
                    "fitting.band", unsure=numbers.percent(1 - part.told), wrong=numbers.percent(part.told_error))  # fmt: skip
            lines.append(line)
        return lines + [refusal_words(name, reason) for name, reason in self.refused.items()]

    @property
    def improves(self) -> bool:
        """Whether any map is used; otherwise only the bands are new."""
        return any(not part.reason for part in self.parts.values())

    @cached_property
    def hash(self) -> str:
        """Eight hex digits that change with any number of it."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()[:8]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without those that are empty or not known."""
        plain = {key: value for key, value in vars(self).items() if isinstance(value, (str, float, int))}
        parts = {name: {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(part).items()
                        if v not in ((), "") and v == v} for name, part in self.parts.items()}  # fmt: skip
        return {"fitted": {k: v for k, v in plain.items() if k != "hash"}, "refused": dict(self.refused), "parts": parts}

    def to_toml(self) -> str:
        """The file's text."""
        import tomlkit

        return tomlkit.dumps(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write it (atomically). Raises ``InputError`` where that cannot be done."""
        return write_text(path, self.to_toml())

    def verdicts(self, evaluation: Any) -> pd.DataFrame:
        """Index ``sample_id``; ``probability`` that the answer is right, ``verdict`` right, wrong, unsure, or None where the
        judge says nothing.

        Raises ``InputError`` where the verdict was not fitted, and for an evaluation by another judge.
        """
        self.check(evaluation.manifest)
        part = self.parts.get("verdict")
        if part is None:
            raise InputError(f"{self.name}: the verdict could not be fitted ({self.refused.get('verdict', 'no labels')})")
        p = self._right(evaluation)
        said = np.where(part.unsure(p), UNSURE, np.where(p >= 0.5, RIGHT, WRONG)).astype(object)
        said[np.isnan(p)] = None
        return pd.DataFrame({"probability": p, "verdict": said}, index=evaluation.evidence.ids)

    def _right(self, evaluation: Any) -> Floats:
        return _verdict(self.parts["verdict"], signs(evaluation))

    def check(self, manifest: Mapping[str, Any]) -> None:
        """Raise ``InputError`` unless an evaluation with this manifest is by the judge that was fitted, as it is."""
        if "fitted" in manifest:
            raise InputError(
                f"this evaluation was scored with a fitted judge already ({manifest['fitted'].get('name')}); "
                "use the one that it was made from"
            )
        own = str(manifest.get("judge") or "none")
        if own != self.judge:
            raise InputError(
                f"{self.name} was fitted to the judge {self.judge}; this evaluation is by {own}; fit it to labels of its own"
            )

    def applied(self, evaluation: Any) -> Evidence:
        """The evidence of an evaluation with the judge's probabilities mapped; everything else is shared.

        ``samples`` has the column ``judge_fitted_right`` where the verdict was fitted; the manifest names the fitted judge.
        Raises ``InputError`` as :meth:`check` does.
        """
        whole: Evidence = evaluation.evidence
        self.check(whole.manifest)
        facts = evaluation.view.facts
        samples, contexts, claims, support = (
            getattr(whole, name).copy() for name in ("samples", "contexts", "claims", "support")
        )
        if "verdict" in self.parts:
            samples["judge_fitted_right"] = self._right(evaluation)
        if (part := self._used("answer_right")) is not None:
            samples["text_right"] = part(facts.right)
            _follow_right(claims, whole, facts.right, part)
        if (part := self._used("refusal")) is not None:
            for name in {"judge_declines", "text_declines"} & set(samples):
                samples[name] = part(whole.number(name))
        if (part := self._used("relevance")) is not None:
            contexts["relevance"] = part(contexts["relevance"])
        if (part := self._used("support")) is not None:
            judged = support["side"].isin(["answer", "reference"]).to_numpy()  # key points are found or not
            for name in ("entail", "stitched_entail"):
                values = support[name].to_numpy(dtype=float, copy=True)
                values[judged] = part(values[judged])
                support[name] = values.astype(np.float32)
        plain = self.to_dict()
        fitted = plain.pop("fitted") | {"hash": self.hash} | plain
        manifest = whole.manifest | {"judge": f"{self.judge} fitted {self.hash}", "fitted": fitted}
        return Evidence(samples, contexts, claims, support, whole.questions, whole.rejected, manifest)

    def _used(self, name: str) -> Part | None:
        part = self.parts.get(name)
        return None if part is None or part.reason else part


def refusal_words(part: str, reason: str) -> str:
    """Why a part could not be fitted at all, from its code."""
    code, _, n = reason.partition(" ")
    return _t(f"fitting.{code}", part=_t(f"fitting.parts.{part}"), n=n, needed=NEEDED, each=EACH)


def fitted_in(manifest: Mapping[str, Any]) -> FittedJudge | None:
    """The fitted judge that an evaluation was scored with, from its manifest; None without one that can be read."""
    try:
        return _judge(manifest["fitted"], manifest["fitted"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _judge(named: Mapping[str, Any], content: Mapping[str, Any]) -> FittedJudge:
    given = content.get("parts", {})
    parts = {name: _part(given[name]) for name in PARTS if name in given}
    refused = {name: str(content.get("refused", {})[name]) for name in PARTS if name in content.get("refused", {})}
    kinds: dict[str, Any] = {"labels": int, "error_rate": float}
    names = [item.name for item in dataclasses.fields(FittedJudge)[:-2]]
    plain: dict[str, Any] = {name: kinds.get(name, str)(named[name]) for name in names}
    return FittedJudge(**plain, parts=parts, refused=refused)


def _part(values: Mapping[str, Any]) -> Part:
    kinds: dict[str, Any] = {"str": str, "int": int, "float": float}
    fields = [item for item in dataclasses.fields(Part) if item.name in values]
    # A field of another kind is a list of numbers.
    read = {item.name: kinds.get(str(item.type), lambda given: tuple(map(float, given))) for item in fields}
    return Part(**{name: make(values[name]) for name, make in read.items()})


def load_judge(path: str | Path) -> FittedJudge:
    """Read the file of a fitted judge.

    Raises
    ------
    InputError
        When it cannot be read or is none.

    Examples
    --------
    >>> wb.load_evaluation("evaluations/baseline").with_judge(wb.load_judge("judge.toml"))  # doctest: +SKIP
    """
    import tomllib

    try:
        content = tomllib.loads(Path(path).expanduser().read_text(encoding="utf-8-sig"))
        return _judge(content["fitted"], content)
    except OSError as error:
        raise InputError(f"{path}: the fitted judge cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: no fitted judge ({error}); give a file that wb.fit wrote") from error


# ---------------------------------------------------------------- what is fitted on


@dataclass(frozen=True)
class Labelled:
    """What the judge said (``said``: (n,) probabilities or (n, signs)), whether people say so (``right``), the judge's own
    verdict (``judged``, 1 or 0), and the question that each label belongs to, so that no fold knows the answer."""

    said: Floats
    right: Mask
    judged: Floats
    question: NDArray[np.object_]


def signs(evaluation: Any) -> Floats:
    """(n, 3) what the verdict is told from: passed (±1), the log-odds that the answer is right, those of its weakest claim;
    0 where there is none. A row of NaN where the judge says nothing at all."""
    facts = evaluation.view.facts
    passed = 2 * scores_of(evaluation, PASSED) - 1
    rows = np.column_stack([passed, log_odds(facts.right), log_odds(weakest(facts))])
    rows[np.isnan(rows[:, 0])] = np.nan
    known = ~np.isnan(rows[:, 0])
    rows[known] = np.nan_to_num(rows[known])
    return rows


def weakest(facts: Any) -> Floats:
    """(n,) support of the answer's claim that the contexts support least; NaN without claims or contexts."""
    claims = facts.claims("answer")
    least = np.full(facts.n, np.inf)
    np.fmin.at(least, claims.code, claims.entail)
    return np.where(np.isfinite(least) & facts.recorded, least, np.nan)


def labelled(evaluation: Any, verdicts: pd.DataFrame) -> dict[str, Labelled]:
    """The labels of each part, from verdicts on answers and, where ``about`` names one, on a claim, a context or whether
    the answer declines."""
    facts, ids, t = evaluation.view.facts, evaluation.evidence.ids, evaluation.thresholds
    questions = evaluation.evidence.plain("question")
    whole = consensus(verdicts)
    whole = whole[whole.index.isin(ids)].dropna()
    at, right = ids.get_indexer(whole.index), (whole == RIGHT).to_numpy(dtype=bool)
    found: dict[str, list[tuple[int, Any, bool, float]]] = {name: [] for name in PARTS}
    seen, passed, low = signs(evaluation), scores_of(evaluation, PASSED), weakest(facts)
    declines, expected = declining(evaluation.view)[0], facts.expect_refusal
    for place, good in zip(at.tolist(), right.tolist(), strict=True):
        if not np.isnan(passed[place]):
            found["verdict"].append((place, seen[place], good, passed[place]))
        if not np.isnan(facts.right[place]) and expected[place] != 1:
            found["answer_right"].append((place, facts.right[place], good, facts.right[place] >= t.answer_right))
        if not facts.referenced[place] and not np.isnan(low[place]):
            # Without a reference an answer is right as far as its weakest claim is: a rising map leaves that one weakest.
            found["support"].append((place, low[place], good, low[place] >= t.support))
        if not np.isnan(declines[place]) and (expected[place] == 1 or good):
            # A right answer declines exactly where that is expected; a wrong one where it is not may do either.
            refused = good if expected[place] == 1 else False
            found["refusal"].append((place, declines[place], refused, declines[place] >= t.refusal))
    claims, contexts = facts.claims("answer"), facts.contexts
    claim_numbers = evaluation.evidence.claims["claim_id"].to_numpy()[claims.row]
    for (sample_id, about), group in _single(verdicts):
        place, (kind, number) = int(ids.get_indexer([sample_id])[0]), _subject(about)
        good = bool(group[sample_id] == RIGHT)
        if place < 0:
            continue
        if kind == "refusal" and not np.isnan(declines[place]):
            found["refusal"].append((place, declines[place], good, declines[place] >= t.refusal))
        for part, own, owner, at_number, values, cut in (
            ("support", "claim", claims.code, claim_numbers, claims.entail, t.support),
            ("relevance", "context", contexts.code, contexts.rank, contexts.relevance, t.relevance),
        ):
            rows = np.flatnonzero((owner == place) & (at_number == number)) if kind == own else ()
            found[part] += [(place, values[i], good, values[i] >= cut) for i in rows if not np.isnan(values[i])]
    made = {}
    for name, labels in found.items():
        if labels:
            places, said, agreed, judged = zip(*labels, strict=True)
            made[name] = Labelled(np.array(said, dtype=float), np.array(agreed, dtype=bool), np.array(judged, dtype=float),
                                  questions[list(places)])  # fmt: skip
    return made


def _single(verdicts: pd.DataFrame) -> Any:
    """The verdicts on parts of samples: ``(sample id, about)`` and their consensus, those without one left out."""
    parts = verdicts[verdicts["about"] != ""]
    for key, rows in parts.groupby(["sample_id", "about"], sort=False):
        agreed = consensus(rows.assign(about="")).dropna()
        if len(agreed):
            yield key, agreed


def _subject(about: str) -> tuple[str, int]:
    kind, _, number = about.partition(" ")
    return kind, int(number or -1)


# ---------------------------------------------------------------- fitting


def fit(
    evaluation: Any, labels: Any, *, error_rate: float = 0.1, name: str | None = None, out: str | Path | None = None,
) -> FittedJudge:  # fmt: skip
    """Fit the judge of an evaluation to verdicts of your own.

    Parameters
    ----------
    evaluation
        An ``Evaluation``, scored with the judge as it is.
    labels
        Verdicts, as :func:`workbench.load_verdicts` reads; 30 are enough to start. ``about`` may name a claim, a context or
        the refusal; without it a verdict is on the answer.
    error_rate
        In (0, 1): how many of the verdicts that are not unsure may be wrong. It sets the band of unsure, and holds on average
        over sets of labels drawn at random where the judge can keep it at all; where it cannot, few labels may hide that.
    name, out
        The judge's name, and the file to write it to.

    Returns
    -------
    FittedJudge
        ``.summary()`` says what was fitted, by how much it agrees better on labels not seen, and what was refused and why;
        ``evaluation.with_judge(fitted)`` is the evaluation under it.

    Raises
    ------
    InputError
        For labels that cannot be read, an error rate out of range, or an evaluation by a judge that is fitted already.

    Examples
    --------
    >>> fitted = wb.fit(wb.load_evaluation("evaluations/baseline"), "verdicts.csv", error_rate=0.2)
    >>> fitted.parts["verdict"].n, fitted.refused["refusal"]
    (36, 'few 22')
    """
    if not 0 < error_rate < 1:
        raise InputError(f"fit: error_rate is {error_rate!r}; use a share between 0 and 1, such as 0.1")
    if "fitted" in evaluation.manifest:
        raise InputError("fit: this evaluation was scored with a fitted judge already; use the one that it was made from")
    judge = str(evaluation.manifest.get("judge") or "none")
    verdicts = load_labels(labels, evaluation.name)
    if len(verdicts) and not verdicts["sample_id"].isin(evaluation.evidence.ids).any():
        raise InputError(f"fit: none of the labelled samples ({verdicts['sample_id'].iloc[0]}, …) is in {evaluation.name}")
    parts, refused = {}, {}
    groups = labelled(evaluation, verdicts)
    for part in PARTS:
        group = groups.get(part)
        reason = "no_labels" if group is None else _lacking(group)
        if group is None or reason:
            refused[part] = reason
        else:
            parts[part] = _fitted(group, error_rate)
    fitted = FittedJudge(
        name=name or f"{evaluation.name}-fitted", judge=judge, spec=_spec(judge),
        encoder=str(evaluation.manifest.get("encoder") or "none"), error_rate=float(error_rate),
        labels=len(verdicts[["sample_id", "about"]].drop_duplicates()), evaluation=evaluation.name, parts=parts,
        refused=refused,
    )  # fmt: skip
    if out is not None:
        fitted.save(out)
    return fitted


def _spec(judge: str) -> str:
    """The name that ``wb.evaluate`` takes, from the one in a manifest."""
    if "llm:" in judge:
        return judge.partition(" at=")[0]
    return "offline" if judge.startswith("offline") else judge.partition("#")[0]


def _lacking(group: Labelled) -> str:
    n, yes = len(group.right), int(group.right.sum())
    if n < NEEDED:
        return f"few {n}"
    return f"one_sided {min(yes, n - yes)}" if min(yes, n - yes) < EACH else ""


def _fitted(group: Labelled, error_rate: float) -> Part:
    """The map of one part, used or refused, with its band."""
    prior = np.array([TRUST, *[0.0] * (len(SIGNS) - 1)]) if group.said.ndim == 2 else np.ones(1)
    rows = group.said if group.said.ndim == 2 else log_odds(group.said)[:, None]
    seen = {"platt": _held_out(group, lambda train: _platt(rows[train], group.right[train], prior), rows)}
    if group.said.ndim == 1 and len(group.right) >= ISOTONIC_FROM:
        seen["isotonic"] = _held_out(group, lambda train: _isotonic(group.said[train], group.right[train]), group.said)
    losses = {name: _loss(p, group.right) for name, p in seen.items()}
    method = min(losses, key=lambda name: float(losses[name].mean()))
    unseen = seen[method]
    # A verdict has no probability before the fit: its gain is measured against the judge's verdict alone, as well fitted.
    alone = (
        group.said if group.said.ndim == 1
        else _held_out(group, lambda train: _platt(rows[train][:, :1], group.right[train], prior[:1]), rows[:, :1])
    )  # fmt: skip
    difference = _loss(alone, group.right) - losses[method]
    gain, spread = float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(len(difference)))
    judged = group.judged == 1
    fixed = int(((unseen >= 0.5) == group.right)[judged != group.right].sum())
    broken = int(((unseen >= 0.5) != group.right)[judged == group.right].sum())
    # A judge that tells nothing here would only be moved to whatever these labels say most.
    reason = "" if auroc_interval(group.right, unseen).low > 0.5 else "tells_nothing"
    reason = reason or ("" if gain > spread and fixed - broken >= math.sqrt(fixed + broken) else "not_better")
    final = _platt(rows, group.right, prior) if method == "platt" else _isotonic(group.said, group.right)
    part = dataclasses.replace(
        final, n=len(group.right), n_wrong=int((~group.right).sum()), before=float((judged == group.right).mean()),
        after=float(((unseen >= 0.5) == group.right).mean()), gain=gain, gain_error=spread,
    )  # fmt: skip
    if reason:
        # A refused verdict still tells doubt: the weights are kept, the side is the judge's.
        part = dataclasses.replace(part, reason=reason, method=method if rows.shape[1] > 1 else "as it is")
        unseen = _sided(unseen, judged) if rows.shape[1] > 1 else group.said
    band: dict[str, Any] = {"told": 0.0} if reason == "tells_nothing" else _band(unseen, group.right, error_rate)
    return dataclasses.replace(part, **band)


def _verdict(part: Part, seen: Floats) -> Floats:
    p = part(seen)
    return _sided(p, seen[:, 0] > 0) if part.reason else p


def _sided(p: Floats, judged: Mask) -> Floats:
    """Probabilities on the judge's side of one half: where the map disagrees, as doubtful as can be."""
    return np.where(judged, np.fmax(p, 0.5), np.fmin(p, 0.5 - 1e-9)) + 0 * p


def _held_out(group: Labelled, make: Any, rows: Floats) -> Floats:
    """(n,) probabilities by maps that were fitted without the label's question, the mean over several cuts into folds."""
    codes, questions = pd.factorize(pd.Series(group.question, dtype=object))
    total = np.zeros(len(codes))
    rng = np.random.default_rng(SEED)
    for _ in range(REPEATS):
        fold = rng.permutation(len(questions))[codes] % FOLDS
        for number in range(FOLDS):
            test = fold == number
            if test.any():
                total[test] += make(~test)(rows[test])
    return total / REPEATS


def _platt(rows: Floats, right: Mask, prior: Floats) -> Part:
    """Logistic regression with a Gaussian prior around the judge as it is; the log-odds never lower the probability."""
    from scipy.optimize import minimize

    target = right.astype(float)

    def loss(point: Floats) -> tuple[float, Floats]:
        at = rows @ point[:-1] + point[-1]
        error = sigmoid(at) - target
        pulled = point - np.append(prior, 0.0)
        value = np.logaddexp(0, at).sum() - target @ at + PULL / 2 * pulled @ pulled
        return float(value), np.append(rows.T @ error, error.sum()) + PULL * pulled

    bounds = [(0.0 if len(prior) > 1 else 0.05, None)] * len(prior) + [(None, None)]
    found = minimize(loss, np.append(prior, 0.0), jac=True, bounds=bounds, method="L-BFGS-B").x
    return Part("platt", 0, 0, 0.0, 0.0, weights=tuple(round(float(v), 6) for v in found[:-1]),
                intercept=round(float(found[-1]), 6))  # fmt: skip


def _isotonic(said: Floats, right: Mask) -> Part:
    from sklearn.isotonic import IsotonicRegression

    # One label of each kind beyond the ends: no probability is certain.
    x, y = np.append(said, [0.0, 1.0]), np.append(right.astype(float), [0.0, 1.0])
    model = IsotonicRegression(y_min=1 / (len(y) + 1), y_max=len(y) / (len(y) + 1)).fit(x, y)
    x_knots, y_knots = (tuple(np.round(ends, 6).tolist()) for ends in (model.X_thresholds_, model.y_thresholds_))
    return Part("isotonic", 0, 0, 0.0, 0.0, x=x_knots, y=y_knots)


def _band(p: Floats, right: Mask, error_rate: float) -> dict[str, float]:
    """The narrowest band around one half outside which (errors + 1) / (labels + 1) ≤ ``error_rate``, and what it keeps.

    Conformal risk control of the loss told · (wrong − rate), which is at most 1 − rate: its mean over n labels and the worst
    further one is ≤ 0 exactly then. The loss does not fall with every step outwards, so a width counts only if all wider
    ones keep the rate too; those outside which the rate allows no error yet (its first is at 2 / rate) decide nothing.
    NaN where no band keeps the rate: too few labels, or too many errors at any distance.
    """
    distance, wrong = np.abs(p - 0.5), (p >= 0.5) != right
    widths = np.append(-1.0, np.unique(distance))
    told = distance > widths[:, None]
    errors, n = (told & wrong).sum(axis=1), told.sum(axis=1)
    keeps = errors + 1 <= error_rate * (n + 1) + 1e-9
    fails = np.flatnonzero(~keeps & (n + 1 >= 2 / error_rate))
    kept = np.flatnonzero(keeps & (np.arange(len(n)) > (fails[-1] if len(fails) else -1)))
    if not len(kept):
        return {"doubt": math.nan, "told": 0.0}
    at = int(kept[0])
    return {"doubt": float(widths[at]), "told": float(n[at] / len(p)), "told_error": float(errors[at] / n[at])}


def _loss(p: Floats, right: Mask) -> Floats:
    held = np.clip(p, 1e-3, 1 - 1e-3)
    return -np.log(np.where(right, held, 1 - held))


def log_odds(p: Any) -> Floats:
    """Log-odds of probabilities, at most :data:`MOST` either way; NaN stays NaN."""
    held = np.clip(np.asarray(p, dtype=float), 1e-9, 1 - 1e-9)
    found: Floats = np.clip(np.log(held / (1 - held)), -MOST, MOST)
    return found


def _follow_right(claims: pd.DataFrame, evidence: Evidence, right: Floats, part: Part) -> None:
    """The one claim of a reference that took over the probability of the answer keeps agreeing with it."""
    rows = np.flatnonzero((claims["side"] == "reference").to_numpy())
    code = evidence.codes(claims)[rows]
    value = claims["other_entail"].to_numpy(dtype=float, copy=True)
    same = (np.bincount(code, minlength=len(right))[code] == 1) & (np.abs(value[rows] - right[code]) < 1e-6)
    value[rows[same]] = part(value[rows[same]])
    claims["other_entail"] = value


# ---------------------------------------------------------------- what to label next, and the rate of right answers with it


#: What the judge says before any label, by weight of its signs: only to tell easy samples from close ones.
_BEFORE = Part("platt", 0, 0, 0.0, 0.0, weights=(TRUST, 0.5, 0.25))
#: Where close samples lie on that scale.
CLOSE = (0.3, 0.7)
GROUPS = ("wrong", "close", "right")


def groups_of(evaluation: Any) -> tuple[NDArray[np.int64], Floats]:
    """(n,) the group of each sample in ``GROUPS``, −1 where the judge says nothing; and the probability behind it.

    Groups rest on the judge as it is and never on labels, so that labels drawn at random within each group stand for it.
    """
    p = _BEFORE(signs(evaluation))
    return np.where(np.isnan(p), -1, np.digitize(p, CLOSE)), p


def suggest(evaluation: Any, labels: Any = (), n: int = 10, fitted: FittedJudge | None = None) -> pd.DataFrame:
    """The next samples whose verdict would teach most.

    The samples lie in three groups: the judge is sure that the answer is wrong, is sure that it is right, or it is close.
    Every second one is close. The others come from where the kind of verdict is that is still scarce (a fit takes both),
    afterwards from the group where one more narrows the rate of right answers most (Neyman allocation), so that what the
    judge is wrongly sure of shows. Within a group the order is
    random and fixed, so that the verdicts stand for their group: :func:`right_rate` weighs the groups by their size.

    Parameters
    ----------
    evaluation
        An ``Evaluation``.
    labels
        Verdicts there are already (see :func:`fit`).
    n
        How many.
    fitted
        A fitted judge, whose probabilities are used instead.

    Returns
    -------
    DataFrame
        Index ``sample_id``, in the order to be labelled; ``group`` (``wrong, close, right``), ``probability``.

    Examples
    --------
    >>> wb.suggest(wb.load_evaluation("evaluations/baseline"), n=3)["group"].tolist()
    ['close', 'right', 'close']
    """
    group, p = groups_of(evaluation)
    if fitted is not None and "verdict" in fitted.parts:
        p = fitted.verdicts(evaluation)["probability"].to_numpy(dtype=float)
    ids = evaluation.evidence.ids
    verdicts = load_labels(labels, evaluation.name)
    seen = ids.isin(verdicts.loc[verdicts["about"] == "", "sample_id"])
    right = ids.isin((human := consensus(verdicts)).index[human == RIGHT])
    order = np.random.default_rng(SEED).permutation(len(ids))
    waiting = [[i for i in order if group[i] == g and not seen[i]] for g in range(len(GROUPS))]
    size, done = np.zeros(len(GROUPS)), np.zeros(len(GROUPS))
    rates = np.zeros(len(GROUPS))
    for g in range(len(GROUPS)):
        own = group == g
        size[g], done[g] = own.sum(), (own & seen).sum()
        # The share of right ones, by the labels as far as there are any.
        rates[g] = ((own & right).sum() + 2 * (p[own].mean() if own.any() else 0.5)) / (done[g] + 2)
    chosen: list[int] = []
    close = GROUPS.index("close")
    kinds = np.array([(rates * done).sum(), ((1 - rates) * done).sum()])  # right ones and wrong ones so far, as expected
    while len(chosen) < n and any(waiting):
        there = np.array([bool(rows) for rows in waiting])
        worth = size**2 * rates * (1 - rates) / ((done + 1) * (done + 2))
        if kinds.min() < 2 * EACH:
            worth = 1 - rates if kinds[1] < kinds[0] else rates
        if there[close] and done[close] <= done.sum() / 2:
            worth = np.eye(len(GROUPS))[close]
        best = int(np.argmax(np.where(there, worth, -1.0)))
        kinds += [rates[best], 1 - rates[best]]
        chosen.append(int(waiting[best].pop(0)))
        done[best] += 1
    named = [GROUPS[group[i]] for i in chosen]
    return pd.DataFrame({"group": named, "probability": p[chosen]}, index=ids[chosen])


def right_rate(evaluation: Any, labels: Any, fitted: FittedJudge | None = None) -> pd.DataFrame:
    """The share of right answers over all samples, from the judge on all and people on some (prediction-powered).

    Parameters
    ----------
    evaluation, labels, fitted
        As for :func:`suggest`. Labels that it proposed, or drawn at random, stand for their group.

    Returns
    -------
    DataFrame
        Index ``judge`` (passed, as it is), ``people`` (labelled samples only), ``corrected``; columns ``share, low, high, n``
        (95 %). ``corrected`` is NaN with fewer than two labels; groups with fewer are taken together.

    Source: Fisch, Maynez, Hofer, Dhingra, Globerson and Cohen, Stratified prediction-powered inference (2024).

    Examples
    --------
    >>> wb.right_rate(wb.load_evaluation("evaluations/baseline"), "verdicts.csv")["n"].tolist()
    [80, 36, 80]
    """
    group, p = groups_of(evaluation)
    if fitted is not None and "verdict" in fitted.parts:
        p = fitted.verdicts(evaluation)["probability"].to_numpy(dtype=float)
    human = consensus(load_labels(labels, evaluation.name))
    said = human.reindex(evaluation.evidence.ids)
    known, right = said.notna().to_numpy() & (group >= 0), (said == RIGHT).to_numpy(dtype=bool)
    passed = scores_of(evaluation, PASSED)
    n_judged, good = int((~np.isnan(passed)).sum()), float(np.nansum(passed))
    counts = {"judge": (good, n_judged), "people": (float(right[known].sum()), int(known.sum()))}
    rows = {name: [k / n if n else math.nan, *wilson(k, n)[:2], n] for name, (k, n) in counts.items()}
    there = [g for g in range(len(GROUPS)) if (group == g).any()]
    if any((known & (group == g)).sum() < 2 for g in there):
        group, there = np.where(group >= 0, 0, -1), [0]
    mean = variance = 0.0
    for g in there:
        own, share = group == g, (group == g).sum() / max((group >= 0).sum(), 1)
        found = judge_corrected_mean(right[own & known], p[own & known], p[own & ~known], low=-1.0, high=2.0)
        mean += share * found.mean
        # Few labels that all agree show no spread of their own: at least what the probabilities expect.
        expected = float((p[own] * (1 - p[own])).mean()) / max(found.n, 1)
        variance += share**2 * max(((found.high - found.low) / (2 * Z)) ** 2, expected)
    half = Z * math.sqrt(variance) if variance == variance else math.nan
    ends = [float(np.clip(value, 0, 1)) for value in (mean, mean - half, mean + half)] if there else [math.nan] * 3
    rows["corrected"] = [*ends, int((group >= 0).sum())]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["share", "low", "high", "n"])
    return frame.astype({"n": int}).rename_axis("way")
