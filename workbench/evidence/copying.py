"""Near-verbatim copies: runs of an answer's characters that stand in some documents and in none that it may use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from workbench.data.text import normalise

#: Characters (letters and digits, no spaces) that make a copied run; Chinese carries more in each.
RUN_LATIN = 24
RUN_HAN = 10

#: Documents are indexed at every n-th character; a copy is found from this many characters beyond a run on.
STRIDE = 3


class Copies:
    """An index of the runs of documents, by which an answer that copies from them is recognised.

    Runs that also stand in one of the ``free`` texts, which everybody may read, are left out.
    """

    def __init__(self, documents: Mapping[str, str], free: Iterable[str] = ()) -> None:
        self._owners: dict[str, set[str]] = {}
        for key, text in documents.items():
            for run in _runs(text, STRIDE):
                self._owners.setdefault(run, set()).add(key)
        if self._owners:
            for text in free:
                for run in _runs(text) & self._owners.keys():
                    del self._owners[run]

    def shares(self, answer: str, allowed: Iterable[str], among: Collection[str] | None = None) -> dict[str, float]:
        """Documents that the answer copies from → share of its runs found there, in (0, 1].

        Runs that also stand in one of the ``allowed`` texts, or in an indexed document that is not ``among`` those in
        question, do not count.
        """
        if not self._owners:
            return {}
        runs = _runs(answer)
        hits = {run: self._owners[run] for run in runs & self._owners.keys()}
        if among is not None:
            hits = {run: owners for run, owners in hits.items() if all(owner in among for owner in owners)}
        free: set[str] = set().union(*(_runs(text) for text in allowed)) if hits else set()
        counts: dict[str, int] = {}
        for owner in (owner for run, owners in hits.items() if run not in free for owner in owners):
            counts[owner] = counts.get(owner, 0) + 1
        return {owner: n / len(runs) for owner, n in counts.items()}


def _runs(text: str, stride: int = 1) -> set[str]:
    letters = "".join(c for c in normalise(text) if c.isalnum())
    han = sum("\u4e00" <= c <= "\u9fff" for c in letters)
    length = RUN_HAN if han * 3 >= len(letters) else RUN_LATIN
    return {letters[i : i + length] for i in range(0, len(letters) - length + 1, stride)}
