"""Notebook 11 in a real JupyterLab, in both languages: a cell of the matrix shows the contexts before and after."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(("language", "today", "knee"), [("en", "today", "The knee"), ("zh", "当前", "拐点")])
def test_a_cell_shows_the_contexts_before_and_after(lab, workspace, language, today, knee):
    source = (workspace / "notebooks" / "11_repair_plan.ipynb").read_text("utf-8")
    generator = "lambda question, contexts: contexts[0]['text'] if contexts else 'I do not know.'"
    for name, value in (("LANGUAGE", f'\\"{language}\\"'), ("ENCODER", '\\"none\\"'), ("GENERATOR", generator)):
        source = source.replace(f"{name} = None", f"{name} = {value}")
    (workspace / "notebooks" / f"repair_{language}.ipynb").write_text(source, "utf-8")
    page = lab.run(f"repair_{language}").page
    mended = page.locator(".wb-matrix button", has_text="✓")
    expect(mended.first).to_be_visible()
    lab.accessible()
    shown = page.locator(".wb-contexts").first
    before = shown.inner_text()
    page.locator(".wb-matrix button[title*='qa-014']", has_text="✓").first.click()
    expect(shown).not_to_have_text(before)
    expect(shown).to_contain_text(re.compile(f"{today}.*★", re.DOTALL))
    expect(shown.locator("mark").first).to_be_visible()  # the key point, though it stands late in the context
    curve = page.locator(".wb-panel").nth(1)
    expect(curve.locator("img").first).to_be_visible()
    expect(curve).to_contain_text(knee)
    expect(page.locator(".jp-RenderedHTML", has_text="oracle").first).to_contain_text("80")  # calls of an arm, none made
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        panel = page.locator(".wb-panel").first
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth + 1"), width
        for button in (page.locator(".wb-matrix button").first, page.locator(".wb-matrix button").last):
            assert button.evaluate("button => button.getBoundingClientRect().right") <= width, width
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []
