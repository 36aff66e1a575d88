"""Anthropic's memory tool: it answers as the SDK's own for a file system; the real client against a scripted server."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosts import FACT, FACT_TURN, QUESTION, TURNS, answer, library, question
from providers import anthropic_message, provider
from test_process import kill

from neap import Neap

library("anthropic")

from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from neap.hosts.anthropic_memory import AsyncNeapMemoryTool, NeapMemoryTool

PATHS = ["", "/", "/a.txt", "/b.txt", "/d", "/d/c.txt", "/d/e/f.txt", "/d/../a.txt", "/../x", "/.hidden"]
TEXTS = ["", "one\ntwo\nthree\n", "two", "one\r\ntwo", "é\ttwo two", "no end of line\n\n"]


def commands(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(17)
    for _ in range(count):
        path, other = ("/memories" + chance.choice(PATHS) for _ in range(2))
        text, old = chance.choice(TEXTS), chance.choice(["two", "one\n", "nowhere", "é"])
        yield chance.choice(
            [
                {"command": "view", "path": path},
                {"command": "view", "path": path, "view_range": chance.choice([[1, 2], [2, -1], [0, 9], [3, 1]])},
                {"command": "create", "path": path, "file_text": text},
                {"command": "create", "path": path, "file_text": text},
                {"command": "str_replace", "path": path, "old_str": old, "new_str": text},
                {"command": "insert", "path": path, "insert_line": chance.randrange(-1, 5), "insert_text": text},
                {"command": "delete", "path": path},
                {"command": "rename", "old_path": path, "new_path": other},
            ]
        )


def told(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"refused: {error}"
    except OSError:
        # The file system's tool has no words of its own for a path below a file, or a folder moved into itself.
        return "refused: by the system"


def same(ours: str, theirs: str) -> bool:
    if theirs.startswith("Here're the files"):
        # The size of a folder is the file system's business.
        return [line.split("\t")[-1] for line in ours.split("\n")] == [line.split("\t")[-1] for line in theirs.split("\n")]
    return ours == theirs or (theirs == "refused: by the system" and ours.startswith("refused: "))


def test_it_answers_as_the_tool_for_a_file_system(neap: Neap, tmp_path: Path) -> None:
    ours, theirs = NeapMemoryTool(neap), BetaLocalFilesystemMemoryTool(str(tmp_path / "files"))
    done = 0
    for number, command in enumerate(commands(700)):
        view = {"command": "view", "path": command.get("old_path", "/memories")}
        if told(theirs, view).startswith("refused"):
            # Refused by both; but the file system's tool makes folders for it first.
            assert told(ours, command).startswith("refused")
            continue
        one, other = told(ours, command), told(theirs, command)
        assert same(one, other), f"{number}: {command}\n{one}\n{other}"
        done += not other.startswith("refused")
    assert done > 200
    everything = told(NeapMemoryTool(neap), {"command": "view", "path": "/memories"})
    assert same(everything, told(theirs, {"command": "view", "path": "/memories"}))
    assert ours.clear_all_memory() == theirs.clear_all_memory()
    assert "a.txt" not in told(NeapMemoryTool(neap), {"command": "view", "path": "/memories"})


def test_of_two_processes_one_creates_a_file(neap: Neap) -> None:
    with Neap() as second:
        tools = [NeapMemoryTool(neap), NeapMemoryTool(second)]
        said: list[str] = []

        def create(tool: NeapMemoryTool, number: int) -> None:
            for at in range(20):
                command = {"command": "create", "path": f"/memories/{at}", "file_text": f"by {number}"}
                said.append(told(tool, command))

        threads = [threading.Thread(target=create, args=(tool, number)) for number, tool in enumerate(tools)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(one.startswith("File created") for one in said) == 20
        assert sum(one.endswith("already exists") for one in said) == 20
        for at in range(20):
            view = {"command": "view", "path": f"/memories/{at}"}
            assert told(tools[0], view) == told(tools[1], view)


def test_the_async_tool_has_the_same_files(neap: Neap) -> None:
    NeapMemoryTool(neap).call({"command": "create", "path": "/memories/a", "file_text": "one"})

    async def use() -> str:
        tool = AsyncNeapMemoryTool(neap)
        await tool.call({"command": "insert", "path": "/memories/a", "insert_line": 1, "insert_text": "two"})
        with pytest.raises(ToolError, match="does not exist"):
            await tool.call({"command": "view", "path": "/memories/b"})
        return str(await tool.call({"command": "view", "path": "/memories/a"}))

    assert asyncio.run(use()).endswith("     1\tone\n     2\ttwo\n     3\t")


def reply(_: str, request: dict[str, Any]) -> dict[str, Any]:
    """It notes the fact in a file, and looks there when it is asked."""
    last = request["messages"][-1]["content"]
    if not isinstance(last, str):
        text = str(request["messages"][-1]["content"][-1]["content"])
        return anthropic_message([{"type": "text", "text": text}], "end_turn")
    if FACT in last:
        command: dict[str, Any] = {"command": "create", "path": "/memories/staging.txt", "file_text": FACT}
    elif last == QUESTION:
        command = {"command": "view", "path": "/memories/staging.txt"}
    else:
        return anthropic_message([{"type": "text", "text": answer(1)}], "end_turn")
    return anthropic_message([{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": command}], "tool_use")


def test_a_fact_of_turn_3_is_there_a_hundred_turns_later(neap: Neap) -> None:
    said = ""
    with provider(reply) as server, Anthropic(base_url=server.url, api_key="x") as client:
        tool = NeapMemoryTool(neap)
        for turn in range(1, TURNS + 1):
            if turn == TURNS // 2:
                kill(neap)
                tool = NeapMemoryTool(neap)
            # Each turn is a conversation of its own: only the files go from one to the next.
            runner = client.beta.messages.tool_runner(
                max_tokens=100,
                model="claude-test",
                messages=[{"role": "user", "content": question(turn)}],
                tools=[tool],
            )
            said = runner.until_done().content[0].text  # type: ignore[union-attr]
    assert FACT in said and FACT_TURN < TURNS
    # Two turns used the tool; no request has more than its own turn.
    assert len(server.requests) == TURNS + 2
    assert max(len(json.dumps(request)) for request in server.requests) < 1500
