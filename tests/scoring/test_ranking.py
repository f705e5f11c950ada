"""``evaluate_rankings`` against trec_eval's own numbers, against pytrec_eval, and against values worked by hand."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.formats.trec import load_trec
from workbench.errors import InputError
from workbench.scoring import ranking as ranking_order
from workbench.scoring.ranking import RankingWarning, descending_bytes, evaluate_rankings, fingerprints, parse_metric

ALL = [
    "precision@1", "precision@5", "precision_returned@5", "precision_returned", "recall@5", "recall", "hit@1", "hit",
    "reciprocal_rank@3", "reciprocal_rank", "ndcg@5", "ndcg", "average_precision@5", "average_precision", "holes@5",
    "holes", "duplicate_rate",
]  # fmt: skip
OURS = {"map": "average_precision", "recip_rank": "reciprocal_rank", "ndcg": "ndcg", "set_recall": "recall",
        "set_P": "precision_returned"}  # fmt: skip
PREFIXES = {"P_": "precision@", "recall_": "recall@", "ndcg_cut_": "ndcg@", "success_": "hit@",
            "map_cut_": "average_precision@", "unj_": "holes@"}  # fmt: skip


def frames(judged: list[tuple], retrieved: list[tuple]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return (
        pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(retrieved, columns=["query_id", "doc_id", "score"]),
    )


def quiet(qrels: pd.DataFrame, run: pd.DataFrame, metrics: list[str], **options: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankingWarning)
        return evaluate_rankings(qrels, run, metrics, **options)


def one(judged: dict[str, float], retrieved: list[str], *metrics: str, **options: object) -> list[float]:
    """Metrics of one query whose documents come in this order."""
    qrels, run = frames(
        [("q", d, g) for d, g in judged.items()], [("q", d, -float(i)) for i, d in enumerate(retrieved)]
    )
    return quiet(qrels, run, list(metrics), **options).iloc[0][list(metrics)].tolist()


def our_name(name: str) -> str | None:
    for prefix, ours in PREFIXES.items():
        if name.startswith(prefix) and name.removeprefix(prefix).isdigit():
            return ours + name.removeprefix(prefix)
    return OURS.get(name)


@pytest.fixture
def trec_folder() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data" / "trec_eval"
    if not folder.is_dir():
        pytest.skip("trec_eval's own test files are not here")
    return folder


@pytest.mark.parametrize(
    ("qrels_name", "expected_name", "level"),
    [
        ("qrels.test", "out.test.aq", 1.0),
        ("qrels.rel_level", "out.test.aql", 2.0),
        ("qrels.test", "generated.qrels.test.results.test.trec_eval10.txt", 1.0),
    ],
)
def test_equal_to_trec_evals_own_expected_numbers(
    trec_folder: Path, qrels_name: str, expected_name: str, level: float
) -> None:
    qrels, run = load_trec(qrels=trec_folder / qrels_name, run=trec_folder / "results.test")
    lines = [line.split() for line in (trec_folder / expected_name).read_text().splitlines()]
    wanted = [(our_name(name), query, value) for name, query, value in lines if our_name(name) and query != "all"]
    ours = quiet(qrels, run, sorted({name for name, _, _ in wanted}), relevance_level=level).set_index("query_id")
    assert len(wanted) >= 30
    wrong = [(n, q, v, ours.loc[q, n]) for n, q, v in wanted if abs(ours.loc[q, n] - float(v)) > 5.1e-5]
    assert wrong == []


@st.composite
def tied_rankings(draw: st.DrawFn) -> tuple[dict, dict]:
    """Graded qrels and a run; few score levels, down to one, so that most rows or all of them are tied."""
    kinds = [["d", "doc", ""], ["文档", "é", "😀-", "z"], ["https://a.example/long/path/", "x" * 17]]
    stems = draw(st.sampled_from(kinds))
    documents = [f"{stems[i % len(stems)]}{i * 7}" for i in range(draw(st.integers(1, 40)))]
    levels = draw(st.sampled_from([1, 2, 5, 1000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    judged, retrieved = {}, {}
    for query in [f"q{i}" for i in range(draw(st.integers(1, 6)))]:
        judged[query] = {d: int(rng.integers(0, 4)) for d in documents if rng.random() < 0.5} or {documents[0]: 1}
        scores = {d: float(rng.integers(-levels, levels) // 2) * 0.37 for d in documents if rng.random() < 0.8}
        retrieved[query] = scores or {documents[0]: 1.0}
    return judged, retrieved


def as_frames(judged: dict, retrieved: dict) -> tuple[pd.DataFrame, pd.DataFrame]:
    flat = [[(q, d, v) for q, row in side.items() for d, v in row.items()] for side in (judged, retrieved)]
    return frames(*flat)


def pytrec(judged: dict, retrieved: dict) -> pd.DataFrame:
    measures = {"ndcg", "ndcg_cut", "P", "recall", "map", "map_cut", "recip_rank", "success", "set_recall", "set_P"}
    return pd.DataFrame(pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(retrieved)).T.sort_index()


@settings(max_examples=150, deadline=None)
@given(tied_rankings(), st.integers(0, 2**16))
def test_equal_to_pytrec_eval_whatever_the_ties_and_the_row_order(data: tuple[dict, dict], seed: int) -> None:
    theirs = pytrec(*data)
    names = {name: our_name(name) for name in theirs.columns if our_name(name)}
    qrels, run = as_frames(*data)
    grouped = quiet(qrels, run, list(names.values()))
    for theirs_name, ours_name in names.items():
        np.testing.assert_allclose(grouped[ours_name], theirs[theirs_name], atol=1e-12, err_msg=ours_name)
    shuffled = [frame.sample(frac=1, random_state=seed) for frame in (qrels, run)]
    pd.testing.assert_frame_equal(quiet(*shuffled, list(names.values())), grouped)


def test_equal_to_pytrec_eval_when_99_percent_of_many_rows_are_tied() -> None:
    rng = np.random.default_rng(5)
    judged, retrieved = {}, {}
    for i in range(300):
        ids = [f"doc-{j}" for j in rng.choice(5000, 100, replace=False)]
        judged[f"q{i:03}"] = {d: int(rng.integers(0, 3)) for d in ids[::4]}
        retrieved[f"q{i:03}"] = {d: (1.0 if rng.random() < 0.99 else rng.random()) for d in ids}
    qrels, run = as_frames(judged, retrieved)
    theirs = pytrec(judged, retrieved)
    for rows in (run, run.sample(frac=1, random_state=1), run.sample(frac=1, random_state=1).sort_values("query_id")):
        ours = quiet(qrels, rows, ["ndcg@10", "average_precision", "precision@5"])
        np.testing.assert_allclose(ours["ndcg@10"], theirs["ndcg_cut_10"], atol=1e-12)
        np.testing.assert_allclose(ours["average_precision"], theirs["map"], atol=1e-12)
        np.testing.assert_allclose(ours["precision@5"], theirs["P_5"], atol=1e-12)


messy_rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["d1", "d2", "d3", "é", "长"]), st.floats(allow_nan=True)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(messy_rows, st.integers(0, 2**16), st.sampled_from(["linear", "exponential"]))
def test_every_metric_in_0_1_and_blind_to_row_order_on_messy_runs(rows: list, seed: int, gain: str) -> None:
    qrels, run = frames([("a", "d1", 2), ("a", "é", -1), ("b", "d2", 1), ("b", "长", 0.5), ("x", "d1", 0)], rows)
    result = quiet(qrels, run, ALL, gain=gain)
    values = result[ALL].to_numpy()
    assert np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1
    again = quiet(qrels.sample(frac=1, random_state=seed), run.sample(frac=1, random_state=seed), ALL, gain=gain)
    pd.testing.assert_frame_equal(again, result)
    counted = run[run["query_id"].isin(["a", "b", "x"])].duplicated(["query_id", "doc_id"]).sum()
    assert result["duplicates"].sum() == counted


def test_values_worked_by_hand() -> None:
    judged = {"a": 3, "b": 1, "c": 2, "n": 0}
    got = one(judged, ["n", "a", "?", "b"], "precision@2", "precision@5", "recall@4", "hit@1", "hit@2",
              "reciprocal_rank@1", "reciprocal_rank@2", "average_precision", "holes@4",
              "precision_returned@5")  # fmt: skip
    assert got == pytest.approx([1 / 2, 2 / 5, 2 / 3, 0, 1, 0, 1 / 2, (1 / 2 + 2 / 4) / 3, 1 / 4, 2 / 4])
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    got = one(judged, ["n", "a", "?", "b"], "ndcg@4")[0]
    assert got == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / ideal)
    ideal = 7 + 3 / math.log2(3) + 1 / math.log2(4)
    got = one(judged, ["n", "a", "?", "b"], "ndcg@4", gain="exponential")[0]
    assert got == pytest.approx((7 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_a_document_returned_twice_counts_once_at_its_first_rank() -> None:
    qrels, run = frames([("q", "a", 1), ("q", "b", 1)], [("q", "a", 3), ("q", "a", 2), ("q", "b", 1), ("q", "a", 9)])
    with pytest.warns(RankingWarning, match="2 rows repeat a document"):
        result = evaluate_rankings(qrels, run, ["ndcg@2", "recall@2", "precision@2", "duplicate_rate"])
    assert result.iloc[0].tolist() == ["q", 1.0, 1.0, 1.0, 0.5, True, 2]


def test_repeats_among_unjudged_documents_move_up_what_follows() -> None:
    assert one({"a": 1}, ["x", "x", "y", "x", "a"], "reciprocal_rank", "holes@3") == pytest.approx([1 / 3, 2 / 3])


def test_ties_are_broken_by_document_id_descending_as_bytes() -> None:
    ids = ["a", "a\0", "aa", "b", "B", "é", "中", "\uffee", "😀", "a" * 20, "a" * 20 + "b", ""]
    qrels, run = frames([("q", d, 0) for d in ids], [("q", d, 1.0) for d in ids])
    expected = sorted(ids, key=lambda d: d.encode(), reverse=True)
    for rank, document in enumerate(expected, start=1):
        qrels["relevance"] = (qrels["doc_id"] == document).astype(int)
        assert quiet(qrels, run, ["reciprocal_rank"])["reciprocal_rank"][0] == pytest.approx(1 / rank), document


def test_float32_makes_the_ties_that_older_tools_saw() -> None:
    qrels, run = frames([("q", "a", 1)], [("q", "a", 1 + 1e-12), ("q", "b", 1.0)])
    assert quiet(qrels, run, ["hit@1"])["hit@1"][0] == 1
    result = quiet(qrels, run, ["hit@1"], precision="float32")
    assert result["hit@1"][0] == 0
    assert result.attrs["report"]["ties_across_the_cut"] == {"count": 1, "examples": ["q"]}


def test_near_ties_in_shuffled_rows_are_told_apart() -> None:
    up = np.nextafter(1.0, 2.0)
    rows = [("p", "z", 1.0), ("q", "a", up), ("p", "a", up), ("q", "z", 1.0), ("p", "m", -0.0), ("p", "n", 0.0)]
    qrels, run = frames([("p", "a", 1), ("q", "a", 1)], rows)
    assert quiet(qrels, run, ["reciprocal_rank"])["reciprocal_rank"].tolist() == [1, 1]
    qrels, run = frames([("p", "m", 1), ("q", "a", 1)], rows)
    assert quiet(qrels, run, ["reciprocal_rank"])["reciprocal_rank"][0] == pytest.approx(1 / 4)  # n before m: 0 = -0


def test_every_query_of_the_qrels_counts_and_strangers_are_reported() -> None:
    judged = [("q1", "a", 1), ("q2", "a", 1), ("q0", "a", 0)]
    qrels, run = frames(judged, [("q1", "a", 1), ("q9", "a", 1), ("q0", "a", 1)])
    with pytest.warns(RankingWarning, match="not in the run.*'q2'.*not in the qrels.*'q9'"):
        result = evaluate_rankings(qrels, run, ["recall@1"])
    assert result.to_dict("list") == {
        "query_id": ["q0", "q1", "q2"], "recall@1": [0, 1, 0], "in_run": [True, True, False], "duplicates": [0, 0, 0],
    }  # fmt: skip
    assert quiet(qrels, run.query("query_id == 'q9'"), ["recall@1"])["recall@1"].tolist() == [0, 0, 0]


def test_what_is_settled_by_a_rule_is_reported() -> None:
    judged = [("q", "a", 1), ("q", "a", 1), ("q", "b", 0.5), ("q", "c", -1)]
    qrels, run = frames(judged, [("q", "a", math.nan), ("q", "b", 1), ("q", "c", 1), ("q", "u", -math.inf)])
    with pytest.warns(RankingWarning) as caught:
        report = evaluate_rankings(qrels, run, ["ndcg@1", "recall@2"]).attrs["report"]
    assert {name: entry["count"] for name, entry in report.items()} == {
        "queries_missing_from_run": 0, "queries_not_judged": 0, "duplicate_documents": 0, "duplicate_judgements": 1,
        "nan_scores": 1, "fractional_grades": 1, "negative_grades": 1, "ties_across_the_cut": 1,
        "unjudged_documents": 2,
    }  # fmt: skip
    for said in ("repeated with the same grade", "NaN", "fractions", "equal scores"):
        assert said in str(caught[0].message)
    assert len(caught) == 1


def test_a_clean_run_warns_of_nothing_and_can_be_written(tmp_path: Path) -> None:
    qrels, run = frames([("q", "a", 1)], [("q", "a", 1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate_rankings(qrels, run, ["ndcg@1"])
    result.to_parquet(tmp_path / "r.parquet")
    assert pd.read_parquet(tmp_path / "r.parquet").attrs["report"] == result.attrs["report"]


def test_negative_grades_are_not_relevant_no_loss_and_no_judgement() -> None:
    assert one({"a": -1, "b": 1}, ["a", "b"], "ndcg@2", "holes@2", "precision@2") == pytest.approx(
        [1 / math.log2(3), 0.5, 0.5]
    )


@pytest.mark.parametrize("kind", ["object", "str", "string[pyarrow]", "string[python]", "category"])
def test_any_kind_of_text_column_gives_the_same_numbers(kind: str) -> None:
    qrels, run = frames([("q", "a", 1), ("r", "b", 1)], [("q", "x", 2), ("q", "a", 1), ("r", "b", 1)])
    ids = {"query_id": kind, "doc_id": kind}
    assert quiet(qrels.astype(ids), run.astype(ids), ["reciprocal_rank"])["reciprocal_rank"].tolist() == [0.5, 1]


def test_whole_numbers_are_ids_as_text() -> None:
    qrels = pd.DataFrame({"query_id": [1, 2], "doc_id": [7, 8], "relevance": [1, 1]})
    run = pd.DataFrame({"query_id": ["1", "2"], "doc_id": pd.Series([7, "8"], dtype=object), "score": [1, 1]})
    assert quiet(qrels, run, ["hit@1"])["hit@1"].tolist() == [1, 1]


def test_frames_made_of_pieces_and_slices_give_the_same_numbers() -> None:
    rng = np.random.default_rng(3)
    rows = [(f"q{i // 8}", f"a-rather-long-id-{rng.integers(9)}", float(rng.integers(4))) for i in range(400)]
    qrels, run = frames([(f"q{i}", f"a-rather-long-id-{j}", j % 3) for i in range(50) for j in range(5)], rows)
    whole = quiet(qrels, run, ALL)
    pieces = pd.concat([run.iloc[:13], run.iloc[13:29], run.iloc[29:]])
    padded = pd.concat([run.iloc[200:], run, run.iloc[:3]]).iloc[200:600]
    for rows_again in (pieces, padded, run.iloc[::-1], run.astype({"query_id": object, "doc_id": object})):
        pd.testing.assert_frame_equal(quiet(qrels, rows_again, ALL), whole)


GOOD = frames([("q", "a", 1)], [("q", "a", 1.0)])


@pytest.mark.parametrize(
    ("qrels", "run", "options", "message"),
    [
        (GOOD[0].iloc[:0], GOOD[1], {}, "qrels has no rows"),
        (GOOD[0], GOOD[1].iloc[:0], {}, "run has no rows"),
        (pd.DataFrame(), GOOD[1], {}, "qrels has no column 'query_id'"),
        (GOOD[0].rename(columns={"relevance": "rel"}), GOOD[1], {}, "no column 'relevance'"),
        (GOOD[0], GOOD[1].drop(columns="score"), {}, "run has no column 'score'"),
        ({"q": {"a": 1}}, GOOD[1], {}, "qrels is a dict"),
        (GOOD[0], None, {}, "run is a NoneType"),
        (GOOD[0].assign(relevance="1"), GOOD[1], {}, "'relevance' is str, not numbers"),
        (GOOD[0].assign(relevance=True), GOOD[1], {}, "'relevance' is bool, not numbers"),
        (GOOD[0].assign(relevance=math.nan), GOOD[1], {}, "row 0: 'relevance' is nan"),
        (GOOD[0], GOOD[1].assign(doc_id=7.0), {}, "ids are text"),
        (GOOD[0], GOOD[1].assign(doc_id=pd.Series([7.0], dtype=object)), {}, "row 0: 'doc_id' is a float"),
        (GOOD[0], GOOD[1].assign(doc_id=None), {}, "row 0: 'doc_id' is missing"),
        (GOOD[0], GOOD[1].assign(doc_id=pd.Series(["\ud800"], dtype=object)), {}, "lone surrogate"),
        (pd.concat([GOOD[0], GOOD[0].assign(relevance=2)]), GOOD[1], {}, "rows 0 and 1: document 'a' of query 'q'"),
        (*GOOD, {"gain": "log"}, "gain must be"),
        (*GOOD, {"precision": "float16"}, "precision must be"),
        (GOOD[0].assign(relevance=2000), GOOD[1], {"gain": "exponential"}, "too high"),
    ],
)
def test_unusable_input_is_one_clear_error(qrels: object, run: object, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        evaluate_rankings(qrels, run, ["ndcg@1"], **options)
    assert len(str(caught.value)) <= 400


@pytest.mark.parametrize("name", ["ndcg@0", "recall@-1", "hit@", "ndcg@1.5", "ndcg@x", "ndcg@²", "precision",
                                  "duplicate_rate@5", "mrr@10", "faithfulness", "", 7])  # fmt: skip
def test_metric_names_that_mean_nothing_raise(name: object) -> None:
    with pytest.raises(InputError):
        evaluate_rankings(*GOOD, [name])


def test_metric_names_are_parsed_in_one_place() -> None:
    assert parse_metric("ndcg@10") == ("ndcg", 10) and parse_metric("average_precision") == ("average_precision", None)
    with pytest.raises(InputError, match="did you mean 'reciprocal_rank@10'"):
        parse_metric("MRR@10")
    with pytest.raises(InputError, match="did you mean 'ndcg@5'"):
        parse_metric("ndgc@5")
    with pytest.raises(InputError, match="no metrics"):
        evaluate_rankings(*GOOD, [])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=30, unique=True), st.integers(0, 5))
def test_fingerprints_follow_the_text_alone_and_byte_order_is_exact(texts: list[str], cut: int) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in texts]
    array = pa.array(texts, pa.large_string())
    whole = fingerprints(pa.chunked_array([array], pa.large_string()), seed=1)
    pieces = fingerprints(pa.chunked_array([array[:cut], array[cut:]], pa.large_string()), seed=1)
    alone = [fingerprints(pa.chunked_array([pa.array([t], pa.large_string())]), seed=1)[0] for t in texts]
    assert whole.tolist() == pieces.tolist() == alone
    assert len(set(whole.tolist())) == len(set(texts))
    order = np.lexsort(descending_bytes(array)) if texts else []
    assert [texts[i] for i in order] == sorted(texts, key=lambda t: t.encode(), reverse=True)


@pytest.mark.parametrize("name", ["chapter{}section{}", "{}hapters{}ection", "sectio{}{}n", "a-long-prefix-{}:{}", "{}{}"])
def test_ids_that_differ_in_single_bytes_far_apart_are_told_apart(name: str) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    ids = [name.format(a, b) for a in letters for b in letters]
    for seed in range(3):
        prints = fingerprints(pa.chunked_array([ids], pa.large_string()), seed)
        assert len(np.unique(prints)) == len(ids)
        assert len(np.unique(prints >> np.uint64(24))) > 0.99 * len(ids)  # the highest bits tell them apart, too
    qrels, run = frames([("q", d, i % 3) for i, d in enumerate(ids)], [("q", d, i) for i, d in enumerate(ids)])
    assert quiet(qrels, run, ["recall", "holes"]).iloc[0].tolist() == ["q", 1, 0, True, 0]


def test_equal_fingerprints_never_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = frames([("q", "a", 1), ("q", "b", 2)], [("q", "c", 3), ("q", "b", 2), ("q", "d", 1), ("q", "d", 0)])
    expected = quiet(qrels, run, ALL)
    real = fingerprints

    def poor(column: pa.ChunkedArray, seed: int) -> np.ndarray:
        prints = real(column, seed)
        if seed == 0:
            return np.zeros_like(prints)  # all judged documents look alike: other factors must be tried
        values = np.array(column.to_pylist())
        return np.where(np.isin(values, ["c", "d"]), prints[values == "b"][:1] if "b" in values else prints, prints)

    monkeypatch.setattr(ranking_order, "fingerprints", poor)
    pd.testing.assert_frame_equal(quiet(qrels, run, ALL), expected)
