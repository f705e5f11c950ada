"""Words that never meet: which terms of a question stand in the missed document, and what that document says instead.

A question's *content terms* are its words without function words, normalised (width, case, traditional or simplified).
A term stands in a document when it is one of its words, or, in a script that does not part words, a stretch of its text:
the segmenter cuts the same characters differently in different sentences. Its weight is BM25's inverse document
frequency; a term that stands in no document of the corpus has the highest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workbench.data.text.normalise import normalise, unspaced
from workbench.data.text.words import char_ngrams, content_words, stem, words
from workbench.diagnosis.queries import LONGEST, outcomes, questions_of, sample_frame
from workbench.diagnosis.statistics import Z
from workbench.evidence.corpus_index import CorpusIndex, Floats, dice, idf
from workbench.evidence.corpus_ranks import Miss, as_corpus, find_misses, with_ids
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.encoders.resolve import percentile
from workbench.language import languages

# ------------------------------------------------------------------------------
# Words that one group of questions has more often than the others, against their base rates.
#
# A word's log-odds in one group against another, with a prior that pulls rare words to what both groups have in common
# (Monroe, Colaresi & Quinn 2008, "Fightin' Words", with the overall share of each word as informative prior). A question
# counts once for a word, so the multinomial of the paper is a binomial per word and the Dirichlet prior a beta.


TERM_COLUMNS = ("term", "n", "n_failing", "rate", "base_rate", "share_failing", "share_passing", "log_odds", "low", "high",
           "p_value", "q_value")  # fmt: skip
#: Weight of the prior, in questions on each side.
PRIOR = 10.0


class LogOdds(NamedTuple):
    """Per term: log-odds ratio (positive = more in the first group), its 95 % interval, and z."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    z: NDArray[np.float64]


def log_odds(first: Any, second: Any, n_first: int, n_second: int, prior: float = PRIOR) -> LogOdds:
    """Log-odds ratios of terms in two groups, with an informative prior.

    δ = ln((y₁ + α) / (n₁ + α₀ − y₁ − α)) − the same of the second group, α = α₀ · (y₁ + y₂) / (n₁ + n₂);
    var δ ≈ the sum of the four reciprocals.

    Parameters
    ----------
    first, second
        (t,) texts of each group that have the term.
    n_first, n_second
        Texts in each group.
    prior
        α₀, above 0.

    Returns
    -------
    Arrays of shape (t,); NaN for a term that every text has or none.
    """
    y1, y2 = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    share = (y1 + y2) / max(n_first + n_second, 1)
    alpha = np.where((share > 0) & (share < 1), prior * share, np.nan)
    cells = (y1 + alpha, n_first + prior - y1 - alpha, y2 + alpha, n_second + prior - y2 - alpha)
    value = np.log(cells[0] / cells[1]) - np.log(cells[2] / cells[3])
    spread = np.sqrt(sum(1 / cell for cell in cells))
    return LogOdds(value, value - Z * spread, value + Z * spread, value / spread)


def failing_terms(evaluation: Any, *, min_n: int = 3, top: int = 30) -> pd.DataFrame:
    """Content words that are over-represented in the questions of failing samples.

    Parameters
    ----------
    min_n
        Tested questions that a word stands in at least.
    top
        Rows at most.

    Returns
    -------
    DataFrame, the surest first (by the lower end of the interval): ``term`` (normalised), ``n`` tested questions with it,
    ``n_failing``, ``rate`` failing among them, ``base_rate`` failing among all, ``share_failing`` and ``share_passing`` =
    share of failing and of passing questions that have it, ``log_odds`` with its 95 % interval ``low, high``, one-sided
    ``p_value`` and ``q_value`` (Benjamini–Hochberg over all words). Only words that lean to failing (log-odds above 0).

    Examples
    --------
    >>> "term" in wb.failing_terms(wb.load_evaluation("evaluations/baseline"))
    True
    """
    found = outcomes(evaluation)
    questions = np.array(questions_of(sample_frame(evaluation)), dtype=object)
    return terms_of(questions[found.tested], found.failed[found.tested], min_n=min_n, top=top)


def terms_of(questions: Iterable[str], chosen: ArrayLike, *, min_n: int = 3, top: int = 30) -> pd.DataFrame:
    """:func:`failing_terms` of questions some of which are ``chosen``: those that fail, or those with a miss."""
    from scipy.stats import false_discovery_control, norm

    own = np.asarray(chosen, dtype=bool)
    words = pd.Series([list(set(content_words(text[:LONGEST]))) for text in questions], dtype=object).explode()
    counts = pd.crosstab(words, own[words.index]).reindex(columns=[False, True], fill_value=0)
    counts = counts[counts.sum(axis=1) >= min_n]
    n, n_failing = len(own), int(own.sum())
    if counts.empty or not 0 < n_failing < n:
        return pd.DataFrame(columns=list(TERM_COLUMNS))
    passing, failing = counts[False].to_numpy(), counts[True].to_numpy()
    odds = log_odds(failing, passing, n_failing, n - n_failing)
    p = np.nan_to_num(norm.sf(odds.z), nan=1.0)
    frame = pd.DataFrame({
        "term": counts.index.astype("str"), "n": passing + failing, "n_failing": failing,
        "rate": failing / (passing + failing), "base_rate": n_failing / n, "share_failing": failing / n_failing,
        "share_passing": passing / (n - n_failing), "log_odds": odds.value, "low": odds.low, "high": odds.high,
        "p_value": p, "q_value": false_discovery_control(p),
    })  # fmt: skip
    leaning = frame[frame["log_odds"] > 0].sort_values(["low", "n"], ascending=[False, False], kind="stable")
    return leaning.head(top).reset_index(drop=True)


# ------------------------------------------------------------------------------
# Other ways of writing one term, found by form alone: word forms, identifiers, abbreviations, shared characters.


_IDENTIFIER_PART = re.compile(r"[a-z]+|\d+")
#: Smallest Dice coefficient of character pairs (single characters in an unspaced script) that makes a candidate.
SHARED = 0.5
#: Content words in one phrase of a document at most.
PHRASE = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a missing term may be called in a document. ``score`` in (0, 1]; ``kind``: how it was found."""

    text: str
    score: float
    kind: str


def phrases(text: str) -> list[str]:
    """Content words of a text and runs of up to ``PHRASE`` neighbouring ones, each once, in order."""
    found = content_words(text)
    runs = [found[i : i + size] for size in range(1, PHRASE + 1) for i in range(len(found) - size + 1)]
    return list(dict.fromkeys(_join(run) for run in runs))


def _join(run: Sequence[str]) -> str:
    """Words of an unspaced script without, others with a space between."""
    joined = run[0]
    for before, word in pairwise(run):
        space = "" if _unspaced(before[-1]) and _unspaced(word[0]) else " "
        joined += space + word
    return joined


def _unspaced(text: str) -> bool:
    """Whether a text stands wholly in a script that does not part words by spaces."""
    return re.fullmatch(f"[{unspaced()}]+", text) is not None


def _script(text: str) -> str:
    """The language whose own script a text shows; empty for Latin."""
    return next((item.code for item in languages() if item.script and item.script.search(text)), "")


def by_form(term: str, options: Iterable[str]) -> list[Candidate]:
    """Which of ``options`` are ``term`` in another form, best first."""
    found = [candidate for option in options if (candidate := _related(term, option)) is not None]
    return sorted(found, key=lambda candidate: (-candidate.score, len(candidate.text), candidate.text))


def _related(term: str, option: str) -> Candidate | None:
    if option == term:
        return None
    single = " " not in option
    if single and stem(term) == stem(option):
        return Candidate(option, 0.98, "form")
    parts = _IDENTIFIER_PART.findall(term)
    if len(parts) > 1 and parts == _IDENTIFIER_PART.findall(option):
        return Candidate(option, 0.97, "identifier")
    if _abbreviates(term, option) or _abbreviates(option, term):
        return Candidate(option, 0.9, "abbreviation")
    shared = _shared(term, option) if single else 0.0
    return Candidate(option, round(shared, 3), "characters") if shared >= SHARED else None


def _abbreviates(short: str, long: str) -> bool:
    """Initials of the words of ``long``; or, in an unspaced script, its first character and others of it in order."""
    if _unspaced(short) and _unspaced(long):
        rest = iter(long)
        in_order = short[0] == long[0] and not long.startswith(short) and all(character in rest for character in short)
        return 2 <= len(short) <= 4 and len(long) >= 2 * len(short) - 1 and in_order
    words = re.split(r"[\s-]+", long)
    return len(words) > 1 and short.isascii() and short == "".join(word[:1] for word in words)


def _shared(term: str, option: str) -> float:
    """Dice coefficient of character pairs, of single characters in an unspaced script: there one alone is chance."""
    if _unspaced(term) != _unspaced(option):
        return 0.0
    if any(character.isdigit() for character in term + option):
        return 0.0
    size = 1 if _unspaced(term) else 2
    mine, theirs = (frozenset(char_ngrams(word, size)) for word in (term, option))
    return dice(mine, theirs) if size == 2 or len(mine & theirs) >= 2 else 0.0


# ------------------------------------------------------------------------------
# Words near each other in meaning, by the vectors of an encoder; works across languages where the encoder does.


#: Percentile among random pairs of words from which on a word is a candidate.
NEAR = 97.5
#: Random pairs that make the yardstick.
PAIRS = 4000


class TermVectors:
    """Vectors of words and phrases.

    Parameters
    ----------
    names, rows
        The words, and their unit vectors (n, d).
    """

    def __init__(self, names: Sequence[str], rows: Floats) -> None:
        self._at = {name: row for row, name in enumerate(names)}
        self._rows = rows
        self._scripts = np.array([_script(name) for name in names], dtype=object)

    @cached_property
    def _backgrounds(self) -> dict[tuple[str, str], np.ndarray]:
        """Similarities of random pairs within and across scripts, ascending."""
        random = np.random.default_rng(0)
        sides = {script: np.flatnonzero(self._scripts == script) for script in sorted(set(self._scripts))}
        found = {}
        for one in sides:
            for other in sides:
                if len(sides[one]) < 2 or len(sides[other]) < 2:
                    continue
                left, right = random.choice(sides[one], PAIRS), random.choice(sides[other], PAIRS)
                keep = left != right
                found[one, other] = np.sort(np.einsum("ij,ij->i", self._rows[left[keep]], self._rows[right[keep]]))
        return found

    def nearest(self, term: str, options: Sequence[str], most: int = 5) -> list[Candidate]:
        """The words among ``options`` nearest to ``term``, best first; ``score`` = percentile / 100."""
        known = [option for option in options if option in self._at and option != term]
        if term not in self._at or not known:
            return []
        at = np.array([self._at[option] for option in known])
        cosines = self._rows[at] @ self._rows[self._at[term]]
        best = np.argsort(-cosines, kind="stable")[:most]
        found = [Candidate(known[i], self._score(term, int(at[i]), float(cosines[i])), "meaning") for i in best]
        return [candidate for candidate in found if candidate.score >= NEAR / 100]

    def _score(self, term: str, other: int, cosine: float) -> float:
        pair = self._scripts[self._at[term]], self._scripts[other]
        background = self._backgrounds.get(pair)
        return 0.0 if background is None else round(percentile(cosine, background) / 100, 4)


# ------------------------------------------------------------------------------
# What each question shares with the document that was missed.


COLUMNS = ("sample_id", "doc_id", "coverage", "coverage_retrieved", "missing_terms", "candidates")
#: Below this coverage a miss is called a vocabulary gap unless the reader moves the cut.
GAP = 0.4
#: Candidates that are named for one missing term.
CANDIDATES = 3

#: A number on its own names nothing.
_NUMBER = re.compile(r"(?:^|\s)[\d.,%]+(?:\s|$)")


def content_terms(question: str) -> list[str]:
    """Distinct content terms in order; all words of a question that has only function words."""
    return list(dict.fromkeys(content_words(question) or words(question)))


@dataclass(frozen=True)
class Gap:
    """One missed document seen through the words of its question.

    Attributes
    ----------
    terms, weights
        Content terms of the question and their inverse document frequencies.
    has, came
        Which terms stand in the missed document, and in each context that came instead (rank, id, flags).
    """

    miss: Miss
    place: int
    terms: tuple[str, ...]
    weights: tuple[float, ...]
    has: tuple[bool, ...]
    came: tuple[tuple[int, str | None, tuple[bool, ...]], ...]

    @property
    def coverage(self) -> float:
        """IDF-weighted share of the terms that stand in the missed document; NaN without terms or document."""
        return float("nan") if self.place < 0 else covered(self.weights, self.has)

    @property
    def coverage_retrieved(self) -> float:
        """The highest such share among the contexts that came instead; NaN when none came."""
        return max((covered(self.weights, flags) for _, _, flags in self.came), default=float("nan"))

    @property
    def missing(self) -> list[str]:
        """Terms that the document lacks, weightiest first."""
        lacking = [(-weight, at) for at, weight in enumerate(self.weights) if not self.has[at]]
        return [self.terms[at] for _, at in sorted(lacking)]


def covered(weights: Sequence[float], flags: Sequence[bool]) -> float:
    """Share of ``weights`` whose flag is set, in [0, 1]; NaN when there are none."""
    total = sum(weights)
    return sum(w for w, flag in zip(weights, flags, strict=True) if flag) / total if total else float("nan")


class Vocabulary:
    """Terms of the documents of one corpus."""

    def __init__(self, index: CorpusIndex) -> None:
        self.index = index
        self._counts: dict[str, int] = {}

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(words(text)) for text in self.index.texts]

    @cached_property
    def _texts(self) -> list[str]:
        return [normalise(text) for text in self.index.texts]

    @cached_property
    def _by_word(self) -> Mapping[str, int]:
        return Counter(word for mine in self._words for word in mine)

    def stands_in(self, term: str, place: int) -> bool:
        """Whether a term stands in the document at ``place``."""
        return stands(term, self._words[place], self._texts[place])

    def count(self, term: str) -> int:
        """In how many documents a term stands."""
        if term not in self._counts:
            found = sum(term in text for text in self._texts) if _unspaced(term) else self._by_word.get(term, 0)
            self._counts[term] = found
        return self._counts[term]

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, > 0; highest for a term that stands in no document."""
        return idf(self.count(term), len(self.index))


def stands(term: str, found: frozenset[str], text: str) -> bool:
    """Whether ``term`` is one of the words ``found`` of a document, or a stretch of its normalised, unspaced ``text``."""
    return term in found or (_unspaced(term) and term in text)


def find_gaps(misses: Sequence[Miss], vocabulary: Vocabulary, k: int, match: str = "chunk") -> list[Gap]:
    """Each miss through the words of its question, in order; of what came, ``k`` contexts are looked at."""
    return [_gap(miss, vocabulary, k, match) for miss in misses]


def _gap(miss: Miss, vocabulary: Vocabulary, k: int, match: str) -> Gap:
    terms = content_terms(miss.question)
    flags = [
        (place, tuple(vocabulary.stands_in(term, place) for term in terms))
        for place in vocabulary.index.places(miss.doc_id, match)
    ]
    weights = tuple(vocabulary.idf(term) for term in terms)
    place, has = max(flags, key=lambda item: covered(weights, item[1]), default=(-1, (False,) * len(terms)))
    came = []
    for rank, doc_id, text in miss.came:
        if rank <= k:
            found, plain = frozenset(words(text)), normalise(text)
            came.append((rank, doc_id, tuple(stands(term, found, plain) for term in terms)))
    return Gap(miss, place, tuple(terms), weights, has, tuple(came))


def candidates(gap: Gap, index: CorpusIndex, vectors: TermVectors | None = None) -> dict[str, list[Candidate]]:
    """For each missing term what the document may call it, best first; terms without a candidate have an empty list.

    By form first (word forms, identifiers, abbreviations, shared characters), then by meaning where ``vectors`` know
    the words: the nearest words of the document, in any language, that are nearer than 95 % of random pairs.
    """
    if gap.place < 0:
        return {term: [] for term in gap.missing}
    options = [o for o in phrases(index.texts[gap.place]) if o not in gap.terms and not _NUMBER.search(o)]
    found = {}
    for term in gap.missing:
        mine = by_form(term, options)
        if vectors is not None:
            known = {candidate.text for candidate in mine}
            mine += [item for item in vectors.nearest(term, options) if item.text not in known]
        kept: list[Candidate] = []
        for candidate in mine:
            # One that only adds words to a better one says nothing new.
            if not any(better.text in candidate.text for better in kept):
                kept.append(candidate)
        found[term] = kept[:CANDIDATES]
    return found


def vocabulary_gaps(
    evaluation: Any, corpus: Any, encoder: str | Encoder | None = None, *, max_words: int = 4000
) -> pd.DataFrame:
    """One row per missed document, the same rows as ``missed_documents``, seen through the question's words.

    Parameters
    ----------
    evaluation, corpus
        As for ``missed_documents``.
    encoder
        For candidates by meaning; None = the embedded default, ``"none"`` = by form alone.
    max_words
        Words that are encoded at most; rows beyond have candidates by form alone.

    Returns
    -------
    DataFrame
        ``sample_id, doc_id``; ``coverage``: IDF-weighted share in [0, 1] of the question's content terms that stand
        literally (normalised) in the document, NaN when it is not in the corpus; ``coverage_retrieved``: the highest
        such share of a context that came instead; ``missing_terms``: list, weightiest first; ``candidates``: term →
        list of what the document may call it, best first.

    Raises
    ------
    EncoderError, InputError
        As for ``missed_documents``.

    Examples
    --------
    >>> gaps = wb.vocabulary_gaps(wb.load_evaluation("evaluations/baseline"), "corpus.jsonl", "none")
    >>> float(gaps["coverage"].max()) <= 1
    True
    """
    index = CorpusIndex(as_corpus(corpus), "auto" if encoder is None else encoder)
    k, match = evaluation.thresholds.k, evaluation.thresholds.match
    misses = find_misses(with_ids(evaluation.evidence, index), k, match)
    gaps = find_gaps(misses, Vocabulary(index), k, match)
    vectors = term_vectors(gaps, index, max_words)
    rows = [
        (gap.miss.sample_id, gap.miss.doc_id, gap.coverage, gap.coverage_retrieved, gap.missing,
         {term: [item.text for item in mine] for term, mine in candidates(gap, index, vectors).items()})
        for gap in gaps
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"sample_id": "str", "doc_id": "str", "coverage": "float", "coverage_retrieved": "float"})


def term_vectors(gaps: Sequence[Gap], index: CorpusIndex, max_words: int) -> TermVectors | None:
    """Vectors of the missing terms and of the words of the missed documents, row by row until ``max_words``."""
    if not gaps or index.encoder is None:
        return None
    wanted: dict[str, None] = {}
    for gap in gaps:
        if gap.place < 0 or not gap.missing:
            continue
        options = (option for option in phrases(index.texts[gap.place]) if not _NUMBER.search(option))
        mine = dict.fromkeys([*gap.missing, *options])
        if len(wanted | mine) <= max_words:
            wanted |= mine
    return TermVectors(list(wanted), index.encode(list(wanted), "query")) if wanted else None


# ------------------------------------------------------------------------------
# Terms over a whole set: absent from the corpus, shared by documents that do not answer.


def absent_terms(questions: Sequence[str], failing: Sequence[bool], vocabulary: Vocabulary) -> pd.DataFrame:
    """Content terms of questions that stand in no document of the corpus: index ``term``; ``n, n_failing``."""
    own = pd.DataFrame({"term": [content_terms(question) for question in questions], "n_failing": list(failing)})
    own = own.explode("term").dropna(subset="term")
    own = own[[vocabulary.count(term) == 0 for term in own["term"]]]
    table = own.groupby("term", sort=False)["n_failing"].agg(n="size", n_failing="sum").astype("int64")
    return table.sort_values(["n_failing", "n"], ascending=False, kind="stable")


def lures(gaps: Sequence[Gap]) -> pd.DataFrame:
    """Contexts that came instead and share more of the question's words than the missed document does.

    Returns
    -------
    DataFrame, one row a context: ``sample_id, doc_id, rank, coverage, missed, coverage_missed, shared`` (terms).
    """
    rows = [
        (gap.miss.sample_id, doc_id, rank, covered(gap.weights, flags), gap.miss.doc_id, gap.coverage,
         [term for term, there in zip(gap.terms, flags, strict=True) if there])
        for gap in gaps for rank, doc_id, flags in gap.came
        if covered(gap.weights, flags) > gap.coverage
    ]  # fmt: skip
    names = ["sample_id", "doc_id", "rank", "coverage", "missed", "coverage_missed", "shared"]
    return pd.DataFrame(rows, columns=names)


def heat(gap: Gap) -> tuple[list[str], list[str], np.ndarray]:
    """Which term stands in which document, for one missed document and what came instead.

    Returns
    -------
    terms (rows), names of the documents (columns; the missed one first), and their weights (rows, columns): the term's
    IDF where it stands, 0 where it does not.
    """
    names = [gap.miss.doc_id, *(doc_id or f"#{rank}" for rank, doc_id, _ in gap.came)]
    flags = np.array([gap.has, *(there for _, _, there in gap.came)], dtype=float).T.reshape(len(gap.terms), len(names))
    return list(gap.terms), names, flags * np.array(gap.weights)[:, None]
