"""Notebook 11 in a real JupyterLab, in both languages: a cell of the matrix shows the contexts before and after."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(("language", "today"), [("en", "today"), ("zh", "当前")])
def test_a_cell_shows_the_contexts_before_and_after(lab, workspace, language, today):
    source = (workspace / "notebooks" / "11_repair_plan.ipynb").read_text("utf-8")
    for name, value in (("LANGUAGE", language), ("ENCODER", "none")):
        source = source.replace(f"{name} = None", f'{name} = \\"{value}\\"')
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
    expect(page.locator(".wb-panel").nth(1).locator("img").first).to_be_visible()
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []
