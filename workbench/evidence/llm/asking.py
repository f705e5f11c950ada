"""Asking a language model one thing about one sample: from the cache, else within the budget, repaired at most once, kept.

What comes is read, also for whether it is in the right language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.data.text.reasoning import final_words
from workbench.data.text.words import language as written_in
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.llm.budget import Spending
from workbench.evidence.llm.client import CallError, Completion, Endpoint, EndpointOptions
from workbench.evidence.llm.prompts import SHIPPED, Call, Task, repair_call
from workbench.evidence.llm.replies import Problem, ReadClaim, Reply, read_part, read_questions, read_verification
from workbench.language import Language, languages

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
        self._judge = content_key(
            READER_VERSION, options.address, options.model, options.temperature, options.max_output_tokens,
            dict(options.extra or {}), getattr(options, "prompts", SHIPPED).hash,
        )  # fmt: skip

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

        Raises ``CallError`` without a reply, or with none that can be used (``code`` tells which); ``BudgetSpent`` before
        anything is sent that the budget does not cover.
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
            limit = self._endpoint.options.max_output_tokens
            bound = f"; max_output_tokens is {limit}" if completion.cut_off and limit is not None else ""
            after = f" ({notes[0]})" if notes else ""
            raise CallError(reply.fatal.code, f"{reply.fatal.detail}{after}{bound}")
        self._kept.keep(call, completion, notes)
        reply.notes.extend(notes)
        return reply

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
        shown = final_words(completion.text)
        try:
            second = await self._complete(repair_call(call, language, shown, said), expected)
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


# ---------------------------------------------------------------- reading replies: also whether they are in the right language


def verify_reader(task: Task) -> Read:
    """Reads the first reply; claims in another language than their text are a problem."""

    def read(text: str, cut_off: bool) -> Reply:
        reply = read_verification(text, task.flags, len(task.parts[0]), cut_off=cut_off)
        for part, claims, source in (
            ("answer_claims", reply.answer_claims, task.answer),
            ("reference_claims", reply.reference_claims, task.reference),
        ):
            if claims and any(_foreign(item, claims, source) for item in languages() if item.script):
                detail = f"{part} are not in the language of their text: {claims[0].text[:40]!r}"
                reply.problems.append(Problem("wrong_language", detail, part, fatal=True))
        return reply

    return read


def part_reader(task: Task, part: int, n_claims: int) -> Read:
    """Reads a reply about numbered claims over part ``part``."""
    return lambda text, cut_off: read_part(text, n_claims, len(task.parts[part]), cut_off=cut_off)


def questions_reader(task: Task, limit: int) -> Read:
    """Reads reverse questions; one in another script than the sample's question is a problem."""

    def read(text: str, cut_off: bool) -> Reply:
        reply = read_questions(text, cut_off=cut_off, limit=limit)
        asked_in = task.reply_language
        # Languages with a script that others write too tell nothing about those.
        scripts = {
            item.code: item.script
            for item in languages()
            if item.script and asked_in not in item.facts.get("script_also_of", ())
        }
        wrong = [
            question
            for question in reply.questions
            if any(bool(script.search(question)) != (code == asked_in) for code, script in scripts.items())
        ]
        if wrong:
            detail = f"the question {wrong[0][:40]!r} is not in the sample's language ({asked_in})"
            reply.problems.append(Problem("wrong_language", detail, "questions", fatal=True))
        return reply

    return read


def _foreign(item: Language, claims: Sequence[ReadClaim], source: str) -> bool:
    """A text in the language without one such claim, or claims mostly in its script for a text without a character of it."""
    assert item.script is not None
    n = sum(bool(item.script.search(claim.text)) for claim in claims)
    if item.script.search(source) is None:
        return n * 2 > len(claims)
    return n == 0 and written_in(source) == item.code and any(re.search("[A-Za-z]{3}", c.text) for c in claims)
