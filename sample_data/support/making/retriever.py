"""The small retriever of the fictional service: BM25 over words and pairs of Chinese characters."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable

from .files import Row

TOKEN = re.compile(r"[a-z0-9]+(?:[-.,][a-z0-9]+)*|[\u4e00-\u9fff]+")
STOP_WORDS = """
a an and are as at be by can do does for from how i if in is it its may me my of on or our the there this to
was we what when where which who why will with you your
"""
STOP = frozenset(STOP_WORDS.split())
K1, B = 1.2, 0.75


def tokens(text: str) -> list[str]:
    """Lower-case words without a plural s and overlapping pairs of Chinese characters."""
    found: list[str] = []
    for piece in TOKEN.findall(text.lower()):
        if "\u4e00" <= piece[0] <= "\u9fff":
            found += [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
        elif piece not in STOP:
            found.append(piece[:-1] if len(piece) > 3 and piece.endswith("s") else piece)
    return found


class Retriever:
    """BM25 (k1 1.2, b 0.75) over title and text of each chunk; ties in an order that looks random."""

    def __init__(self, chunks: Iterable[Row], title_weight: int = 1) -> None:
        self.chunks = {chunk["doc_id"]: chunk for chunk in chunks}
        texts = {key: f"{title_weight * (c['title'] + ' ')}{c['text']}" for key, c in self.chunks.items()}
        self.counts = {key: Counter(tokens(text)) for key, text in texts.items()}
        self.lengths = {key: sum(count.values()) for key, count in self.counts.items()}
        self.mean = sum(self.lengths.values()) / len(self.lengths)
        self.document_counts = Counter(token for count in self.counts.values() for token in count)

    def ranked(self, question: str, tenant: str | None) -> list[tuple[str, float]]:
        """Ids and scores of all chunks that the tenant may see, best first."""
        terms = sorted(set(tokens(question)))  # sorted: sums of floats depend on the order
        allowed = (key for key, chunk in self.chunks.items() if chunk["tenant"] in (None, tenant))
        scored = [(key, self._score(terms, key)) for key in allowed]
        return sorted(scored, key=lambda pair: (-pair[1], zlib.crc32(f"{question} {pair[0]}".encode())))

    def _score(self, terms: list[str], key: str) -> float:
        count, norm = self.counts[key], K1 * (1 - B + B * self.lengths[key] / self.mean)
        return sum(self._idf(term) * count[term] * (K1 + 1) / (count[term] + norm) for term in terms if term in count)

    def _idf(self, term: str) -> float:
        n = self.document_counts[term]
        return math.log(1 + (len(self.chunks) - n + 0.5) / (n + 0.5))
