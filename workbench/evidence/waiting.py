"""What is shown while something takes long: a bar; in a notebook's cell with words and a button that cancels."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.errors import CancelledError
from workbench.evidence.run import Progress
from workbench.language import text as _t
from workbench.steps import ByText

#: Least seconds between two reports.
PACE = 0.2

#: No message reaches a kernel whose cell is running, an interrupt does: the page itself asks the server for one.
_CANCEL = """export default { render({ model, el }) {
  const button = document.createElement("button");
  button.className = "jupyter-button widget-button wb-cancel";
  button.textContent = model.get("words");
  button.title = model.get("hint");
  button.onclick = () => {
    const kernel = model.widget_manager?.kernel;
    button.textContent = model.get(kernel ? "stopping" : "hint");
    button.disabled = true;
    kernel?.interrupt();
  };
  el.append(button);
} }"""


@contextmanager
def bar(
    wanted: bool | Callable[[int, int], None], unit: str, delay: float = 0
) -> Iterator[Callable[[int, int], None] | None]:
    """A progress callback ``(done, total)``: a bar that appears after ``delay`` seconds, the caller's own, or none."""
    if wanted is not True:
        yield None if wanted is False else wanted
        return
    from tqdm.auto import tqdm

    with tqdm(unit=unit, leave=False, delay=delay) as shown:

        def advance(done: int, total: int) -> None:
            """Move the bar to ``done``; the total may have changed."""
            shown.total = total
            shown.update(done - shown.n)

        yield advance


def in_kernel() -> bool:
    """Whether this runs in a notebook's kernel."""
    return "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


@contextmanager
def waiting_row(total: int, spent: Callable[[], str]) -> Iterator[Progress]:
    """A bar that is gone when the work has ended; gives the callback for progress.

    Raises ``CancelledError`` when the cell was interrupted, by the button or by ■. ``spent``: what stands behind the counts.
    """
    import ipywidgets as W
    from IPython.display import display

    bar = W.IntProgress(min=0, max=max(total, 1), layout=W.Layout(width="180px"))
    words = W.Label(_t("panels.opening.model", n=f"{total:,}"))
    started, told = time.monotonic(), 0.0

    def advance(done: int, total: int, cached: int) -> None:
        """Move bar and words, at most once in ``PACE`` seconds and at the end."""
        nonlocal told
        now = time.monotonic()
        if done < total and now - told < PACE:
            return
        told, bar.max, bar.value = now, max(total, 1), done
        rate = max(done - cached, 0) / max(now - started, 1e-6)
        seconds = report.left(now - started)
        left = "?" if seconds is None else f"{seconds:.0f}"
        said = _t("panels.score.progress", done=f"{done:,}", total=f"{total:,}", rate=f"{rate:.1f}", left=left)
        words.value = f"{said} · {_t('panels.score.hits', n=f'{cached:,}')}{spent()}"

    report = ByText(advance)
    row = W.HBox([bar, words, _cancel_button()])
    display(row)
    try:
        yield report
    except KeyboardInterrupt as error:
        raise CancelledError("cancelled; what was judged is kept and will not be judged again") from error
    finally:
        for widget in (row, *row.children):
            widget.close()


def _cancel_button() -> Any:
    import traitlets
    from anywidget import AnyWidget

    class Cancel(AnyWidget):  # type: ignore[misc, unused-ignore]
        """A button that interrupts the kernel; what it says follows the language."""

        _esm = _CANCEL
        words = traitlets.Unicode(_t("panels.score.cancel")).tag(sync=True)
        stopping = traitlets.Unicode(_t("panels.score.cancelling")).tag(sync=True)
        hint = traitlets.Unicode(_t("panels.opening.cancel")).tag(sync=True)

    return Cancel()
