"""An error is one box in plain words, in the reader's language, and the traceback stays within reach."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import CancelledError, InputError, JudgeError
from workbench.language import speaking
from workbench.views.error_box import error_html, error_text, parts


def caught(action):
    with pytest.raises(wb.WorkbenchError) as info:
        action()
    return info.value


@pytest.mark.parametrize(
    ("language", "what", "remedy"),
    [("en", "There is no such file", "Did you mean “mine.csv”?"), ("zh", "找不到这个文件", "是不是“mine.csv”")],
)
def test_a_file_that_is_not_there(tmp_path, language, what, remedy):
    (tmp_path / "mine.csv").write_text("question\nq\n")
    error = caught(lambda: wb.load_samples(tmp_path / "mina.csv"))
    with speaking(language):
        told = parts(error)
        assert told["where"].endswith("mina.csv") and what in told["what"] and remedy in told["remedy"]
        assert str(tmp_path) in told["what"] and "Traceback" in error_html(error)
        assert "Traceback" not in error_html(error, details=False)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b\x08\x00broken", b"%PDF-1.4", b"Customer asked\nx\n", b"a,b\n1,2\n", b"once upon a time"],
)
def test_every_common_one_has_words_in_both_languages(tmp_path, content):
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    error = caught(lambda: wb.load_samples(path))
    assert error.key
    for language in ("en", "zh"):
        with speaking(language):
            assert set(parts(error)) == {"where", "what", "remedy"} and "{" not in parts(error)["what"]


def test_a_folder_names_what_it_holds(tmp_path):
    (tmp_path / "mine.csv").write_text("question\nq\n")
    told = error_text(caught(lambda: wb.open(tmp_path)))
    assert "It holds: mine.csv" in told and "What to do: " in told


def test_an_error_without_a_text_is_parted_by_its_own_punctuation():
    assert parts(InputError("run.csv: row 3, answer is a list; give text")) == {
        "where": "run.csv", "what": "row 3, answer is a list", "remedy": "give text",
    }  # fmt: skip
    assert parts(JudgeError("no answer")) == {"what": "no answer"}
    assert error_text(CancelledError("stopped")).startswith("✗ Cancelled")


def test_a_hostile_name_stays_text():
    assert "<script>" not in error_html(InputError("<script>alert(1)</script>: is empty; give more"))


def test_ipython_shows_the_box_and_one_line(tmp_path, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.views.error_box import show_error

    shell, shown = InteractiveShell(), []
    shell.display_pub.publish = shown.append
    shell.set_custom_exc((wb.WorkbenchError,), show_error)
    result = shell.run_cell(f"import workbench as wb; wb.load_samples({str(tmp_path / 'gone.csv')!r})")
    assert isinstance(result.error_in_exec, InputError)
    assert "There is no such file" in shown[0]["text/html"] and "There is no such file" in shown[0]["text/plain"]
    said = "".join(capsys.readouterr())
    assert "The cell stopped here" in said and "Traceback" not in said
