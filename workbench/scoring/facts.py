"""What does not depend on any threshold, as flat arrays: computed once for an evaluation, shared by every slider move.

A sample's *code* is its position in the evaluation. Rows of claims, contexts and support carry the code of their
sample, so that every per-sample figure is one ``bincount``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.corpus import document_of
from workbench.data.schema import judgements
from workbench.evidence.frames import Evidence
from workbench.evidence.offline.answers import answer_right
from workbench.scoring.scored import INPUT_ERROR, JUDGE_ERROR, OK, SKIPPED

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Result = TypeVar("Result")

#: Parts of the evidence that a judge may lack; see ``SampleEvidence.missing``.
PARTS = ("claims", "support", "reference", "relevance", "sentences", "refusal", "relevancy", "similarity", "conflicts",
         "sampled_consistency")  # fmt: skip


@dataclass(frozen=True)
class Contexts:
    """All recorded contexts, one row each. ``stem`` is the code of the document a chunk belongs to, ``doc`` its own."""

    code: Ints
    rank: Ints
    prompted: Mask
    relevance: Floats
    similarity: Floats
    foreign: Mask
    failed: Mask


@dataclass(frozen=True)
class Claims:
    """Claims of one side (or key points), one row each, in the order of the frame.

    ``entail`` and ``contradict`` are the highest over the prompted contexts, stitched neighbours included (0 when there
    are no contexts); ``own_entail`` leaves stitched neighbours out; ``incomplete`` marks rows with a missing verdict
    that could change theirs. ``row`` is the position in the claims frame.
    """

    row: Ints
    code: Ints
    sentence: Ints
    entail: Floats
    contradict: Floats
    own_entail: Floats
    incomplete: Mask
    other_entail: Floats
    other_contradict: Floats
    severity: Ints

    def __len__(self) -> int:
        return len(self.code)


@dataclass(frozen=True)
class Support:
    """Claim × prompted context of one side; ``claim`` and ``context`` are rows of :class:`Claims`, :class:`Contexts`."""

    claim: Ints
    context: Ints
    entail: Floats
    contradict: Floats
    stitched: Floats


class Facts:
    """Threshold-independent arrays of one evaluation (see the module's docstring); those that are plain arrays are
    over samples."""

    def __init__(self, evidence: Evidence, whole: Facts | None = None) -> None:
        self.evidence = evidence
        self.n = len(evidence)
        self._whole = whole or self
        self._sides: dict[str, tuple[Claims, Support]] = {}
        self._kept: dict[Any, Any] = {}

    def one(self, code: int) -> Facts:
        """The facts of one sample, as part of its set; what is known of each sample is cut, not worked out again."""
        small = Facts(self.evidence.one(code), self._whole)
        small.__dict__.update({name: v[code : code + 1] for name, v in vars(self).items() if isinstance(v, np.ndarray)})
        if "contexts" in vars(self) and "entries" in vars(self):
            mine = self.entries[(self.entries["code"] == code).to_numpy()]
            first = mine["entry"].min() if len(mine) else 0
            rows = np.flatnonzero(self.contexts.code == code)
            small.__dict__["entries"] = mine.assign(code=0, entry=mine["entry"] - first).reset_index(drop=True)
            for key, found in self._kept.items():
                if isinstance(key, tuple) and key[0] == "matches":
                    own = found[(found["code"] == code).to_numpy()]
                    places = {"context": np.searchsorted(rows, own["context"]), "code": 0, "entry": own["entry"] - first}
                    small._kept[key] = own.assign(**places).reset_index(drop=True)
        return small

    @cached_property
    def set_has_answers(self) -> bool:
        """The set holds answers, so that a missing one is a failure of its sample."""
        return bool(self._whole.answered.any())

    @cached_property
    def set_has_outcomes(self) -> bool:
        """The set holds answers, or errors instead of them."""
        return self.set_has_answers or bool(self._whole.errors.any())

    # -- what was recorded ------------------------------------------------------------------------------------------

    def _written(self, name: str) -> Mask:
        return np.array([isinstance(text, str) and bool(text.strip()) for text in self.evidence.plain(name)], dtype=bool)

    @cached_property
    def answered(self) -> Mask:
        """The system returned an answer with something in it."""
        return self._written("answer")

    @cached_property
    def referenced(self) -> Mask:
        """There is a reference."""
        return self._written("reference")

    @cached_property
    def right(self) -> Floats:
        """Probability that the answer makes the point of its reference; NaN without either.

        Evaluations saved before it was kept are read anew: it needs the texts alone.
        """
        if "text_right" in self.evidence.samples:
            return self.evidence.number("text_right")
        plain = self.evidence.plain
        texts = zip(plain("question"), plain("answer"), plain("reference"), self.answered & self.referenced, strict=True)
        return np.array([answer_right(q, a, r).probability if both else np.nan for q, a, r, both in texts], dtype=float)

    @cached_property
    def recorded(self) -> Mask:
        """Contexts were recorded, perhaps none were retrieved."""
        return np.array([value is True for value in self.evidence.plain("contexts_recorded")], dtype=bool)

    @cached_property
    def errors(self) -> Mask:
        """The service reported an error."""
        return self._written("error")

    @cached_property
    def expect_refusal(self) -> Floats:
        """1 the right behaviour is to decline, 0 it is not, NaN unknown."""
        return np.array([np.nan if v is None else float(bool(v)) for v in self.evidence.plain("expect_refusal")])

    @cached_property
    def tenant(self) -> NDArray[np.object_]:
        """Tenant of each sample or None."""
        return self.evidence.plain("tenant")

    @cached_property
    def format_signs(self) -> Mask:
        """The answer shows a sign of a broken format."""
        return np.array([isinstance(sign, str) for sign in self.evidence.plain("text_format")], dtype=bool)

    @cached_property
    def _input_errors(self) -> dict[str, Mask]:
        masks: dict[str, Mask] = {}
        for code, problems in enumerate(self.evidence.nested("input_errors")):
            for name in problems or ():
                masks.setdefault(name, np.zeros(self.n, dtype=bool))[code] = True
        return masks

    def unreadable(self, *fields: str) -> Mask:
        """A field is present but could not be read."""
        masks = [self._input_errors[name] for name in fields if name in self._input_errors]
        return np.logical_or.reduce(masks) if masks else np.zeros(self.n, dtype=bool)

    def rows(self) -> list[dict[str, Any]]:
        """Each sample as a mapping of its fields, for metrics of the user's own."""
        from workbench.evidence.frames import restore

        return self.once("rows", lambda: restore(self.evidence, "samples").frame.to_dict("records"))

    # -- states of the judge's parts --------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> dict[str, tuple[Mask, Mask]]:
        """Of each part, where it was skipped and where it failed."""
        base = self.evidence.plain("judge_state")
        skipped = np.array([state is None or state == SKIPPED for state in base], dtype=bool)
        failed = np.isin(base, (JUDGE_ERROR, INPUT_ERROR))
        parts = {part: (skipped.copy(), failed.copy()) for part in PARTS}
        for code, missing in enumerate(self.evidence.nested("judge_missing")):
            for part, (state, _) in (missing or {}).items():
                if base[code] == OK and part in parts:
                    parts[part][state != SKIPPED][code] = True
        return parts

    def skipped(self, *parts: str) -> Mask:
        """Evidence of one of ``parts`` was never collected."""
        return np.logical_or.reduce([self._parts[part][0] for part in parts])

    def failed(self, *parts: str) -> Mask:
        """Evidence of one of ``parts`` was asked for and failed."""
        return np.logical_or.reduce([self._parts[part][1] for part in parts])

    def once(self, key: Any, compute: Callable[[], Result]) -> Result:
        """What ``compute`` returns, computed when ``key`` is first asked for: results that few thresholds change."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    # -- contexts ---------------------------------------------------------------------------------------------------

    @cached_property
    def contexts(self) -> Contexts:
        """Arrays over all recorded contexts."""
        frame = self.evidence.contexts
        code = self.evidence.codes(frame)
        tenant = frame["tenant"].to_numpy(dtype=object)
        known = frame["tenant"].notna().to_numpy()
        mine = self.tenant[code] if len(code) else tenant
        has_tenant = np.array([t is not None for t in mine], dtype=bool)
        return Contexts(
            code=code,
            rank=frame["rank"].to_numpy(dtype=np.int64),
            prompted=frame["prompted"].to_numpy(dtype=bool),
            relevance=frame["relevance"].to_numpy(dtype=float),
            similarity=frame["similarity"].to_numpy(dtype=float),
            foreign=known & has_tenant & (tenant != mine),
            failed=(frame["state"] == JUDGE_ERROR).to_numpy(dtype=bool),
        )

    @cached_property
    def n_contexts(self) -> Ints:
        """Prompted contexts of each sample."""
        return np.bincount(self.contexts.code[self.contexts.prompted], minlength=self.n)

    @cached_property
    def has_tenants(self) -> Mask:
        """The sample has a tenant, so that leaks can be told."""
        return np.array([tenant is not None for tenant in self.tenant], dtype=bool)

    # -- relevance judgements ---------------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> pd.DataFrame:
        """One row a judgement and alternative: ``code, entry`` (number over all samples)``, doc_id, grade``."""
        # Many samples expect the same documents: each list is read once.
        place, values = self.evidence.distinct("expected_docs")
        lists = [
            [(entry, doc_id, item.grade) for entry, item in enumerate(judgements(value) or ()) for doc_id in item.doc_ids]
            for value in values
        ]
        known = pd.DataFrame([row for rows in lists for row in rows], columns=["entry", "doc_id", "grade"])
        sizes = np.array([len(rows) for rows in lists], dtype=np.int64)
        firsts = np.concatenate([[0], np.cumsum(sizes)])
        there = np.flatnonzero(place >= 0)
        n = sizes[place[there]]
        within = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
        frame = known.iloc[np.repeat(firsts[place[there]], n) + within].reset_index(drop=True)
        frame.insert(0, "code", np.repeat(there, n))
        new = frame[["code", "entry"]].diff().ne(0).any(axis=1)  # entries of a sample stand in order
        frame["entry"] = new.cumsum() - 1
        return frame

    @cached_property
    def judged(self) -> Mask:
        """Relevance judgements are there and at least one is relevant: something is to be retrieved."""
        mask = np.zeros(self.n, dtype=bool)
        mask[self.entries.loc[self.entries["grade"] >= 1, "code"].to_numpy(dtype=int)] = True
        return mask

    @cached_property
    def expects_nothing(self) -> Mask:
        """Judged, and nothing is to be retrieved (``[]`` or all grades 0)."""
        place, values = self.evidence.distinct("expected_docs")
        present = np.array([value is not None for value in values], dtype=bool)
        return (place >= 0) & np.append(present, False)[place] & ~self.judged

    def matches(self, match: str) -> pd.DataFrame:
        """Contexts that a judgement names: ``context`` (row)``, code, rank, entry, grade``, best grade and first entry
        of each context. ``match="document"`` compares documents instead of chunks."""
        return self.once(("matches", match), lambda: self._matches(match))

    def _matches(self, match: str) -> pd.DataFrame:
        contexts = self.evidence.contexts
        names = _documents(contexts) if match == "document" else [contexts["doc_id"]]
        places = pd.DataFrame({
            "context": np.arange(len(contexts)), "code": self.contexts.code, "rank": self.contexts.rank,
        })  # fmt: skip
        right = self.entries.copy()
        if match == "document":
            right["doc_id"] = right["doc_id"].astype("str").map(document_of, na_action="ignore")
        # Documents by number: a text of a hundred thousand samples has many contexts, and few of them are expected.
        right["doc_id"], expected = pd.factorize(right["doc_id"])
        left = pd.concat([places.assign(doc_id=_numbered(name, expected)) for name in names])
        found = left[left["doc_id"] >= 0].merge(right, on=["code", "doc_id"])
        found = found.sort_values(["context", "grade", "entry"], ascending=[True, False, True], kind="stable")
        return found.drop_duplicates(["context", "entry"], ignore_index=True)

    # -- claims and support -----------------------------------------------------------------------------------------

    def claims(self, side: str) -> Claims:
        """Claims of ``side``: answer, reference, point or forbidden."""
        return self._side(side)[0]

    def support(self, side: str) -> Support:
        """Claim × prompted context of ``side``."""
        return self._side(side)[1]

    def _side(self, side: str) -> tuple[Claims, Support]:
        if side not in self._sides:
            self._sides[side] = self._build(side)
        return self._sides[side]

    @cached_property
    def _codes(self) -> tuple[Ints, Ints]:
        return self.evidence.codes(self.evidence.claims), self.evidence.codes(self.evidence.support)

    def _build(self, side: str) -> tuple[Claims, Support]:
        frame, cells = self.evidence.claims, self.evidence.support
        rows = np.flatnonzero((frame["side"] == side).to_numpy())
        rows = rows[np.argsort(self._codes[0][rows], kind="stable")]
        of_side = np.flatnonzero((cells["side"] == side).to_numpy())
        code = self._codes[0][rows]
        claim = _lookup(
            _key(code, frame["claim_id"].to_numpy()[rows]),
            _key(self._codes[1][of_side], cells["claim_id"].to_numpy()[of_side]),
        )
        ranks = _key(self._codes[1][of_side], cells["rank"].to_numpy()[of_side])
        context = _lookup(_key(self.contexts.code, self.contexts.rank), ranks)
        there = (claim >= 0) & (context >= 0)
        there[there] = self.contexts.prompted[context[there]]
        known = np.flatnonzero(there)
        if (np.diff(claim[known]) < 0).any():
            known = known[np.argsort(claim[known], kind="stable")]
        values = {
            name: cells[name].to_numpy()[of_side[known]].astype(float)
            for name in ("entail", "contradict", "stitched_entail", "stitched_contradict")
        }
        support = Support(
            claim=claim[known],
            context=context[known],
            entail=values["entail"],
            contradict=np.fmax(values["contradict"], values["stitched_contradict"]),
            stitched=values["stitched_entail"],
        )
        return _claims(frame.iloc[rows], rows, code, support), support

    @cached_property
    def citations(self) -> pd.DataFrame:
        """One row a citation: ``code``, ``sentence`` (-1 = the service's list, which has none), ``cited`` (row of the
        cited context, -1 = resolves to nothing)."""
        frame = self.evidence.claims
        chosen = (frame["side"] == "citation").to_numpy()
        rows, code = frame[chosen], self._codes[0][chosen]
        rank = rows["cited_rank"].to_numpy(dtype=np.int64)
        cited = _lookup(_key(self.contexts.code, self.contexts.rank), _key(code, rank))
        marked = (rows["start"] >= 0).to_numpy()
        return pd.DataFrame({
            "code": code, "sentence": np.where(marked, rows["sentence"].to_numpy(dtype=np.int64), -1),
            "cited": np.where(rank > 0, cited, -1),
        })  # fmt: skip

    @cached_property
    def cited_claims(self) -> pd.DataFrame:
        """One row for each citation and answer claim that it stands for: ``citation``, ``claim``, ``entail`` by the cited
        context (0 when it was not prompted, NaN when that verdict is missing). A mark stands for the claims of its
        sentence, a service's entry for all."""
        claims, support = self.claims("answer"), self.support("answer")
        cited = self.citations.assign(citation=np.arange(len(self.citations)))
        members = pd.DataFrame({"code": claims.code, "sentence": claims.sentence, "claim": np.arange(len(claims))})
        everywhere = members.assign(sentence=-1)
        pairs = cited.merge(pd.concat([members, everywhere]), on=["code", "sentence"])
        cells = pd.DataFrame({
            "claim": support.claim, "cited": support.context, "entail": np.fmax(support.entail, support.stitched),
        })  # fmt: skip
        joined = pairs.merge(cells, on=["claim", "cited"], how="left", indicator="cell")
        joined["entail"] = joined["entail"].mask(joined["cell"] == "left_only", 0.0)
        return joined[["citation", "claim", "entail"]]

    @cached_property
    def foreign(self) -> pd.DataFrame:
        """Foreign documents by place: ``code, doc, place`` (retrieved, prompted, cited, answered), no repetitions."""
        frame, contexts = self.evidence.contexts, self.contexts
        cited = np.zeros(len(frame), dtype=bool)
        rows = self.citations["cited"].to_numpy(dtype=np.int64)
        cited[rows[rows >= 0]] = True
        answered = frame["answer_share"].to_numpy(dtype=float) > 0
        places = {
            "retrieved": np.ones(len(frame), dtype=bool),
            "prompted": contexts.prompted,
            "cited": cited,
            "answered": answered,
        }
        parts = [
            self._foreign_contexts(contexts.foreign & where).assign(place=place) for place, where in places.items()
        ]
        for column, place in (("text_foreign_cited", "cited"), ("text_foreign_answered", "answered")):
            named = [(code, doc) for code, docs in enumerate(self.evidence.nested(column)) for doc in docs or ()]
            parts.append(pd.DataFrame(named, columns=["code", "doc"]).assign(place=place))
        return pd.concat(parts, ignore_index=True).astype({"code": "int64"}).drop_duplicates(ignore_index=True)

    def _foreign_contexts(self, chosen: Mask) -> pd.DataFrame:
        rows = self.evidence.contexts[chosen]
        name = rows["doc_id"].astype(object).where(rows["doc_id"].notna(), "rank " + rows["rank"].astype("str"))
        return pd.DataFrame({"code": self.contexts.code[chosen], "doc": name.to_numpy(dtype=object)})


#: Weight of each kind of word in an unsupported claim; see ``severity``.
_HIGH = ("number", "date", "absolute")


def _claims(frame: pd.DataFrame, rows: Ints, code: Ints, support: Support) -> Claims:
    n = len(rows)
    own, entail, contradict = np.zeros(n), np.zeros(n), np.zeros(n)
    np.fmax.at(own, support.claim, support.entail)
    np.fmax.at(entail, support.claim, np.fmax(support.entail, support.stitched))
    np.fmax.at(contradict, support.claim, support.contradict)
    missing = np.zeros(n, dtype=bool)
    missing[support.claim[np.isnan(support.entail) | np.isnan(support.contradict)]] = True
    missing |= (frame["state"] == JUDGE_ERROR).to_numpy(dtype=bool)
    kinds = frame["kinds"].fillna("")
    severity = np.where(kinds.str.contains("entity", regex=False), 1, 0)
    severity = np.where(kinds.str.contains("|".join(_HIGH)), 2, severity)
    return Claims(
        row=rows,
        code=code,
        sentence=frame["sentence"].to_numpy(dtype=np.int64),
        entail=entail,
        contradict=contradict,
        own_entail=own,
        # A missing verdict can be anything in [0, 1]; it changes nothing only where support is already certain.
        incomplete=missing & (entail < 1 - 1e-6),
        other_entail=frame["other_entail"].to_numpy(dtype=float),
        other_contradict=frame["other_contradict"].to_numpy(dtype=float),
        severity=severity.astype(np.int64),
    )


def _numbered(names: pd.Series, among: pd.Index) -> Ints:
    """The place of each name in ``among``; -1 for others, and where there is none."""
    code, distinct = pd.factorize(names)
    return np.append(among.get_indexer(distinct.astype(object)), -1)[code]


def _documents(contexts: pd.DataFrame) -> list[pd.Series]:
    """The names of each context's document: its id up to the last ``#``, and its ``source``."""
    stem = contexts["doc_id"].astype("str").map(document_of, na_action="ignore")
    return [stem.where(contexts["doc_id"].notna()), contexts["source"]]


def _key(code: NDArray, number: NDArray) -> Ints:
    return code.astype(np.int64) * (1 << 24) + number.astype(np.int64)


def _lookup(keys: Ints, wanted: Ints) -> Ints:
    """Position in ``keys`` (unique) of each ``wanted``, -1 where it is absent."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = None if (keys[1:] > keys[:-1]).all() else np.argsort(keys, kind="stable")  # frames are mostly in order
    found = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    found = found if order is None else order[found]
    return np.where(keys[found] == wanted, found, -1)
