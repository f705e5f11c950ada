"""The notebooks in a real JupyterLab: they run clean, and panel 02 answers the mouse and the keyboard."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]



def session_file(workspace):
    return workspace / "sample_data" / "support" / "evaluations" / "baseline" / "session" / "session.jsonl"


@pytest.mark.parametrize("name", ["00_start_here", "10_export_findings"])
def test_it_runs_without_an_error_and_stays_on_this_machine(lab, name):
    lab.run(name)
    expect(lab.page.locator(".wb-panel").first).to_be_visible()
    lab.accessible()
    assert lab.complaints() == []
    assert lab.errors == [] and lab.outside == []


PLACES = """() => ['wb-previous', 'wb-next', 'wb-save', 'wb-pin'].map(name => {
    const panel = document.querySelector('.wb-panel').getBoundingClientRect();
    const own = document.querySelector('.' + name).getBoundingClientRect();
    return [Math.round(own.left - panel.left), Math.round(own.top - panel.top)]; })"""


def places(page):
    """Where the buttons of the panel are, from its top, once its picture is there and two looks agree."""
    page.wait_for_function(
        f"""() => {{ const now = JSON.stringify(({PLACES})()), same = window.lastPlaces === now; window.lastPlaces = now;
            return same && document.querySelector('.wb-panel img.wb-figure').naturalWidth > 0; }}""",
        polling=300,
    )
    return page.evaluate(PLACES)


def test_panel_02_answers(lab, workspace):
    page = lab.run("02_low_scores").page
    figure, count, card = (page.locator(f".{name}").first for name in ("wb-figure", "wb-count", "wb-card"))
    expect(card).to_contain_text("Answer")
    expect(page.locator(".wb-over")).to_have_attribute("role", "group")
    picture, words = figure.get_attribute("src"), count.inner_text()
    before = places(page)

    handle = page.locator(".wb-threshold .noUi-handle")
    handle.focus()
    handle.press("Home")
    expect(count).to_have_text(re.compile(r"\b0 of \d+ scored samples are below 0\.00"))
    expect(card).to_contain_text("No sample")
    expect(figure).not_to_have_attribute("src", picture)
    handle.press("End")
    expect(count).not_to_have_text(words)
    expect(card).to_contain_text("Answer")

    rows = page.locator(".wb-rows tbody tr")
    page.locator(".wb-rows-grid").first.press("Home")  # the sample that an earlier notebook selected stays selected
    expect(rows.nth(0)).to_have_class("wb-current")
    page.locator(".wb-next").click()
    expect(rows.nth(1)).to_have_class("wb-current")
    page.locator(".wb-previous").click()
    expect(rows.nth(0)).to_have_class("wb-current")
    rows.nth(3).click()
    expect(rows.nth(3)).to_have_class("wb-current")
    question = rows.nth(3).locator("td").last.inner_text()
    expect(card).to_contain_text(question[:40])
    # No button moves, whatever was listed, drawn or shown meanwhile.
    assert places(page) == before

    page.locator(".wb-pin").click()
    expect(page.get_by_text("saved this view")).to_be_visible()
    assert places(page) == before
    entries = [json.loads(line) for line in session_file(workspace).read_text("utf-8").splitlines()]
    assert sum(len(entry.get("findings", ())) for entry in entries) == 1
    assert page.locator("img.wb-figure").get_attribute("alt").startswith("Left: causes")
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []


def test_panel_02_is_worked_with_keys_and_pictures(lab, workspace):
    """The keys of the list reach it and not JupyterLab; a bar filters, the line is dragged, a hover is answered here."""
    page = lab.run("02_low_scores").page
    count, card, rows = (page.locator(name).first for name in (".wb-count", ".wb-card", ".wb-rows-grid"))
    current = page.locator(".wb-rows tr.wb-current td").first
    expect(card).to_contain_text("Answer")
    first = current.inner_text()
    rows.focus()
    rows.press("j")
    expect(current).not_to_have_text(first)
    rows.press("k")
    expect(current).to_have_text(first)
    rows.press("End")
    expect(page.locator(".wb-rows-place")).to_contain_text(re.compile(r"–(\d+) of \1$"))
    rows.press("Home")
    rows.press("2")
    expect(page.locator(".wb-saved")).to_contain_text("saved")
    expect(page.locator("button.mod-active", has_text="wrong")).to_be_visible()
    rows.press("p")
    expect(page.locator(".wb-saved")).to_contain_text("with its card")
    rows.press("n")
    assert page.evaluate("() => document.activeElement.matches('.wb-own-note input')")
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == len(
        json.loads((workspace / "notebooks" / "02_low_scores.ipynb").read_text("utf-8"))["cells"]
    )

    over = page.locator(".wb-over").first
    box = over.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.22 * box["height"])
    expect(page.locator(".wb-tip")).to_contain_text("main cause of")
    page.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 0.22 * box["height"])
    expect(page.locator(".wb-panel select").nth(2)).not_to_have_value("any")
    page.get_by_role("button", name="Reset").last.click()
    line = page.locator(".wb-line").bounding_box()
    page.mouse.move(line["x"] + 5, line["y"] + 20)
    page.mouse.down()
    page.mouse.move(line["x"] - 0.2 * box["width"], line["y"] + 20, steps=4)
    page.mouse.up()
    expect(count).not_to_contain_text("below 0.70")
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []


def test_scoring_runs_beside_the_notebook(lab):
    """The work is in a thread of its own: its messages reach the page, and the table is the new one."""
    page = lab.run("01_score_dataset").page
    expect(page.locator(".wb-panel").first).to_be_visible()
    page.locator(".wb-panel select").nth(1).select_option(label="none (only what needs no judgement)")
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.get_by_text("Scored 80 samples.")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Saved to|Scored 80 samples\. Saved to"))).to_be_visible()
    assert lab.complaints() == [] and lab.errors == [] and lab.outside == []


def test_hostile_texts_run_nothing(lab, workspace):
    """Script tags, event handlers and direction overrides in every field; the card shows them as text."""
    import workbench as wb

    bad = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe"
    row = {"question": bad, "answer": bad, "contexts": [{"doc_id": bad, "text": bad}], "reference": bad,
           "case_type": bad, "tags": {bad: bad}, "must_include": ["never there"]}  # fmt: skip
    folder = workspace / "hostile"
    wb.evaluate(wb.load_samples([row]), judge=None, progress=False).save(folder)
    book = workspace / "notebooks" / "hostile.ipynb"
    source = (workspace / "notebooks" / "02_low_scores.ipynb").read_text("utf-8")
    book.write_text(source.replace("DATA = None", 'DATA = \\"../hostile\\"'), "utf-8")

    dialogs = []
    lab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = lab.run("hostile").page
    expect(page.locator(".wb-card").first).to_contain_text("alert(1)")
    assert page.locator(".wb-panel script, .wb-panel img[src='x']").count() == 0
    assert dialogs == [] and lab.complaints() == [] and lab.errors == [] and lab.outside == []


@pytest.fixture(scope="module")
def shown(window, server):
    """Panel 02 as it opens, only to be looked at."""
    page = Lab(window.new_page(), server)
    yield page.run("02_low_scores")
    page.close()


def test_panel_02_has_nothing_serious_and_every_control_a_name(shown):
    shown.accessible()


def test_nothing_needs_horizontal_scrolling(shown):
    page = shown.page
    wide = page.evaluate(
        "() => [...document.querySelectorAll('.wb-panel, .wb-panel *')]"
        ".filter(e => e.clientWidth > 60 && e.scrollWidth > e.clientWidth + 4"
        " && getComputedStyle(e).overflowX !== 'visible').map(e => e.className)"
    )
    assert wide == []


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_text_can_be_read_in_both_themes(shown, theme):
    page = shown.page
    shown.theme(theme)
    expect(page.locator(".wb-cardbody").first).to_be_visible()
    ratios = page.evaluate(CONTRAST)
    assert ratios and min(ratio for _, ratio in ratios) >= 3, sorted(ratios, key=lambda pair: pair[1])[:5]


#: Contrast of every piece of text in the card against what is painted behind it (WCAG 2).
CONTRAST = """() => {
    const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const over = (top, under) => { const a = top.length > 3 ? top[3] : 1;
        return [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a)); };
    const light = c => { const [r, g, b] = c.map(v => { v /= 255;
        return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
    const behind = e => { const layers = [];
        for (let at = e; at; at = at.parentElement) {
            const c = parse(getComputedStyle(at).backgroundColor);
            layers.push(c); if (c.length === 3 || c[3] === 1) break; }
        return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]); };
    const found = [];
    for (const e of document.querySelectorAll('.wb-card *, .wb-count *')) {
        if (e.tagName === 'STYLE' || !e.offsetParent) continue;
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        const [a, b] = [light(over(parse(getComputedStyle(e).color), behind(e))), light(behind(e))];
        found.push([e.textContent.slice(0, 40), (Math.max(a, b) + .05) / (Math.min(a, b) + .05)]);
    }
    return found;
}"""
