"""The notebooks as pages: they answer to the token alone, show a panel, and ask nobody outside."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from tests.browser.conftest import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The address, with its token, of pages over a copy of the sample evaluation."""
    pytest.importorskip("voila")
    folder = tmp_path_factory.mktemp("app")
    for name in ("baseline", "improved"):
        source = ROOT / "sample_data" / "support" / "evaluations" / name
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("session"))
    command = [sys.executable, "-m", "workbench", "app", str(folder / "improved"), "--baseline", str(folder / "baseline"),
               "--language", "zh"]  # fmt: skip
    environment = {**os.environ, "WORKBENCH_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}  # fmt: skip
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (folder / "log").read_text()
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                break
            time.sleep(0.3)
        yield address
        process.terminate()
        process.wait(30)


def test_a_page_answers_with_the_token_and_not_without(app, browser):
    bare, _, token = app.partition("?token=")
    assert len(token) >= 32
    for path in ("", "voila/render/02_low_scores.ipynb", "voila/tree", "api/kernels"):
        try:
            with urllib.request.urlopen(bare + path, timeout=10) as answer:
                assert "/login" in answer.url
        except urllib.error.HTTPError as error:
            assert error.code in (401, 403, 404)
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page, outside, errors = context.new_page(), [], []
    page.on("request", lambda request: outside.append(request.url))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(app)
    assert page.locator("li a").count() == len(list((ROOT / "notebooks").glob("*.ipynb"))) and "哪些样本失败" in page.content()
    page.locator("li a", has_text="02_low_scores").click()
    page.wait_for_selector(".wb-card", timeout=120_000)
    assert "import workbench" not in page.inner_text("body")  # pages show no code
    context.close()
    assert not [url for url in outside if not url.startswith((bare, "data:", "blob:"))] and errors == []


def test_without_voila_it_says_what_to_install(monkeypatch, capsys):
    from workbench.cli import main

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["app", str(ROOT / "sample_data" / "support" / "evaluations" / "baseline")]) == 2
    assert "pip install 'workbench[app]'" in capsys.readouterr().err
