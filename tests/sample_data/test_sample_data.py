"""The sample data says what its README and labels say: counts, ids, key points, planted faults, reproducibility."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "sample_data" / "support"
RUNS = ("baseline", "improved")
CAUSES = {
    "permission_leak", "no_answer", "not_indexed", "retrieval_miss", "split_evidence", "missing_refusal",
    "wrong_refusal", "distracted", "contradiction", "hallucination", "omission", "faithful_but_wrong", "off_topic",
    "bad_citation", "format",
}  # fmt: skip
SUB_CAUSES = {
    "filtered", "just_below_k", "crowded_out", "lexical_gap", "semantic_gap", "language_gap", "truncated",
}  # fmt: skip


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (SUPPORT / name).read_text(encoding="utf-8").splitlines()]


def table(name: str) -> list[dict[str, str]]:
    with (SUPPORT / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


CORPUS = {row["doc_id"]: row for row in rows("corpus.jsonl")}
CASES = {row["sample_id"]: row for row in rows("cases.jsonl")}
RECORDED = {(run, row["sample_id"]): row for run in RUNS for row in rows(f"runs/{run}.jsonl")}
LABELS = {(row["run"], row["sample_id"]): row for row in table("labels.csv")}


def labelled(cause: str) -> list[tuple[str, str]]:
    return [key for key, row in LABELS.items() if row["cause"] == cause]


def alternatives(entry: str | list[str]) -> list[str]:
    return [entry] if isinstance(entry, str) else entry


def expected_entries(row: dict) -> list[list[str]]:
    return [alternatives(entry) for entry in row["expected_docs"]]


def prompted(row: dict) -> list[dict]:
    return [context for context in row["contexts"] if context["prompted"]]


def prompted_ids(row: dict) -> set[str]:
    return {context["doc_id"] for context in prompted(row)}


def stands_in(point: str | list[str], text: str) -> bool:
    return any(choice in text for choice in alternatives(point))


def missing_entries(row: dict) -> list[list[str]]:
    return [entry for entry in expected_entries(row) if not prompted_ids(row) & set(entry)]


def points_made(row: dict) -> bool:
    return all(stands_in(point, row["answer"]) for point in row["must_include"])


def in_single_context(row: dict, point: str | list[str]) -> bool:
    return any(stands_in(point, context["text"]) for context in prompted(row))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", re.sub(r"\[\d+\]", "", text)))


def test_number_of_records():
    assert (len(CORPUS), len(CASES), len(RECORDED), len(LABELS)) == (320, 80, 160, 160)
    assert len(rows("query_log.jsonl")) == 5000
    assert len(json.loads((SUPPORT / "cases_layered.json").read_text(encoding="utf-8"))["cases"]) == 80


def test_types_and_languages_of_the_cases():
    kinds = Counter(case["case_type"] for case in CASES.values())
    assert kinds == {"fact": 50, "policy": 20, "refusal": 7, "permission": 3}
    assert Counter(case["tags"]["language"] for case in CASES.values()) == {"zh": 40, "en": 40}
    assert sum(case["tags"]["cross_language"] == "yes" for case in CASES.values()) >= 5


def test_corpus_is_half_chinese_with_shared_and_private_pages():
    chinese = sum(bool(re.search("[\u4e00-\u9fff]", row["text"])) for row in CORPUS.values())
    assert 0.45 < chinese / len(CORPUS) < 0.55
    assert {row["tenant"] for row in CORPUS.values()} == {None, "qinglan", "halden", "mirabel"}
    assert all(row["doc_id"] == f"{row['source']}#{row['position']}" for row in CORPUS.values())


def test_no_text_and_no_question_twice():
    assert len({row["text"] for row in CORPUS.values()}) == 320
    assert len({case["question"] for case in CASES.values()}) == 80


def test_at_least_120_distinct_passages_before_variation():
    passages = set()
    for path in (SUPPORT / "source").glob("*.md"):
        body = path.read_text(encoding="utf-8").split("---\n", 2)[2]
        passages |= {part for part in body.split("\n\n") if not part.startswith("#")}
    assert len(passages) >= 120


def test_a_page_longer_than_an_encoder_window_in_each_language():
    english, chinese = CORPUS["release-notes-en#1"]["text"], CORPUS["changelog-zh#1"]["text"]
    assert len(english.split()) > 500
    assert len(chinese) > 1000


@pytest.mark.parametrize("key", RECORDED, ids="-".join)
def test_run_rows_are_self_contained(key):
    case, row = CASES[key[1]], RECORDED[key]
    assert {name: row[name] for name in case} == case


@pytest.mark.parametrize("key", RECORDED, ids="-".join)
def test_contexts_are_chunks_of_the_corpus(key):
    row = RECORDED[key]
    stale = LABELS[key]["cause"] == "faithful_but_wrong"
    assert len(row["contexts"]) == 5
    assert len({context["doc_id"] for context in row["contexts"]}) == 5
    changed = [c for c in row["contexts"] if c["text"] != CORPUS[c["doc_id"]]["text"]]
    assert len(changed) == stale
    scores = [context["score"] for context in row["contexts"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("key", RECORDED, ids="-".join)
def test_expected_documents_resolve(key):
    row = RECORDED[key]
    ids = {doc for entry in expected_entries(row) for doc in entry}
    assert (not ids & set(CORPUS)) if LABELS[key]["cause"] == "not_indexed" else ids <= set(CORPUS)
    own = {None, row["tenant"]}
    assert {CORPUS[doc]["tenant"] for doc in ids & set(CORPUS)} <= own


@pytest.mark.parametrize("key", [key for key in labelled("pass") if RECORDED[key]["expect_refusal"]], ids="-".join)
def test_passing_refusals(key):
    row = RECORDED[key]
    assert row["refused"] is True
    assert row["expected_docs"] == []
    assert not numbers(row["answer"])


@pytest.mark.parametrize("key", [key for key in labelled("pass") if not RECORDED[key]["expect_refusal"]], ids="-".join)
def test_passing_answers_make_every_point_from_the_contexts(key):
    row = RECORDED[key]
    together = "\n".join(context["text"] for context in prompted(row))
    assert row["must_include"]
    assert points_made(row)
    assert all(stands_in(point, together) or split_over_edge(row, point) for point in row["must_include"])
    assert not any(stands_in(point, row["answer"]) for point in row["must_not_include"])
    assert not missing_entries(row)
    assert row["refused"] is False
    assert numbers(row["answer"]) <= numbers(together + row["question"])


def split_over_edge(row: dict, point: str | list[str]) -> bool:
    """Whether the point stands across the edge of two chunks of one page, one of them recorded."""
    neighbours = {context["doc_id"] for context in row["contexts"]}
    pairs = [(left, f"{CORPUS[left]['source']}#{CORPUS[left]['position'] + 1}") for left in CORPUS]
    near = [(left, right) for left, right in pairs if right in CORPUS and {left, right} & neighbours]
    texts = [(CORPUS[left]["text"], CORPUS[right]["text"]) for left, right in near]
    return any(stands_in(point, left + glue + right) for left, right in texts for glue in ("", " "))


@pytest.mark.parametrize("key", [key for key in RECORDED if LABELS[key]["cause"] != "permission_leak"], ids="-".join)
def test_no_leak_where_none_is_planted(key):
    row = RECORDED[key]
    assert {context["tenant"] for context in row["contexts"]} <= {None, row["tenant"]}


def test_marks_and_reported_citations_point_to_expected_documents():
    for key in labelled("pass"):
        row = RECORDED[key]
        cited = [row["contexts"][int(mark) - 1]["doc_id"] for mark in re.findall(r"\[(\d+)\]", row["answer"])]
        allowed = {doc for entry in expected_entries(row) for doc in entry}
        assert set(cited) | set(row["citations"] or []) <= allowed


def test_passes_fixed_and_broken():
    passing = {run: {sample for name, sample in labelled("pass") if name == run} for run in RUNS}
    assert [len(passing[run]) for run in RUNS] == [48, 62]
    assert len(passing["improved"] - passing["baseline"]) == 17
    assert len(passing["baseline"] - passing["improved"]) == 3


def test_every_cause_occurs_in_both_languages():
    seen = Counter((CASES[sample]["tags"]["language"], row["cause"]) for (_, sample), row in LABELS.items())
    assert {(language, cause) for language in ("zh", "en") for cause in CAUSES} <= set(seen)


def test_every_sub_cause_occurs_in_both_languages_and_only_for_misses():
    misses = labelled("retrieval_miss")
    seen = {(CASES[sample]["tags"]["language"], LABELS[run, sample]["sub_cause"]) for run, sample in misses}
    assert seen == {(language, sub) for language in ("zh", "en") for sub in SUB_CAUSES}
    assert all(row["sub_cause"] == "" for row in LABELS.values() if row["cause"] != "retrieval_miss")


def test_every_fault_has_a_note():
    assert all(bool(row["note"]) == (row["cause"] != "pass") for row in LABELS.values())


@pytest.mark.parametrize("key", labelled("permission_leak"), ids="-".join)
def test_leaks_hold_a_foreign_context(key):
    row = RECORDED[key]
    assert {context["tenant"] for context in row["contexts"]} - {None, row["tenant"]}


@pytest.mark.parametrize("key", labelled("no_answer"), ids="-".join)
def test_no_answer_has_an_error(key):
    assert RECORDED[key]["answer"] is None
    assert RECORDED[key]["error"]


@pytest.mark.parametrize("key", labelled("retrieval_miss"), ids="-".join)
def test_misses_lack_an_expected_document(key):
    assert missing_entries(RECORDED[key])
    assert not points_made(RECORDED[key])


@pytest.mark.parametrize("key", labelled("split_evidence"), ids="-".join)
def test_split_points_stand_across_an_edge_only(key):
    row = RECORDED[key]
    assert not points_made(row)
    assert not missing_entries(row)
    assert any(not in_single_context(row, point) and split_over_edge(row, point) for point in row["must_include"])


@pytest.mark.parametrize("key", labelled("missing_refusal"), ids="-".join)
def test_missing_refusals_answer_where_nothing_is_known(key):
    row = RECORDED[key]
    assert row["expect_refusal"]
    assert row["refused"] is False


EVIDENCE_RETRIEVED = (
    "wrong_refusal", "distracted", "contradiction", "hallucination", "omission", "off_topic", "bad_citation", "format",
)  # fmt: skip


@pytest.mark.parametrize("key", [key for cause in EVIDENCE_RETRIEVED for key in labelled(cause)], ids="-".join)
def test_faults_of_the_generator_have_the_evidence(key):
    row = RECORDED[key]
    assert not missing_entries(row)
    assert all(in_single_context(row, point) for point in row["must_include"])
    makes_points = LABELS[key]["cause"] in ("hallucination", "bad_citation", "format")
    assert points_made(row) == makes_points


@pytest.mark.parametrize("key", labelled("distracted"), ids="-".join)
def test_distracting_value_stands_in_another_retrieved_document(key):
    row = RECORDED[key]
    wrong = [value for value in row["must_not_include"] if stands_in(value, row["answer"])]
    others = [context["text"] for context in prompted(row) if [context["doc_id"]] not in expected_entries(row)]
    assert wrong
    assert all(any(value in text for text in others) for value in wrong)


@pytest.mark.parametrize("key", labelled("contradiction"), ids="-".join)
def test_contradicting_value_stands_in_no_context(key):
    row = RECORDED[key]
    texts = " ".join(context["text"] for context in row["contexts"])
    unit = r"(\d+) ?(次|years)"
    said, known = {match[0] for match in re.findall(unit, row["answer"])}, {m[0] for m in re.findall(unit, texts)}
    assert said - known


@pytest.mark.parametrize("key", labelled("hallucination"), ids="-".join)
def test_hallucinations_add_a_number_that_stands_nowhere(key):
    row = RECORDED[key]
    assert numbers(row["answer"]) - numbers(" ".join(context["text"] for context in row["contexts"]))


@pytest.mark.parametrize("key", labelled("faithful_but_wrong"), ids="-".join)
def test_stale_texts_hide_the_right_value(key):
    row = RECORDED[key]
    assert not missing_entries(row)
    assert not any(in_single_context(row, point) for point in row["must_include"])
    assert numbers(row["answer"]) <= numbers(" ".join(context["text"] for context in prompted(row)))


def test_verdicts_of_two_annotators_with_a_few_disagreements():
    by_sample: dict[str, dict[str, str]] = {}
    for row in table("verdicts.csv"):
        assert row["verdict"] in {"right", "wrong", "unsure"}
        by_sample.setdefault(row["sample_id"], {})[row["annotator"]] = row["verdict"]
    assert len(by_sample) == 40
    assert all(len(pair) == 2 for pair in by_sample.values())
    assert 3 <= sum(len(set(pair.values())) == 2 for pair in by_sample.values()) <= 8


def test_ragas_forms_hold_the_same_texts():
    new, old = rows("ragas/baseline.jsonl"), rows("ragas/improved.jsonl")
    assert set(new[0]) == {"user_input", "response", "retrieved_contexts", "reference"}
    assert set(old[0]) == {"question", "answer", "contexts", "ground_truth"}
    for run, layout, name in (("baseline", new, "response"), ("improved", old, "answer")):
        assert [row[name] for row in layout] == [RECORDED[run, sample]["answer"] for sample in CASES]


def test_query_log_gets_worse_after_the_release():
    log = rows("query_log.jsonl")
    assert [row["time"] for row in log] == sorted(row["time"] for row in log)
    before, after = ([row for row in log if row["release"] == name] for name in ("25.6.1", "25.6.2"))
    assert len(after) > 500
    assert p95(after) > 1.5 * p95(before)
    assert refusal_rate(after) > 1.8 * refusal_rate(before)


def p95(log: list[dict]) -> int:
    latencies = sorted(row["latency_ms"] for row in log if row["error"] is None)
    return latencies[int(0.95 * len(latencies))]


def refusal_rate(log: list[dict]) -> float:
    answered = [row["refused"] for row in log if row["refused"] is not None]
    return sum(answered) / len(answered)


def test_small_enough_to_ship():
    files = [path for path in SUPPORT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    made = [path for path in files if "evaluations" not in path.relative_to(SUPPORT).parts]
    assert sum(path.stat().st_size for path in made) < 3_000_000
    assert (SUPPORT / "query_log.jsonl").stat().st_size < 1_500_000


def test_script_makes_the_files_again_byte_for_byte(tmp_path):
    command = [sys.executable, "-B", str(SUPPORT / "build.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(made) == 10
    for name in made:
        assert (tmp_path / name).read_bytes() == (SUPPORT / name).read_bytes(), name


def missed_texts(sub_cause: str) -> list[tuple[dict, dict]]:
    """(recorded row, chunk that was missed) for each miss labelled with ``sub_cause``."""
    keys = [key for key in labelled("retrieval_miss") if LABELS[key]["sub_cause"] == sub_cause]
    return [(RECORDED[key], CORPUS[doc]) for key in keys for entry in missing_entries(RECORDED[key]) for doc in entry]


def pieces(text: str) -> set[str]:
    """Lower-case words of four letters and more, and pairs of Chinese characters."""
    chinese = re.findall("[\u4e00-\u9fff]+", text)
    return {run[i : i + 2] for run in chinese for i in range(len(run) - 1)} | set(re.findall("[a-z]{4,}", text.lower()))


def test_language_gaps_are_between_languages():
    for row, chunk in missed_texts("language_gap"):
        question, text = (bool(re.search("[\u4e00-\u9fff]", part)) for part in (row["question"], chunk["text"]))
        assert question != text


def test_lexical_gaps_share_next_to_no_word():
    for row, chunk in missed_texts("lexical_gap"):
        assert len(pieces(row["question"]) & pieces(chunk["text"])) <= 1


def test_semantic_gaps_share_words():
    for row, chunk in missed_texts("semantic_gap"):
        assert len(pieces(row["question"]) & pieces(chunk["text"])) >= 2


def test_crowded_out_chunks_have_near_duplicates_among_the_contexts():
    for row, chunk in missed_texts("crowded_out"):
        mine = pieces(chunk["text"])
        others = [pieces(context["text"]) for context in row["contexts"]]
        assert sum(len(mine & other) > 0.5 * len(other) for other in others) == 5


def test_truncated_facts_stand_at_the_end_of_a_long_chunk():
    for row, chunk in missed_texts("truncated"):
        place = min(chunk["text"].index(point) for point in row["must_include"])
        assert place > 0.85 * len(chunk["text"])
        assert len(chunk["text"]) > 1000


def test_filtered_chunks_share_more_words_with_the_question_than_what_came_instead():
    for row, chunk in missed_texts("filtered"):
        asked = pieces(row["question"])
        came = [len(asked & pieces(context["text"])) for context in row["contexts"]]
        assert len(asked & pieces(chunk["text"])) > max(came)
