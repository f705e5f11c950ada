"""Pictures: drawn without touching global settings, Chinese without boxes, failures never sampled away."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from PIL import Image

from workbench.views import figures, plots
from workbench.views.figures import SHIPPED, drawable, families
from workbench.views.flow import flow


def histogram(values, cut, *, title="", **how):
    return plots.failures([], values, cut, titles=("", title), **how)


def pixels(figure):
    return np.asarray(Image.open(io.BytesIO(figures.figure_png(figure))).convert("RGB")).reshape(-1, 3)


def share(figure, color):
    wanted = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(pixels(figure).astype(int) - wanted).max(axis=1) < 12).mean())


def test_the_failing_side_is_coloured_and_moves_with_the_cut():
    values = np.linspace(0, 1, 200)
    low, high = histogram(values, 0.2), histogram(values, 0.8)
    assert share(high, figures.VERMILLION) > 2 * share(low, figures.VERMILLION) > 0
    turned = histogram(values, 0.2, low_is_bad=False)
    assert share(turned, figures.VERMILLION) > 2 * share(low, figures.VERMILLION)


def test_threads_that_draw_at_once_do_not_take_each_others_settings():
    before = dict(matplotlib.rcParams)
    inside, leave, gone = threading.Event(), threading.Event(), threading.Event()
    titles = []

    def first():
        with figures.drawing(2, 1):
            inside.set()
            leave.wait(5)
        gone.set()

    def second():
        with figures.drawing(2, 1) as (_, axes):
            gone.wait(5)
            axes.set_title("left")
            titles.append(axes.get_title("left"))

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(5)
    threads[1].start()
    threads[1].join(0.2)
    leave.set()
    for thread in threads:
        thread.join(10)
    assert titles == ["left"]
    assert dict(matplotlib.rcParams) == before


def test_the_failing_side_is_hatched_too():
    figure = histogram(np.zeros(50), 0.5)
    assert any(patch.get_hatch() for patch in figure.axes[1].patches)


def test_empty_missing_and_unbounded_values_draw():
    for values in ([], [np.nan, np.nan], [0, 3, 250.0], [-1.0]):
        assert figures.figure_png(histogram(values, 0.5)).startswith(b"\x89PNG")
    assert figures.figure_png(plots.intervals([], [], [], [])).startswith(b"\x89PNG")
    assert figures.figure_png(plots.bars(["a"], [np.nan], [np.nan], [np.nan], notes=["n = 0"])).startswith(b"\x89PNG")


def test_nothing_global_changes_and_pyplot_stays_out():
    before = dict(matplotlib.rcParams)
    figures.figure_png(histogram([0.1], 0.5, title="忠实度"))
    assert dict(matplotlib.rcParams) == before
    code = (
        "import sys; from workbench.views import figures, plots; figures.figure_png(plots.failures([], [.1], .5));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_chinese_symbols_and_dollars_draw_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for title in ("忠实度低于 0.70 的样本", "costs $5 and $6_x", "emoji 😀 ก ﷽ \x00", "✓ ✗ ★ ⚠"):
            figures.figure_png(plots.bars([title], [0.5], [0.4], [0.6], notes=[title], title=title))


def test_the_shipped_font_alone_knows_simplified_chinese(monkeypatch):
    assert SHIPPED.stat().st_size < 1_800_000
    assert "SIL OPEN FONT LICENSE" in SHIPPED.with_name("OFL.txt").read_text("utf-8")
    monkeypatch.setattr(figures, "INSTALLED", ())
    for function in (families, figures.code_points, drawable):
        function.cache_clear()
    try:
        assert families() == ("DejaVu Sans", "Workbench Sans SC")
        assert drawable("检索召回失败，遗漏要点：500 个并发会话") == "检索召回失败，遗漏要点：500 个并发会话"
        figures.figure_png(histogram([0.1], 0.5, title="检索召回失败，遗漏要点"))
    finally:
        for function in (families, figures.code_points, drawable):
            function.cache_clear()


def test_without_any_chinese_font_there_is_one_warning_and_no_box(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(figures, "INSTALLED", ())
    monkeypatch.setattr(figures, "SHIPPED", tmp_path / "gone.otf")
    for function in (families, figures.code_points, drawable):
        function.cache_clear()
    try:
        assert drawable("召回 recall") == "?? recall"
        figures.figure_png(histogram([0.1], 0.5, title="召回 recall"))
        assert sum("Chinese" in record.message for record in caplog.records) == 1
    finally:
        for function in (families, figures.code_points, drawable):
            function.cache_clear()


@given(st.integers(0, 400), st.integers(1, 100), st.randoms())
def test_sampling_keeps_every_failure_and_says_so(n, limit, random):
    failing = np.array([random.random() < 0.2 for _ in range(n)], dtype=bool)
    drawn, words = plots.sampled(n, failing, limit)
    assert set(np.flatnonzero(failing)) <= set(drawn.tolist())
    assert len(set(drawn.tolist())) == len(drawn) <= max(limit, failing.sum(), 0) or n <= limit
    assert (words == "") == (n <= limit)
    if words:
        assert f"{len(drawn):,} of {n:,}" in words
    assert (plots.sampled(n, failing, limit)[0] == drawn).all()


@pytest.mark.parametrize("words", ["latency is high; " * 7, "延迟中位数（p50）超出基线；" * 8, "a short one"])
def test_a_title_never_runs_out_of_the_picture(words):
    figure = histogram([0.2, 0.8], 0.5, title=words)
    figures.figure_png(figure)
    figure.canvas.draw()  # it was written at another resolution
    title = next(text for text in figure.findobj(Text) if text.get_text() == figure.axes[0].get_title(loc="left"))
    assert title.get_window_extent().x1 <= figure.bbox.width and title.get_fontsize() >= 7.5
    assert title.get_text().removesuffix("…") in words


@pytest.mark.parametrize(("values", "shown"), [([], ""), ([1.0], "▁▁▁▁▁▁▁█"), ([0, 0, 0.99], "█▁▁▁▁▁▁▅")])
def test_sparklines(values, shown):
    assert plots.spark(values) == shown


@pytest.mark.parametrize("words", [
    "13 of 31 · 42 % (26 – 59 %)  permission leak 3 · bad citation 1", "13 / 31 · 42%（26 – 59%） 越权泄露 3 · 引用错误 1",
])  # fmt: skip
@pytest.mark.parametrize("right", [0.5, 0.7])
def test_notes_beside_bars_end_within_the_picture(words, right):
    """On a page of 760 pixels as well, where there is least room; so do the names on the other side."""
    from matplotlib.text import Annotation

    figures.screen({"width": 760, "ratio": 1, "dark": False})
    try:
        with figures.row_axes([words], "t", "screen", right=right, notes=[words]) as (_, axes, _):
            note = next(item for item in axes.findobj(Annotation))
            assert note.get_window_extent().x1 <= axes.figure.bbox.width and len(note.get_text()) > 8
            assert axes.get_yticklabels()[0].get_window_extent().x0 >= 0
    finally:
        figures.screen({"width": 1056, "ratio": 1, "dark": False})


@pytest.mark.parametrize("width", [400, 1050])
def test_names_in_the_flow_of_causes_end_within_the_picture(width, monkeypatch):
    monkeypatch.setattr(figures, "_screen", figures.Screen(width))
    causes = ["distracted", "faithful_but_wrong", "pass"]
    ledger = pd.DataFrame([{"cause_before": one, "cause_after": other, "n": 1_234} for one in causes for other in causes])
    figure = flow(ledger, theme="screen")
    said = [words for words in figure.axes[0].texts if "3,702" in words.get_text()]
    assert len(said) == 6
    for words in said:
        assert words.get_window_extent().x0 >= 0 and words.get_window_extent().x1 <= figure.bbox.width
