"""What the offline judge costs by the length of the contexts, against encoding all of them, in CPU seconds.

    python tests/benchmarks/scoring.py [SAMPLES]

Contexts are made up: sentences of one fact each, one of which the answer repeats. Nothing is read from a cache. Tokens say
where the time goes: those of a context's own vector, as a retriever has it, and those that are read for the words. Beside it
stands how often ragas would ask a language model about such a sample, by its source (0.3): faithfulness 2 (statements,
verdicts), answer relevancy 3 (strictness 3), context recall 1, answer correctness 3, context precision once a context.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workbench.data.schema import Context, Sample
from workbench.evidence.encoders.base import length_batches
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.offline.alignment import blocks
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.words import analyse

#: Calls for a sample of one context.
RAGAS_CALLS = 2 + 3 + 1 + 3 + 1
LENGTHS = (500, 2_000, 5_000, 20_000, 90_000)
WHO = ["pump", "valve", "sensor", "lamp", "engine", "filter", "boiler", "cable", "bridge", "tower", "harbour", "mill"]
WHAT = ["opened", "sold", "rebuilt", "painted", "measured", "tested", "moved", "insured", "repaired", "inspected"]


def sample(number: int, length: int) -> Sample:
    """One sample with one context of about so many characters."""
    chosen, told = random.Random(number * 1_000_003 + length), []
    while sum(map(len, told)) < length:
        who, what, year = chosen.choice(WHO), chosen.choice(WHAT), chosen.randrange(1900, 2025)
        house, district = chosen.randrange(900), chosen.randrange(40)
        told.append(f"The {who} of house {house} was {what} in {year} by a firm from district {district}. ")
    fact = chosen.choice(told).strip()
    return Sample(f"{number}", f"What happened to {fact[4:30]}?", fact, (Context("".join(told)),))


def watched(encoder: Any) -> dict[str, list[str]]:
    """The texts that ``encoder`` is given from now on, for one vector each and for those of their words too."""
    given: dict[str, list[str]] = {"encode": [], "encode_with_tokens": []}
    for name, texts in given.items():
        setattr(encoder, name, partial(_noted, getattr(encoder, name), texts))
    return given


def _noted(encode: Any, noted: list[str], texts: list[str], kind: str = "passage") -> Any:
    noted += texts
    return encode(texts, kind)


def tokens(encoder: Any, texts: list[str]) -> int:
    """What of the texts fits the encoder's window."""
    prompted = [encoder.prompts["passage"] + text for text in texts]
    return sum(map(len, encoder.model.tokenizer(prompted, truncation=True, max_length=encoder.max_tokens)["input_ids"]))


def main(n: int) -> None:
    """Print a line for each length."""
    with tempfile.TemporaryDirectory() as folder:
        encoder = resolve_encoder("e5")
        os.environ["WORKBENCH_CACHE"] = folder
        list(OfflineJudge(encoder).examine([sample(0, 100)]))
        pages = [context.text for i in (1, 2) for context in sample(i, 15_000).contexts or ()]
        pieces = [text[start:end] for text in pages for start, end in blocks(analyse(text))]
        began = time.process_time()
        for batch in length_batches(pieces):
            encoder.encode_with_tokens(batch)  # type: ignore[attr-defined]
        speed = sum(map(len, pieces)) / (time.process_time() - began)
        print(f"the encoder alone: {speed:,.0f} characters a CPU second; ragas: {RAGAS_CALLS} calls a sample", flush=True)
        given = watched(encoder)
        for length in LENGTHS:
            several = max(2, n * 500 // length)
            samples = [sample(i + 1, length) for i in range(several)]
            contexts = [context.text for s in samples for context in s.contexts or ()]
            characters = sum(map(len, contexts))
            for texts in given.values():
                texts.clear()
            began = time.process_time()
            list(OfflineJudge(encoder).examine(samples))
            judged = time.process_time() - began
            alone = characters / speed
            own, read = (tokens(encoder, texts) // several for texts in given.values())
            every = tokens(encoder, [text[at:end] for text in contexts for at, end in blocks(analyse(text))]) // several
            print(
                f"{length:>7,} characters: {several / judged:6.2f} samples a CPU second, {1e4 * judged / characters:.2f} s for"
                f" 10,000 characters; encoding all of it alone would take {alone / judged:.1f} times as long; tokens:"
                f" {own} for its vector, {read} read, of {every}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
