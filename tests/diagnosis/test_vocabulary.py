"""Words that never meet: coverage by hand, variants, candidates, synonyms and what they rescue; both languages."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.diagnosis.synonyms import (
    SynonymTable,
    expanded,
    export_elasticsearch,
    export_meilisearch,
    export_solr,
    rescued,
    save_synonyms,
)
from workbench.diagnosis.vocabulary import (
    COLUMNS,
    TermVectors,
    Vocabulary,
    absent_terms,
    by_form,
    content_terms,
    find_gaps,
    heat,
    lures,
    phrases,
    vocabulary_gaps,
)
from workbench.errors import InputError
from workbench.evidence.corpus_index import CorpusIndex
from workbench.evidence.corpus_ranks import find_misses

XQUAD = Path(__file__).resolve().parents[3] / "shared" / "data" / "xquad"

DOCUMENTS = [
    {"doc_id": "zh", "text": "双因素认证（2FA）的启用方法：在安全设置中扫描二维码。"},
    {"doc_id": "en", "text": "Single sign-on is set up by an owner. Error E3304 means the certificate expired."},
    {"doc_id": "lure", "text": "怎么开通企业版：联系销售开通。"},
    {"doc_id": "logs", "text": "Audit logs are kept for ninety days."},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


def corpus_of(rows=DOCUMENTS):
    return wb.load_corpus([dict(row) for row in rows])


def evaluated(samples, k=5):
    rows = [
        {"sample_id": f"s{number}", "answer": None, "contexts": [], **sample} for number, sample in enumerate(samples)
    ]
    return wb.evaluate(wb.load_samples(rows), judge=None, encoder="none", thresholds=wb.Thresholds(k=k), progress=False)


def context(name, rows=DOCUMENTS):
    return {"doc_id": name, "text": next(row["text"] for row in rows if row["doc_id"] == name)}


def gaps_of(samples, rows=DOCUMENTS, k=5):
    index = CorpusIndex(corpus_of(rows), None)
    vocabulary = Vocabulary(index)
    return find_gaps(find_misses(evaluated(samples, k).evidence, k), vocabulary, k), vocabulary


# ---------------------------------------------------------------- coverage


def test_coverage_by_hand():
    """audit and kept stand in one of four documents (idf ln(1 + 3.5/1.5)), passwords in none (ln(1 + 4.5/0.5))."""
    found = vocabulary_gaps(
        evaluated([{"question": "Are passwords kept in the audit?", "expected_docs": ["logs"]}]), corpus_of(), "none"
    )
    assert list(found.columns) == list(COLUMNS)
    once, never = math.log(1 + 3.5 / 1.5), math.log(1 + 4.5 / 0.5)
    row = found.iloc[0]
    assert row.coverage == pytest.approx(2 * once / (2 * once + never)) and row.missing_terms == ["passwords"]
    assert np.isnan(row.coverage_retrieved) and list(row.candidates) == ["passwords"]


def test_it_looks_at_the_missed_document_and_contrasts_what_came():
    sample = {"question": "怎么开通两步登录", "expected_docs": ["zh"], "contexts": [context("lure"), context("logs")]}
    row = vocabulary_gaps(evaluated([sample]), corpus_of(), "none").iloc[0]
    assert row.coverage == 0 and 0 < row.coverage_retrieved < 1
    gaps, _ = gaps_of([sample])
    lured = lures(gaps)
    assert lured["doc_id"].tolist() == ["lure"] and lured["shared"].tolist() == [["开通"]]


def test_the_rows_are_those_of_missed_documents():
    samples = [
        {"question": "audit", "expected_docs": ["zh", "logs"], "contexts": [context("en")]},
        {"question": "audit", "expected_docs": ["logs"], "contexts": [context("logs")]},
    ]
    evaluation, corpus = evaluated(samples), corpus_of()
    one, other = wb.missed_documents(evaluation, corpus, "none"), wb.vocabulary_gaps(evaluation, corpus, "none")
    assert one[["sample_id", "doc_id"]].values.tolist() == other[["sample_id", "doc_id"]].values.tolist()


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("企业版支持多少并发会话？", "企业版最多支持 500 个并发会话。"),
        ("日誌保留多久？", "日志保留 90 天，不论多久。"),
        ("２ＦＡ 怎么启用", "启用 2FA 的方法"),
        ("离职交接怎么做", "离职交接要做的事：审批任务移交。"),
        ("How long are AUDIT logs kept?", "Audit logs are kept as long as the contract lasts."),
        ("What does ERR-1042 mean?", "ERR-1042 will mean a wrong key."),
    ],
)
def test_pairs_without_paraphrase_are_covered_in_both_languages(question, document):
    gaps, _ = gaps_of([{"question": question, "expected_docs": ["d"]}], [{"doc_id": "d", "text": document}, *DOCUMENTS])
    assert gaps[0].coverage == 1 and gaps[0].missing == []


def test_splitting_at_spaces_would_flag_every_chinese_pair():
    """The trap: a Chinese question is one token for ``.split()`` and stands in no document."""
    pairs = [
        ("企业版支持多少并发会话？", "企业版最多支持 500 个并发会话。"),
        ("发票何时开具", "发票在付款后开具，何时都可以。"),
    ]
    assert all(set(question.split()).isdisjoint(document.split()) for question, document in pairs)
    for question, document in pairs:
        gaps, _ = gaps_of([{"question": question, "expected_docs": ["d"]}], [{"doc_id": "d", "text": document}])
        assert gaps[0].coverage >= 0.99


def test_terms_are_whole_words_in_english_and_stretches_in_chinese():
    rows = [{"doc_id": "d", "text": "The catalogue is nowhere. 支持工程师"}]
    gaps, vocabulary = gaps_of([{"question": "cat now 工程", "expected_docs": ["d"]}], rows)
    assert gaps[0].missing == ["cat", "now"]
    assert vocabulary.count("工程") == 1 and vocabulary.count("cat") == 0


def test_a_question_of_function_words_and_a_document_that_is_not_indexed():
    gaps, _ = gaps_of(
        [{"question": "这是什么", "expected_docs": ["zh"]}, {"question": "audit", "expected_docs": ["nowhere"]}]
    )
    assert content_terms("这是什么") and 0 <= gaps[0].coverage <= 1
    assert np.isnan(gaps[1].coverage) and gaps[1].missing == ["audit"]


def test_nothing_missed_gives_an_empty_table():
    found = vocabulary_gaps(evaluated([{"question": "audit", "expected_docs": None}]), corpus_of())
    assert list(found.columns) == list(COLUMNS) and found.empty


@pytest.mark.parametrize("language", ["en", "zh"])
def test_real_questions_meet_their_own_paragraph_and_not_the_other_language(language):
    if not XQUAD.is_dir():
        pytest.skip("XQuAD is not beside the project")
    data = {
        name: json.loads((XQUAD / f"xquad.{name}.json").read_text(encoding="utf-8"))["data"] for name in ("en", "zh")
    }
    paragraphs = {name: [p for article in data[name] for p in article["paragraphs"]] for name in data}
    other = {"en": "zh", "zh": "en"}[language]
    rows = [{"doc_id": f"{name}{n}", "text": p["context"]} for name in data for n, p in enumerate(paragraphs[name])]
    asked = [(qa["question"], n) for n, p in enumerate(paragraphs[language]) for qa in p["qas"]][::6]
    samples = [{"question": q, "expected_docs": [f"{language}{n}", f"{other}{n}"]} for q, n in asked]
    gaps, _ = gaps_of(samples, rows)
    own = [gap.coverage for gap in gaps if gap.miss.doc_id.startswith(language)]
    foreign = [gap.coverage for gap in gaps if not gap.miss.doc_id.startswith(language)]
    assert np.median(own) > 0.5 and np.median(foreign) < 0.15


# ---------------------------------------------------------------- variants and candidates


@pytest.mark.parametrize(
    ("term", "option", "kind"),
    [
        ("logs", "log", "form"),
        ("signing", "sign", "form"),
        ("e-3304", "e3304", "identifier"),
        ("err_1042", "err-1042", "identifier"),
        ("sso", "single sign-on", "abbreviation"),
        ("北大", "北京大学", "abbreviation"),
        ("双因素认证", "双因素", "characters"),
        ("authorisation", "authorization", "form"),
        ("webhooks", "webhook-url", "characters"),
    ],
)
def test_other_forms_of_a_term(term, option, kind):
    found = by_form(term, [option, "unrelated", "无关"])
    assert [(candidate.text, candidate.kind) for candidate in found] == [(option, kind)]
    assert 0 < found[0].score <= 1


@pytest.mark.parametrize(
    ("term", "option"), [("500", "5000"), ("v2", "v3"), ("cat", "dog"), ("审批", "发票"), ("x", "y z")]
)
def test_what_is_no_form_of_a_term(term, option):
    assert by_form(term, [option]) == []


def test_phrases_join_neighbouring_words():
    assert phrases("Audit logs are kept") == ["audit", "logs", "kept", "audit logs", "logs kept"]
    assert "审批任务" in phrases("审批任务转给主管") and phrases("") == []


def test_candidates_by_meaning_cross_languages():
    """Hand-made vectors: boss lies beside 主管 and far from everything else."""
    names = ["boss", "主管", *(f"w{n}" for n in range(40)), *(chr(0x4E00 + n) * 2 for n in range(40))]
    random = np.random.default_rng(0)
    rows = random.normal(size=(len(names), 16))
    rows[1] = rows[0] + 0.01
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    found = TermVectors(names, rows).nearest("boss", names[1:])
    assert found[0].text == "主管" and found[0].score > 0.99 and len(found) <= 5
    assert TermVectors(names, rows).nearest("unknown", names) == []


def test_an_encoder_gives_candidates_and_the_words_are_limited():
    class Letters:
        name, dimension, fingerprint, seen = "letters", 26, "1", 0

        def encode(self, texts, kind="passage"):
            self.seen += len(texts)
            rows = np.array([[text.count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts], dtype=np.float32)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    samples = [
        {"question": "dual owners", "expected_docs": ["en"]},
        {"question": "older audit", "expected_docs": ["logs"]},
    ]
    encoder = Letters()
    found = vocabulary_gaps(evaluated(samples), corpus_of(), encoder)
    assert found["candidates"].iloc[0]["owners"][0] == "owner" and encoder.seen > 10
    limited = Letters()
    vocabulary_gaps(
        evaluated(samples), corpus_of([{**row, "text": row["text"] + " x"} for row in DOCUMENTS]), limited, max_words=3
    )
    assert limited.seen == 0


# ---------------------------------------------------------------- terms over a set


def test_terms_that_no_document_has():
    _, vocabulary = gaps_of([{"question": "audit", "expected_docs": ["zh"]}])
    table = absent_terms(["审计沙箱", "audit sandbox", "audit logs"], [True, False, False], vocabulary)
    assert set(table.index) >= {"sandbox", "沙箱"} and "audit" not in table.index
    assert table.loc["沙箱"].tolist() == [1, 1] and table.loc["sandbox"].tolist() == [1, 0]


def test_the_heat_map_shows_weights_where_a_term_stands():
    gaps, vocabulary = gaps_of([{"question": "audit owner", "expected_docs": ["logs"], "contexts": [context("en")]}])
    terms, names, weights = heat(gaps[0])
    assert (terms, names) == (["audit", "owner"], ["logs", "en"])
    idf = vocabulary.idf("audit")
    assert weights.tolist() == [[idf, 0], [0, vocabulary.idf("owner")]]


# ---------------------------------------------------------------- synonyms


def test_accepting_editing_and_removing_is_on_disk_at_once(tmp_path):
    path = tmp_path / "synonyms.json"
    table = SynonymTable(path)
    table.accept("两步登錄", "双因素认证", "meaning")
    table.accept("Boss", "manager")
    assert [(s.term, s.replacement, s.kind) for s in SynonymTable(path)] == [
        ("两步登录", "双因素认证", "meaning"),
        ("boss", "manager", "edited"),
    ]
    table.remove("BOSS", "manager")
    table.remove("never", "there")
    assert len(SynonymTable(path)) == 1
    for term, other in (("", "x"), ("x", " "), ("Same", "same")):
        with pytest.raises(InputError):
            table.accept(term, other)


def test_a_file_that_is_no_table_is_an_error_and_is_left_alone(tmp_path):
    path = tmp_path / "synonyms.json"
    path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(InputError, match=r"synonyms\.json"):
        SynonymTable(path)
    assert path.read_text(encoding="utf-8") == "[1, 2]"


def test_export_formats(tmp_path):
    table = SynonymTable()
    table.accept("两步登录", "双因素认证")
    table.accept("两步登录", "2fa")
    table.accept("a, b", "x=>y")
    assert export_solr(table) == "两步登录 => 两步登录, 双因素认证, 2fa\na\\, b => a\\, b, x\\=>y\n"
    rules = json.loads(export_elasticsearch(table))["synonyms_set"]
    assert [rule["id"] for rule in rules] == ["rule-1", "rule-2"] and rules[0]["synonyms"].startswith("两步登录 =>")
    assert json.loads(export_meilisearch(table))["两步登录"] == ["双因素认证", "2fa"]
    written = save_synonyms(table, tmp_path)
    assert len({path.name for path in written}) == 4 and all(path.read_text(encoding="utf-8") for path in written)
    with pytest.raises(InputError, match="known"):
        save_synonyms(table, tmp_path, ["xls"])
    assert export_solr(SynonymTable()) == ""


def test_a_synonym_rescues_a_miss_under_bm25():
    gaps, vocabulary = gaps_of(
        [{"question": "怎么开通两步登录", "expected_docs": ["zh"], "contexts": [context("lure")]}], k=1
    )
    misses, table = [gap.miss for gap in gaps], SynonymTable()
    assert rescued(misses, vocabulary.index, table, 1) == [False]
    table.accept("两步登录", "双因素认证")
    assert rescued(misses, vocabulary.index, table, 1) == [True]
    table.remove("两步登录", "双因素认证")
    table.accept("三步登录", "双因素认证")
    assert rescued(misses, vocabulary.index, table, 1) == [False]


def test_only_terms_that_stand_in_the_question_are_expanded():
    groups = {"cat": ["feline"], "sign in": ["log in"]}
    assert "felin" in expanded("a cat", groups) and "felin" not in " ".join(expanded("a catalogue", groups))
    assert expanded("how to sign in", groups) != expanded("how to sign in", {})
