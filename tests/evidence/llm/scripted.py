"""A scripted model behind a real HTTP server that can misbehave in every way that servers do."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from werkzeug import Request, Response

from workbench.data.schema import Context, Sample

KEY = "sk-test-0123456789abcdef-secret"

Fault = Callable[["Asked"], "Response | str | None"]


class Asked:
    """One request as the model saw it: ``name`` of the schema, texts between tags, the number of tries so far."""

    def __init__(self, request: Request) -> None:
        self.body: dict[str, Any] = json.loads(request.data)
        self.headers = dict(request.headers)
        self.messages: list[dict[str, str]] = self.body["messages"]
        self.prompt = "\n".join(m["content"] for m in self.messages)
        self.user = next(m["content"] for m in self.messages if m["role"] == "user")
        self.format = self.body.get("response_format", {}).get("type", "text")
        self.repair = len(self.messages) > 2
        system = self.messages[0]["content"]
        self.name = next(
            (n for key, n in (('"answer_claims"', "verify"), ('"reference_claims"', "verify"), ('"claims"', "part"),
                              ('"questions"', "questions"), ('"score"', "rubric"), ('"contexts"', "verify"))
             if key in system), "?")  # fmt: skip

    def tag(self, name: str) -> str:
        match = re.search(rf"<{name}>\n(.*?)\n</{name}>", self.user, re.DOTALL)
        return match[1] if match else ""

    def numbered(self, name: str) -> list[str]:
        return re.findall(rf'<{name} id="\d+">\n(.*?)\n</{name}>', self.user, re.DOTALL)


def sentences(text: str) -> list[str]:
    return [part.strip(" 。.") for part in re.split(r"(?<=[。.])\s*", text) if part.strip(" 。.")]


def verdict(claim: str, text: str) -> str:
    if claim in text:
        return "supported"
    bare = re.sub(r"\d+", "#", claim)
    return "contradicted" if bare in re.sub(r"\d+", "#", text) else "not_mentioned"


class Model:
    """Answers by looking texts up: a claim is supported where it stands literally, contradicted with another number."""

    def __init__(self) -> None:
        self.requests: list[Asked] = []
        self.fault: Fault | None = None
        self.delay = 0.0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        asked = Asked(request)
        with self.lock:
            self.requests.append(asked)
        if self.delay:
            time.sleep(self.delay)
        answer = self.fault(asked) if self.fault else None
        if isinstance(answer, Response):
            return answer
        return completion(self.text(asked) if answer is None else answer)

    def text(self, asked: Asked) -> str:
        return json.dumps(getattr(self, asked.name)(asked), ensure_ascii=False)

    def verify(self, asked: Asked) -> dict[str, Any]:
        contexts, answer, reference = asked.numbered("context"), asked.tag("answer"), asked.tag("reference")
        reply: dict[str, Any] = {}
        if contexts:
            about = reference or asked.tag("question")
            reply["contexts"] = [
                {"context": n, "relevant": any(verdict(s, text) != "not_mentioned" for s in sentences(about))}
                for n, text in enumerate(contexts, 1)
            ]
        if answer:
            declines = "无法" in answer or "cannot" in answer
            reply["refusal"] = {"declines": declines, "answers_anyway": not declines}
            claims = [] if declines else sentences(answer)
            reply["answer_claims"] = [self.claim(c, contexts, "reference_verdict", reference) for c in claims]
        if reference:
            reply["reference_claims"] = [
                self.claim(c, contexts, "answer_verdict", answer) for c in sentences(reference)
            ]
        if answer:
            reply["conflicts"] = []
        return reply

    def claim(self, text: str, contexts: list[str], field: str, other: str) -> dict[str, Any]:
        item: dict[str, Any] = {"text": text}
        if contexts:
            item["verdicts"] = [self.entry(text, n, context) for n, context in enumerate(contexts, 1)]
        if other:
            item[field] = verdict(text, other)
        return item

    def entry(self, claim: str, n: int, context: str) -> dict[str, Any]:
        found = verdict(claim, context)
        quote = claim if found == "supported" else ""
        return {"context": n, "verdict": found, "quote": quote}

    def part(self, asked: Asked) -> dict[str, Any]:
        contexts = asked.numbered("context")
        claims = [
            {"claim": n, "verdicts": [self.entry(claim, m, text) for m, text in enumerate(contexts, 1)]}
            for n, claim in enumerate(asked.numbered("claim"), 1)
        ]
        return {"contexts": [{"context": n, "relevant": False} for n in range(1, len(contexts) + 1)], "claims": claims}

    def questions(self, asked: Asked) -> dict[str, Any]:
        chinese = "中文" in asked.messages[0]["content"]
        first = sentences(asked.tag("answer"))[0]
        return {"questions": [f"{first}吗？", f"什么是{first}？"] if chinese else [f"Is it true: {first}?"] * 2}

    def rubric(self, asked: Asked) -> dict[str, Any]:
        return {"reasoning": "fits", "score": 0.75}


def completion(text: str | None, finish: str = "stop", **more: Any) -> Response:
    body = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **more}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip
    return Response(json.dumps(body, ensure_ascii=False), content_type="application/json")


def failure(status: int, message: str = "broken", code: str | None = None, **headers: str) -> Response:
    body = {"error": {"message": message, "type": "error", "code": code}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps(body), status=status, content_type="application/json", headers=names)


def sample(n: int = 1, **changes: Any) -> Sample:
    """A Chinese sample: one claim supported by context 1, one contradicted by context 2, both by number ``n``."""
    fields: dict[str, Any] = {
        "sample_id": f"s{n}",
        "question": f"套餐{n}的上传上限是多少？",
        "answer": f"套餐{n}的上传上限为 2GB。套餐{n}的保留期为 30 天。",
        "contexts": (
            Context(f"说明：套餐{n}的上传上限为 2GB。", "d1"),
            Context(f"套餐{n}的保留期为 90 天。", "d2"),
        ),
        "reference": f"套餐{n}的上传上限为 2GB",
    }
    return Sample(**{**fields, **changes})


def english(n: int = 1, **changes: Any) -> Sample:
    fields: dict[str, Any] = {
        "sample_id": f"e{n}",
        "question": f"What is the upload limit of plan {n}?",
        "answer": f"The upload limit of plan {n} is 2 GB.",
        "contexts": (Context(f"Note: The upload limit of plan {n} is 2 GB.", "d1"),),
        "reference": f"The upload limit of plan {n} is 2 GB",
    }
    return Sample(**{**fields, **changes})
