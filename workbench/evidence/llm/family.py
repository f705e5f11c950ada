"""Whether two models are of one family: a judge tends to rate its own kind too high."""

from __future__ import annotations

import re

from workbench.language import text

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
