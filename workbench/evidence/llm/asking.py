"""Asking one thing about one sample: from the cache, else within the budget, repaired at most once, then kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from workbench.evidence.cache import Cache, content_key
from workbench.evidence.llm.budget import Spending
from workbench.evidence.llm.client import CallError, Endpoint, EndpointOptions
from workbench.evidence.llm.envelope import Completion
from workbench.evidence.llm.parse import Problem, Reply
from workbench.evidence.llm.prompts import prompt_hash
from workbench.evidence.llm.tasks import Call, repair_call

NAMESPACE = "llm-replies"
#: Raised by hand when the same reply would be read in another way than before.
READER_VERSION = 2
#: From so many estimated tokens on, an endpoint that counts less than this share of them has probably cut the prompt.
CUT_PROMPT_TOKENS, CUT_PROMPT_SHARE = 400, 0.4

Read = Callable[[str, bool], Reply]


class BudgetSpent(Exception):
    """The next call would exceed the budget; its text says which bound."""


@dataclass(slots=True)
class Repairs:
    """Repair calls that one sample may still make."""

    left: int = 1

    def take(self) -> bool:
        """Use one, if there is one."""
        if self.left < 1:
            return False
        self.left -= 1
        return True


class ReplyCache:
    """Usable replies by content: endpoint, model, options, prompt and everything in the messages."""

    def __init__(self, cache: Cache | None, options: EndpointOptions) -> None:
        self._cache = cache
        parts = [
            READER_VERSION, options.address, options.model, options.temperature, options.max_output_tokens,
            dict(options.extra or {}), prompt_hash(),
        ]  # fmt: skip
        self._judge = content_key(*parts)

    def key(self, call: Call) -> str:
        """The content key of ``call``."""
        return content_key(self._judge, call.content)

    def reply(self, call: Call, read: Read) -> Reply | None:
        """The kept reply to ``call``, read; None when there is none that can be used."""
        text = self._cache.get(NAMESPACE, self.key(call)) if self._cache is not None else None
        if text is None:
            return None
        kept = json.loads(text)
        reply = read(kept["text"], bool(kept["cut_off"]))
        reply.notes.extend(kept["notes"])
        return None if reply.fatal else reply

    def keep(self, call: Call, completion: Completion, notes: list[str]) -> None:
        """Commit a reply that could be read."""
        if self._cache is not None:
            kept = {"text": completion.text, "cut_off": completion.cut_off, "notes": notes}
            self._cache.put(NAMESPACE, self.key(call), json.dumps(kept, ensure_ascii=False))


class Asker:
    """Asks an endpoint and reads its replies."""

    def __init__(self, endpoint: Endpoint, kept: ReplyCache, spending: Spending) -> None:
        self._endpoint = endpoint
        self._kept = kept
        self._spending = spending

    async def ask(self, call: Call, read: Read, repairs: Repairs, language: str, expected: int) -> Reply:
        """The reply to ``call``, read by ``read``.

        A reply with problems is repaired once while ``repairs`` lasts; the better of the two counts.

        Raises
        ------
        CallError
            No reply, or none that can be used; ``code`` tells which.
        BudgetSpent
            Before anything is sent that the budget does not cover.
        """
        kept = self._kept.reply(call, read)
        if kept is not None:
            self._spending.cached += 1
            return kept
        completion = await self._complete(call, expected)
        reply = _read(completion, read)
        notes = _cut_prompt(call, completion)
        if reply.problems and repairs.take():
            completion, reply = await self._repaired(call, read, language, expected, completion, reply, notes)
        if reply.fatal is not None:
            raise CallError(reply.fatal.code, f"{reply.fatal.detail}{_after(notes)}{self._bound(completion)}")
        self._kept.keep(call, completion, notes)
        reply.notes.extend(notes)
        return reply

    def _bound(self, completion: Completion) -> str:
        """What a reply that was cut off ran into, as far as that is known."""
        limit = self._endpoint.options.max_output_tokens
        return f"; max_output_tokens is {limit}" if completion.cut_off and limit is not None else ""

    async def _complete(self, call: Call, expected: int) -> Completion:
        sent = call.tokens
        reason = self._spending.exceeded_by(sent, expected)
        if reason is not None:
            raise BudgetSpent(reason)
        self._spending.reserve(sent, expected)
        try:
            return await self._endpoint.complete(call)
        finally:
            self._spending.reserve(sent, expected, sign=-1)

    async def _repaired(
        self, call: Call, read: Read, language: str, expected: int, completion: Completion, reply: Reply,
        notes: list[str],
    ) -> tuple[Completion, Reply]:  # fmt: skip
        """The repaired reply if it is better, else the first one."""
        problem = reply.ordered()[0]
        said = "; ".join(str(item) for item in reply.ordered()[:3])
        try:
            second = await self._complete(repair_call(call, language, completion.text, said), expected)
        except CallError as error:
            notes.append(f"a repair failed ({error.code}) after {problem}")
            return completion, reply
        self._spending.repairs += 1
        mended = _read(second, read)
        if _badness(mended) < _badness(reply):
            notes.append(f"the reply was repaired after {problem}")
            return second, mended
        notes.append(f"a repair did not help after {problem}")
        return completion, reply


def _read(completion: Completion, read: Read) -> Reply:
    """Read a completion; what was wrong with its envelope is the better reason."""
    if completion.problem and not completion.text:
        return Reply(problems=[Problem("empty_reply", completion.problem, fatal=True)])
    return read(completion.text, completion.cut_off)


def _cut_prompt(call: Call, completion: Completion) -> list[str]:
    """A finding when the endpoint counted far fewer tokens than were sent: some cut a long prompt without a word."""
    if call.tokens < CUT_PROMPT_TOKENS or not 0 < completion.sent < CUT_PROMPT_SHARE * call.tokens:
        return []
    return [
        f"the endpoint counted {completion.sent} tokens where about {call.tokens} were sent: it may have cut the prompt "
        "(Ollama: raise num_ctx) or left out the system message"
    ]


def _badness(reply: Reply) -> tuple[int, int]:
    return (reply.fatal is not None, len(reply.problems))


def _after(notes: list[str]) -> str:
    return f" ({notes[0]})" if notes else ""
