"""From a report's content to files."""

from __future__ import annotations

from pathlib import Path

from workbench.data.files import write_text
from workbench.errors import InputError
from workbench.reports.report import Report

#: Format → file ending.
FORMATS = {"html": ".html", "md": ".md", "xlsx": ".xlsx", "csv": ".csv", "parquet": ".parquet", "junit": ".xml"}


def write(report: Report, path: str | Path, format: str) -> Path:
    """Write a report, whole or not at all, and give the file.

    Parameters
    ----------
    path
        The ending of the format is added when it has none (".1" of "gpt-4.1" is none). Markdown puts its pictures into
        ``<name>_files`` beside it.
    format
        One of :data:`FORMATS`.

    Raises
    ------
    InputError
        For an unknown format, or a place that cannot be written.
    """
    if format not in FORMATS:
        raise InputError(f"format {format!r} is not known; use one of {', '.join(FORMATS)}")
    target = Path(path).expanduser()
    if not target.name:
        raise InputError(f"{str(path)!r} names no file; give the name of one")
    target = target if target.suffix[1:].isalpha() else target.with_name(target.name + FORMATS[format])
    if target.is_dir():
        raise InputError(f"{target}: is a folder; give the name of a file")
    return _WRITERS[format](report, target)


def _html(report: Report, target: Path) -> Path:
    from workbench.reports.page import html

    return write_text(target, html(report))


def _markdown(report: Report, target: Path) -> Path:
    from workbench.reports.markdown import write_markdown

    return write_markdown(report, target)


def _workbook(report: Report, target: Path) -> Path:
    from workbench.reports.workbook import write_workbook

    return write_workbook(report, target)


def _csv(report: Report, target: Path) -> Path:
    from workbench.data.tables import write_csv
    from workbench.reports.tables_out import rows

    return write_csv(target, rows(report), index=False)


def _parquet(report: Report, target: Path) -> Path:
    from workbench.reports.tables_out import write_parquet

    return write_parquet(report, target)


def _junit(report: Report, target: Path) -> Path:
    from workbench.reports.samples_junit import write_samples

    return write_samples(report, target)


_WRITERS = {"html": _html, "md": _markdown, "xlsx": _workbook, "csv": _csv, "parquet": _parquet, "junit": _junit}
