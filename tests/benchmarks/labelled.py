"""Is a claim supported, is an answer about its question: the product against labelled sets.

``python tests/benchmarks/labelled.py FOLDER [PART,… [ENCODER]]`` evaluates the fifth of each set that is kept apart, and
reads ``claims()`` and ``failures()`` as a user does: a claim is as well supported as its weakest part. Models that have not
seen that fifth are made by ``workbench.training.fit --without-apart``; the shipped ones may have. Parts:
``support`` (WiCE, BEGIN, XQuAD changed), ``nli``, ``answers`` (CLAPnq), ``refusals`` and ``addressed`` (XQuAD, EVOUNA).
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas as pd

import workbench as wb
from workbench.data.text.sentences import sentences
from workbench.diagnosis.statistics import auroc
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
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text.strip()]
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
    return next((s.text for s in sentences(item.passage) if item.answer in s.text), item.answer)


def _beside(item: rows.Asked, chance: random.Random) -> str:
    """A sentence of the passage, not beside the one that answers, that holds nothing of the answer; "" without any."""
    found = sentences(item.passage)
    at = next((n for n, s in enumerate(found) if item.answer in s.text), -1)
    far = [s.text for n, s in enumerate(found) if abs(n - at) > 1 and item.answer not in s.text and len(s.text) > 10]
    return chance.choice(far) if far and at >= 0 else ""


def _causes(name: str, failures: pd.DataFrame) -> None:
    counts = failures["primary_cause"].value_counts()
    told = ", ".join(f"{cause} {n}" for cause, n in counts.items())
    failed = float((failures["passed"] != True).mean())  # noqa: E712
    print(f"{name:36} n {len(failures):4}  failed {failed:.3f}  off_topic {counts.get('off_topic', 0) / len(failures):.3f}"
          f"  ({told})", flush=True)  # fmt: skip


PARTS = {"support": support, "nli": nli, "answers": answers, "refusals": refusals, "addressed": addressed}


def main(folder: str, parts: str = ",".join(PARTS), encoder: str = "auto") -> None:
    """Print the figures of each part."""
    global ENCODER
    ENCODER = None if encoder == "none" else encoder
    for part in parts.split(","):
        PARTS[part](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
