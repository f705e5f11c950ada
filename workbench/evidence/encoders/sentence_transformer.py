"""Any sentence-transformers model: a folder, a name of the hub, or a loaded object.

Texts are tokenized once, sorted by their number of tokens and run in batches of a fixed token budget: less padding
than batches of a fixed number of texts, above all where Chinese and English are mixed.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.text.normalise import scrub
from workbench.errors import EncoderError
from workbench.evidence.encoders.base import Kind, TokenVectors, unit_rows
from workbench.language import languages
from workbench.steps import checkpoint

# ---------------------------------------------------------------- whether a hub can be reached

#: Seconds until a hub that does not answer counts as out of reach; its library would retry for minutes.
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

    Raises ``EncoderError`` when there is no such model, no network, or the user asked for none (``HF_HUB_OFFLINE``);
    within ``TIMEOUT`` seconds.
    """
    remedy = "use encoder='e5' (embedded), or the folder of a downloaded model"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise EncoderError(f"encoder {name!r} is not on this machine and HF_HUB_OFFLINE is set; {remedy}")
    # In a thread of its own: looking up a host name has no time-out.
    answers: list[str | None] = []
    thread = threading.Thread(target=lambda: answers.append(_request(name)), daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    problem = answers[0] if answers else f"the model hub did not answer within {TIMEOUT:.0f} s"
    if problem:
        raise EncoderError(f"encoder {name!r} is not on this machine and {problem}; {remedy}")


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


# ---------------------------------------------------------------- a loaded model

logger = logging.getLogger(__name__)

#: Tokens (padding included) run through the model at once. On a CPU few: the activations then stay in its cache
#: (measured: 1.4 times the sentences and 2.4 times the paragraphs per second of 4,096 or of 32 texts at a time).
TOKEN_BUDGET = 512
GPU_TOKEN_BUDGET = 16_384
#: A text is cut to so many characters for each token of the window before it is tokenized: the rest cannot matter,
#: and a text of a megabyte costs no more than a page.
CHARACTERS_PER_TOKEN = 32

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_E5 = re.compile(r"(^|[/_-])e5-(?!.*instruct)", re.IGNORECASE)


@dataclass(slots=True)
class _Tokens:
    """One text as the model sees it: ids cut to the window, spans in the text, which tokens are the text's own."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special: list[int]
    cut: bool


class SentenceTransformerEncoder:
    """A loaded ``SentenceTransformer`` as an encoder, with token vectors and truncation where it is a transformer.

    Parameters
    ----------
    model
        ``sentence_transformers.SentenceTransformer``, in float32 for reproducible vectors.
    name
        For people, cache keys and manifests.
    fingerprint
        Default: a digest of samples of all weights, the vocabulary and the pooling.
    prompts
        ``{"query": …, "passage": …}``; default: the model's own, or e5's where the name says e5 and it has none.
    """

    def __init__(
        self, model: Any, name: str, *, fingerprint: str | None = None, prompts: Mapping[str, str] | None = None
    ) -> None:
        model.eval()
        self.model = model
        self.name = name
        self.prompts = dict(prompts) if prompts is not None else _prompts(model, name)
        dimension = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        self.dimension = int(dimension())
        self.max_tokens = _window(model)
        self.fingerprint = fingerprint if fingerprint is not None else _fingerprint(model, self.prompts)
        # Fast tokenizers keep the window as state and refuse a second thread while it is set.
        self._tokenizing = threading.Lock()
        self.on_gpu = model.device.type != "cpu"
        self._budget = GPU_TOKEN_BUDGET if self.on_gpu else TOKEN_BUDGET
        self._fast = bool(getattr(_tokenizer(model), "is_fast", False))
        self._plain = self._fast and _is_plain_transformer(model, self.prompts)
        self.reads_chinese = _reads_chinese(model) if self._fast else True

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32; a text longer than ``max_tokens`` is represented by its beginning."""
        if self._plain:
            return self._run(texts, kind, want_tokens=False)[0]
        rows = self.model.encode(
            [scrub(text) for text in texts],
            prompt=self.prompts[kind] or None,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return unit_rows(np.asarray(rows, dtype=np.float32).reshape(len(texts), self.dimension))

    def token_vectors(self, texts: Sequence[str], kind: Kind = "passage") -> list[TokenVectors]:
        """For each text the last-layer vectors (m, d) of its tokens, unit rows, and their spans (m, 2) int32.

        The prompt and the special tokens are left out, and so are tokens beyond ``max_tokens``. ``EncoderError`` when the
        model is no transformer with a fast tokenizer.
        """
        return self.encode_with_tokens(texts, kind)[1]

    def encode_with_tokens(self, texts: Sequence[str], kind: Kind = "passage") -> tuple[np.ndarray, list[TokenVectors]]:
        """Vectors of the texts and of their tokens in one pass; see :meth:`token_vectors`."""
        if not self._plain:
            raise EncoderError(f"encoder {self.name} has no token vectors: it is no transformer with a fast tokenizer")
        return self._run(texts, kind, want_tokens=True)

    def inside(self) -> tuple[Any, Any]:
        """The tokenizer and the transformer, for those that read with them in another way. ``EncoderError`` as above."""
        if not self._plain:
            raise EncoderError(f"encoder {self.name} has no layers to read with: it is no transformer with a fast tokenizer")
        return self.model.tokenizer, self.model[0].auto_model

    def truncated(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Bool (n,): which texts are longer than the window, prompt included; none where there is no window to know."""
        if not self._fast:
            return np.zeros(len(texts), dtype=bool)
        return np.array([tokens.cut for tokens in self._tokenize(texts, kind)], dtype=bool)

    # -- one pass --------------------------------------------------------------------------------------------

    def _run(self, texts: Sequence[str], kind: Kind, *, want_tokens: bool) -> tuple[np.ndarray, list[TokenVectors]]:
        import torch

        tokens = self._tokenize(texts, kind)
        rows = np.empty((len(tokens), self.dimension), dtype=np.float32)
        pieces: dict[int, TokenVectors] = {}
        skip = len(self.prompts[kind])
        with torch.inference_mode():
            for batch in _token_batches([len(t.ids) for t in tokens], self._budget):
                checkpoint(sum(max(end for _, end in tokens[i].offsets) for i in batch))
                output = self.model(self._features([tokens[i].ids for i in batch]))
                rows[batch] = output["sentence_embedding"].float().cpu().numpy()
                if want_tokens:
                    hidden = output["token_embeddings"].float().cpu().numpy()
                    for i, vectors in zip(batch, hidden, strict=True):
                        pieces[i] = _own_tokens(vectors, tokens[i], skip, texts[i])
        return unit_rows(rows), [pieces[i] for i in range(len(pieces))]

    def _tokenize(self, texts: Sequence[str], kind: Kind) -> list[_Tokens]:
        """Ids cut to the window, without padding."""
        if not len(texts):
            return []
        prompt, window = self.prompts[kind], self.max_tokens or None
        limit = window * CHARACTERS_PER_TOKEN if window else None
        with self._tokenizing:
            encoded = self.model.tokenizer(
                [prompt + scrub(text)[:limit] for text in texts], truncation=window is not None, max_length=window,
                return_offsets_mapping=True, return_special_tokens_mask=True, return_attention_mask=False,
                return_token_type_ids=False,
            )  # fmt: skip
        columns = (encoded["input_ids"], encoded["offset_mapping"], encoded["special_tokens_mask"])
        cut = [
            bool(encoding.overflowing) or (limit is not None and len(text) > limit)
            for encoding, text in zip(encoded.encodings, texts, strict=True)
        ]
        return [_Tokens(*row) for row in zip(*columns, cut, strict=True)]

    def _features(self, ids: list[list[int]]) -> dict[str, Any]:
        """Right-padded tensors as the first module expects them."""
        import torch

        width = max(map(len, ids))
        padding = self.model.tokenizer.pad_token_id or 0
        padded = torch.tensor([row + [padding] * (width - len(row)) for row in ids])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        features = {"input_ids": padded, "attention_mask": mask}
        if "token_type_ids" in self.model.tokenizer.model_input_names:
            features["token_type_ids"] = torch.zeros_like(padded)
        return {key: value.to(self.model.device) for key, value in features.items()}


def load_sentence_transformer(name: str) -> SentenceTransformerEncoder:
    """The model in folder ``name`` (no network), or the hub's model ``name`` from the local copy or the network.

    Raises ``EncoderError`` when there is none; within seconds where the hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return SentenceTransformerEncoder(open_model(str(folder)), folder.resolve().name)
    if not _HUB_NAME.fullmatch(name):
        raise EncoderError(f"encoder {name!r} is neither a folder nor a name such as intfloat/multilingual-e5-small")
    return SentenceTransformerEncoder(_hub_model(name), name)


def _hub_model(name: str) -> Any:
    """From the local copy if there is one; else the network is asked before the 5 s import of the library."""
    if has_local_copy(name):
        try:
            return open_model(name)
        except EncoderError as error:
            logger.warning("the local copy of encoder %s is incomplete (%s)", name, error)
    require_reachable(name)
    logger.info("fetching encoder %s from the hub", name)
    return open_model(name, local_files_only=False)


def open_model(name: str, *, local_files_only: bool = True) -> Any:
    """Load a ``SentenceTransformer`` in float32 on the CPU or the GPU that torch finds.

    Raises ``EncoderError`` with the reason, in one line.
    """
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise EncoderError(
            f"sentence-transformers is missing ({error}); run `pip install -r requirements.txt`"
        ) from error
    from transformers.utils import logging as library

    # The library's progress bar would stay in notebooks as a red block.
    shown = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        return SentenceTransformer(name, local_files_only=local_files_only, model_kwargs={"dtype": torch.float32})
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise EncoderError(f"encoder {name!r} cannot be loaded: {' '.join(str(error).split())[:200]}") from error
    finally:
        if shown:
            library.enable_progress_bar()


def _token_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions sorted by length, in batches of at most ``budget`` padded tokens (one text at least)."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[position] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _own_tokens(vectors: np.ndarray, tokens: _Tokens, skip: int, text: str) -> TokenVectors:
    """Vectors and spans of the text's own tokens; ``skip`` characters of prompt came before."""
    keep, spans = [], []
    for position, ((start, end), special) in enumerate(zip(tokens.offsets, tokens.special, strict=True)):
        start, end = max(start - skip, 0), end - skip
        while start < end and text[start].isspace():
            start += 1
        if not special and start < end:
            keep.append(position)
            spans.append((start, end))
    return unit_rows(vectors[keep]), np.array(spans, dtype=np.int32).reshape(-1, 2)


# -- what kind of model it is --------------------------------------------------------------------------------


def _tokenizer(model: Any) -> Any:
    return getattr(model[0], "tokenizer", None)


def _window(model: Any) -> int:
    """Tokens that the model reads, special ones included; 0 where there is no bound."""
    window = getattr(model, "max_seq_length", None)
    return int(window) if window and math.isfinite(window) else 0


def _prompts(model: Any, name: str) -> dict[str, str]:
    """The model's own prompts by kind."""
    own = {key: value for key, value in (model.prompts or {}).items() if value}
    default = own.get(model.default_prompt_name or "", "")
    query = own.get("query", default)
    passage = own.get("passage") or own.get("document", default)
    if not own and _E5.search(name):
        query, passage = "query: ", "passage: "
    return {"query": query, "passage": passage}


def _is_plain_transformer(model: Any, prompts: Mapping[str, str]) -> bool:
    """Whether ids and a mask are all it needs: a transformer, right padding, prompts pooled like the rest."""
    first = model[0]
    pools_prompt = all(getattr(module, "include_prompt", True) for module in model)
    return (
        type(first).__name__ == "Transformer"
        and first.tokenizer.padding_side == "right"
        and not getattr(first, "do_lower_case", False)
        and (pools_prompt or not any(prompts.values()))
    )


def _reads_chinese(model: Any) -> bool:
    """Whether the vocabulary holds the scripts that are known: few unknown pieces, and no flood of bytes, in a probe."""
    tokenizer = model.tokenizer
    for probe in (item.table("encoders").get("probe", "") for item in languages() if item.script):
        ids = tokenizer(probe, add_special_tokens=False)["input_ids"]
        unknown = sum(i == tokenizer.unk_token_id for i in ids) if tokenizer.unk_token_id is not None else 0
        if unknown > 0.1 * len(ids) or len(ids) > 1.5 * len(probe):
            return False
    return True


def _fingerprint(model: Any, prompts: Mapping[str, str]) -> str:
    """12 hex digits that change with the weights, the vocabulary, the window, the prompts and the modules."""
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        if ".pooler." in key:  # drawn at random where a checkpoint lacks it, and not part of the vectors
            continue
        flat = value.detach().reshape(-1)
        sample = flat[:: max(1, len(flat) // 64)].float().cpu().numpy().astype("<f4")
        digest.update(f"{key}{tuple(value.shape)}".encode() + sample.tobytes())
    tokenizer = _tokenizer(model)
    probes = [table for item in languages() if "in_fingerprint" in (table := item.table("encoders"))]
    for table in sorted(probes, key=lambda table: table["in_fingerprint"]):
        digest.update(str(tokenizer(table["probe"])["input_ids"] if callable(tokenizer) else "").encode())
    modules = [(type(module).__name__, getattr(module, "pooling_mode", "")) for module in model]
    digest.update(repr((modules, _window(model), sorted(prompts.items()))).encode())
    return digest.hexdigest()[:12]
