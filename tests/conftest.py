"""Every test begins in English and follows its own data, whatever the test before it chose."""

from __future__ import annotations

import pytest

from workbench.language import set_language


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    set_language(None)


def pytest_collection_modifyitems(items):
    """Browser tests come last: playwright keeps an event loop running, inside which ``asyncio.run`` is refused."""
    items.sort(key=lambda item: "tests/browser" in item.nodeid)
