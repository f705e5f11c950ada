"""A report as one HTML file: pictures inline, no script, nothing fetched, printable on A4, light and dark.

Everything that comes from data passes through :func:`workbench.views.html.safe` as it enters the page (the templates'
``finalize``): escaped, control characters removed, direction overrides isolated. The content policy forbids scripts and
every request, and allows the one style sheet by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from workbench.language import speaking
from workbench.language import text as _t
from workbench.reports import extracts, phrases, words
from workbench.reports.extracts import IDS, ROWS, TABLE
from workbench.reports.report import Action, Report, Stretch
from workbench.reports.secrets import without_keys
from workbench.views.finding import Finding
from workbench.views.html import Mark, clean, h, join, marked, picture, safe

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
        t=_t, w=words, bar=bar, text=wrong_text, head=head_text, note=marked, picture=picture_of, ids=ids, cell=cell,
        plain=plain, step=step, ROWS=ROWS, TABLE=TABLE, FLOWS=FLOWS,
        scale_of=words.scale, phrases={f.__name__: f for f in (
            phrases.nothing, phrases.coverage, phrases.own_table, phrases.failing_intro, phrases.filter_words, phrases.values,
            phrases.touches, phrases.causes_intro, phrases.number_line, phrases.changes_counts,
        )},
    )  # fmt: skip
    return environment


# ---------------------------------------------------------------- pieces


def plain(text: str) -> str:
    """A text for a place that holds no elements, without direction marks."""
    return "".join(c for c in clean(text) if c not in _DIRECTIONS)


def step(action: Action) -> Markup:
    """An action in one line, for page one."""
    causes = words.listed(f"{name} {n}" for name, n in action.causes[:CAUSES])
    first = h("b", "⚠ " if action.red_line else "", action.title, cls="bad" if action.red_line else "")
    more = "…" if len(action.causes) > CAUSES else ""
    return join([first, h("span", f" · {phrases.touches(action)} ({causes}{more}) · ", cls="quiet"), action.advice[0]])


def bar(rate: float, low: float | None, high: float | None, label: str, scale: float = 1.0) -> Markup:
    """A bar of a rate in [0, ``scale``] with its interval, drawn without styles so that it prints as it is seen."""
    fill = _rect("fill", 0, rate / scale, 2, 8)
    span = Markup("")
    if low is not None and high is not None and not words.missing(low):
        span = _rect("span", low / scale, max((high - low) / scale, 0.004), 5.4, 1.2)
    opening = '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label="{}">'
    return Markup(opening).format(plain(label)) + fill + span + Markup("</svg>")


def _rect(cls: str, start: float, width: float, top: float, height: float) -> Markup:
    shape = '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>'
    return Markup(shape).format(cls, 100 * start, top, 100 * width, height)


def wrong_text(text: str, wrong: Sequence[Stretch]) -> Markup:
    """A text with its wrong stretches marked, cut around them."""
    shown, inside, cut = extracts.around(clean(text) if not wrong else text, wrong)
    marks = [Mark(item.start, item.end, item.kind, "✗") for item in inside]
    return join([marked(shown, marks), h("span", " ", cut, cls="quiet") if cut else None])


def head_text(text: str | None, limit: int = extracts.APPENDIX) -> Markup:
    """The beginning of a text."""
    if text is None:
        return h("span", _t("report.broken.no_answer"), cls="quiet")
    shown, cut = extracts.head(text, limit)
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
        return safe(words.score(value))
    if isinstance(value, bool):
        return safe(_t("panels.common.yes" if value else "panels.common.no"))
    if isinstance(value, (list, tuple)):
        return head_text(", ".join(map(str, value)), 160)
    if value is None or isinstance(value, int) or len(str(value)) <= SHORT:
        return h("span", value, cls="nowrap")
    return head_text(str(value), 160)
