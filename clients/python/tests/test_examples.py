"""The examples run as a person runs them, twice: the second time they know what was said the first time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hosts import library
from providers import anthropic_message, chat_completion, provider, response
from test_process import SOURCES

FOLDER = Path(__file__).resolve().parents[3] / "examples/python"
NOTE = "Please note: the gateway listens on port 8443."
ASKED = "Which port was that?"


def reply(path: str, request: dict[str, Any]) -> dict[str, Any]:
    """It knows the port only if the request has it."""
    knows = "8443" in json.dumps(request)
    text = "It is 8443." if knows else "I do not know."
    if path.endswith("/chat/completions"):
        return chat_completion(text)
    if path.endswith("/responses"):
        return response(text)
    last = request["messages"][-1]["content"]
    if isinstance(last, list):
        return anthropic_message([{"type": "text", "text": text}], "end_turn")
    command = {"command": "view", "path": "/memories/gateway"}
    if last == NOTE:
        command = {"command": "create", "path": "/memories/gateway", "file_text": last}
    return anthropic_message([{"type": "tool_use", "id": "t_1", "name": "memory", "input": command}], "tool_use")


@pytest.mark.parametrize(
    ("name", "needs"),
    [("openai_agents", "agents"), ("langgraph_agent", "langgraph.graph"), ("anthropic_memory", "anthropic")],
)
def test_it_runs_and_goes_on(name: str, needs: str) -> None:
    library(needs)
    with provider(reply) as server:
        keys = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x"}
        environment = {**os.environ, **keys, "ANTHROPIC_BASE_URL": server.url, "PYTHONPATH": SOURCES}
        said: list[str] = []
        for line in (NOTE, ASKED):
            command = [sys.executable, str(FOLDER / f"{name}.py"), "a test"]
            done = subprocess.run(command, input=line, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
    assert said[1] == "It is 8443.\n"
