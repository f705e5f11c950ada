"""What a notebook shows instead of a traceback: one box that says where, what is wrong and what to do."""

from __future__ import annotations

import traceback
from typing import Any

from workbench.errors import CancelledError, EncoderError, InputError, JudgeError, WorkbenchError
from workbench.language import has_text, labelled
from workbench.language import text as _t
from workbench.views.html import Fragment, fragment, h

#: Kind of error → key of its title; the first that fits.
_KINDS = ((CancelledError, "cancelled"), (JudgeError, "judge"), (EncoderError, "encoder"), (WorkbenchError, "input"))


def parts(error: WorkbenchError) -> dict[str, str]:
    """``where``, ``what`` and ``remedy`` of an error, in the language in force where its message has a text; parts that it
    does not have are left out."""
    key, values = (error.key, dict[str, Any](error.values)) if isinstance(error, InputError) else ("", {})
    key = "cancelled" if isinstance(error, CancelledError) else key
    if key and has_text(f"errors.said.{key}.what"):
        told = {"where": str(values.get("where", ""))}
        told |= {name: _t(f"errors.said.{key}.{name}", **values) for name in ("what", "remedy")}
    else:
        where, colon, what = str(error).partition(": ")
        # What stands before the first colon names a place only while it is short and no sentence.
        where, what = (where, what) if colon and len(where) <= 80 and not {",", ";"} & set(where) else ("", str(error))
        what, _, remedy = what.rpartition("; ") if "; " in what else (what, "", "")
        told = {"where": where, "what": what, "remedy": remedy}
    return {name: text for name, text in told.items() if text}


def title(error: WorkbenchError) -> str:
    """What kind of trouble it is, in a few words."""
    return _t(f"errors.box.{next(key for kind, key in _KINDS if isinstance(error, kind))}")


def error_html(error: WorkbenchError, *, details: bool = True) -> Fragment:
    """The box; ``details`` adds the traceback, folded."""
    rows = [[h("span", _t(f"errors.box.{name}"), cls="wb-key"), h("span", text)] for name, text in parts(error).items()]
    told = "".join(traceback.format_exception(error)) if details else ""
    folded = h("details", h("summary", _t("errors.box.details"), cls="wb-quiet"), h("pre", told)) if told else None
    grid = h("div", *(part for row in rows for part in row), cls="wb-grid")
    return fragment(h("div", h("h3", "✗ ", title(error)), grid, folded, cls="wb-errorbox", role="alert"))


def error_text(error: WorkbenchError) -> str:
    """The box in plain words, a line each."""
    lines = [labelled(_t(f"errors.box.{name}"), text) for name, text in parts(error).items()]
    return "\n".join([f"✗ {title(error)}", *(f"  {line}" for line in lines)])


def error_line(error: Exception) -> str:
    """An error in one line: the box's parts for one of this package, kind and message for any other."""
    if not isinstance(error, WorkbenchError):
        return f"{type(error).__name__}: {error}"
    told = parts(error)
    where, rest = told.pop("where", ""), " ".join(told.values())
    return labelled(where, rest) if where else rest


def show_error(shell: Any, kind: type, error: WorkbenchError, trace: Any, tb_offset: int | None = None) -> list[str]:
    """IPython's handler for the errors of this package (``set_custom_exc``): the box, and one line that the cell stopped.

    The cell still counts as failed, for whoever runs notebooks without looking.
    """
    shell.display_pub.publish({"text/html": str(error_html(error)), "text/plain": error_text(error)})
    lines = [_t("errors.box.stopped")]
    shell._showtraceback(kind, error, lines)
    return lines
