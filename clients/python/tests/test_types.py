"""The sources have types throughout: pyright in its strict mode finds nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import library

CLIENT = Path(__file__).resolve().parents[1]


def test_pyright_finds_nothing() -> None:
    library("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright runs in Node.js")
    # Without the hosts' libraries it would report them as missing.
    libraries = ("agents", "langgraph.graph", "claude_agent_sdk", "anthropic", "agent.memory_provider", "pydantic_ai")
    for needed in (*libraries, "llama_index.core", "crewai_core"):
        library(needed)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(CLIENT)]
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
