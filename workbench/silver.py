"""Silver labels: where nobody judged relevance, the retrieved contexts that support the reference stand in for it.

They say which of what was retrieved is useful and how early it came. They cannot say what was not retrieved at all: a
recall from them is 1 by construction, which is why ``recall@k`` and what divides by all relevant documents are left out.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from workbench.evaluation import Evaluation
from workbench.evidence.frames import encode
from workbench.scoring.verdicts import SUPPORTED

if TYPE_CHECKING:
    import pandas as pd

#: Samples whose relevance judgements are silver carry True in this column of ``samples``.
COLUMN = "silver"


def silver_labels(evaluation: Evaluation) -> pd.DataFrame:
    """``sample_id, rank, doc_id, support``: contexts that support a claim of the reference, in samples without
    ``expected_docs``; ``support`` in [0, 1] is the highest over the claims."""
    import pandas as pd

    view, facts = evaluation.view, evaluation.view.facts
    support, contexts = facts.support("reference"), facts.contexts
    supported = view.reference_verdicts[support.claim] == SUPPORTED
    free = ~(facts.judged | facts.expects_nothing)[contexts.code[support.context]]
    hit = supported & free & (np.nan_to_num(support.entail) >= view.t.support)
    best = pd.Series(support.entail[hit]).groupby(support.context[hit]).max()
    rows = best.index.to_numpy(dtype=np.int64)
    frame = facts.evidence.contexts.iloc[rows]
    return pd.DataFrame({
        "sample_id": facts.evidence.ids.to_numpy()[contexts.code[rows]], "rank": contexts.rank[rows],
        "doc_id": frame["doc_id"].to_numpy(), "support": best.to_numpy(),
    })  # fmt: skip


def with_silver_labels(evaluation: Evaluation) -> Evaluation:
    """The same evaluation with silver labels as relevance judgements where there are none.

    They are marked: ``method`` in the summary says for how many samples, and the samples carry ``silver``. Contexts
    without an id cannot be labelled.
    """
    labels = silver_labels(evaluation).dropna(subset=["doc_id"])
    by_sample = labels.groupby("sample_id", sort=False)["doc_id"].agg(list)
    samples = evaluation.evidence.samples.copy()
    expected = samples["expected_docs"].astype(object).where(samples["expected_docs"].notna(), None)
    expected.loc[by_sample.index] = [encode(list(dict.fromkeys(docs))) for docs in by_sample]
    samples["expected_docs"] = expected
    samples[COLUMN] = samples.index.isin(by_sample.index)
    evidence = dataclasses.replace(evaluation.evidence, samples=samples, _read={})
    return Evaluation(evidence, evaluation.thresholds, name=evaluation.name, metrics=evaluation.metrics)
