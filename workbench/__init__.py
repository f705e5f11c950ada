"""RAG diagnostic workbench: why a retrieval-augmented system answers badly, and what changed between two runs.

``import workbench as wb`` gives the names below; each is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"
