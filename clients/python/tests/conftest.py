"""Every test speaks to the real program, that of NEAP_BIN or the one on the path, on a data folder of its own."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neap import Neap
from neap.program import find_program


@pytest.fixture(scope="session")
def program() -> str:
    return find_program()


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Path:
    monkeypatch.setenv("NEAP_BIN", program)
    monkeypatch.setenv("NEAP_DATA_DIR", str(tmp_path / "data"))
    # In a build for tests the embedder takes its time, and no test here needs it.
    monkeypatch.setenv("NEAP_EMBEDDER", "none")
    return tmp_path / "data"


@pytest.fixture
def neap() -> Iterator[Neap]:
    with Neap() as client:
        yield client


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Waits for a condition, however long a busy machine takes."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, f"still waiting until {what}"
        os.sched_yield()
