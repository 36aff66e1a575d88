"""The protocol's own Python library as a client: over both transports, in both eras. Prints `all hold` at the end.

Usage: mcp_client.py NEAP URL
"""
import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult


async def agree(_context, _params):
    return ElicitResult(action="accept", content={"confirm": True})


async def check(server, session, mode):
    async with Client(server, mode=mode, elicitation_callback=agree) as client:
        listed = await client.list_tools()
        assert len(listed.tools) == 20, len(listed.tools)
        assert all(tool.output_schema and tool.title for tool in listed.tools)
        # The library holds what comes against the schema that was listed.
        opened = await client.call_tool("open_effort", {"name": "Auth bug", "session": session})
        assert opened.structured_content == {"status": "opened", "effort_id": "auth-bug"}, opened
        said = {"user": "users get a 401 an hour after login", "assistant": "Rotate the refresh token.", "session": session}
        recorded = await client.call_tool("record_turn", said)
        assert recorded.structured_content["effort"] == "auth-bug", recorded
        refused = await client.call_tool("open_effort", {"name": "Auth bug", "session": session})
        assert refused.is_error, refused
        kept = await client.call_tool("remember", {"kind": "fact", "text": f"The code of {session} is 4711", "session": session})
        forgotten = await client.call_tool("forget", {"id": kept.structured_content["id"], "session": session})
        assert forgotten.structured_content["status"] == "forgotten", forgotten
        context = await client.call_tool("get_context", {"query": "refresh token", "session": session})
        assert "Rotate the refresh token." in context.structured_content["text"], context
        read = await client.read_resource(f"neap://session/{session}/effort/auth-bug/raw")
        assert "401" in read.contents[0].text, read
        prompts = await client.list_prompts()
        assert [prompt.name for prompt in prompts.prompts] == ["recap", "handoff", "open-effort", "review-decisions"]
        recap = await client.get_prompt("recap", {"session": session})
        assert "auth-bug" in recap.messages[0].content.text, recap
        return client.protocol_version


async def main():
    neap, url = sys.argv[1:]
    stdio = StdioServerParameters(command=neap, args=["mcp"], env=dict(os.environ))
    spoken = []
    for name, server in [("stdio", stdio), ("http", url)]:
        for mode in ["legacy", "auto"]:
            spoken.append(await check(server, f"{name}-{mode}", mode))
    assert spoken == ["2025-11-25", "2026-07-28"] * 2, spoken
    print("all hold")


asyncio.run(main())
