"""The pictures of a report as PNG bytes: causes, parts, and those that were pinned."""

from __future__ import annotations

from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.report import Breakdown, Report
from workbench.views.plots import bars, figure_png


def pictures(report: Report) -> dict[str, bytes]:
    """Name → PNG: ``causes``, ``where-<dimension>``, ``finding-<number>``."""
    found = {"causes": _causes(report)} if report.causes else {}
    found |= {f"where-{part.name}": _part(part) for part in report.places if part.rows}
    pinned = {f"finding-{at}": item.png() for at, item in enumerate(report.findings, 1)}
    return found | {name: png for name, png in pinned.items() if png is not None}


def _causes(report: Report) -> bytes:
    causes = report.causes
    title = _t("report.broken.picture", n_failing=words.count(report.n_failing), n=words.count(report.n_total))
    figure = bars(
        [c.title for c in causes], [c.n / c.n_total for c in causes], [c.low for c in causes], [c.high for c in causes],
        notes=[_of(c.n, c.n_total) for c in causes], title=title,
    )  # fmt: skip
    figure.axes[0].set_xlim(0, words.scale(c.high for c in causes))
    return figure_png(figure)


def _part(part: Breakdown) -> bytes:
    rows = part.rows
    return figure_png(bars(
        [row.value for row in rows], [row.rate for row in rows], [row.low for row in rows], [row.high for row in rows],
        notes=[_of(row.n_failing, row.n) for row in rows], title=part.title,
    ))  # fmt: skip


def _of(n: int, total: int) -> str:
    return _t("report.quality.of", n=words.count(n), total=words.count(total))
