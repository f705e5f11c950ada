"""What every reader of a format returns: records as they stood in the source, with their row numbers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from workbench.language import text as _t

# ------------------------------------------------------------------------------
# Lists and dicts that were written into a cell as text: JSON, Python's and numpy's repr, LangChain documents.
#
# Nothing is ever evaluated: the text is read as a syntax tree of constants, lists and dicts, and nothing else counts.


#: Longest text that is parsed.
MAX_CHARACTERS = 20_000_000
#: Deepest nesting that is parsed.
MAX_DEPTH = 60

_STRING = r"""[rbuRBU]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_STRINGS_ONLY = re.compile(rf"\[\s*(?:{_STRING}(?:\s*,\s*|\s*))*\]\s*", re.DOTALL)
_ARRAY = re.compile(r"^(?:np\.|numpy\.)?array\((.*?)(?:,\s*dtype=[\w.'\"<>]+)?\)$", re.DOTALL)
_QUOTED = re.compile(_STRING, re.DOTALL)
_NAMES = dict.fromkeys(("None", "null", "nan", "NaN")) | {"True": True, "true": True, "False": False, "false": False}
_LOOKS_STRUCTURED = re.compile(
    r"""\s*(?:
        \[\s*(?:['"\[{\]]|Document\(|array\(|-?\d[\d.eE+-]*\s*(?:,|\]\s*$)|(?:nan|None|null)\s*[,\]])
      | \{\s*['"}]
      | \(\s*['"]
      | (?:np\.|numpy\.)?array\(
    )""",
    re.VERBOSE,
)


#: What a written list or dict may begin with.
_OPENS = frozenset("[{(na \t\r\n\f\v")


def looks_structured(text: str) -> bool:
    """Whether ``text`` begins like a written list or dict; ``"[1] according to …"`` does not."""
    return _LOOKS_STRUCTURED.match(text) is not None


def parse_literal(text: str) -> Any:
    """The list, dict or value that is written in ``text``.

    Raises ``ValueError`` when it cannot be read, is longer than ``MAX_CHARACTERS`` or nested deeper than ``MAX_DEPTH``.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"is longer than {MAX_CHARACTERS} characters")
    if _depth(text) > MAX_DEPTH:
        raise ValueError(f"is nested deeper than {MAX_DEPTH} levels")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _parse_python(text.strip())


def opened(value: Any) -> Any:
    """``value``, read back when it is an object or list written as text; text that is none stays."""
    if type(value) is str and value[:1] in _OPENS and looks_structured(value):
        try:
            return parse_literal(value)
        except ValueError:
            return value
    return value


def unquoted(value: Any) -> Any:
    """``value``, a text that was written as JSON with its quotes (``"\\"Yes.\\""``) without them."""
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _parse_python(text: str) -> Any:
    array = _ARRAY.match(text)
    if array:
        text = array.group(1).strip()
    if _STRINGS_ONLY.fullmatch(text):
        return [_string(match.group()) for match in _QUOTED.finditer(text)]
    try:
        return _value(ast.parse(_escape_breaks(text), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError("is no list or object that can be read") from error


def _string(written: str) -> str:
    """One quoted string, which may hold real line breaks."""
    if written[0] in "'\"" and "\\" not in written:
        return written[1:-1]
    try:
        value = ast.literal_eval(_break_free(written))
    except (SyntaxError, ValueError, MemoryError) as error:
        raise ValueError("holds a string that cannot be read") from error
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _break_free(written: str) -> str:
    return written.replace("\r", "\\r").replace("\n", "\\n").replace("\x00", "\\x00")


def _escape_breaks(text: str) -> str:
    if "\n" not in text and "\r" not in text and "\x00" not in text:
        return text
    return _QUOTED.sub(lambda match: _break_free(match.group()), text)


def _depth(text: str) -> int:
    """Deepest nesting of brackets outside quoted strings, at most a little more than ``MAX_DEPTH``."""
    if text.count("[") + text.count("{") + text.count("(") <= MAX_DEPTH:
        return 0
    deepest = depth = 0
    for bracket in re.findall(r"[\[\](){}]", _QUOTED.sub("", text)):
        depth += 1 if bracket in "[({" else -1
        deepest = max(deepest, depth)
    return deepest


def _value(node: ast.expr) -> Any:
    """The value of a syntax tree of constants, lists, dicts and ``Document(…)``."""
    if isinstance(node, ast.Constant):
        return node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {_key(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(_value(node.operand))
    if isinstance(node, ast.Call):
        return _call(node)
    raise ValueError("holds something that is no value")


def _key(node: ast.expr | None) -> str:
    key = None if node is None else _value(node)
    if isinstance(key, (str, int, float)):
        return str(key)
    raise ValueError("holds a key that is no text")


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)):
        return value
    raise ValueError("holds a sign before something that is no number")


def _call(node: ast.Call) -> Any:
    """``Document(page_content=…, metadata=…)`` as a dict, ``array([…])`` as a list, ``np.float64(…)`` as a number."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("Document", "TextNode", "NodeWithScore") and not node.args:
        return {word.arg or "": _value(word.value) for word in node.keywords}
    if name in ("array", "float64", "float32", "int64", "str_", "float", "int") and len(node.args) == 1:
        return _value(node.args[0])
    raise ValueError("holds a call")


# ------------------------------------------------------------------------------
# Records and remarks.


#: Keys of an object that holds spans of a tracing tool, and columns that only spans have.
SPAN_LISTS = (
    "resourceSpans", "resource_spans", "scopeSpans", "batches", "resourceLogs", "observations", "child_runs", "spans",
)
SPAN_MARKS = (
    "traceId", "traceID", "context.trace_id", "dotted_order", "record_attributes", "attributes.input.value",
    "gen_ai.operation.name", "op_name", "root_span_id", "customDimensions",
)  # fmt: skip

Row = dict[str, Any]

#: Row number of a remark about the whole source.
WHOLE_FILE = 0

_EXCERPT = 80


class Reason(NamedTuple):
    """A text of ``remarks`` with its values: put into words when it is shown, in the language that is in force then (that
    of the data is known only once all is read). Completes "this field …"."""

    key: str
    values: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return _t(f"remarks.{self.key}", **self.values)


def why(key: str, /, **values: Any) -> Reason:
    """The reason ``key`` with its values; whole numbers are grouped."""
    return Reason(key, {name: f"{value:,}" if type(value) is int else value for name, value in values.items()})


class Remark(NamedTuple):
    """One line of ``SampleSet.rejected`` or ``.warnings``. ``row`` counts records from 1; 0 is the whole source."""

    row: int
    field: str
    reason: Reason
    excerpt: str = ""


@dataclass
class Records:
    """Records of one source.

    ``rows`` are those that could be read, ``numbers`` their place in the source (the first record is 1); ``rejected``
    are the others, so that ``n_read == len(rows) + number of rejected rows``. ``kind`` says what was recognised;
    ``score_columns`` are those that a tool is known to have computed;
    ``may_hold_surrogates`` is False when the source cannot hold lone surrogates, which saves looking for them.
    """

    rows: Sequence[Mapping[str, Any]]
    numbers: list[int]
    kind: str
    rejected: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    name: str = "samples"
    source: str = ""
    columns: list[str] = field(default_factory=list)
    score_columns: frozenset[str] = frozenset()
    may_hold_surrogates: bool = True

    def __post_init__(self) -> None:
        if not self.columns:
            self.columns = list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def n_read(self) -> int:
        """Number of records in the source, readable or not."""
        return len(self.rows) + len({remark.row for remark in self.rejected})

    def with_rows(self, rows: Sequence[Mapping[str, Any]], anew: bool = False, **others: Any) -> Records:
        """The source with other rows, and columns in the order of their first appearance; numbered anew when that
        changes their number, or when asked for."""
        if anew or len(rows) != len(self.rows):
            rejected = [remark._replace(row=len(rows) + at) for at, remark in enumerate(self.rejected, 1)]
            others = {"numbers": list(range(1, len(rows) + 1)), "rejected": rejected, **others}
        return replace(self, rows=rows, columns=[], **others)


def mapped(records: Records, convert: Callable[[Row], Row]) -> Records:
    """``records`` with each row converted, columns in the order of their first appearance."""
    return records.with_rows([convert(dict(row)) for row in records.rows])


def renamed(records: Records, old: str, new: str) -> Records:
    """``records`` with the column ``old`` called ``new``."""
    return mapped(records, lambda row: {new if name == old else name: value for name, value in row.items()})


def expanded(records: Records, parts: Callable[[Row], list[Row]], what: str) -> Records:
    """``records`` with each row replaced by its parts, numbered anew when that changes their number."""
    rows = [part for row in records.rows for part in parts(dict(row))]
    reason = why(f"expanded_{what}", records=len(records.rows), n=len(rows))
    remarks = [Remark(WHOLE_FILE, "", reason)] if len(rows) != len(records.rows) else []
    return records.with_rows(rows, warnings=[*records.warnings, *remarks])


def as_list(value: Any) -> list[Any]:
    """A list, also one that was written as text; empty for anything else."""
    found = opened(value)
    return found if isinstance(found, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """An object with text keys; empty for anything else."""
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def number_records(items: Iterable[Any], kind: str) -> Records:
    """Number ``items`` from 1; those that are no mapping are rejected.  Keys become text."""
    rows: list[Mapping[str, Any]] = []
    numbers: list[int] = []
    rejected: list[Remark] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            rows.append(item if all(type(key) is str for key in item) else {str(k): v for k, v in item.items()})
            numbers.append(number)
        else:
            rejected.append(Remark(number, "", why("no_record"), excerpt(item)))
    return Records(rows, numbers, kind, rejected)


def excerpt(value: Any, limit: int = _EXCERPT) -> str:
    """``value`` as printable text of at most ``limit`` characters."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, (list, tuple, dict)) and len(value) > limit:
        text = f"{type(value).__name__} of {len(value)} items"
    else:
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # an integer of more than 4,300 digits, or nesting without end
            text = f"<{type(value).__name__}>"
    text = "".join(c if c.isprintable() else " " for c in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
