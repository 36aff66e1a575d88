"""Claude Agent SDK: its conformance suite, and its own functions on sessions that are kept in Neap."""

import asyncio
from typing import Any

from hosts import FACT, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

library("claude_agent_sdk")

from claude_agent_sdk import get_session_messages_from_store, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance

from neap.hosts.claude_agent_sdk import NeapSessionStore

SESSION = "11111111-2222-4333-8444-555555555555"


def test_the_conformance_suite_passes(neap: Neap) -> None:
    made: list[NeapSessionStore] = []

    def make() -> NeapSessionStore:
        # The suite wants an empty store each time, and no store forgets.
        for row in list(neap.each(neap.list_sessions, q="claude-agent-sdk", limit=200)):
            neap.erase_session(row["session"], confirm=row["session"])
        made.append(NeapSessionStore(neap))
        return made[-1]

    asyncio.run(run_session_store_conformance(make))
    # It makes one for each contract that it tests, and one to look at: none was skipped.
    assert len(made) == 15


def entry(kind: str, number: int, content: Any, parent: str | None) -> Any:
    return {
        "type": kind,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "parentUuid": parent,
        "sessionId": SESSION,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "isSidechain": False,
        "message": {"role": kind, "content": content},
        "odd": {"\ud83d": [1.0, None, "\x00"]},
    }


def test_a_session_of_a_hundred_turns_is_resumed_and_searched(neap: Neap, tmp_path: Any) -> None:
    from claude_agent_sdk import project_key_for_directory

    project = project_key_for_directory(str(tmp_path))
    key: Any = {"project_key": project, "session_id": SESSION}

    async def talk() -> None:
        store = NeapSessionStore(neap)
        written: list[Any] = []
        for turn in range(1, TURNS + 1):
            parent = written[-2]["uuid"] if written else None
            said = entry("user", 2 * turn, question(turn), parent)
            reply = entry("assistant", 2 * turn + 1, [{"type": "text", "text": answer(turn)}], said["uuid"])
            await store.append(key, [said])
            mode: Any = {"type": "mode", "mode": "plan"}
            await store.append(key, [reply, mode])
            # Sent again, as the SDK does after a failure.
            await store.append(key, [reply])
            written += [said, reply, mode]
            if turn == TURNS // 2:
                kill(neap)
                store = NeapSessionStore(neap)
        assert await store.load(key) == written
        messages = await get_session_messages_from_store(store, SESSION, directory=str(tmp_path))
        assert len(messages) == 2 * TURNS
        listed = await list_sessions_from_store(store, directory=str(tmp_path))
        assert [one.session_id for one in listed] == [SESSION]
        tool: Any = store.recall_server()["instance"]
        assert FACT in await called(tool, QUESTION)
        await store.delete(key)
        assert await store.load(key) is None and neap.search(FACT)["items"] == []

    asyncio.run(talk())


async def called(server: Any, query: str) -> str:
    """What the MCP server's tool answers, as a client of it gets it."""
    from mcp import Client

    async with Client(server) as client:
        result: Any = await client.call_tool("recall", {"query": query})
        return str(result.content[0].text)
