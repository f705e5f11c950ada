"""A report as Markdown, with its pictures as PNG files beside it.

Every text from data is escaped: no markup, no links, no pictures and no HTML can come out of it; direction overrides
are isolated in ``<bdi>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.data.files import write_bytes, write_text
from workbench.language import labelled, speaking
from workbench.language import text as _t
from workbench.reports import extracts, phrases, pictures, words
from workbench.reports.extracts import IDS, ROWS, TABLE
from workbench.reports.report import Action, Breakdown, CauseBlock, Changes, Example, Measure, Moved, Report
from workbench.reports.secrets import without_keys
from workbench.views.finding import Finding
from workbench.views.html import clean

#: Characters that begin markup anywhere; an underscore only does at the edge of a word.
_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))")
#: What begins a list, a heading or a rule at the beginning of a line.
_LEADING = re.compile(r"^(\d*)([-+#=.)])")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def write_markdown(report: Report, target: Path) -> Path:
    """Write the report to ``target`` and its pictures to ``<name>_files`` beside it; pictures first."""
    folder = target.with_name(f"{target.stem}_files")
    with speaking(report.language):
        drawn = pictures.pictures(report)
        for name, png in drawn.items():
            write_bytes(folder / f"{name}.png", png)
        lines = markdown(report, {name: f"{folder.name}/{name}.png" for name in drawn})
    return write_text(target, lines)


def markdown(report: Report, places: dict[str, str]) -> str:
    """The text; ``places``: name of a picture → its address from here."""
    with speaking(report.language):
        parts = [
            _top(report), _quality(report), _broken(report, places), _where(report, places), _changes(report.changes),
            _findings(report, places), _next(report), _measured(report), _metrics(report.measures), _failing(report),
        ]  # fmt: skip
        return without_keys("\n\n".join(line for part in parts for line in part if line) + "\n")


def md(value: Any) -> str:
    """A text on one line that Markdown shows as it is."""
    if value is None:
        return "–"
    line = " ".join(clean(value).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", line))
    return f"<bdi>{escaped}</bdi>" if _DIRECTION.search(escaped) else escaped


# ---------------------------------------------------------------- pieces


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown already; columns of ``right`` are numbers."""
    rule = ["---:" if at in right else "---" for at in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, rule, *rows])


def _heading(number: int, key: str) -> str:
    return f"## {number} {_t(f'report.section.{key}')}"


def _of(n: int, total: int) -> str:
    return _t("report.quality.of", n=words.count(n), total=words.count(total))


def _top(report: Report) -> list[str]:
    quoted = "\n>\n".join(f"> {'**' if at == 0 else ''}{md(s)}{'**' if at == 0 else ''}" for at, s in
                          enumerate(report.verdict))  # fmt: skip
    steps = "\n".join(f"{at}. {_step(action)}" for at, action in enumerate(report.actions, 1))
    label = f"**{_t('report.section.next_short')}**" if steps else ""
    return [f"# {md(report.title)}", md(report.subtitle), quoted, label, steps]


def _step(action: Action) -> str:
    return f"**{'⚠ ' if action.red_line else ''}{md(action.title)}** · {phrases.touches(action)} · {md(action.advice[0])}"


def _states(measure: Measure) -> str:
    return " · ".join(f"{_t(f'report.quality.{s}')} {words.count(n)}" for s, n in measure.states.items()) or "–"


def _target(measure: Measure) -> str:
    if measure.meets_target is None:
        return words.score(measure.target)
    told = f"{words.score(measure.target)} {'✓' if measure.meets_target else '✗'}"
    if measure.attainable < measure.target:
        told += f" ({_t('report.quality.attainable', value=words.score(measure.attainable))})"
    return told


def _quality(report: Report) -> list[str]:
    shown = [measure for measure in report.measures if measure.shown]
    name = _t("report.quality.metric")
    tail = [_t(f"report.quality.{key}") for key in ("target", "n", "states")]
    if report.changes is None:
        heads = [name, *(_t(f"report.quality.{key}") for key in ("mean", "interval")), *tail]
        rows = [[md(m.title), words.score(m.mean), words.interval(m.low, m.high) or "–", *_tail(m)] for m in shown]
        return [_heading(1, "quality"), _t("report.quality.intro"), _table(heads, rows, (1, 4)), _ladder(report)]
    heads = [name, *(_t(f"report.quality.{key}") for key in ("before", "after", "difference", "pairs")), *tail]
    rows = [[md(m.title), words.score(m.before), words.score(m.after), _delta(m), words.count(m.n_pairs), *_tail(m)]
            for m in shown]  # fmt: skip
    note = _t("report.quality.significant")
    return [_heading(1, "quality"), _t("report.quality.intro"), _table(heads, rows, (1, 2, 3, 4, 6)), note, _ladder(report)]


def _tail(measure: Measure) -> list[str]:
    return [_target(measure), _of(measure.n_ok, measure.n_total), _states(measure)]


def _delta(measure: Measure) -> str:
    told = words.score(measure.delta, signed=True)
    bold = measure.p is not None and measure.p < 0.05
    return f"{f'**{told}**' if bold else told} {words.interval(measure.delta_low, measure.delta_high, signed=True)}".strip()


def _ladder(report: Report) -> str:
    if not report.ladder:
        return ""
    steps = [f"{s.title} **{words.percent(s.rate)}** ({words.rate_interval(s.low, s.high)})" for s in report.ladder]
    return _t("report.ladder.intro", n=words.count(report.ladder[0].n)) + " " + " · ".join(steps)


def _broken(report: Report, places: dict[str, str]) -> list[str]:
    if not report.causes:
        return [_heading(2, "broken"), phrases.nothing(report, "broken")]
    heads = [_t(f"report.broken.{key}") for key in ("cause", "layer", "n")]
    rows = [[md(c.title), md(c.layer_title), _share(c)] for c in report.causes]
    lines = [_heading(2, "broken"), phrases.causes_intro(report), _picture(places, "causes", _t("report.section.broken"))]
    return [*lines, _table(heads, rows), *(line for cause in report.causes for line in _cause(cause))]


def _share(c: CauseBlock) -> str:
    return _t("report.broken.share", n=words.count(c.n), total=words.count(c.n_total), rate=words.percent(c.n / c.n_total),
              interval=words.rate_interval(c.low, c.high))  # fmt: skip


def _picture(places: dict[str, str], name: str, caption: str) -> str:
    return f"![{md(caption)}]({places[name]})" if name in places else ""


def _cause(cause: CauseBlock) -> list[str]:
    return [
        f"### {md(cause.title)} ({_of(cause.n, cause.n_total)})",
        " · ".join(f"{md(name)} {n}" for name, n in cause.sub_causes.items()),
        f"**{_t('report.broken.fix')}** {md(cause.advice)}",
        *(_example(example) for example in cause.examples),
    ]


def _example(example: Example) -> str:
    answer = _t("report.broken.no_answer") if example.answer is None else _marked(example)
    told = {"question": _cut(example.question), "answer": answer,
            "expected": _cut(example.expected) or _t("report.broken.no_expectation"),
            "why": md(example.evidence)}  # fmt: skip
    lines = [f"**{_t(f'report.broken.{name}')}** {text}" for name, text in told.items()]
    return "> " + "  \n> ".join([md(example.sample_id), *lines])


def _cut(text: str, limit: int = extracts.EXAMPLE) -> str:
    shown, note = extracts.head(text, limit)
    return f"{md(shown)} {md(note)}".strip() if note else md(shown)


def _marked(example: Example) -> str:
    """The answer with ✗ and bold type on what is wrong."""
    shown, wrong, note = extracts.around(str(example.answer), example.wrong)
    parts, at = [], 0
    for stretch in sorted(wrong, key=lambda item: item.start):
        if stretch.start < at or not shown[stretch.start : stretch.end].strip():
            continue
        parts += [md(shown[at : stretch.start]), f"**✗ {md(shown[stretch.start : stretch.end])}**"]
        at = stretch.end
    return " ".join(part for part in [*parts, md(shown[at:]), md(note) if note else ""] if part)


def _where(report: Report, places: dict[str, str]) -> list[str]:
    lines = [_heading(3, "where")]
    for part in report.places:
        lines += [f"### {md(part.title)}", _picture(places, f"where-{part.name}", part.title), _slices(part), md(part.reason)]
    return lines if report.places else [*lines, _t("report.where.none")]


def _slices(part: Breakdown) -> str:
    if not part.rows:
        return ""
    worst = part.name == "worst"
    last = ("lift", "q") if worst else ("causes",)
    heads = ["", *(_t(f"report.where.{key}") for key in ("failing", "rate", *last))]
    rows = [[md(s.value), _of(s.n_failing, s.n), f"{words.percent(s.rate)} ({words.rate_interval(s.low, s.high)})",
             *([words.score(s.lift), words.chance(s.q_value)] if worst else [md(s.causes)])]
            for s in part.rows]  # fmt: skip
    return _table(heads, rows, (1,))


def _changes(changes: Changes | None) -> list[str]:
    if changes is None:
        return [_heading(4, "changes"), _t("report.changes.none")]
    heads = [_t(f"report.changes.{key}") for key in ("before", "after", "n", "sample")]
    flows = [[md(f.cause_before), md(f.cause_after), _of(f.n, changes.n_pairs), _ids(f.sample_ids, 8)]
             for f in changes.flows if f.moved]  # fmt: skip
    moved = [("flipped", changes.flipped), ("same_answer", changes.same_answer), ("noise", changes.noise)]
    return [
        _heading(4, "changes"), *(f"**{md(line)}**" for line in changes.warnings), phrases.changes_counts(changes),
        *map(md, changes.notes), f"### {_t('report.changes.flow')}", _table(heads, flows, (2,)),
        *(line for key, rows in moved if rows for line in (f"### {_t(f'report.changes.{key}')} ({len(rows)})", _moved(rows))),
    ]  # fmt: skip


def _moved(rows: Sequence[Moved]) -> str:
    heads = [_t(f"report.changes.{key}") for key in ("sample", "change", "before", "after")]
    return _table(heads, [[md(row.sample_id), _t(f"report.changes.{row.change}") if row.change else "–",
                           md(row.cause_before), md(row.cause_after)] for row in rows[:ROWS]])  # fmt: skip


def _ids(sample_ids: Sequence[str], limit: int = IDS) -> str:
    more = len(sample_ids) - limit
    rest = [_t("report.findings.more_ids", n=f"{more:,}")] if more > 0 else []
    return ", ".join([*map(md, sample_ids[:limit]), *rest])


def _findings(report: Report, places: dict[str, str]) -> list[str]:
    if not report.findings:
        return [_heading(5, "findings"), _t("report.findings.none")]
    parts = [line for at, item in enumerate(report.findings, 1) for line in _finding(at, item, places)]
    return [_heading(5, "findings"), *parts]


def _finding(at: int, finding: Finding, places: dict[str, str]) -> list[str]:
    gone = finding.figure is not None and f"finding-{at}" not in places
    return [
        f"### {at}. {md(finding.title)}", f"**{md(phrases.number_line(finding))}**", _cut(finding.note, 3000),
        _t("report.findings.no_picture") if gone else _picture(places, f"finding-{at}", finding.title),
        _own_table(finding), _facts(finding), _code(finding.snippet),
    ]  # fmt: skip


def _own_table(finding: Finding) -> str:
    heads, own = phrases.own_table(finding)
    if not own:
        return ""
    rows = [[_value(value) for value in row] for row in own[:TABLE]]
    table = _table([md(name) for name in heads], rows)
    if finding.n <= TABLE:
        return table
    return f"{table}\n\n{_t('report.findings.more_rows', shown=len(rows), total=words.count(finding.n))}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return words.score(value)
    if value is None:
        return "–"
    return _cut(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value), 160)


def _facts(finding: Finding) -> str:
    facts = [("ids", _ids(finding.sample_ids))] if finding.sample_ids else []
    facts += [("filter", md(phrases.filter_words(finding))), ("thresholds", md(phrases.values(finding.thresholds))),
              ("runs", _ids(finding.runs)), ("made", md(finding.created))]  # fmt: skip
    return "\n".join("- " + labelled(_t(f"report.findings.{name}"), value) for name, value in facts)


def _code(snippet: str) -> str:
    """A fenced block whose fence the snippet cannot close."""
    if not snippet:
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", snippet)), default=0))
    head = labelled(_t("report.findings.reproduce"), "").strip()
    return f"{head}\n\n{fence}python\n{_DIRECTION.sub('', clean(snippet))}\n{fence}"


def _next(report: Report) -> list[str]:
    if not report.actions:
        return [_heading(6, "next"), phrases.nothing(report, "next")]
    parts = []
    for at, action in enumerate(report.actions, 1):
        red = f" · ⚠ {_t('report.next.red_line')}" if action.red_line else ""
        causes = " · ".join(f"{md(name)} {n}" for name, n in action.causes)
        head = f"### {at}. {labelled(md(action.title), phrases.touches(action))}{red}"
        parts += [head, causes, "\n".join(f"- {md(a)}" for a in action.advice)]
    return [_heading(6, "next"), *parts, phrases.coverage(report)]


def _measured(report: Report) -> list[str]:
    own = report.measured
    facts = "\n".join("- " + labelled(md(name), md(value)) for name, value in own.facts)
    heads = [_t(f"report.measured.{key}") for key in ("lacking", "samples", "unlocks")]
    lacking = [[md(what), _of(n, own.n_total), md(unlocks)] for what, n, unlocks in own.unchecked]
    trust = _table([md(name) for name in own.trust_table[0]], [[md(v) for v in row] for row in own.trust_table[1:]]) if (
        own.trust_table) else ""  # fmt: skip
    whole = _t("report.measured.all_checked") if not own.unchecked and not own.notes else ""
    return [
        _heading(7, "measured"), facts, f"### {_t('report.measured.trust')}", *map(md, own.trust), trust,
        f"### {_t('report.measured.unchecked')}", _table(heads, lacking, (1,)) if lacking else whole, *map(md, own.notes),
    ]  # fmt: skip


def _metrics(measures: Sequence[Measure]) -> list[str]:
    heads = [_t(f"report.quality.{key}") for key in ("metric", "mean", "interval", "bounds", "n", "states", "method")]
    rows = [[md(m.title), words.score(m.mean), words.interval(m.low, m.high) or "–",
             words.interval(m.low_bound, m.high_bound) or "–", _of(m.n_ok, m.n_total), _states(m), md(m.method)]
            for m in measures]  # fmt: skip
    return [f"## {_t('report.section.all_metrics')}", _table(heads, rows, (1, 4)), _t("report.quality.bounds_note")]


def _failing(report: Report) -> list[str]:
    title = f"## {_t('report.section.failing')}"
    if not report.failing:
        return [title, phrases.nothing(report, "broken")]
    heads = [_t(f"report.failing.{key}") for key in ("sample", "cause", "question", "answer", "evidence", "mine")]
    rows = [[md(f.sample_id), md(f.cause_title), _cut(f.question, extracts.APPENDIX),
             _cut(f.answer, extracts.APPENDIX) if f.answer is not None else _t("report.broken.no_answer"),
             _cut(f.evidence, extracts.APPENDIX), " ".join(filter(None, [f.verdict, _cut(f.note, extracts.APPENDIX)]))]
            for f in report.failing[:ROWS]]  # fmt: skip
    return [title, phrases.failing_intro(report, ROWS), _table(heads, rows)]
