"""How long exact ranks take beside the matrix product alone, and how much memory they need beyond the vectors.

Run: ``python tests/benchmarks/ranks.py [documents]``; prints one line of figures.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numpy as np

from workbench.evidence.corpus_index import search

QUESTIONS, DIMENSION = 1000, 384


def vectors(n: int, seed: int) -> np.ndarray:
    """Unit rows that crowd together as those of e5 do: cosines around 0.83, spread 0.03."""
    directions = np.random.default_rng(0).normal(size=(33, DIMENSION))
    random = np.random.default_rng(seed)
    rows = directions[0] * 5 + random.normal(size=(n, 32)) @ directions[1:] * 0.4
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def product_alone(queries: np.ndarray, documents: np.ndarray, block: int = 4000) -> float:
    """Seconds for all products in blocks, nothing kept."""
    started = time.process_time()
    for at in range(0, len(documents), block):
        queries @ documents[at : at + block].T
    return time.process_time() - started


def peak(queries: np.ndarray, documents: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """Most memory that a search holds beside the vectors, in MB."""
    tracemalloc.start()
    search(queries, documents, np.arange(len(documents)), k=50, pairs=pairs)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main() -> None:
    """Print the figures."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    queries, documents = vectors(QUESTIONS, 1), vectors(n, 2)
    pairs = (np.arange(QUESTIONS), np.random.default_rng(3).integers(0, n, QUESTIONS))
    alone = min(product_alone(queries, documents) for _ in range(3))
    taken = []
    for _ in range(3):
        started = time.process_time()
        search(queries, documents, np.arange(n), k=50, pairs=pairs)
        taken.append(time.process_time() - started)
    sys.stdout.write(
        f"{QUESTIONS} x {n} x {DIMENSION}: product {alone:.2f} s, ranks and 50 nearest {min(taken):.2f} s"
        f" ({min(taken) / alone:.2f} x), {peak(queries, documents, pairs):.0f} MB extra\n"
    )


if __name__ == "__main__":
    main()
