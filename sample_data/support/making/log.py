"""A query log of the fictional service: ten days, and a release near the end that made it worse."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .cases import language
from .files import Row

REQUESTS = 5_000
START = datetime(2025, 6, 2, tzinfo=UTC)  # a Monday
DAYS = 10
RELEASE = datetime(2025, 6, 10, 7, 0, tzinfo=UTC)
HOURS = (1, 1, 2, 4, 5, 6, 8, 10, 11, 10, 9, 8, 7, 7, 6, 5, 4, 3, 2, 2, 1, 1, 1, 1)  # requests by hour of the day, UTC
WEEKEND_DAYS = (5, 6)


@dataclass(frozen=True)
class Service:
    """How the service behaves under one release; rates per thousand requests."""

    release: str
    base_ms: int
    spread_ms: int
    slow: int  # requests with a long tail
    refusals: int
    errors: int
    score_loss: int  # of the top score, in thousandths
    faithful: int  # mean online faithfulness, in thousandths


BEFORE = Service("25.6.1", 780, 420, 30, 75, 6, 0, 915)
AFTER = Service("25.6.2", 1010, 700, 120, 185, 24, 30, 842)


def requests(plan: list[Row], recorded: dict[str, list[Row]]) -> list[Row]:
    """``REQUESTS`` rows in the order of time; the questions are those of the cases, asked again and again."""
    rng = random.Random("query log")
    asked = [(case, row["contexts"][0]["score"]) for case, row in zip(plan, recorded["improved"], strict=True)]
    return [_request(time, *asked[rng.randrange(len(asked))], rng) for time in _times(rng)]


def _times(rng: random.Random) -> list[datetime]:
    slots = [START + timedelta(hours=hour) for hour in range(24 * DAYS)]
    weights = [HOURS[slot.hour] * (1 if slot.weekday() in WEEKEND_DAYS else 6) for slot in slots]
    chosen = rng.choices(slots, weights=weights, k=REQUESTS)
    return sorted(slot + timedelta(seconds=rng.randrange(3600)) for slot in chosen)


def _request(time: datetime, case: Row, score: float, rng: random.Random) -> Row:
    service = AFTER if time >= RELEASE else BEFORE
    failed = rng.randrange(1000) < service.errors
    refused = not failed and (rng.randrange(1000) < service.refusals)
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "question": case["question"], "tenant": case["tenant"],
        "language": language(case["question"], case["id"]), "release": service.release,
        "latency_ms": 30_000 if failed else _latency(service, rng),
        "refused": None if failed else refused, "error": _error(rng) if failed else None,
        "top_score": round(score - (rng.randrange(60) + service.score_loss) / 1000, 3),
        "faithfulness": None if failed or refused or rng.randrange(4) else _faithfulness(service, rng),
    }  # fmt: skip


def _latency(service: Service, rng: random.Random) -> int:
    usual = service.base_ms + sum(rng.randrange(service.spread_ms) for _ in range(3))
    return usual + (rng.randrange(1500, 6000) if rng.randrange(1000) < service.slow else 0)


def _error(rng: random.Random) -> str:
    return ("generator timeout after 30 s", "HTTP 502 from generator", "HTTP 429 from generator")[rng.randrange(3)]


def _faithfulness(service: Service, rng: random.Random) -> float:
    """The service's own estimate for a quarter of the answers, in [0, 1]."""
    value = service.faithful + sum(rng.randrange(-90, 91) for _ in range(2))
    return min(1000, value) / 1000
