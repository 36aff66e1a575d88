"""A chat with the OpenAI Agents SDK. It sends at most some 8000 tokens of history, however long it lasts, and goes on where it ended.

pip install "neap[openai-agents]"; OPENAI_API_KEY=... python openai_agents.py [NAME OF THE CHAT]
"""

import asyncio
import sys

from agents import Agent, Runner, set_tracing_disabled

from neap import Neap
from neap.hosts.openai_agents import NeapSession


async def main() -> None:
    set_tracing_disabled(True)
    with Neap() as neap:
        session = NeapSession(sys.argv[1] if len(sys.argv) > 1 else "a chat", neap, budget=8000, author="person")
        agent = Agent(
            "assistant",
            instructions="Answer briefly. What was said long ago is found with the tool recall.",
            tools=[session.recall_tool()],
        )
        for line in sys.stdin:
            if line.strip():
                result = await Runner.run(agent, line.strip(), session=session)
                print(result.final_output, flush=True)


asyncio.run(main())
