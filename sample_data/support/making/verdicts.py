"""What two annotators said about forty answers of the baseline run."""

from __future__ import annotations

import tomllib
from pathlib import Path

RUN = "baseline"


def rows(path: Path, labels: list[dict[str, str]]) -> list[dict[str, str]]:
    """One row for each answer and annotator: right, wrong or unsure, with a note where one was written.

    The plan names the answers and where an annotator departs from what was planted; all else agrees with it.
    """
    plan = tomllib.loads(path.read_text(encoding="utf-8"))
    causes = {row["sample_id"]: row["cause"] for row in labels if row["run"] == RUN}
    return [_row(plan, causes, sample, annotator) for sample in plan["samples"] for annotator in plan["annotators"]]


def _row(plan: dict, causes: dict[str, str], sample: str, annotator: str) -> dict[str, str]:
    own = plan.get(annotator, {}).get(sample, {})
    verdict = own.get("verdict", "right" if causes[sample] == "pass" else "wrong")
    return {
        "run": RUN, "sample_id": sample, "annotator": annotator, "verdict": verdict,
        "note": own.get("note", ""),
    }  # fmt: skip
