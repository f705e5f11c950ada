"""The repair plan: what contexts hold, worked out by hand; planted retrievers against really carrying a fix out."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import workbench as wb
from tests.evidence.test_nli import saved
from workbench.errors import CancelledError, InputError
from workbench.evidence.corpus_index import CorpusIndex
from workbench.repair.documents import Chunking, Documents, Passage, load_documents, rechunked
from workbench.repair.estimate import AnswerModel, level
from workbench.repair.needs import COLUMNS, Need, Reader
from workbench.repair.plan import PROMPTED, Fix, prompt, repair_plan
from workbench.repair.replay import PROBES
from workbench.repair.retrieval import outdated_twins
from workbench.repair.sweep import marked, sweep

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "support"

DOCUMENTS = [
    {"doc_id": "refund#1", "text": "A refund is paid within 14 days.", "source": "refund", "position": 1},
    {"doc_id": "refund#2", "text": "Refund requests need the invoice number.", "source": "refund", "position": 2},
    {"doc_id": "leave#1", "text": "Annual leave is 25", "source": "leave", "position": 1},
    {"doc_id": "leave#2", "text": "days a year for everybody in Berlin.", "source": "leave", "position": 2},
    {"doc_id": "price-2019#1", "title": "Prices 2019", "text": "One seat of the business plan costs 40 euro a month.",
     "source": "price-2019", "position": 1},
    {"doc_id": "price#1", "title": "Prices", "text": "One seat of the business plan costs 60 euro a month.",
     "source": "price", "position": 1},
    {"doc_id": "secret#1", "text": "The refund of Halden is paid within 3 days.", "source": "secret", "position": 1,
     "tenant": "halden"},
    {"doc_id": "zh#1", "text": "退款在 14 天内到账。", "source": "zh", "position": 1},
]  # fmt: skip


def context(doc_id):
    item = next(d for d in DOCUMENTS if d["doc_id"] == doc_id)
    return {"doc_id": doc_id, "text": item["text"], "tenant": item.get("tenant"), "position": item["position"],
            "metadata": {"source": item["source"]}}  # fmt: skip


def case(sample_id, question, expected, contexts, answer="", **more):
    return {"sample_id": sample_id, "question": question, "expected_docs": expected, "answer": answer or None,
            "contexts": [context(c) for c in contexts], "tenant": "mine", **more}  # fmt: skip


CASES = [
    case("right", "When is a refund paid?", ["refund#1"], ["refund#1"], "Within 14 days.", must_include=["14 days"]),
    case("missed", "Which number do refund requests need?", ["refund#2"], ["refund#1"], "I do not know.",
         must_include=["invoice number"]),
    case("leak", "When is the refund paid?", ["refund#1"], ["refund#1", "secret#1"], "Within 14 days.",
         must_include=["14 days"]),
    case("split", "How long is annual leave in days?", ["leave#1", "leave#2"], ["leave#1", "leave#2"], "It is long.",
         must_include=["25 days"]),
    case("twin", "What costs a seat of the business plan?", ["price#1"], ["price-2019#1"], "40 euro.",
         must_include=["60 euro"]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def run():
    return wb.evaluate(CASES, corpus=DOCUMENTS, judge=None, encoder=None, progress=False)


@pytest.fixture(scope="module")
def plan(run):
    return repair_plan(run, DOCUMENTS, encoder="none")


@pytest.fixture(scope="module")
def sample_plan():
    return repair_plan(SAMPLE / "evaluations" / "baseline", SAMPLE / "corpus.jsonl", encoder="none",
                       documents=[SAMPLE / "source" / "sandbox-zh.md"])  # fmt: skip


# ---------------------------------------------------------------- what contexts hold


def test_what_todays_contexts_hold(plan):
    now = plan.now[["recall", "context_recall", "split", "complete", "copies", "leaks", "sound"]]
    assert now.loc["right"].tolist() == [1, 1, 0, 1, 0, 0, 1]
    assert now.loc["missed"].tolist() == [0, 0, 0, 0, 0, 0, 0]
    assert now.loc["leak"].tolist() == [1, 1, 0, 1, 0, 1, 0]
    assert now.loc["split"].tolist() == [1, 0, 1, 0, 0, 0, 0]
    assert now.loc["twin"].tolist() == [0, 0, 0, 0, 1, 0, 0]


def test_each_fix_mends_what_it_is_for(plan):
    rescued = {r.fix.name: set(r.rescued) for r in plan.repairs if r.fix.name != "chunking"}
    assert rescued["tenants"] == {"leak"} and rescued["retired"] == {"twin"}
    assert "missed" in rescued["bm25"] and "split" not in set().union(*rescued.values())
    fixes = [Fix("chunking", {"chunking": Chunking("sentence", 64)})]
    chunked = repair_plan(plan.evaluation, DOCUMENTS, encoder="none", fixes=fixes)
    assert "split" in chunked.repairs[0].rescued
    assert plan.contexts("twin", "retired=1")[0].doc_id == "price#1" and plan.contexts("twin")[0].doc_id == "price-2019#1"
    assert plan.matrix().loc["tenants", "leak"] == "rescued" and plan.matrix().loc["tenants", "right"] == "same"


def test_nothing_added_is_another_tenants(plan):
    for repair in plan.repairs:
        for contexts in plan.simulator.contexts(repair.retrieval):
            added = [c for c in contexts if c.tenant is not None]
            assert not added or repair.fix.name in ("k", "once", "retired", "current", "rerank")


def test_points_that_stand_in_no_expected_document_are_not_needed():
    need = Need("a", "q", None, (("x",),), (), None, (), False, frozenset(), {"x": "text"})
    held = Reader([need], None).held([[Passage("x", "text")]])
    assert held.loc["a", "complete"] == 1 and np.isnan(held.loc["a", "context_recall"]) and list(held) == list(COLUMNS)
    assert Reader([need], None).held([None]).isna().all(axis=None)


def test_entries_of_documents_and_alternatives():
    need = Need("a", "q", None, (("refund", "other"), ("price",)), (), None, (), False, frozenset(), {})
    came = [Passage("refund#7", "a", source="refund")]
    assert Reader([need], None, "document").held([came]).loc["a", "recall"] == 0.5
    assert Reader([need], None, "chunk").held([came]).loc["a", "recall"] == 0.0


# ---------------------------------------------------------------- documents and chunks


def test_documents_are_put_together_with_overlaps_kept_once():
    left, right = "The first half of the text ends with a shared end.", "ends with a shared end. Then it goes on."
    made = Documents([Passage("d#1", left, source="d", position=1), Passage("d#2", right, source="d", position=2)])
    text = "The first half of the text ends with a shared end. Then it goes on."
    assert made.documents["d"].text == text
    assert [text[a:b] for _, a, b in made.spans.values()] == [left, right]


def test_chunks_hold_the_whole_text_in_both_languages():
    cuts = (Chunking("size", 20), Chunking("size", 20, 8), Chunking("sentence", 20), Chunking("sentence", 40, 15))
    for text in ("One sentence. Another one, longer than that! A third?  " * 9, "第一句话。第二句话比较长！第三句吗？" * 9):
        for chunking in cuts:
            spans = chunking.cut(text)
            covered = np.zeros(len(text), dtype=bool)
            for start, end in spans:
                covered[start:end] = True
            assert all(text[at].isspace() for at in np.flatnonzero(~covered))
            assert [start for start, _ in spans] == sorted({start for start, _ in spans})


def test_headings_begin_chunks_and_parents_are_given():
    text = "# One\nAlpha is first. Beta is second.\n# Two\nGamma is third."
    documents = Documents([Passage("d", text)])
    assert [p.text for p in rechunked(documents, Chunking("heading", 50))[0]] == [
        "# One\nAlpha is first. Beta is second.", "# Two\nGamma is third.",
    ]  # fmt: skip
    children, parents = rechunked(documents, Chunking("parent", 6, 0, 100))
    assert len(children) > 2 and {p.text for p in parents} == {text}
    with pytest.raises(InputError, match="overlap"):
        Chunking("size", 10, 10)


def test_documents_from_files(tmp_path):
    (tmp_path / "page.md").write_text("---\ntitle: A page\ntenant: null\n---\nText of it.", encoding="utf-8")
    (found,) = load_documents(tmp_path)
    assert (found.doc_id, found.title, found.tenant, found.text) == ("page", "A page", None, "Text of it.")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no"):
        load_documents(tmp_path / "empty")


def test_outdated_twins_by_years_in_names():
    index = CorpusIndex(wb.load_corpus(DOCUMENTS), None)
    assert outdated_twins(index) == {"price-2019#1": "price#1"}


# ---------------------------------------------------------------- against really carrying it out


def planted():
    """Questions of three words over pages of twelve."""
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(60)]
    pages = [
        {"doc_id": f"p{at}", "text": " ".join(rng.choice(words, 12)) + f" 第{at}页 page", "source": f"p{at}", "position": 0}
        for at in range(40)
    ]
    asked = [" ".join(rng.choice(page["text"].split()[:12], 3)) for page in pages]
    cases = [
        {"sample_id": f"s{at}", "question": question, "expected_docs": [f"p{at}"]} for at, question in enumerate(asked)
    ]
    return pages, cases


def recorded(pages, cases, k):
    index = CorpusIndex(wb.load_corpus(pages), None)
    from workbench.evidence.corpus_index import terms

    rows = []
    for row in cases:
        places = index.lexical.best(index.lexical.scores(terms(row["question"])), k)
        rows.append({**row, "contexts": [{"doc_id": index.ids[p], "text": index.texts[p]} for p in places]})
    return wb.evaluate(rows, judge=None, encoder=None, progress=False, thresholds=wb.Thresholds(k=50))


@pytest.mark.parametrize("missing", [0, 10])
def test_rescued_and_broken_are_those_of_really_carrying_it_out(missing):
    pages, cases = planted()
    before = recorded(pages[missing:], cases, 1)
    fixes = [Fix("k", {"k": 4}, {"k": 4}), *([Fix("added", {"added": True})] if missing else [])]
    plan = repair_plan(before, pages[missing:], encoder="none", documents=pages[:missing] or None, fixes=fixes)
    was = before.failures()["passed"]
    for repair in plan.repairs:
        then = recorded(pages if repair.fix.name == "added" else pages[missing:], cases, 4 if repair.fix.name == "k" else 1)
        now = then.failures()["passed"]
        assert set(repair.rescued) == set(was.index[(was == False) & (now == True)])  # noqa: E712
        assert set(repair.broken) == set(was.index[(was == True) & (now == False)])  # noqa: E712
    assert sum(len(r.rescued) for r in plan.repairs) > 3
    assert plan.simulator.likeness["bm25"] == 1.0


# ---------------------------------------------------------------- from contexts to answers


def frame(complete, leaks=0.0):
    n = len(complete)
    columns = {name: np.zeros(n) for name in COLUMNS} | {
        "n_contexts": np.full(n, 5.0), "complete": complete, "recall": complete,
        "worst_rank": np.where(complete == 1, 1.0, np.nan), "distractors": np.full(n, 4.0), "leaks": np.full(n, leaks),
    }  # fmt: skip
    return pd.DataFrame(columns)


def test_levels_of_evidence():
    held = frame(np.array([1.0, 0.5, 0.0, np.nan, 1.0]))
    assert level(held, np.array([0, 0, 0, 0, 1], bool)).tolist() == ["complete", "partial", "none", "unknown", "nothing"]


def test_a_saturated_level_is_its_shrunken_share():
    complete = np.repeat([1.0, 0.0], [40, 20])
    passed = np.concatenate([np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [2, 18])])
    model = AnswerModel(frame(complete), passed, np.zeros(60, bool))
    chance = model.probabilities(frame(complete))[0]
    rate = 32 / 60
    assert chance[0] == pytest.approx((30 + rate) / 41, abs=2e-3)  # one sample's weight of the whole
    assert chance[-1] == pytest.approx((2 + rate / 2) / 21, abs=2e-3)
    assert (model.probabilities(frame(complete, leaks=1.0)) == 0).all()
    gain = model.gain(frame(complete), frame(np.ones(60)))
    assert gain.mean == pytest.approx((chance[0] - chance[-1]) * 20 / 60) and gain.low < gain.mean < gain.high
    nothing = model.gain(frame(complete), frame(complete))
    assert (nothing.mean, nothing.low, nothing.high) == (0, 0, 0)


def test_the_interval_covers_the_true_gain_of_drawn_generators():
    complete, covered = np.repeat([1.0, 0.0], [60, 40]), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        given, without = rng.uniform(0.5, 0.98), rng.uniform(0.02, 0.4)
        passed = (rng.random(100) < np.where(complete == 1, given, without)).astype(float)
        gain = AnswerModel(frame(complete), passed, np.zeros(100, bool), seed=seed).gain(frame(complete), frame(np.ones(100)))
        covered += gain.low <= 0.4 * (given - without) <= gain.high
    assert covered >= 36


# ---------------------------------------------------------------- the plan, its words and its files


def test_the_sample_plan_reaches_what_was_planted(sample_plan):
    mended = {key: set(sample_plan.repair(key).rescued) for key in sample_plan.keys}
    assert mended["tenants"] == {"qa-022", "qa-023", "qa-039"}
    assert "qa-043" in mended["added=1"] and mended["current=1"] == {"qa-001"} and "qa-003" in mended["retired=20"]
    assert {"qa-014", "qa-047"} <= mended["k=10"]
    unreached = sample_plan.unreached().set_index("cause")
    assert {"omission", "contradiction", "hallucination"} <= set(unreached.index) and unreached.loc["omission", "prompt"]
    table = sample_plan.table()
    assert table.index[0] == "tenants" and table["taken"].any() and (table["low"] <= table["gain"]).all()
    assert set(sample_plan.total_rescued) >= {"qa-022", "qa-023", "qa-039"} and sample_plan.total.mean > 0.05


@pytest.mark.parametrize(("language", "word"), [("en", "estimate"), ("zh", "估计")])
def test_the_plan_in_words(sample_plan, language, word, tmp_path):
    from workbench.reports.render import html, markdown, write_repair
    from workbench.reports.sections import build_report

    wb.set_language(language)
    assert word in str(sample_plan)
    page = write_repair(sample_plan, tmp_path / "plan.md").read_text(encoding="utf-8")
    assert page.startswith("# ") and word in page and "| --- |" in page
    report = build_report(sample_plan.evaluation, repair=sample_plan, language=language)
    assert 'id="repair"' in html(report) and word in markdown(report, {})
    assert all(prompt(cause, language) for cause in PROMPTED)
    with pytest.raises(InputError, match="no prompt"):
        prompt("retrieval_miss")


def test_it_says_what_it_cannot_tell(run):
    bare = [{**row, "must_include": None, "expected_docs": None} for row in CASES]
    blind = repair_plan(wb.evaluate(bare, judge=None, encoder=None, progress=False), DOCUMENTS, encoder="none")
    assert any("5 of 5 samples name neither" in note for note in blind.notes)
    assert (blind.matrix() == "untold").all(axis=None) and not any(r.rescued for r in blind.repairs)
    without = repair_plan(run, None)
    assert any("Without the knowledge base" in note for note in without.notes)
    assert {r.fix.name for r in without.repairs} <= {"k", "tenants", "once"}
    with pytest.raises(CancelledError):
        repair_plan(run, DOCUMENTS, encoder="none", cancel=lambda: True)
    with pytest.raises(InputError, match="none is known of the model 'nobody'"):
        repair_plan(run, DOCUMENTS, encoder="none", price="nobody")
    silent = wb.evaluate([{**row, "contexts": None} for row in CASES], judge=None, encoder=None, progress=False)
    unrecorded = repair_plan(silent, DOCUMENTS, encoder="none")
    assert "No contexts were recorded" in str(unrecorded) and not unrecorded.together.k
    assert {r.fix.name for r in unrecorded.repairs} <= {"bm25", "title", "chunking"}
    assert unrecorded.table().loc["bm25", "recall"] > 0.5
    with pytest.raises(InputError, match="give the knowledge base"):
        sweep(run, None)


def test_synonyms_and_reranking_are_carried_out(run, tmp_path):
    from workbench.diagnosis.synonyms import SynonymTable

    table = SynonymTable(tmp_path / "synonyms.json")
    table.accept("leave", "holiday")
    plan = repair_plan(run, DOCUMENTS, encoder="none", synonyms=tmp_path / "synonyms.json")
    assert {"synonyms=1", "rerank=relevance"} <= set(plan.keys)
    with pytest.raises(InputError, match="no such file"):
        repair_plan(run, DOCUMENTS, encoder="none", synonyms=tmp_path / "none.json")


def test_a_cross_encoder_in_a_folder_reranks(run, tmp_path):
    folder = saved(tmp_path / "cross", ["relevance"])
    found = repair_plan(run, DOCUMENTS, encoder="none", rerank=str(folder))
    assert found.repair("rerank=cross").held["n_contexts"].tolist() == found.now["n_contexts"].tolist()
    with pytest.raises(InputError, match="has 3 outputs"):
        repair_plan(run, DOCUMENTS, encoder="none", rerank=str(saved(tmp_path / "nli", ["no", "yes", "neutral"])))
    with pytest.raises(InputError, match="cannot be loaded"):
        repair_plan(run, DOCUMENTS, encoder="none", rerank=str(tmp_path / "nothing"))


def test_sweep_marks_the_knee(run):
    found = sweep(run, DOCUMENTS, k=(1, 2, 4), encoder="none", chunkings=(None, Chunking("sentence", 64)))
    assert len(found.frame) == 6 and found.frame["recall"].between(0, 1).all() and found.today["tokens"] > 0
    grid = pd.DataFrame({"ranking": "bm25", "chunking": "", "k": [1, 2, 3, 4], "recall": [0.2, 0.8, 0.85, 0.8],
                         "complete": 0.0, "tokens": [100, 200, 900, 1000]})  # fmt: skip
    done = marked(grid)
    assert done["efficient"].tolist() == [True, True, True, False] and done["knee"].tolist() == [False, True, False, False]
    with pytest.raises(InputError, match="1 or more"):
        sweep(run, DOCUMENTS, k=(0,), encoder="none")


def test_the_command_line_adds_the_page(run, tmp_path):
    from workbench.cli import main

    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(d) for d in DOCUMENTS), encoding="utf-8")
    command = ["report", str(run.save(tmp_path / "run")), "--format", "md", "--language", "en",
               "--out", str(tmp_path / "r.md"), "--repair", str(tmp_path / "corpus.jsonl"), "--encoder", "none"]  # fmt: skip
    assert main(command) == 0 and "## Repair plan" in (tmp_path / "r.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------- replay


def test_replay_tells_generation_from_retrieval(plan, tmp_path):
    asked = []

    def generator(question, contexts, instructions):
        """Reads the first context alone, and never understands leave."""
        asked.append(question)
        return "No idea." if "leave" in question or not contexts else contexts[0]["text"] + instructions

    planned = wb.replay(generator, plan, contexts=("oracle", "none"), out=tmp_path, ask=False)
    assert planned.calls == 10 and not asked and planned.tokens > 0
    with pytest.raises(InputError, match="beyond the budget of 3 calls"):
        wb.replay(generator, plan, out=tmp_path, budget={"calls": 3})
    found = wb.replay(generator, plan, contexts=("oracle", "none"), out=tmp_path, judge=None, encoder=None)
    faults = found.faults()["fault"]
    assert faults["missed"] == "retrieval" and faults["twin"] == "retrieval" and faults["split"] == "generation"
    assert found.compare("oracle").counts.fixed >= 2 and len(asked) == 10
    table = found.table().set_index("arm")
    assert table.loc["none", "passing"] == 0 and table.loc["oracle", "passing"] == 4
    again = wb.replay(generator, plan, contexts=("oracle", "none"), out=tmp_path, judge=None, encoder=None)
    assert len(asked) == 10 and again.planned.calls == 0
    simulated = wb.replay(generator, plan, contexts="plan", samples=["twin"], out=tmp_path, judge=None, encoder=None)
    assert len(simulated.runs["plan"]) == 1


def test_replay_refuses_a_service_that_retrieves_by_itself(plan, tmp_path):
    asked = []

    def service(question, contexts):
        asked.append(question)
        return {"answer": "x", "contexts": ["my own"]}

    with pytest.raises(InputError, match="other contexts than it was given"):
        wb.replay(service, plan, contexts="oracle", out=tmp_path, judge=None, encoder=None)
    assert len(asked) == PROBES  # and not all of them
    with pytest.raises(InputError, match="are not known"):
        wb.replay(service, plan, contexts="magic", out=tmp_path)
    with pytest.raises(InputError, match="never given the contexts"):
        wb.replay(lambda question: "x", plan, out=tmp_path, ask=False)
    with pytest.raises(InputError, match="never given the contexts"):
        wb.replay("http://127.0.0.1:9/ask", plan, out=tmp_path, ask=False, request={"q": "{question}"})
    with pytest.raises(InputError, match="never given the instructions"):
        wb.replay(service, plan, out=tmp_path, ask=False, prompt="Be brief.")


def test_answers_are_judged_as_those_before_were(plan, tmp_path):
    found = wb.replay(lambda contexts: "x", plan, contexts="recorded", samples=["right"], out=tmp_path, progress=False)
    assert found.runs["recorded"].manifest["judge"] == plan.evaluation.manifest["judge"] == "none"
    assert found.compare("recorded").warnings == [found.compare("recorded").warnings[0]]  # but for the knowledge base
    other = repair_plan(plan.evaluation, DOCUMENTS, encoder="none", fixes=[])
    other.evaluation.evidence.manifest["judge"] = "llm:somebody"
    try:
        with pytest.raises(InputError, match="llm:somebody judged the run before"):
            wb.replay(lambda contexts: "x", other, contexts="recorded", out=tmp_path)
    finally:
        other.evaluation.evidence.manifest["judge"] = "none"


def test_a_prompt_and_other_contexts_are_no_answer_to_the_question_before(plan, run, tmp_path):
    def generator(question, contexts, instructions):
        return f"{instructions} {contexts[0]['text']}"

    options = {"contexts": "recorded", "samples": ["right"], "out": tmp_path, "judge": None, "encoder": None}
    plain = wb.replay(generator, plan, **options)
    told = wb.replay(generator, plan, prompt="Briefly.", **options)
    answers = [found.runs["recorded"].evidence.plain("answer")[0] for found in (plain, told)]
    assert answers == [" A refund is paid within 14 days.", "Briefly. A refund is paid within 14 days."]
    assert wb.replay(generator, plan, prompt="Briefly.", ask=False, **options).calls == 0
    for prompt_given, fault in (("Look again.", "prompt"), (None, "unstable")):
        again = wb.replay(lambda contexts, instructions: "25 days", plan, prompt=prompt_given,
                          **options | {"samples": ["split"], "out": tmp_path / fault})  # fmt: skip
        assert again.faults()["fault"]["split"] == fault
    changed = [dict(row, contexts=[context("zh#1")]) for row in CASES]
    other = repair_plan(wb.evaluate(changed, judge=None, encoder=None, progress=False), DOCUMENTS, encoder="none")
    with pytest.raises(InputError, match="with other contexts before"):
        wb.replay(generator, other, ask=False, **options)


@pytest.fixture
def generator_service():
    """A generator behind a socket: answers with its first context; ``mood`` says how it misbehaves."""

    class Service:
        mood = staticmethod(lambda body, n: None)

        def __init__(self) -> None:
            self.asked: list[dict] = []

        def __call__(self, request: Request) -> Response:
            body = json.loads(request.data)
            self.asked.append(body)
            found = self.mood(body, len(self.asked))
            texts = [item["text"] for item in body["contexts"]]
            return found or Response(json.dumps({"answer": texts[0] if texts else "我不知道。"}, ensure_ascii=False),
                                     content_type="application/json")  # fmt: skip

    service = Service()
    with HTTPServer(host="127.0.0.1", port=0, threaded=True) as server:
        server.expect_request("/ask").respond_with_handler(service)
        service.url = server.url_for("/ask")
        yield service


def test_replay_over_a_socket_goes_on_where_it_was_stopped(generator_service, plan, tmp_path):
    options = {"contexts": ("oracle", "plan", "none"), "out": tmp_path, "judge": None, "encoder": None}
    assert wb.replay(generator_service.url, plan, ask=False, **options).calls == 15 and not generator_service.asked
    with pytest.raises(CancelledError):
        wb.replay(generator_service.url, plan, cancelled=lambda: len(generator_service.asked) > 6, concurrency=1, **options)
    before = len(generator_service.asked)
    assert 6 < before < 15
    left = wb.replay(generator_service.url, plan, ask=False, **options)
    seen = []
    found = wb.replay(generator_service.url, plan, progress=lambda *at: seen.append(at), **options)
    assert len(generator_service.asked) - before <= left.calls + 1 and seen[-1] == (15, 15) and found.errors.empty
    assert all(set(body) >= {"question", "contexts", "instructions"} for body in generator_service.asked)
    faults = found.faults()["fault"]
    assert faults["missed"] == "retrieval" and found.table().set_index("arm").loc["none", "passing"] == 0
    assert len(found.compare("plan")) == 5 and "retrieval (they pass" in str(found) and "<table" in found._repr_html_()


def test_a_call_that_failed_blames_nobody_and_is_asked_again(generator_service, plan, tmp_path):
    options = {"contexts": "oracle", "out": tmp_path, "judge": None, "encoder": None, "retries": 0, "timeout": 0.5}

    def moody(body, n):
        if "number" in body["question"]:
            time.sleep(1.2)  # longer than anybody waits
        return Response("busy", 500) if "leave" in body["question"] else None

    generator_service.mood = moody
    found = wb.replay(generator_service.url, plan, **options)
    faults = found.faults()["fault"]
    assert faults["missed"] == faults["split"] == "untold" and set(found.errors["sample_id"]) == {"missed", "split"}
    assert found.table().loc[0, ["n", "errors"]].tolist() == [3, 2] and "2 calls failed" in str(found)
    generator_service.mood = lambda body, n: None
    assert wb.replay(generator_service.url, plan, ask=False, **options).calls == 2
    again = wb.replay(generator_service.url, plan, **options)
    assert again.faults()["fault"]["missed"] == "retrieval" and again.errors.empty
    generator_service.mood = lambda body, n: Response("gone", 503)
    before = len(generator_service.asked)
    with pytest.raises(InputError, match=r"none of the first 3 questions was answered \(HTTP 503"):
        wb.replay(generator_service.url, plan, **options | {"contexts": "none"})
    assert len(generator_service.asked) == before + PROBES


def test_repair_and_replay_from_the_command_line(generator_service, run, tmp_path, capsys):
    from workbench.cli import main

    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(d) for d in DOCUMENTS), encoding="utf-8")
    folder = str(run.save(tmp_path / "run"))
    given = [folder, "--corpus", str(tmp_path / "corpus.jsonl"), "--encoder", "none", "--price", "2.5"]
    assert main(["repair", *given, "--out", str(tmp_path / "plan.md")]) == 0
    assert "# Repair plan" in (tmp_path / "plan.md").read_text(encoding="utf-8") and "mends" in capsys.readouterr().out
    command = ["replay", *given, "--endpoint", generator_service.url, "--contexts", "oracle,none", "--judge", "none",
               "--out", str(tmp_path / "replays")]  # fmt: skip
    assert main(command) == 0 and "10 calls in 2 arms" in capsys.readouterr().out and not generator_service.asked
    assert main([*command, "--send", "--budget", "0.000001"]) == 2 and "beyond the budget" in capsys.readouterr().err
    assert main([*command, "--send"]) == 0
    said = capsys.readouterr().out
    assert "retrieval (they pass with the expected documents)" in said and len(generator_service.asked) == 10
    assert main(["compare", folder, str(tmp_path / "replays" / "oracle")]) == 0
    assert main([*command, "--language", "zh"]) == 0 and "共 0 次调用" in capsys.readouterr().out


# ---------------------------------------------------------------- the panel


def test_the_panel_shows_contexts_before_and_after(run, tmp_path):
    session = wb.Session(run, tmp_path / "session")
    panel = wb.panels.repair_plan(session, DOCUMENTS, "none")
    panel.join(60)
    touched = (~panel.plan.matrix().isin(["same", "untold"]).all()).sum()
    assert len(panel.grid.children) == (len(panel.plan.repairs) + 1) * (touched + 1)
    panel.look_at("retired=1", "twin")
    assert session.selection == "twin" and "★" in panel.before_after.value and "wb-gone" in panel.before_after.value
    panel.fix.value = "tenants"
    assert panel.ids() == ["leak"]
    written = {path.name for path in panel.save(tmp_path / "out")}
    assert written == {"repair_plan.html", "repair_plan.csv", "repair_plan.png", "repair_plan.md"}
    panel.pin()
    assert session.findings[-1].panel == "repair_plan"
    curve = wb.panels.sweep(session, DOCUMENTS, k=(1, 2, 3), encoder="none")
    assert len(curve.table()) == 3 and "<img" in curve.html()


@pytest.mark.parametrize("shown", [False, True])
def test_what_was_never_shown_is_uncertain(shown: bool) -> None:
    """With one context for each question nothing tells whether nine distractors harm; where they were shown, it is known."""
    rng = np.random.default_rng(3)

    def held(complete: np.ndarray, distractors: np.ndarray) -> pd.DataFrame:
        n = len(complete)
        values = {"recall": complete, "context_recall": complete, "complete": complete, "worst_rank": 1.0 + distractors,
                  "distractors": distractors, "copies": np.zeros(n), "split": np.zeros(n), "leaks": np.zeros(n),
                  "n_contexts": 1.0 + distractors}  # fmt: skip
        return pd.DataFrame(values)

    complete = (np.arange(300) % 2).astype(float)
    now = held(complete, np.where(shown, np.arange(300) % 10, 0).astype(float))
    passed = (rng.random(300) < np.where(complete == 1, 0.9, 0.1)).astype(float)
    model = AnswerModel(now, passed, np.zeros(300, bool))
    few, many = (model.gain(now, held(np.ones(300), np.full(300, d))) for d in (0.0, 9.0))
    assert few.mean == pytest.approx(0.4, abs=0.08) and few.low > 0.3
    assert many.low <= many.mean <= many.high
    # An interval that reaches far lower where nothing is known, hardly where it is.
    assert (many.mean - many.low > 2 * (few.mean - few.low)) is not shown
