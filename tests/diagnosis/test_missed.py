"""Missed documents: ranks, rivals and gaps worked out by hand, each sub-cause and its edges, planted and real data."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.diagnosis import missed
from workbench.diagnosis.missed import examine, first_sub_causes, missed_documents, sub_cause
from workbench.diagnosis.whatif import Weighted, fused_rank, hubs, never_retrieved, rescue_curve
from workbench.errors import CancelledError, EncoderError
from workbench.evidence import corpus_ranks
from workbench.evidence.corpus_index import spoken
from workbench.evidence.corpus_ranks import Autopsy, missed_column
from workbench.evidence.encoders.base import unit_rows

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "support"
XQUAD = ROOT.parent / "shared" / "data" / "xquad"


class Angles:
    """An encoder of plane vectors: a text ending in ``@30`` points 30 degrees up, a text without an angle along 0."""

    name = "angles"
    dimension = 2
    fingerprint = "1"
    encoded = 0

    def encode(self, texts, kind="passage"):
        self.encoded += len(texts)
        angles = [np.deg2rad(float(text.rpartition("@")[2])) if "@" in text else 0.0 for text in texts]
        return unit_rows(np.array([[np.cos(a), np.sin(a)] for a in angles], dtype=np.float32).reshape(-1, 2))


#: Degrees of the documents b … i; the question points along 0.
DOCUMENTS = [
    {"doc_id": "b", "text": "invoices are sent monthly @5"},
    {"doc_id": "c", "text": "refund rules for plans @10"},
    {"doc_id": "d", "text": "the mobile app works offline @15"},
    {"doc_id": "e", "text": "login needs a second factor @20"},
    {"doc_id": "f", "text": "audit logs are kept for ninety days @25"},
    {"doc_id": "g", "text": "exports hold ten pages @40"},
    {"doc_id": "h", "text": "webhooks retry five times @50"},
    {"doc_id": "i", "text": "roles decide who may sign @60"},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


def corpus_of(rows=DOCUMENTS):
    return wb.load_corpus([dict(row) for row in rows])


def evaluated(samples, corpus=None, k=2, **options):
    rows = [{"sample_id": f"s{number}", "answer": None, **sample} for number, sample in enumerate(samples)]
    thresholds = wb.Thresholds(k=k, **options)
    return wb.evaluate(
        wb.load_samples(rows), corpus=corpus, judge=None, encoder="none", thresholds=thresholds, progress=False
    )


def contexts(*names, rows=DOCUMENTS):
    texts = {row["doc_id"]: row["text"] for row in rows}
    return [{"doc_id": name, "text": texts[name]} for name in names]


# ---------------------------------------------------------------- the table


def test_ranks_gap_and_rivals_by_hand():
    """f is fifth by angle; by words d, e and f share nothing with the question but f's "logs"."""
    corpus = corpus_of()
    sample = {"question": "how long do we keep logs", "expected_docs": ["f"], "contexts": contexts("h", "b")}
    found = missed_documents(evaluated([sample], corpus), corpus, encoder=Angles())
    assert list(found.columns) == list(missed.COLUMNS) and len(found) == 1
    row = found.iloc[0]
    assert (row.sample_id, row.doc_id, row.n_documents) == ("s0", "f", 8)
    assert (row.dense_rank, row.bm25_rank, row.smallest_k) == (5, 1, 5)
    assert row.gap == pytest.approx(np.cos(np.deg2rad(10)) - np.cos(np.deg2rad(25)), abs=1e-6)
    # What came, in its order; nothing stands before it by BM25; before it by angle b, c, d, e.
    assert row.rivals == ["h", "b", "c", "d", "e"]
    assert row.near_duplicates == [] and row.sub_cause == "semantic_gap"
    assert 0 <= row.percentile <= 100


def test_what_came_within_k_is_not_missed_and_k_decides():
    corpus = corpus_of()
    sample = {"question": "logs", "expected_docs": ["b", "c", "f"], "contexts": contexts("b", "h", "c")}
    evaluation = evaluated([sample], corpus, k=2)
    assert missed_documents(evaluation, corpus, "none")["doc_id"].tolist() == ["c", "f"]
    deeper = evaluation.with_thresholds(evaluation.thresholds.replace(k=3))
    assert missed_documents(deeper, corpus, "none")["doc_id"].tolist() == ["f"]
    first = evaluation.with_thresholds(evaluation.thresholds.replace(k=1))
    assert missed_documents(first, corpus, "none")["doc_id"].tolist() == ["c", "f"]


def test_one_alternative_is_enough_and_grade_zero_is_not_expected():
    corpus = corpus_of()
    rows = [
        {"question": "logs", "expected_docs": [["b", "f"], "c"], "contexts": contexts("b")},
        {"question": "logs", "expected_docs": [["d", "f"]], "contexts": contexts("b")},
        {"question": "logs", "expected_docs": {"f": 0, "g": 2}, "contexts": contexts("b")},
        {"question": "logs", "expected_docs": [], "contexts": contexts("b")},
        {"question": "logs", "expected_docs": None, "contexts": contexts("b")},
    ]
    found = missed_documents(evaluated(rows, corpus), corpus, "none")
    pairs = list(zip(found["sample_id"], found["doc_id"], strict=True))
    assert pairs == [("s0", "c"), ("s1", "d"), ("s1", "f"), ("s2", "g")]


def test_contexts_not_recorded_say_nothing_and_empty_ones_miss_everything():
    corpus = corpus_of()
    rows = [
        {"question": "logs", "expected_docs": ["f"], "contexts": None},
        {"question": "logs", "expected_docs": ["f"], "contexts": []},
    ]
    found = missed_documents(evaluated(rows, corpus), corpus, "none")
    assert found["sample_id"].tolist() == ["s1"] and found["rivals"].tolist() == [[]]


def test_no_misses_give_an_empty_table_with_its_columns():
    corpus = corpus_of()
    found = missed_documents(
        evaluated([{"question": "logs", "expected_docs": ["f"], "contexts": contexts("f")}]), corpus
    )
    assert list(found.columns) == list(missed.COLUMNS) and found.empty


def test_a_document_that_is_not_in_the_corpus_has_no_ranks():
    corpus = corpus_of()
    sample = {"question": "logs", "expected_docs": ["zz"], "contexts": contexts("b")}
    row = missed_documents(evaluated([sample], corpus), corpus, encoder=Angles()).iloc[0]
    assert np.isnan([row.dense_rank, row.bm25_rank, row.gap, row.percentile, row.smallest_k]).all()
    assert row.sub_cause is None or row.sub_cause != row.sub_cause


def test_labels_of_whole_documents_match_any_chunk():
    rows = [
        {"doc_id": "p#1", "text": "logs are kept @50", "source": "p"},
        {"doc_id": "p#2", "text": "pages @3", "source": "p"},
        {"doc_id": "q#1", "text": "prices @1", "source": "q"},
    ]
    corpus = corpus_of(rows)
    samples = [
        {"question": "logs", "expected_docs": ["p"], "contexts": contexts("q#1", rows=rows)},
        {"question": "logs", "expected_docs": ["p"], "contexts": contexts("p#2", rows=rows)},
    ]
    found = missed_documents(evaluated(samples, corpus, k=1, match="document"), corpus, encoder=Angles())
    assert found["sample_id"].tolist() == ["s0"]
    assert (found["dense_rank"].iloc[0], found["bm25_rank"].iloc[0]) == (2, 1)


def test_contexts_recorded_as_texts_are_found_in_the_corpus():
    corpus = corpus_of()
    texts = [{"text": row["text"]} for row in DOCUMENTS[:2]]
    sample = {"question": "logs", "expected_docs": ["c", "f"], "contexts": texts}
    evaluation = evaluated([sample])
    found = missed_documents(evaluation, corpus, "none")
    assert found["doc_id"].tolist() == ["f"] and found["rivals"].tolist() == [["b"]]


def test_equal_documents_are_ranked_by_id():
    rows = [{"doc_id": name, "text": f"copy {name} @10"} for name in ("x3", "x1", "x2")]
    corpus = corpus_of(rows)
    samples = [{"question": "q", "expected_docs": [name], "contexts": []} for name in ("x1", "x2", "x3")]
    found = missed_documents(evaluated(samples, corpus), corpus, encoder=Angles())
    assert found["dense_rank"].tolist() == [1, 2, 3]


def test_precomputed_vectors_are_enough_and_a_missing_one_is_named():
    from workbench.evidence.encoders.small import PrecomputedEncoder

    corpus = corpus_of()
    vectors = {row["text"]: Angles().encode([row["text"]])[0] for row in DOCUMENTS}
    evaluation = evaluated([{"question": "logs", "expected_docs": ["f"], "contexts": contexts("b")}], corpus)
    encoder = PrecomputedEncoder(vectors, {"logs": [1.0, 0.0]})
    assert missed_documents(evaluation, corpus, encoder)["dense_rank"].tolist() == [5]
    del vectors[DOCUMENTS[3]["text"]]
    with pytest.raises(EncoderError, match="login needs a second factor"):
        missed_documents(evaluation, corpus, PrecomputedEncoder(vectors, {"logs": [1.0, 0.0]}))


def test_texts_are_encoded_once():
    corpus, encoder = corpus_of(), Angles()
    evaluation = evaluated([{"question": "logs", "expected_docs": ["f"], "contexts": contexts("b")}], corpus)
    missed_documents(evaluation, corpus, encoder)
    assert encoder.encoded == len(DOCUMENTS) + 1
    missed_documents(evaluation, corpus, encoder)
    assert encoder.encoded == len(DOCUMENTS) + 1


def test_it_can_be_cancelled():
    corpus = corpus_of()
    evaluation = evaluated([{"question": "logs", "expected_docs": ["f"], "contexts": contexts("b")}], corpus)
    with pytest.raises(CancelledError):
        examine(evaluation, corpus, Angles(), cancel=lambda: True)


# ---------------------------------------------------------------- sub-causes

BASE = Autopsy("d", 0, None, True, 1000, dense_rank=50, bm25_rank=60, coverage=0.8, languages=("en", "en"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"indexed": False, "bm25_rank": None, "dense_rank": None}, None),
        ({"dense_rank": 5, "bm25_rank": 5}, "filtered"),
        ({"dense_rank": None, "bm25_rank": 5}, "filtered"),
        ({"rank": 4}, "filtered"),
        ({"languages": ("zh", "en")}, "language_gap"),
        ({"languages": ("zh", "en"), "dense_rank": 1}, "language_gap"),
        ({"languages": ("zh", "en"), "bm25_rank": 3}, "semantic_gap"),
        ({"languages": ("zh", "en"), "rank": 5}, "filtered"),
        ({"languages": ("zh", "other")}, "semantic_gap"),
        ({"cut": True, "beyond": True}, "truncated"),
        ({"cut": True, "beyond": None}, "truncated"),
        ({"cut": True, "beyond": False}, "semantic_gap"),
        ({"cut": True, "beyond": True, "dense_rank": 5}, "lexical_gap"),
        ({"rank": 10}, "just_below_k"),
        ({"rank": 11}, "semantic_gap"),
        ({"dense_rank": 7, "came_copies": "11000", "dense_copies": "110000"}, "crowded_out"),
        ({"dense_rank": 7, "came_copies": "10000", "dense_copies": "110000"}, "just_below_k"),
        ({"dense_rank": 8, "came_copies": "11000", "dense_copies": "1100000"}, "just_below_k"),
        ({"bm25_rank": 6, "came_copies": "11111", "bm25_copies": "11111", "dense_rank": 5}, "crowded_out"),
        ({"dense_rank": 3}, "lexical_gap"),
        ({"dense_rank": 3, "bm25_rank": 7}, "just_below_k"),
        ({"dense_rank": 3, "bm25_rank": 7, "coverage": 0.2}, "lexical_gap"),
        ({"dense_rank": 6, "bm25_rank": 1}, "just_below_k"),
        ({"dense_rank": 11, "bm25_rank": 5}, "semantic_gap"),
        ({"dense_rank": 10, "coverage": 0.0}, "just_below_k"),
        ({"coverage": 0.49}, "lexical_gap"),
        ({"coverage": 0.5}, "semantic_gap"),
        ({"coverage": None}, "semantic_gap"),
        ({"bm25_rank": 8}, "semantic_gap"),
        ({"bm25_rank": 8, "bm25_agree": 3, "dense_agree": 1}, "just_below_k"),
        ({"dense_rank": None, "bm25_rank": 8}, "just_below_k"),
        ({"dense_rank": None, "bm25_rank": 8, "coverage": 0.1}, "lexical_gap"),
        ({"dense_rank": None, "bm25_rank": 80}, "semantic_gap"),
    ],
)
def test_every_rule_and_its_edge(change, expected):
    assert sub_cause(dataclasses.replace(BASE, **change), 5) == expected


def test_the_depth_decides_without_looking_again():
    found = dataclasses.replace(BASE, dense_rank=12, bm25_rank=12)
    assert [sub_cause(found, k) for k in (3, 6, 12)] == ["semantic_gap", "just_below_k", "filtered"]


def test_gap_is_measured_to_the_kth():
    found = dataclasses.replace(BASE, similarity=0.8, nearest=(0.9, 0.85, 0.7))
    assert found.gap(2) == pytest.approx(0.05) and found.gap(3) == pytest.approx(-0.1)
    assert np.isnan(found.gap(4)) and np.isnan(BASE.gap(1))


def test_an_autopsy_is_json_and_comes_back():
    found = dataclasses.replace(BASE, nearest=(0.9, 0.8), cut=True, came_copies="01", percentile=93.5)
    assert Autopsy.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert Autopsy.from_dict({**found.to_dict(), "added_later": 1}) == found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("日志保留多久？", "zh"),
        ("How long are logs kept?", "en"),
        ("Name a common autoimmune disease.", "en"),
        ("Which shaman's proclamation aided Temüjin's rise?", "en"),
        ("Quel est le nom de la capitale de ce pays?", "fr"),
        ("Wie lange werden die Protokolle aufbewahrt?", "de"),
        ("E-3304", "other"),
        ("NVQ-4092", "other"),
    ],
)
def test_language_of_short_questions(text, name):
    assert spoken(text) == name


def test_near_duplicates_of_other_years_crowd_a_page_out():
    pages = [
        {
            "doc_id": f"canteen-{site}",
            "text": f"The canteen in {site} opens at {hour} and serves lunch until two o'clock."
            f" A warm meal costs four euros, guests pay six. @{angle}",
        }
        for site, hour, angle in (("Kiel", 11, 5), ("Bremen", 10, 6), ("Emden", 12, 30))
    ]
    corpus = corpus_of([*pages, *DOCUMENTS])
    sample = {
        "question": "When does the canteen in Emden open?",
        "expected_docs": ["canteen-Emden"],
        "contexts": contexts("canteen-Kiel", "canteen-Bremen", rows=pages),
    }
    row = missed_documents(evaluated([sample], corpus, k=5), corpus, encoder=Angles()).iloc[0]
    assert sorted(row.near_duplicates) == ["canteen-Bremen", "canteen-Kiel"] and row.dense_rank == 8


# ---------------------------------------------------------------- kept with an evaluation


def test_sub_causes_fill_failures_and_follow_k():
    corpus = corpus_of()
    sample = {"question": "how long do we keep audit logs", "expected_docs": ["f"], "contexts": contexts("h", "b")}
    evaluation = evaluated([sample], corpus)
    kept = json.loads(evaluation.evidence.samples["missed"].iloc[0])
    assert kept[0]["bm25_rank"] == 1 and "dense_rank" not in kept[0]
    failures = evaluation.failures()
    assert failures["primary_cause"].tolist() == ["retrieval_miss"] and failures["sub_cause"].tolist() == ["filtered"]


def test_no_miss_asks_no_encoder():
    corpus = corpus_of()
    evaluation = evaluated([{"question": "logs", "expected_docs": ["f"], "contexts": contexts("f")}], corpus)
    assert missed_column(evaluation.evidence, corpus, "no-such/encoder") == [None]


def test_an_encoder_that_fails_leaves_ranks_by_words(caplog):
    corpus = corpus_of()
    evaluation = evaluated([{"question": "audit logs", "expected_docs": ["f"], "contexts": contexts("b")}], corpus)

    class Broken(Angles):
        def encode(self, texts, kind="passage"):
            raise EncoderError("the endpoint is down")

    column = missed_column(evaluation.evidence, corpus, Broken())
    assert json.loads(column[0])[0]["bm25_rank"] == 1 and "the endpoint is down" in caplog.text


def test_a_large_corpus_is_not_encoded_while_evaluating(monkeypatch):
    monkeypatch.setattr(corpus_ranks, "AT_EVALUATION", 3)
    corpus, encoder = corpus_of(), Angles()
    evaluation = evaluated([{"question": "audit logs", "expected_docs": ["f"], "contexts": contexts("b")}], corpus)
    assert missed_column(evaluation.evidence, corpus, encoder)[0] is not None and encoder.encoded == 0


def test_the_first_missed_document_decides_and_of_alternatives_the_best_placed():
    corpus = corpus_of()
    rows = [
        {"question": "audit logs kept", "expected_docs": ["zz", "f"], "contexts": contexts("b")},
        {"question": "audit logs kept", "expected_docs": [["i", "f"]], "contexts": contexts("b")},
    ]
    evaluation = evaluated(rows, corpus)
    assert first_sub_causes(evaluation.view) == {0: "filtered", 1: "filtered"}


# ---------------------------------------------------------------- what-ifs and the corpus


def test_fusion_and_rescue_curve_by_hand():
    corpus = corpus_of()
    sample = {"question": "audit logs kept", "expected_docs": ["f"], "contexts": contexts("h")}
    examined = examine(evaluated([sample], corpus), corpus, Angles())
    # f: 1/(60+5) + 1/(60+1) beats b: 1/61 and all others, which no word finds.
    assert fused_rank(examined.at(2)[0]) == 1
    curve = rescue_curve(examined, 2)
    assert curve.loc[[1, 4, 5], ["dense", "bm25", "hybrid"]].to_numpy().tolist() == [[0, 1, 1], [0, 1, 1], [1, 1, 1]]
    assert curve["n"].eq(1).all()


def test_weights_for_titles_and_sections_change_bm25_without_an_index_anew():
    rows = [
        {"doc_id": "p#1", "text": "kept for ninety days", "title": "Audit logs", "source": "p", "position": 1},
        {"doc_id": "p#2", "text": "ask an administrator", "title": "Other", "source": "p", "position": 2},
        {"doc_id": "q#1", "text": "logs of the app are audit proof", "title": "App", "source": "q", "position": 1},
    ]
    corpus = corpus_of(rows)
    samples = [{"question": "audit logs", "expected_docs": [name], "contexts": []} for name in ("p#1", "p#2")]
    samples += [{"question": "ninety days", "expected_docs": ["p#2"], "contexts": []}]
    examined = examine(evaluated(samples, corpus, k=1), corpus, "none")
    weighted = Weighted(examined.index)
    assert weighted.ranks(examined.found) == [3, 3, 3]
    assert weighted.ranks(examined.found, title=4)[0] == 1
    assert weighted.ranks(examined.found, section=0.5)[2] == 2


def test_hubs_and_documents_that_never_come():
    corpus = corpus_of()
    rows = [{"question": f"q{n}", "expected_docs": ["b"], "contexts": contexts("g", "bcdef"[n % 5])} for n in range(12)]
    evaluation = evaluated(rows, corpus)
    table = hubs(evaluation, corpus)
    assert table.index[0] == "g" and table.loc["g", ["n", "n_expected"]].tolist() == [12, 0]
    assert table.loc["b", ["n", "n_expected"]].tolist() == [3, 3] and table["hub"].to_dict()["g"]
    assert table["hub"].sum() == 1 and table.loc["g", "share"] == 1
    never = never_retrieved(evaluation, corpus)
    assert never.index.tolist() == ["h", "i"] and never["n_expected"].tolist() == [0, 0]


# ---------------------------------------------------------------- planted and real data


def test_planted_sub_causes_are_recovered(tmp_path_factory, monkeypatch):
    """All fifteen of the sample data, with the embedded encoder and depth 5."""
    corpus = wb.load_corpus(SAMPLE / "corpus.jsonl")
    with (SAMPLE / "labels.csv").open(encoding="utf-8-sig", newline="") as file:
        planted = {
            (r["run"], r["sample_id"]): r["sub_cause"] for r in csv.DictReader(file) if r["cause"] == "retrieval_miss"
        }
    found = {}
    for name in ("baseline", "improved"):
        evaluation = wb.evaluate(
            wb.load_samples(SAMPLE / "runs" / f"{name}.jsonl"), judge=None, encoder="none", progress=False
        )
        for row in missed_documents(evaluation, corpus).itertuples():
            found[name, row.sample_id] = row.sub_cause
    assert {key: found[key] for key in planted} == planted


def _paragraphs(language):
    data = json.loads((XQUAD / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
    rows = [{"doc_id": f"p{n:03d}", "text": paragraph["context"]} for n, paragraph in enumerate(paragraphs)]
    asked = [(qa["question"], f"p{n:03d}") for n, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]]
    return rows, asked


@pytest.fixture
def xquad():
    if not XQUAD.is_dir():
        pytest.skip("XQuAD is not beside the project")
    return {language: _paragraphs(language) for language in ("en", "zh")}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_bm25_finds_the_paragraph_in_its_own_language(xquad, language):
    from workbench.evidence.corpus_index import Lexical, id_order, terms

    rows, asked = xquad[language]
    lexical = Lexical([terms(row["text"]) for row in rows], id_order([row["doc_id"] for row in rows]))
    hits = [lexical.rank(lexical.scores(terms(question)), int(doc_id[1:])) <= 5 for question, doc_id in asked]
    assert np.mean(hits) >= 0.98


@pytest.mark.parametrize(("asks", "least", "most"), [("zh", 0.9, 1.0), ("en", 0.0, 0.1)])
def test_chinese_questions_on_english_paragraphs_are_language_gaps(xquad, asks, least, most):
    from workbench.evidence.corpus_index import Lexical, id_order, terms

    rows, questions = xquad["en"][0], xquad[asks][1][::3]
    lexical = Lexical([terms(row["text"]) for row in rows], id_order([row["doc_id"] for row in rows]))
    samples = []
    for question, doc_id in questions:
        best = lexical.best(lexical.scores(terms(question)), 5)
        samples.append(
            {
                "question": question,
                "expected_docs": [doc_id],
                "contexts": [{"doc_id": rows[at]["doc_id"], "text": rows[at]["text"]} for at in best],
            }
        )
    corpus = corpus_of(rows)
    found = missed_documents(evaluated(samples, corpus, k=5), corpus, "none")
    share = (found["sub_cause"] == "language_gap").mean()
    assert least <= share <= most and len(found) >= 3


# ---------------------------------------------------------------- encoders


def test_two_encoders_of_one_name_without_fingerprints_never_share_vectors():
    class Turned(Angles):
        def __init__(self, turn):
            self.turn = turn

        def encode(self, texts, kind="passage"):
            self.encoded += len(texts)
            rows = super().encode(texts, kind)
            return rows @ np.array([[1, 0], [0, 1]]) if kind == "query" or not self.turn else rows[:, ::-1].copy()

        def __getattribute__(self, name):
            if name == "fingerprint":
                raise AttributeError(name)
            return super().__getattribute__(name)

    corpus = corpus_of()
    evaluation = evaluated([{"question": "logs", "expected_docs": ["b"], "contexts": contexts("h")}], corpus)
    plain, turned = Turned(False), Turned(True)
    assert missed_documents(evaluation, corpus, plain)["dense_rank"].tolist() == [1]
    assert missed_documents(evaluation, corpus, turned)["dense_rank"].tolist() == [8]
    before = plain.encoded
    missed_documents(evaluation, corpus, plain)
    assert plain.encoded == before


def test_an_embedded_encoder_that_was_seen_is_loaded_only_when_needed(monkeypatch):
    from workbench.evidence.encoders import resolve as lazy

    loads = []

    def load(name):
        loads.append(name)
        return Angles()

    monkeypatch.setattr(lazy, "resolve_encoder", load)
    first = lazy.load_cached("auto").encode(["x @30"])
    assert loads == ["auto"]
    again = lazy.load_cached("auto")
    assert again.name == "angles" and np.array_equal(again.encode(["x @30"]), first) and loads == ["auto"]
    assert not hasattr(again, "truncated") and again.encode(["y @40"]).shape == (1, 2) and len(loads) == 2
    monkeypatch.setattr(Angles, "fingerprint", "2")
    with pytest.raises(EncoderError, match="start again"):
        lazy.load_cached("auto").encode(["z @50"])
    assert lazy.load_cached("auto").fingerprint == "2"
