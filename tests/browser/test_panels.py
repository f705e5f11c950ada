"""Panels 03, 04, 05, 07, 08 and 09 in a real JupyterLab: what is clicked has its effect, and nothing goes wrong.

Each opens its own copy of the sample evaluation, so that pins and filters of one test are not met by another.
"""

from __future__ import annotations

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

import workbench as wb

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


class Opened:
    """A notebook on a page, with its panel and the parts that the contract names."""

    def __init__(self, lab, folder):
        self.lab, self.page, self.folder = lab, lab.page, folder
        self.panel = lab.page.locator(".wb-panel").first
        self.figure, self.count, self.card, self.next, self.pin = (
            self.part(name) for name in ("figure", "count", "card", "next", "pin")
        )

    def part(self, name):
        """The first part with a class of the contract."""
        return self.panel.locator(f".wb-{name}").first

    def choice(self, label):
        """The drop-down list that follows a label."""
        return self.panel.locator(".widget-dropdown", has_text=re.compile(f"^{label}")).locator("select").first

    def pinned(self):
        """What the session's journal holds."""
        lines = (self.folder / "session" / "session.jsonl").read_text("utf-8").splitlines()
        return [finding for line in lines for finding in json.loads(line).get("findings", ())]

    def changes(self, part, action, attribute=None):
        """Run ``action`` and wait until the text, or an attribute, of ``part`` is another one."""
        before = part.get_attribute(attribute) if attribute else part.text_content()
        action()
        if attribute:
            expect(part).not_to_have_attribute(attribute, before)
        else:
            expect(part).not_to_have_text(before)

    def fine(self):
        """No red line, no error, nothing asked of another machine, nothing that needs horizontal scrolling."""
        assert self.lab.complaints() == [] and self.lab.errors == [] and self.lab.outside == []
        assert self.panel.evaluate(WIDE) == []


#: Elements that show a horizontal scroll bar.
WIDE = """panel => [panel, ...panel.querySelectorAll('*')].filter(e => e.clientWidth > 60 && e.scrollWidth > e.clientWidth
    && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).map(e => e.className)"""


@pytest.fixture
def opened(lab, workspace):
    """Open a notebook by its number, with lines of it replaced; nothing that costs time is asked of the embedded model."""

    def make(number, evaluation=None, **lines):
        support = workspace / "sample_data" / "support"
        folder = support / f"own_{number}" / "baseline"
        ignore = shutil.ignore_patterns("session")
        if evaluation is None:
            shutil.copytree(support / "evaluations" / "baseline", folder, ignore=ignore)
        else:
            evaluation.save(folder)
        name = next((workspace / "notebooks").glob(f"{number}_*.ipynb")).stem
        book = json.loads((workspace / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
        lines = {"DATA": f"../sample_data/support/own_{number}/baseline", "OUT": f"own_{number}", **lines}
        source = "".join(next(cell for cell in book["cells"] if cell["cell_type"] == "code")["source"])
        for key, value in lines.items():
            source, n = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value!r}", source)
            assert n == 1, key
        next(cell for cell in book["cells"] if cell["cell_type"] == "code")["source"] = source
        own = f"own_{name}"
        (workspace / "notebooks" / f"{own}.ipynb").write_text(json.dumps(book), "utf-8")
        return Opened(lab.run(own), folder)

    return make


def test_panel_03_walks_through_missed_documents(opened):
    o = opened("03", ENCODER="ngram")
    sentence = o.part("sentence")
    expect(o.count).to_contain_text("questions miss")
    expect(o.part("cancel")).to_be_hidden()
    o.changes(sentence, o.next.click)
    o.changes(o.figure, lambda: o.page.get_by_role("button", name="similarity profile").first.click(), "src")
    expect(o.panel.get_by_text("texts encoded")).to_have_count(0)
    o.choice("sub-cause").select_option(label="not indexed")
    expect(sentence).to_contain_text("not indexed")
    handle = o.panel.locator(".wb-k .noUi-handle")
    handle.focus()
    o.changes(o.count, lambda: handle.press("End"))
    expect(o.count).to_contain_text("were recorded")
    o.pin.click()
    expect(o.panel.get_by_text("saved this view").first).to_be_visible()
    assert o.pinned()[-1]["panel"] == "missed_documents"
    o.fine()


def test_panel_04_accepts_and_exports_a_synonym(opened, workspace):
    o = opened("04", ENCODER="none")
    expect(o.part("pair")).to_contain_text("question")
    o.lab.accessible()
    expect(o.panel.get_by_role("button", name="Remove")).to_be_hidden()
    edit = o.panel.get_by_label("edit")
    edit.fill("")
    expect(o.part("accept")).to_be_disabled()
    edit.fill("resignation")
    o.part("accept").click()
    expect(o.part("accepted")).to_contain_text("1 synonyms accepted")
    o.choice("format").select_option(index=1)
    o.changes(o.panel.get_by_text("written:"), o.part("export").click)
    assert "resignation" in (workspace / "notebooks" / "own_04" / "synonyms.txt").read_text("utf-8")
    o.changes(o.part("pair"), o.next.click)
    handle = o.panel.locator(".wb-threshold .noUi-handle")
    handle.focus()
    o.changes(o.count, lambda: handle.press("Home"))
    expect(o.part("pair")).to_contain_text("No missed document")
    expect(o.part("accept")).to_be_hidden()
    o.panel.get_by_role("button", name="Remove").click()
    expect(o.part("accepted")).to_contain_text("0 synonyms accepted")
    o.fine()


def billing_fails():
    """40 questions in two kinds: the 10 about billing, all of one kind, miss their point."""

    def row(n):
        when, bad = n % 2 == 0, n < 20 and n % 2 == 0
        asked = f"When does plan {n} end?" if when else f"How many seats does plan {n} hold?"
        point = "3 May" if when else "5 seats"
        answer = "That is written in the plan." if bad else f"Plan {n}: {point}."
        contexts = [{"doc_id": "plans", "text": "Every plan has 5 seats and ends on 3 May."}]
        return {"sample_id": f"s-{n:02d}", "question": asked, "answer": answer, "contexts": contexts,
                "must_include": [point], "tags": {"area": "billing" if bad else "sales"}}  # fmt: skip

    samples = wb.load_samples([row(n) for n in range(40)])
    return wb.evaluate(samples, judge=None, encoder="none", progress=False)


def test_panel_05_a_bar_a_cell_and_a_slice_choose_the_samples(opened):
    o = opened("05", billing_fails())
    def row(name, at=0):
        return o.panel.locator(f".{name} tbody tr").nth(at)

    def tab(words):
        o.panel.locator(".lm-TabBar-tab", has_text=words).click()

    note, place = o.panel.locator(".wb-note", has_text="Showing only"), o.panel.get_by_text(re.compile(r"^sample \d+ of \d+$"))
    current = o.panel.locator(".wb-split tr.wb-current")
    expect(o.count).to_contain_text("10 of 40 tested samples fail")
    expect(place).to_have_text("sample 1 of 10")
    tab("Groups as a table")
    row("wb-groups").click()
    expect(note).to_contain_text("question type = when, failing")
    o.page.get_by_label("only failing ones").uncheck()
    expect(place).to_contain_text("of 20")
    o.changes(o.figure, lambda: o.choice("and").select_option(label="language"), "src")
    tab("Picture")
    over = o.panel.locator(".wb-over").first.bounding_box()
    o.page.mouse.click(over["x"] + 0.45 * over["width"], over["y"] + 0.7 * over["height"])
    expect(note).to_contain_text("question type × language =")
    tab("Worst slices")
    row("wb-slices").click()
    expect(note).to_contain_text("area = billing")
    expect(place).to_have_text("sample 1 of 10")
    o.next.click()
    expect(place).to_have_text("sample 2 of 10")
    expect(current).to_contain_text("s-02")
    expect(o.card).to_contain_text("When does plan 2 end?")
    o.part("everything").click()
    expect(place).to_contain_text("of 40")
    o.pin.click()
    expect(o.panel.get_by_text("saved this view").first).to_be_visible()
    o.fine()


def test_panel_07_lists_claims_beside_their_evidence(opened):
    o = opened("07")
    here = o.panel.locator(".wb-split tr.wb-current td").last
    expect(o.count).to_contain_text("claims have no support")
    o.changes(here, o.next.click)
    o.choice("verdict").select_option(label="contradicted")
    expect(o.panel.locator(".wb-split td", has_text="not mentioned")).to_have_count(0)
    search = o.panel.get_by_label("search")
    search.fill("no such words anywhere")
    search.press("Enter")
    expect(o.card).to_contain_text("No claim matches")
    o.page.get_by_role("button", name="Reset").first.click()
    expect(o.card).to_contain_text("Answer")
    o.panel.locator(".lm-TabBar-tab", has_text="Citations").click()
    expect(o.panel.locator("th", has_text="citation")).to_be_visible()
    handle = o.panel.locator(".wb-threshold .noUi-handle")
    handle.focus()
    o.changes(o.figure, lambda: handle.press("End"), "src")
    expect(o.count).to_contain_text("more are unsure")
    o.fine()


def test_panel_08_moves_the_cut_and_counts_a_verdict(opened, workspace):
    o = opened("08")
    expect(o.count).to_contain_text("judge and people agree on")
    o.lab.accessible()
    handle = o.panel.locator(".wb-threshold .noUi-handle")
    handle.focus()
    o.changes(o.count, lambda: handle.press("End"))
    expect(o.part("advice")).to_contain_text("Suggested threshold")
    o.changes(o.count, o.part("use").click)
    expect(o.part("use")).to_be_disabled()
    for tab, words in (
        ("By language", "Chinese"),
        ("Pass rate, corrected", "corrected by people"),
        ("All scores", "AUROC"),
    ):
        o.panel.locator(".lm-TabBar-tab", has_text=tab).click()
        expect(o.panel.get_by_text(words).locator("visible=true").first).to_be_visible()
    o.choice("list").select_option(label="without a verdict, random order")
    expect(o.part("people")).to_contain_text("no verdict yet")
    o.panel.get_by_role("button", name="right", exact=True).click()
    expect(o.part("people")).to_contain_text("right")
    expect(o.choice("labels")).to_contain_text("my own (1)")
    o.panel.get_by_label("rules file").fill("own_08.toml")
    o.part("freeze").click()
    expect(o.part("gate-result")).to_contain_text("own_08.toml")
    assert (workspace / "notebooks" / "own_08.toml").is_file()
    o.fine()


def test_panel_09_moves_window_metric_and_limit(opened):
    o = opened("09")
    expect(o.count).to_contain_text("windows beyond")
    o.changes(o.count, lambda: o.choice("window").select_option(label="100 requests"))
    o.changes(o.figure, lambda: o.choice("metric").select_option(label="refusal rate"), "src")
    handle = o.panel.locator(".wb-threshold .noUi-handle")
    handle.focus()
    o.changes(o.count, lambda: handle.press("End"))
    expect(o.count).to_contain_text("cannot fire")
    handle.press("Home")
    expect(o.count).not_to_contain_text("cannot fire")
    o.panel.locator(".lm-TabBar-tab", has_text="Rejected rows").click()
    expect(o.panel.get_by_text("No row of the log was rejected.")).to_be_visible()
    o.pin.click()
    expect(o.panel.get_by_text("saved this view").first).to_be_visible()
    assert o.pinned()[-1]["panel"] == "monitoring"
    o.fine()
