"""How each sample ended, counted by cause, with the ids to try again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workbench.evidence.judge import SampleEvidence
from workbench.evidence.llm.budget import Spending

if TYPE_CHECKING:
    import pandas as pd


def outcome_of(evidence: SampleEvidence) -> str:
    """``ok``, ``partly`` (a part is missing), or the code of what went wrong (``timeout, not_json, budget`` …)."""
    if evidence.state != "ok":
        return evidence.reason.partition(":")[0]
    failed = any(state == "judge_error" for state, _ in evidence.missing.values())
    return "partly" if failed else "ok"


def meaning(outcome: str, language: str | None = None) -> str:
    """An outcome in words; the code itself when it has none."""
    from workbench.language import has_text, text

    key = f"llm.reasons.{outcome}"
    return text(key, language) if has_text(key) else outcome


class Outcomes:
    """Outcome of each sample, the latest counts, and how fast they come."""

    def __init__(self) -> None:
        self._by_sample: dict[str, str] = {}
        self._total = self._done = 0
        self._started = time.monotonic()

    def start(self, total: int) -> None:
        """A run over ``total`` samples begins."""
        self._total, self._done, self._started = total, 0, time.monotonic()

    def add(self, evidence: SampleEvidence) -> None:
        """A sample is done."""
        self._by_sample[evidence.sample_id] = outcome_of(evidence)
        self._done += 1

    def ids(self, *outcomes: str) -> list[str]:
        """Samples that ended in one of ``outcomes``; without any, those that are not ``ok``."""
        return [key for key, value in self._by_sample.items() if (value in outcomes if outcomes else value != "ok")]

    def frame(self) -> pd.DataFrame:
        """``outcome, n, sample_ids, meaning`` (in the language in force), the most frequent first."""
        import pandas as pd

        groups: dict[str, list[str]] = {}
        for sample_id, outcome in self._by_sample.items():
            groups.setdefault(outcome, []).append(sample_id)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        rows = [[key, len(ids), ids, meaning(key)] for key, ids in ordered]
        return pd.DataFrame(rows, columns=["outcome", "n", "sample_ids", "meaning"])

    def line(self, spending: Spending) -> str:
        """Progress in one line."""
        from workbench.language import text

        seconds = max(time.monotonic() - self._started, 1e-9)
        cost = text("llm.plan.unknown_price") if spending.cost is None else f"${spending.cost:.4f}"
        return text(
            "llm.progress", done=self._done, total=self._total, rate=f"{self._done / seconds:.1f}",
            calls=spending.calls, cached=spending.cached, cost=cost,
        )  # fmt: skip
