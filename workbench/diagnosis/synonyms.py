"""A table of synonyms that a reader accepts, edits and exports, and what it would rescue under BM25.

A synonym ``(term, replacement)`` says: a question with *term* should also find documents with *replacement*.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.files import write_text
from workbench.data.text.normalise import normalise
from workbench.errors import InputError
from workbench.evidence.corpus_index import CorpusIndex, terms
from workbench.evidence.corpus_ranks import Miss


@dataclass(frozen=True, slots=True)
class Synonym:
    """One accepted pair, both normalised; ``kind`` says how it was found (``edited`` by the reader)."""

    term: str
    replacement: str
    kind: str = "edited"


class SynonymTable:
    """Accepted synonyms in order, each pair once; on disk as soon as they change when a file is given.

    Parameters
    ----------
    path
        JSON file; read when it exists.

    Raises
    ------
    InputError
        When the file is there and is no table of synonyms.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._pairs: dict[tuple[str, str], Synonym] = {}
        if self.path is not None and self.path.is_file():
            self._pairs = {(s.term, s.replacement): s for s in read_synonyms(self.path)}

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Any:
        return iter(list(self._pairs.values()))

    def accept(self, term: str, replacement: str, kind: str = "edited") -> Synonym:
        """Add a pair. Raises ``InputError`` when either side is empty or both are the same."""
        pair = Synonym(normalise(term), normalise(replacement), kind)
        if not pair.term or not pair.replacement or pair.term == pair.replacement:
            raise InputError(f"synonym {term!r} = {replacement!r}: give two different words")
        self._pairs[pair.term, pair.replacement] = pair
        self._write()
        return pair

    def remove(self, term: str, replacement: str) -> None:
        """Take a pair out; an unknown one is no error."""
        self._pairs.pop((normalise(term), normalise(replacement)), None)
        self._write()

    def groups(self) -> dict[str, list[str]]:
        """Term → its replacements, in the order of acceptance."""
        found: dict[str, list[str]] = {}
        for pair in self:
            found.setdefault(pair.term, []).append(pair.replacement)
        return found

    def _write(self) -> None:
        if self.path is not None:
            write_text(self.path, export_json(self))


def read_synonyms(path: Path) -> list[Synonym]:
    """The pairs of a file that :func:`export_json` wrote. Raises ``InputError`` for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["synonyms"]
        return [Synonym(str(item["term"]), str(item["replacement"]), str(item.get("kind", "edited"))) for item in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no table of synonyms ({error}); move it away to start a new one") from error


# ---------------------------------------------------------------- formats


def export_json(table: Iterable[Synonym]) -> str:
    """``{"synonyms": [{"term", "replacement", "kind"}]}``."""
    rows = [{"term": s.term, "replacement": s.replacement, "kind": s.kind} for s in table]
    return json.dumps({"synonyms": rows}, ensure_ascii=False, indent=1) + "\n"


def export_solr(table: SynonymTable) -> str:
    """Lucene's text format (Solr, Elasticsearch and OpenSearch ``synonyms_path``): ``term => term, replacement``."""
    lines = [f"{_lucene(t)} => {', '.join(map(_lucene, [t, *others]))}" for t, others in table.groups().items()]
    return "\n".join(lines) + ("\n" if lines else "")


def export_elasticsearch(table: SynonymTable) -> str:
    """Body of Elasticsearch's ``PUT _synonyms/<set>``."""
    rules = [
        {"id": f"rule-{number}", "synonyms": line}
        for number, line in enumerate(export_solr(table).splitlines(), start=1)
    ]
    return json.dumps({"synonyms_set": rules}, ensure_ascii=False, indent=1) + "\n"


def export_meilisearch(table: SynonymTable) -> str:
    """Meilisearch's ``synonyms`` setting: ``{term: [replacement, …]}``."""
    return json.dumps(table.groups(), ensure_ascii=False, indent=1) + "\n"


def _lucene(word: str) -> str:
    """A word with the format's own signs escaped."""
    return word.replace("\\", "\\\\").replace(",", "\\,").replace("=>", "\\=>")


#: Format → (function, name of the file).
FORMATS: Mapping[str, tuple[Callable[[Any], str], str]] = {
    "json": (export_json, "synonyms.json"),
    "solr": (export_solr, "synonyms.txt"),
    "elasticsearch": (export_elasticsearch, "synonyms_elasticsearch.json"),
    "meilisearch": (export_meilisearch, "synonyms_meilisearch.json"),
}


def save_synonyms(table: SynonymTable, folder: str | Path, formats: Sequence[str] = tuple(FORMATS)) -> list[Path]:
    """Write the table to ``folder`` in each of ``formats``.

    Raises ``InputError`` for an unknown format or a folder that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise InputError(f"synonym format {unknown[0]!r} is not known; use {', '.join(FORMATS)}")
    return [write_text(Path(folder) / FORMATS[name][1], FORMATS[name][0](table)) for name in formats]


# ---------------------------------------------------------------- preview


def expanded(question: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Index terms of a question with the synonyms of the words that stand in it."""
    plain = normalise(question)
    mine = terms(question)
    known = set(mine)
    for term, others in groups.items():
        wanted = terms(term)
        if term in plain and (not wanted or known.issuperset(wanted)):
            mine += [new for other in others for new in terms(other)]
    return mine


def rescued(misses: Sequence[Miss], index: CorpusIndex, table: SynonymTable, k: int, match: str = "chunk") -> list[bool]:
    """Which misses BM25 over the expanded question finds among its first ``k`` documents."""
    groups = table.groups()
    found = []
    for miss in misses:
        scores = index.lexical.scores(expanded(miss.question, groups))
        places = index.places(miss.doc_id, match)
        found.append(any(scores[place] > 0 and index.lexical.rank(scores, place) <= k for place in places))
    return found
