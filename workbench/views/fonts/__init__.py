"""Which fonts plots are drawn with, so that Chinese never turns into boxes.

DejaVu Sans carries everything but Chinese; behind it stands an installed Chinese font where there is one, and always
the subset that is shipped beside this module (simplified Chinese, made by ``training/fonts.py``, licence in ``OFL.txt``).
"""

from __future__ import annotations

import logging
from functools import cache, lru_cache
from pathlib import Path

from workbench.language import text as _t

SHIPPED = Path(__file__).with_name("WorkbenchSansSC-Regular.otf")
SHIPPED_FAMILY = "Workbench Sans SC"
#: Installed families to prefer, best first: they know traditional characters too.
INSTALLED = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Microsoft YaHei",
    "Hiragino Sans GB", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Noto Sans CJK JP", "SimHei",
)  # fmt: skip

_log = logging.getLogger(__name__)


@cache
def families() -> tuple[str, ...]:
    """Font families in the order of fallback. One logged warning when none of them knows Chinese."""
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    found = [name for name in INSTALLED if name in known][:1]
    if SHIPPED.is_file():
        if SHIPPED_FAMILY not in known:
            font_manager.fontManager.addfont(str(SHIPPED))
        found.append(SHIPPED_FAMILY)
    if not found:
        _log.warning(_t("panels.common.no_font"))
    return ("DejaVu Sans", *found)


@lru_cache(maxsize=4096)
def drawable(text: str, limit: int = 80) -> str:
    """``text`` on one line, cut to ``limit`` characters; a character that no font knows becomes ``?``, never a box."""
    line = " ".join(str(text)[: 4 * limit].split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    if line.isascii() and line.isprintable():
        return line
    return "".join(c if any(ord(c) in codes for codes in _codes()) else "?" for c in line)


@cache
def _codes() -> tuple[frozenset[int], ...]:
    """The code points of every family in force."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return tuple(frozenset(get_font(findfont(FontProperties(family=[name]))).get_charmap()) for name in families())
