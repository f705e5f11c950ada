"""The notebooks as pages for colleagues who write no code: Voila on this machine, behind a token, asking nobody outside."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markupsafe import Markup

import workbench
from workbench.errors import InputError
from workbench.language import get_language, has_text, language_of
from workbench.language import text as _t
from workbench.reports.notebooks import known_parameters, notebook_folder
from workbench.views.html import h, style

#: Seconds after which a page that nobody looks at gives its kernel back.
IDLE = 1800
_TEMPLATE = "workbench"
#: Voila's page without what it fetches from outside (icons of a font that no panel uses).
_INDEX = """{%- extends 'voila/templates/lab/index.html.j2' -%}
{%- block notebook_css -%}
{% for line in super().splitlines() if not ('<link' in line and '//' in line) %}{{ line }}
{% endfor %}
{%- endblock notebook_css -%}
"""


@contextmanager
def prepared(parameters: Mapping[str, Any]) -> Iterator[Path]:
    """A folder with the notebooks, parameters filled in, and the template of the pages; gone afterwards.

    Raises ``InputError`` when Voila or the notebooks are not there.
    """
    if importlib.util.find_spec("voila") is None:
        raise InputError("app needs Voila, which is not installed; run: pip install 'workbench[app]'")
    import nbformat
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    with tempfile.TemporaryDirectory(prefix="workbench-app-") as name:
        folder = Path(name)
        books = folder / "notebooks"
        books.mkdir()
        found = sorted(notebook_folder().glob("*.ipynb"))
        for book in found:
            given = {key: value for key, value in parameters.items() if key in known_parameters(book)}
            content = parameterize_notebook(load_notebook_node(str(book)), given | {"OUT": str(folder / "findings")})
            nbformat.write(content, books / book.name)
        pages = folder / "jupyter" / "voila" / "templates" / _TEMPLATE
        pages.mkdir(parents=True)
        (pages / "conf.json").write_text(json.dumps({"base_template": "lab"}), encoding="utf-8")
        (pages / "index.html.j2").write_text(_INDEX, encoding="utf-8")
        for kind in ("tree.html", "tree-lab.html"):
            (pages / kind).write_text(_contents(found, str(parameters.get("DATA", ""))), encoding="utf-8")
        yield folder


def _contents(books: list[Path], data: str) -> str:
    """The first page: the questions, each a link to its notebook. Voila's own template engine fills in the address."""
    title, rows = _t("panels.app.title"), []
    for book in books:
        key = f"panels.notebooks.{book.stem}"
        link = Markup('<a href="{{{{ base_url }}}}voila/render/{}?{{{{ query }}}}">{}</a>').format(book.name, book.stem)
        rows.append(h("li", link, " – ", _t(key if has_text(key) else "panels.app.first")))
    name = h("p", Markup("{% raw %}"), Path(data).name, Markup("{% endraw %}"), cls="wb-quiet")
    body = h("body", h("div", h("h1", title), name, h("ul", *rows), cls="wb wb-page"))
    icon = Markup('<link rel="icon" href="data:,">')
    head = h("head", h("meta", charset="utf-8"), h("title", title), icon, style())
    facts = language_of().facts
    return "<!DOCTYPE html>" + str(h("html", head, body, lang=facts.get("html_lang", get_language())))


def _free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(parameters: Mapping[str, Any], port: int | None = None, *, said: Callable[[str], Any] = print) -> int:
    """Serve the notebooks on the loopback address until interrupted; ``said`` gets the address with its token.

    The token goes to Voila in a file of this user: a command line can be read by every user of the machine.
    """
    token, port = secrets.token_urlsafe(24), port or _free_port()
    with prepared(parameters) as folder:
        config = folder / "voila.json"
        config.write_text(json.dumps({
            "Voila": {"ip": "127.0.0.1", "port": port, "port_retries": 0, "open_browser": False, "token": token,
                      "root_dir": str(folder / "notebooks")},
            "VoilaConfiguration": {"template": _TEMPLATE, "enable_nbextensions": False},
            "MappingKernelManager": {"cull_idle_timeout": IDLE, "cull_interval": 60},
        }), encoding="utf-8")  # fmt: skip
        config.chmod(0o600)
        root = str(Path(workbench.__file__).resolve().parents[1])
        environment = {
            **os.environ,
            "JUPYTER_PATH": os.pathsep.join(filter(None, [str(folder / "jupyter"), os.environ.get("JUPYTER_PATH")])),
            "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        }
        process = subprocess.Popen([sys.executable, "-m", "voila", str(folder / "notebooks")], env=environment, cwd=folder)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind when we are told to end
        said(f"http://127.0.0.1:{port}/?token={token}")
        try:
            return process.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            process.terminate()
            process.wait(20)
