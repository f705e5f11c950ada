"""The judge's prompts: hand-written texts in each language, filled in so that a document stays a document.

Each file ``language/<code>/prompts/<name>.txt`` has a ``#system`` and a ``#user`` part (or one of them). A line may begin
with conditions in brackets, ``[contexts !reference]``: it is left out unless all of them hold. ``{{name}}`` is replaced
once; text that was put in is never looked at again. ``prompt_hash`` covers every file and is in each cache key.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.files import write_text
from workbench.data.schema import Sample
from workbench.data.text.normalise import scrub
from workbench.data.text.sentences import sentences
from workbench.data.text.words import language as written_in
from workbench.errors import InputError
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.budget import estimate_tokens, message_tokens
from workbench.evidence.llm.replies import (
    part_schema,
    prefer_schema,
    questions_schema,
    rubric_schema,
    shape,
    verify_schema,
)
from workbench.language import Language, by_languages, language_of, languages, text

if TYPE_CHECKING:
    import pandas as pd

# ---------------------------------------------------------------- families of models: a judge rates its own kind too high


def family(model: str) -> str | None:
    """The family of a model's name, or None when it is not known."""
    name = model.strip().lower()
    known = [family for item in languages() for family in _part(item, "families").items()]
    return next((key for key, pattern in known if re.search(pattern, name)), None)


def family_warning(judge: str, generator: str | None) -> list[str]:
    """A warning, or nothing, about a judge of the generator's family; the same name is always one family."""
    if not generator:
        return []
    same, known = judge.strip().lower() == generator.strip().lower(), family(judge)
    if same or (known is not None and known == family(generator)):
        return [text("llm.warning.family", judge=judge, generator=generator)]
    return []


def _part(item: Language, name: str) -> dict[str, Any]:
    return item.table("judging").get(name, {})


# ---------------------------------------------------------------- prompts

#: Raised by hand when the meaning of a prompt changes; the hash changes with every character.
PROMPT_VERSION = "1"

NAMES = ("part", "questions", "repair", "rubric", "verify")
#: Prompts whose text is in no hash: their calls are kept under their own words alone.
FURTHER = ("prefer",)

Message = dict[str, str]

_CONDITION = re.compile(r"^\[([!a-z ]+)\] ?")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_TAGS = "question|contexts?|reference|answer|claims?|system|user|assistant"
_OWN_TAG = re.compile(rf"[<\uff1c](?=\s*[/\uff0f]?\s*(?:{_TAGS})\b)|<(?=\||\uff5c)", re.IGNORECASE)


def template(name: str, language: str) -> str:
    """The text of one prompt file in ``language``, in the first language where it has none."""
    return _template(name, language_of(language)) or _template(name, languages()[0]) or ""


@cache
def _template(name: str, item: Language) -> str | None:
    return item.file("prompts", f"{name}.txt")


@by_languages(maxsize=8)
def prompt_hash() -> str:
    """Twelve hex digits that change with any character of any prompt."""
    digest = hashlib.sha256(PROMPT_VERSION.encode())
    for item in languages():
        for name in NAMES:
            if (content := _template(name, item)) is not None:
                digest.update(f"\0{item.code}/{name}\0{content}".encode())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Prompts:
    """The prompts in force: those of the package, some of them replaced by ``own`` ones, by ``name.language``."""

    own: Mapping[str, str] = field(default_factory=dict)

    def template(self, name: str, language: str) -> str:
        """The text of one prompt in ``language``; one of your own without a language is for all."""
        code = language_of(language).code
        return self.own.get(f"{name}.{code}") or self.own.get(name) or template(name, language)

    @property
    def hash(self) -> str:
        """Twelve hex digits that change with any character of any prompt."""
        if not self.own:
            return prompt_hash()
        told = json.dumps([prompt_hash(), sorted(self.own.items())], ensure_ascii=True)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


#: The prompts of the package.
SHIPPED = Prompts()


def read_prompts(folder: str | Path) -> Prompts:
    """The prompts with those in ``folder`` in place of the package's: ``NAME.txt`` for all languages, ``NAME.en.txt`` for one.

    A file that says the same as the package's replaces nothing. See :func:`prompts` for the names and texts to begin with.

    Raises ``InputError`` when there is no such folder or nothing in it, for a file of another name, and for a text that
    lacks a slot that the package's has or has one more.
    """
    path = Path(folder).expanduser()
    files = sorted(path.glob("*.txt")) if path.is_dir() else []
    if not files:
        raise InputError(f"prompts {folder}: no folder with NAME.txt; wb.prompts(out=FOLDER) writes one to begin with")
    own = {}
    for file in files:
        name, _, code = file.stem.partition(".")
        if name not in (*NAMES, *FURTHER) or (code and language_of(code).code != code):
            known = ", ".join((*NAMES, *FURTHER))
            raise InputError(f"{file}: is no prompt; the names are {known}, each perhaps with a language ({name}.en.txt)")
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: cannot be read as UTF-8 ({error})") from error
        shipped = template(name, code or languages()[0].code)
        given, wanted = (set(_SLOT.findall(one)) for one in (text, shipped))
        if given != wanted or "#user" not in text.splitlines():
            wrong = [f"lacks {{{{{slot}}}}}" for slot in sorted(wanted - given)]
            wrong += [f"has {{{{{slot}}}}}, which nothing fills" for slot in sorted(given - wanted)]
            raise InputError(f"{file}: {'; '.join(wrong) or 'has no line #user'}")
        if text != shipped or not code:
            own[file.stem] = text
    return Prompts(own)


def prompts(folder: str | Path | None = None, *, out: str | Path | None = None) -> pd.DataFrame:
    """The prompts that a language model is asked with, as they are in force.

    Parameters
    ----------
    folder
        Prompts of your own (see :func:`read_prompts`), as for ``wb.evaluate(…, prompts=folder)``.
    out
        A folder to write them to, to be edited; files that are there already are left alone.

    Returns
    -------
    DataFrame
        ``name, language, text, own`` (True: not the package's); ``attrs["hash"]`` is what a manifest names them by.

    Examples
    --------
    >>> sorted(set(wb.prompts()["name"]))
    ['part', 'prefer', 'questions', 'repair', 'rubric', 'verify']
    """
    import pandas as pd

    known = SHIPPED if folder is None else read_prompts(folder)
    rows = [(name, item.code, known.template(name, item.code), known.template(name, item.code) != template(name, item.code))
            for name in (*NAMES, *FURTHER) for item in languages() if _template(name, item)]  # fmt: skip
    if out is not None:
        for name, code, text, _ in rows:
            target = Path(out).expanduser() / f"{name}.{code}.txt"
            if not target.exists():
                write_text(target, text)
    frame = pd.DataFrame(rows, columns=["name", "language", "text", "own"])
    frame.attrs["hash"] = f"{PROMPT_VERSION}.{known.hash}"
    return frame


def render(
    name: str, language: str, flags: Collection[str], values: Mapping[str, str], known: Prompts = SHIPPED
) -> list[Message]:
    """The chat messages of prompt ``name``: conditions decided by ``flags``, slots filled from ``values``.

    Raises ``KeyError`` when the prompt has a slot that ``values`` lacks.
    """
    parts: dict[str, list[str]] = {}
    role = "user"
    for line in known.template(name, language).splitlines():
        match = _CONDITION.match(line)
        words = match[1].split() if match else ()
        if line in ("#system", "#user"):
            role = line[1:]
        elif all((word[1:] not in flags) if word[0] == "!" else (word in flags) for word in words):
            kept = line[match.end() :] if match else line
            parts.setdefault(role, []).append(_SLOT.sub(lambda slot: values[slot[1]], kept))
    return [{"role": role, "content": "\n".join(lines).strip()} for role, lines in parts.items()]


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


def language_name(code: str, prompt: str) -> str:
    """How the prompt in language ``prompt`` names the language ``code``."""
    names = _part(language_of(prompt), "names") or _part(languages()[0], "names")
    return names.get(code, names["other"])


#: Control marks of chat templates, whatever the language of the text.
_TEMPLATE_MARKS = r"<\|im_(?:start|end)\|>|\[/?INST\]|<</?SYS>>"


def addresses_judge(text: str) -> str | None:
    """The first passage of ``text`` that reads like an instruction to a judge, at most 80 characters, or None."""
    match = _addresses().search(text)
    return " ".join(match[0].split())[:80] if match else None


@by_languages(maxsize=8)
def _addresses() -> re.Pattern[str]:
    patterns = [pattern for item in languages() for pattern in _part(item, "addresses").get("patterns", ())]
    return re.compile("|".join([*patterns, _TEMPLATE_MARKS]), re.IGNORECASE)


# ---------------------------------------------------------------- what is asked about one sample

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
    prompts: Prompts = SHIPPED

    @property
    def flags(self) -> frozenset[str]:
        """Which of ``answer, reference, contexts`` the first call is about."""
        present = {"answer": self.answer, "reference": self.reference, "contexts": self.parts[0]}
        return frozenset(name for name, value in present.items() if value)

    @property
    def relevance_basis(self) -> str:
        """``reference`` or ``question``."""
        return "reference" if self.reference else "question"


#: In which order contexts are shown: as recorded, the other way round, or in one that only the sample's texts decide.
ORDERS = ("recorded", "reversed", "shuffled")


def shown_order(sample: Sample, order: str) -> list[int]:
    """Places of the sample's contexts in the order in which a judge is shown them."""
    places = list(range(len(sample.contexts or ())))
    if order == "shuffled":
        seed = hashlib.sha256(repr((sample.question, [c.text for c in sample.contexts or ()])).encode()).digest()
        random.Random(seed).shuffle(places)
    return places[::-1] if order == "reversed" else places


def make_task(
    sample: Sample, context_tokens: int, language: str | None = None, known: Prompts = SHIPPED, order: str = "recorded"
) -> Task:
    """Prepare ``sample``: prompted contexts in ``order``, in parts of at most ``context_tokens`` estimated tokens.

    Prompts are in ``language``; without one in that of the question where it has prompts, else in the first one.
    """
    clean = _cleaned(sample)
    pieces: list[Piece] = []
    blank = set()
    for index in shown_order(clean, order):
        context = (clean.contexts or ())[index]
        if context.prompted and not context.text.strip():
            blank.add(index)
        elif context.prompted:
            pieces.extend(_pieces(index, context.text, context_tokens))
    parts = tuple(_parts(pieces, context_tokens)) or ((),)
    notes = [f"the contexts have more than {context_tokens} tokens and were judged in {len(parts)} parts"]
    asked_in = written_in(clean.question)
    own = next((item for item in languages() if item.code == asked_in and _template("verify", item)), languages()[0])
    return Task(
        sample=sample,
        language=language or own.code,
        reply_language=asked_in,
        answer=(clean.answer or "").strip(),
        reference=(clean.reference or "").strip(),
        parts=parts,
        blank=frozenset(blank),
        notes=(*(notes if len(parts) > 1 else ()), *_addressing(clean)),
        prompts=known,
    )


def _cleaned(sample: Sample) -> Sample:
    """``sample`` with lone surrogates replaced one for one, so that it can be sent."""

    def clean(text: str | None) -> str | None:
        return None if text is None else scrub(text)

    contexts = sample.contexts and tuple(dataclasses.replace(c, text=clean(c.text) or "") for c in sample.contexts)
    return dataclasses.replace(
        sample, question=clean(sample.conversation) or "", history=(), answer=clean(sample.answer),
        reference=clean(sample.reference), contexts=contexts,
    )  # fmt: skip


def _pieces(index: int, text: str, limit: int) -> list[Piece]:
    """``text`` whole, or cut at ends of sentences so that no piece has more than ``limit`` estimated tokens."""
    if estimate_tokens(text) <= limit:
        return [Piece(index, 0, text)]
    cuts = [0]
    end = 0
    for span in sentences(text):
        if estimate_tokens(text[cuts[-1] : span.end]) > limit:
            # Before this sentence, and inside it where it alone is too long.
            at = max(end, cuts[-1])
            cuts += [at] if at > cuts[-1] else []
            while estimate_tokens(text[at : span.end]) > limit:
                at += max(1, limit)
                cuts.append(at)
        end = span.end
    bounds = zip(cuts, [*cuts[1:], len(text)], strict=True)
    return [Piece(index, start, text[start:stop]) for start, stop in bounds if text[start:stop].strip()]


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


def _addressing(sample: Sample) -> Iterator[str]:
    """Findings: texts that speak to the judge. They are judged like any other text."""
    texts = [(f"context {n}", c.text) for n, c in enumerate(sample.contexts or (), start=1) if c.prompted]
    for name, material in (*texts, ("the answer", sample.answer or "")):
        if passage := addresses_judge(material):
            yield f"{name} has text that addresses the judge: “{passage}”"


# ---------------------------------------------------------------- calls


@dataclass(frozen=True)
class Call:
    """One request: ``name`` of its prompt, messages and the schema of its reply.

    ``sizes``: (least, most) of the schema's lists, texts and numbers; see :func:`replies.sized`.
    """

    name: str
    messages: list[Message]
    schema: dict[str, Any]
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    prompts: Prompts = SHIPPED

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
    # A claim may put the question's words in place of a pronoun, so it can be longer than its text.
    longest = max(len(task.answer), len(task.reference)) + len(task.sample.question)
    sizes = _context_sizes(task, 0) | {"text": (1, min(longest, MOST_CHARACTERS)), "conflicts": (0, MOST_CONFLICTS)}
    sizes |= {"answer_claims": (0, _most_claims(task.answer)), "reference_claims": (1, _most_claims(task.reference))}
    return _about(task, "verify", verify_schema(task.flags), sizes)


def part_call(task: Task, part: int, claims: Sequence[str], *, relevance: bool = True) -> Call:
    """A further call: numbered claims against part ``part`` of the contexts."""
    sizes = _context_sizes(task, part) | {"claims": (len(claims), len(claims)), "claim": (1, len(claims))}
    flags = task.flags | ({"relevance"} if relevance else set())
    return _about(task, "part", part_schema(relevance), sizes, part, flags, claims=numbered("claim", claims))


def rubric_call(task: Task, name: str, criterion: str) -> Call:
    """A rating of the answer by one criterion; of long contexts only the first part is shown."""
    return _about(task, "rubric", rubric_schema(), {"reasoning": (1, MOST_CHARACTERS)}, name=name, criterion=criterion)


def prefer_call(task: Task, answers: Sequence[str], name: str, criterion: str) -> Call:
    """Which of two answers is better by one criterion, in the order given; of long contexts only the first part is shown."""
    sizes = {"reasoning": (1, MOST_CHARACTERS)}
    shown = numbered("answer", [text.strip() for text in answers])
    return _about(task, "prefer", prefer_schema(), sizes, name=name, criterion=criterion, answers=shown)


def _about(
    task: Task, prompt: str, schema: dict[str, Any], sizes: Mapping[str, tuple[int, int]], part: int = 0,
    flags: Collection[str] | None = None, **more: str,
) -> Call:  # fmt: skip
    """The call that shows question, answer, reference and one part of the contexts."""
    values = {
        "question": escaped(task.sample.question), "answer": escaped(task.answer), "reference": escaped(task.reference),
        "contexts": numbered("context", [piece.text for piece in task.parts[part]]), "shape": shape(schema), **more,
    }  # fmt: skip
    shown = render(prompt, task.language, task.flags if flags is None else flags, values, task.prompts)
    return Call(prompt, shown, schema, sizes, task.prompts)


def questions_call(task: Task, n: int) -> Call:
    """The call for ``n`` reverse questions; it holds the answer and nothing else of the sample."""
    schema = questions_schema()
    wanted = language_name(task.reply_language, task.language)
    values = {"answer": escaped(task.answer), "n": str(n), "language": wanted, "shape": shape(schema)}
    sizes = {"questions": (1, n), "items": (1, MOST_CHARACTERS // 2)}
    return Call("questions", render("questions", task.language, (), values, task.prompts), schema, sizes, task.prompts)


def repair_call(call: Call, language: str, reply: str, problems: str) -> Call:
    """``call`` once more, with the reply that could not be used and what was wrong with it."""
    asked = render("repair", language, (), {"problems": problems, "shape": shape(call.schema)}, call.prompts)
    shown = [{"role": "assistant", "content": reply[:4000]}] if reply.strip() else []
    return dataclasses.replace(call, messages=[*call.messages, *shown, *asked])


def _context_sizes(task: Task, part: int) -> dict[str, tuple[int, int]]:
    n, longest = len(task.parts[part]), max((len(piece.text) for piece in task.parts[part]), default=0)
    return {"contexts": (n, n), "verdicts": (n, n), "context": (1, n), "quote": (0, min(longest, MOST_CHARACTERS))}


def _most_claims(text: str) -> int:
    """More claims than ``text`` can hold: no statement has fewer than about four tokens."""
    return min(MAX_CLAIMS, 2 + estimate_tokens(text) // 4)
