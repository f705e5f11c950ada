"""A third language is a folder: brought from its own files, it is loaded, scored, explained and reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from workbench import language as languages
from workbench.data.text.points import find_point
from workbench.data.text.refusals import refusal
from workbench.data.text.words import content_words, language, tokens, written_in
from workbench.language import add_language, set_language, text
from workbench.reports.sections import build_report
from workbench.reports.tables import write

FILES = {
    "language.toml": 'name = "Español"\nspaced = true\nlist_separator = ", "\ncolon = ": "\n',
    "words.toml": (
        'cues = "el la los las de que y en un una es se por con para su al lo como más pero sus este cuánto cuántos"\n'
        '[stop]\nwords = "el la los las de que y en un una es se por con para cuánto cuántos"\n'
    ),
    "refusals.toml": "refuses = ['no (?:consta|figura|dice|menciona)\\b', 'no (?:puedo|podemos) (?:responder|decir)']\n",
    "points.toml": "negated = '''\\b(?:no|nunca|sin)\\s+$'''\n",
    "fields.toml": '[sample]\nquestion = ["pregunta"]\nanswer = ["respuesta"]\n[words]\ntrue = ["sí"]\n',
    "texts/causes.toml": '[retrieval_miss]\nname = "Documento no recuperado"\n',
    "texts/report.toml": "",
}
GEORGIAN = {
    "language.toml": "name = 'ქართული'\nscript = '\\u10a0-\\u10ff'\nspaced = false\n",
    "words.toml": "weight = 3\n[stop]\nwords = 'და'\n",
}


def _brought(code: str, files: dict[str, str], folder: Path) -> None:
    for name, content in files.items():
        path = folder / code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    add_language(code, folder / code)


@pytest.fixture(autouse=True)
def brought(tmp_path: Path) -> Iterator[None]:
    before = dict(languages._known)
    _brought("es", FILES, tmp_path)
    _brought("ka", GEORGIAN, tmp_path)
    yield
    set_language(None)
    languages._known.clear()
    languages._known.update(before)


CONTEXT = "La tarifa básica permite 500 sesiones por mes y cuesta 30 euros."
ROWS = [
    {"pregunta": "¿Cuántas sesiones permite la tarifa básica?", "respuesta": "La tarifa básica permite 500 sesiones por mes.",
     "contexts": [{"doc_id": "a", "text": CONTEXT}], "expected_docs": ["a"], "must_include": ["500 sesiones"],
     "expect_refusal": "no"},
    {"pregunta": "¿Cuánto cuesta la tarifa básica en un mes?", "respuesta": "No consta en los documentos.",
     "contexts": [{"doc_id": "b", "text": "El soporte responde en un día."}], "expected_docs": ["a"],
     "must_include": ["30 euros"]},
    {"pregunta": "¿Quién dirige la empresa?", "respuesta": "No puedo responder a esta pregunta.", "expect_refusal": "sí",
     "contexts": [{"doc_id": "b", "text": "El soporte responde en un día."}]},
]  # fmt: skip


def test_from_loading_to_the_report(tmp_path: Path) -> None:
    samples = wb.load_samples(ROWS)
    assert samples.frame["expect_refusal"].tolist() == [False, None, True]
    set_language("es")
    evaluation = wb.evaluate(samples, encoder="none", cache_dir=tmp_path)
    failures = evaluation.failures()
    assert failures["primary_cause"].tolist() == ["pass", "retrieval_miss", "pass"]
    for format in ("html", "md"):
        written = write(build_report(evaluation), tmp_path / f"report.{format}", format).read_text(encoding="utf-8")
        assert "Documento no recuperado" in written
    assert text("causes.retrieval_miss.name") == "Documento no recuperado"
    assert text("causes.omission.name") == text("causes.omission.name", language="en")


def test_its_words_and_refusals_are_known() -> None:
    assert language("La tarifa de este mes es más cara que la de un año") == "es"
    assert language("How much does the plan cost in a month?") == "en" and language("套餐多少钱？") == "zh"
    assert content_words("el precio de la tarifa") == ["precio", "tarifa"]
    assert refusal("No consta en los documentos.").probability >= 0.5
    assert refusal("La tarifa cuesta 30 euros y no tiene límite.").probability < 0.5
    assert find_point("sin límite", "es sin límite") and find_point("límite", "es sin límite") is None


def test_a_script_of_its_own_tells_it() -> None:
    assert language("ფასი არის 30") == "ka" and written_in("ფასი").code == "ka"
    assert [token.text for token in tokens("და API")] == ["დ", "ა", "API"]
    assert refusal("ფასი არ ვიცი").probability < 0.5
