"""A chat with pydantic-ai. It sends at most some 8000 tokens of history, however long it lasts, and goes on where it ended.

pip install "neap[pydantic-ai]" "pydantic-ai-slim[openai]"; OPENAI_API_KEY=... python pydantic_agent.py [NAME OF THE CHAT]
"""

import asyncio
import sys

from pydantic_ai import Agent

from neap import Neap
from neap.hosts.pydantic_ai import NeapConversation


async def main() -> None:
    with Neap() as neap:
        conversation = NeapConversation(neap, sys.argv[1] if len(sys.argv) > 1 else "a chat", budget=8000, author="person")
        agent = Agent("openai-chat:gpt-5.5-mini", capabilities=[conversation])
        for line in sys.stdin:
            if line.strip():
                result = await agent.run(line.strip(), message_history=await conversation.messages())
                print(result.output, flush=True)


asyncio.run(main())
