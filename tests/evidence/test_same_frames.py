"""One recording gives the same frames to 1e-5 when it is judged twice, after a cancel, in another order, or in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.evidence.word_encoder import WordEncoder
from workbench.errors import CancelledError
from workbench.evidence.frames import COLUMNS

FRAMES = ("contexts", "claims", "support")
FACTS = ("The pump has a warranty of {} years. ", "Room {} opens at nine. ", "这台水泵的保修期为{}年。", "第{}室九点开门。")


class Rounding(WordEncoder):
    """Vectors that differ in the last places by what a text is encoded with, as those of a model do."""

    fingerprint = "rounding"

    def encode_with_tokens(self, texts, kind="passage"):
        rows, pieces = super().encode_with_tokens(texts, kind)
        last = np.float32(1 + 3e-7 * (len(texts) % 7))
        return rows * last, [(vectors * last, spans) for vectors, spans in pieces]


def rows() -> list[dict[str, Any]]:
    """Short and long contexts in both languages, some of them shared."""
    shared = "".join(fact.format(at) for at in range(40) for fact in FACTS)
    found = []
    for at in range(12):
        fact = FACTS[at % 4].format(at)
        contexts = [{"doc_id": f"d{at}", "text": fact + FACTS[(at + 2) % 4].format(at + 1)}, {"doc_id": "d", "text": shared}]
        asked = "How long is the warranty?" if at % 4 < 2 else "保修期多长？"
        found.append({"sample_id": f"s{at}", "question": asked, "answer": FACTS[at % 3].format(at + at % 2) + fact,
                      "reference": fact, "contexts": contexts[: 1 + at % 2]})  # fmt: skip
    return found


def judged(given: list[dict[str, Any]], cache: Path, **options: Any) -> wb.Evaluation:
    return wb.evaluate(given, encoder=Rounding(), progress=False, cache_dir=cache, **options)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> wb.Evaluation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("words")))
        return judged(rows(), tmp_path_factory.mktemp("judged"))


def same(one: wb.Evaluation, other: wb.Evaluation) -> None:
    for name in FRAMES:
        keys = [key for key in ("sample_id", "side", "claim_id", "rank") if key in COLUMNS[name]]
        first, second = (
            getattr(found.evidence, name).astype({"sample_id": "str"}).sort_values(keys, kind="stable", ignore_index=True)
            for found in (one, other)
        )
        pd.testing.assert_frame_equal(first, second, rtol=0, atol=1e-5, check_categorical=False)
    pd.testing.assert_frame_equal(one.scores(), other.scores().loc[one.evidence.ids], rtol=0, atol=1e-5)
    causes = [found.failures()["primary_cause"].loc[one.evidence.ids].tolist() for found in (one, other)]
    assert causes[0] == causes[1]


@pytest.mark.parametrize("words", ["kept", "made anew"])
@pytest.mark.parametrize("order", ["twice", "backwards", "mixed", "by threes"])
def test_the_same_frames(order: str, words: str, once: wb.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if words == "made anew":
        monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "words"))
    given = rows()
    if order == "backwards":
        given = given[::-1]
    elif order == "mixed":
        given = given[::2] + given[1::2]
    elif order == "by threes":
        for start in range(0, len(given), 3):
            judged(given[start : start + 3], tmp_path)
    same(once, judged(given, tmp_path))


@pytest.mark.parametrize("after", [1, 60, 400])
def test_the_same_frames_after_a_cancel(
    after: int, once: wb.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "words"))
    calls = iter(range(10**9))
    with pytest.raises(CancelledError):
        judged(rows(), tmp_path, cancelled=lambda: next(calls) >= after)
    same(once, judged(rows(), tmp_path))
