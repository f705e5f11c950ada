"""Markup: everything escaped, whatever goes in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

import workbench.views
from workbench.views.html import Mark, excerpt, h, join, marked, page, picture, safe, style, table, text_differences

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x00\x1b[31m\u202egnp.exe"


def test_text_is_escaped_cleaned_and_isolated():
    assert safe("<b>&\"'") == "&lt;b&gt;&amp;&#34;&#39;"
    assert safe("a\x00\x1bb\tc\nd") == "ab\tc\nd"
    assert safe("a\u202eb") == "<bdi>a\u202eb</bdi>"
    assert safe("\ud800x") == "\ufffdx"
    assert safe(None) == "–" and safe(float("nan")) == "–"
    assert safe(Markup("<b>")) == "<b>"


@given(st.text(max_size=200))
def test_no_text_opens_a_tag(text):
    shown = str(marked(text, [Mark(0, len(text) // 2, "word"), Mark(len(text) // 3, len(text), "match", "✓", text)]))
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", shown))
    assert tags <= {"span", "mark", "bdi"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


@given(
    st.text(alphabet="abc<>&é汉 \n", max_size=80),
    st.lists(st.tuples(st.integers(-3, 90), st.integers(-3, 90)), max_size=6),
)
def test_marks_never_lose_or_repeat_a_character(text, spans):
    shown = marked(text, [Mark(a, b, "word") for a, b in spans])
    assert Markup(re.sub("<[^>]*>", "", shown)).unescape() == text


def test_overlapping_marks_share_their_piece():
    shown = str(marked("abcdef", [Mark(0, 4, "match", "✓"), Mark(2, 6, "word")]))
    pieces = re.findall(r'<mark class="wb-mark ([^"]*)">(?:<span class="wb-sign">✓ </span>)?([a-f]+)</mark>', shown)
    assert pieces == [("wb-match", "ab"), ("wb-match wb-word", "cd"), ("wb-word", "ef")]
    assert shown.count("✓") == 1


def test_only_known_elements_attributes_and_addresses():
    with pytest.raises(ValueError, match="script"):
        h("script", "x")
    with pytest.raises(ValueError, match="onclick"):
        h("p", "x", onclick="alert(1)")
    with pytest.raises(ValueError, match="within the page"):
        h("a", "x", href="https://example.org")
    with pytest.raises(ValueError, match="within the page"):
        h("img", src="javascript:alert(1)")
    assert h("p", "x", title='"><script>') == '<p title="&#34;&gt;&lt;script&gt;">x</p>'


def test_a_megabyte_is_cut_and_says_so():
    shown = marked("x" * 1_000_000)
    assert len(shown) < 30_000
    assert "showing 3,000 of 1,000,000 characters" in shown and "977,000 more characters" in shown
    assert "details" not in marked("x" * 3000)


def test_excerpt_is_one_line():
    assert excerpt("a\n b  c") == "a b c"
    assert excerpt("x" * 500, 10) == "x" * 9 + "…"
    assert len(excerpt("y" * 1_000_000)) == 120


def test_table_escapes_cells_and_headings_and_counts():
    frame = pd.DataFrame({"<q>": [HOSTILE], "score": [0.123], "n": [6337]})
    shown = str(table(frame, total=6337))
    assert "<script" not in shown and "<img" not in shown and "\x00" not in shown and "\x1b" not in shown
    assert "&lt;q&gt;" in shown and "0.12" in shown and "6,337" in shown and "1 of 6,337" in shown
    assert "<bdi>" in shown


def test_page_is_one_file_without_scripts():
    shown = str(page(HOSTILE, picture(b"\x89PNG", "a caption"), language="zh"))
    assert shown.startswith("<!DOCTYPE html>") and 'lang="zh-CN"' in shown
    assert "<script" not in shown and "http" not in shown.replace("data:image", "")
    assert 'alt="a caption"' in shown


def test_style_reaches_nothing_outside():
    assert not re.search(r"url\(|@import|http", style())


def test_join_leaves_out_none_and_escapes():
    assert join(["a<", None, Markup("<b>x</b>")], ", ") == "a&lt;, <b>x</b>"


def test_markup_is_built_nowhere_else():
    folder = Path(workbench.views.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        if file.name == "html.py":
            continue
        tree = ast.parse(file.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docstrings]
        assert not [text for text in texts if isinstance(text, str) and re.search(r"</?[a-z]+[ >/]", text)], file


@pytest.mark.parametrize(("own", "other", "marked"), [
    ("Kept for 12 long years.", "Kept for 10 years.", ["12 long"]),
    ("Kept for 12 years in Bonn.", "Kept for 12 years in Rome.", ["Bonn"]),
    ("The rule for sick pay is 80 %.", "I could not find this in the handbook.", ["The rule for sick pay is 80 %."]),
    ("保留 12 年。", "保留 10 年。", ["12"]),
    ("停车费每月 30 元。", "抱歉，没有找到相关规定。", ["停车费每月 30 元。"]),
    ("same", "same", []), ("", "was", []), ("is", "", ["is"]),
])  # fmt: skip
def test_differences_are_stretches_and_not_every_word_by_itself(own, other, marked):
    found = text_differences(own, other, "new")
    assert [own[mark.start : mark.end] for mark in found] == marked
