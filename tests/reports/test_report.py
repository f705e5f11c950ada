"""What a report says, and that nothing in it can run, reach out or mislead."""

from __future__ import annotations

import datetime
import html.parser
import re

import pandas as pd
import pytest
from markupsafe import escape

import workbench as wb
from tests.reports.hostile import FORMULA, OVERRIDE
from workbench.data.files import REPORT_FORMATS
from workbench.errors import InputError
from workbench.language import get_language, listed, speaking
from workbench.reports import render as extracts
from workbench.reports.content import Stretch
from workbench.reports.render import html as page
from workbench.reports.render import md
from workbench.reports.sections import build_report, expected
from workbench.reports.tables import rows, write
from workbench.views import wording as words

DATE = datetime.date(2026, 11, 29)


def report_of(evaluation, **options):
    return build_report(evaluation, date=DATE, **options)


class Page(html.parser.HTMLParser):
    """The elements of a page, its attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._isolated: list[str] = []
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag == "bdi":
            self._isolated.append(tag)

    def handle_endtag(self, tag):
        if tag == "bdi":
            self._isolated.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if not self._isolated:
            self.outside.append(data)


# ---------------------------------------------------------------- content


def test_verdict_comes_first_and_every_number_has_its_n(evaluation):
    report = report_of(evaluation)
    assert report.n_total == 5
    right = evaluation.summary().loc["end_to_end_correct"]
    n = round(right["mean"] * right["n_ok"])
    assert report.verdict[0].startswith(f"{n} of {int(right['n_ok'])} answers right end to end: ")
    assert all(re.search(r"\d", sentence) for sentence in report.verdict)
    failing = evaluation.failures()["passed"].eq(False).sum()
    assert f"{failing} of 5 samples fail a check" in report.verdict[1]


def test_causes_add_up_to_the_failing_samples_and_show_two_real_ones_at_most(evaluation):
    report = report_of(evaluation)
    assert sum(cause.n for cause in report.causes) == report.n_failing == len(report.failing)
    known = evaluation.failures()
    for cause in report.causes:
        assert len(cause.examples) == min(cause.n, 2)
        assert all(known.at[example.sample_id, "primary_cause"] == cause.cause for example in cause.examples)
        assert all(0 <= w.start < w.end <= len(e.answer) for e in cause.examples for w in e.wrong)


def test_the_wrong_sentence_is_the_one_that_contradicts(evaluation):
    example = next(e for c in report_of(evaluation).causes for e in c.examples if e.sample_id == "zh-1")
    assert [example.answer[w.start : w.end] for w in example.wrong] == ["企业版支持 300 个并发会话。"]
    assert example.expected == "企业版支持 500 个并发会话。"


def test_actions_are_three_at_most_and_their_numbers_are_those_of_the_causes(evaluation):
    report = report_of(evaluation)
    assert 1 <= len(report.actions) <= 3
    for action in report.actions:
        assert action.n == sum(cause.n for cause in report.causes if cause.layer == action.layer)
        assert action.n_failing == report.n_failing
        assert action.advice


def test_a_leak_is_the_first_action_however_rare():
    other = [{"doc_id": "x#1", "text": "Plans cost 5 dollars.", "tenant": "other"}]
    own = [{"doc_id": "y#1", "text": "Plans cost 5 dollars.", "tenant": "mine"}]
    samples = [{"sample_id": f"s{i}", "question": "What do plans cost?", "answer": "Plans cost 9 dollars.", "contexts": own,
                "reference": "Plans cost 5 dollars.", "must_include": ["5 dollars"], "tenant": "mine"} for i in range(4)]
    samples.append({**samples[0], "sample_id": "leak", "contexts": other})
    result = wb.evaluate(wb.load_samples(samples), judge=None, progress=False)
    report = report_of(result)
    assert [action.red_line for action in report.actions] == [True, *[False] * (len(report.actions) - 1)]
    assert report.actions[0].n == 1
    assert "Red line: documents that must not be shown (another tenant's, or banned) in 1 of 5 samples." in report.verdict


def test_against_a_baseline(evaluation, better):
    after = wb.load_evaluation(better)
    report = report_of(after, baseline=evaluation)
    counts = report.changes.counts
    assert counts["fixed"] == counts["broken"] == 1
    assert sum(counts.values()) == report.changes.n_pairs == 5
    assert {item.sample_id: item.change for item in report.changes.flipped} == {"zh-1": "fixed", "fine": "broken"}
    assert sum(flow.n for flow in report.changes.flows) == 5
    headline = next(m for m in report.measures if m.metric == "end_to_end_correct")
    assert headline.delta == pytest.approx(headline.after - headline.before) == 0
    assert report.verdict[0].endswith("the same as before (5 pairs).")
    assert report_of(evaluation).changes is None


def test_a_baseline_of_other_cases_compares_nothing_and_says_so(evaluation):
    row = {"sample_id": "elsewhere", "question": "How many?", "answer": "There are 5.", "must_include": ["5"]}
    other = wb.evaluate(wb.load_samples([row]), judge=None, progress=False)
    report = report_of(evaluation, baseline=other)
    assert report.changes.n_pairs == 0
    assert "answers right end to end" in report.verdict[0]
    assert "Of 0 matched samples" in page(report)


def test_a_set_that_nothing_can_be_said_of_says_so():
    result = wb.evaluate(wb.load_samples([{"sample_id": "a", "question": "q?", "answer": "An answer."}]), judge=None,
                         progress=False)  # fmt: skip
    report = report_of(result)
    assert (report.causes, report.actions, report.failing) == ((), (), ())
    text = page(report)
    assert "No sample could be tested, so no cause can be named." in text
    assert "1 of 1 samples could not be tested at all" in text
    assert "No sample or view was saved" in text
    assert "No judge was used" in text


def test_all_three_sections_say_why_they_are_empty_when_all_pass():
    row = {"sample_id": "a", "question": "How many?", "answer": "There are 5.", "must_include": ["5"]}
    report = report_of(wb.evaluate(wb.load_samples([row]), judge=None, progress=False))
    assert "No sample of 1 fails a check." in report.verdict
    assert "No sample fails: there is nothing to show here." in page(report)


# ---------------------------------------------------------------- the page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_runs_nothing_and_asks_for_nothing(evaluation, better, language):
    text = page(report_of(wb.load_evaluation(better), baseline=evaluation, language=language))
    found = Page(text)
    assert not {"script", "iframe", "link", "object", "embed", "form", "base"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
    assert {value[:5] for name, value in found.attributes if name in ("src", "href")} <= {"data:", "#caus"}
    assert found.tags.count("style") == 1
    policy = next(value for _, value in found.attributes if "default-src" in value)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert 'charset="utf-8"' in text.split("<title>")[0]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)
    assert "zh-CN" in text[:80] if language == "zh" else 'lang="en"' in text[:80]


def test_style_sheet_is_the_one_that_the_policy_allows(evaluation):
    import base64
    import hashlib

    text = page(report_of(evaluation))
    sheet = re.search("<style>(.*?)</style>", text, re.DOTALL).group(1)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()}'" in text.replace("&#39;", "'")
    assert "url(" not in sheet and "@import" not in sheet
    assert "prefers-color-scheme: dark" in sheet and "size: A4" in sheet


def test_overrides_stay_in_their_own_corner(evaluation):
    found = Page(page(report_of(evaluation)))
    assert any(OVERRIDE in text for text in found.texts)
    assert not any(OVERRIDE in text for text in found.outside)
    assert not any(OVERRIDE in value for _, value in found.attributes)


def test_every_failing_sample_stands_in_the_page(evaluation):
    report = report_of(evaluation)
    shown = "".join(Page(page(report)).texts)
    assert all(item.sample_id in shown for item in report.failing)


def test_the_same_report_gives_the_same_bytes(evaluation, tmp_path):
    for format in REPORT_FORMATS:
        first, second = (write(report_of(evaluation), tmp_path / name, format) for name in ("a", "b"))
        assert first.suffix == REPORT_FORMATS[format]
        same = first.read_bytes().replace(b"a_files", b"b_files")
        assert same == second.read_bytes(), format


def test_the_language_in_force_is_left_alone(evaluation):
    report = report_of(evaluation, language="zh")
    assert get_language() == "en"
    assert report.title.endswith("——评测报告")
    page(report)
    assert get_language() == "en"
    with pytest.raises(InputError, match="'fr' is not known"):
        report_of(evaluation, language="fr")


def test_a_long_answer_is_cut_and_says_so():
    long = "word " * 40_000
    row = {"sample_id": "long", "question": "How?", "answer": long, "must_include": ["nothing of it"]}
    report = report_of(wb.evaluate(wb.load_samples([row]), judge=None, progress=False))
    text = page(report)
    assert len(text) < 100_000
    assert "[cut after 240 of " in text


def test_a_key_never_reaches_a_report(tmp_path, monkeypatch):
    key = "sk-secretsecretsecret123"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    row = {"sample_id": "a", "question": "How?", "answer": f"the key is {key}", "must_include": ["nothing of it"]}
    failed = {"sample_id": "b", "question": "And?", "answer": None, "error": "401 for sk-otherotherother1"}
    report = report_of(wb.evaluate(wb.load_samples([row, failed]), judge=None, progress=False))
    for format in ("html", "md", "csv", "parquet", "junit"):
        written = write(report, tmp_path / "r", format).read_bytes()
        assert key.encode() not in written, format
        assert b"sk-otherotherother1" not in written, format
    assert "The service reported an error: 401 for ***" in (tmp_path / "r.md").read_text().replace("\\", "")


# ---------------------------------------------------------------- Markdown, CSV, Parquet, JUnit


def test_markdown_holds_no_markup_of_others(evaluation, better, tmp_path):
    target = write(report_of(wb.load_evaluation(better), baseline=evaluation), tmp_path / "r.md", "md")
    text = target.read_text(encoding="utf-8")
    assert "<script" not in text and "<img" not in text
    addresses = re.findall(r"(?<!\\)!\[[^]]*\]\(([^)]*)\)", text)
    assert addresses and all((tmp_path / address).is_file() for address in addresses)
    assert "\x07" not in text and "\x1b" not in text
    assert all(OVERRIDE not in re.sub("<bdi>.*?</bdi>", "", line) for line in text.splitlines())


def test_markdown_renders_as_the_text_that_it_was():
    import mistune

    marks = "a_b *c* _d_ `e` [f](g) ![h](i) <b>j</b> k|l ~~m~~ \\n"
    for text in ("1. one", "- x", "# h", "= y", marks, "3.5 % & 1 < 2", "> q", "***"):
        shown = Page(mistune.html(md(text)))
        assert shown.tags == ["p"], text
        assert "".join(shown.texts).strip() == text


def test_table_neutralises_formulas_and_keeps_numbers(evaluation, tmp_path):
    report = report_of(evaluation)
    target = write(report, tmp_path / "r.csv", "csv")
    raw = target.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") and b"\r" not in raw and b"\x07" not in raw
    frame = pd.read_csv(target, dtype=str, keep_default_na=False)
    assert len(frame) == report.n_failing and not frame["findings"].any()
    assert set(frame["sample_id"]) == {("'" if i.sample_id[0] in "=@" else "") + i.sample_id for i in report.failing}
    texts = [cell for name in frame for cell in frame[name] if not re.fullmatch(r"[-+]?\d+(\.\d+)?(e-?\d+)?", cell)]
    assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@"))]
    assert frame.set_index("sample_id").at["'@formula", "answer"] == "'" + FORMULA


def test_parquet_keeps_types(evaluation, tmp_path):
    report = report_of(evaluation)
    frame = pd.read_parquet(write(report, tmp_path / "r", "parquet"))
    assert len(frame) == report.n_failing
    assert frame["faithfulness"].dtype == "float64"
    assert frame.set_index("sample_id").at["@formula", "answer"] == FORMULA
    assert not frame["passed"].any()
    scores = evaluation.scores()
    for row in frame.itertuples():
        expected = scores.at[row.sample_id, "end_to_end_correct"]
        assert row.end_to_end_correct == expected or (expected != expected)


def test_junit_has_one_case_a_sample(evaluation, tmp_path):
    from xml.etree import ElementTree

    target = write(report_of(evaluation), tmp_path / "r", "junit")
    root = ElementTree.parse(target).getroot()
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failures = evaluation.failures()
    assert cases.keys() == set(failures.index)
    for name, row in failures.iterrows():
        assert (cases[name].find("failure") is not None) == (row["passed"] is False)
    assert cases["zh-1"].find("failure").get("message").startswith("contradiction: ")
    assert "sk-abcdefghijklmnop" not in target.read_text(encoding="utf-8")


def test_a_name_with_a_number_gets_its_ending(evaluation, tmp_path):
    assert write(report_of(evaluation), tmp_path / "gpt-4.1", "csv").name == "gpt-4.1.csv"
    assert write(report_of(evaluation), tmp_path / "own.txt", "csv").name == "own.txt"


def test_unknown_format_and_bad_place(evaluation, tmp_path):
    report = report_of(evaluation)
    with pytest.raises(InputError, match="format 'pdf' is not known"):
        write(report, tmp_path / "r", "pdf")
    with pytest.raises(InputError, match="is a folder"):
        (tmp_path / "r.html").mkdir()
        write(report, tmp_path / "r.html", "html")
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


def test_rows_of_a_report_without_failures_are_an_empty_table():
    row = {"sample_id": "a", "question": "How many?", "answer": "There are 5.", "must_include": ["5"]}
    frame = rows(report_of(wb.evaluate(wb.load_samples([row]), judge=None, progress=False)))
    assert len(frame) == 0 and "sample_id" in frame.columns


# ---------------------------------------------------------------- changes, gate, saved samples


def test_every_broken_sample_stands_before_and_after_with_the_differences_marked(evaluation, better):
    report = report_of(wb.load_evaluation(better), baseline=evaluation)
    flips = report.changes.flipped + report.changes.same_answer
    assert [pair.sample_id for pair in report.changes.pairs] == [f.sample_id for f in flips if f.change == "broken"] != []
    pair = report.changes.pairs[0]
    assert pair.after == "There are 900 sessions." and pair.before != pair.after
    assert [pair.after[m.start : m.end] for m in pair.new if m.kind == "new"] and all(m.kind == "gone" for m in pair.gone)
    text = page(report)
    assert "Every broken sample, before and after" in text and 'class="wb-mark wb-gone"' in text and "wb-new" in text
    assert "**− " in render_markdown(report) and "**+ " in render_markdown(report)


def render_markdown(report):
    return extracts.markdown(report, {})


@pytest.mark.parametrize(("language", "said"), [("en", "Quality gate (own.toml)"), ("zh", "质量门禁（own.toml）")])
def test_the_verdict_of_the_gate_stands_on_page_one(evaluation, tmp_path, language, said):
    from workbench.reports.gate import check

    rules = tmp_path / "own.toml"
    rules.write_text('[rules]\nat_least = { passed = 0.99 }\n[red_lines]\nmust_pass = ["fine"]\n', encoding="utf-8")
    report = report_of(evaluation, gate=lambda: check(evaluation, rules), language=language)
    text = page(report)
    assert said in text and text.index(said) < text.index('id="s1"')
    with speaking(language):
        assert str(escape(report.gate.verdict)) in text and len(report.gate.checks) == 2
    assert all(f" {item.rule}" in text for item in report.gate.checks)
    assert said.replace("_", "\\_") in render_markdown(report)


def test_a_saved_sample_is_shown_whole(evaluation, tmp_path):
    session = wb.Session(evaluation, path=tmp_path / "session")
    session.pin("Look at this", sample_ids=["zh-1"])
    report = report_of(evaluation, findings=session.findings)
    answer = evaluation.samples.frame.at["zh-1", "answer"]
    assert [one.answer for one in report.cards[session.findings[0].finding_id]] == [answer]
    found = page(report).split('<article class="finding">')[1]
    assert 'class="example"' in found and "wb-mark" in found


def test_what_was_saved_is_what_was_looked_at(evaluation, tmp_path):
    """Other thresholds at export change neither a saved sample nor the samples of a saved view."""
    session = wb.Session(evaluation, path=tmp_path / "session")
    panel = wb.panels.low_scores(session)
    session.select("zh-1")
    panel.card.keep_sample()
    session.pin("Look at these", sample_ids=["zh-1"])

    def told():
        """The samples of findings, and the findings as Markdown."""
        report = report_of(session.evaluation, findings=session.findings, language="en")
        text = render_markdown(report)
        return report.cards, text[text.index("Look at these") :].partition("\n## ")[0]

    before, old = told(), session.evaluation.failures().loc["zh-1"].astype(str).tolist()
    session.set_thresholds(support=0.999, contradiction=0.999, answer_right=0.999)
    assert session.evaluation.failures().loc["zh-1"].astype(str).tolist() != old
    assert told() == before and [len(own) for own in before[0].values()] == [1]


# ---------------------------------------------------------------- words and extracts


def test_numbers_in_words(monkeypatch):
    assert (words.score(0.256), words.score(float("nan")), words.score(-0.034, signed=True)) == ("0.26", "–", "−0.03")
    assert words.score(0.0, signed=True) == words.score(-0.001, signed=True) == "0.00"
    assert (words.percent(0.714), words.points(0.16), words.points(-0.03)) == ("71\u00a0%", "+16", "−3")
    assert (words.chance(0.0001), words.chance(0.04), words.chance(0.4)) == ("< 0.001", "0.040", "0.40")
    monkeypatch.setattr("workbench.language._current", "zh")
    assert (words.percent(0.714), listed(["a", "b"])) == ("71%", "a、b")


def test_a_cut_keeps_the_wrong_words_in_sight():
    text = "a" * 1000 + "WRONG" + "b" * 1000
    shown, inside, note = extracts.around(text, [Stretch(1000, 1005, "contradicted")], limit=300)
    assert len(shown) == 300 and shown[inside[0].start : inside[0].end] == "WRONG"
    assert note == "[cut after 300 of 2,005 characters]"
    assert extracts.around("short", [], limit=300) == ("short", (), "")


def test_trust_shows_the_figures_that_come_with_the_judge(evaluation, monkeypatch):
    from workbench.reports import sections as measured

    judge = evaluation.manifest["judge"]
    method, version = judge.split("/")[0], judge.split("/")[1].rpartition("-")[2]
    figures = {"xquad": {"language": "zh", "n": 1234, "auroc": 0.912345}}
    known = [{"method": method, "version": version, "validation": figures}, {"method": "other", "validation": {}}]
    monkeypatch.setattr(measured, "coefficient_tables", lambda: dict(enumerate(known)))
    report = report_of(evaluation)
    assert report.measured.trust_table == (("set", "language", "n", "AUROC"), ("xquad", "zh", "1,234", "0.912"))
    told = report.measured.trust[0]
    assert re.match(r"It was unsure about \d+.% of the claims of a sample, on average \(\d samples with claims\)", told)
    assert "On held-out folds of labelled sets:" in page(report)
    monkeypatch.setattr(measured, "coefficient_tables", dict)
    assert "is not measured in this version" in page(report_of(evaluation))


def test_places_add_up(evaluation):
    report = report_of(evaluation)
    by = {part.name: part for part in report.places}
    assert {"case_type", "language", "worst"} <= by.keys()
    for name in ("case_type", "language"):
        assert sum(row.n for row in by[name].rows) == 5
        assert sum(row.n_failing for row in by[name].rows) == report.n_failing
    assert by["worst"].rows or by["worst"].reason


def test_key_points_that_may_be_said_in_two_ways_read_as_words():
    sample = {"must_include": [["12 个月", "12 months"], "auditor"]}
    assert expected(sample) == "12 个月 / 12 months; auditor"
    assert expected({"must_include": None}) == "" and expected({"must_include": []}) == ""
