"""The repair plan: every fix carried out on the data at hand, what it mends and breaks, and what it is worth.

What contexts would hold is computed for every sample, passing ones included; what that does to answers is estimated
(:mod:`workbench.repair.estimate`) and never mixed with it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.diagnosis.causes import NOT_FAILING, RULES, advice, rule_of
from workbench.diagnosis.queries import types_of
from workbench.diagnosis.synonyms import SynonymTable
from workbench.errors import InputError
from workbench.evaluation import Evaluation
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.llm.budget import Price, price_of
from workbench.evidence.waiting import bar
from workbench.language import has_text, language_of, listed, numbers
from workbench.language import text as _t
from workbench.repair.documents import Chunking, Passage
from workbench.repair.estimate import UNKNOWN, AnswerModel, Gain
from workbench.repair.needs import Reader
from workbench.repair.retrieval import ALIKE, Progress, Retrieval, Simulator, prepared

#: Causes that a prompt can mend: each has a text ``repair.prompt.<cause>``.
PROMPTED = tuple(rule.name for rule in RULES if has_text(f"repair.prompt.{rule.name}"))
#: New chunks that are encoded without being asked to; more are ranked by words where those tell.
ENCODED = 3000
#: What a fix does to a sample.
EFFECTS = ("rescued", "broken", "better", "worse", "same", "untold")
#: Points (as a share) from which a fix is worth being taken though it mends no sample for certain.
WORTH = 0.005
#: Of the same fix in two strengths the cheaper one is taken unless the other gains this much more.
POINT = 0.02


@dataclass(frozen=True)
class Fix:
    """A change of how contexts are found.

    Attributes
    ----------
    name
        ``k``, ``bm25``, ``dense``, ``rrf``, ``weighted``, ``title``, ``synonyms``, ``tenants``, ``once``, ``retired``,
        ``added``, ``current``, ``rerank``, ``chunking``: names its texts ``repair.fix.<name>``.
    changes
        Attributes of :class:`~workbench.repair.retrieval.Retrieval`.
    values
        What fills its texts.
    documents
        Ids of the documents that it is about, where it is about some.
    """

    name: str
    changes: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Tells two fixes of one plan apart: ``k=10``, ``rrf``, ``chunking=sentence 256``."""
        shown = " ".join(str(value) for value in self.values.values())
        return f"{self.name}={shown}" if shown else self.name

    @property
    def title(self) -> str:
        """What a reader calls it, in the language in force."""
        named = {key: f"repair.{key}.{value}" for key, value in self.values.items()}
        values = {key: _t(named[key]) if has_text(named[key]) else value for key, value in self.values.items()}
        return _t(f"repair.fix.{self.name}", **values)

    def on(self, retrieval: Retrieval) -> Retrieval:
        """The retriever with this fix."""
        changes = dict(self.changes)
        if "ranking" in changes and changes.pop("keep_fusion", False) and retrieval.ranking in ("rrf", "weighted", "bm25"):
            del changes["ranking"]
        return dataclasses.replace(retrieval, **changes)


@dataclass(frozen=True)
class Repair:
    """One fix, carried out alone against today; ``marginal`` against the fixes ``taken`` above it.

    ``held``: what the contexts hold then (computed). ``rescued``: failing samples whose contexts are unsound today and
    sound then; ``broken``: passing ones that lose what they need, or get a leak. ``gain``, ``marginal``: estimated.
    ``tokens``: prompt tokens a question more than today; ``cost``: dollars per 1,000 questions more, ``latency``:
    milliseconds more; NaN unknown.
    """

    fix: Fix
    retrieval: Retrieval
    held: pd.DataFrame = field(repr=False)
    rescued: tuple[str, ...]
    broken: tuple[str, ...]
    gain: Gain
    tokens: float
    cost: float
    latency: float
    marginal: Gain = UNKNOWN
    taken: bool = False


class RepairPlan:
    """What each fix would bring; see :func:`repair_plan`.

    Attributes
    ----------
    repairs
        By estimated gain, best first.
    together
        All fixes that are taken, as one retriever.
    """

    def __init__(self, evaluation: Evaluation, simulator: Simulator, reader: Reader, fixes: Sequence[Fix], *,
                 price: Price | None = None, progress: Progress | None = None) -> None:  # fmt: skip
        self.evaluation, self.simulator, self.reader, self.price = evaluation, simulator, reader, price
        self.now = reader.held(simulator.contexts(Retrieval()))
        self.passed = evaluation.causes.inputs.failing.passed
        self.nothing = np.array([need.nothing for need in reader.needs])
        self.model = AnswerModel(self.now, self.passed, self.nothing, _kinds(evaluation))
        tell = progress or (lambda done, total: None)
        alone = []
        for done, fix in enumerate(fixes):
            tell(done, 2 * len(fixes))
            alone.append(self._carried_out(fix, Retrieval()))
        # A leak is a red line whatever it is worth in points.
        alone.sort(key=lambda r: (
            r.fix.name != "tenants", -np.nan_to_num(r.gain.mean), len(r.broken) - len(r.rescued), r.tokens
        ))  # fmt: skip
        self.together, self.repairs = Retrieval(), []
        held = self.now
        for done, repair in enumerate(alone):
            tell(len(fixes) + done, 2 * len(fixes))
            given = self._carried_out(repair.fix, self.together, held)
            cheaper = [r for r in alone if r.fix.name == repair.fix.name and r.tokens < repair.tokens - 1]
            nearly = any(np.nan_to_num(r.gain.mean) > np.nan_to_num(repair.gain.mean) - POINT
                         and len(r.rescued) >= len(repair.rescued) - POINT * len(self.now) for r in cheaper)  # fmt: skip
            taken = not nearly and self._is_worth(given, held)
            self.repairs.append(dataclasses.replace(repair, marginal=given.gain, taken=taken))
            if taken:
                self.together, held = given.retrieval, given.held
        self.held = held
        tell(2 * len(fixes), 2 * len(fixes))

    def _is_worth(self, given: Repair, before: pd.DataFrame) -> bool:
        """Whether a fix is taken: it ends a leak, mends more than it breaks, or does no harm and is worth half a point."""
        mended, broken, points = len(given.rescued), len(given.broken), np.nan_to_num(given.gain.mean)
        if (given.held["leaks"] > 0).sum() < (before["leaks"] > 0).sum():
            return True
        return (mended > broken and points >= 0) or (mended == broken and points >= WORTH)

    def _carried_out(self, fix: Fix, base: Retrieval, before: pd.DataFrame | None = None) -> Repair:
        retrieval = fix.on(base)
        held = self.held_by(retrieval)
        before = self.now if before is None else before
        effects = self._effects(before, held)
        ids = held.index.astype(str)
        tokens = float((held["tokens"] - self.now["tokens"]).mean()) * self._overhead
        return Repair(
            fix, retrieval, held, tuple(ids[effects == "rescued"]), tuple(ids[effects == "broken"]),
            self.model.gain(before, held), tokens,
            np.nan if self.price is None else self.price.cost(1000 * tokens, 0), tokens * self._pace,
        )  # fmt: skip

    def held_by(self, retrieval: Retrieval) -> pd.DataFrame:
        """What the contexts of a retriever hold, one row a sample (:data:`workbench.repair.needs.COLUMNS`)."""
        return self.reader.held(self.simulator.contexts(retrieval))

    def _effects(self, before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
        """(n,) one of :data:`EFFECTS`."""
        was, now = before["sound"].to_numpy(), after["sound"].to_numpy()
        chance = self.model.probabilities(after)[0] - self.model.probabilities(before)[0]
        found = np.full(len(was), "same", dtype=object)
        found[chance > 0.01] = "better"
        found[chance < -0.01] = "worse"
        found[np.isnan(was) | np.isnan(now)] = "untold"
        found[(was == 0) & (now == 1)] = "better"
        found[(was == 1) & (now == 0)] = "worse"
        found[(self.passed == 0) & (was == 0) & (now == 1)] = "rescued"
        found[(self.passed == 1) & (was == 1) & (now == 0)] = "broken"
        return found

    # -- cost -------------------------------------------------------------------------------------------------------

    @cached_property
    def _usage(self) -> pd.DataFrame:
        usage = [value if isinstance(value, Mapping) else {} for value in self.evaluation.evidence.nested("usage")]
        return pd.DataFrame({
            "prompt": pd.to_numeric(pd.Series([u.get("prompt_tokens") for u in usage]), errors="coerce"),
            "contexts": self.now["tokens"].to_numpy(), "latency": self.evaluation.evidence.number("latency_ms"),
        })  # fmt: skip

    @cached_property
    def _overhead(self) -> float:
        """Prompt tokens that the service counts for each that we estimate; 1 where it counts none."""
        return _slope(self._usage["contexts"], self._usage["prompt"], 0.3, 3.0, 1.0)

    @cached_property
    def _pace(self) -> float:
        """Milliseconds for each further prompt token, where the recording shows it; else NaN."""
        return _slope(self._usage["contexts"], self._usage["latency"], 0.0, np.inf, np.nan) / self._overhead

    # -- what is shown ----------------------------------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """One row a fix, best first, index ``key``.

        Computed: ``rescued``, ``broken`` (samples), ``recall``, ``context_recall`` (means), ``split``, ``leaks`` (samples
        with a key point cut at a chunk edge; with documents of others). Estimated:
        ``gain`` with ``low``, ``high``, and ``marginal`` given the fixes taken above, with its interval; all shares of all
        samples. ``taken``; ``tokens`` more a question, ``cost`` more per 1,000 questions in dollars, ``latency_ms`` more.
        """
        rows = [{
            "key": r.fix.key, "fix": r.fix.title, "rescued": len(r.rescued), "broken": len(r.broken),
            "recall": r.held["recall"].mean(), "context_recall": r.held["context_recall"].mean(),
            "split": int((r.held["split"] == 1).sum()), "leaks": int((r.held["leaks"] > 0).sum()),
            "gain": r.gain.mean, "low": r.gain.low, "high": r.gain.high,
            "marginal": r.marginal.mean, "marginal_low": r.marginal.low, "marginal_high": r.marginal.high,
            "taken": r.taken, "tokens": r.tokens, "cost": r.cost, "latency_ms": r.latency,
        } for r in self.repairs]  # fmt: skip
        return pd.DataFrame(rows, columns=None if rows else ["key"]).set_index("key")

    def matrix(self) -> pd.DataFrame:
        """Fixes (rows, by ``key``) × samples: what each does to each, one of :data:`EFFECTS`."""
        rows = {r.fix.key: self._effects(self.now, r.held) for r in self.repairs}
        return pd.DataFrame.from_dict(rows, orient="index", columns=self.now.index.astype(str), dtype=object)

    def repair(self, key: str) -> Repair:
        """The fix with that key. Raises ``KeyError``."""
        if key not in self.keys:
            raise KeyError(f"no fix {key!r}; there are {', '.join(self.keys)}")
        return next(r for r in self.repairs if r.fix.key == key)

    @property
    def keys(self) -> list[str]:
        """The keys of the fixes in order."""
        return [r.fix.key for r in self.repairs]

    def contexts(self, sample_id: str, key: str | None = None) -> list[Passage]:
        """The contexts of a sample: today's, or those that a fix gives."""
        retrieval = Retrieval() if key is None else self.repair(key).retrieval
        code = int(self.evaluation.evidence.ids.get_loc(sample_id))
        return self.simulator.contexts(retrieval)[code] or []

    @cached_property
    def total(self) -> Gain:
        """The estimated gain of all fixes taken, together."""
        return self.model.gain(self.now, self.held)

    @property
    def total_rescued(self) -> tuple[str, ...]:
        """Failing samples that the fixes taken mend together."""
        return tuple(self.now.index[self._effects(self.now, self.held) == "rescued"])

    @property
    def total_broken(self) -> tuple[str, ...]:
        """Passing samples that they break together."""
        return tuple(self.now.index[self._effects(self.now, self.held) == "broken"])

    def unreached(self) -> pd.DataFrame:
        """Failing samples that no fix here mends, alone or together: ``cause, layer, n, sample_ids, advice, prompt``.

        ``prompt``: whether there is a prompt to paste for it (:meth:`prompt`), whose effect only a replay can tell.
        """
        reached = {sample_id for r in self.repairs for sample_id in r.rescued} | set(self.total_rescued)
        by_cause: dict[str, list[str]] = {}
        for sample_id, name in zip(self.now.index.astype(str), self.evaluation.causes.names(), strict=True):
            if name not in NOT_FAILING and sample_id not in reached:
                by_cause.setdefault(str(name), []).append(sample_id)
        rows = [
            (name, rule.layer if (rule := rule_of(name)) else "", len(ids), ids, advice(name), name in PROMPTED)
            for name, ids in sorted(by_cause.items(), key=lambda item: -len(item[1]))
        ]
        return pd.DataFrame(rows, columns=["cause", "layer", "n", "sample_ids", "advice", "prompt"])

    def prompts(self) -> list[str]:
        """Causes among the failing samples, most frequent first, for which there is a prompt to paste."""
        counts = Counter(str(name) for name in self.evaluation.causes.names())
        return [name for name, _ in counts.most_common() if name in PROMPTED]

    def prompt(self, cause: str, language: str | None = None) -> str:
        """The prompt to paste for a cause; see :func:`prompt`."""
        return prompt(cause, language)

    @property
    def notes(self) -> list[str]:
        """What the plan rests on and what it cannot tell, in the language in force."""
        return [*_notes(self.simulator, self.reader), *self._notes()]

    def _notes(self) -> list[str]:
        if not self.evaluation.view.facts.set_has_answers:
            return [_t("repair.note.no_answers")]
        if not self.model.n_known:
            return []
        lines = [_t("repair.note.estimate", n=f"{self.model.n_known:,}")]
        most = self.model.most_distractors
        if any((r.held["distractors"] > most).any() for r in self.repairs):
            lines.append(_t("repair.note.depth", n=most))
        return lines

    def __repr__(self) -> str:
        taken = sum(r.taken for r in self.repairs)
        return f"RepairPlan({len(self.repairs)} fixes, {taken} taken, {len(self.total_rescued)} samples rescued)"

    def __str__(self) -> str:
        from workbench.repair.words import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from workbench.repair.words import headline, page, shown_table

        return page(headline(self), shown_table(self), self.notes)


def _slope(x: pd.Series, y: pd.Series, low: float, high: float, otherwise: float) -> float:
    """The slope of y over x where at least 20 pairs show one (p < .05) within the bounds."""
    from scipy.stats import linregress

    known = x.notna().to_numpy() & y.notna().to_numpy()
    if known.sum() < 20 or x[known].nunique() < 3:
        return otherwise
    found = linregress(x.to_numpy()[known], y.to_numpy()[known])
    return float(found.slope) if found.pvalue < 0.05 and low < found.slope < high else otherwise


def _kinds(evaluation: Evaluation) -> list[str]:
    """The kind of each question: its recorded ``case_type``, else the first type of its wording."""
    recorded = evaluation.evidence.plain("case_type")
    if any(isinstance(kind, str) for kind in recorded):
        return [kind if isinstance(kind, str) else "" for kind in recorded]
    return [min(types_of(str(question))) for question in evaluation.evidence.plain("question")]


# ------------------------------------------------------------------------------
# Which fixes there are for the data at hand.


def repair_plan(
    result: Evaluation | str | Path, corpus: Any = None, *, encoder: str | Encoder | None = None, documents: Any = None,
    synonyms: SynonymTable | str | Path | None = None, rerank: str | Sequence[str] = ("relevance",),
    fixes: Iterable[Fix] | None = None, price: float | str | None = None, progress: bool | Progress = True,
    cancel: Callable[[], bool] | None = None,
) -> RepairPlan:  # fmt: skip
    """For each fix: which failing samples it would mend, which passing ones it would break, what that is worth.

    Parameters
    ----------
    result
        An evaluation, or the folder of one.
    corpus
        The knowledge base, or anything that ``load_corpus`` reads; without one only the recorded lists can be changed.
    encoder
        A name, an object of the protocol, ``"none"`` for words alone; None = the embedded default.
    documents
        Whole documents (a folder of files, or what ``load_corpus`` reads): what chunking cuts, and where documents come
        from that are expected and not in the corpus.
    synonyms
        Accepted synonyms, as notebook 04 writes them.
    rerank
        ``"relevance"`` and folders of cross-encoders.
    fixes
        Instead of those that fit the data.
    price
        Dollars for a million prompt tokens, or the name of a model with a known price.
    progress
        True shows a bar; a callable gets ``(done, total)``.
    cancel
        Asked in between; when it turns true, ``CancelledError`` is raised.

    Returns
    -------
    RepairPlan
        ``.table()``, ``.matrix()``, ``.contexts(sample_id, key)``, ``.unreached()``, ``.prompts()``;
        printed, it is the plan in words.

    Raises
    ------
    InputError
        For anything that cannot be read.
    EncoderError
        When a named encoder cannot be loaded.

    Examples
    --------
    >>> plan = wb.repair_plan("evaluations/baseline", "corpus.jsonl", encoder="none")
    >>> "gain" in plan.table()
    True
    """
    table, known = _synonyms(synonyms), as_price(price)
    with bar(progress, "fix") as tell:
        simulator, reader = prepared(result, corpus, encoder=encoder, documents=documents, synonyms=table, cancel=cancel,
                                     progress=tell)  # fmt: skip
        names = [rerank] if isinstance(rerank, str) else list(rerank)
        chosen = list(fixes) if fixes is not None else default_fixes(simulator, reader, table, names)
        return RepairPlan(simulator.evaluation, simulator, reader, chosen, price=known, progress=tell)


def accepted_synonyms(session: Path | None) -> Path | None:
    """The synonyms that notebook 04 accepted in a session's folder, where there are some."""
    path = None if session is None else session / "synonyms.json"
    return path if path is not None and path.is_file() else None


def _synonyms(given: SynonymTable | str | Path | None) -> SynonymTable | None:
    if isinstance(given, (str, Path)) and not Path(given).is_file():
        raise InputError(f"{given}: no such file of synonyms; notebook 04 writes one")
    table = given if given is None or isinstance(given, SynonymTable) else SynonymTable(given)
    return table if table is not None and len(table) else None


def as_price(given: Price | float | str | None) -> Price | None:
    """A price from dollars for a million prompt tokens, or from the name of a model; raises ``InputError`` for one that has
    no known price."""
    if isinstance(given, str):
        if (known := price_of(given)) is None:
            raise InputError(f"price: none is known of the model {given!r}; give the dollars for a million prompt tokens")
        return known
    return given if given is None or isinstance(given, Price) else Price(float(given), 0.0)


def default_fixes(
    simulator: Simulator, reader: Reader, synonyms: SynonymTable | None = None, rerank: Sequence[str] = ("relevance",)
) -> list[Fix]:
    """The fixes that make sense for the data at hand."""
    usual, base = simulator.usual, simulator.base
    deepest = max((len(came) for came in simulator.recorded if came), default=0)
    depths = [k for k in dict.fromkeys((max(usual * 3 // 5, 1), 2 * usual, 4 * usual)) if k != usual]
    if not base.passages:
        depths = [k for k in depths if k <= deepest]
    found = [Fix("k", {"k": k}, {"k": k}) for k in depths]
    foreign = any(n > 0 for n in reader.held(simulator.contexts(Retrieval()))["leaks"])
    if foreign:
        found.append(Fix("tenants", {"tenants": True}))
    found.append(Fix("once", {"once": True}))
    if not base.passages:
        return found
    dense = base.index.encoder is not None
    found += [Fix(name, {"ranking": name}) for name in (("bm25", "dense", "rrf", "weighted") if dense else ("bm25",))]
    lexical = {"ranking": "rrf" if dense and simulator.nearest != "bm25" else "bm25", "keep_fusion": True}
    if any(base.index.titles):
        found.append(Fix("title", {**lexical, "title": 0.5, "section": 0.25}))
    if synonyms is not None:
        found.append(Fix("synonyms", {**lexical, "synonyms": True}, {"n": len(synonyms)}))
    if simulator.outdated:
        found.append(Fix("retired", {"retired": True}, {"n": len(simulator.outdated)}, tuple(sorted(simulator.outdated))))
    if simulator.missing:
        names = tuple(dict.fromkeys(str(p.source or p.doc_id) for p in simulator.missing))
        found.append(Fix("added", {"added": True}, {"n": len(names)}, names))
    if stale := simulator.stale:
        found.append(Fix("current", {"current": True}, {"n": len(stale)}, stale))
    found += [Fix("rerank", {"rerank": name}, {"model": Path(name).name}) for name in rerank]
    found += _chunkings(simulator)
    if all(came is None for came in simulator.recorded):  # nothing that could be changed
        return [fix for fix in found if {"ranking", "chunking"} & set(fix.changes)]
    return found


def _chunkings(simulator: Simulator) -> list[Fix]:
    """Other chunkings, where documents of several chunks can be put together and new chunks be ranked soon."""
    documents = simulator.documents
    if len(documents.documents) >= len(simulator.base.passages) and not simulator.whole:
        return []
    if simulator.unencoded(ENCODED):
        return []
    found = []
    for by, size, overlap in (("size", 128, 32), ("sentence", 256, 0), ("heading", 256, 0), ("parent", 64, 0)):
        chunking = Chunking(by, size, overlap, max(4 * size, 256))
        if by == "heading" and not any("\n#" in d.text or d.text.startswith("#") for d in documents.documents.values()):
            continue
        found.append(Fix("chunking", {"chunking": chunking}, {"by": by, "size": size}))
    return found


def _notes(simulator: Simulator, reader: Reader) -> list[str]:
    n, lines = len(reader.needs), []
    untold, silent = sum(not need.told for need in reader.needs), sum(came is None for came in simulator.recorded)
    if not simulator.base.passages:
        lines.append(_t("repair.note.no_corpus"))
    else:
        best = simulator.nearest
        key = "alike" if simulator.likeness[best] >= ALIKE else "unlike"
        share = numbers.percent(simulator.likeness[best])
        if silent < n:
            lines.append(_t(f"repair.note.{key}", ranking=_t(f"repair.ranking.{best}"), share=share))
        if simulator.base.index.encoder is None:
            lines.append(_t("repair.note.no_encoder"))
        if any(tenant is not None for tenant in simulator.base.index.tenants):
            lines.append(_t("repair.note.tenants"))
        if new := simulator.unencoded(ENCODED):
            lines.append(_t("repair.note.chunking", n=f"{new:,}"))
        if lost := sorted({doc_id for need in reader.needs for doc_id in need.expected if doc_id not in need.texts}):
            lines.append(_t("repair.note.missing", n=len(lost), docs=listed(lost[:5])))
    counts = {"untold": untold, "unrecorded": silent}
    return lines + [_t(f"repair.note.{name}", n=f"{m:,}", total=f"{n:,}") for name, m in counts.items() if m]


def prompt(cause: str, language: str | None = None) -> str:
    """A prompt to paste against one cause of failure, in ``language`` (default: the one in force).

    Raises ``InputError`` for a cause that no prompt mends.
    """
    if cause not in PROMPTED:
        raise InputError(f"no prompt mends {cause!r}; there are prompts for {', '.join(PROMPTED)}")
    return _t(f"repair.prompt.{cause}", language_of(language).code)
