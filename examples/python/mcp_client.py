"""A client of Neap's MCP server: it records a turn of a conversation, and gets back what bears on a question.

pip install neap mcp; python mcp_client.py
"""

import asyncio
import os

from mcp import Client, StdioServerParameters

from neap.program import find_program


async def main() -> None:
    server = StdioServerParameters(command=find_program(), args=["mcp"], env=dict(os.environ))
    async with Client(server) as client:
        print(len((await client.list_tools()).tools), "tools")
        turn = {"user": "users get a 401 an hour after login", "assistant": "The refresh token expires."}
        await client.call_tool("record_turn", {**turn, "session": "auth"})
        context = await client.call_tool("get_context", {"query": "why do users get a 401?", "session": "auth"})
        print((context.structured_content or {})["text"])


asyncio.run(main())
