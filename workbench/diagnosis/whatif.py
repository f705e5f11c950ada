"""What another k, hybrid fusion, or more weight for titles and sections would find, without indexing anything again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.schema import judgements
from workbench.diagnosis.missed import ExaminedMisses, entry_of
from workbench.evidence.corpus_index import CorpusIndex, Floats, Lexical, terms
from workbench.evidence.corpus_ranks import AHEAD, Found, as_corpus, with_ids

# ------------------------------------------------------------------------------
# The corpus as the recordings used it: documents that come far too often, and documents that never come.


#: A document is a hub when coming so often by chance, were all alike, has less than this probability …
CHANCE = 1e-3
#: … and it came to at least so many questions that did not expect it.
LEAST = 3


def hubs(evaluation: Any, corpus: Any = None) -> pd.DataFrame:
    """How often each document was among the first k contexts, most often first.

    Returns
    -------
    DataFrame
        Index ``doc_id``; ``n``: samples it came to; ``n_expected``: of them those that expect it; ``share`` of the
        samples with contexts; ``p_value``: Poisson probability of coming at least so often if all documents that came
        (of the corpus, where one is given) came equally often; ``hub``.
    """
    from scipy.stats import poisson

    evidence = evaluation.evidence if corpus is None else with_ids(evaluation.evidence, CorpusIndex(as_corpus(corpus), None))
    frame = evidence.contexts
    codes = evidence.codes(frame)
    keep = (frame["rank"] <= evaluation.thresholds.k).to_numpy() & frame["doc_id"].notna().to_numpy()
    came = pd.DataFrame({"code": codes[keep], "doc_id": frame["doc_id"][keep].to_numpy(dtype=object)}).drop_duplicates()
    expected = _expected(evidence)
    pairs = zip(came["code"], came["doc_id"], strict=True)
    came["expected"] = [doc_id in expected.get(code, ()) for code, doc_id in pairs]
    table = came.groupby("doc_id").agg(n=("code", "size"), n_expected=("expected", "sum"))
    total = len(as_corpus(corpus)) if corpus is not None else len(table)
    table["share"] = table["n"] / max(came["code"].nunique(), 1)
    table["p_value"] = poisson.sf(table["n"] - 1, len(came) / max(total, 1))
    table["hub"] = (table["p_value"] < CHANCE) & (table["n"] - table["n_expected"] >= LEAST)
    return table.sort_values(["n", "n_expected"], ascending=[False, True], kind="stable")


def never_retrieved(evaluation: Any, corpus: Any) -> pd.DataFrame:
    """Documents of the corpus that came to no sample at any recorded rank, in the order of the corpus.

    Returns
    -------
    DataFrame, index ``doc_id``; ``title, source, n_expected``: samples that expect it.
    """
    loaded = as_corpus(corpus)
    evidence = with_ids(evaluation.evidence, CorpusIndex(loaded, None))
    seen = set(evidence.contexts["doc_id"].dropna().astype(str))
    frame = loaded.frame
    names = frame.index.astype(str)
    keep = ~np.isin(names, list(seen))
    wanted = Counter(doc_id for ids in _expected(evidence).values() for doc_id in ids)
    columns = {
        "title": frame["title"][keep].to_numpy(dtype=object),
        "source": frame["source"][keep].to_numpy(dtype=object),
        "n_expected": [wanted[name] for name in names[keep]],
    }
    return pd.DataFrame(columns, index=pd.Index(names[keep], name="doc_id"))


def _expected(evidence: Any) -> dict[int, set[str]]:
    """Relevant expected documents of each sample."""
    return {
        code: {doc_id for item in judgements(value) or () if item.grade >= 1 for doc_id in item.doc_ids}
        for code, value in enumerate(evidence.nested("expected_docs"))
    }


# ------------------------------------------------------------------------------
# Other depths, fusion and weights.


#: The constant of reciprocal rank fusion (Cormack, Clarke & Büttcher 2009).
RRF = 60


def fused_rank(found: Found) -> int | None:
    """Rank of the document when the first ``AHEAD`` documents of both rankings are fused by reciprocal rank.

    Ties by the better of the two ranks. None when neither ranking has it that high, or there is no encoder.
    """
    if found.autopsy.dense_rank is None or found.place < 0:
        return None
    scores: dict[int, float] = {}
    for ranking in (found.dense[:AHEAD], found.bm25[:AHEAD]):
        for rank, place in enumerate(ranking.tolist(), start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (RRF + rank)
    mine = scores.get(found.place)
    return None if mine is None else 1 + sum(score > mine for score in scores.values())


def rescue_curve(examined: ExaminedMisses, k: int, deepest: int = 50) -> pd.DataFrame:
    """How many of the judgements missed at depth ``k`` each ranking would fetch, for every depth.

    Returns
    -------
    DataFrame, index ``depth`` 1 … ``deepest``; ``dense, bm25, hybrid``: counts of rescued judgements (of alternatives
    one is enough); ``n``: how many are missed and indexed. ``dense`` and ``hybrid`` are 0 without an encoder.
    """
    best: dict[tuple[int, int], list[float]] = {}
    for item in examined.at(k):
        if item.autopsy.indexed:
            mine = best.setdefault(entry_of(item), [np.inf] * 3)
            ranks = (item.autopsy.dense_rank, item.autopsy.bm25_rank, fused_rank(item))
            known = [np.inf if rank is None else float(rank) for rank in ranks]
            best[entry_of(item)] = [min(pair) for pair in zip(mine, known, strict=True)]
    table = np.array(list(best.values())).reshape(-1, 3)
    depths = np.arange(1, deepest + 1)
    counts = (table[:, None, :] <= depths[None, :, None]).sum(axis=0)
    frame = pd.DataFrame(counts, columns=["dense", "bm25", "hybrid"], index=pd.Index(depths, name="depth"))
    return frame.assign(n=len(best))


class Weighted:
    """BM25 with weights for the title and for the neighbouring chunks of a document (its section).

    Score = text + ``title`` · title + ``section`` · best neighbour, each from an index of its own, so that moving a
    weight needs no new index.
    """

    def __init__(self, index: CorpusIndex) -> None:
        self.index = index

    @cached_property
    def _titles(self) -> Lexical:
        known = {title: terms(title) for title in dict.fromkeys(self.index.titles)}  # the chunks of a document share one
        return Lexical([known[title] for title in self.index.titles], self.index.order)

    @cached_property
    def _neighbours(self) -> np.ndarray:
        """Places (n, 2) of the chunks before and after each one in its document, −1 without."""
        index = self.index
        at = {(s, int(p)): place for place, (s, p) in enumerate(zip(index.sources, index.positions, strict=True))
              if s is not None and p is not None}  # fmt: skip
        found = np.full((len(index), 2), -1)
        for (source, position), place in at.items():
            found[place] = at.get((source, position - 1), -1), at.get((source, position + 1), -1)
        return found

    def scores(self, question: str, title: float = 0.0, section: float = 0.0) -> Floats:
        """Weighted scores (n,) of all documents."""
        return self.scores_of(terms(question), title, section)

    def scores_of(self, query: list[str], title: float = 0.0, section: float = 0.0) -> Floats:
        """The same for a question given by its index terms."""
        text = self.index.lexical.scores(query)
        total = text.copy()
        if title:
            total += np.float32(title) * self._titles.scores(query)
        if section:
            padded = np.append(text, np.float32(0))
            total += np.float32(section) * padded[self._neighbours].max(axis=1)
        return total

    def ranks(self, found: Sequence[Found], title: float = 0.0, section: float = 0.0) -> list[int | None]:
        """Rank of each missed document under the weights; None when it is not in the corpus."""
        by_question: dict[str, Floats] = {}
        ranks: list[int | None] = []
        for item in found:
            question = item.miss.question
            if question not in by_question:
                by_question[question] = self.scores(question, title, section)
            scores = by_question[question]
            ranks.append(None if item.place < 0 else self.index.lexical.rank(scores, item.place))
        return ranks
