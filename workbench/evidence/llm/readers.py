"""Readers of replies for one task: parsing, and whether the reply is in the sample's language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.data.normalising import HAN_CHARACTER
from workbench.evidence.llm.asking import Read
from workbench.evidence.llm.parse import Problem, ReadClaim, Reply, read_part, read_questions, read_verification
from workbench.evidence.llm.tasks import Task


def verify_reader(task: Task) -> Read:
    """Reads the first reply; claims in another language than their text are a problem."""

    def read(text: str, cut_off: bool) -> Reply:
        """The reply with what is wrong with its language among its problems."""
        reply = read_verification(text, task.flags, len(task.parts[0]), cut_off=cut_off)
        for part, claims, source in (
            ("answer_claims", reply.answer_claims, task.answer),
            ("reference_claims", reply.reference_claims, task.reference),
        ):
            if claims and _foreign(claims, source):
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
        """The reply with a question in the wrong script among its problems."""
        reply = read_questions(text, cut_off=cut_off, limit=limit)
        chinese = task.reply_language == "zh"
        wrong = [question for question in reply.questions if bool(HAN_CHARACTER.search(question)) != chinese]
        if wrong and task.reply_language not in ("ja", "ko", "other"):
            detail = f"the question {wrong[0][:40]!r} is not in the sample's language ({task.reply_language})"
            reply.problems.append(Problem("wrong_language", detail, "questions", fatal=True))
        return reply

    return read


def _foreign(claims: Sequence[ReadClaim], source: str) -> bool:
    """A Chinese text without one Chinese claim, or claims mostly Chinese for a text without a Chinese character."""
    chinese = sum(bool(HAN_CHARACTER.search(claim.text)) for claim in claims)
    if HAN_CHARACTER.search(source) is None:
        return chinese * 2 > len(claims)
    from workbench.data.text import language

    return chinese == 0 and language(source) == "zh" and any(re.search("[A-Za-z]{3}", c.text) for c in claims)
