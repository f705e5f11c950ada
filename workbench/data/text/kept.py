"""What was worked out of texts, the latest kept: a cache that is bounded by the length of the texts, not by their number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Result = TypeVar("Result")


def kept(characters: int) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Decorates a function of one text: results of the texts used last are kept, up to so many characters of them all.

    Pages weigh as much as a thousand sentences; counted alike, either sentences would be forgotten or pages fill the memory.
    """

    def decorated(function: Callable[[str], Result]) -> Callable[[str], Result]:
        known: OrderedDict[str, Result] = OrderedDict()
        lock = threading.Lock()
        held = 0

        @wraps(function)
        def looked_up(text: str) -> Result:
            """The result kept, or worked out outside the lock: two threads may do so at once, and the first one stays."""
            nonlocal held
            with lock:
                if text in known:
                    known.move_to_end(text)
                    return known[text]
            result = function(text)
            with lock:
                if text not in known:
                    known[text] = result
                    held += len(text) + _OVERHEAD
                    while held > characters and len(known) > 1:
                        held -= len(known.popitem(last=False)[0]) + _OVERHEAD
            return result

        return looked_up

    return decorated


#: What the empty text weighs, in characters.
_OVERHEAD = 100
