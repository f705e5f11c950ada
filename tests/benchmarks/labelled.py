"""Is a claim supported, is an answer about its question: the product against labelled sets.

``python tests/benchmarks/labelled.py FOLDER [PART,… [ENCODER]]`` evaluates the fifth of each set that is kept apart, and
reads ``claims()`` and ``failures()`` as a user does: a claim is as well supported as its weakest part. Models that have not
seen that fifth are made by ``workbench.training.fit --without-apart``; the shipped ones may have. Parts:
``support`` (WiCE, BEGIN, XQuAD changed), ``nli``, ``answers`` (CLAPnq), ``refusals`` and ``addressed`` (XQuAD, EVOUNA).

``long`` has to be asked for: passages of WiCE, XQuAD changed and CLAPnq are joined to texts of at least 5,000 characters,
which are judged in parts, as words choose them, and again as a whole. Nothing was chosen by such texts, so that it takes
cases of the whole sets. ``long:CLAPnq`` is one set alone.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas as pd

import workbench as wb
from workbench.data.text.sentences import sentences
from workbench.diagnosis.statistics import auroc
from workbench.evidence.offline import excerpts
from workbench.language import codes
from workbench.training import rows

#: Pairs of each file of ``nli/``, and cases of each of the other parts.
PAIRS, CASES = 420, 300
#: ``None`` measures the judge that reads words alone.
ENCODER: str | None = "auto"
#: A question that names nothing: the pair alone decides.
ANY = "?"


def evaluated(samples: Sequence[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``claims()`` of the answers, and ``failures()`` by sample in the order given."""
    named = [{"sample_id": str(at), **sample} for at, sample in enumerate(samples)]
    result = wb.evaluate(named, judge="offline", encoder=ENCODER, progress=False)
    claims = result.claims().reset_index()
    failures = result.failures()
    return claims[claims["side"] == "answer"], failures.loc[[str(at) for at in range(len(samples))]]


def judged(examples: Sequence[rows.Example]) -> pd.DataFrame:
    """One row a pair: label, the least support of its claims, whether all are supported, whether one is contradicted."""
    claims, _ = evaluated([{"question": ANY, "answer": e.claim, "contexts": [e.evidence]} for e in examples])
    by = claims.groupby("sample_id", sort=False)
    found = pd.DataFrame({
        "support": by["support"].min(), "supported": by["verdict"].agg(lambda v: (v == "supported").all()),
        "contradicted": by["verdict"].agg(lambda v: (v == "contradicted").any()),
    }).reindex([str(at) for at in range(len(examples))])  # fmt: skip
    found["label"] = [e.supported for e in examples]
    found["change"], found["source"] = [e.change for e in examples], [e.source for e in examples]
    lost = int(found["support"].isna().sum())
    if lost:
        print(f"({lost} of {len(found)} have no claim and are left out)")
    return found.dropna(subset=["support"])


def line(name: str, found: pd.DataFrame) -> float:
    """Print the figures of one set; returns its AUROC."""
    label = found["label"].to_numpy(dtype=bool)
    area = auroc(label, found["support"].to_numpy(dtype=np.float64)) if 0 < label.sum() < len(label) else float("nan")
    balanced = (found["supported"][label].mean() + (~found["supported"][~label].astype(bool)).mean()) / 2
    against = (found["change"] == "contradicted").to_numpy()
    named = f"{found['contradicted'][against].mean():.3f}" if against.any() else "-"
    false = found["contradicted"][label].mean()
    print(f"{name:24} n {len(found):5}  AUROC {area:.3f}  balanced {balanced:.3f}  named {named:>5}  falsely {false:.3f}",
          flush=True)  # fmt: skip
    return area


def support(folder: Path) -> None:
    """WiCE, BEGIN, and statements of XQuAD with one thing changed."""
    sets = {"WiCE": rows.wice(folder), "BEGIN": rows.begin(folder)}
    sets |= {f"XQuAD changed, {code}": rows.perturbed(folder, code) for code in codes()}
    for name, examples in sets.items():
        line(name, judged([e for e in examples if rows.apart(e)]))


def nli(folder: Path) -> None:
    """Pairs by phenomenon; one file each."""
    found = judged([e for e in rows.nli(folder, PAIRS) if rows.apart(e)])
    areas = [line(str(source), mine) for source, mine in found.groupby("source")]
    against, named = found["change"] == "contradicted", found["contradicted"].astype(bool)
    print(f"mean AUROC {np.nanmean(areas):.3f}, lowest {np.nanmin(areas):.3f}; contradictions named "
          f"{named[against].mean():.3f}, falsely {named[found['label']].mean():.3f}")  # fmt: skip


def answers(folder: Path) -> None:
    """What a person answered, over its own passage and over another; nothing is trained on these claims."""
    asked = rows.clapnq(folder)
    others = [next(a.passage for a in [*asked[at + 1 :], *asked] if a.passage != item.passage)
              for at, item in enumerate(asked)]  # fmt: skip
    for name, passages in (("own", [a.passage for a in asked]), ("other", others)):
        _, failures = evaluated([{"question": a.question, "answer": a.answer, "contexts": [passage]}
                                 for a, passage in zip(asked, passages, strict=True)])  # fmt: skip
        _causes(f"CLAPnq answer, {name} passage", failures)


def refusals(folder: Path) -> None:
    """Short right answers, spans and sentences: none is a refusal."""
    for code in codes():
        asked = rows.some(rows.xquad(folder, code), CASES)
        for name, said in (("spans", _span), ("sentences", _sentence)):
            _, failures = evaluated([_asked(a, said(a), True) for a in asked])
            refused = (failures["refusal_outcome"] != "answered").mean()
            print(f"refusals, {name}, {code}: n {len(asked)}  taken for one {refused:.3f}", flush=True)


def addressed(folder: Path) -> None:
    """Right answers of XQuAD and EVOUNA, and sentences of the passage that answer another question about it."""
    for code in codes():
        asked = [a for a in rows.xquad(folder, code) if rows.apart_passage(a.passage)]
        chance = random.Random(1)
        asked = chance.sample(asked, min(CASES, len(asked)))
        for reference in (False, True):
            told = "with reference" if reference else "alone"
            right = [_asked(a, _sentence(a), reference) for a in asked]
            _causes(f"XQuAD right, {told}, {code}", evaluated(right)[1])
            other = [(a, text) for a in asked if (text := _beside(a, chance))]
            _causes(f"XQuAD beside, {told}, {code}", evaluated([_asked(a, text, reference) for a, text in other])[1])
    path = folder / "evouna" / "evouna_tq_1.jsonl"
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").split("\n") if text.strip()]
    right = [r for r in lines if r["right"]]
    chosen = random.Random(1).sample(right, min(CASES, len(right)))
    _causes("EVOUNA right", evaluated([{"question": r["question"], "answer": r["answer"], "reference": r["reference"]}
                                       for r in chosen])[1])  # fmt: skip


def _asked(item: rows.Asked, answer: str, reference: bool) -> dict[str, Any]:
    made = {"question": item.question, "answer": answer, "contexts": [item.passage]}
    return made | ({"reference": item.answer} if reference else {})


def _span(item: rows.Asked) -> str:
    return item.answer


def _sentence(item: rows.Asked) -> str:
    """The sentence that answers, without the mark that leads on to the next: an answer with one looks cut off."""
    return rows.told_in(item).rstrip(";；:： ")


def _beside(item: rows.Asked, chance: random.Random) -> str:
    """A sentence of the passage, not beside the one that answers, that holds nothing of the answer; "" without any."""
    found = sentences(item.passage)
    at = next((n for n, s in enumerate(found) if s.text in item.sentences), -1)
    far = [s.text for n, s in enumerate(found) if abs(n - at) > 1 and item.answer not in s.text and len(s.text) > 10]
    return chance.choice(far) if far and at >= 0 else ""


def _causes(name: str, failures: pd.DataFrame) -> None:
    counts = failures["primary_cause"].value_counts()
    told = ", ".join(f"{cause} {n}" for cause, n in counts.items())
    failed = float((failures["passed"] != True).mean())  # noqa: E712
    print(f"{name:36} n {len(failures):4}  failed {failed:.3f}  off_topic {counts.get('off_topic', 0) / len(failures):.3f}"
          f"  ({told})", flush=True)  # fmt: skip


#: Characters of a long text, at least, and the samples of a set that are judged over long texts.
LEAST, LONG_CASES = 5_000, 60


def long(folder: Path, name: str) -> None:
    """One of :data:`LONG`, its long texts judged in parts and as a whole."""
    chance = random.Random(1)
    if name == "CLAPnq":
        asked = chance.sample(rows.clapnq(folder), LONG_CASES // 2)
        texts = _joined([a.passage for a in asked])
        every = list(dict.fromkeys(texts.values()))
        other = dict(zip(every, every[1:] + every[:1], strict=True))
        samples = [{"question": a.question, "answer": a.answer, "contexts": [context]}
                   for of in (lambda text: text, other.get) for a in asked for context in [of(texts[a.passage])]]  # fmt: skip
        label = np.arange(len(samples)) < len(asked)
    else:
        examples = LONG[name](folder)
        examples = chance.sample(examples, min(LONG_CASES, len(examples)))
        texts = _joined([e.evidence for e in examples])
        samples = [{"question": ANY, "answer": e.claim, "contexts": [texts[e.evidence]]} for e in examples]
        label = np.array([e.supported for e in examples], dtype=bool)
    evaluated(samples[:1])  # what is loaded once counts for neither
    found = [_read_from(samples, least) for least in (excerpts.LONG, sys.maxsize)]
    length = np.mean([len(text) for text in dict.fromkeys(texts.values())])
    print(f"{name}: n {len(samples)}, texts of {length:,.0f} characters; processor time in parts "
          f"{found[0][2] / found[1][2]:.2f} of that as a whole; {int((found[0][1] != found[1][1]).sum())} of them pass or "
          f"fail differently", flush=True)  # fmt: skip
    for how, (support, failed, _) in zip(("in parts", "as a whole"), found, strict=True):
        there = np.isfinite(support)
        print(f"  {how:10}  AUROC {auroc(label[there], support[there]):.4f}  failed: {failed[label].mean():.3f} of those "
              f"supported, {failed[~label].mean():.3f} of the others", flush=True)  # fmt: skip


def _joined(passages: Sequence[str]) -> dict[str, str]:
    """For each distinct passage a long text that it stands in among others."""
    order = list(dict.fromkeys(passages))
    random.Random(2).shuffle(order)
    groups: list[list[str]] = [[]]
    for passage in order:
        if sum(map(len, groups[-1])) >= LEAST:
            groups.append([])
        groups[-1].append(passage)
    if len(groups) > 1 and sum(map(len, groups[-1])) < LEAST:
        last = groups.pop()
        groups[-1] += last
    return {passage: "\n".join(group) for group in groups for passage in group}


def _read_from(samples: Sequence[dict[str, Any]], least: int) -> tuple[Any, Any, float]:
    """The least support of the claims of each answer, whether it fails, and the processor time; texts from ``least``
    characters on are read in parts. Nothing comes from a cache."""
    usual, excerpts.LONG = excerpts.LONG, least
    kept = os.environ.get("WORKBENCH_CACHE")
    try:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["WORKBENCH_CACHE"] = cache
            began = time.process_time()
            claims, failures = evaluated(samples)
            took = time.process_time() - began
    finally:
        excerpts.LONG = usual
        os.environ.pop("WORKBENCH_CACHE") if kept is None else os.environ.update(WORKBENCH_CACHE=kept)
    support = claims.groupby("sample_id")["support"].min().reindex([str(at) for at in range(len(samples))])
    return support.to_numpy(dtype=float), (failures["passed"] != True).to_numpy(dtype=bool), took  # noqa: E712


#: The sets of :func:`long`; answers of CLAPnq, over their own text and another, have questions.
LONG: dict[str, Callable[[Path], list[rows.Example]]] = {
    "WiCE": rows.wice, **{f"XQuAD-{code}": partial(rows.perturbed, language=code) for code in codes()}, "CLAPnq": lambda _: [],
}  # fmt: skip

PARTS = {"support": support, "nli": nli, "answers": answers, "refusals": refusals, "addressed": addressed}


def main(folder: str, parts: str = ",".join(PARTS), encoder: str = "auto") -> None:
    """Print the figures of each part."""
    global ENCODER
    ENCODER = None if encoder == "none" else encoder
    for part in parts.split(","):
        kind, _, name = part.partition(":")
        if kind == "long":
            for one in [name] if name else LONG:
                long(Path(folder), one)
        else:
            PARTS[kind](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
