#!/usr/bin/env bash
# Everything that must be green, on a clean machine: sets up what it needs, then checks style, types, layers and tests.
# PYTHON chooses the interpreter (default python3); VENV the folder of the environment (default .venv).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
if ! command -v chromium >/dev/null || ! fc-list 2>/dev/null | grep -qi cjk; then
    # The browser tests drive Chromium and look at Chinese text.
    root=; [ "$(id -u)" -eq 0 ] || root=sudo
    $root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq chromium fonts-noto-cjk fontconfig >/dev/null
fi
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt -e ".[test]"

# One thread each: two collapse on a busy two-core machine.
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
"$venv/bin/ruff" check workbench tests sample_data
"$venv/bin/mypy"
"$venv/bin/lint-imports"
# Up to four workers; the browser tests share one, with one JupyterLab.
"$venv/bin/python" -m pytest -n auto --maxprocesses 4 --dist loadgroup "$@"
