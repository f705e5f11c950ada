"""A history of runs for others: Markdown for a pull request, one HTML file with the cards of the samples, JSON."""

from __future__ import annotations

import json
from typing import Any

from workbench.data.files import without_controls
from workbench.data.schema import none_if_missing
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

#: Rows of a table in Markdown.
ROWS = 20


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
