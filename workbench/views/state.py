"""What a session remembers, and how it is written down and read again, change by change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.scoring.thresholds import Thresholds
from workbench.views.filtering import Filter
from workbench.views.finding import Finding


@dataclass(frozen=True)
class Annotation:
    """A user's own verdict on one sample (``right``, ``wrong``, ``unsure`` or None), a note, and when (ISO time)."""

    verdict: str | None = None
    note: str = ""
    at: str = ""


@dataclass(frozen=True)
class State:
    """Everything that a session remembers; never changed in place."""

    filter: Filter = field(default_factory=Filter)
    selection: str | None = None
    thresholds: Thresholds | None = None
    annotations: Mapping[str, Annotation] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def difference(before: State, after: State) -> dict[str, Any]:
    """What to write down so that ``before`` becomes ``after``, whatever another kernel changes elsewhere."""
    entry: dict[str, Any] = {}
    if after.filter != before.filter:
        entry["filter"] = after.filter.to_dict()
    if after.selection != before.selection:
        entry["selection"] = after.selection
    if after.thresholds != before.thresholds:
        entry["thresholds"] = None if after.thresholds is None else after.thresholds.to_dict()
    changed = {key for key in before.annotations.keys() | after.annotations.keys()
               if before.annotations.get(key) != after.annotations.get(key)}  # fmt: skip
    if changed:
        entry["annotations"] = {key: _plain(after.annotations.get(key)) for key in sorted(changed)}
    if after.findings != before.findings:
        known = {item.finding_id: item for item in before.findings}
        entry["findings"] = [item.to_dict() for item in after.findings if known.get(item.finding_id) != item]
        gone = known.keys() - {item.finding_id for item in after.findings}
        entry["removed"] = sorted(gone)
        entry["order"] = [item.finding_id for item in after.findings]
    return entry


def replay(state: State, entry: Mapping[str, Any], figures: Path | None) -> State:
    """``state`` after one entry of the journal; an entry that makes no sense raises."""
    values: dict[str, Any] = {}
    if "filter" in entry:
        values["filter"] = Filter.from_dict(entry["filter"])
    if "selection" in entry:
        values["selection"] = entry["selection"]
    if "thresholds" in entry:
        plain = entry["thresholds"]
        values["thresholds"] = None if plain is None else Thresholds().replace(**plain)
    if "annotations" in entry:
        new = {key: Annotation(**plain) for key, plain in entry["annotations"].items() if plain is not None}
        kept = {key: value for key, value in state.annotations.items() if key not in entry["annotations"]}
        values["annotations"] = {**kept, **new}
    if "order" in entry:
        values["findings"] = _replayed_findings(state.findings, entry, figures)
    return dataclasses.replace(state, **values)


def _replayed_findings(known: Sequence[Finding], entry: Mapping[str, Any], figures: Path | None) -> tuple[Finding, ...]:
    items = {item.finding_id: item for item in known}
    for plain in entry.get("findings", ()):
        finding = Finding.from_dict(plain, figures)
        items[finding.finding_id] = finding
    for finding_id in entry.get("removed", ()):
        items.pop(finding_id, None)
    # A pin that this entry does not know was made by another kernel meanwhile: it stays, at the end.
    places = {finding_id: place for place, finding_id in enumerate(entry["order"])}
    return tuple(sorted(items.values(), key=lambda item: places.get(item.finding_id, len(places))))


def _plain(annotation: Annotation | None) -> dict[str, Any] | None:
    return None if annotation is None else dataclasses.asdict(annotation)
