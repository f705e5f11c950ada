"""The repair plan in words: a few printed lines, and the tables as a reader wants them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from workbench.diagnosis.causes import title
from workbench.language import labelled, listed, numbers
from workbench.language import text as _t
from workbench.repair.estimate import Gain

if TYPE_CHECKING:
    from workbench.repair.plan import RepairPlan
    from workbench.repair.replay import Replay, ReplayPlan

#: Sample ids that are named.
NAMED = 6


def gain_words(gain: Gain) -> str:
    """ "+9 (+4 … +15)"; a dash where nothing can be estimated."""
    if gain.mean != gain.mean:
        return "–"
    low, high = (numbers.points(value) for value in (gain.low, gain.high))
    return numbers.points(gain.mean) + (f" ({low} … {high})" if gain.mean or gain.low or gain.high else "")


def headline(plan: RepairPlan) -> str:
    """What the fixes taken bring together."""
    taken = [repair for repair in plan.repairs if repair.taken]
    if all(came is None for came in plan.simulator.recorded):
        return _t("repair.unrecorded")
    if not taken:
        return _t("repair.nothing" if (plan.passed == 0).any() else "repair.no_failing")
    gain = plan.total
    return _t("repair.total", n=len(taken), rescued=len(plan.total_rescued), broken=len(plan.total_broken),
              gain=numbers.points(gain.mean), low=numbers.points(gain.low), high=numbers.points(gain.high))  # fmt: skip


def shown_table(plan: RepairPlan) -> pd.DataFrame:
    """The plan's table as texts; columns that nothing is known of are left out."""
    table = plan.table()
    rows = {
        "fix": table["fix"], "rescued": [f"+{n}" if n else "0" for n in table["rescued"]],
        "broken": [f"−{n}" if n else "0" for n in table["broken"]],
        "recall": [numbers.score(value) for value in table["recall"]],
        "context_recall": [numbers.score(value) for value in table["context_recall"]],
        **{name: table[name].astype(str) for name in ("split", "leaks")},
        "gain": [gain_words(repair.gain) for repair in plan.repairs],
        "marginal": [gain_words(repair.marginal) for repair in plan.repairs],
        "taken": [_t("repair.taken") if taken else "" for taken in table["taken"]],
        "tokens": [numbers.score(value, decimals=0, signed=True) for value in table["tokens"]],
        "cost": [numbers.score(value, signed=True) for value in table["cost"]],
        "latency_ms": [numbers.score(value, decimals=0, signed=True) for value in table["latency_ms"]],
    }  # fmt: skip
    frame = pd.DataFrame(rows, index=table.index)
    unknown = [name for name in ("recall", "context_recall", "cost", "latency_ms") if table[name].isna().all()]
    unknown += [name for name in ("split", "leaks") if not table[name].any() and not (plan.now[name] > 0).any()]
    return frame.drop(columns=unknown).rename(columns=lambda name: _t(f"repair.columns.{name}"))


def chunking_words(name: str) -> str:
    """A chunking of a sweep in words: how, and of how many tokens (+ how many shared)."""
    by, _, size = name.partition(" ")
    return f"{_t(f'repair.by.{by}')} {size}" if name else _t("repair.panel.as_they_are")


def levels_table(plan: RepairPlan) -> pd.DataFrame:
    """How often answers pass by what their contexts hold, as texts."""
    found = plan.model.table
    rows = {
        "level": [_t(f"repair.level.{name}") for name in found["level"]],
        "passing": [f"{passing} / {n}" for passing, n in zip(found["passing"], found["n"], strict=True)],
        "estimate": [numbers.percent(value) for value in found["estimate"]],
        "interval": [numbers.interval(low, high, rate=True) for low, high in zip(found["low"], found["high"], strict=True)],
    }  # fmt: skip
    return pd.DataFrame(rows).rename(columns=lambda name: _t(f"repair.columns.{name}"))


def unreached_table(plan: RepairPlan) -> pd.DataFrame:
    """What no fix reaches, as texts."""
    found = plan.unreached()
    rows = {
        "cause": [title(name) for name in found["cause"]], "layer": [_t(f"report.layer.{name}") for name in found["layer"]],
        "n": [some_ids(ids) for ids in found["sample_ids"]], "advice": found["advice"],
    }  # fmt: skip
    return pd.DataFrame(rows).rename(columns=lambda name: _t(f"repair.columns.{name}"))


def some_ids(ids: object) -> str:
    """ "3: qa-001, qa-002, qa-003"; the first ones of many."""
    names = [str(one) for one in ids]  # type: ignore[attr-defined]
    more = " …" if len(names) > NAMED else ""
    return labelled(f"{len(names):,}", listed(names[:NAMED]) + more) if names else "0"


def behind(plan: RepairPlan) -> list[str]:
    """For each fix that does something: the samples that it mends and breaks, and the documents that it is about."""
    lines = []
    for repair in plan.repairs:
        named = {"rescued": repair.rescued, "broken": repair.broken, "documents": repair.fix.documents}
        parts = [f"{_t(f'repair.{name}')} {some_ids(ids)}" for name, ids in named.items() if ids]
        if repair.rescued or repair.broken:
            lines.append(" · ".join([repair.fix.title, *parts]))
    return lines


def plain(plan: RepairPlan) -> str:
    """The plan for a terminal."""
    unreached = plan.unreached()
    left = [f"{title(name)} · {some_ids(ids)}" for name, ids in zip(unreached["cause"], unreached["sample_ids"], strict=True)]
    lines = [_t("repair.title"), headline(plan), "", _printed(shown_table(plan)), "", _t("repair.unreached_title"), *left, ""]
    if causes := plan.prompts():
        lines.append(labelled(_t("repair.prompts_title"), listed([title(name) for name in causes])))
        lines += [_t("repair.prompts_where", cause=causes[0]), ""]
    return "\n".join([*lines, *plan.notes])


def _printed(frame: pd.DataFrame) -> str:
    """A table as plain text; a Chinese character takes two columns."""
    with pd.option_context("display.unicode.east_asian_width", True):
        return str(frame.to_string(index=False))


def usual_words(plan: RepairPlan) -> str:
    """What a question gets today."""
    return _t("repair.k_usual", k=plan.simulator.usual, tokens=numbers.count(plan.now["tokens"].mean()))


def unreached_words(plan: RepairPlan) -> str:
    """How many samples no fix reaches."""
    n = int(plan.unreached()["n"].sum())
    return _t("repair.unreached_lead", n=n, total=int((plan.passed == 0).sum())) if n else _t("repair.unreached_none")


def page(headline: str, shown: pd.DataFrame, lines: Iterable[str] = ()) -> str:
    """HTML of a headline, a table and lines below it, for a notebook's cell."""
    notes = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<p><b>{escape(headline)}</b></p>{shown.to_html(index=False, escape=True, na_rep='–')}<ul>{notes}</ul>"


# ------------------------------------------------------------------------------
# Replay.


def _arm(arm: str) -> str:
    return _t(f"repair.replay.arm.{arm}") if arm in ("oracle", "none", "recorded", "plan") else arm


def calls_table(planned: ReplayPlan) -> pd.DataFrame:
    """The calls of a replay by arm, as texts."""
    found = planned.rows
    costs = ["–" if cost != cost else f"${cost:.4f}" for cost in found["cost"]]
    counts = {name: [f"{n:,}" for n in found[name]] for name in ("calls", "recorded", "tokens")}
    frame = pd.DataFrame({"arm": map(_arm, found["arm"]), **counts, "cost": costs})
    return frame.rename(columns=lambda name: _t(f"repair.replay.columns.{name}"))


def replay_table(found: Replay) -> pd.DataFrame:
    """What was measured, by arm, as texts; the column of errors where there are some."""
    table = found.table()
    table["arm"] = table["arm"].map(_arm)
    unused = [name for name in ("untested", "errors") if not table[name].any()]
    return table.drop(columns=unused).rename(columns=lambda name: _t(f"repair.replay.columns.{name}"))


def replay_lines(found: Replay) -> list[str]:
    """What the experiment says of each failing sample, calls that failed, and what makes the runs hard to compare."""
    faults = found.faults()["fault"]
    lines = [
        f"{_t(f'repair.replay.fault.{name}')} · {some_ids(faults.index[faults == name])}"
        for name in ("retrieval", "generation", "prompt", "unstable", "untold") if (faults == name).any()
    ]  # fmt: skip
    if len(found.errors):
        lines.append(_t("repair.replay.errors", n=len(found.errors), reason=found.errors["error"].iloc[0]))
    # The contexts are given, so it says nothing that no knowledge base was searched.
    warnings = [line for arm in found.runs for line in found.compare(arm).warnings if line != _t("compare.warning.corpus")]
    return lines + list(dict.fromkeys(warnings))


def replay_plain(found: Replay) -> str:
    """A replay for a terminal."""
    return "\n".join([_t("repair.replay.title"), _printed(replay_table(found)), "", *replay_lines(found)])
