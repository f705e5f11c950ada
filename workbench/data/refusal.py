"""What a source looks like that is no sample set, and what to do: one line for the error."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.data.columns import fold, is_score, near_miss, resolve
from workbench.data.formats.records import Records, excerpt
from workbench.errors import InputError


def no_question(records: Records, columns: Mapping[str, str], where: str) -> InputError:
    """The error for ``records`` in which no column holds the questions."""
    names = [name for name in records.columns if name]
    near = next((name for name in names if near_miss(name, taken=columns) == "question"), None)
    if near is not None:
        return InputError(
            f"{where}: no column of questions; is it {near!r}? Then pass mapping={{{near!r}: 'question'}}"
        )
    return InputError(f"{where}: {_looks_like(records, columns, names)}")


def _looks_like(records: Records, columns: Mapping[str, str], names: list[str]) -> str:
    shown = excerpt(", ".join(names), 110)
    if _is_transposed(records, names):
        return f"looks like a transposed table (fields stand in rows: {shown}); transpose it, one row for each question"
    first = [row.get(names[0]) for row in records.rows[:50]] if names else []
    if any(isinstance(value, str) and is_score(value) for value in first):
        return f"looks like a table of aggregate scores ({shown}); give the file with one record for each question"
    if names and all(is_score(name) for name in names):
        return f"holds scores without questions ({shown}); give the file that has question and answer beside them"
    if names and all(name.isdigit() for name in names):
        return _numbered(records)
    if "text" in resolve(names, "corpus") and "answer" not in columns:
        return f"looks like a corpus ({shown}); read it with load_corpus, and give load_samples the questions"
    hint = "name it with mapping={'your column': 'question'}"
    return f"no column of questions among {shown}; {hint}" if names else "holds no columns; give one with questions"


def _is_transposed(records: Records, names: list[str]) -> bool:
    """Whether the names of our fields stand in the first column, or as the rows of numbered columns."""
    if not records.rows or not names:
        return False
    first = [row.get(names[0]) for row in records.rows[:50]]
    known = resolve([value for value in first if isinstance(value, str) and len(value) < 60], "sample")
    return len(known) >= 2 and ("question" in known or fold(names[0]) == "question")


def _numbered(records: Records) -> str:
    inner = next((value for value in records.rows[0].values()), None)
    keys = excerpt(", ".join(map(str, inner)), 60) if isinstance(inner, Mapping) else excerpt(inner, 60)
    return f"looks like a table of scores by number without questions ({keys}); give the file that has the questions"
