"""Whether a model hub can be reached: asked before a library retries for minutes."""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request

from workbench.errors import EncoderError

#: Seconds until a hub that does not answer counts as out of reach.
TIMEOUT = 5.0


def has_local_copy(name: str) -> bool:
    """Whether the hub's library keeps a copy of model ``name`` on this machine."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return False
    return isinstance(try_to_load_from_cache(_repository(name), "config.json"), str)


def require_reachable(name: str) -> None:
    """Return when the hub answers for model ``name``.

    Raises
    ------
    EncoderError
        When there is no such model, no network, or the user asked for none (``HF_HUB_OFFLINE``); within
        ``TIMEOUT`` seconds.
    """
    remedy = "use encoder='e5' (embedded), or the folder of a downloaded model"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise EncoderError(f"encoder {name!r} is not on this machine and HF_HUB_OFFLINE is set; {remedy}")
    problem = _ask(name)
    if problem:
        raise EncoderError(f"encoder {name!r} is not on this machine and {problem}; {remedy}")


def _ask(name: str) -> str | None:
    """What is wrong, or None. In a thread of its own: looking up a host name has no time-out."""
    answers: list[str | None] = []
    thread = threading.Thread(target=lambda: answers.append(_request(name)), daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    return answers[0] if answers else f"the model hub did not answer within {TIMEOUT:.0f} s"


def _request(name: str) -> str | None:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    request = urllib.request.Request(f"{endpoint}/{_repository(name)}/resolve/main/config.json", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT):
            return None
    except urllib.error.HTTPError as error:
        # A redirect to a content server or a gate is for the library; only "no such model" is final.
        return f"the hub knows no such model (HTTP {error.code})" if error.code in {401, 404} else None
    except (OSError, ValueError) as error:
        return f"the model hub cannot be reached ({getattr(error, 'reason', error)})"


def _repository(name: str) -> str:
    """A name without an owner is one of sentence-transformers' own."""
    return name if "/" in name else f"sentence-transformers/{name}"
