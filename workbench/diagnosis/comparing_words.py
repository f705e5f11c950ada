"""A comparison in words: what to know before any number, and the outcome in a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import get_language
from workbench.language import text as _t
from workbench.scoring.thresholds import Thresholds

if TYPE_CHECKING:
    from workbench.diagnosis.comparison import Comparison

#: Parts of the manifest that must agree for two verdicts to mean the same, by the name of their text.
_SAME = ("judge", "prompt_hash", "encoder")
#: Ids that a sentence names at most.
NAMED = 5


def warnings(comparison: Comparison) -> list[str]:
    """What makes the two hard to compare, each in one sentence; empty when nothing does."""
    return [*_thresholds(comparison), *_judges(comparison), *_data(comparison)]


def _thresholds(comparison: Comparison) -> list[str]:
    first, second = comparison.before.thresholds, comparison.after.thresholds
    lines = []
    if first.k != second.k:
        lines.append(_t("compare.warning.k", before=first.k, after=second.k))
    if first.match != second.match:
        lines.append(_t("compare.warning.match", before=first.match, after=second.match))
    if changed := _differing(first, second):
        lines.append(_t("compare.warning.thresholds", changes="; ".join(changed)))
    return lines


def _differing(first: Thresholds, second: Thresholds) -> list[str]:
    """The cut-offs that differ, but k, matching and targets (which move no verdict), as "name 0.5 → 0.6"."""
    one, other = first.to_dict(), second.to_dict()
    flat = [{**plain, **{f"low score of {m}": cut for m, cut in plain["low_scores"].items()}} for plain in (one, other)]
    left_out = ("k", "match", "targets", "low_scores")
    names = [name for name in dict.fromkeys([*flat[0], *flat[1]]) if name not in left_out]
    return [f"{name} {flat[0].get(name, '–')} → {flat[1].get(name, '–')}" for name in names
            if flat[0].get(name) != flat[1].get(name)]  # fmt: skip


def _judges(comparison: Comparison) -> list[str]:
    first, second = comparison.before.manifest, comparison.after.manifest
    lines = [
        _t(f"compare.warning.{name}", before=first.get(name) or "–", after=second.get(name) or "–")
        for name in _SAME
        if first.get(name) != second.get(name)
    ]
    methods = [_methods(run.evidence) for run in (comparison.before, comparison.after)]
    if methods[0] != methods[1] and first.get("judge") == second.get("judge"):
        lines.append(
            _t("compare.warning.methods", before=", ".join(methods[0]) or "–", after=", ".join(methods[1]) or "–")
        )
    return lines


def _methods(evidence: Any) -> list[str]:
    return sorted({str(method) for method in evidence.plain("judge_method") if method is not None})


def _data(comparison: Comparison) -> list[str]:
    pairing, lines = comparison.pairing, []
    edited = pairing.case_changed
    if edited.any():
        ids = _named([str(item) for item in pairing.ids[edited]])
        lines.append(_t("compare.warning.cases", n=f"{int(edited.sum()):,}", ids=ids))
    corpora = [(run.manifest.get("corpus") or {}).get("hash") for run in (comparison.before, comparison.after)]
    if corpora[0] != corpora[1]:
        lines.append(_t("compare.warning.corpus"))
    fewer = min(len(comparison.before.evidence), len(comparison.after.evidence))
    if fewer and len(pairing) < fewer / 2:
        lines.append(_t("compare.warning.overlap", n=f"{len(pairing):,}", total=f"{fewer:,}"))
    return lines


def notes(comparison: Comparison) -> list[str]:
    """What to know beside the warnings: how many samples matched, and how much of the recordings is the same."""
    pairing = comparison.pairing
    lines = [_t("compare.note.matched", n=f"{len(pairing):,}", before=f"{len(pairing.only_before):,}",
                after=f"{len(pairing.only_after):,}")]  # fmt: skip
    hashes = [run.manifest.get("data_hash") for run in (comparison.before, comparison.after)]
    if hashes[0] != hashes[1]:
        lines.append(_t("compare.note.data", before=str(hashes[0] or "–")[:8], after=str(hashes[1] or "–")[:8],
                        same=f"{int(pairing.identical.sum()):,}", n=f"{len(pairing):,}"))  # fmt: skip
    if noise := comparison.counts.noise:
        ids = _named(comparison.noise()["sample_id"].tolist())
        lines.append(_t("compare.note.noise", n=f"{noise:,}", same=f"{int(pairing.identical.sum()):,}", ids=ids))
    return lines


def verdict(comparison: Comparison) -> str:
    """The outcome in a sentence or two."""
    counts, row = comparison.counts, comparison.passing
    if not counts.n:
        return _t("compare.verdict.no_ids")
    n = row["n_pairs"]
    if not n:
        return _t("compare.verdict.untested", n=f"{counts.n:,}")
    if counts.fixed == counts.broken == 0:
        unmoved = not comparison.pairing.answer_changed.any() and not comparison.pairing.contexts_changed.any()
        first = _t("compare.verdict.same" if unmoved else "compare.verdict.no_flip", n=f"{n:,}", **_levels(row))
    else:
        first = _t(f"compare.verdict.{_direction(row)}", **_figures(row))
    return ("" if get_language() == "zh" else " ").join([first, *_red(comparison)])


def _direction(row: Any) -> str:
    if row["delta"] == 0:
        return "even"
    way = "better" if row["delta"] > 0 else "worse"
    return f"{way}_real" if row["p_value"] < 0.05 else f"{way}_noise"


def _levels(row: Any) -> dict[str, str]:
    return {name: f"{math.floor(100 * row[name] + 0.5)} %" for name in ("before", "after")}


def _figures(row: Any) -> dict[str, str]:
    return {
        "n": f"{row['n_pairs']:,}", "points": points(abs(row["delta"]), sign=False), "low": points(row["low"]),
        "high": points(row["high"]), "p": p_text(row["p_value"]),
        "detectable": points(row["smallest_detectable"], sign=False), **_levels(row),
    }  # fmt: skip


def points(value: float, *, sign: bool = True) -> str:
    """A difference of rates in points of a hundred: 0.163 → "+16"; one decimal below 1; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return "–"
    hundred = 100 * abs(value)
    # Half a point goes up, as the rates beside it do: 55 % → 67.5 % is 13 points, not 12.
    shown = f"{math.floor(hundred + 0.5)}" if hundred >= 0.95 or not hundred else f"{hundred:.1f}"
    return ("" if not hundred else "−" if value < 0 else "+" if sign else "") + shown


def p_text(p: float) -> str:
    """ "p = 0.03", "p < 0.001"; "–" without a test."""
    if p is None or not np.isfinite(p):
        return "p –"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.01 else f"p = {p:.2f}"


def _red(comparison: Comparison) -> list[str]:
    """New and vanished permission leaks, and how many samples broke."""
    red = comparison.red_lines()
    new, gone = (red.loc[red["change"] == name, "sample_id"].tolist() for name in ("new", "gone"))
    lines = (
        [_t(f"compare.verdict.leaks_{'one' if len(new) == 1 else 'new'}", n=len(new), ids=_named(new))] if new else []
    )
    if broken := comparison.counts.broken:
        key = "broken_one" if broken == 1 else "broken"
        lines.append(_t(f"compare.verdict.{key}", n=f"{broken:,}"))
    if gone:
        lines.append(_t(f"compare.verdict.leaks_gone{'_one' if len(gone) == 1 else ''}", n=len(gone)))
    return lines


def _named(ids: list[str]) -> str:
    shown = ", ".join(item[:40] for item in ids[:NAMED])
    return shown + (f" … (+{len(ids) - NAMED:,})" if len(ids) > NAMED else "")


def change_title(change: str) -> str:
    """``broken`` … as a reader calls it."""
    return _t(f"compare.change.{change}.name")


def layer_title(layer: str) -> str:
    """``retrieval`` … as a reader calls it."""
    return _t(f"compare.layer.{layer}.name")
