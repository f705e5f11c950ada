"""Words that mean the same, kinds and what belongs to them, members that exclude each other: a small own lexicon.

Words are compared by the ids of :func:`word_id`. The lists are ``lexicon.toml`` and
``antonyms.toml`` of each language; a word that is in no list has neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.data.text.normalise import unaccented
from workbench.data.text.words import stem
from workbench.language import languages

_NONE: frozenset[int] = frozenset()
_Ids = dict[int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Id of a word → ids of others.

    Attributes
    ----------
    same
        Words of the same meaning.
    members, kinds
        What belongs to a kind (dog → poodle), and the kinds that a word belongs to (poodle → dog, animal).
    rivals
        Other members of a list that exclude each other (red → blue).
    opposites
        Listed opposites.
    """

    same: _Ids
    members: _Ids
    kinds: _Ids
    rivals: _Ids
    opposites: _Ids

    def alike(self, word: int) -> frozenset[int]:
        """What may stand in a text instead of ``word`` when it is claimed: the same, or a member of that kind."""
        return self.same.get(word, _NONE) | self.members.get(word, _NONE)


@cache
def lexicon() -> Lexicon:
    """The lexicon of all languages; words of different scripts never meet."""
    same: dict[int, set[int]] = {}
    members: dict[int, set[int]] = {}
    rivals: dict[int, set[int]] = {}
    opposites: dict[int, set[int]] = {}
    for table in tables("lexicon"):
        for line in table["same"].strip().splitlines():
            _join(same, line.split())
        for kind, listed in table["broader"].items():
            members.setdefault(word_id(kind), set()).update(map(word_id, listed.split()))
        for listed in table["exclusive"].values():
            _join(rivals, listed.split())
    for left, right in opposite_lists():
        for mine, others in ((left, right), (right, left)):
            ids, facing = set(map(word_id, mine)), set(map(word_id, others))
            for word in ids:
                opposites.setdefault(word, set()).update(facing - ids)
    members = _closed(members)
    kinds: dict[int, set[int]] = {}
    for kind_id, ids in members.items():
        for word in ids:
            kinds.setdefault(word, set()).add(kind_id)
    return Lexicon(_frozen(same), _frozen(members), _frozen(kinds), _frozen(rivals), _frozen(opposites))


def tables(name: str) -> Iterator[dict[str, Any]]:
    """The table ``name`` of every language that has it."""
    return (item.table(name) for item in languages() if item.table(name))


@cache
def opposite_lists() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The two sides of each line of listed opposites, as written."""
    lines = [line for table in tables("antonyms") for line in table["pairs"].strip().splitlines()]
    sides = [line.split(" : ") for line in lines]
    return tuple((tuple(left.split()), tuple(right.split())) for left, right in sides)


def _join(found: dict[int, set[int]], words: Iterable[str]) -> None:
    ids = set(map(word_id, words))
    for word in ids:
        found.setdefault(word, set()).update(ids - {word})


def _closed(members: dict[int, set[int]]) -> dict[int, set[int]]:
    """A member of a member belongs to the kind too; three steps are more than the lists hold."""
    for _ in range(3):
        for kind, ids in members.items():
            more = set().union(*(members.get(word, set()) for word in ids))
            members[kind] = (ids | more) - {kind}
    return members


def _frozen(found: dict[int, set[int]]) -> _Ids:
    return {word: frozenset(others) for word, others in found.items() if others}


def word_id(word: str) -> int:
    """A 64-bit hash of the stem of a folded word, equal in every process."""
    digest = hashlib.blake2b(stem(unaccented(word.replace(",", ""))).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
