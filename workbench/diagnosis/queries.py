"""What kind of question each sample asks: types by readable cues, in English and Chinese.

The cues stand in ``query_types.toml`` as regular expressions over the normalised question (lower case, simplified
characters, half width), so that anybody can read why a question was given a type, and change it. They may stand anywhere
in the question, whole words only: "however" is no how-question. A question can have several types ("when and where").

==============  ====================================================================================
who             asks for a person ("which team" is ``which``)          谁、哪位
what            asks for a thing with the word what                    什么、啥
when            asks for a time: a point, a duration, how often        什么时候、几点、多久
where           asks for a place                                       哪里、在哪
why             asks for a reason                                      为什么、怎么会
how             asks for a manner; not "how many", not "how come"      怎么、如何
procedure       asks what steps to take (always ``how`` as well)       怎么重置…、流程、步骤
how_many        asks for a number, an amount, a measure                多少、几个、多大
which           asks to choose among some                              哪个、哪些
yes_no          can be answered with yes or no                         吗、是否、能不能
comparison      sets things against each other, "is it a or b"         区别、比…更、还是
list            asks for several items                                 哪些、列出
definition      asks what a word means                                 什么是、什么意思
keyword         a few words and no sentence
other           none of these
==============  ====================================================================================
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.normalising import HAN_CHARACTER, normalise
from workbench.data.schema import NESTED_FIELDS
from workbench.errors import InputError
from workbench.evidence.restore import own_columns

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from workbench.evidence.frames import Evidence

#: Types in the order of the columns.
TYPES = (
    "who", "what", "when", "where", "why", "how", "procedure", "how_many", "which", "yes_no", "comparison", "list",
    "definition", "keyword", "other",
)  # fmt: skip
_BY_CUES = TYPES[:-2]
#: Characters of a question that are looked at.
LONGEST = 2000
_LATIN = re.compile("[a-z]+")
_PART = re.compile(r"\{([a-z]+)\}")
_TOKEN = re.compile(r"[^\s,;、]+")


@dataclass(frozen=True)
class _Rule:
    cues: re.Pattern[str]
    unless: re.Pattern[str] | None
    needs: tuple[str, ...] = ()

    def holds(self, question: str) -> bool:
        """Whether the rule matches a question."""
        if self.needs and not any(word in question for word in self.needs):
            return False
        return bool(self.cues.search(question)) and not (self.unless and self.unless.search(question))


@dataclass(frozen=True)
class _Rules:
    """The rules of one language."""

    ignored: re.Pattern[str]
    types: Mapping[str, _Rule]
    sentence: re.Pattern[str]
    longest: int


@cache
def _cues() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("query_types.toml").read_text(encoding="utf-8"))


def _joined(patterns: Sequence[str], parts: Mapping[str, str]) -> re.Pattern[str]:
    filled = [_PART.sub(lambda match: parts[match[1]], pattern) for pattern in patterns]
    return re.compile("|".join(filled))


@cache
def _rules(language: str) -> _Rules:
    cues = _cues()
    parts = cues["parts"]
    types = {}
    for name in _BY_CUES:
        unless = cues[name].get("unless", {}).get(language)
        needs = tuple(cues[name].get("needs", {}).get(language, ()))
        types[name] = _Rule(_joined(cues[name][language], parts), _joined(unless, parts) if unless else None, needs)
    keyword = cues["keyword"]
    sentence = _joined(keyword["unless"][language], parts)
    return _Rules(_joined(cues["ignored"][language], parts), types, sentence, keyword["longest"][language])


@cache
def _implied() -> tuple[tuple[str, str], ...]:
    return tuple((name, other) for name in _BY_CUES for other in _cues()[name].get("implies", ()))


def types_of(question: str) -> frozenset[str]:
    """The types of one question, at least one; ``other`` and ``keyword`` never stand beside another."""
    text = normalise(question[:LONGEST])
    found: set[str] = set()
    languages = _languages(text)
    for language in languages:
        rules = _rules(language)
        kept = rules.ignored.sub(" ", text)
        found.update(name for name, rule in rules.types.items() if rule.holds(kept))
    found.update(other for name, other in _implied() if name in found)
    if found:
        return frozenset(found)
    return frozenset({"keyword" if _is_keywords(text, languages[0]) else "other"})


def _languages(text: str) -> tuple[str, ...]:
    """Whose cues apply: Chinese where there is a Han character, English without, both where a text is mixed."""
    if not HAN_CHARACTER.search(text):
        return ("en",)
    return ("zh", "en") if len(_LATIN.findall(text)) >= 3 else ("zh",)


def _is_keywords(text: str, language: str) -> bool:
    rules = _rules(language)
    size = len(text.replace(" ", "")) if language == "zh" else len(_TOKEN.findall(text))
    return 0 < size <= rules.longest and not rules.sentence.search(text)


def type_matrix(questions: Iterable[str]) -> NDArray[np.bool_]:
    """(n, len(TYPES)): which types each question has; each distinct question is read once."""
    place = {name: at for at, name in enumerate(TYPES)}
    known: dict[str, list[int]] = {}
    rows: list[int] = []
    columns: list[int] = []
    n = 0
    for question in questions:
        found = known.get(question)
        if found is None:
            found = known[question] = [place[name] for name in types_of(question)]
        rows.extend([n] * len(found))
        columns.extend(found)
        n += 1
    matrix = np.zeros((n, len(TYPES)), dtype=bool)
    matrix[rows, columns] = True
    return matrix


def sample_frame(source: Any) -> pd.DataFrame:
    """The samples of an evaluation (all fields but contexts), of a set of samples, or the frame itself.

    Raises
    ------
    InputError
        When there are no questions in it.
    """
    import pandas as pd

    frame: pd.DataFrame
    if isinstance(source, pd.DataFrame):
        frame = source
    elif hasattr(source, "evidence"):
        frame = _recorded(source.evidence)
    else:
        frame = source.frame if hasattr(source, "frame") else source.samples.frame
    if "question" not in frame.columns:
        raise InputError("there is no column “question” in what was given; give an evaluation or a set of samples")
    return frame


def _recorded(evidence: Evidence) -> pd.DataFrame:
    """The recorded fields without contexts, which take long to unpack and are not asked for here."""
    import pandas as pd

    names = [name for name in own_columns(evidence) if name != "contexts"]
    columns = {name: evidence.nested(name) if name in NESTED_FIELDS else evidence.plain(name) for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}).set_axis(evidence.ids)


def questions_of(frame: pd.DataFrame) -> list[str]:
    """The questions as text; a missing one is empty."""
    return [item if isinstance(item, str) else "" for item in frame["question"].tolist()]


def query_types(source: Any) -> pd.DataFrame:
    """The types of every question.

    Parameters
    ----------
    source
        An ``Evaluation``, a ``SampleSet``, or a frame with a column ``question``.

    Returns
    -------
    DataFrame, index ``sample_id``, one boolean column for each of :data:`TYPES`; at least one holds in every row.

    Raises
    ------
    InputError
        When there are no questions in it.
    """
    import pandas as pd

    frame = sample_frame(source)
    return pd.DataFrame(type_matrix(questions_of(frame)), index=frame.index, columns=list(TYPES))
