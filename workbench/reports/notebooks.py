"""Running the notebooks without a browser, and finding what a green run can hide."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import workbench
from workbench.data.files import replacing
from workbench.errors import InputError

#: What the names of those notebooks begin with that open a result in parts; the others need all of its evidence at once.
OVER_PARTS = ("00", "01", "02", "05", "06")
_WIDGETS = "application/vnd.jupyter.widget-state+json"


def notebook_folder() -> Path:
    """The folder of the notebooks that belong to this package.

    Raises ``InputError`` when the package was installed without them.
    """
    folder = Path(workbench.__file__).resolve().parents[1] / "notebooks"
    if not folder.is_dir():
        raise InputError(f"{folder}: the notebooks are not there; run this from a clone of the project")
    return folder


def execute(notebook: Path, out: Path, parameters: Mapping[str, Any], timeout: int = 600) -> list[str]:
    """Run one notebook and write it, with outputs and widget state, to ``out``.

    Returns
    -------
    list of str
        What failed: errors of cells, red lines of panels. Empty when all is well.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    known = known_parameters(notebook)
    given = {name: value for name, value in parameters.items() if name in known}
    with _importable(), replacing(out) as temporary:
        target = temporary.with_suffix(".ipynb")
        try:
            papermill.execute_notebook(
                str(notebook), str(target), parameters=given, kernel_name="python3", cwd=str(notebook.parent),
                progress_bar=False, execution_timeout=timeout,
            )  # fmt: skip
        except PapermillExecutionError as error:
            failures = [f"cell {error.exec_count}: {error.ename}: {error.evalue}"]
        else:
            failures = []
        target.replace(temporary)
    return failures or complaints(nbformat.read(out, as_version=4))


def known_parameters(notebook: Path) -> set[str]:
    """The names that the notebook's first cell gives values to."""
    import papermill

    return set(papermill.inspect_notebook(str(notebook)))


@contextmanager
def _importable() -> Iterator[None]:
    """Kernels started here find this package, installed or not."""
    before = os.environ.get("PYTHONPATH")
    root = str(Path(workbench.__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def widget_states(notebook: Any) -> dict[str, Any]:
    """The widgets' state that an executed notebook carries, by model id."""
    state: dict[str, Any] = notebook.metadata.get("widgets", {}).get(_WIDGETS, {}).get("state", {})
    return state


def complaints(notebook: Any) -> list[str]:
    """What a green run can hide: a panel's red line, an error kept in an Output widget, an error output of a cell."""
    found: list[str] = []
    for model in widget_states(notebook).values():
        state = model["state"]
        if "wb-error" in state.get("_dom_classes", []) and state.get("value"):
            found.append(str(state["value"]))
        found += [output["evalue"] for output in state.get("outputs", []) if output.get("output_type") == "error"]
    for cell in notebook.cells:
        found += [output.evalue for output in cell.get("outputs", []) if output.output_type == "error"]
    return found
