"""Claude with Anthropic's memory tool, whose files are in Neap: each line is a conversation of its own, only the files stay.

pip install "neap[anthropic]"; ANTHROPIC_API_KEY=... python anthropic_memory.py [NAME OF THE MEMORY]
"""

import sys

from anthropic import Anthropic

from neap import Neap
from neap.hosts.anthropic_memory import NeapMemoryTool


def main() -> None:
    client = Anthropic()
    with Neap() as neap:
        tool = NeapMemoryTool(neap, sys.argv[1] if len(sys.argv) > 1 else "default")
        for line in sys.stdin:
            if line.strip():
                runner = client.beta.messages.tool_runner(
                    model="claude-sonnet-5-5",
                    max_tokens=1000,
                    messages=[{"role": "user", "content": line.strip()}],
                    tools=[tool],
                )
                message = runner.until_done()
                print("".join(block.text for block in message.content if block.type == "text"), flush=True)


main()
