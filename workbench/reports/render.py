"""A report as one HTML file: pictures inline, no script, nothing fetched, printable on A4, light and dark.

Everything that comes from data passes through :func:`workbench.views.html.safe` as it enters the page (the templates'
``finalize``): escaped, control characters removed, direction overrides isolated. The content policy forbids scripts and
every request, and allows the one style sheet by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
from markupsafe import Markup

from workbench.data.files import HIDDEN, write_bytes, write_text
from workbench.language import has_text, labelled, listed, speaking
from workbench.language import text as _t
from workbench.reports.content import Action, Breakdown, CauseBlock, Changes, Example, Measure, Moved, Report, Stretch
from workbench.views import wording
from workbench.views.filtering import Filter
from workbench.views.html import Mark, clean, h, join, marked, picture, safe
from workbench.views.plots import bars, figure_png
from workbench.views.session import Finding
from workbench.views.wording import cause_title, metric_title

# ------------------------------------------------------------------------------
# Long texts, cut around what matters in them; the cut is always said.


#: Characters of an answer beside an example, and of a text in the appendix.
EXAMPLE, APPENDIX = 420, 240
#: Rows of the appendix, of a finding's table and of a list of ids.
ROWS, TABLE, IDS = 2000, 20, 200
#: Characters kept before the first wrong stretch.
_LEAD = 120


def around(text: str, wrong: Sequence[Stretch], limit: int = EXAMPLE) -> tuple[str, tuple[Stretch, ...], str]:
    """``text`` cut to ``limit`` characters around its first wrong stretch, the stretches in it, and what was left out.

    The last is an empty text when nothing was cut.
    """
    inside = tuple(item for item in wrong if 0 <= item.start < item.end)
    if len(text) <= limit:
        return text, _shifted(inside, 0, len(text)), ""
    first = max(0, min((item.start for item in inside), default=0) - _LEAD)
    start = min(first, len(text) - limit)
    return text[start : start + limit], _shifted(inside, start, start + limit), cut_note(limit, len(text))


def head(text: str, limit: int = APPENDIX) -> tuple[str, str]:
    """The first ``limit`` characters on one line, and the note that says what was cut (or an empty text)."""
    if len(text) <= limit:
        return " ".join(text.split()), ""
    return " ".join(text[:limit].split()) + "…", cut_note(limit, len(text))


def cut_note(shown: int, total: int) -> str:
    """What was cut, in the language in force."""
    return _t("report.failing.cut", shown=f"{shown:,}", total=f"{total:,}")


def _shifted(wrong: Sequence[Stretch], start: int, end: int) -> tuple[Stretch, ...]:
    """Stretches within ``[start, end)``, counted from ``start``."""
    return tuple(
        Stretch(max(item.start, start) - start, min(item.end, end) - start, item.kind)
        for item in wrong
        if item.start < end and item.end > start
    )


# ------------------------------------------------------------------------------
# Short lines that every format of a report says in the same words.


def nothing(report: Report, part: str) -> str:
    """Why a part about failures is empty: nothing fails, or nothing could be tested."""
    tested = report.failures["passed"].notna().any()
    return _t(f"report.{part}.none" if tested else f"report.{part}.none_tested")


def own_table(finding: Finding) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of a finding's table, without columns that are empty; causes by their names."""
    kept = [at for at in range(len(finding.columns)) if any(row[at] not in (None, "") for row in finding.rows)]
    heads = [column(finding.columns[at]) for at in kept]
    rows = [[cause_title(row[at]) if finding.columns[at] == "cause" else row[at] for at in kept] for row in finding.rows]
    return heads, rows


def column(name: str) -> str:
    """The heading of a column of a finding's table."""
    key = f"panels.columns.{name}"
    return _t(key) if has_text(key) else metric_title(name)


def filter_words(finding: Finding) -> str:
    """The filter that was in force, in one line."""
    return Filter.from_dict(finding.filter).words() or _t("report.findings.no_filter")


def values(plain: Any) -> str:
    """Thresholds as they were stored, in one line."""
    if not isinstance(plain, Mapping):
        return str(plain)
    parts = [f"{name} ({values(value)})" if isinstance(value, Mapping) else f"{name} {value}" for name, value in plain.items()]
    return " · ".join(parts)


def number_line(finding: Finding) -> str:
    """What a finding states: its rate with interval, and how many of how many samples."""
    size = _t("report.findings.size", n=wording.count(finding.n), total=wording.count(finding.n_total))
    if finding.value is None:
        return size
    interval = wording.rate_interval(finding.low, finding.high)
    return f"{wording.percent(finding.value)}{f' ({interval})' if interval else ''} · {size}"


def causes_intro(report: Report, end: str = "") -> str:
    """How many samples fail, out of how many, and how to read the bars."""
    counts = {"n_failing": wording.count(report.n_failing), "n": wording.count(report.n_total)}
    told = _t("report.broken.intro", **counts)
    return wording.sentences([told, _t("report.broken.scale", end=end)]) if end else told


def changes_counts(changes: Changes) -> str:
    """How many samples changed in which way, what the set could show, and permission leaks."""
    counts = {name: wording.count(n) for name, n in changes.counts.items()}
    told = [_t("report.changes.counts", n=wording.count(changes.n_pairs), **counts)]
    if changes.smallest is not None:
        least = wording.percent(changes.smallest, unit=False)
        told.append(_t("report.changes.smallest", n=wording.count(changes.n_pairs), points=least))
    if any(changes.red_lines.values()):
        told.append(_t("report.changes.red_lines", **dict[str, Any](changes.red_lines)))
    return wording.sentences(told)


def touches(action: Action) -> str:
    """How many of the failing samples an action touches."""
    return _t("report.next.touches", n=wording.count(action.n), n_failing=wording.count(action.n_failing))


def coverage(report: Report) -> str:
    """How many failing samples all actions together touch."""
    touched = sum(action.n for action in report.actions)
    return _t("report.next.coverage", n=wording.count(touched), n_failing=wording.count(report.n_failing))


def failing_intro(report: Report, most: int) -> str:
    """How many samples fail and, when not all are shown, where the others are."""
    told = [_t("report.failing.intro", n=wording.count(report.n_failing), total=wording.count(report.n_total))]
    if report.n_failing > most:
        told.append(_t("report.failing.capped", shown=wording.count(most), n=wording.count(report.n_failing)))
    return wording.sentences(told)


# ------------------------------------------------------------------------------
# The pictures of a report as PNG bytes: causes, parts, and those that were pinned.


def pictures(report: Report) -> dict[str, bytes]:
    """Name → PNG: ``causes``, ``where-<dimension>``, ``finding-<number>``."""
    found = {"causes": _causes(report)} if report.causes else {}
    found |= {f"where-{part.name}": _part(part) for part in report.places if part.rows}
    pinned = {f"finding-{at}": item.png() for at, item in enumerate(report.findings, 1)}
    return found | {name: png for name, png in pinned.items() if png is not None}


def _causes(report: Report) -> bytes:
    causes = report.causes
    title = _t("report.broken.picture", n_failing=wording.count(report.n_failing), n=wording.count(report.n_total))
    figure = bars(
        [c.title for c in causes], [c.n / c.n_total for c in causes], [c.low for c in causes], [c.high for c in causes],
        notes=[_of(c.n, c.n_total) for c in causes], title=title,
    )  # fmt: skip
    figure.axes[0].set_xlim(0, wording.scale(c.high for c in causes))
    return figure_png(figure)


def _part(part: Breakdown) -> bytes:
    rows = part.rows
    return figure_png(bars(
        [row.value for row in rows], [row.rate for row in rows], [row.low for row in rows], [row.high for row in rows],
        notes=[_of(row.n_failing, row.n) for row in rows], title=part.title,
    ))  # fmt: skip


def _of(n: int, total: int) -> str:
    return _t("report.quality.of", n=wording.count(n), total=wording.count(total))


# ------------------------------------------------------------------------------
# Keys never reach a report, whatever text they hide in.


#: Environment variables whose value is a key.
KEYS = ("OPENAI_API_KEY",)
#: A shorter value is no key, and replacing it would harm ordinary words.
_SHORTEST = 8


def without_keys(text: str) -> str:
    """``text`` without the keys that this process knows."""
    for name in KEYS:
        key = os.environ.get(name, "")
        if len(key) >= _SHORTEST:
            text = text.replace(key, HIDDEN)
    return text


# ------------------------------------------------------------------------------
# A report as Markdown, with its pictures as PNG files beside it.
#
# Every text from data is escaped: no markup, no links, no pictures and no HTML can come out of it; direction overrides
# are isolated in ``<bdi>``.


#: Characters that begin markup anywhere; an underscore only does at the edge of a word.
_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))")
#: What begins a list, a heading or a rule at the beginning of a line.
_LEADING = re.compile(r"^(\d*)([-+#=.)])")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def write_markdown(report: Report, target: Path) -> Path:
    """Write the report to ``target`` and its pictures to ``<name>_files`` beside it; pictures first."""
    folder = target.with_name(f"{target.stem}_files")
    with speaking(report.language):
        drawn = pictures(report)
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




def _top(report: Report) -> list[str]:
    quoted = "\n>\n".join(f"> {'**' if at == 0 else ''}{md(s)}{'**' if at == 0 else ''}" for at, s in
                          enumerate(report.verdict))  # fmt: skip
    steps = "\n".join(f"{at}. {_step(action)}" for at, action in enumerate(report.actions, 1))
    label = f"**{_t('report.section.next_short')}**" if steps else ""
    return [f"# {md(report.title)}", md(report.subtitle), quoted, label, steps]


def _step(action: Action) -> str:
    return f"**{'⚠ ' if action.red_line else ''}{md(action.title)}** · {touches(action)} · {md(action.advice[0])}"


def _states(measure: Measure) -> str:
    return " · ".join(f"{_t(f'report.quality.{s}')} {wording.count(n)}" for s, n in measure.states.items()) or "–"


def _target(measure: Measure) -> str:
    if measure.meets_target is None:
        return wording.score(measure.target)
    told = f"{wording.score(measure.target)} {'✓' if measure.meets_target else '✗'}"
    if measure.attainable < measure.target:
        told += f" ({_t('report.quality.attainable', value=wording.score(measure.attainable))})"
    return told


def _quality(report: Report) -> list[str]:
    shown = [measure for measure in report.measures if measure.shown]
    name = _t("report.quality.metric")
    tail = [_t(f"report.quality.{key}") for key in ("target", "n", "states")]
    if report.changes is None:
        heads = [name, *(_t(f"report.quality.{key}") for key in ("mean", "interval")), *tail]
        rows = [[md(m.title), wording.score(m.mean), wording.interval(m.low, m.high) or "–", *_tail(m)] for m in shown]
        return [_heading(1, "quality"), _t("report.quality.intro"), _table(heads, rows, (1, 4)), _ladder(report)]
    heads = [name, *(_t(f"report.quality.{key}") for key in ("before", "after", "difference", "pairs")), *tail]
    rows = [[md(m.title), wording.score(m.before), wording.score(m.after), _delta(m), wording.count(m.n_pairs), *_tail(m)]
            for m in shown]  # fmt: skip
    note = _t("report.quality.significant")
    return [_heading(1, "quality"), _t("report.quality.intro"), _table(heads, rows, (1, 2, 3, 4, 6)), note, _ladder(report)]


def _tail(measure: Measure) -> list[str]:
    return [_target(measure), _of(measure.n_ok, measure.n_total), _states(measure)]


def _delta(measure: Measure) -> str:
    told = wording.score(measure.delta, signed=True)
    bold = measure.p is not None and measure.p < 0.05
    return f"{f'**{told}**' if bold else told} {wording.interval(measure.delta_low, measure.delta_high, signed=True)}".strip()


def _ladder(report: Report) -> str:
    if not report.ladder:
        return ""
    steps = [f"{s.title} **{wording.percent(s.rate)}** ({wording.rate_interval(s.low, s.high)})" for s in report.ladder]
    return _t("report.ladder.intro", n=wording.count(report.ladder[0].n)) + " " + " · ".join(steps)


def _broken(report: Report, places: dict[str, str]) -> list[str]:
    if not report.causes:
        return [_heading(2, "broken"), nothing(report, "broken")]
    heads = [_t(f"report.broken.{key}") for key in ("cause", "layer", "n")]
    rows = [[md(c.title), md(c.layer_title), _share(c)] for c in report.causes]
    lines = [_heading(2, "broken"), causes_intro(report), _picture(places, "causes", _t("report.section.broken"))]
    return [*lines, _table(heads, rows), *(line for cause in report.causes for line in _cause(cause))]


def _share(c: CauseBlock) -> str:
    return _t("report.broken.share", n=wording.count(c.n), total=wording.count(c.n_total),
              rate=wording.percent(c.n / c.n_total), interval=wording.rate_interval(c.low, c.high))  # fmt: skip


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


def _cut(text: str, limit: int = EXAMPLE) -> str:
    shown, note = head(text, limit)
    return f"{md(shown)} {md(note)}".strip() if note else md(shown)


def _marked(example: Example) -> str:
    """The answer with ✗ and bold type on what is wrong."""
    shown, wrong, note = around(str(example.answer), example.wrong)
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
    rows = [[md(s.value), _of(s.n_failing, s.n), f"{wording.percent(s.rate)} ({wording.rate_interval(s.low, s.high)})",
             *([wording.score(s.lift), wording.chance(s.q_value)] if worst else [md(s.causes)])]
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
        _heading(4, "changes"), *(f"**{md(line)}**" for line in changes.warnings), changes_counts(changes),
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
        f"### {at}. {md(finding.title)}", f"**{md(number_line(finding))}**", _cut(finding.note, 3000),
        _t("report.findings.no_picture") if gone else _picture(places, f"finding-{at}", finding.title),
        _own_table(finding), _facts(finding), _code(finding.snippet),
    ]  # fmt: skip


def _own_table(finding: Finding) -> str:
    heads, own = own_table(finding)
    if not own:
        return ""
    rows = [[_value(value) for value in row] for row in own[:TABLE]]
    table = _table([md(name) for name in heads], rows)
    if finding.n <= TABLE:
        return table
    return f"{table}\n\n{_t('report.findings.more_rows', shown=len(rows), total=wording.count(finding.n))}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return wording.score(value)
    if value is None:
        return "–"
    return _cut(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value), 160)


def _facts(finding: Finding) -> str:
    facts = [("ids", _ids(finding.sample_ids))] if finding.sample_ids else []
    facts += [("filter", md(filter_words(finding))), ("thresholds", md(values(finding.thresholds))),
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
        return [_heading(6, "next"), nothing(report, "next")]
    parts = []
    for at, action in enumerate(report.actions, 1):
        red = f" · ⚠ {_t('report.next.red_line')}" if action.red_line else ""
        causes = " · ".join(f"{md(name)} {n}" for name, n in action.causes)
        head = f"### {at}. {labelled(md(action.title), touches(action))}{red}"
        parts += [head, causes, "\n".join(f"- {md(a)}" for a in action.advice)]
    return [_heading(6, "next"), *parts, coverage(report)]


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
    rows = [[md(m.title), wording.score(m.mean), wording.interval(m.low, m.high) or "–",
             wording.interval(m.low_bound, m.high_bound) or "–", _of(m.n_ok, m.n_total), _states(m), md(m.method)]
            for m in measures]  # fmt: skip
    return [f"## {_t('report.section.all_metrics')}", _table(heads, rows, (1, 4)), _t("report.quality.bounds_note")]


def _failing(report: Report) -> list[str]:
    title = f"## {_t('report.section.failing')}"
    if not report.failing:
        return [title, nothing(report, "broken")]
    heads = [_t(f"report.failing.{key}") for key in ("sample", "cause", "question", "answer", "evidence", "mine")]
    rows = [[md(f.sample_id), md(f.cause_title), _cut(f.question, APPENDIX),
             _cut(f.answer, APPENDIX) if f.answer is not None else _t("report.broken.no_answer"),
             _cut(f.evidence, APPENDIX), " ".join(filter(None, [f.verdict, _cut(f.note, APPENDIX)]))]
            for f in report.failing[:ROWS]]  # fmt: skip
    return [title, failing_intro(report, ROWS), _table(heads, rows)]


# ------------------------------------------------------------------------------


#: Moves from cause to cause that are shown.
FLOWS = 12
#: Causes named in the short line of an action.
CAUSES = 3
#: A cell of so many characters is kept on one line.
SHORT = 20
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def html(report: Report) -> str:
    """The whole page."""
    with speaking(report.language):
        template = _environment().get_template("report.html.j2")
        page = template.render(r=report, css=Markup(_css()), policy=_policy(), lang=_lang(report))
    return without_keys(page)


def _lang(report: Report) -> str:
    return "zh-CN" if report.language == "zh" else "en"


@cache
def _css() -> str:
    return resources.files(__package__).joinpath("templates/report.css").read_text(encoding="utf-8")


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(_css().encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("workbench.reports", "templates"), autoescape=True, finalize=safe,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals.update(
        t=_t, w=wording, bar=bar, text=wrong_text, head=head_text, note=marked, picture=picture_of, ids=ids, cell=cell,
        plain=plain, step=step, ROWS=ROWS, TABLE=TABLE, FLOWS=FLOWS,
        scale_of=wording.scale, phrases=SimpleNamespace(**{f.__name__: f for f in (
            nothing, coverage, own_table, failing_intro, filter_words, values,
            touches, causes_intro, number_line, changes_counts,
        )}),
    )  # fmt: skip
    return environment


# ---------------------------------------------------------------- pieces


def plain(text: str) -> str:
    """A text for a place that holds no elements, without direction marks."""
    return "".join(c for c in clean(text) if c not in _DIRECTIONS)


def step(action: Action) -> Markup:
    """An action in one line, for page one."""
    causes = listed(f"{name} {n}" for name, n in action.causes[:CAUSES])
    first = h("b", "⚠ " if action.red_line else "", action.title, cls="bad" if action.red_line else "")
    more = "…" if len(action.causes) > CAUSES else ""
    return join([first, h("span", f" · {touches(action)} ({causes}{more}) · ", cls="quiet"), action.advice[0]])


def bar(rate: float, low: float | None, high: float | None, label: str, scale: float = 1.0) -> Markup:
    """A bar of a rate in [0, ``scale``] with its interval, drawn without styles so that it prints as it is seen."""
    fill = _rect("fill", 0, rate / scale, 2, 8)
    span = Markup("")
    if low is not None and high is not None and not wording.missing(low):
        span = _rect("span", low / scale, max((high - low) / scale, 0.004), 5.4, 1.2)
    opening = '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label="{}">'
    return Markup(opening).format(plain(label)) + fill + span + Markup("</svg>")


def _rect(cls: str, start: float, width: float, top: float, height: float) -> Markup:
    shape = '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>'
    return Markup(shape).format(cls, 100 * start, top, 100 * width, height)


def wrong_text(text: str, wrong: Sequence[Stretch]) -> Markup:
    """A text with its wrong stretches marked, cut around them."""
    shown, inside, cut = around(clean(text) if not wrong else text, wrong)
    marks = [Mark(item.start, item.end, item.kind, "✗") for item in inside]
    return join([marked(shown, marks), h("span", " ", cut, cls="quiet") if cut else None])


def head_text(text: str | None, limit: int = APPENDIX) -> Markup:
    """The beginning of a text."""
    if text is None:
        return h("span", _t("report.broken.no_answer"), cls="quiet")
    shown, cut = head(text, limit)
    return join([safe(shown), h("span", " ", cut, cls="quiet") if cut else None])


def picture_of(finding: Finding) -> Markup | None:
    """A finding's picture; a line that says so when its file is gone; None when it never had one."""
    png = finding.png()
    if png is not None:
        return picture(png, finding.title)
    return h("p", _t("report.findings.no_picture"), cls="quiet") if finding.figure is not None else None


def ids(sample_ids: Sequence[str], limit: int = IDS) -> Markup:
    """Sample ids, and how many more there are."""
    more = len(sample_ids) - limit
    rest = [_t("report.findings.more_ids", n=f"{more:,}")] if more > 0 else []
    return join([*sample_ids[:limit], *rest], ", ")


def cell(value: Any) -> Markup:
    """A value of a finding's table."""
    if isinstance(value, float):
        return safe(wording.score(value))
    if isinstance(value, bool):
        return safe(_t("panels.common.yes" if value else "panels.common.no"))
    if isinstance(value, (list, tuple)):
        return head_text(", ".join(map(str, value)), 160)
    if value is None or isinstance(value, int) or len(str(value)) <= SHORT:
        return h("span", value, cls="nowrap")
    return head_text(str(value), 160)
