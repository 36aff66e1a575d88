"""The package has the version of the program."""

import re
from pathlib import Path

from neap import Neap, __version__

ROOT = Path(__file__).resolve().parents[3]


def test_the_version_is_that_of_the_program(neap: Neap) -> None:
    workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', workspace, re.MULTILINE)
    assert found is not None and found[1] == __version__ == neap.health()["version"]
