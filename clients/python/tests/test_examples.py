"""The examples run as a person runs them, twice: the second time they know what was said the first time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hosts import library
from providers import Provider, anthropic_message, chat_completion, provider, response
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
    [
        ("openai_agents", "agents"),
        ("langgraph_agent", "langgraph.graph"),
        ("anthropic_memory", "anthropic"),
        ("pydantic_agent", "pydantic_ai"),
    ],
)
def test_it_runs_and_goes_on(name: str, needs: str) -> None:
    library(needs)
    with provider(reply) as server:
        said = [run(python(name, "a test"), line, server) for line in (NOTE, ASKED)]
    assert said[1] == "It is 8443.\n"


def test_a_fact_outlasts_its_conversation() -> None:
    assert run(python("memories"), "The gateway listens on port 8443") == ""
    assert run(python("memories"), "which port has the gateway?") == "The gateway listens on port 8443\n"


def test_a_chat_through_the_proxy_is_bounded(program: str) -> None:
    library("openai")
    lines = [NOTE, *(f"Number {turn}: {'the invoices are late again. ' * 40}" for turn in range(40)), ASKED]
    with provider(reply) as server:
        through = [program, "run", "--budget", "4000", "--upstream", server.url, "--", *python("proxied_chat")]
        said = run(through, "\n".join(lines), server)
        sent = [len(json.dumps(request)) for request in server.requests]
    assert said.splitlines()[-1] == "It is 8443."
    # Without the proxy the last would have forty times 1200 characters.
    assert len(sent) == len(lines) and max(sent) < 25_000


def test_a_client_of_mcp_records_and_asks() -> None:
    library("mcp")
    said = run(python("mcp_client"), "")
    assert "tools\n" in said and "The refresh token expires." in said


def python(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(FOLDER / f"{name}.py"), *arguments]


def run(command: list[str], line: str, server: Provider | None = None) -> str:
    """What the command prints."""
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    if server is not None:
        environment |= {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": server.url}
        environment |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url}
    done = subprocess.run(command, input=line, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
