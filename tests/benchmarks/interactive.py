"""Print how long a user waits in panels 02 and 06: medians of 20, in a browser on a real JupyterLab (and in the kernel alone).

    PYTHONPATH=. python tests/benchmarks/interactive.py [samples, default 10000] [repeats, default 20]

The sets are made here: 10,000 samples of two kinds, scored without a judge; those of 06 by a judge that doubts every claim, so
that its threshold moves some. Times are those of the page: from the key or the click until what it changes is there. Run it
on a quiet machine.
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

N = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


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
    """A notebook of one cell that shows a panel."""
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "execution_count": None,
            "source": f"import workbench as wb\nwb.set_language('en')\n{lines}\npanel"}  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps(book), "utf-8")
    return name


def told(what: str, seconds: list[float], limit: int) -> None:
    """One line: the median and the slowest, beside what is asked for."""
    median, worst = (1000 * value for value in (statistics.median(seconds), max(seconds)))
    print(f"{what:<58} median {median:7.0f} ms   slowest {worst:7.0f} ms   asked ≤ {limit} ms", flush=True)


def timed(page, action, part: str) -> float:
    """Seconds from ``action`` until the text or the source of the first ``part`` is another one."""
    page.evaluate(
        """part => { const own = document.querySelector(part);
            const said = () => own.outerHTML.length + own.innerText + (own.src || ''), before = said();
            const until = performance.now() + 10000;  // what changes nothing is told as ten seconds
            window.changed = new Promise(done => { const look = () =>
                said() === before && performance.now() < until ? setTimeout(look, 4) : done(performance.now());
                look(); }); }""", part
    )  # fmt: skip
    start = page.evaluate("() => performance.now()")
    action()
    return (page.evaluate("() => window.changed") - start) / 1000


def opened(lab, name: str) -> float:
    """Seconds from running the notebook until its panel is there."""
    page = lab.page
    start = time.perf_counter()
    lab.run(name)
    page.locator(".wb-panel .wb-card").first.wait_for()
    return time.perf_counter() - start


def slider(page, way: list[str]):
    """A function that moves the threshold one key at a time, up and down by turns."""
    handle = page.locator(".wb-threshold .noUi-handle").first

    def move() -> None:
        way.append(way.pop(0))
        handle.press(way[0])

    handle.focus()
    return move


def panels(lab) -> None:
    """Panel 02, then panel 06."""
    page = lab.page
    print(f"02 with {N:,} samples: {opened(lab, 'bench_02'):.1f} s from opening the page to the card (kernel start included)")
    page.locator(".wb-rows tbody tr").first.wait_for()
    page.wait_for_timeout(1500)
    told("02 next / previous → card", [timed(page, page.locator(f".wb-{way}").click, ".wb-split .wb-card")
                                       for _ in range(REPEATS // 2) for way in ("next", "previous")], 150)  # fmt: skip
    rows = page.locator(".wb-rows-grid").first
    rows.focus()
    told("02 key j / k → card", [timed(page, lambda key=key: rows.press(key), ".wb-split .wb-card")
                                 for _ in range(REPEATS // 2) for key in ("j", "k")], 150)  # fmt: skip
    box = page.locator(".wb-over").first.bounding_box()
    bar = (box["x"] + 0.2 * box["width"], box["y"] + 0.22 * box["height"])
    hovers = []
    for at in range(REPEATS):
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 2)
        y = bar[1] if at % 2 else bar[1] + 0.11 * box["height"]
        hovers.append(timed(page, lambda y=y: page.mouse.move(bar[0] + 5, y), ".wb-tip"))
    told("02 hover → label", hovers, 30)
    clicks = [timed(page, lambda: page.mouse.click(*bar), ".wb-rows-bar") for _ in range(REPEATS)]
    told("02 click on a bar → list", clicks, 300)
    move = slider(page, ["ArrowRight", "ArrowLeft"])
    told("02 slider → counts", [timed(page, move, ".wb-count") for _ in range(REPEATS)], 200)
    told("02 slider → picture", [timed(page, move, "img.wb-figure") for _ in range(REPEATS)], 200)
    print(f"06 with {N:,} samples: {opened(lab, 'bench_06'):.1f} s from opening the page to the card (kernel start included)")
    page.wait_for_timeout(1500)
    told("06 next / previous → card", [timed(page, page.locator(f".wb-{way}").click, ".wb-split .wb-card")
                                       for _ in range(REPEATS // 2) for way in ("next", "previous")], 150)  # fmt: skip
    move = slider(page, ["ArrowRight", "ArrowLeft"])
    told("06 slider → counts", [timed(page, move, ".wb-count") for _ in range(REPEATS)], 200)
    told("06 slider → picture", [timed(page, move, "img.wb-figure") for _ in range(REPEATS)], 200)


def main() -> None:
    """Make the set, start JupyterLab and a browser, and measure."""
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        (folder / "notebooks").mkdir()
        alone, judge = run("alone", 4).save(folder / "alone" / "alone"), ScriptedJudge(doubted, "doubted")
        before, after = (run(name, wrong, judge).save(folder / name) for name, wrong in (("before", 4), ("after", 5)))
        notebook(folder, "bench_02", f"panel = wb.panels.low_scores(wb.Session(wb.open({str(alone)!r})))")
        notebook(folder, "bench_06", f"panel = wb.panels.compare(wb.Session(wb.open({str(after)!r})), {str(before)!r})")
        made = SimpleNamespace(mktemp=lambda name: Path(tempfile.mkdtemp(prefix=name, dir=own)))
        server = conftest.server.__wrapped__(folder, made)
        browser = conftest.browser.__wrapped__()
        address, chromium = next(server), next(browser)
        try:
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            panels(conftest.Lab(page, address))
        finally:
            browser.close(), server.close()


if __name__ == "__main__":
    main()
