"""Panel 06 in a real JupyterLab: two runs, the list, the threshold, the gate."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.two_runs import two_runs

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def notebook(workspace):
    """A copy of notebook 06 over two small runs."""
    for run in two_runs():
        run.save(workspace / "runs" / run.name)
    source = (workspace / "notebooks" / "06_compare_runs.ipynb").read_text(encoding="utf-8")
    for line, run in (("DATA", "after"), ("BASELINE", "before")):
        source, n = re.subn(rf"\"{line} = None", rf'"{line} = \\"../runs/{run}\\"', source)
        assert n == 1
    (workspace / "notebooks" / "06_small.ipynb").write_text(source, encoding="utf-8")
    return "06_small"


def test_panel_06_answers(lab, notebook, workspace):
    page = lab.run(notebook).page
    figure, count, card = (page.locator(f".{name}").first for name in ("wb-figure", "wb-count", "wb-card"))
    expect(count).to_contain_text("broken 2")
    expect(card).to_contain_text("2 → not retrieved")
    picture, words = figure.get_attribute("src"), count.text_content()

    # The second row of the list is the second sample; next goes there as well.
    rows = page.locator(".wb-rows tbody tr")
    page.locator(".wb-next").first.click()
    expect(rows.nth(1)).to_have_class("wb-current")
    expect(card).to_contain_text("The contexts are the same in both runs")
    handle = page.locator(".wb-threshold .noUi-handle").first
    handle.focus()
    handle.press("End")
    expect(count).not_to_have_text(words)
    expect(figure).not_to_have_attribute("src", picture)
    page.get_by_role("button", name="Reset").first.click()
    expect(count).to_have_text(words)

    page.locator(".wb-freeze").first.click()
    expect(page.locator(".wb-gate-result").first).to_contain_text("gate.toml")
    page.locator(".wb-gate").first.click()
    expect(page.locator(".wb-gate-result").first).to_contain_text(re.compile("passes|is blocked"))
    page.locator(".wb-pin").first.click()
    expect(page.get_by_text("saved this view")).to_be_visible()
    assert (workspace / "notebooks" / "gate.toml").is_file()
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []
