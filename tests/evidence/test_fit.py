"""Training runs from end to end on a folder of labelled sets: made-up ones here, large ones of people elsewhere."""

from __future__ import annotations

import csv
import json
import random
import tomllib
from pathlib import Path

import numpy as np

from workbench.diagnosis.statistics import auroc
from workbench.evidence.offline.models import Logistic
from workbench.training import fit

TOWNS = ["Lund", "Osaka", "Bergen", "Porto", "Quito", "Leeds", "Turin", "Basel"]
HAN = ["隆德", "大阪", "卑尔根", "波尔图", "基多", "利兹", "都灵", "巴塞尔"]


#: (sentence, question, answer) of each passage.
SAID = {
    "en": [
        ("The harbour of {town} was opened in the year {year}.", "When was the harbour of {town} opened?", "{year}"),
        ("Its long northern pier is {length} metres long.", "How long is the pier of {town}?", "{length} metres"),
        ("Some {visitors} visitors came to the museum of {town}.", "How many visitors came in {town}?", "{visitors}"),
        ("The old library never opens on Sundays.", "When is the library of {town} closed?", "Sundays"),
    ],
    "zh": [
        ("{town}的港口在{year}年正式对外开放使用。", "{town}的港口什么时候开放？", "{year}年"),
        ("它的北部码头全长{length}米，一直通到海边。", "{town}的码头有多长？", "{length}米"),
        ("去年共有{visitors}名游客参观了{town}的博物馆。", "有多少游客参观{town}的博物馆？", "{visitors}名"),
        ("古老的图书馆从不在周日和节假日向公众开放。", "{town}的图书馆哪天不开放？", "周日"),
    ],
}


def passages(language: str) -> list[list[tuple[str, str, str]]]:
    """For each town its sentences with their questions and answers."""
    found = []
    for at, town in enumerate(TOWNS if language == "en" else HAN):
        values = {"town": town, "year": 1801 + 13 * at, "length": 210 + 17 * at, "visitors": 3400 + 350 * at}
        found.append([tuple(text.format(**values) for text in texts) for texts in SAID[language]])
    return found


def labelled(folder: Path) -> Path:
    """A folder with a few rows of every set that training reads."""
    chance = random.Random(0)
    for name in ("wice", "begin_wow", "clapnq", "xquad", "nli"):
        (folder / name).mkdir(parents=True)
    english = passages("en")
    texts = [" ".join(s for s, *_ in passage) for passage in english]
    pairs = [(passage[0][0], texts[at if kept else at - 1], kept)
             for at, passage in enumerate(english) for kept in (True, False)]  # fmt: skip
    lines = [{"claim": c, "evidence": [e], "label": "supported" if kept else "not_supported"} for c, e, kept in pairs]
    write(folder / "wice" / "oracle_claim_dev.jsonl", lines)
    with (folder / "begin_wow" / "begin_dev_wow.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, ["response", "knowledge", "begin_label"], delimiter="\t", quoting=csv.QUOTE_NONE)
        rows.writeheader()
        for claim, evidence, kept in pairs:
            label = "Fully attributable" if kept else "Not fully attributable"
            rows.writerow({"response": claim, "knowledge": evidence, "begin_label": label})
    lines = [{"input": q, "passages": [{"text": text}], "output": [{"answer": s, "selected_sentences": [s]}]}
             for passage, text in zip(english, texts, strict=True) for s, q, _ in passage[:2]]  # fmt: skip
    write(folder / "clapnq" / "clapnq_dev_answerable.jsonl", lines)
    for code in ("en", "zh"):
        told = [(passage, (" " if code == "en" else "").join(s for s, *_ in passage)) for passage in passages(code)]
        data = [{"paragraphs": [{"context": text, "qas": [
                    {"question": q, "answers": [{"text": a, "answer_start": text.index(s) + s.index(a)}]}
                    for s, q, a in passage
                ]}]} for passage, text in told]  # fmt: skip
        (folder / "xquad" / f"xquad.{code}.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    lines = [{"claim": c, "premise": e, "label": "supported" if kept else chance.choice(["contradicted", "not_mentioned"]),
              "phenomenon": "number"} for c, e, kept in pairs]  # fmt: skip
    write(folder / "nli" / "made.jsonl", lines)
    return folder


def write(path: Path, lines: list[dict]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_training_writes_every_model_of_the_judge(tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "DRAWS", 20)
    data = labelled(tmp_path / "data")
    assert fit.main(["--data", str(data), "--out", str(tmp_path), "--encoders", "none"]) == 0
    written = tomllib.loads((tmp_path / "lexical.toml").read_text(encoding="utf-8"))
    shipped = tomllib.loads((fit.SHIPPED / "lexical.toml").read_text(encoding="utf-8"))
    assert set(written["models"]) == set(shipped["models"])
    for name, model in written["models"].items():
        assert np.isfinite(Logistic.from_table(model).weight).all(), name
        assert set(model["features"]) == set(shipped["models"][name]["features"]), name
    assert {"wice-en", "begin-en", "xquad-en", "xquad-zh"} == set(written["validation"])


def test_a_draw_of_rows_has_their_area():
    random_ = np.random.default_rng(1)
    labels, scores = random_.random(300) < 0.4, random_.random(300).round(1)
    drawn = random_.integers(0, 3, 300)
    repeated = np.repeat(np.arange(300), drawn)
    mine = fit._drawn_auroc(labels, np.unique(scores, return_inverse=True)[1], drawn.astype(np.float64))
    assert np.isclose(mine, auroc(labels[repeated], scores[repeated]))
