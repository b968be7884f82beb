"""Shape annotations are checked in every test; a user pays nothing for them."""

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Before any room is imported, so that every function with a shape in its signature is checked on every call.
install_import_hook(["regard.attention", "regard.modules", "regard.inputs"], "beartype.beartype")


@pytest.fixture
def real_data() -> Path:
    """The folder with the real data sets; a machine without it says so."""
    folder = os.environ.get("REGARD_DATA")
    if not folder:
        pytest.skip("real data: set REGARD_DATA to the folder that holds ud-english-ewt and the others")
    return Path(folder)
