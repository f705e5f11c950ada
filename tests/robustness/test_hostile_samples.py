"""One sample, however large or broken, never ends a run nor touches the scores of the others."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.data.schema import to_sample
from workbench.evidence import collect as collecting
from workbench.evidence.offline import judge as offline
from workbench.evidence.offline.examination import CELLS, Examination
from workbench.evidence.offline.judge import OfflineJudge

SENTENCES = ("The office opens at nine.", "It closes at five.", "The warranty of the pump is two years.", "退款需要三天。")
GOOD = [
    {"sample_id": f"good {i}", "question": "How long is the warranty?", "answer": f"The warranty is {i + 1} years.",
     "contexts": ["The warranty is 2 years for all machines.", "The office opens at nine."], "reference": "It is 2 years."}
    for i in range(4)
]  # fmt: skip
#: What is repeated up to a size; numbers are all different.
HOSTILE = {
    "one page over and over": SENTENCES[0],
    "sentences of one letter": "A. ",
    "numbers": "",
    "one line without a space": "x",
    "one line of Han without a stop": "字",
    "combining marks": "\u0301",
    "a lone half character": "broken \ud83d text. ",
    "JSON that never closes": '{"a": [',
    "brackets that never close": "[1",
    "marks of citation": "[1](",
}
#: At this size anything that grows with the square of a text is felt; tests/benchmarks/hostile.py measures 1,000,000.
SIZE = 60_000


def hostile_sample(name: str, field: str, size: int) -> dict[str, Any]:
    """A sample one of whose fields is a hostile text of about so many characters."""
    repeated = HOSTILE[name]
    text = repeated * (size // len(repeated)) if repeated else " ".join(str(7 * i + 3) for i in range(size // 7))
    bad = {"sample_id": "bad", "question": "When?", "answer": "At nine.", "contexts": ["The office opens at nine."]}
    bad[field] = [text, "The office opens at nine."] if field == "contexts" else text
    return bad


def evaluated(rows: list[dict[str, Any]], cache: Path) -> wb.Evaluation:
    return wb.evaluate(rows, encoder="none", progress=False, cache_dir=cache)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return evaluated(GOOD, tmp_path_factory.mktemp("cache")).scores()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_sample_leaves_the_others_as_they_are(name: str, alone: pd.DataFrame, tmp_path: Path) -> None:
    field = random.Random(name).choice(["answer", "reference", "question", "contexts"])
    result = evaluated([*GOOD[:2], hostile_sample(name, field, SIZE), *GOOD[2:]], tmp_path)
    pd.testing.assert_frame_equal(result.scores().loc[alone.index], alone[result.scores().columns])
    assert result.evidence.samples.loc["bad", "judge_state"] == "ok"
    assert len(wb.load_evaluation(result.save(tmp_path / "saved"))) == 5


def test_what_is_laid_out_of_a_sample_is_bounded() -> None:
    row = {"question": "When?", "answer": " ".join(SENTENCES) * 40, "contexts": [{"text": "A. " * 60_000}]}
    seen = Examination(to_sample("a", row), OfflineJudge("none").coefficients, {}, {})
    assert seen.grid.present.size < CELLS < sum(row.n_words for row in seen.rows) * 60_000


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 149. GiB"), ValueError("broken text")])
@pytest.mark.parametrize("place", ["judge", "texts", "reference"])
def test_what_still_fails_is_an_error_of_that_sample_with_its_reason(
    error: Exception, place: str, monkeypatch: pytest.MonkeyPatch, alone: pd.DataFrame, tmp_path: Path
) -> None:
    module, name = {
        "judge": (offline, "refusal"), "texts": (collecting, "observe"), "reference": (collecting, "answer_right"),
    }[place]  # fmt: skip
    real = getattr(module, name)

    def failing(first: Any, *rest: Any, **options: Any) -> Any:
        if "unlucky" in str(first):
            raise error
        return real(first, *rest, **options)

    monkeypatch.setattr(module, name, failing)
    bad = {"sample_id": "bad", "question": "unlucky?", "answer": "unlucky", "contexts": ["A."], "reference": "B."}
    result = evaluated([*GOOD[:2], bad, *GOOD[2:]], tmp_path)
    assert str(error) in result.errors().set_index("sample_id").loc["bad", "reason"]
    assert result.states().loc["bad", "faithfulness"] == "judge_error"
    pd.testing.assert_frame_equal(result.scores().loc[alone.index], alone[result.scores().columns])
    assert np.isnan(result.scores().loc["bad", "faithfulness"])
