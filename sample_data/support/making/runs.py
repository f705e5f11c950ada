"""Two recorded runs of the fictional service, and the labels that say what was done to them.

The baseline service retrieves five chunks by BM25 over text and title. The improved one weighs titles more and
leaves near-duplicates of an earlier context out of the prompt (``prompted: false``). Where the retriever of a real
service would do better than this one (other language, other words) the expected chunk is put in. Then come the
deviations of the plan: ``drop`` keeps chunks out, ``pin`` puts chunks, whoever owns them, at a rank, ``old_text``
serves an older text, ``answer``, ``error`` and ``refused`` replace what the generator would have said.
"""

from __future__ import annotations

import random
import re
from typing import Any

from .cases import all_expected, language
from .files import Row
from .retriever import Retriever, tokens

K = 5
RUNS = ("baseline", "improved")
TITLE_WEIGHT = {"baseline": 1, "improved": 2}
FETCHED_RANK = 3  # where an expected chunk is put that the small retriever does not find
NEAR_DUPLICATE = 0.8  # share of tokens in common


def record(name: str, plan: list[Row], listed: list[Row], corpus: list[Row], chunks: list[Row]) -> list[Row]:
    """One self-contained row a case: its fields, and what the run ``name`` returned."""
    retriever = Retriever(corpus, title_weight=TITLE_WEIGHT[name])
    known = {chunk["doc_id"]: chunk for chunk in chunks}
    return [_row(name, case, fields, retriever, known) for case, fields in zip(plan, listed, strict=True)]


def labels(plan: list[Row]) -> list[dict[str, str]]:
    """What was planted, for each run and case: ``pass`` or a cause."""
    return [_label(name, case) for name in RUNS for case in plan]


def _label(name: str, case: Row) -> dict[str, str]:
    change = case.get(name, {})
    return {
        "run": name, "sample_id": case["id"], "cause": change.get("cause", "pass"),
        "sub_cause": change.get("sub_cause", ""), "note": change.get("note", ""),
    }  # fmt: skip


def _row(name: str, case: Row, fields: Row, retriever: Retriever, known: dict[str, Row]) -> Row:
    change = case.get(name, {})
    contexts = _contexts(name, case, change, retriever, known)
    ranks = {context["doc_id"]: rank for rank, context in enumerate(contexts, start=1)}
    answer = _answer(name, case, change, ranks)
    rng = random.Random(f"{name} {case['id']}")
    return {
        **fields, "answer": answer, "contexts": contexts, "citations": _citations(name, case, change, ranks),
        "refused": _refused(case, change) if answer is not None else None,
        "latency_ms": 30_000 if "timeout" in change.get("error", "") else _latency(name, answer, rng),
        "usage": _usage(contexts, answer), "error": change.get("error"),
    }  # fmt: skip


def _contexts(name: str, case: Row, change: Row, retriever: Retriever, known: dict[str, Row]) -> list[Row]:
    ranked = retriever.ranked(case["question"], case["tenant"])
    chosen = _chosen(case, change, [doc for doc, _ in ranked])
    scores = _scores(chosen, dict(ranked))
    contexts = [_context(known[doc], score, change) for doc, score in zip(chosen, scores, strict=True)]
    if name == "improved":
        _leave_out_near_duplicates(contexts, set(all_expected(case)))
    return contexts


def _chosen(case: Row, change: Row, ranked: list[str]) -> list[str]:
    """The ids of the recorded contexts, in order."""
    dropped, pinned = set(change.get("drop", [])), change.get("pin", {})
    chosen = [doc for doc in ranked if doc not in dropped and doc not in pinned][:K]
    for doc in _must_be_there(case, dropped, set(chosen) | set(pinned), set(ranked)):
        chosen.insert(FETCHED_RANK - 1, doc)
    for doc, rank in sorted(pinned.items(), key=lambda item: item[1]):
        chosen.insert(rank - 1, doc)
    return chosen[:K]


def _must_be_there(case: Row, dropped: set[str], present: set[str], reachable: set[str]) -> list[str]:
    """Expected chunks, one of each entry, that are neither there nor kept out on purpose nor missing in the index."""
    entries = [[entry] if isinstance(entry, str) else entry for entry in case["docs"]]
    missing = [entry for entry in entries if not present & set(entry)]
    return [doc for entry in missing for doc in entry[:1] if doc not in dropped and doc in reachable]


def _scores(chosen: list[str], raw: dict[str, float]) -> list[float]:
    """Falling scores in (0.5, 0.95), made from the BM25 scores of the same chunks."""
    values = sorted((0.5 + 0.45 * raw.get(doc, 0.0) / (raw.get(doc, 0.0) + 10) for doc in chosen), reverse=True)
    return [round(value - 0.0007 * rank, 4) for rank, value in enumerate(values)]


def _context(chunk: Row, score: float, change: Row) -> Row:
    text = chunk["text"]
    if chunk["doc_id"] in change.get("old_text", {}):
        text = text.replace(*change["old_text"][chunk["doc_id"]])
    return {
        "doc_id": chunk["doc_id"], "text": text, "score": score, "title": chunk["title"],
        "tenant": chunk["tenant"], "position": chunk["position"], "prompted": True,
        "metadata": {"source": chunk["source"]},
    }  # fmt: skip


def _leave_out_near_duplicates(contexts: list[Row], expected: set[str]) -> None:
    for index, context in enumerate(contexts):
        earlier = [other for other in contexts[:index] if other["prompted"]]
        if context["doc_id"] not in expected and any(_alike(context, other) for other in earlier):
            context["prompted"] = False


def _alike(left: Row, right: Row) -> bool:
    one, other = set(tokens(left["text"])), set(tokens(right["text"]))
    return len(one & other) >= NEAR_DUPLICATE * len(one | other)


def _answer(name: str, case: Row, change: Row, ranks: dict[str, int]) -> str | None:
    """The recorded answer; the improved service puts marks such as ``[2]`` into every other one."""
    if "error" in change:
        return None
    if "answer" in change:
        return str(change["answer"])
    text = case.get(f"answer_{name}", case["answer"])
    docs = all_expected(case)
    if name == "improved" and _marked(case):
        text = text if "{" in text else re.sub(r"([.。])$", r"{1}\1", text)
        space = " " if language(case["question"], case["id"]) == "en" else ""
        return re.sub(r"\{(\d)\}", lambda match: f"{space}[{_rank(docs, int(match[1]), ranks)}]", text)
    return re.sub(r"\{\d\}", "", text)


def _rank(docs: list[str], number: int, ranks: dict[str, int]) -> int:
    """The rank of the ``number``-th expected chunk, or of the alternative that is there."""
    return ranks[docs[number - 1]] if docs[number - 1] in ranks else min(ranks[doc] for doc in docs if doc in ranks)


def _marked(case: Row) -> bool:
    number = int(case["id"].rsplit("-", 1)[1])
    return bool(case["docs"]) and not case.get("cross") and number % 4 in (0, 1)


def _citations(name: str, case: Row, change: Row, ranks: dict[str, int]) -> list[str] | None:
    """Ids as the baseline service reports them for every third untouched case; the improved one uses marks only."""
    number = int(case["id"].rsplit("-", 1)[1])
    if name == "improved" or number % 3 or "answer" in change or "error" in change or case.get("cross"):
        return None
    return [doc for doc in all_expected(case) if doc in ranks] or None


def _refused(case: Row, change: Row) -> bool:
    if "answer" in change:
        return bool(change.get("refused", False))
    return bool(case.get("refuse", False))


def _latency(name: str, answer: str | None, rng: random.Random) -> int:
    base = 900 if name == "baseline" else 760
    spread = sum(rng.randrange(0, 500) for _ in range(3))
    return base + spread + 9 * len(answer or "") + (rng.randrange(1500, 4000) if rng.randrange(20) == 0 else 0)


def _usage(contexts: list[Row], answer: str | None) -> dict[str, Any]:
    prompt = 220 + sum(_rough_tokens(context["text"]) for context in contexts if context["prompted"])
    return {"prompt_tokens": prompt, "completion_tokens": _rough_tokens(answer or "")}


def _rough_tokens(text: str) -> int:
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return chinese * 3 // 4 + (len(text) - chinese) // 4
