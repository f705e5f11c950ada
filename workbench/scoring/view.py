"""What a metric declares, the view of evidence and thresholds that it is computed from, and the tables of its evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.evidence.frames import Evidence
from workbench.scoring.facts import Claims, Facts
from workbench.scoring.scored import (
    INPUT_ERROR,
    JUDGE_ERROR,
    NOT_APPLICABLE,
    OK,
    SKIPPED,
    UNDEFINED,
    Floats,
    Mask,
    Scored,
    count,
)

if TYPE_CHECKING:
    import pandas as pd

    from workbench.scoring.thresholds import Thresholds

# ---------------------------------------------------------------- a metric is declared in one place

#: A group computes several metrics at once from a view, by name at the depth in force.
Group = Callable[["View"], Mapping[str, Scored]]


@dataclass(frozen=True)
class Metric:
    """Everything that is known of one metric; its name and reading in each language stand in ``texts/metrics.toml``.

    Attributes
    ----------
    name
        As in frames; ``{k}`` stands for the depth in force.
    formula
        In the symbols of the metric table: S, R, X, A, v, e, c, n, m, T, D.
    needs
        Fields or parts of the evidence; without one of them it is not applicable (fields) or skipped (parts).
    undefined
        When the fields are there and it still has no value.
    group
        Metrics that are explained together.
    low, high
        The range; ``high`` is infinity for counts and rates per 100 tokens.
    higher_is_better
        None where neither direction is good in itself.
    binary
        0 or 1 for a sample: its mean is a rate with a Wilson interval.
    source
        Paper or tool that the formula comes from.
    default
        Part of the default set.
    layer
        The part of the system that it speaks about: ``access, index, retrieval, generation, service``; empty for the whole.
    read_from
        ``judge`` (its value is what a judge said), or what it is an exact reading of: ``ids``, ``texts``, ``ids and texts``,
        ``own function``.
    on_relevance
        It rests on the relevance of contexts, which was judged by the reference or else by the question.
    bounded
        What the number of relevant documents R does to it. ``depth``: at most min(R, k) / k. ``relevant``: at most
        min(R, k) / R. ``ideal``: the best order is divided by. The last two have no meaning under silver labels, which know
        only what was retrieved.
    target, low_score
        Defaults of ``Thresholds.targets`` and ``Thresholds.low_scores``; None: no target, the common low score.
    low_fails
        A sample with a low score fails.
    in_report, in_overview, begin_with
        Its place in the first table of the report (0: in the appendix); whether the table over several runs has it; its
        place among the metrics that a panel begins with (0: none).
    has_level
        Whether a high mean is expected of a good system. It is not of shares of the contexts: k of them are fetched, and
        one may be enough.
    compute
        What computes it, with the others of its group.
    """

    name: str
    formula: str
    needs: tuple[str, ...]
    undefined: str = ""
    group: str = "own"
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool | None = True
    binary: bool = False
    source: str = ""
    default: bool = True
    layer: str = ""
    read_from: str = "judge"
    on_relevance: bool = False
    bounded: str = ""
    target: float | None = None
    low_score: float | None = None
    low_fails: bool = False
    in_report: int = 0
    in_overview: bool = False
    begin_with: int = 0
    has_level: bool = True
    compute: Group | None = None

    @property
    def base(self) -> str:
        """The name without its depth."""
        return self.name.partition("@")[0]

    @property
    def best(self) -> float:
        """The best possible value, or NaN where there is none."""
        return float("nan") if self.higher_is_better is None else self.high if self.higher_is_better else self.low


# ---------------------------------------------------------------- from probabilities to verdicts: the one rule for claims

SUPPORTED, CONTRADICTED, UNSURE, NOT_MENTIONED, MISSING = range(5)

#: Names of the codes above.
VERDICTS = ("supported", "contradicted", "unsure", "not_mentioned", "missing")

#: Names of severity codes 0, 1, 2.
SEVERITIES = ("low", "medium", "high")

Verdicts = NDArray[np.int8]


def verdict(entail: NDArray, contradict: NDArray, t: Thresholds) -> Verdicts:
    """Verdict of each claim from its highest ``entail`` and ``contradict``, both in [0, 1]; NaN entail = missing.

    supported if e ≥ support and e ≥ c; contradicted if c ≥ contradiction and c > e; unsure if
    max(e, c) ≥ support − unsure_band; else not mentioned.
    """
    e, c = np.asarray(entail, dtype=float), np.nan_to_num(np.asarray(contradict, dtype=float))
    found = np.full(len(e), NOT_MENTIONED, dtype=np.int8)
    found[np.fmax(e, c) >= t.support - t.unsure_band] = UNSURE
    found[(c >= t.contradiction) & (c > e)] = CONTRADICTED
    found[(e >= t.support) & (e >= c)] = SUPPORTED
    found[np.isnan(e)] = MISSING
    return found


def severity(claims: Claims, verdicts: Verdicts) -> NDArray[np.int64]:
    """How serious each hallucinated claim is: 2 high (contradicts, or an unsupported number, date or absolute),
    1 medium (names an entity), 0 low; −1 for claims that are supported, unsure or missing."""
    level = np.where(verdicts == CONTRADICTED, 2, claims.severity)
    return np.where(np.isin(verdicts, (CONTRADICTED, NOT_MENTIONED)), level, -1)


# ---------------------------------------------------------------- the view

Result = TypeVar("Result")


class View:
    """Facts under thresholds: verdicts and per-context relevance, computed once for all metrics of one setting."""

    def __init__(self, facts: Facts, thresholds: Thresholds) -> None:
        self.facts = facts
        self.t = thresholds
        self.n = facts.n
        self._done: dict[Any, Any] = {}

    def under(self, thresholds: Thresholds) -> View:
        """The view under other thresholds; one that moves only low scores or targets computes no metric again."""
        moved = View(self.facts, thresholds)
        if thresholds.reading == self.t.reading:
            moved._done = self._done
        return moved

    def once(self, compute: Callable[[View], Result]) -> Result:
        """What ``compute`` makes of this view, computed when first asked for. Arrays of it have one element a sample."""
        if compute not in self._done:
            self._done[compute] = compute(self)
        found: Result = self._done[compute]
        return found

    def one(self, code: int) -> View:
        """The view of one sample alone; what was computed for all of them is cut, not computed again."""
        small = View(self.facts.one(code), self.t)
        small._done = {compute: _cut(result, code) for compute, result in self._done.items()}
        return small

    # -- the conditions of a metric, for ``with_states`` --------------------------------------------------------------

    def fields(self, *names: str) -> list[tuple[Mask, str]]:
        """Where one of the fields could not be read, was not recorded, or is an answer that is missing."""
        facts = self.facts
        absent = np.zeros(self.n, dtype=bool)
        absent |= ~facts.referenced if "reference" in names else False
        absent |= ~facts.recorded if "contexts" in names else False
        silent = [(~facts.answered, UNDEFINED)] if "answer" in names else []
        return [(facts.unreadable(*names), INPUT_ERROR), (absent, NOT_APPLICABLE), *silent]

    def judged(self, broken: Floats | Mask, *parts: str) -> list[tuple[Mask, str]]:
        """Where a part of the evidence was never asked for, failed, or has a gap (``broken``, by sample)."""
        return [(self.facts.skipped(*parts), SKIPPED), (self.facts.failed(*parts) | (broken > 0), JUDGE_ERROR)]

    # -- claims and contexts ------------------------------------------------------------------------------------------

    @cached_property
    def answer(self) -> Claims:
        """Answer claims."""
        return self.facts.claims("answer")

    @cached_property
    def reference(self) -> Claims:
        """Reference claims."""
        return self.facts.claims("reference")

    @cached_property
    def points(self) -> Claims:
        """Key points."""
        return self.facts.claims("point")

    def _against_contexts(self, claims: Claims) -> Verdicts:
        return verdict(claims.entail, claims.contradict, self.t)

    def _against_other(self, claims: Claims) -> Verdicts:
        return verdict(claims.other_entail, claims.other_contradict, self.t)

    @cached_property
    def answer_verdicts(self) -> Verdicts:
        """Answer claims against the contexts."""
        return self._against_contexts(self.answer)

    @cached_property
    def answer_other(self) -> Verdicts:
        """Answer claims against the reference."""
        return self._against_other(self.answer)

    @cached_property
    def reference_verdicts(self) -> Verdicts:
        """Reference claims against the contexts."""
        return self._against_contexts(self.reference)

    @cached_property
    def reference_other(self) -> Verdicts:
        """Reference claims against the answer."""
        return self._against_other(self.reference)

    @cached_property
    def has_points(self) -> Mask:
        """Per sample: there are key points."""
        return count(self.points.code, np.ones(len(self.points), dtype=bool), self.n) > 0

    @cached_property
    def relevant(self) -> Mask:
        """v: each recorded context is relevant (and prompted)."""
        contexts = self.facts.contexts
        return contexts.prompted & (contexts.relevance >= self.t.relevance)

    @cached_property
    def expected(self) -> Mask:
        """Each recorded context is (one alternative of) a relevant expected document."""
        found = self.facts.matches(self.t.match)
        mask = np.zeros(len(self.facts.contexts.code), dtype=bool)
        mask[found.loc[found["grade"] >= 1, "context"].to_numpy(dtype=int)] = True
        return mask

    @cached_property
    def cited(self) -> tuple[Floats, Mask]:
        """Whether each citation supports its sentence, and whether each answer claim has a supporting citation.

        A citation that resolves to nothing supports nothing; one whose sentence makes no claim, or that a missing verdict
        leaves open, is left out (NaN). A mark supports its sentence when it supports one of its claims; an entry of the
        service's own list, which has no sentence, when it supports any claim.
        """
        cited, pairs = self.facts.citations, self.facts.cited_claims
        citation, claim = pairs["citation"].to_numpy(dtype=np.int64), pairs["claim"].to_numpy(dtype=np.int64)
        hit = pairs["entail"].to_numpy(dtype=float) >= self.t.support
        result = np.full(len(cited), np.nan)
        result[citation] = 0
        result[citation[np.isnan(pairs["entail"])]] = np.nan
        result[citation[hit]] = 1
        result[cited["cited"].to_numpy(dtype=np.int64) < 0] = 0
        backed = np.zeros(len(self.answer), dtype=bool)
        backed[claim[hit]] = True
        return result, backed


def _cut(result: Any, code: int) -> Any:
    """The part of one sample in what :meth:`View.once` keeps."""
    if isinstance(result, Mapping):
        return {name: _cut(part, code) for name, part in result.items()}
    if isinstance(result, Scored):
        return Scored(result.values[code : code + 1], result.states[code : code + 1])
    return result[code : code + 1]


# ---------------------------------------------------------------- evidence as the public tables of an evaluation

SIDES = ("answer", "reference")
_SPAN = ("start", "end", "text", "kind", "support")


def claim_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, text, start, end, verdict, support, contradiction, best_doc_id, other_verdict,
    other_support, other_contradiction, severity, state, reason``; a verdict is null where its evidence is missing."""
    import pandas as pd

    parts = [
        _claims(view, "answer", view.answer, view.answer_verdicts, view.answer_other),
        _claims(view, "reference", view.reference, view.reference_verdicts, view.reference_other),
    ]
    return pd.concat(parts, ignore_index=True)


def _claims(view: View, side: str, claims: Claims, against: Verdicts, other: Verdicts) -> pd.DataFrame:
    import pandas as pd

    rows = view.facts.evidence.claims.iloc[claims.row]
    unread = claims.incomplete | ~view.facts.recorded[claims.code]
    verdicts = np.asarray([*VERDICTS[:4], None], dtype=object)
    levels = np.asarray([*SEVERITIES, None], dtype=object)
    level = severity(claims, against) if side == "answer" else np.full(len(claims), -1)
    return pd.DataFrame({
        "sample_id": rows["sample_id"].astype("str").to_numpy(),
        "side": side,
        "claim_id": rows["claim_id"].to_numpy(),
        "text": rows["text"].to_numpy(),
        "start": rows["start"].to_numpy(),
        "end": rows["end"].to_numpy(),
        "verdict": _blanked(verdicts[against], unread),
        "support": np.where(unread, np.nan, claims.entail),
        "contradiction": np.where(unread, np.nan, claims.contradict),
        "best_doc_id": _best_documents(view, side, against),
        "other_verdict": verdicts[other],
        "other_support": claims.other_entail,
        "other_contradiction": claims.other_contradict,
        "severity": _blanked(levels[level], unread),
        "state": np.where(claims.incomplete, JUDGE_ERROR, OK),
        "reason": rows["reason"].to_numpy(),
    })  # fmt: skip


def _blanked(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """``values`` (objects) with None where ``where`` holds."""
    result = values.copy()
    result[where] = None
    return result


def best_contexts(view: View, side: str, against: Verdicts) -> np.ndarray:
    """Per claim, the row of the context that decides its verdict (contradicts it, else supports it best), −1 without."""
    support = view.facts.support(side)
    n = len(against)
    contradicted = against[support.claim] == CONTRADICTED
    value = np.where(contradicted, support.contradict, np.fmax(support.entail, support.stitched))
    order = np.lexsort([-view.facts.contexts.rank[support.context], np.nan_to_num(value), support.claim])
    best = np.full(n, -1, dtype=np.int64)
    best[support.claim[order]] = support.context[order]
    return best


def _best_documents(view: View, side: str, against: Verdicts) -> np.ndarray:
    names = view.facts.evidence.contexts["doc_id"].astype(object)
    documents = [*names.where(names.notna(), None).tolist(), None]
    return np.array(documents, dtype=object)[best_contexts(view, side, against)]


def context_rows(view: View) -> pd.DataFrame:
    """``sample_id, rank, doc_id, relevance, similarity, expected, leaked, used, state``, then what was recorded of each:
    ``text, title, score, tenant, source, position, prompted, reason``."""
    import pandas as pd

    frame, facts = view.facts.evidence.contexts, view.facts
    support = facts.support("answer")
    used = np.zeros(len(frame), dtype=bool)
    used[support.context[np.fmax(support.entail, support.stitched) >= view.t.support]] = True
    front = pd.DataFrame({
        "sample_id": frame["sample_id"].astype("str"), "rank": frame["rank"], "doc_id": frame["doc_id"],
        "relevance": frame["relevance"], "similarity": frame["similarity"],
    })  # fmt: skip
    marks = {"expected": view.expected, "leaked": facts.contexts.foreign, "used": used, "state": frame["state"]}
    rest = frame[["text", "title", "score", "tenant", "source", "position", "prompted", "reason"]]
    return pd.concat([front.assign(**marks), rest], axis=1)


def support_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, rank, entail, contradict, span_start, span_end, state`` and the stitched values."""
    frame = view.facts.evidence.support
    chosen = frame[frame["side"].isin(SIDES)]
    first = ["sample_id", "side", "claim_id", "rank", "entail", "contradict", "span_start", "span_end", "state"]
    table = chosen[[*first, "stitched_entail", "stitched_contradict"]].reset_index(drop=True)
    return table.astype({"sample_id": "str", "side": "str", "state": "str"})


def span_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, start, end, text, kind, support``.

    Raises ``InputError`` when the column ``spans`` of a saved evaluation is damaged.
    """
    import pandas as pd

    frame = view.facts.evidence.claims
    chosen = frame[frame["side"].isin(SIDES) & frame["spans"].notna()]
    columns = (chosen["sample_id"].astype("str"), chosen["side"].astype("str"), chosen["claim_id"], chosen["spans"])
    rows = [
        (sample_id, side, claim_id, *span)
        for sample_id, side, claim_id, spans in zip(*(column.tolist() for column in columns), strict=True)
        for span in _spans_of(spans)
    ]
    return pd.DataFrame(rows, columns=["sample_id", "side", "claim_id", *_SPAN])


def _spans_of(text: str) -> list[tuple[Any, ...]]:
    try:
        return [tuple(span[name] for name in _SPAN) for span in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"claims.parquet: column spans is damaged ({error}); score the recording again") from error


def error_rows(evidence: Evidence) -> pd.DataFrame:
    """``sample_id, state, reason`` of everything that could not be read or judged."""
    import pandas as pd

    rows: list[tuple[str, str, str]] = []
    states, reasons = evidence.plain("judge_state"), evidence.plain("judge_reason")
    missing, unread = evidence.nested("judge_missing"), evidence.nested("input_errors")
    for code, sample_id in enumerate(evidence.ids.tolist()):
        if states[code] in (JUDGE_ERROR, INPUT_ERROR):
            rows.append((sample_id, states[code], reasons[code] or "the judge gave no reason"))
        found = {why: state for state, why in (missing[code] or {}).values() if state in (JUDGE_ERROR, INPUT_ERROR)}
        rows += [(sample_id, state, why) for why, state in found.items()]
        rows += [(sample_id, INPUT_ERROR, f"{name}: {why}") for name, why in (unread[code] or {}).items()]
    return pd.DataFrame(rows, columns=["sample_id", "state", "reason"], dtype="str")
