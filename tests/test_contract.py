"""Names, columns and files that others rely on, as the contract has them."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.two_runs import case, run, two_runs
from workbench.evaluation import Evaluation


def _words(text: str) -> list[str]:
    return text.split()


NAMES = _words("""InputError WorkbenchError Session Thresholds agreement breakdown check compare evaluate evaluate_rankings
load_corpus load_evaluation load_samples metric metrics_table missed_documents open panels query_types score_on_cluster
set_language vocabulary_gaps worst_slices""")

SCORES = _words("""precision@5 recall@5 hit@5 reciprocal_rank@5 ndcg@5 average_precision@5 context_precision context_recall
context_relevance context_utilization context_entity_recall noise_sensitivity faithfulness sentence_faithfulness
hallucination_rate contradiction_rate answer_relevancy answer_correctness answer_similarity completeness
key_point_coverage key_point_grounding forbidden_hits number_accuracy citation_validity citation_precision
citation_recall refused refusal_correct over_refusal leaks leaks_retrieved leaks_prompted leaks_cited leaks_answered
self_consistency end_to_end_correct retrieval_generation_consistency""")

FURTHER = _words("""precision_returned@5 duplicate_rate holes@5 must_not_retrieve_hits context_relevant_share
context_sentence_relevance contexts_used_share tokens_unused noise_sensitivity_relevant noise_sensitivity_irrelevant
unsure_share self_knowledge answer_correctness_precision answer_correctness_recall entity_precision answer_perplexity
hedging overconfidence numeric_consistency reference_free_risk sampled_consistency""")

TABLES = {
    "claims": """sample_id side claim_id text start end verdict support contradiction best_doc_id other_verdict
        other_support other_contradiction severity state reason""",
    "contexts": "sample_id rank doc_id relevance similarity expected leaked used state",
    "support": "sample_id side claim_id rank entail contradict span_start span_end state",
    "spans": "sample_id side claim_id start end text kind support",
    "errors": "sample_id state reason",
    "summary": """mean low high n_ok n_not_applicable n_undefined n_error n_skipped n_total low_bound high_bound target
        attainable meets_target method""",
    "failures": """passed primary_cause sub_cause causes confidence evidence advice refusal_outcome""",
}

PANELS = _words("dataset score low_scores missed_documents vocabulary query_types compare hallucinations export")


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return run([case("a"), case("b", "Plan A has 9 units."), case("c", None, error="time-out")])


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name: str) -> None:
    assert getattr(wb, name) is not None
    assert name in wb.__all__ and name in dir(wb)


def test_every_exported_name_can_be_imported() -> None:
    assert all(getattr(wb, name) is not None for name in wb.__all__)
    assert wb.__all__ == sorted(wb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wb.nothing  # noqa: B018


@pytest.mark.parametrize("name", PANELS)
def test_each_panel_is_there(name: str) -> None:
    assert callable(getattr(wb.panels, name))


def test_the_default_set_and_everything(evaluation: Evaluation) -> None:
    assert set(evaluation.scores().columns) == set(SCORES)
    assert evaluation.scores().index.name == "sample_id"
    everything = Evaluation(evaluation.evidence, metrics="all")
    assert set(everything.scores().columns) >= {*SCORES, *FURTHER}
    assert "overall" not in everything.scores()
    assert everything.states().shape == everything.scores().shape
    assert set(everything.summary().index) == set(everything.scores().columns)


@pytest.mark.parametrize("table", TABLES)
def test_the_columns_of_each_table_stand_first_and_in_order(evaluation: Evaluation, table: str) -> None:
    wanted = TABLES[table].split()
    assert list(getattr(evaluation, table)().columns)[: len(wanted)] == wanted


def test_claims_have_both_verdicts_and_continuous_support(evaluation: Evaluation) -> None:
    claims = evaluation.claims()
    words = {"supported", "contradicted", "not_mentioned", "unsure"}
    assert set(claims["side"]) == {"answer", "reference"}
    assert set(claims["verdict"].dropna()) <= words and set(claims["other_verdict"].dropna()) <= words
    for name in ("support", "contradiction", "other_support", "other_contradiction"):
        assert claims[name].dropna().between(0, 1).all(), name
    assert not claims.duplicated(["sample_id", "side", "claim_id"]).any()


def test_failures_have_a_row_for_each_sample(evaluation: Evaluation) -> None:
    failures = evaluation.failures()
    assert failures.index.tolist() == ["a", "b", "c"]
    assert failures.loc["a", ["primary_cause", "causes"]].tolist() == ["pass", []]
    assert failures["primary_cause"].tolist()[1:] == ["contradiction", "no_answer"]
    assert all(
        cause in causes for cause, causes in zip(failures["primary_cause"][1:], failures["causes"][1:], strict=True)
    )
    assert failures["confidence"].dropna().between(0, 1).all()


def test_a_saved_folder_has_the_files_of_the_contract(evaluation: Evaluation, tmp_path: Path) -> None:
    folder = evaluation.save(tmp_path / "run")
    frames = {f"{name}.parquet" for name in ("samples", "contexts", "claims", "support", "questions", "rejected")}
    people = {f"{name}.csv" for name in ("scores", "states", "failures", "summary", "errors")}
    assert {path.name for path in folder.iterdir()} == frames | people | {"manifest.json", "thresholds.toml"}
    assert list(pd.read_csv(folder / "errors.csv").columns) == ["sample_id", "state", "reason"]
    assert "sample_id" in pd.read_csv(folder / "scores.csv").columns
    for name in frames - {"rejected.parquet"}:
        assert "sample_id" in pd.read_parquet(folder / name).columns, name


def test_saving_again_keeps_what_the_user_did(evaluation: Evaluation, tmp_path: Path) -> None:
    folder = evaluation.save(tmp_path / "run")
    (folder / "session").mkdir()
    (folder / "session" / "pins.jsonl").write_text("{}\n")
    evaluation.save(folder)
    assert (folder / "session" / "pins.jsonl").is_file()


def test_thresholds_are_frozen_and_come_back_from_toml(tmp_path: Path) -> None:
    t = wb.Thresholds(k=7, support=0.61, low_scores={"faithfulness": 0.8}, targets={"recall@7": 0.9}, match="document")
    assert wb.Thresholds.from_toml(t.to_toml()) == t
    t.to_toml(tmp_path / "t.toml")
    assert wb.Thresholds.from_toml(tmp_path / "t.toml") == t
    assert wb.Thresholds.from_toml(t.to_toml() + "\n[rules]\nx = 1\n\n[red_lines]\nleaks = 0\n") == t
    assert tomllib.loads(t.to_toml())["thresholds"]["targets"] == {"recall@7": 0.9}
    assert t.replace(k=3).k == 3 and t.k == 7
    with pytest.raises(AttributeError):
        t.k = 1  # type: ignore[misc]
    with pytest.raises(wb.InputError, match="unknown name 'supprot'"):
        t.replace(supprot=1)


def test_default_thresholds() -> None:
    t = wb.Thresholds()
    cuts = (
        t.k,
        t.support,
        t.contradiction,
        t.unsure_band,
        t.relevance,
        t.refusal,
        t.similarity_percentile,
        t.answer_right,
    )
    assert cuts == (5, 0.5, 0.5, 0.3, 0.5, 0.5, 95, 0.5)
    assert (t.low_cut("faithfulness"), t.low_cut("answer_relevancy")) == (0.7, 0.5)
    assert dict(t.targets) == {"recall@5": 0.8, "ndcg@5": 0.7, "faithfulness": 0.9, "answer_relevancy": 0.8}


def test_other_thresholds_make_a_new_evaluation_over_the_same_evidence(evaluation: Evaluation) -> None:
    strict = evaluation.with_thresholds(wb.Thresholds(k=1))
    assert strict.evidence is evaluation.evidence and evaluation.thresholds.k == 5
    assert "recall@1" in strict.scores() and "recall@5" in evaluation.scores()
    assert strict.name == evaluation.name


def test_comparison_tables() -> None:
    comparison = wb.compare(*two_runs())
    assert list(comparison.ledger().columns)[:4] == ["cause_before", "cause_after", "n", "sample_ids"]
    flips = comparison.flips()
    names = ["change", "cause_before", "cause_after", "answer_changed", "contexts_changed"]
    assert set(names) <= set(flips.columns) and "sample_id" in {flips.index.name, *flips.columns}
    assert set(flips["change"]) <= {"fixed", "broken", "still_failing", "still_passing", "not_comparable"}
    tests = comparison.tests()
    wanted = ["n_pairs", "before", "after", "delta", "low", "high", "p_value", "p_adjusted", "smallest_detectable"]
    assert set(wanted) <= set(tests.columns) and "metric" in {tests.index.name, *tests.columns}
    assert "metric" not in tests.columns or list(tests.columns)[:10] == ["metric", *wanted]


def test_tables_of_misses_and_vocabulary() -> None:
    corpus = wb.load_corpus([{"doc_id": d, "text": f"plan {d} has units"} for d in ("good", "other")])
    missing = run([case("a", found=False)])
    found = wb.missed_documents(missing, corpus, encoder="none")
    assert list(found.columns)[:12] == ["sample_id", "doc_id", "dense_rank", "bm25_rank", "n_documents", "gap", "percentile",
                                        "smallest_k", "rivals", "near_duplicates", "sub_cause"][:12]  # fmt: skip
    gaps = wb.vocabulary_gaps(missing, corpus)
    assert list(gaps.columns)[:6] == [
        "sample_id",
        "doc_id",
        "coverage",
        "coverage_retrieved",
        "missing_terms",
        "candidates",
    ]
    assert gaps[["sample_id", "doc_id"]].to_numpy().tolist() == found[["sample_id", "doc_id"]].to_numpy().tolist()


def test_tables_of_queries_and_slices(evaluation: Evaluation) -> None:
    types = wb.query_types(evaluation)
    assert all(pd.api.types.is_bool_dtype(kind) for kind in types.dtypes) and types.index.tolist() == ["a", "b", "c"]
    groups = wb.breakdown(evaluation, "case_type", min_n=1)
    assert list(groups.columns)[:7] == ["value", "n", "n_failing", "rate", "low", "high", "causes"]
    slices = wb.worst_slices(evaluation)
    assert list(slices.columns)[:7] == ["rule", "n", "n_failing", "rate", "lift", "p_value", "q_value"]


def test_agreement_is_a_series() -> None:
    found = wb.agreement(["a", "b", "a", "b"], ["a", "b", "b", None])
    assert isinstance(found, pd.Series)
    assert list(found.index) == [
        "n",
        "n_error",
        "accuracy",
        "precision",
        "recall",
        "f1",
        "kappa",
        "kappa_low",
        "kappa_high",
    ]
    assert (found["n"], found["n_error"], found["accuracy"]) == (3, 1, pytest.approx(2 / 3))


def test_rankings_have_one_row_a_query_of_the_qrels() -> None:
    qrels = pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    run_frame = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "a"], "score": [2.0, 1.0]})
    with pytest.warns(wb.RankingWarning):
        found = wb.evaluate_rankings(qrels, run_frame, ["recall@5", "ndcg@10"])
    assert list(found.columns) == ["query_id", "recall@5", "ndcg@10", "in_run", "duplicates"]
    assert found["in_run"].tolist() == [True, False] and found["duplicates"].tolist() == [1, 0]
    assert found["recall@5"].tolist() == [1, 0]
    with pytest.raises(wb.InputError):
        wb.evaluate_rankings(qrels, run_frame, ["recall@0"])


def test_the_one_error_of_loading_is_one_short_line(tmp_path: Path) -> None:
    assert issubclass(wb.InputError, ValueError) and issubclass(wb.InputError, wb.WorkbenchError)
    path = tmp_path / "broken.json"
    path.write_text("\n".join(["{"] * 900))
    with pytest.raises(wb.InputError) as caught:
        wb.load_samples(path)
    message = str(caught.value)
    assert len(message) <= 400 and "\n" not in message and "broken.json" in message


def test_a_judge_of_none_judges_nothing() -> None:
    rows = [{"question": "q", "answer": "It is 5.", "contexts": ["It is 5."], "must_include": ["5"]}]
    states = wb.evaluate(rows, judge=None, progress=False).states().iloc[0]
    assert states["faithfulness"] == "skipped" and states["key_point_coverage"] == "ok"


SIGNATURES = {
    "evaluate": "samples * corpus judge encoder metrics thresholds name cache_dir progress workers",
    "evaluate_rankings": "qrels run metrics * gain",
    "missed_documents": "evaluation corpus encoder",
    "vocabulary_gaps": "evaluation corpus",
    "breakdown": "evaluation by min_n",
    "worst_slices": "evaluation columns before",
    "agreement": "labels predictions positive",
    "score_on_cluster": "paths out client",
    "Session": "evaluation path",
    "query_types": "",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_have_the_names_of_the_contract(name: str) -> None:
    """Those before the star may also be given by place, in this order."""
    parameters = inspect.signature(getattr(wb, name)).parameters
    before, _, after = SIGNATURES[name].partition("*")
    placed = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert placed[: len(before.split())] == before.split()
    assert {*before.split(), *after.split()} <= set(parameters)


def test_defaults_of_the_contract() -> None:
    defaults = {p.name: p.default for p in inspect.signature(wb.evaluate).parameters.values()}
    assert (defaults["judge"], defaults["encoder"], defaults["progress"]) == ("offline", "auto", True)
    assert inspect.signature(wb.breakdown).parameters["min_n"].default == 5
    assert inspect.signature(wb.evaluate_rankings).parameters["gain"].default == "linear"
