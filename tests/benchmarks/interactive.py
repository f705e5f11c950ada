"""Print how long a user waits in panels 02 and 06: medians of 20, in a browser on a real JupyterLab.

    PYTHONPATH=. python tests/benchmarks/interactive.py [samples, default 10000] [repeats, default 20]
    PYTHONPATH=. python tests/benchmarks/interactive.py notebooks

The sets are made here: 10,000 samples of two kinds, scored without a judge; those of 06 by a judge that doubts every claim, so
that each step of its threshold, from 0.50 up, moves some. Times are those of the page: from the key or the click until what
it changes is there, and no 10 seconds pass without it. ``notebooks``: the first widget of each notebook on the sample data.
Run it on a quiet machine.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import workbench as wb
from tests.browser import conftest
from tests.scripted import ScriptedJudge, evidence

SIZES = [int(given) for given in sys.argv[1:] if given.isdigit()]
N, REPEATS = (*SIZES, *(10_000, 20)[len(SIZES) :])


def doubted(sample):
    """One claim an answer, with a number that the context bears out by 0.2 to 0.8."""
    support = 0.2 + 0.6 * int(sample.sample_id[-3:]) / 1000
    claim = {"text": sample.answer or "", "entail": [support], "other": 0.5, "kinds": ["number"]}
    return evidence(sample, [claim] if sample.answer else [])


def run(name: str, wrong: int, judge=None):
    """An evaluation of ``N`` samples of which one in ``wrong`` misses its point."""
    rows = [{
        "sample_id": f"s-{at:06d}", "question": f"How many seats does plan {at} hold?",
        "answer": None if at % (2 * wrong) == 0 else "See the plan." if at % wrong == 0 else f"Plan {at} holds 5 seats.",
        "contexts": [{"doc_id": f"plan-{at % 50}", "text": f"Plan {at} holds 5 seats."}],
        "expected_docs": [f"plan-{at % 50 if at % 7 else 99}"], "must_include": ["5 seats"], "tags": {"area": f"a{at % 9}"},
    } for at in range(N)]  # fmt: skip
    return wb.evaluate(wb.load_samples(rows), judge=judge, encoder="none", progress=False, name=name)


def notebook(folder: Path, name: str, lines: str) -> str:
    """A notebook of two cells: one for the kernel to start with, and one that shows a panel."""
    shown = f"import workbench as wb\nwb.set_language('en')\n{lines}\npanel"
    cells = [{"cell_type": "code", "id": f"cell-{at}", "metadata": {}, "outputs": [], "execution_count": None, "source": own}
             for at, own in enumerate(("1", shown))]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps(book), "utf-8")
    return name


def told(what: str, seconds: list[float], limit: int) -> None:
    """One line: the median and the slowest, beside what is asked for."""
    median, worst = (1000 * value for value in (statistics.median(seconds), max(seconds)))
    print(f"{what:<58} median {median:7.0f} ms   slowest {worst:7.0f} ms   asked ≤ {limit} ms", flush=True)


def timed(page, action, part: str, event: str) -> float:
    """Seconds from the first ``event`` of ``action`` until the first ``part`` says something else, or shows another picture.

    The event is the user's: what a driver does before it (looking for the button, waiting until it stands still) is no time
    that anybody waits. Each begins with an idle kernel: keys pressed while it is at work are sent as one, and two that take
    back each other change nothing.
    """
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'idle'"
    )
    page.wait_for_timeout(400)
    page.evaluate(
        """([part, event]) => { const own = document.querySelector(part);
            const said = () => own.tagName === "IMG" ? own.src : own.textContent + own.hidden, before = said();
            let start = 0;
            window.addEventListener(event, () => { start = performance.now(); }, { capture: true, once: true });
            window.changed = new Promise((done, never) => {
                const late = setTimeout(() => never(new Error(`${part} stayed as it was`)), 10000);
                const watch = new MutationObserver(async () => {
                    if (!start || said() === before) return;
                    watch.disconnect(); clearTimeout(late);
                    if (own.tagName === "IMG") await own.decode().catch(() => null);
                    requestAnimationFrame(() => done(performance.now() - start));
                });
                watch.observe(own, { subtree: true, childList: true, characterData: true, attributes: true });
            }); }""",
        [part, event],
    )
    action()
    return page.evaluate("() => window.changed") / 1000


def opened(lab, name: str) -> None:
    """Open a notebook: how long its kernel takes to run a first cell, then its panel from running all, import included."""
    page, start = lab.page, time.perf_counter()
    lab.run(name, "notebook:run-cell")
    warm = time.perf_counter()
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.locator(".wb-panel").first.wait_for()
    shown = time.perf_counter()
    print(f"{name:<30} kernel {warm - start:4.1f} s, then first widget {shown - warm:4.1f} s", flush=True)


def slider(page):
    """A function that moves the threshold one key at a time, up and down by turns."""
    handle = page.locator(".wb-threshold .noUi-handle").first
    way = ["ArrowLeft", "ArrowRight"]

    def move() -> None:
        way.append(way.pop(0))
        handle.press(way[0])

    handle.focus()
    return move


def stepped(page, name: str) -> None:
    """Next and previous, then the threshold, of a panel."""
    for way in ("next", "previous"):
        told(f"{name} {way} → card", [timed(page, page.locator(f".wb-{way}").click, ".wb-split .wb-card", "click")
                                      for _ in range(REPEATS)], 150)  # fmt: skip
    for part, shown in ((".wb-count", "counts"), ("img.wb-figure", "picture")):
        move = slider(page)
        told(f"{name} slider → {shown}", [timed(page, move, part, "keydown") for _ in range(REPEATS)], 200)


def panels(lab) -> None:
    """Panel 02, then panel 06."""
    page = lab.page
    opened(lab, "bench_02")
    page.locator(".wb-rows tbody tr").first.wait_for()
    page.wait_for_timeout(1500)
    rows = page.locator(".wb-rows-grid").first
    rows.focus()
    told("02 key j / k → card", [timed(page, lambda key=key: rows.press(key), ".wb-split .wb-card", "keydown")
                                 for _ in range(REPEATS // 2) for key in ("j", "k")], 150)  # fmt: skip
    box = page.locator(".wb-over").first.bounding_box()
    bar = (box["x"] + 0.2 * box["width"], box["y"] + 0.22 * box["height"])
    hovers = []
    for at in range(REPEATS):
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 2)
        y = bar[1] if at % 2 else bar[1] + 0.11 * box["height"]
        hovers.append(timed(page, lambda y=y: page.mouse.move(bar[0] + 5, y), ".wb-tip", "pointermove"))
    told("02 hover → label", hovers, 30)
    bars = [bar, (bar[0], bar[1] + 0.11 * box["height"])]
    clicks = [timed(page, lambda at=at: page.mouse.click(*bars[at % 2]), ".wb-rows-bar", "click") for at in range(REPEATS)]
    told("02 click on a bar → list (the card is drawn with it)", clicks, 300)
    page.get_by_role("button", name="Reset").first.click()
    page.wait_for_timeout(1000)
    stepped(page, "02")
    opened(lab, "bench_06")
    page.wait_for_timeout(1500)
    stepped(page, "06")


def main() -> None:
    """Make the sets, start JupyterLab and a browser, and measure: the panels, or the notebooks of the sample data."""
    with tempfile.TemporaryDirectory() as own:
        made = SimpleNamespace(mktemp=lambda name: Path(tempfile.mkdtemp(prefix=name, dir=own)))
        folder = conftest.workspace.__wrapped__(made)
        if "notebooks" not in sys.argv:
            alone, judge = run("alone", 4).save(folder / "alone" / "alone"), ScriptedJudge(doubted, "doubted")
            before, after = (run(name, wrong, judge).save(folder / name) for name, wrong in (("before", 4), ("after", 5)))
            notebook(folder, "bench_02", f"panel = wb.panels.low_scores(wb.Session(wb.open({str(alone)!r})))")
            notebook(folder, "bench_06", f"panel = wb.panels.compare(wb.Session(wb.open({str(after)!r})), {str(before)!r})")
        server = conftest.server.__wrapped__(folder, made)
        browser = conftest.browser.__wrapped__()
        address, chromium = next(server), next(browser)
        try:
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            lab = conftest.Lab(page, address)
            if "notebooks" in sys.argv:
                for name in sorted(path.stem for path in (folder / "notebooks").glob("*.ipynb")):
                    opened(lab, name)
            else:
                panels(lab)
        finally:
            browser.close(), server.close()


if __name__ == "__main__":
    main()
