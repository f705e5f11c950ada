"""The corpus as the recordings used it: documents that come far too often, and documents that never come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.schema import judgements
from workbench.diagnosis.missed import as_corpus, with_ids
from workbench.diagnosis.shelf import Shelf

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd
    from scipy.stats import poisson

    evidence = evaluation.evidence if corpus is None else with_ids(evaluation.evidence, Shelf(as_corpus(corpus), None))
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
    import pandas as pd

    loaded = as_corpus(corpus)
    evidence = with_ids(evaluation.evidence, Shelf(loaded, None))
    seen = set(evidence.contexts["doc_id"].dropna().astype(str))
    frame = loaded.frame
    names = frame.index.astype(str)
    keep = ~np.isin(names, list(seen))
    wanted: dict[str, int] = {}
    for ids in _expected(evidence).values():
        for doc_id in ids:
            wanted[doc_id] = wanted.get(doc_id, 0) + 1
    columns = {
        "title": frame["title"][keep].to_numpy(dtype=object),
        "source": frame["source"][keep].to_numpy(dtype=object),
        "n_expected": [wanted.get(name, 0) for name in names[keep]],
    }
    return pd.DataFrame(columns, index=pd.Index(names[keep], name="doc_id"))


def _expected(evidence: Any) -> dict[int, set[str]]:
    """Relevant expected documents of each sample."""
    return {
        code: {doc_id for item in judgements(value) or () if item.grade >= 1 for doc_id in item.doc_ids}
        for code, value in enumerate(evidence.nested("expected_docs"))
    }
