"""What changed between runs, written for others: a comparison of two and a history of many, as text, Markdown, HTML, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workbench.data.files import without_controls, write_csv, write_text
from workbench.data.schema import none_if_missing
from workbench.diagnosis.comparison import Comparison, change_title
from workbench.language import get_language, listed
from workbench.language import text as _t
from workbench.reports.render import md, md_table
from workbench.runs import History
from workbench.views.history import (
    CARDS,
    broken_frame,
    card_anchor,
    history_parts,
    keys_frame,
    runs_frame,
    steps_frame,
    verdict_lines,
)
from workbench.views.html import h, page
from workbench.views.wording import cause_title

#: Rows of a table in Markdown and on a terminal.
ROWS = 20

# ------------------------------------------------------------------------------
# A comparison of two runs.


def comparison_parts(comparison: Comparison) -> list[tuple[str, str]]:
    """Title and text of each part, in the order in which they are read."""
    flips = comparison.flips().sort_values("contrast", kind="stable")
    flipped = flips[flips["change"].isin(["broken", "fixed"])]
    columns = ["metric", "n_pairs", "before", "after", "delta", "low", "high", "p_value", "p_adjusted", "smallest_detectable"]
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
        (_t("compare.section.counts"), _counts(comparison)),
        (_t("compare.section.ledger"), _printable(moved) if len(moved) else "–"),
        (_t("compare.section.layers"), _printable(comparison.layers())),
        (_t("compare.section.tests", method=comparison.correction),
         _printable(tests[tests["n_pairs"] > 0].reset_index(drop=True))),
        (_t("compare.section.flips", shown=min(ROWS, len(shown)), total=len(shown)),
         _printable(shown.head(ROWS).reset_index(drop=True)) if len(shown) else "–"),
    ]  # fmt: skip


def _counts(comparison: Comparison) -> str:
    """ "fixed 16 · broken 3 · still failing 20 …"."""
    counts = comparison.counts
    return " · ".join(f"{change_title(name)} {getattr(counts, name)}" for name in counts._fields[1:6])


def write_comparison(comparison: Comparison, out: str) -> None:
    """Write it as the kind of file that ``out`` is named as."""
    suffix = Path(out).suffix.lower()
    if suffix == ".csv":
        write_csv(out, comparison.flips(), index=False)
    elif suffix == ".json":
        frames = {"ledger": comparison.ledger(), "layers": comparison.layers().reset_index(), "flips": comparison.flips(),
                  "tests": comparison.tests(), "noise": comparison.noise(), "split": comparison.split().reset_index(),
                  "rank_moves": comparison.rank_moves(), "red_lines": comparison.red_lines()}  # fmt: skip
        content = {
            "before": comparison.before.name, "after": comparison.after.name, "warnings": comparison.warnings,
            "notes": comparison.notes, "verdict": comparison.verdict, "counts": comparison.counts._asdict(),
            "only_before": comparison.only_before, "only_after": comparison.only_after,
            **{name: json.loads(frame.to_json(orient="records", force_ascii=False)) for name, frame in frames.items()},
        }  # fmt: skip
        write_text(out, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    elif suffix == ".md":
        (title, body), *parts = comparison_parts(comparison)
        blocks = [f"## {name}\n\n" + (f"```text\n{text}\n```" if "\n" in text else text) for name, text in parts]
        write_text(out, without_controls("\n\n".join([f"# {title}\n\n{body}", *blocks])) + "\n")
    else:
        from workbench.views.panels.compare import comparison_html

        title = f"{comparison.before.name} → {comparison.after.name}"
        write_text(out, str(page(title, comparison_html(comparison), language=get_language())))


def _printable(table: Any) -> str:
    """A frame as plain text, whole."""
    import pandas as pd

    with pd.option_context("display.width", 200, "display.max_colwidth", 80):
        return str(table.to_string(na_rep="–"))


# ------------------------------------------------------------------------------
# A history of runs.


def history_html(history: History, *, cards: int = CARDS) -> str:
    """One page without scripts: verdict, pictures, tables, and a card for each sample that broke and is not repaired."""
    title = _t("history.report.title")
    return str(page(title, h("h2", title), *history_parts(history, cards=cards), language=get_language()))


def history_markdown(history: History, *, cards: str = "") -> str:
    """What broke, which change did it, which samples, for a pull request; ``cards``: address of the HTML page, whose cards the
    samples then link to."""
    mark = "✗" if history.regressed else "✓"
    first, *rest = verdict_lines(history)
    parts = [f"## {_t('history.report.title')}", f"{mark} **{md(first)}**", "\n".join(f"- {md(line)}" for line in rest)]
    if len(history) < 2:
        return without_controls("\n\n".join(filter(None, parts))) + "\n"
    broken = broken_frame(history)
    if len(broken):
        parts.append(f"### {_t('history.report.broken', n=len(broken))}")
        counts = broken["cause"].value_counts()
        parts.append(md(listed(f"{cause_title(name)} {n}" for name, n in counts.items())))
        columns = ["sample_id", "broke_in", "cause", "changed"]
        rows = [
            [f"[{md(name)}]({cards}#{card_anchor(name)})" if cards and at < CARDS else md(name), md(row["broke_in"]),
             md(cause_title(row["cause"])), md(row["changed"])]
            for at, (name, row) in enumerate(broken.head(ROWS).iterrows())
        ]  # fmt: skip
        parts.append(md_table([_t(f"history.column.{name}") for name in columns], rows))
        if len(broken) > ROWS:
            parts.append(_t("history.report.more", n=len(broken) - ROWS))
    parts.append(f"### {_t('history.panel.steps')}")
    for frame in (steps_frame(history.series).iloc[::-1], runs_frame(history)):
        rows = [[md(value) for value in row] for row in frame.head(ROWS).to_numpy().tolist()]
        parts.append(md_table([_t(f"history.column.{name}") for name in frame], rows))
    return without_controls("\n\n".join(filter(None, parts))) + "\n"


def history_text(history: History) -> str:
    """The same for a terminal."""
    parts = ["\n".join(verdict_lines(history))]
    if len(history) > 1:
        broken = broken_frame(history).drop(columns="passed_in").reset_index()
        steps, keys = steps_frame(history.series).tail(ROWS), keys_frame(history.series).head(ROWS)
        frames = {"broken_samples": broken.head(ROWS), "steps": steps, "keys": keys}
        for name, frame in frames.items():
            if len(frame):
                titles = {column: _t(f"history.column.{column}") for column in frame}
                parts.append(
                    f"{_t(f'history.panel.{name}')}\n{frame.rename(columns=titles).to_string(index=False, max_colwidth=60)}"
                )
    return without_controls("\n\n".join(parts)) + "\n"


def history_json(history: History) -> str:
    """Everything: verdict, runs, steps, keys, noise, drift, samples that differ."""
    series, samples = history.series, history.series.samples()
    frames = {"runs": history.table, "steps": series.steps(), "keys": series.key_effects(), "noise": series.noise(),
              "judge_moves": series.judge_moves, "samples": samples[(samples["n_flips"] > 0) | samples["flaky"]]}  # fmt: skip
    sure = [row for row in series.steps().to_dict("records") if row["verdict"] != "noise"]
    drift = {key: none_if_missing(value) for key, value in series.drift().items()}
    content: dict[str, Any] = {
        "regressed": history.regressed, "verdict": verdict_lines(history), "measure": history.measure, "alpha": history.alpha,
        "drift": drift, "record": {row["run"]: series.to_record(row["step"]) for row in sure},
        **{name: json.loads(frame.to_json(orient="records", default_handler=str)) for name, frame in frames.items()},
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, indent=1, default=str) + "\n"
