"""The judge's prompts: hand-written texts in English and Chinese, filled in so that a document stays a document.

Each file ``prompts/<language>/<name>.txt`` has a ``#system`` and a ``#user`` part (or one of them). A line may begin
with conditions in brackets, ``[contexts !reference]``: it is left out unless all of them hold. ``{{name}}`` is replaced
once; text that was put in is never looked at again. ``prompt_hash`` covers every file and is in each cache key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any

from workbench.data.schema import Sample
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.budget import estimate_tokens, message_tokens
from workbench.evidence.llm.replies import part_schema, questions_schema, rubric_schema, shape, verify_schema
from workbench.language import codes, text

# ------------------------------------------------------------------------------
# Whether two models are of one family: a judge tends to rate its own kind too high.


#: Family → what the names of its models look like.
FAMILIES = {
    "openai": r"gpt|chatgpt|davinci|^o[1-9](?:-|$)",
    "claude": r"claude",
    "google": r"gemini|gemma|palm",
    "llama": r"llama|vicuna|alpaca",
    "qwen": r"qwen|qwq|qvq|tongyi|通义",
    "deepseek": r"deepseek",
    "mistral": r"mi[sx]tral|codestral|magistral",
    "glm": r"glm|zhipu|智谱",
    "ernie": r"ernie|wenxin|文心",
    "kimi": r"kimi|moonshot",
    "doubao": r"doubao|豆包|seed-",
    "yi": r"(?:^|/)yi-",
    "phi": r"(?:^|/)phi-?\d",
    "cohere": r"command|aya-",
    "grok": r"grok",
    "hunyuan": r"hunyuan|混元",
    "baichuan": r"baichuan|百川",
    "minimax": r"minimax|abab",
    "internlm": r"internlm",
}


def family(model: str) -> str | None:
    """The family of a model's name, or None when it is not known."""
    name = model.strip().lower()
    return next((key for key, pattern in FAMILIES.items() if re.search(pattern, name)), None)


def family_warning(judge: str, generator: str | None) -> list[str]:
    """A warning, or nothing, about a judge of the generator's family; the same name is always one family."""
    if not generator:
        return []
    same = judge.strip().lower() == generator.strip().lower()
    known = family(judge)
    if same or (known is not None and known == family(generator)):
        return [text("llm.warning.family", judge=judge, generator=generator)]
    return []


# ------------------------------------------------------------------------------


#: Raised by hand when the meaning of a prompt changes; the hash changes with every character.
PROMPT_VERSION = "1"

NAMES = ("part", "questions", "repair", "rubric", "verify")

Message = dict[str, str]

_CONDITION = re.compile(r"^\[([!a-z ]+)\] ?")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_TAGS = "question|contexts?|reference|answer|claims?|system|user|assistant"
_OWN_TAG = re.compile(rf"[<＜](?=\s*[/／]?\s*(?:{_TAGS})\b)|<(?=\||｜)", re.IGNORECASE)

LANGUAGE_NAMES = {
    "en": {"zh": "Chinese", "en": "English", "ja": "Japanese", "ko": "Korean", "ru": "Russian", "ar": "Arabic",
           "he": "Hebrew", "th": "Thai", "hi": "Hindi", "el": "Greek", "de": "German", "fr": "French",
           "es": "Spanish", "it": "Italian", "pt": "Portuguese"},
    "zh": {"zh": "中文", "en": "英文"},
}  # fmt: skip


@cache
def template(name: str, language: str) -> str:
    """The text of one prompt file. ``name`` is one of :data:`NAMES`, ``language`` ``"en"`` or ``"zh"``."""
    return resources.files(__package__).joinpath("prompts", language, f"{name}.txt").read_text(encoding="utf-8")


@cache
def prompt_hash() -> str:
    """Twelve hex digits that change with any character of any prompt."""
    digest = hashlib.sha256(PROMPT_VERSION.encode())
    for language in codes():
        for name in NAMES:
            digest.update(f"\0{language}/{name}\0{template(name, language)}".encode())
    return digest.hexdigest()[:12]


def render(name: str, language: str, flags: Collection[str], values: Mapping[str, str]) -> list[Message]:
    """The chat messages of prompt ``name``: conditions decided by ``flags``, slots filled from ``values``.

    Raises
    ------
    KeyError
        When the prompt has a slot that ``values`` lacks.
    """
    parts: dict[str, list[str]] = {}
    role = "user"
    for line in template(name, language).splitlines():
        if line in ("#system", "#user"):
            role = line[1:]
        elif (kept := _kept(line, flags)) is not None:
            parts.setdefault(role, []).append(_SLOT.sub(lambda match: values[match[1]], kept))
    return [{"role": role, "content": "\n".join(lines).strip()} for role, lines in parts.items()]


def _kept(line: str, flags: Collection[str]) -> str | None:
    match = _CONDITION.match(line)
    if match is None:
        return line
    wanted = match[1].split()
    holds = all((word[1:] not in flags) if word[0] == "!" else (word in flags) for word in wanted)
    return line[match.end() :] if holds else None


def without_system(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a model without a system role: its text stands before the first question."""
    system, *rest = messages
    if system["role"] != "system" or not rest:
        return list(messages)
    return [{"role": rest[0]["role"], "content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]


def escaped(text: str) -> str:
    """``text`` so that it cannot open or close one of the prompt's own tags; nothing else is changed."""
    return _OWN_TAG.sub("&lt;", text)


def numbered(tag: str, texts: Sequence[str]) -> str:
    """``texts`` between ``<tag id="1">`` … tags, numbered from 1."""
    return "\n".join(f'<{tag} id="{n}">\n{escaped(text)}\n</{tag}>' for n, text in enumerate(texts, start=1))


def prompt_language(text: str) -> str:
    """The language of the prompt for a sample whose question is ``text``: ``"zh"`` for Chinese, else ``"en"``."""
    from workbench.data.text.words import language

    return "zh" if language(text) == "zh" else "en"


def language_name(code: str, prompt: str) -> str:
    """How the prompt in language ``prompt`` names the language ``code``."""
    if code in LANGUAGE_NAMES[prompt]:
        return LANGUAGE_NAMES[prompt][code]
    return "与回答相同的语言" if prompt == "zh" else "the language of the answer"


# ---------------------------------------------------------------- text that speaks to the judge

_ADDRESSES = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|of\s+|these\s+)*
        (?:previous|prior|above|earlier|preceding|other|system)?\s*(?:instructions?|prompts?|rules|context|guidelines)\b
    | \b(?:you\s+are|act\s+as|as)\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+)?(?:judge|grader|evaluator|examiner|rater)\b
    | \b(?:judge|grader|evaluator|model|assistant)s?\s*[:,]?\s+(?:must|should|please|shall)\b[^.\n]{0,60}
        \b(?:supported|relevant|score|verdict|rate|mark|approve)
    | \b(?:mark|rate|score|judge|label|treat|classify)\s+(?:this|the|every|all|each|any)\b[^.\n]{0,50}
        \b(?:as\s+(?:fully\s+)?(?:supported|relevant|correct|true|faithful)|[01](?:\.0)?\s*(?:/|out)|full\s+marks)
    | \b(?:verdict|relevan(?:t|ce)|score)["']?\s*[:=]\s*["']?(?:supported|true|1(?:\.0)?)\b
    | \bsystem\s+prompt\b | <\|im_(?:start|end)\|> | \[/?INST\] | <</?SYS>>
    | (?:忽略|无视|忘记|不要理会|请勿遵守)[^。\n]{0,12}(?:指令|指示|说明|提示词?|要求|规则|内容)
    | (?:评判者|评判模型|评估者|评测模型|裁判模型|打分模型|评分者|评审)[^。\n]{0,20}(?:请|应|必须|务必|注意|判|给)
    | (?:请|务必|必须|应当?)[^。\n]{0,20}(?:判定?为|标记为|评为|视为|认定为|输出)[^。\n]{0,8}
        (?:支持|相关|正确|supported|true|满分|1分)
    | (?:系统提示词|你现在是(?:一[个名位])?(?:评判|裁判|评估|打分))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def addresses_judge(text: str) -> str | None:
    """The first passage of ``text`` that reads like an instruction to a judge, at most 80 characters, or None."""
    match = _ADDRESSES.search(text)
    return " ".join(match[0].split())[:80] if match else None


# ------------------------------------------------------------------------------
# What is asked about one sample: which texts there are, how long contexts are split, the messages of each call.


#: Where sizes are bounded: pairs of conflicting claims in one reply, characters of a claim or a quote.
MOST_CONFLICTS, MOST_CHARACTERS = 10, 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A context, or a part of a long one. ``index``: its place in the sample; ``start``: its offset in the context."""

    index: int
    start: int
    text: str


@dataclass(frozen=True)
class Task:
    """One sample made ready for asking.

    ``parts`` holds the pieces of each call, at least one (perhaps empty) list. ``flags``: which of ``answer, reference,
    contexts`` there are. ``blank``: prompted contexts without any text; they say nothing about anything.
    """

    sample: Sample
    language: str
    reply_language: str
    answer: str
    reference: str
    parts: tuple[tuple[Piece, ...], ...]
    blank: frozenset[int] = frozenset()
    notes: tuple[str, ...] = field(default=())

    @property
    def flags(self) -> frozenset[str]:
        """Which of ``answer, reference, contexts`` the first call is about."""
        present = {"answer": self.answer, "reference": self.reference, "contexts": self.parts[0]}
        return frozenset(name for name, value in present.items() if value)

    @property
    def relevance_basis(self) -> str:
        """``reference`` or ``question``."""
        return "reference" if self.reference else "question"


def make_task(sample: Sample, context_tokens: int, language: str | None = None) -> Task:
    """Prepare ``sample``: prompted contexts in order, in parts of at most ``context_tokens`` estimated tokens."""
    from workbench.data.text.words import fold_surrogates
    from workbench.data.text.words import language as language_of

    clean = _cleaned(sample, fold_surrogates)
    pieces: list[Piece] = []
    blank = set()
    for index, context in enumerate(clean.contexts or ()):
        if context.prompted and not context.text.strip():
            blank.add(index)
        elif context.prompted:
            pieces.extend(_pieces(index, context.text, context_tokens))
    parts = tuple(_parts(pieces, context_tokens)) or ((),)
    return Task(
        sample=sample,
        language=language or prompt_language(clean.question),
        reply_language=language_of(clean.question),
        answer=(clean.answer or "").strip(),
        reference=(clean.reference or "").strip(),
        parts=parts,
        blank=frozenset(blank),
        notes=(*_split_note(parts, context_tokens), *_addressing(clean)),
    )


def _cleaned(sample: Sample, fold: Any) -> Sample:
    """``sample`` with lone surrogates replaced one for one, so that it can be sent."""
    import dataclasses

    def clean(text: str | None) -> str | None:
        return None if text is None else fold(text)[0]

    contexts = sample.contexts and tuple(dataclasses.replace(c, text=clean(c.text) or "") for c in sample.contexts)
    return dataclasses.replace(
        sample, question=clean(sample.question) or "", answer=clean(sample.answer), reference=clean(sample.reference),
        contexts=contexts,
    )  # fmt: skip


def _pieces(index: int, text: str, limit: int) -> list[Piece]:
    """``text`` whole, or cut at ends of sentences so that no piece has more than ``limit`` estimated tokens."""
    if estimate_tokens(text) <= limit:
        return [Piece(index, 0, text)]
    from workbench.data.text.sentences import sentences

    cuts = [0]
    end = 0
    for span in sentences(text):
        if estimate_tokens(text[cuts[-1] : span.end]) > limit:
            cuts.extend(_inner_cuts(text, cuts[-1], max(end, cuts[-1]), span.end, limit))
        end = span.end
    bounds = zip(cuts, [*cuts[1:], len(text)], strict=True)
    return [Piece(index, start, text[start:stop]) for start, stop in bounds if text[start:stop].strip()]


def _inner_cuts(text: str, start: int, before: int, stop: int, limit: int) -> list[int]:
    """Where to cut ``text[start:stop]``: before its last sentence, and inside that where it alone is too long."""
    cuts = [before] if before > start else []
    at = before
    while estimate_tokens(text[at:stop]) > limit:
        at += max(1, limit)
        cuts.append(at)
    return cuts


def _parts(pieces: Sequence[Piece], limit: int) -> list[tuple[Piece, ...]]:
    """Consecutive pieces that fit together."""
    parts: list[list[Piece]] = []
    used = 0
    for piece in pieces:
        size = estimate_tokens(piece.text)
        if not parts or used + size > limit:
            parts.append([])
            used = 0
        parts[-1].append(piece)
        used += size
    return [tuple(part) for part in parts]


def _split_note(parts: Sequence[Sequence[Piece]], limit: int) -> list[str]:
    if len(parts) < 2:
        return []
    return [f"the contexts have more than {limit} tokens and were judged in {len(parts)} parts"]


def _addressing(sample: Sample) -> list[str]:
    """Findings: texts that speak to the judge. They are judged like any other text."""
    texts = [(f"context {n}", c.text) for n, c in enumerate(sample.contexts or (), start=1) if c.prompted]
    texts.append(("the answer", sample.answer or ""))
    found = [(name, passage) for name, text in texts if (passage := addresses_judge(text))]
    return [f"{name} has text that addresses the judge: “{passage}”" for name, passage in found]


# ---------------------------------------------------------------- calls


@dataclass(frozen=True)
class Call:
    """One request: ``name`` of its prompt, messages and the schema of its reply.

    ``sizes``: (least, most) of the schema's lists, texts and numbers; see :func:`schema.sized`.
    """

    name: str
    messages: list[Message]
    schema: dict[str, Any]
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the messages."""
        return message_tokens(self.messages)

    @cached_property
    def content(self) -> str:
        """Everything that the reply depends on, as one text."""
        return json.dumps([self.name, self.messages, self.schema], ensure_ascii=True, sort_keys=True)


def verify_call(task: Task) -> Call:
    """The first call: claims of both sides against the first part of the contexts, relevance, refusal."""
    schema = verify_schema(task.flags)
    values = _values(task, schema) | {"contexts": _contexts(task.parts[0])}
    # A claim may put the question's words in place of a pronoun, so it can be longer than its text.
    longest = max(len(task.answer), len(task.reference)) + len(task.sample.question)
    sizes = _context_sizes(task, 0) | {"text": (1, min(longest, MOST_CHARACTERS)), "conflicts": (0, MOST_CONFLICTS)}
    sizes |= {"answer_claims": (0, _most_claims(task.answer)), "reference_claims": (1, _most_claims(task.reference))}
    return Call("verify", render("verify", task.language, task.flags, values), schema, sizes)


def part_call(task: Task, part: int, claims: Sequence[str], *, relevance: bool = True) -> Call:
    """A further call: numbered claims against part ``part`` of the contexts."""
    schema = part_schema(relevance)
    values = _values(task, schema) | {
        "contexts": _contexts(task.parts[part]),
        "claims": numbered("claim", claims),
    }
    flags = task.flags | ({"relevance"} if relevance else set())
    sizes = _context_sizes(task, part) | {"claims": (len(claims), len(claims)), "claim": (1, len(claims))}
    return Call("part", render("part", task.language, flags, values), schema, sizes)


def questions_call(task: Task, n: int) -> Call:
    """The call for ``n`` reverse questions; it holds the answer and nothing else of the sample."""
    schema = questions_schema()
    values = {
        "answer": escaped(task.answer),
        "n": str(n),
        "language": language_name(task.reply_language, task.language),
        "shape": shape(schema),
    }
    return Call(
        "questions",
        render("questions", task.language, (), values),
        schema,
        {"questions": (1, n), "items": (1, MOST_CHARACTERS // 2)},
    )


def rubric_call(task: Task, name: str, criterion: str) -> Call:
    """A rating of the answer by one criterion; of long contexts only the first part is shown."""
    schema = rubric_schema()
    values = _values(task, schema) | {"contexts": _contexts(task.parts[0]), "name": name, "criterion": criterion}
    sizes = {"reasoning": (1, MOST_CHARACTERS)}
    return Call("rubric", render("rubric", task.language, task.flags, values), schema, sizes)


def repair_call(call: Call, language: str, reply: str, problems: str) -> Call:
    """``call`` once more, with the reply that could not be used and what was wrong with it."""
    asked = render("repair", language, (), {"problems": problems, "shape": shape(call.schema)})
    shown = [{"role": "assistant", "content": reply[:4000]}] if reply.strip() else []
    return Call(call.name, [*call.messages, *shown, *asked], call.schema, call.sizes)


def _context_sizes(task: Task, part: int) -> dict[str, tuple[int, int]]:
    n, longest = len(task.parts[part]), max((len(piece.text) for piece in task.parts[part]), default=0)
    return {"contexts": (n, n), "verdicts": (n, n), "context": (1, n), "quote": (0, min(longest, MOST_CHARACTERS))}


def _most_claims(text: str) -> int:
    """More claims than ``text`` can hold: no statement has fewer than about four tokens."""
    return min(MAX_CLAIMS, 2 + estimate_tokens(text) // 4)


def _values(task: Task, schema: dict[str, Any]) -> dict[str, str]:
    return {
        "question": escaped(task.sample.question),
        "answer": escaped(task.answer),
        "reference": escaped(task.reference),
        "shape": shape(schema),
    }


def _contexts(pieces: Sequence[Piece]) -> str:
    return numbered("context", [piece.text for piece in pieces])
