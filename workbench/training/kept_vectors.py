"""Encodings kept in a folder, for training and measuring: a second run reads them instead of encoding again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.encoders.base import Encoder
from workbench.evidence.offline.vectors import Kind, TextVectors, VectorStore
from workbench.evidence.offline.words import analyse

_log = logging.getLogger("workbench.evaluate")


class KeptVectors(VectorStore):
    """Vectors of texts from a folder; those it lacks are encoded and added. Used where a store of vectors is.

    Word vectors depend on how a text is cut into words: a kept text whose number of words is another is encoded anew.
    """

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        super().__init__(encoder, tokens=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._places: dict[str, tuple[str, int, int]] = {}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._whole: dict[str, NDArray[Any]] = {}
        for path in sorted(folder.glob("*.index")):
            self._read(path)

    def _read(self, path: Path) -> None:
        index = json.loads(path.read_text(encoding="utf-8"))
        self._arrays[path.stem] = np.load(path.with_suffix(".words.npy"), mmap_mode="r")
        whole = np.load(path.with_suffix(".whole.npy"))
        for at, (key, start, end) in enumerate(index):
            self._places[key] = (path.stem, start, end)
            self._whole[key] = whole[at]

    def get(self, texts: Iterable[str], kind: Kind) -> dict[str, TextVectors]:
        """The vectors of ``texts``: kept ones, else encoded (and not kept: see :meth:`add`)."""
        found, missing = {}, []
        for text in dict.fromkeys(texts):
            place = self._places.get(_key(text, kind))
            if place is None or place[2] - place[1] != len(analyse(text).ids):
                missing.append(text)
                continue
            name, start, end = place
            words = self._arrays[name][start:end].astype(np.float32)
            found[text] = TextVectors(self._whole[_key(text, kind)].astype(np.float32), words)
        return found | (super().get(missing, kind) if missing else {})

    def add(self, texts: Iterable[str], kind: Kind, shard: int = 1000) -> None:
        """Encode the texts that are not kept and keep them, ``shard`` in a file."""
        missing = [t for t in dict.fromkeys(texts) if _key(t, kind) not in self._places]
        for start in range(0, len(missing), shard):
            part = missing[start : start + shard]
            vectors = super().get(part, kind)
            self._kept.clear()
            self._bytes = 0
            name = hashlib.blake2b("".join(part).encode("utf-8", "replace"), digest_size=6).hexdigest()
            ends = np.cumsum([len(vectors[text].words) for text in part])  # type: ignore[arg-type]
            words = np.concatenate([vectors[text].words for text in part]).astype(np.float16)
            np.save(self.folder / f"{name}.words.npy", words)
            np.save(self.folder / f"{name}.whole.npy", np.stack([vectors[t].text for t in part]).astype(np.float16))
            places = zip(part, [0, *ends[:-1].tolist()], ends.tolist(), strict=True)
            rows = [(_key(text, kind), low, high) for text, low, high in places]
            (self.folder / f"{name}.index").write_text(json.dumps(rows), encoding="utf-8")
            self._read(self.folder / f"{name}.index")
            _log.info("encoded %d of %d", min(start + shard, len(missing)), len(missing))


def _key(text: str, kind: str) -> str:
    return hashlib.blake2b(f"{kind}\n{text}".encode("utf-8", "replace"), digest_size=10).hexdigest()
