"""Traps of notebooks that can be told from the code of the views alone; panels themselves are tested in tests/views."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import matplotlib

import workbench

PACKAGE = Path(workbench.__file__).parent
VIEWS = sorted((PACKAGE / "views").rglob("*.py"))
EVERYWHERE = sorted(PACKAGE.rglob("*.py"))


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def place(path: Path, node: ast.Call) -> str:
    return f"{path.relative_to(PACKAGE)}:{node.lineno}"


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))


def test_figures_go_to_images_and_nothing_to_an_output_widget() -> None:
    """An Output captures nothing without a kernel, and a Figure in ``display`` may print as text."""
    assert [place(path, node) for path in VIEWS for node in calls(path) if called(node).endswith("Output")] == []
    assert [path for path in VIEWS if "from IPython.display" in path.read_text(encoding="utf-8")] == []


def test_pyplot_is_nowhere() -> None:
    assert [
        path for path in EVERYWHERE if any("pyplot" in module or module == "pylab" for module in imported(path))
    ] == []


def test_sliders_move_once() -> None:
    """With ``continuous_update`` one drag calls the handler many times: ``slider`` makes them, or the call says no."""
    import ipywidgets as W

    from workbench.views.widgets import cut_slider, slider

    direct = [(path, node) for path in VIEWS for node in calls(path) if called(node).endswith("Slider")]
    given = [{word.arg: ast.unparse(word.value) for word in node.keywords} for _, node in direct]
    assert [
        place(*at) for at, words in zip(direct, given, strict=True) if words.get("continuous_update") != "False"
    ] == []
    assert [made.continuous_update for made in (slider(W.IntSlider, "n"), cut_slider("cut", 0.5))] == [False, False]
    made = [node for path in VIEWS for node in calls(path) if called(node) == "slider"]
    assert [node for node in made if "continuous_update" in {word.arg for word in node.keywords}] == []
    assert len(direct) + len(made) >= 4


def test_the_running_loop_is_left_alone() -> None:
    """``asyncio.run`` fails in a cell."""
    wrong = ("asyncio.run", "nest_asyncio.apply")
    assert [place(path, node) for path in VIEWS for node in calls(path) if called(node) in wrong] == []


def test_html_widgets_hold_only_our_own_markup() -> None:
    """``W.HTML`` runs scripts, so that ``markup`` alone makes one; ``W.HTMLMath`` is never used."""
    made = [(path.name, called(node)) for path in VIEWS for node in calls(path) if "HTML" in called(node)]
    assert made == [("widgets.py", "W.HTML")]


def test_a_picture_has_its_caption_below_and_an_alternative_text() -> None:
    """``W.Image`` has no alternative text: what lies over it gives it one."""
    from matplotlib.figure import Figure

    from workbench.views.widgets import Picture

    picture = Picture("wb-figure")
    picture.draw(Figure(), "What it <shows>")
    assert bytes(picture.image.value).startswith(b"\x89PNG")
    assert picture.frame.children == (picture.image, picture.overlay) and picture.overlay.alt == "What it <shows>"
    assert "What it &lt;shows&gt;" in picture.caption.value


def test_drawing_changes_no_setting_of_the_notebook() -> None:
    from workbench.views import figures, plots

    before = dict(matplotlib.rcParams)
    figures.figure_png(plots.intervals(["忠实度"], [0.5], [0.4], [0.6]))
    assert dict(matplotlib.rcParams) == before


def test_stepping_needs_no_keys_that_jupyterlab_takes() -> None:
    """Arrow keys, J and K never reach a Select in JupyterLab: buttons and a slider step."""
    import ipywidgets as W

    from workbench.views.widgets import Panel, Stepper

    went: list[int] = []
    stepper = Stepper(Panel(None), went.append)
    stepper.set(0, 3, "a")
    kinds = [type(child) for child in stepper.children]
    assert kinds.count(W.Button) == 2 and W.IntSlider in kinds
    stepper.next.click()
    assert went == [1]
