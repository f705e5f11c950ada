"""Puts exactly one known fault into a known-good sample, for every cause, in English and Chinese, with varied wording.

Bases are samples that pass: from the project's sample data, and where the shared research data is present from XQuAD
(both languages) and CLAPnq. A fault is what is done to the recording; nothing here asks the package what it thinks.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "support"

REFUSALS = {
    "en": ["I could not find this in the documents I have.", "Sorry, the provided material does not cover that.",
           "There is no information about this in the knowledge base.", "I'm unable to answer that from the given context."],
    "zh": ["抱歉，知识库中没有找到相关内容。", "提供的资料没有提到这一点，无法回答。", "很遗憾，我没有查到这方面的信息。",
           "根据现有文档，我无法回答这个问题。"],
}  # fmt: skip
INVENTED = {
    "en": ["It was also tested in {n} pilot projects in Finland.", "A further {n} sites joined in the year {y}.",
           "Professor Helga Brandt confirmed this in {y}.", "The programme has since grown to {n} members."],
    "zh": ["此外，该方案已在芬兰的{n}个试点中验证。", "{y}年又有{n}家单位加入。", "李昌明教授在{y}年证实了这一点。",
           "此后参与者增加到{n}人。"],
}  # fmt: skip
MADE_UP = {
    "en": ["The answer is {n}, as decided by the board in {y}.", "It is handled by the Oslo office, which has {n} employees."],
    "zh": ["答案是{n}，由董事会在{y}年决定。", "由奥斯陆办事处负责，该处有{n}名员工。"],
}  # fmt: skip


def language(text: str) -> str:
    return "zh" if re.search(r"[\u4e00-\u9fff]", text) else "en"


def filled(template: str, rng: random.Random) -> str:
    return template.format(n=rng.choice([37, 58, 743, 1290, 86]), y=rng.choice([1937, 1974, 2003, 2031]))


# -- bases --------------------------------------------------------------------------------------------------------------


def sample_bases() -> list[Row]:
    """Passing rows of the sample data's improved run that expect an answer and have key points."""
    rows = [json.loads(line) for line in (SAMPLE / "runs" / "improved.jsonl").read_text(encoding="utf-8").splitlines()]
    import csv

    with (SAMPLE / "labels.csv").open(encoding="utf-8-sig", newline="") as file:
        passing = {r["sample_id"] for r in csv.DictReader(file) if r["run"] == "improved" and r["cause"] == "pass"}
    return [plain(r) for r in rows if r["sample_id"] in passing and r.get("must_include") and not r.get("expect_refusal")]


def plain(row: Row) -> Row:
    """Without what could fail by itself: citations, tenants, refusal wording."""
    row = copy.deepcopy(row)
    row["answer"] = re.sub(r"\s*\[[^\]]{1,12}\]", "", row["answer"])
    for name in ("citations", "refused", "latency_ms", "usage", "error"):
        row.pop(name, None)
    return row


def xquad_bases(folder: Path, lang: str, n: int, seed: int = 0) -> list[Row]:
    """Questions on their own paragraph among four others; the answer is the sentence that holds the answer span."""
    rng = random.Random(seed)
    data = json.loads((folder / f"xquad.{lang}.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [(f"{lang}-{a}-{p}", par) for a, article in enumerate(data) for p, par in enumerate(article["paragraphs"])]
    rows = []
    for doc_id, paragraph in paragraphs:
        for qa in paragraph["qas"]:
            span = qa["answers"][0]
            sentence = sentence_at(paragraph["context"], span["answer_start"])
            if not usable(span["text"], sentence):
                continue
            others = rng.sample([q for q in paragraphs if q[0] != doc_id], 4)
            contexts = [{"doc_id": i, "text": par["context"], "metadata": {"source": i}, "position": 1}
                        for i, par in [(doc_id, paragraph), *others]]  # fmt: skip
            rng.shuffle(contexts)
            rows.append({"sample_id": qa["id"], "question": qa["question"], "answer": sentence, "contexts": contexts,
                         "reference": span["text"], "expected_docs": [doc_id], "must_include": [span["text"]],
                         "expect_refusal": False})  # fmt: skip
    rng.shuffle(rows)
    return rows[:n]


def clapnq_bases(folder: Path, n: int, seed: int = 0) -> list[Row]:
    """Human answers over their own passage among four others; the reference is the answer, there are no key points."""
    rng = random.Random(seed)
    lines = (folder / "clapnq_dev_answerable.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    passages = [(f"c{i}", item["passages"][0]) for i, item in enumerate(items)]
    rows = []
    for i, item in enumerate(items):
        answer = item["output"][0]["answer"].strip()
        if len(answer) < 40:
            continue
        others = rng.sample([p for p in passages if p[0] != f"c{i}"], 4)
        contexts = [{"doc_id": d, "text": p["text"], "title": p["title"]} for d, p in [passages[i], *others]]
        rng.shuffle(contexts)
        rows.append({"sample_id": str(item["id"]), "question": item["input"], "answer": answer, "contexts": contexts,
                     "reference": answer, "expected_docs": [f"c{i}"], "expect_refusal": False})  # fmt: skip
    rng.shuffle(rows)
    return rows[:n]


def sentence_at(text: str, at: int) -> str:
    ends = [m.end() for m in re.finditer(r"[。！？]|(?<=[a-z0-9)])[.!?](?=\s|$)", text)]
    start = max((e for e in ends if e <= at), default=0)
    end = min((e for e in ends if e > at), default=len(text))
    return text[start:end].strip()


def usable(point: str, sentence: str) -> bool:
    return point in sentence and 2 <= len(point) <= 40 and len(sentence) > len(point) + 10 and len(sentence) < 400


# -- faults -------------------------------------------------------------------------------------------------------------


def expected_context(row: Row) -> Row:
    wanted = {i for e in row["expected_docs"] for i in (e if isinstance(e, list) else [e])}
    return next(c for c in row["contexts"] if c["doc_id"] in wanted)


def other_value(value: str, rng: random.Random, taken: str) -> str | None:
    """Another value of the same kind that does not stand in ``taken``: other digits, or None."""
    digits = re.search(r"\d+", value)
    if not digits:
        return None
    # A day or an hour stays one.
    top = 28 if int(digits[0]) <= 31 else 10 ** len(digits[0]) - 1
    for _ in range(50):
        new = str(rng.randint(min(top - 1, 10 ** (len(digits[0]) - 1)), top))
        if new not in taken and new != digits[0]:
            return value[: digits.start()] + new + value[digits.end() :]
    return None


def everything(row: Row) -> str:
    return " ".join([row["question"], *(c["text"] for c in row["contexts"])])


def permission_leak(row: Row, rng: random.Random) -> Row | None:
    row["tenant"] = "tenant-a"
    for context in row["contexts"]:
        context["tenant"] = rng.choice([None, "tenant-a"])
    wanted = expected_context(row)
    rng.choice([c for c in row["contexts"] if c is not wanted])["tenant"] = "tenant-b"
    if rng.random() < 0.3:
        row["answer"] = rng.choice(REFUSALS[language(row["question"])])
    return row


def no_answer(row: Row, rng: random.Random) -> Row | None:
    row["answer"] = None
    if rng.random() < 0.5:
        row["error"] = "upstream timed out after 30 s"
    return row


def not_indexed(row: Row, rng: random.Random) -> Row | None:
    wanted = expected_context(row)["doc_id"]
    row["contexts"] = [c for c in row["contexts"] if c["doc_id"] != wanted]
    row["expected_docs"] = [f"gone-{rng.randint(100, 999)}#1"]
    row["answer"] = rng.choice(REFUSALS[language(row["question"])])
    return row


def retrieval_miss(row: Row, rng: random.Random) -> Row | None:
    wanted = {i for e in row["expected_docs"] for i in (e if isinstance(e, list) else [e])}
    row["contexts"] = [c for c in row["contexts"] if c["doc_id"] not in wanted]
    if not row["contexts"]:
        return None
    lang = language(row["question"])
    row["answer"] = rng.choice(REFUSALS[lang]) if rng.random() < 0.6 else filled(rng.choice(MADE_UP[lang]), rng)
    return row


def split_evidence(row: Row, rng: random.Random) -> Row | None:
    point = (row.get("must_include") or [""])[0]
    context = expected_context(row)
    if not isinstance(point, str) or len(point) < 4 or context["text"].count(point) != 1 or len(row["must_include"]) > 1:
        return None
    if any(point in c["text"] for c in row["contexts"] if c is not context):
        return None
    place = context["text"].index(point)
    inner = point.find(" ") if " " in point.strip() else len(point) // 2
    if re.fullmatch(r"[\d.,]+", point) or inner < 1:
        return None
    cut = place + inner
    left, right = context["text"][:cut].rstrip(), context["text"][cut:].lstrip()
    source = (context.get("metadata") or {}).get("source") or context["doc_id"]
    halves = [{**context, "doc_id": f"{context['doc_id']}{s}", "text": t, "position": 100 + i, "metadata": {"source": source}}
              for i, (s, t) in enumerate((("a", left), ("b", right)))]  # fmt: skip
    at = row["contexts"].index(context)
    row["contexts"][at : at + 1] = halves
    row["expected_docs"] = [h["doc_id"] for h in halves]
    lang = language(row["question"])
    row["answer"] = left[-160:].split("。" if lang == "zh" else ". ")[0] if rng.random() < 0 else rng.choice(REFUSALS[lang])
    return row


def missing_refusal(row: Row, rng: random.Random) -> Row | None:
    wanted = {i for e in row["expected_docs"] for i in (e if isinstance(e, list) else [e])}
    row["contexts"] = [c for c in row["contexts"] if c["doc_id"] not in wanted]
    row |= {"expected_docs": [], "expect_refusal": True, "must_include": None, "reference": None}
    row["answer"] = filled(rng.choice(MADE_UP[language(row["question"])]), rng)
    return row


def wrong_refusal(row: Row, rng: random.Random) -> Row | None:
    row["answer"] = rng.choice(REFUSALS[language(row["question"])])
    return row


def altered(row: Row, rng: random.Random) -> tuple[str, str] | None:
    """A value of the answer that is a key point (or the only number), and another one for it."""
    points = [p for p in (row.get("must_include") or []) if isinstance(p, str) and re.search(r"\d", p)]
    if not points and not row.get("must_include"):
        points = re.findall(r"\b\d[\d,.]*\b", row["answer"])[:1]
    for point in points:
        new = other_value(point, rng, everything(row) + row["answer"])
        if new and point in row["answer"] and point in expected_context(row)["text"]:
            return point, new
    return None


def distracted(row: Row, rng: random.Random) -> Row | None:
    change = altered(row, rng)
    if change is None:
        return None
    context = expected_context(row)
    twin = {**context, "doc_id": f"old-{context['doc_id']}", "text": context["text"].replace(*change),
            "metadata": {"source": f"old-{context['doc_id']}"}}  # fmt: skip
    row["contexts"].insert(rng.randint(0, len(row["contexts"])), twin)
    row["answer"] = row["answer"].replace(*change)
    return row


def contradiction(row: Row, rng: random.Random) -> Row | None:
    change = altered(row, rng)
    if change is None:
        return None
    row["answer"] = row["answer"].replace(*change)
    return row


def hallucination(row: Row, rng: random.Random) -> Row | None:
    lang = language(row["question"])
    row["answer"] = row["answer"].rstrip() + ("" if lang == "zh" else " ") + filled(rng.choice(INVENTED[lang]), rng)
    return row


def omission(row: Row, rng: random.Random) -> Row | None:
    """One of the sentences (or clauses) that make the points is left out; another point is still made."""
    points = [p for p in (row.get("must_include") or []) if isinstance(p, str)]
    if len(points) >= 2:
        parts = [p for p in re.split(r"(?<=[。；.;，,])", row["answer"]) if p.strip()]
        kept = [p for p in parts if points[-1] not in p]
        answer = "".join(kept).strip(" ，,；;")
        if kept and any(p in answer for p in points[:-1]) and points[-1] not in answer:
            row["answer"] = answer + ("。" if language(answer) == "zh" else ".") if answer[-1] not in "。." else answer
            return row
    if not points:
        sentences = re.split(r"(?<=[.!?])\s+", row["answer"])
        if len(sentences) >= 4:
            row["answer"] = " ".join(sentences[:1])
            return row
    return None


def faithful_but_wrong(row: Row, rng: random.Random) -> Row | None:
    change = altered(row, rng)
    if change is None:
        return None
    context = expected_context(row)
    if any(change[0] in c["text"] for c in row["contexts"] if c is not context):
        return None
    context["text"] = context["text"].replace(*change)
    row["answer"] = row["answer"].replace(*change)
    return row


def off_topic(row: Row, rng: random.Random) -> Row | None:
    """A sentence about something else that the expected document happens to hold too; what rests on another document would
    be distracted. The document that it is taken from goes."""
    wanted = expected_context(row)
    expected = {i for e in row["expected_docs"] for i in (e if isinstance(e, list) else [e])}
    points = [p for p in (row.get("must_include") or [row["reference"]]) if isinstance(p, str)]
    lang = language(row["question"])
    found = []
    for context in row["contexts"]:
        if context["doc_id"] in expected:
            continue
        sentences = re.split(r"(?<=[。.])\s*(?=[A-Z\u4e00-\u9fff])", context["text"])
        whole = [s.strip() for s in sentences if language(s) == lang and 25 < len(s.strip()) < 220 and s.strip()[-1] in "。."]
        found += [(s, context) for s in whole if not any(p in s for p in points)]
    if not found:
        return None
    row["answer"], source = rng.choice(found)
    wanted["text"] = f"{wanted['text'].rstrip()} {row['answer']}"
    row["contexts"] = [context for context in row["contexts"] if context is not source]
    return row


def bad_citation(row: Row, rng: random.Random) -> Row | None:
    wanted = row["contexts"].index(expected_context(row)) + 1
    wrong = [i for i in range(1, len(row["contexts"]) + 1) if i != wanted]
    mark = rng.choice([f"[{len(row['contexts']) + rng.randint(2, 9)}]", f"[{rng.choice(wrong)}]", "【17】"])
    row["answer"] = row["answer"].rstrip() + mark
    return row


def broken_format(row: Row, rng: random.Random) -> Row | None:
    answer, lang = row["answer"], language(row["question"])
    kind = rng.choice(["json", "tool", "echo"])
    if kind == "json":
        row["answer"] = json.dumps({"answer": answer, "confidence": 0.9}, ensure_ascii=False)
    elif kind == "tool":
        row["answer"] = f'{answer}\n<tool_call>{{"name": "search", "arguments": {{}}}}</tool_call>'
    else:
        english = "Answer the question using only the provided context.\nQuestion: "
        prompt = "请根据以下上下文回答问题。\n问题：" if lang == "zh" else english
        row["answer"] = f"{prompt}{row['question']}\n{'回答：' if lang == 'zh' else 'Answer: '}{answer}"
    return row


FAULTS: dict[str, Callable[[Row, random.Random], Row | None]] = {
    "permission_leak": permission_leak, "no_answer": no_answer, "not_indexed": not_indexed, "retrieval_miss": retrieval_miss,
    "split_evidence": split_evidence, "missing_refusal": missing_refusal, "wrong_refusal": wrong_refusal,
    "distracted": distracted, "contradiction": contradiction, "hallucination": hallucination, "omission": omission,
    "faithful_but_wrong": faithful_but_wrong, "off_topic": off_topic, "bad_citation": bad_citation, "format": broken_format,
}  # fmt: skip


def injected(bases: list[Row], per_cause: int, seed: int = 0) -> Iterator[tuple[str, Row]]:
    """``(cause, row)``: up to ``per_cause`` samples for each cause, each from a base that allows that fault."""
    for cause, fault in FAULTS.items():
        rng = random.Random(f"{seed}-{cause}")
        made = 0
        for base in rng.sample(bases, len(bases)):
            if made == per_cause:
                break
            try:
                row = fault(copy.deepcopy(base), rng)
            except StopIteration:
                continue
            if row is not None:
                row["sample_id"] = f"{cause}-{base['sample_id']}"
                made += 1
                yield cause, row


def corpus_of(bases: list[Row]) -> list[Row]:
    """Every context of the bases once, as a corpus."""
    seen = {c["doc_id"]: {**{k: v for k, v in c.items() if k != "metadata"},
                          "source": (c.get("metadata") or {}).get("source") or c["doc_id"]}
            for row in bases for c in row["contexts"]}  # fmt: skip
    return list(seen.values())
