"""Make the Chinese font that is shipped: Noto Sans CJK SC, regular weight, simplified characters only.

Run as ``python -m workbench.training.fonts`` with ``fonttools`` and ``manimgx-fonts-cjk`` installed (the
latter carries the original variable font). The result has its own family name, as the licence asks of changed fonts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.views.figures import SHIPPED

FAMILY = "Workbench Sans SC"
#: Position of Noto Sans CJK SC in the collection.
SIMPLIFIED = 2


def characters() -> str:
    """Every character of GB 2312, ASCII, Chinese punctuation, full-width forms, and the marks that panels use."""
    chinese = {
        character
        for high in range(0xA1, 0xF8)
        for low in range(0xA1, 0xFF)
        for character in bytes([high, low]).decode("gb2312", errors="ignore")
    }
    ranges = ((0x20, 0x7F), (0xA0, 0x100), (0x2010, 0x2030), (0x3000, 0x3040), (0xFF00, 0xFFF0))
    plain = {chr(code) for first, last in ranges for code in range(first, last)}
    return "".join(sorted(chinese | plain | set("✓✗★⚠→←≥≤·…")))


def subset(source: Path) -> Any:
    """The font of ``source`` with only :func:`characters` left, at weight 400 (the default would render thin)."""
    from fontTools import subset as tool
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    font = TTFont(source, fontNumber=SIMPLIFIED, lazy=True)
    options = tool.Options(layout_features=[], name_IDs=["*"], notdef_outline=True)
    options.drop_tables += ["BASE", "vhea", "vmtx", "VORG", "VVAR"]
    subsetter = tool.Subsetter(options)
    subsetter.populate(text=characters())
    subsetter.subset(font)
    return instancer.instantiateVariableFont(font, {"wght": 400})


def rename(font: Any) -> None:
    """Give the font its own family name in every name record that carries one."""
    for record in list(font["name"].names):
        if record.nameID in (1, 16):
            font["name"].setName(FAMILY, record.nameID, record.platformID, record.platEncID, record.langID)
        elif record.nameID in (4, 18):
            font["name"].setName(f"{FAMILY} Regular", record.nameID, record.platformID, record.platEncID, record.langID)
        elif record.nameID == 6:
            font["name"].setName("WorkbenchSansSC-Regular", 6, record.platformID, record.platEncID, record.langID)
    top = font["CFF2"].cff if "CFF2" in font else font["CFF "].cff
    if getattr(top, "fontNames", None):
        top.fontNames = ["WorkbenchSansSC-Regular"]


def main() -> None:
    """Write the font file where the package ships it."""
    import manimgx_fonts_cjk

    font = subset(Path(manimgx_fonts_cjk.__file__).parent / "NotoSansCJK-VF.otf.ttc")
    rename(font)
    font.save(SHIPPED)


if __name__ == "__main__":
    main()
