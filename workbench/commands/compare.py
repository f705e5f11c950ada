"""``compare``: what changed between two evaluations, and whether it is real."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.commands.shared import note, printable, say

if TYPE_CHECKING:
    from workbench.diagnosis.comparison import Comparison

#: Flips that are printed; ``--out`` has all.
PRINTED = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("before", metavar="DIR_A", help="the evaluation before")
    parser.add_argument("after", metavar="DIR_B", help="the evaluation after")
    parser.add_argument("--thresholds", metavar="FILE", help="put both under the thresholds of this TOML file")
    parser.add_argument(
        "--correction", choices=("holm", "bh"), default="holm", help="for how many metrics were looked at"
    )
    parser.add_argument("--language", choices=("en", "zh"), help="language of the words (default: English)")
    parser.add_argument("--out", metavar="FILE", help="write all of it: .html, .md, .json, or .csv (one row a sample)")


def run(options: argparse.Namespace) -> int:
    """Print what to know first, the verdict, the ledger, the tests and the samples that flipped."""
    from workbench.comparing import compare
    from workbench.language import set_language
    from workbench.scoring.thresholds import Thresholds

    set_language(options.language or "en")
    writer = _writer(options.out)
    thresholds = Thresholds.from_toml(options.thresholds) if options.thresholds else None
    comparison = compare(options.before, options.after, thresholds=thresholds, correction=options.correction)
    for title, body in _sections(comparison):
        say(f"\n{title}" if title else "")
        say(body)
    if options.out:
        writer(comparison, Path(options.out))
        note(f"written to {options.out}")
    return 0


def _sections(comparison: Comparison) -> list[tuple[str, str]]:
    """Title and text of each part, in the order in which they are read."""
    from workbench.language import text as _t

    flips = comparison.flips().sort_values("contrast", kind="stable")
    flipped = flips[flips["change"].isin(["broken", "fixed"])]
    columns = [
        "metric",
        "n_pairs",
        "before",
        "after",
        "delta",
        "low",
        "high",
        "p_value",
        "p_adjusted",
        "smallest_detectable",
    ]
    tests = comparison.tests()[columns].round(3)
    numbers = tests.select_dtypes("float").columns
    tests[numbers] += 0.0  # no minus before a zero
    ledger = comparison.ledger()
    moved = ledger.loc[
        ledger["cause_before"] != ledger["cause_after"], ["cause_before", "cause_after", "n", "sample_ids"]
    ]
    moved = moved.assign(
        sample_ids=moved["sample_ids"].map(lambda ids: ", ".join(ids[:8]) + (" …" if len(ids) > 8 else ""))
    )
    shown = flipped[["sample_id", "change", "cause_before", "cause_after", "answer_changed", "contexts_changed"]]
    return [
        (f"{comparison.before.name} → {comparison.after.name}", str(comparison)),
        (_t("compare.section.counts"), counts_words(comparison)),
        (_t("compare.section.ledger"), printable(moved) if len(moved) else "–"),
        (_t("compare.section.layers"), printable(comparison.layers())),
        (_t("compare.section.tests", method=comparison.correction),
         printable(tests[tests["n_pairs"] > 0].reset_index(drop=True))),
        (_t("compare.section.flips", shown=min(PRINTED, len(shown)), total=len(shown)),
         printable(shown.head(PRINTED).reset_index(drop=True)) if len(shown) else "–"),
    ]  # fmt: skip


def counts_words(comparison: Comparison) -> str:
    """ "fixed 16 · broken 3 · still failing 20 …"."""
    from workbench.diagnosis.comparing_words import change_title

    counts = comparison.counts
    return " · ".join(f"{change_title(name)} {getattr(counts, name)}" for name in counts._fields[1:6])


# ---------------------------------------------------------------- files


def _writer(out: str | None) -> Callable[[Comparison, Path], Any]:
    """How to write ``out``, checked before anything is computed."""
    from workbench.errors import InputError

    writers = {".csv": _csv, ".json": _json, ".md": _markdown, ".html": _html}
    suffix = Path(out or "x.csv").suffix.lower()
    if suffix not in writers:
        raise InputError(f"--out {out}: unknown kind of file; use {', '.join(writers)}")
    return writers[suffix]


def _csv(comparison: Comparison, path: Path) -> None:
    from workbench.data.tables import write_csv

    write_csv(path, comparison.flips(), index=False)


def _json(comparison: Comparison, path: Path) -> None:
    from workbench.data.files import write_text

    frames = {"ledger": comparison.ledger(), "layers": comparison.layers().reset_index(), "flips": comparison.flips(),
              "tests": comparison.tests(), "noise": comparison.noise(), "split": comparison.split().reset_index(),
              "rank_moves": comparison.rank_moves(), "red_lines": comparison.red_lines()}  # fmt: skip
    content = {
        "before": comparison.before.name, "after": comparison.after.name, "warnings": comparison.warnings,
        "notes": comparison.notes, "verdict": comparison.verdict, "counts": comparison.counts._asdict(),
        "only_before": comparison.only_before, "only_after": comparison.only_after,
        **{name: json.loads(frame.to_json(orient="records", force_ascii=False)) for name, frame in frames.items()},
    }  # fmt: skip
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _markdown(comparison: Comparison, path: Path) -> None:
    from workbench.data.files import write_text
    from workbench.data.tables import without_controls

    parts = [f"# {title}\n\n{body}" if not i else f"## {title}\n\n{_block(body)}"
             for i, (title, body) in enumerate(_sections(comparison))]  # fmt: skip
    write_text(path, without_controls("\n\n".join(parts)) + "\n")


def _block(body: str) -> str:
    return f"```text\n{body}\n```" if "\n" in body else body


def _html(comparison: Comparison, path: Path) -> None:
    from workbench.data.files import write_text
    from workbench.language import get_language
    from workbench.views.html import page
    from workbench.views.panels.compare_parts import comparison_html

    title = f"{comparison.before.name} → {comparison.after.name}"
    write_text(path, str(page(title, comparison_html(comparison), language=get_language())))
