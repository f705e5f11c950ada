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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from workbench.data.files import HIDDEN, write_bytes, write_text
from workbench.language import has_text, labelled, language_of, listed, speaking
from workbench.language import text as _t
from workbench.reports.content import Action, Breakdown, Changes, Example, Report, Stretch
from workbench.views import wording
from workbench.views.figures import figure_png
from workbench.views.filtering import Filter
from workbench.views.html import Mark, clean, h, join, marked, picture, restored, safe
from workbench.views.plots import bars
from workbench.views.session import Finding
from workbench.views.wording import cause_title, metric_title

if TYPE_CHECKING:
    from workbench.repair.plan import RepairPlan

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


def gate_file(report: Report) -> str:
    """The name of the rules file."""
    return Path(report.gate.source).name


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


def write_repair(plan: RepairPlan, target: Path) -> Path:
    """Write a repair plan as a page of Markdown, in the language in force."""
    return write_text(target, _tidied(_markdown_environment().get_template("repair_page.md.j2").render(plan=plan)))


def markdown(report: Report, places: dict[str, str]) -> str:
    """The text; ``places``: name of a picture → its address from here."""
    with speaking(report.language):
        text = _markdown_environment().get_template("report.md.j2").render(r=report, places=places)
    return _tidied(text)


def _tidied(text: str) -> str:
    text = re.sub(r"(?<=\|)\n\n+(?=\|)", "\n", text)  # the rows of a table stand together
    return without_keys(re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")


@cache
def _markdown_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("workbench.reports", "templates"), autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(md(value)),
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    names = ("score", "interval", "percent", "rate_interval", "count", "chance", "level_title", "levels_words")
    own = {name: _raw(getattr(wording, name)) for name in names}
    spoken = {f.__name__: _raw(f) for f in (
        nothing, failing_intro, touches, causes_intro, changes_counts, coverage, number_line,
    )}  # fmt: skip
    environment.globals.update(
        spoken, t=_raw(_t), w=SimpleNamespace(**own), raw=Markup, br=Markup("  "), own_table=own_table, values=values,
        filter_words=filter_words, labelled=lambda name, value: Markup(labelled(_as_md(name), _as_md(value))),
        head=_md_head, wrong=_md_wrong, differing=_md_differing, ids=_md_ids, cell=_md_cell, code=_md_code,
        ROWS=ROWS, TABLE=TABLE, EXAMPLE=EXAMPLE, gate_file=gate_file,
        repair=_repair_words(),
    )  # fmt: skip
    return environment


def _repair_words() -> SimpleNamespace:
    """What templates say of a repair plan; read when one is there, which the plan's libraries are loaded for."""
    from workbench.repair import plan, words

    return SimpleNamespace(cause_title=cause_title, prompt=plan.prompt, **{f.__name__: f for f in (
        words.headline, words.usual_words, words.shown_table, words.unreached_words, words.unreached_table,
        words.levels_table, words.behind,
    )})  # fmt: skip


def _raw(function: Callable[..., str]) -> Callable[..., Markup]:
    """What ``function`` says is Markdown already: words and numbers of our own."""
    return lambda *args, **values: Markup(function(*args, **values))


def md(value: Any) -> str:
    """A text on one line that Markdown shows as it is."""
    if value is None:
        return "–"
    line = " ".join(clean(value).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", line))
    return f"<bdi>{escaped}</bdi>" if _DIRECTION.search(escaped) else escaped


def md_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already, each on one line."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |" for line in lines)


def _as_md(value: Any) -> str:
    return value if isinstance(value, Markup) else md(value)


def _md_head(text: str, limit: int = APPENDIX) -> Markup:
    """The beginning of a text, and what was cut."""
    return Markup(" ".join(md(part) for part in head(text, limit) if part))


def _md_wrong(example: Example) -> Markup:
    """The answer with ✗ and bold type on what is wrong."""
    shown, wrong, note = around(str(example.answer), example.wrong)
    parts, at = [], 0
    for stretch in sorted(wrong, key=lambda item: item.start):
        if stretch.start < at or not shown[stretch.start : stretch.end].strip():
            continue
        parts += [md(shown[at : stretch.start]), f"**✗ {md(shown[stretch.start : stretch.end])}**"]
        at = stretch.end
    return Markup(" ".join(part for part in [*parts, md(shown[at:]), md(note) if note else ""] if part))


def _md_differing(text: str | None, stretches: Sequence[Stretch], sign: str) -> Markup:
    """A text with a sign and bold type on what only this run says."""
    if text is None:
        return Markup(_t("report.broken.no_answer"))
    own = Example("", "", text, tuple(stretches), "", "", 0.0)
    return Markup(str(_md_wrong(own)).replace("**✗ ", f"**{sign} "))


def _md_ids(sample_ids: Sequence[str], limit: int = IDS) -> Markup:
    more = len(sample_ids) - limit
    rest = [_t("report.findings.more_ids", n=f"{more:,}")] if more > 0 else []
    return Markup(", ".join([*map(md, sample_ids[:limit]), *rest]))


def _md_cell(value: Any) -> Markup:
    if isinstance(value, float) or value is None:
        return Markup(wording.score(value))
    return _md_head(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value), 160)


def _md_code(snippet: str) -> Markup:
    """A fenced block whose fence the snippet cannot close."""
    if not snippet:
        return Markup("")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", snippet)), default=0))
    title = labelled(_t("report.findings.reproduce"), "").strip()
    return Markup(f"{title}\n\n{fence}python\n{_DIRECTION.sub('', clean(snippet))}\n{fence}")


# ------------------------------------------------------------------------------


#: Stretches that are different and not wrong, with the sign beside them.
_SIGNS = {"gone": "−", "new": "+"}
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
        facts = language_of(report.language).facts
        page = template.render(r=report, css=Markup(_css()), policy=_policy(), gap=facts.get("sentence_separator", " "),
                               lang=facts.get("html_lang", report.language))  # fmt: skip
    return without_keys(page)


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
        t=_t, w=wording, bar=bar, text=wrong_text, differing=differing, head=head_text, note=marked, picture=picture_of,
        restored=restored, ids=ids, cell=cell, plain=plain, step=step, ROWS=ROWS, TABLE=TABLE, FLOWS=FLOWS,
        gate_file=gate_file,
        repair=_repair_words(),
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


def differing(text: str | None, *stretches: Sequence[Stretch]) -> Markup:
    """A whole text with what only this run says, and what is wrong, marked."""
    if text is None:
        return h("span", _t("report.broken.no_answer"), cls="quiet")
    marks = [Mark(item.start, item.end, item.kind, _SIGNS.get(item.kind, "✗")) for own in stretches for item in own]
    return marked(text, marks)


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


def ids(sample_ids: Sequence[str], limit: int = IDS, *, whole: bool = False) -> Markup:
    """Sample ids, and how many more there are; ``whole`` keeps each short one on one line."""
    more = len(sample_ids) - limit
    rest = [_t("report.findings.more_ids", n=f"{more:,}")] if more > 0 else []
    own = [h("span", name, cls="nowrap") if whole and len(name) <= SHORT else name for name in sample_ids[:limit]]
    return join([*own, *rest], ", ")


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
