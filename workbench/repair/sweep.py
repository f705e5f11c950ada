"""k × chunking × ranking as a grid: how much of what is needed comes, for how many prompt tokens."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.errors import InputError
from workbench.evidence.waiting import bar
from workbench.repair.documents import Chunking
from workbench.repair.retrieval import Progress, Retrieval, prepared


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A grid of retrievers and what each brings.

    Attributes
    ----------
    frame
        ``ranking, chunking, k``; ``recall`` (mean share of what is needed that comes, in [0, 1]), ``complete`` (share of
        samples that get all of it), ``tokens`` (estimated, of the contexts of a question); ``efficient``: nothing else has
        as much recall for fewer tokens; ``knee``.
    today
        ``recall, complete, tokens`` of the recording; NaN where nothing was recorded.
    """

    frame: pd.DataFrame
    today: pd.Series

    def table(self) -> pd.DataFrame:
        """The grid."""
        return self.frame

    @property
    def knee(self) -> pd.Series | None:
        """Where more tokens begin to bring little; None where there is no such place."""
        found = self.frame[self.frame["knee"]]
        return None if found.empty else found.iloc[0]

    def _repr_html_(self) -> str:
        return self.frame.to_html(index=False, escape=True, float_format="%.3f", na_rep="–")


def sweep(
    result: Any, corpus: Any, *, k: Sequence[int] = (1, 2, 3, 5, 8, 12, 20), rankings: Sequence[str] | None = None,
    chunkings: Sequence[Chunking | None] = (None,), encoder: Any = None, documents: Any = None,
    progress: bool | Progress = True, cancel: Any = None,
) -> Sweep:  # fmt: skip
    """Recall and prompt tokens for every combination of k, chunking and ranking.

    Parameters
    ----------
    result, corpus, encoder, documents
        As for :func:`workbench.repair.plan.repair_plan`.
    k
        Depths, 1 or more.
    rankings
        Of ``recorded, bm25, dense, rrf, weighted``; default: BM25, and with an encoder dense and rrf.
    chunkings
        :class:`~workbench.repair.documents.Chunking`, or None for the chunks as they are.
    progress, cancel
        A bar or a callable that gets ``(done, total)``: texts while they are encoded, then cells of the grid; asked in
        between. A text is encoded once, ever.

    Raises
    ------
    InputError
        For unknown rankings, a depth below 1, or samples that do not say what they need.
    CancelledError
        When ``cancel()`` turned true; vectors that were made are kept.

    Examples
    --------
    >>> found = wb.sweep("evaluations/baseline", "corpus.jsonl", k=(3, 5, 10), encoder="none")
    >>> found.frame[["ranking", "k"]].to_numpy().tolist()
    [['bm25', 3], ['bm25', 5], ['bm25', 10]]
    """
    if not k or min(k) < 1:
        raise InputError(f"sweep: k={list(k)}; give depths of 1 or more")
    if corpus is None:
        raise InputError("sweep: give the knowledge base; without it nothing can be ranked")
    with bar(progress, "cell") as tell:
        simulator, reader = prepared(result, corpus, encoder=encoder, documents=documents, cancel=cancel, progress=tell)
        if not any(need.told and not need.nothing for need in reader.needs):
            raise InputError("sweep: no sample names expected documents or key points, so no recall can be computed")
        dense = simulator.base.index.encoder is not None
        names = list(rankings or (("bm25", "dense", "rrf") if dense else ("bm25",)))
        grid, rows = list(itertools.product(names, chunkings, sorted(set(k)))), []
        for done, (ranking, chunking, depth) in enumerate(grid):
            held = reader.held(simulator.contexts(Retrieval(ranking, k=depth, chunking=chunking)))
            rows.append((ranking, "" if chunking is None else str(chunking), depth, *_figures(held)))
            if tell is not None:
                tell(done + 1, len(grid))
    frame = pd.DataFrame(rows, columns=["ranking", "chunking", "k", *FIGURES])
    today = reader.held(simulator.contexts(Retrieval()))
    return Sweep(marked(frame), pd.Series(_figures(today), index=list(FIGURES)))


FIGURES = ("recall", "complete", "tokens")


def _figures(held: pd.DataFrame) -> tuple[float, float, float]:
    # Where points are known they say more than ids: a chunk that was cut elsewhere may hold half of what is needed.
    share = held["context_recall"].fillna(held["recall"])
    return float(share.mean()), float(held["complete"].mean()), float(held["tokens"].mean())


def marked(frame: pd.DataFrame) -> pd.DataFrame:
    """The grid with ``efficient`` and ``knee``: of the efficient cells the one farthest above the line from the first to
    the last, both axes scaled to [0, 1] (Satopää et al. 2011); none with fewer than three, or where none lies above."""
    order = frame.sort_values(["tokens", "recall"], ascending=[True, False], kind="stable")
    best = order["recall"].cummax().shift(fill_value=-np.inf)
    efficient = frame.index.isin(order.index[order["recall"] > best])
    front = order[order["recall"] > best]
    knee = np.zeros(len(frame), dtype=bool)
    if len(front) >= 3:
        x, y = (front[name].to_numpy() for name in ("tokens", "recall"))
        above = (y - y[0]) / (y[-1] - y[0]) - (x - x[0]) / (x[-1] - x[0])
        if above.max() > 0:
            knee = frame.index == front.index[int(above.argmax())]
    return frame.assign(efficient=efficient, knee=knee)
