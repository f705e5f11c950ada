"""Conversations as samples: the turn that is to be judged (or each), with what was said before it.

A conversation stands in one record as a list of messages, or is spread over records that share its id: one a message, or one
a question and answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from workbench.data.columns import fold, resolve
from workbench.data.fields import (
    TALKS,
    Message,
    Unreadable,
    answer,
    as_history,
    messages,
    question,
    retrieved_in,
    role_of,
)
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, opened, why
from workbench.errors import InputError

Row = dict[str, Any]

_IDS = ("conversation_id", "session_id", "thread_id", "chat_id", "dialogue_id", "conversation")
_TIMES = ("created_at", "timestamp", "start_time", "time", "turn", "turn_id", "message_index")
_TALKS = (*TALKS, "dialog", "input", "inputs", "chat", "histories")
#: Fields of a record that are about the whole conversation and so stay with each of its turns.
_SHARED = ("sample_id", "tenant", "tags", "case_type", "run")


class Turn(NamedTuple):
    """What the user asked at place ``at``, what was answered (None without), and the messages between the two."""

    at: int
    asked: str
    said: str | None
    between: list[Message]


def as_turns(records: Records, turns: str = "last", asked: str | None = None) -> Records:
    """Records of conversations with question, answer, history and the results of tools as columns of their own.

    Parameters
    ----------
    turns
        ``"last"``: the last thing that the user said, with its answer; ``"all"``: each.
    asked
        The column that the user said holds the question.

    Raises
    ------
    InputError
        For another value of ``turns``.
    """
    if turns not in ("last", "all"):
        raise InputError(f"turns={turns!r} is not known; use 'last' or 'all'")
    records = _gathered(records)
    known = resolve(records.columns, "sample")
    column = _talk_column(records, asked or known.get("question"), known)
    if column is None:
        return _with_earlier_rows(records, known)
    name = column if column in (asked, known.get("question")) else "question"
    rows: list[Row] = []
    unanswered, talks = 0, 0
    for number, row in zip(records.numbers, records.rows, strict=True):
        talk = messages(row.get(column))
        if talk is None or not any(one.role == "user" and one.text is not None for one in talk):
            rows.append(dict(row))
            continue
        talks += 1
        parts, left = _samples_of(dict(row), talk, column, name, known, turns, number)
        unanswered += left
        rows += parts
    warnings = list(records.warnings)
    if len(rows) > len(records.rows):
        reason = why("turns", talks=talks, turns=len(rows))
        warnings.append(Remark(WHOLE_FILE, name, reason))
    elif any(row.get("history") for row in rows):
        reason = why("last_turn", talks=talks)
        warnings.append(Remark(WHOLE_FILE, name, reason))
    if unanswered:
        reason = why("unanswered", n=unanswered)
        warnings.append(Remark(WHOLE_FILE, name, reason))
    return records.with_rows(rows, warnings=warnings)


def _talk_column(records: Records, asked: str | None, known: Mapping[str, str]) -> str | None:
    """The column that holds conversations; the one of the questions when that does."""
    taken = {known.get(field) for field in ("answer", "contexts", "reference", "history", "expected_docs")} - {asked}
    named = [name for name in records.columns if fold(name) in _TALKS and name not in taken]
    for name in dict.fromkeys([asked, *named] if asked else [*named, *(n for n in records.columns if n not in taken)]):
        if any(messages(row.get(name)) is not None for row in records.rows[:50]):
            # Beside a question in plain words, messages are what was said before, or the prompt.
            plain = name != asked and any(asked and isinstance(row.get(asked), str) for row in records.rows[:50])
            return None if plain else name
    return None


def _samples_of(
    row: Row, talk: list[Message], column: str, name: str, known: Mapping[str, str], turns: str, number: int
) -> tuple[list[Row], int]:
    """The records of the turns to be judged, and 1 when the last message was never answered."""
    said = known.get("answer")
    recorded = said is not None and said != column and row.get(said) is not None
    chosen = list(_turns(talk))
    last = chosen[-1]
    left = int(not recorded and last.said is None and any(turn.said is not None for turn in chosen))
    chosen = chosen if turns == "all" else [last]
    shared = {known[field] for field in _SHARED if field in known} | (set(row) - set(known.values()))
    identity = row.get(known.get("sample_id", "")) or number
    parts = []
    for place, turn in enumerate(chosen, 1):
        part = {key: value for key, value in row.items() if (turn is last or key in shared) and key != column}
        part[name] = turn.asked
        if not (recorded and turn is last):
            part[said if said and said != column else "answer"] = turn.said
        if history := as_history(talk[: turn.at]):
            part.setdefault("history", history)
        _add_contexts(part, turn, known)
        if len(chosen) > 1:
            part[known.get("sample_id", "sample_id")] = f"{identity}/{place}"
        parts.append(part)
    return parts, left


def _turns(talk: Sequence[Message]) -> Iterator[Turn]:
    """Each message of the user (several in a row are one) with the last thing that was answered to it."""
    at = 0
    while at < len(talk):
        if talk[at].role != "user" or talk[at].text is None:
            at += 1
            continue
        first, asked = at, []
        while at < len(talk) and talk[at].role == "user":
            asked.append(talk[at].text or "")
            at += 1
        start = at
        while at < len(talk) and talk[at].role != "user":
            at += 1
        between = list(talk[start:at])
        said = [one.text for one in between if one.role == "assistant" and one.text]
        yield Turn(first, "\n".join(asked), said[-1] if said else None, [*talk[first:start], *between])


def _add_contexts(part: Row, turn: Turn, known: Mapping[str, str]) -> None:
    """Contexts that a message of the turn carries, and what tools returned, where the record has none of its own."""
    column = known.get("contexts", "contexts")
    if part.get(column) is not None:
        return
    for one in turn.between:
        own = resolve([key for key in map(str, one.item) if fold(key) not in ("content", "text", "value")], "sample")
        if isinstance(one.item.get(own.get("contexts", "")), list):
            part[column] = one.item[own["contexts"]]
        elif found := retrieved_in({k: v for k, v in one.item.items() if k not in ("content", "value", "kwargs")}):
            part[column] = found
        elif one.role == "assistant" and isinstance(one.item.get("context"), str):
            part[column] = one.item["context"]
        if isinstance(one.item.get(own.get("rewritten_question", "")), str):
            part["rewritten_question"] = one.item[own["rewritten_question"]]
    tools = [{"text": one.text, "kind": "tool"} for one in turn.between if one.role == "tool" and one.text]
    if tools and part.get(column) is None:
        part[column] = tools


# ------------------------------------------------------------------------------
# Conversations that are spread over records.


def _column(records: Records, names: Sequence[str]) -> str | None:
    return next((column for name in names for column in records.columns if fold(column) == name), None)


def _gathered(records: Records) -> Records:
    """Records of one message each, as one record a conversation."""
    role, key = _column(records, ("role", "speaker", "sender")), _column(records, _IDS)
    said = _column(records, ("content", "text", "message", "value"))
    if role is None or key is None or said is None or "question" in resolve(records.columns, "sample"):
        return records
    if not any(role_of(row.get(role)) for row in records.rows[:50]):
        return records
    talks: dict[Any, list[Row]] = {}
    for row in _in_time(records, records.rows):
        talks.setdefault(str(row.get(key)), []).append(row)
    rows = [{"sample_id": name, "messages": [{**m, "role": m.get(role), "content": m.get(said)} for m in talk]}
            for name, talk in talks.items()]  # fmt: skip
    reason = why("gathered", messages=len(records.rows), talks=len(rows))
    return records.with_rows(rows, anew=True, warnings=[*records.warnings, Remark(WHOLE_FILE, key, reason)])


def _in_time(records: Records, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    time = _column(records, _TIMES)
    values: list[Any] = [row.get(time) for row in rows] if time else []
    if not values or len({type(value) for value in values}) > 1 or not isinstance(values[0], (str, int, float)):
        return [dict(row) for row in rows]
    if isinstance(values[0], str) and all(value.lstrip("-").isdigit() for value in values):
        values = list(map(int, values))
    return [dict(rows[at]) for at in sorted(range(len(rows)), key=values.__getitem__)]


def _with_earlier_rows(records: Records, known: Mapping[str, str]) -> Records:
    """Records that share a conversation: the earlier ones are the history of the later."""
    key, asked = _column(records, _IDS), known.get("question")
    if key is None or asked is None or key == asked or "history" in known:
        return records
    shared = [row.get(key) for row in records.rows]
    if not any(isinstance(value, (str, int)) for value in shared) or len(set(map(str, shared))) == len(shared):
        return records
    places = {id(row): at for at, row in enumerate(records.rows)}
    rows = [{**row, "history": None} for row in records.rows]
    order = _in_time(records, [{**row, "\0": places[id(row)]} for row in records.rows])
    earlier: dict[str, list[Row]] = {}
    for row in order:
        at = row["\0"]
        if (name := row.get(key)) is None:
            continue
        talk = earlier.setdefault(str(name), [])
        rows[at]["history"] = list(talk) or None
        for role, reader, field in (("user", question, "question"), ("assistant", answer, "answer")):
            if (said := _read(reader, opened(row.get(known.get(field, ""))))) is not None:
                talk.append({"role": role, "content": said})
    return replace(records, rows=rows, columns=[*records.columns, "history"])


def _read(reader: Any, value: Any) -> str | None:
    try:
        return reader(value)
    except Unreadable:
        return None
