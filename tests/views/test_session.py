"""The session: filter, selection, thresholds, verdicts and pins, kept at once and found again."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pandas as pd
import pytest

from workbench.data.files import JsonLines
from workbench.errors import InputError
from workbench.views.filtering import Filter
from workbench.views.session import JOURNAL, Session


@pytest.fixture
def session(fake, tmp_path):
    return Session(fake(path=tmp_path))


def test_filters_combine_and_count(session):
    assert len(session.matching()) == 24
    session.set_filter(language="zh")
    assert len(session.matching()) == 12
    session.set_filter(cause="omission", type="fact", tag="area=pricing", text="并发 会话")
    assert len(session.matching()) == 12
    session.set_filter(text="并发 nothing-like-it")
    assert list(session.matching()) == []
    session.clear_filter()
    session.set_filter(cause="pass")
    passing = session.matching()
    session.set_filter(cause="failing")
    assert len(passing) + len(session.matching()) == 24
    assert set(passing).isdisjoint(session.matching())


def test_search_looks_at_ids_and_is_case_blind(session):
    session.set_filter(text="S-00003")
    assert list(session.matching()) == ["s-00003"]
    session.set_filter(text="AUDIT logs")
    assert len(session.matching()) == 12


def test_an_arbitrary_set_has_a_readable_label(session):
    session.show(["s-00001", "s-00004"], "type = policy ∧ language = en")
    assert list(session.matching()) == ["s-00001", "s-00004"]
    assert session.filter.words() == "type = policy ∧ language = en"


def test_unknown_names_are_refused(session):
    with pytest.raises(InputError, match="no-such"):
        session.select("no-such")
    with pytest.raises(InputError, match="verdict"):
        session.annotate("s-00001", verdict="maybe")
    with pytest.raises(TypeError):
        session.set_filter(colour="red")
    with pytest.raises(InputError, match="support"):
        session.set_thresholds(support=1.5)
    assert session.filter == Filter() and session.thresholds.support == 0.5


def test_thresholds_change_causes(session):
    before = session.causes.failing.sum()
    session.set_low_score("faithfulness", 1.0)
    assert session.causes.failing.sum() > before
    assert session.causes.counts()["failing"] == session.causes.failing.sum()
    assert session.evaluation.thresholds.low_cut("faithfulness") == 1.0


def test_everything_is_there_again(fake, tmp_path, session):
    session.set_filter(language="zh", text="会话")
    session.select("s-00004")
    session.set_low_score("faithfulness", 0.33)
    session.annotate("s-00004", verdict="wrong", note="引用了旧版本")
    table = pd.DataFrame({"a": [1, None], "b": ["x", ["y"]]})
    finding = session.pin("title", figure=b"PNG", table=table, sample_ids=["s-00004"],
                          value=0.5, interval=(0.2, 0.8), snippet="code")  # fmt: skip
    again = Session(fake(path=tmp_path))
    assert again.filter == session.filter and again.selection == "s-00004"
    assert again.thresholds == session.thresholds
    assert again.annotations["s-00004"].note == "引用了旧版本"
    restored = again.findings[0]
    assert restored.replace(figure=None) == finding.replace(figure=None) and restored.png() == b"PNG"
    assert restored.table()["b"].tolist() == ["x", ["y"]]
    assert any("in force again" in note for note in again.notes)
    assert {p.name for p in tmp_path.iterdir()} == {"session"}


def test_a_pin_is_on_disk_when_the_call_returns(session, tmp_path):
    session.pin("first", figure=b"x")
    lines = (tmp_path / "session" / "session.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["findings"][0]["title"] == "first"
    assert len(list((tmp_path / "session" / "figures").iterdir())) == 1


def test_two_kernels_keep_what_both_did(fake, tmp_path):
    one, two = Session(fake(path=tmp_path)), Session(fake(path=tmp_path))
    one.annotate("s-00001", verdict="right")
    two.annotate("s-00002", verdict="wrong")
    first = one.pin("from one")
    second = two.pin("from two")
    assert one.refresh() and two.refresh()
    assert set(one.annotations) == set(two.annotations) == {"s-00001", "s-00002"}
    assert {item.title for item in one.findings} == {"from one", "from two"}
    one.remove_finding(first.finding_id)
    two.refresh()
    assert [item.finding_id for item in two.findings] == [second.finding_id]
    assert not two.refresh()


def test_processes_writing_at_once_tear_nothing(tmp_path):
    code = textwrap.dedent("""
        import sys
        from workbench.data.files import JsonLines
        journal = JsonLines(sys.argv[1])
        for i in range(60):
            journal.append({"who": sys.argv[2], "i": i, "text": "长" * 3000})
    """)
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / JOURNAL), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    journal = JsonLines(tmp_path / JOURNAL)
    entries = journal.read_new()
    assert journal.unreadable == 0
    assert sorted((e["who"], e["i"]) for e in entries) == sorted((who, i) for who in "ab" for i in range(60))


def test_torn_and_foreign_lines_are_left_out_and_said(fake, tmp_path, session):
    session.annotate("s-00001", verdict="right")
    path = tmp_path / "session" / "session.jsonl"
    with path.open("ab") as file:
        file.write(b'{"annotations": {"s-00002": {"verdi')
    Session(fake(path=tmp_path)).annotate("s-00003", verdict="wrong")
    with path.open("ab") as file:
        file.write(b'[1, 2]\n{"filter": "nonsense"}\n{"thresholds": {"support": 7}}\n')
    again = Session(fake(path=tmp_path))
    assert set(again.annotations) == {"s-00001", "s-00003"}
    assert again.filter == Filter()
    assert any("4 entries" in note for note in again.notes)


def test_a_journal_cannot_make_us_read_files_elsewhere(fake, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    JsonLines(tmp_path / "session" / JOURNAL).append(
        {"findings": [{"finding_id": "f", "title": "t", "figure": "../../secret.png"}], "order": ["f"]}
    )
    assert Session(fake(path=tmp_path)).findings[0].png() is None


def test_without_a_folder_it_says_so(fake):
    session = Session(fake())
    assert not session.saved and "memory" in session.notes[0]
    session.pin("kept", figure=b"x")
    assert session.findings[0].png() == b"x"


def test_a_folder_that_cannot_be_written_is_said(fake, tmp_path):
    (tmp_path / "session").write_text("a file stands where the folder should be")
    session = Session(fake(path=tmp_path))
    session.annotate("s-00001", verdict="right")
    assert session.annotations["s-00001"].verdict == "right"
    assert not session.saved and any("cannot be written" in note for note in session.notes)


def test_a_path_of_ones_own(fake, tmp_path):
    Session(fake(), path=tmp_path / "mine").annotate("s-00001", note="n")
    assert Session(fake(), path=tmp_path / "mine").annotations["s-00001"].note == "n"


def test_observers_hear_once_per_batch(session):
    heard = []
    session.observe(heard.append)
    session.set_filter(language="zh")
    session.set_filter(language="zh")
    with session.batch():
        session.set_filter(language="en")
        session.select("s-00001")
        session.set_thresholds(support=0.6)
    assert heard == [{"filter"}, {"filter", "selection", "thresholds"}]
    session.unobserve(heard.append)
    session.clear_filter()
    assert len(heard) == 2


def test_undo_and_reset(session):
    session.set_filter(language="zh")
    session.annotate("s-00000", verdict="wrong")
    finding = session.pin("x")
    session.remove_finding(finding.finding_id)
    assert session.undo() and session.findings == (finding,)
    assert session.undo() and session.undo()
    assert session.annotations == {}
    assert session.undo() and session.filter == Filter()
    assert not session.undo()
    session.set_low_score("faithfulness", 0.9)
    session.annotate("s-00000", verdict="wrong")
    session.reset()
    assert session.thresholds.low_cut("faithfulness") == 0.7 and "s-00000" in session.annotations


def test_undo_is_kept_on_disk_too(fake, tmp_path, session):
    session.annotate("s-00000", verdict="wrong")
    session.undo()
    assert Session(fake(path=tmp_path)).annotations == {}


def test_pins_can_be_ordered_and_edited(session):
    a, b, c = (session.pin(name) for name in "abc")
    session.move_finding(c.finding_id, -2)
    session.move_finding(a.finding_id, 99)
    session.edit_finding(b.finding_id, title="B", note="n")
    assert [item.title for item in session.findings] == ["c", "B", "a"]


def test_nothing_is_mutated(fake):
    evaluation = fake()
    before = evaluation.frame.copy(deep=True)
    session = Session(evaluation)
    session.set_low_score("faithfulness", 0.1)
    session.set_filter(text="日志")
    assert evaluation.thresholds.low_cut("faithfulness") == 0.7
    pd.testing.assert_frame_equal(evaluation.frame, before)


def test_another_evaluation_takes_the_place(fake, tmp_path, session):
    heard = []
    session.observe(heard.append)
    session.use(fake(n=6, path=tmp_path / "other"))
    assert len(session.matching()) == 6 and session.folder == tmp_path / "other" / "session"
    assert heard and "thresholds" in heard[-1]
