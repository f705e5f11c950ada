"""Prompts are seen and can be replaced; the order of contexts can be changed; two answers are compared in both orders."""

import json
import threading

import pytest

import workbench as wb
from tests.evidence.llm.scripted import KEY, english, sample
from workbench.data.schema import Context
from workbench.diagnosis.fitting import FittedJudge, Part, _spec
from workbench.diagnosis.judges import judge_panel, order_bias, verbosity_bias
from workbench.evidence.llm.prompts import NAMES, SHIPPED, make_task, read_prompts, shown_order, template, verify_call

ROWS = [
    {"sample_id": f"s{n}", "question": "How long are backups kept?", "answer": f"Backups are kept for {n} days.",
     "reference": "Backups are kept for 3 days.", "contexts": [f"Backups are kept for {n} days.", "Nothing else.", "Prices."]}
    for n in range(2, 6)
]  # fmt: skip


@pytest.fixture
def scored(server, model, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def score(**options):
        return wb.evaluate(ROWS, judge="llm:scripted", cache_dir=tmp_path / "cache", progress=False, **options)

    return score


def test_prompts_are_shown_and_written_to_be_edited(tmp_path):
    shown = wb.prompts(out=tmp_path / "mine")
    assert set(shown["name"]) == {*NAMES, "prefer"} and set(shown["language"]) == {"en", "zh"} and not shown["own"].any()
    assert (tmp_path / "mine" / "verify.en.txt").read_text(encoding="utf-8") == template("verify", "en")
    same = read_prompts(tmp_path / "mine")
    assert same.own == {} and same.hash == SHIPPED.hash  # nothing was edited: nothing is judged again
    assert shown.attrs["hash"] == "1.6e06bf7fd496"


def test_an_edited_prompt_is_asked_with_and_named(scored, model, tmp_path):
    folder = tmp_path / "mine"
    wb.prompts(out=folder)
    path = folder / "verify.en.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("You check", "Strictly check"), encoding="utf-8")
    before, n = scored(), len(model.requests)
    after = scored(prompts=folder)
    asked = [r for r in model.requests[n:] if r.name == "verify"]
    assert len(asked) == len(ROWS) and all("Strictly check" in r.prompt for r in asked)
    assert after.manifest["own_prompts"] == ["verify.en"] and before.manifest["own_prompts"] == []
    assert after.manifest["prompt_hash"] != before.manifest["prompt_hash"]
    held = judge_panel({"before": before, "after": after}, {"s2": "wrong", "s3": "right", "s4": "wrong"}).against_people()
    assert held.loc[["before", "after"], "n"].tolist() == [3, 3]
    n = len(model.requests)
    scored(prompts=folder)
    assert len(model.requests) == n


@pytest.mark.parametrize(("name", "text", "said"), [
    ("verify.en.txt", "#user\n{{question}}\n", "lacks {{answer}}"),
    ("verify.txt", "{{all}}", "has {{all}}"),
    ("judge.txt", "#user\n", "is no prompt"),
    ("verify.xx.txt", "#user\n", "is no prompt"),
])  # fmt: skip
def test_a_prompt_that_cannot_be_used_is_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(wb.InputError, match=said.replace("{", r"\{")):
        read_prompts(tmp_path)


def test_without_prompts_a_folder_is_refused(tmp_path):
    with pytest.raises(wb.InputError, match=r"wb\.prompts"):
        read_prompts(tmp_path)


def test_contexts_are_shown_in_another_order_and_judged_as_themselves(make_judge, model):
    item = english(contexts=tuple(Context(f"Text number {n}.") for n in range(8)))
    order = shown_order(item, "shuffled")
    assert sorted(order) == list(range(8)) and order != list(range(8)) and order == shown_order(item, "shuffled")
    assert shown_order(item, "reversed") == list(range(8))[::-1]
    assert [p.index for p in make_task(item, 9999, order="shuffled").parts[0]] == order
    assert verify_call(make_task(item, 9999)).content != verify_call(make_task(item, 9999, order="reversed")).content
    one, other = (next(make_judge(order=order).examine([sample()])) for order in ("recorded", "reversed"))
    assert one.entail.tolist() == other.entail.tolist() and one.relevance.tolist() == other.relevance.tolist()
    with pytest.raises(wb.InputError, match="order"):
        make_judge(order="sorted")


def test_a_judge_that_likes_the_first_context_is_found_out(scored, model):
    def first_only(asked):
        if asked.name != "verify":
            return None
        reply = model.verify(asked)
        reply["contexts"] = [{"context": n, "relevant": n == 1} for n in range(1, 4)]
        return json.dumps(reply)

    honest = order_bias(scored(), scored(judge_options={"order": "reversed"}))
    assert honest["flips"].tolist() == [0, 0, 0] and honest.loc["support", "early"] == 0
    model.fault = first_only
    biased = order_bias(scored(judge_options={"extra": {"seed": 1}}),
                        scored(judge_options={"extra": {"seed": 1}, "order": "reversed"}))  # fmt: skip
    # Of three contexts the outer two change their place: relevant where they stand first.
    assert biased.loc["relevance", ["n", "flips", "early"]].tolist() == [12, 8, 1.0]
    assert biased.loc["support", "flips"] == 0


def test_preferences_are_asked_in_both_orders(scored, model, make_judge):
    evaluation = scored()
    better = {f"s{n}": "Backups are kept for 3 days." for n in range(2, 6)} | {"s5": None}
    lock, seen = threading.Lock(), []

    def prefers(asked):
        if '"better"' not in asked.messages[0]["content"]:
            return None
        first, second = asked.numbered("answer")
        with lock:
            seen.append((first, second))
        says = "first" if "kept for 2" in first + second else "first" if "3 days" in first else "second"
        return json.dumps({"reasoning": "r", "better": says})

    model.fault = prefers
    found = wb.prefer(evaluation, better, evaluation, judge=make_judge())
    rows = found.rows.set_index("sample_id")
    # s2: always the first, so a tie; s3: equal answers, not asked; s4: b in both orders; s5: no answer.
    assert rows["preferred"].tolist() == ["tie", "tie", "b", None] and rows.loc["s5", "state"] == "undefined"
    assert len(seen) == 4 and seen[0] != seen[1]
    summary = found.summary()
    assert summary[["n", "a", "b", "ties", "swayed", "share", "first"]].tolist() == [3, 0, 1, 2, 1, 1.0, 0.75]
    assert wb.prefer(evaluation, better, evaluation, judge=make_judge()).rows.equals(found.rows) and len(seen) == 4


def test_ratings_that_follow_length_are_found_out(scored, model, make_judge):
    rows = [{**row, "answer": row["answer"] + " Really." * n} for n, row in enumerate(ROWS * 2)]
    samples = wb.evaluate([{**row, "sample_id": f"r{n}"} for n, row in enumerate(rows)], judge=None, progress=False).samples
    model.fault = lambda asked: json.dumps({"reasoning": "r", "score": min(1, len(asked.tag("answer")) / 200)})
    ratings = wb.rate(make_judge(), samples, "relevance")
    found = verbosity_bias(ratings, samples, {f"r{n}": "right" for n in range(5)})
    assert found["answers"].tolist() == ["all", "right", "wrong"] and found["n"].tolist() == [8, 5, 0]
    assert found["rho"].iloc[0] == pytest.approx(1) and found["low"].iloc[0] > 0.9


def test_a_panel_tells_where_judges_differ_and_what_one_alone_saves(scored, model):
    free = wb.evaluate(ROWS, judge="offline", encoder="none", progress=False)
    asked = scored()
    strict = free.with_thresholds(free.thresholds.replace(answer_right=1.0))
    panel = wb.judge_panel({"free": free, "asked": asked, "strict": strict}, {"s3": "right"})
    # Three days are right for two of them, the other answers for none.
    assert panel.verdicts.loc["s3"].tolist() == ["right", "right", "wrong"] and panel.majority["s3"] == "right"
    differ = panel.differences()
    assert differ.index.tolist() == ["s3"] and differ["split"].tolist() == pytest.approx([1 / 3])
    assert panel.agreement()["accuracy"].tolist() == [1, 0.75, 0.75]
    assert panel.against_people()["accuracy"].tolist() == [1, 1, 0, 1]
    saved = panel.saved()
    assert panel.alone == "free" and saved["calls"] == asked.manifest["spending"]["calls"] == 8 and saved["other"] == 0
    # In a list they are named as briefly as tells them apart.
    assert list(wb.judge_panel([free, asked]).verdicts) == ["offline-lexical", "llm:scripted"]
    long = wb.judge_panel([free, strict]).verdicts.columns
    assert long[0] == free.manifest["judge"] and long[1] == f"{long[0]} (2)"
    with pytest.raises(wb.InputError, match="two or more"):
        wb.judge_panel([free])


def test_a_fitted_language_model_is_named_by_its_file(scored, model, tmp_path):
    plain = scored()
    part = Part("platt", 40, 20, 0.5, 0.9, weights=(1.0,), intercept=-1.0, doubt=0.1)
    judge = plain.manifest["judge"]
    fitted = FittedJudge("mine", judge, _spec(judge), "ngram", 0.1, 40, "samples", {"support": part})
    assert fitted.spec == "llm:scripted"
    n, path = len(model.requests), fitted.save(tmp_path / "mine.toml")
    again = wb.evaluate(ROWS, judge=str(path), cache_dir=tmp_path / "cache", progress=False)
    assert len(model.requests) == n and again.manifest["fitted"]["hash"] == fitted.hash
    assert again.claims()["support"].tolist() == pytest.approx(part(plain.claims()["support"]), abs=1e-6)
    with pytest.raises(wb.InputError, match="was fitted to the judge"):
        wb.evaluate(ROWS, judge=path, cache_dir=tmp_path / "cache", progress=False, judge_options={"questions": 0})
