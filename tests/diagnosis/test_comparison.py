"""Two runs side by side: flips, ledger, tests, what moved inside the samples, and what is said before any number."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.scripted import evidence, random_rows, random_script
from tests.two_runs import RIGHT, WRONG, case, run, script, two_runs
from workbench.api import compare_many
from workbench.diagnosis.causes import LAYERS, cause_names, rules
from workbench.diagnosis.comparison import Comparison
from workbench.evidence.frames import Evidence, frame_of


@pytest.fixture(autouse=True)
def english():
    wb.set_language("en")
    yield
    wb.set_language(None)


@pytest.fixture(scope="module")
def pair():
    return two_runs()


# ---------------------------------------------------------------- the core


def test_flips_by_hand(pair):
    comparison = wb.compare(*pair)
    flips = comparison.flips()
    assert flips.columns[:6].tolist() == [
        "sample_id", "change", "cause_before", "cause_after", "answer_changed", "contexts_changed",
    ]  # fmt: skip
    table = flips.set_index("sample_id")
    assert table["change"].to_dict() == {"a": "fixed", "b": "broken", "c": "broken", "d": "still_failing",
                                         "e": "still_passing", "f": "still_passing"}  # fmt: skip
    assert table.loc["b", ["cause_before", "cause_after"]].tolist() == ["pass", "retrieval_miss"]
    assert table["answer_changed"].to_dict() == {**dict.fromkeys("abc", True), **dict.fromkeys("def", False)}
    assert table["contexts_changed"].to_dict() == {**dict.fromkeys("bd", True), **dict.fromkeys("acef", False)}
    assert comparison.only_before == ["g"] and comparison.only_after == ["h"]
    assert comparison.counts == (6, 1, 2, 1, 2, 0, 0)


def test_the_contrast_puts_what_got_worse_first(pair):
    flips = wb.compare(*pair).flips().set_index("sample_id")["contrast"]
    assert flips.sort_values().index[:2].tolist() == ["b", "c"] and flips.idxmax() == "a"
    assert flips["e"] == 0 and flips.between(-2, 2).all()


def test_ledger_causes_and_layers_by_hand(pair):
    comparison = wb.compare(*pair)
    ledger = comparison.ledger()
    assert ledger.columns[:4].tolist() == ["cause_before", "cause_after", "n", "sample_ids"]
    cells = {(row.cause_before, row.cause_after): row.sample_ids for row in ledger.itertuples()}
    assert cells["pass", "retrieval_miss"] == ["b"] and cells["pass", "pass"] == ["e", "f"]
    assert cells["contradiction", "retrieval_miss"] == ["d"] and cells["contradiction", "pass"] == ["a"]
    assert ledger["n"].sum() == 6 and (ledger["sample_ids"].str.len() == ledger["n"]).all()
    layers = comparison.layers()
    assert layers["change"].to_dict() == {"retrieval": 2, "generation": -1}
    assert layers["change"].sum() == comparison.counts.broken - comparison.counts.fixed == 1


def test_pass_and_fail_is_tested_over_the_flips(pair):
    row = wb.compare(*pair).tests().set_index("metric").loc["passed"]
    assert row["n_pairs"] == 6 and row["before"] == 4 / 6 and row["after"] == 3 / 6
    assert row["delta"] == pytest.approx(-1 / 6) and row["better"] is False
    assert row["p_value"] == row["p_adjusted"] == 0.625, "1 against 2: 2 · P(X = 0) + P(X = 1) = 2/8 + 3/8"


def test_a_metric_is_compared_over_pairs_with_both_scores(pair):
    tests = wb.compare(*pair).tests()
    assert tests.columns[:10].tolist() == [
        "metric", "n_pairs", "before", "after", "delta", "low", "high", "p_value", "p_adjusted", "smallest_detectable",
    ]  # fmt: skip
    recall = tests.set_index("metric").loc["recall@5"]
    assert (recall["before"], recall["after"], recall["n_pairs"]) == (1.0, pytest.approx(4 / 6), 6)
    assert (tests["p_adjusted"].dropna() >= tests["p_value"].dropna() - 1e-12).all()
    assert wb.compare(*pair).tests(["recall@5"])["metric"].tolist() == ["recall@5"]


def test_the_same_run_twice_has_no_flip_and_no_difference(pair, tmp_path):
    saved = pair[0].save(tmp_path / "before")
    comparison = wb.compare(pair[0], saved)
    assert set(comparison.flips()["change"]) == {"still_failing", "still_passing"}
    tests = comparison.tests()
    assert (tests[["delta", "low", "high"]].fillna(0) == 0).all().all() and (tests["p_value"].fillna(1) == 1).all()
    assert comparison.warnings == [] and not comparison.noise().size and "Nothing changed" in comparison.verdict
    assert (comparison.rank_moves()["move"].isin(["same", "absent"])).all() and not len(comparison.contexts())
    assert set(comparison.claims()["change"]) == {"kept"}


def test_swapping_the_runs_mirrors_everything(pair):
    forth, back = wb.compare(*pair), wb.compare(pair[1], pair[0])
    one, other = (c.flips().set_index("sample_id").sort_index() for c in (forth, back))
    mirror = {"fixed": "broken", "broken": "fixed"}
    assert one["change"].replace(mirror).tolist() == other["change"].tolist()
    assert (one["cause_before"] == other["cause_after"]).all() and np.allclose(one["contrast"], -other["contrast"])
    first, second = (c.tests().set_index("metric") for c in (forth, back))
    for name, sign in (("delta", -1), ("n_pairs", 1), ("p_value", 1), ("smallest_detectable", 1), ("p_adjusted", 1)):
        assert np.array_equal(first[name].to_numpy(float), sign * second[name].to_numpy(float), equal_nan=True), name
    assert np.array_equal(first["low"].to_numpy(float), -second["high"].to_numpy(float), equal_nan=True)
    assert np.array_equal(first["before"].to_numpy(float), second["after"].to_numpy(float), equal_nan=True)
    cells = {(r.cause_before, r.cause_after, r.n) for r in forth.ledger().itertuples()}
    assert cells == {(r.cause_after, r.cause_before, r.n) for r in back.ledger().itertuples()}
    assert np.allclose(forth.split()["points"], -back.split()["points"])


EMPTY = {name: frame_of(name, {}) for name in ("contexts", "claims", "support", "questions", "rejected")}


def synthetic(primary, ids, answers):
    """Something that looks like an evaluation, with given causes."""
    samples = pd.DataFrame({"answer": answers}, index=pd.Index(ids, name="sample_id", dtype="str"))
    holds = np.zeros((len(ids), len(cause_names())), dtype=bool)
    causes = SimpleNamespace(primary=np.array(primary), holds=holds)
    return SimpleNamespace(evidence=Evidence(samples=samples, **EMPTY), causes=causes, metrics=[], name="x",
                           thresholds=wb.Thresholds(), manifest={})  # fmt: skip


def test_the_ledger_adds_up_exactly_on_a_thousand_random_pairs():
    rng = np.random.default_rng(21)
    for _ in range(1000):
        n = int(rng.integers(0, 30))
        ids = [f"s{i}" for i in range(n)]
        kept = [np.sort(rng.choice(n, int(rng.integers(0, n + 1)), replace=False)) for _ in range(2)]
        runs = [synthetic(rng.integers(-2, len(cause_names()), len(k)), [ids[i] for i in rng.permutation(k)],
                          rng.integers(0, 2, len(k)).astype(str).tolist()) for k in kept]  # fmt: skip
        comparison = Comparison(*runs)
        ledger, causes, counts = comparison.ledger(), comparison.causes(), comparison.counts
        shared = set(kept[0]) & set(kept[1])
        assert ledger["n"].sum() == len(shared) == counts.n == sum(counts[1:6])
        assert sorted(x for group in ledger["sample_ids"] for x in group) == sorted(ids[i] for i in shared)
        for name, side in (("cause_before", 0), ("cause_after", 1)):
            of = dict(zip(runs[side].evidence.ids, runs[side].causes.primary, strict=True))
            named = [*cause_names(), "not_checked", "pass"]
            found: Counter[str] = Counter()
            for cause, cell in zip(ledger[name], ledger["n"], strict=True):
                found[cause] += cell
            assert found == Counter(named[of[ids[i]]] for i in shared)
        assert causes["change"].sum() == 0
        failing = [sum(run.causes.primary[run.evidence.ids.get_loc(ids[i])] >= 0 for i in shared) for run in runs]
        assert comparison.layers()["change"].sum() == failing[1] - failing[0]
        moved = ledger[~ledger["cause_before"].isin(["pass", "not_checked"]) & (ledger["cause_after"] == "pass")]
        assert counts.fixed == (moved["n"] - moved["n_noise"]).sum()


def test_every_cause_has_a_layer():
    assert {rule.name for rule in rules()} == set(cause_names()) and {rule.layer for rule in rules()} <= set(LAYERS)


# ---------------------------------------------------------------- judge noise


def moody(sample):
    """A judge that changed its mind about c."""
    flipped = dataclasses.replace(sample, answer=WRONG) if sample.sample_id == "c" else sample
    return script(flipped)


def test_a_verdict_that_moved_on_identical_text_is_judge_noise():
    # Questions differ, since samples of the same content are judged once.
    rows = [case("a", WRONG), case("b"), case("c", question="And plan A?"), case("d")]
    comparison = wb.compare(run(rows), run(rows, judge=moody))
    flips = comparison.flips().set_index("sample_id")
    assert flips.loc["c", "change"] == "not_comparable" and flips["judge_noise"].tolist() == [False, False, True, False]
    assert comparison.counts.broken == comparison.counts.fixed == 0 and comparison.counts.noise == 1
    assert comparison.noise().to_dict("records")[0] | {"cause_after": ""} == {
        "sample_id": "c", "cause_before": "pass", "cause_after": "", "reason": "judge",
    }  # fmt: skip
    assert comparison.passing["n_pairs"] == 3 and comparison.passing["delta"] == 0
    assert any("Judge noise" in line and "c" in line for line in comparison.notes)
    assert comparison.ledger()["n"].sum() == 4 and comparison.ledger()["n_noise"].sum() == 1
    assert flips.loc["c", "contrast"] == 0


def test_other_thresholds_over_the_same_recording_change_nothing_but_are_said(pair):
    strict = pair[0].with_thresholds(pair[0].thresholds.replace(contradiction=1.0, support=1.0, low_scores={}))
    lenient = pair[0].with_thresholds(pair[0].thresholds.replace(contradiction=0.0, support=0.0, k=3))
    comparison = wb.compare(strict, lenient)
    assert comparison.counts.fixed == comparison.counts.broken == 0
    assert any("support 1.0 → 0.0" in line for line in comparison.warnings)
    assert any("k" in line and "5 before, 3 after" in line for line in comparison.warnings)
    assert wb.compare(strict, lenient, thresholds=wb.Thresholds()).warnings == []


# ---------------------------------------------------------------- said before any number


def test_another_judge_encoder_corpus_or_case_is_said(pair):
    other = copy.copy(pair[1].evidence)
    other.manifest = {"judge": "llm:x", "encoder": "use", "corpus": {"hash": "1"}, "prompt_hash": "9", "data_hash": "zz"}
    words = "\n".join(wb.compare(pair[0], wb.Evaluation(other)).warnings)
    assert "scripted before, llm:x after" in words and "Different encoders" in words
    assert "different knowledge bases" in words and "prompts differ" in words
    edited = run([case("a", reference="9 units"), case("b")])
    assert "a" in wb.compare(run([case("a"), case("b")]), edited).warnings[0]
    tests = wb.compare(pair[0], wb.Evaluation(other)).tests().set_index("metric")
    assert tests.loc["faithfulness", "method"] == "scripted ≠ llm:x" and tests.loc["recall@5", "method"] == "ids"
    text = str(wb.compare(pair[0], wb.Evaluation(other)))
    assert text.index("Different judges") < text.index("points")


def test_nothing_in_common_and_nothing_tested():
    assert "no sample id" in wb.compare(run([case("a")]), run([case("b") | {"question": "Who wrote it?"}])).verdict
    bare = {"sample_id": "a", "question": "q", "answer": "x"}
    nothing = lambda sample: evidence(sample, relevancy=None)  # noqa: E731
    comparison = wb.compare(run([bare], judge=nothing), run([bare], judge=nothing))
    assert comparison.flips()["change"].tolist() == ["not_comparable"] and "none could be tested" in comparison.verdict
    assert len(wb.compare(run([case("a")]), run([case("b") | {"question": "Who wrote it?"}])).tests()) > 1


def test_the_verdict_names_size_noise_and_new_leaks():
    leak = [{"doc_id": "good", "text": "Plan A has 5 units.", "tenant": "b"}]
    before = [case(f"s{i}", tenant="a") for i in range(20)]
    after = [case("s0", tenant="a") | {"contexts": leak}, *before[1:]]
    words = wb.compare(run(before), run(after)).verdict
    assert words.startswith("No difference that 20 cases can show") and "5 points worse" in words
    assert "A permission leak is new: s0." in words
    back = wb.compare(run(after), run(before))
    assert "5 points better" in back.verdict and "A permission leak is gone." in back.verdict
    assert back.red_lines().to_dict("records") == [{"sample_id": "s0", "change": "gone"}]
    wb.set_language("zh")
    assert "新增一处越权泄露" in wb.compare(run(before), run(after)).verdict


def test_a_change_that_is_real_is_called_so():
    before, after = ([case(f"s{i}", answer) for i in range(40)] for answer in (WRONG, RIGHT))
    words = wb.compare(run(before), run([*after[:20], *before[20:]])).verdict
    assert words.startswith("50 points better: 0 % → 50 % of 40 pass") and "p < 0.001" in words


def test_one_headline_rate_beside_what_passes():
    before, after = ([case(f"s{i}", answer) for i in range(40)] for answer in (WRONG, RIGHT))
    found = wb.compare(run(before), run([*after[:20], *before[20:]]))
    assert found.right.startswith("Right end to end: 0 % → 50 % (+50 points") and "more than chance" in found.right
    one = wb.compare(run(before), run([after[0], *before[1:]]))
    assert one.right.startswith("Right end to end: no difference that 40 pairs can show")


# ---------------------------------------------------------------- inside the samples


def test_rank_moves_and_contexts_by_hand(pair):
    moves = wb.compare(*pair).rank_moves().set_index("sample_id")
    assert moves.loc["b"].to_dict() == {"doc_id": "good", "rank_before": 2.0, "rank_after": pytest.approx(np.nan, nan_ok=True),
                                        "move": "lost"}  # fmt: skip
    assert moves.loc["a", "move"] == "same"
    lost = wb.compare(*pair).contexts()
    assert lost[["sample_id", "change", "doc_id", "rank"]].to_numpy().tolist() == [
        ["b", "lost", "good", 2], ["d", "lost", "good", 2],
    ]  # fmt: skip


def test_a_claim_with_another_number_is_the_same_claim():
    comparison = wb.compare(run([case("a"), case("b")]), run([case("a", WRONG), case("b", None)]))
    claims = comparison.claims().set_index("sample_id")
    assert claims.loc["a", ["change", "text_before", "text_after"]].tolist() == ["number", RIGHT, WRONG]
    assert claims.loc["a", "newly_unsupported"] and claims.loc["b", "change"] == "lost"
    assert not claims.loc["b", "newly_unsupported"]


def test_chinese_numbers_and_other_words():
    from workbench.diagnosis.changes import _pair_claims

    def change(before, after):
        rows = _pair_claims(*([{"sample_id": "a", "text": t, "verdict": None, "claim": 0}] for t in (before, after)))
        return [row["change"] for row in rows]

    assert change("企业版最多支持五百个会话。", "企业版最多支持 800 个会话。") == ["number"]
    assert change("企业版最多支持五百个会话。", "企业版最多能支持 500 个会话。") == ["reworded"]
    assert change("企业版最多支持五百个会话。", "退款在七天内到账。") == ["lost", "gained"]


def test_the_split_adds_up_and_blames_the_right_part():
    rows = [case(f"s{i}") for i in range(10)]
    retriever = [case(f"s{i}", WRONG, found=False) if i < 4 else case(f"s{i}") for i in range(10)]
    generator = [case(f"s{i}", WRONG) if i < 3 else case(f"s{i}") for i in range(10)]
    split = wb.compare(run(rows), run(retriever)).split()["points"]
    assert split.to_dict() == pytest.approx({"retriever": -0.4, "generator": 0.0, "total": -0.4})
    split = wb.compare(run(rows), run(generator)).split()["points"]
    assert split.to_dict() == pytest.approx({"retriever": 0.0, "generator": -0.3, "total": -0.3})
    assert split["retriever"] + split["generator"] == pytest.approx(split["total"])
    other = case("b") | {"question": "How many units has plan B?"}
    assert len(wb.compare(run([case("a")]), run([other])).split()) == 0


def test_random_runs_obey_the_same_rules():
    first, second = (run(random_rows(150, seed=seed), judge=random_script(seed)) for seed in (1, 2))
    comparison = wb.compare(first, second)
    counts, tests = comparison.counts, comparison.tests()
    assert sum(counts[1:6]) == counts.n == 150
    known = tests.dropna(subset=["low"])
    assert (known["low"] <= known["delta"] + 1e-9).all() and (known["delta"] <= known["high"] + 1e-9).all()
    assert np.allclose(tests["delta"], tests["after"] - tests["before"], equal_nan=True)
    claims = comparison.claims()
    for side, result in (("before", first), ("after", second)):
        own = result.claims()
        assert claims[f"claim_{side}"].notna().sum() == (own["side"] == "answer").sum()


def test_unknown_correction_is_an_input_error(pair):
    with pytest.raises(wb.InputError, match="correction"):
        wb.compare(*pair, correction="none")
    assert len(wb.compare(*pair, correction="bh").tests()) > 10


# ---------------------------------------------------------------- many runs


def test_a_table_over_three_runs_is_on_the_samples_that_all_have(pair):
    third = run([case("a"), case("b"), case("c"), case("d"), case("x")], "third")
    table = compare_many([*pair, third], metrics=["passed", "recall@5"])
    assert table["run"].tolist() == ["before", "after", "third"] * 2 and (table["n"] == 4).all()
    passed = table[table["metric"] == "passed"].set_index("run")
    assert passed["mean"].to_dict() == {"before": 0.5, "after": 0.25, "third": 1.0}
    assert passed["delta"].tolist() == pytest.approx([np.nan, -0.25, 0.5], nan_ok=True)
    assert passed.loc["third", "p_value"] == 0.25, "2 against 0: twice the half of 1/4"


def test_two_runs_of_the_same_name_are_told_apart_and_one_is_too_few(pair):
    assert set(compare_many([pair[0], pair[0]])["run"]) == {"before 1", "before 2"}
    assert set(compare_many({"old": pair[0], "new": pair[1]})["run"]) == {"old", "new"}
    with pytest.raises(wb.InputError, match="at least two"):
        compare_many([pair[0]])
