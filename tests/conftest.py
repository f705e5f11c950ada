"""Every test begins in English and follows its own data, whatever the test before it chose."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from workbench.language import set_language

# Before anything reads it: no test asks a model hub for anything.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Speed is measured in tests/benchmarks; a test that waits for a busy machine is no failure.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Each worker keeps its judgements to itself: those of the user's cache may come from other rules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def numerals():
    """The library of Chinese numerals is loaded before a test with a deadline asks for the first one."""
    from workbench.data.text.quantities import quantities

    quantities("一千五百")


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    set_language(None)


def pytest_collection_modifyitems(items):
    """Browser tests come last: playwright keeps an event loop running, inside which ``asyncio.run`` is refused."""
    items.sort(key=lambda item: "tests/browser" in item.nodeid)
