"""JUnit XML: what build servers read. Control characters that XML cannot hold are left out, keys are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from workbench.data.files import write_text
from workbench.data.redact import redacted
from workbench.data.tables import without_controls

STATES = ("passed", "failed", "skipped", "error")


@dataclass(frozen=True)
class Case:
    """One test case: a rule of a gate, or a sample of an evaluation.

    Attributes
    ----------
    suite, name
        The group it stands in (``red lines``, a cause …) and what it is called.
    state
        One of :data:`STATES`.
    message, detail
        One line that says what is wrong, and more of it.
    seconds
        How long the sample took, 0 when unknown.
    """

    suite: str
    name: str
    state: str = "passed"
    message: str = ""
    detail: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"state {self.state!r} is not one of {', '.join(STATES)}")


def junit_xml(title: str, cases: Sequence[Case], properties: Mapping[str, object] | None = None) -> str:
    """The cases as JUnit XML, one suite for each ``suite`` in the order of their first cases.

    Parameters
    ----------
    title
        Name of the whole.
    properties
        What every suite carries: run, judge, thresholds …
    """
    order = {name: place for place, name in enumerate(dict.fromkeys(case.suite for case in cases))}
    ordered = sorted(cases, key=lambda case: order[case.suite])
    root = ElementTree.Element("testsuites", {"name": _text(title), **_counts(ordered)})
    for name, group in groupby(ordered, key=lambda case: case.suite):
        members = list(group)
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(name), **_counts(members)})
        if properties:
            holder = ElementTree.SubElement(suite, "properties")
            for key, value in properties.items():
                ElementTree.SubElement(holder, "property", {"name": _text(key), "value": _text(value)})
        for case in members:
            _add(suite, case, title)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def write_junit(
    path: str | Path, title: str, cases: Sequence[Case], properties: Mapping[str, object] | None = None
) -> Path:
    """Write :func:`junit_xml` to ``path``, whole or not at all. Raises ``InputError`` when it cannot be written."""
    return write_text(path, junit_xml(title, cases, properties))


def _add(suite: ElementTree.Element, case: Case, title: str) -> None:
    names = {
        "name": _text(case.name),
        "classname": f"{_text(title)}.{_text(case.suite)}",
        "time": f"{case.seconds:.3f}",
    }
    element = ElementTree.SubElement(suite, "testcase", names)
    tag = {"failed": "failure", "skipped": "skipped", "error": "error"}.get(case.state)
    if tag is not None:
        inner = ElementTree.SubElement(element, tag, {"message": _text(case.message)})
        inner.text = _text(case.detail or case.message)


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    states = [case.state for case in cases]
    return {
        "tests": str(len(states)), "failures": str(states.count("failed")), "errors": str(states.count("error")),
        "skipped": str(states.count("skipped")), "time": f"{sum(case.seconds for case in cases):.3f}",
    }  # fmt: skip


def _text(value: object) -> str:
    return redacted(without_controls(str(value)))
