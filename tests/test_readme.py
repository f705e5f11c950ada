"""README.md and README.zh.md say the same: commands, code, names and figures, section by section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EN, ZH = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md"))
HEADS = re.compile(r"(?m)^(#{1,3}) ")


def fenced(text: str) -> list[str]:
    """Lines of code, without comments and the texts in them, which are in the reader's language."""
    blocks = re.findall(r"(?ms)^```\w*\n(.*?)^```", text)
    lines = [line.split("#")[0].rstrip() for block in blocks for line in block.splitlines()]
    return [re.sub(r'(title|advice)="[^"]*"', r"\1", line) for line in lines if line]


def inline(text: str) -> set[str]:
    """What stands between backticks and is no word of a human language."""
    outside = re.sub(r"(?ms)^```.*?^```", "", text)
    found = {" ".join(part.split()) for part in re.findall(r"`([^`]+)`", outside)}
    return {part for part in found if not re.search("[\u4e00-\u9fff]", part) and "their name" not in part}


def figures(text: str) -> dict[str, list[str]]:
    """Numbers with a decimal point or a thousands separator, by the number of the section that they stand in."""
    sections = re.split(r"(?m)^## ", text)
    number = r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+)(?![\w.]*\w)"
    return {str(at): sorted(re.findall(number, section)) for at, section in enumerate(sections)}


def test_each_names_the_other_in_its_first_line() -> None:
    assert "(README.zh.md)" in EN.splitlines()[0] and "(README.md)" in ZH.splitlines()[0]


def test_the_same_sections_in_the_same_order() -> None:
    english, chinese = (HEADS.findall(re.sub(r"(?ms)^```.*?^```", "", text)) for text in (EN, ZH))
    assert english == chinese


def test_the_same_commands_and_code() -> None:
    assert fenced(EN) == fenced(ZH)


def test_the_same_names_and_options() -> None:
    assert inline(EN) == inline(ZH)


@pytest.mark.parametrize("section", sorted(figures(EN), key=int))
def test_the_same_figures(section: str) -> None:
    assert figures(EN)[section] == figures(ZH).get(section)


def test_the_map_of_the_package_names_what_is_there() -> None:
    rows = re.search(r"(?ms)^\| You look for \|.*?\n\n", EN)
    assert rows is not None
    folder, lost, source = "", [], ""
    for name in re.findall(r"`([^`]+)`", rows[0].partition("|---|---|")[2]):
        folder = name if name.endswith("/") else folder
        places = [ROOT / "workbench" / base / name.replace("<code>", "en") for base in ("", folder.replace("<code>", "en"))]
        files = [place for place in places if place.is_file()]
        source = files[0].read_text("utf-8") if files else source
        if not any(place.exists() for place in places) and not name.isupper() and f"def {name}(" not in source:
            lost.append(name)
    assert not lost


def test_chinese_is_written_as_chinese() -> None:
    """Full-width punctuation between Chinese characters, and the terms of the glossary."""
    prose = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", ZH)
    assert not re.findall("[\u4e00-\u9fff][,;:?!][\u4e00-\u9fff]", prose)
    assert not [word for word in ("钉住", "问题声明", "有分数数") if word in ZH]
