"""Tables for people and their spreadsheets: CSV whose text is text, whatever it begins with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.files import write_text

if TYPE_CHECKING:
    import pandas as pd

#: A cell that begins with one of these would be run as a formula by a spreadsheet.
_FORMULA = re.compile(r"^[\s\x00-\x1f]*[=+\-@|%＝＋－＠]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")


def without_controls(text: str) -> str:
    """``text`` without control characters but tab and line feed; carriage returns become line feeds."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def neutral(value: Any) -> Any:
    """A cell's value such that no spreadsheet runs it: text that looks like a formula gets an apostrophe in front."""
    if isinstance(value, (list, tuple)):
        value = "; ".join(map(str, value))
    elif isinstance(value, dict):
        value = "; ".join(f"{key}={item}" for key, item in value.items())
    if not isinstance(value, str):
        return value
    clean = without_controls(value)
    return "'" + clean if _FORMULA.match(clean) else clean


def neutral_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with every text cell, index and heading neutral; numbers and booleans are left alone."""
    changed = {
        place: [neutral(value) for value in frame.iloc[:, place].tolist()]
        if not _plain(frame.dtypes.iloc[place])
        else frame.iloc[:, place].to_numpy()
        for place in range(frame.shape[1])
    }
    import pandas as pd

    result = pd.DataFrame(changed, index=[neutral(value) for value in frame.index.tolist()])
    result.columns = pd.Index([neutral(name) for name in frame.columns])
    result.index.name = frame.index.name
    return result


def _plain(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biufM"


def to_csv(frame: pd.DataFrame, *, index: bool = True) -> str:
    """``frame`` as CSV text with neutral cells and line feeds only."""
    return neutral_frame(frame).to_csv(index=index, lineterminator="\n")


def write_csv(path: str | Path, frame: pd.DataFrame, *, index: bool = True) -> Path:
    """Write ``frame`` as CSV in UTF-8 with a byte order mark (spreadsheets need it for Chinese), atomically."""
    return write_text(path, to_csv(frame, index=index), encoding="utf-8-sig")
