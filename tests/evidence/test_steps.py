"""Long work can be stopped at any moment, also in the middle of one long sample, and says how much of the text is done."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import workbench as wb
from tests.evidence.word_encoder import WordEncoder
from workbench.data.schema import iter_samples
from workbench.data.text.kept import kept
from workbench.errors import CancelledError
from workbench.evidence.offline.judge import OfflineJudge
from workbench.steps import ByText, checkpoint, watched

SENTENCE = "The pump of house {} was rebuilt in {} by a firm from district {}. "
ZH_SENTENCE = "第{}号楼的水泵在{}年由第{}区的公司重新安装。"


def page(characters: int, sentence: str = SENTENCE) -> str:
    parts = [sentence.format(7 * at, 1900 + at % 120, at % 40) for at in range(characters // len(sentence))]
    return "".join(parts)


def row(number: int, characters: int, sentence: str = SENTENCE) -> dict[str, Any]:
    return {"sample_id": str(number), "question": "What was rebuilt?", "answer": sentence.format(70, 1910, 10).strip(),
            "contexts": [page(characters, sentence)]}  # fmt: skip


class Told(WordEncoder):
    """Looks up between two texts, as encoders that take long do."""

    def encode_with_tokens(self, texts, kind="passage"):
        found = []
        for text in texts:
            checkpoint(len(text))
            found.append(super().encode_with_tokens([text], kind))
        rows, pieces = zip(*found, strict=True)
        import numpy as np

        return np.concatenate(rows), [piece for one in pieces for piece in one]


def judged(rows: list[dict[str, Any]], **options: Any) -> wb.Evaluation:
    with tempfile.TemporaryDirectory() as cache:
        return wb.evaluate(rows, **{"encoder": "none", "progress": False, "cache_dir": cache, **options})


@pytest.mark.parametrize("sentence", [SENTENCE, ZH_SENTENCE], ids=["en", "zh"])
def test_one_long_sample_asks_as_often_as_it_is_long(sentence: str) -> None:
    """A long text has more places at which it can be stopped, so that the gaps do not grow with it."""

    def asked(characters: int) -> int:
        calls = count()
        judged([row(0, characters, sentence)], cancelled=lambda: next(calls) < 0)
        return next(calls)

    short, long = asked(6_000), asked(24_000)
    assert short > 20 and long > 2.5 * short


@pytest.mark.parametrize("after", [1, 200, 3_000])
def test_what_is_stopped_is_cancelled_and_no_error_of_the_sample(after: int) -> None:
    calls = iter(range(10**9))
    with pytest.raises(CancelledError):
        judged([row(0, 40_000), row(1, 40_000)], cancelled=lambda: next(calls) >= after, encoder=Told())


def test_without_being_asked_to_stop_nothing_is_stopped() -> None:
    checkpoint(5)
    told: list[int] = []
    with watched(None, told.append):
        checkpoint(5)
        checkpoint()
    assert told == [5]


def followed(rows: list[dict[str, Any]], encoder: Any) -> list[tuple[int, float]]:
    """(samples done, share of the text done) at each report."""
    seen: list[tuple[int, float]] = []
    report = ByText(lambda done, total, cached: seen.append((done, report.share or 0.0)))
    judged(rows, encoder=encoder, progress=report)
    return seen


def test_progress_goes_by_the_length_of_the_texts() -> None:
    rows = [row(at, 1_500) | {"sample_id": str(at), "contexts": [f"{at}. {page(1_500)}"]} for at in range(8)]
    seen = followed([*rows, row(8, 60_000)], Told())
    shares = [share for _, share in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0
    # In the middle of the batch of nine no sample is finished, and yet it is told how far it is.
    assert len({share for done, share in seen if done == 0}) > 8


def test_a_judge_that_is_not_slow_by_length_counts_samples() -> None:
    report = ByText(lambda done, total, cached: None)
    judged([row(0, 300), row(1, 300)], judge=None, encoder=None, progress=report)
    assert report.left(10.0) is None
    judge = OfflineJudge("none")
    samples = wb.load_samples([row(0, 300), row(1, 1_500)]).frame
    short, long = judge.efforts(list(iter_samples(samples)))
    assert short < long


def test_what_is_kept_is_bounded_by_length() -> None:
    made: list[str] = []

    def function(text: str) -> str:
        made.append(text)
        return text.upper()

    looked_up: Callable[[str], str] = kept(characters=1_000)(function)
    for text in ("a", "b" * 300, "a", "c" * 300, "a"):
        assert looked_up(text) == text.upper()
    assert made == ["a", "b" * 300, "c" * 300]  # a was used last each time
    looked_up("d" * 600)
    assert looked_up("a") == "A" and looked_up("b" * 300) == "B" * 300
    assert made[3:] == ["d" * 600, "b" * 300]
    assert looked_up("e" * 5_000) == looked_up("e" * 5_000) and made[-1] == "e" * 5_000 and made.count("e" * 5_000) == 1
