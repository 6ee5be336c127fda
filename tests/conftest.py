"""Fixtures that every test may ask for; each is started only then. And how much hypothesis tries."""

import signal

import pytest
from hypothesis import settings

from .s3 import s3_endpoint, s3_options, s3_root

settings.register_profile("quick", max_examples=25, deadline=None)  # make check
settings.register_profile("full", deadline=None)  # make test; a busy machine is no failure
settings.register_profile("long", max_examples=5_000, deadline=None)  # pytest --hypothesis-profile=long
settings.load_profile("full")

__all__ = ["s3_endpoint", "s3_options", "s3_root"]


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that tests start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Tests neither read nor write the indexes of the person who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLITSCAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_collection_modifyitems(items):
    """To start an object store takes seconds."""
    for item in items:
        if "s3_endpoint" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
