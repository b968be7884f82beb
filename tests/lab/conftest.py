"""Runs are measured from a clean heap; what a test session holds by now would make each such collection slow."""

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def held_by_the_session() -> None:
    """Collect once, and leave out of later collections what is there: a study of six runs collects six times."""
    gc.collect()
    gc.freeze()
