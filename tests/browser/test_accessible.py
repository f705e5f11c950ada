"""Every panel for people who do not see it or do not use a mouse: axe-core finds nothing serious, every control has a name."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import ROOT

pytestmark = pytest.mark.browser

NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))

#: Controls that are seen and have no name that a screen reader could say.
NAMELESS = """panel => [...panel.querySelectorAll('button, select, textarea, input:not([type=hidden]), [role=slider], img')]
    .filter(e => e.offsetParent && !(e.textContent.trim() || e.title || e.alt || e.getAttribute('aria-label')
        || [...(e.labels || [])].some(l => l.textContent.trim()) || e.closest('label')?.textContent.trim()))
    .map(e => e.outerHTML.slice(0, 200))"""
EMPTY_TIPS = """panel => [...panel.querySelectorAll('[title]')].filter(e => /^(null|None|undefined|)$/.test(e.title)).length"""


@pytest.mark.parametrize(("name", "language"), [(name, ("en", "zh")[at % 2]) for at, name in enumerate(NAMES)])
def test_nothing_serious_and_every_control_has_a_name(lab, workspace, name, language):
    book = json.loads((workspace / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    lines = next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    source = re.sub(r"(?m)^LANGUAGE = .*$", f"LANGUAGE = {language!r}", "".join(lines["source"]))
    lines["source"] = re.sub(r"(?m)^ENCODER = .*$", 'ENCODER = "none"', source)
    (workspace / "notebooks" / f"named_{name}.ipynb").write_text(json.dumps(book), "utf-8")
    panel = lab.run(f"named_{name}").page.locator(".wb-panel").first
    expect(panel).to_be_visible()
    lab.page.wait_for_timeout(1000)
    found = Axe().run(lab.page, context=".jp-NotebookPanel .wb-panel", options={"resultTypes": ["violations"]})
    serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
    assert not serious, [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in serious]
    assert panel.evaluate(NAMELESS) == [] and panel.evaluate(EMPTY_TIPS) == 0
