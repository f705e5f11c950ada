"""One JupyterLab server, one browser and one cache of its pages a session, on copies of the notebooks and the sample data.

To open a notebook and run it is what costs: what can be looked at on one page is looked at on one page.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Controls that are seen and have no name that a screen reader could say.
NAMELESS = """panel => [...panel.querySelectorAll('button, select, textarea, input:not([type=hidden]), [role=slider], img')]
    .filter(e => e.offsetParent && !(e.textContent.trim() || e.title || e.alt || e.getAttribute('aria-label')
        || [...(e.labels || [])].some(l => l.textContent.trim()) || e.closest('label')?.textContent.trim()))
    .map(e => e.outerHTML.slice(0, 200))"""
EMPTY_TIPS = """panel => [...panel.querySelectorAll('[title]')].filter(e => /^(null|None|undefined|)$/.test(e.title)).length"""


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    """A folder as a user has it: ``notebooks/`` beside ``sample_data/``, without anything that a session left."""
    folder = tmp_path_factory.mktemp("workspace")
    ignore = shutil.ignore_patterns("session", "findings", "source", "making", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", ignore=ignore)
    shutil.copytree(ROOT / "sample_data", folder / "sample_data", ignore=ignore)
    return folder


@pytest.fixture(scope="session")
def server(workspace, tmp_path_factory):
    """The address of a JupyterLab that serves the notebooks."""
    own = tmp_path_factory.mktemp("jupyter")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", "--LabApp.expose_app_in_browser=True",
        f"--ServerApp.root_dir={workspace / 'notebooks'}",
    ]  # fmt: skip
    environment = {
        **os.environ, "JUPYTER_CONFIG_DIR": str(own / "config"), "JUPYTER_DATA_DIR": str(own / "data"),
        "WORKBENCH_CACHE": str(own / "cache"), "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    with (own / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api/status", process, own / "log")
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(address, process, log):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.3)
    raise AssertionError(f"JupyterLab did not answer:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, headless."""
    from playwright.sync_api import expect, sync_playwright

    # What is expected comes soon on a quiet machine, and late where others work too.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def window(browser):
    """All pages share it, so that the code of JupyterLab is fetched and compiled once."""
    context = browser.new_context(viewport={"width": 1500, "height": 1300})
    yield context
    context.close()


class Lab:
    """A page of JupyterLab that notes console errors and requests that leave the machine."""

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.set_default_timeout(60_000)
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url))

    def _note(self, url):
        if not url.startswith((self.server, self.server.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(url)

    def run(self, name, command="notebook:run-all-cells"):
        """Open a notebook and run all its cells (or do another command); it resolves when the run has ended."""
        self.page.goto(f"{self.server}/lab/tree/{name}.ipynb?reset")
        self.page.wait_for_function("() => window.jupyterapp && window.jupyterapp.restored")
        self.page.evaluate("async () => { await window.jupyterapp.restored }")
        self.page.wait_for_function("() => window.jupyterapp.shell.currentWidget?.context?.sessionContext")
        self.page.evaluate(
            """async command => {
                const context = window.jupyterapp.shell.currentWidget.context;
                await context.ready; await context.sessionContext.ready;
                await window.jupyterapp.commands.execute(command);
            }""",
            command,
        )
        return self

    def theme(self, name):
        """Change the theme, e.g. ``JupyterLab Dark``."""
        self.page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def complaints(self):
        """Red lines of panels and error outputs on the page."""
        red = self.page.locator(".wb-error .wb-redline").all_inner_texts()
        traces = self.page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
        errors = self.page.locator('.jp-RenderedText[data-mime-type="application/vnd.jupyter.error"]')
        return red + traces.all_inner_texts() + errors.all_inner_texts()

    def accessible(self):
        """The first panel for people who do not see it or use no mouse: axe-core finds nothing serious, all have names."""
        panel = self.page.locator(".wb-panel").first
        panel.wait_for()
        self.page.wait_for_timeout(1000)
        found = Axe().run(self.page, context=".jp-NotebookPanel .wb-panel", options={"resultTypes": ["violations"]})
        serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
        assert not serious, [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in serious]
        assert panel.evaluate(NAMELESS) == [] and panel.evaluate(EMPTY_TIPS) == 0

    def close(self):
        """Leave the page, and end the kernel that it began."""
        self.page.evaluate("() => window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.shutdown()")
        self.page.close()


@pytest.fixture
def lab(window, server):
    """A fresh page."""
    page = Lab(window.new_page(), server)
    yield page
    page.close()
