"""Claude Code itself as a client of Neap's MCP server, over both transports, against a provider on this machine.

    npm install @anthropic-ai/claude-code
    python3 bench/agents/mcp.py --neap target/release/neap --agent node_modules/.bin/claude

The provider has the agent remember a fact and recall it. What the tools answered must stand in the agent's next request. Nothing is asked
of anybody outside this machine. Exit code 0 if all of it holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from provider import Provider, called, said

CALLS = [
    ("mcp__neap__remember", {"kind": "fact", "text": "The harbour crane lifts 38 tonnes"}),
    ("mcp__neap__recall", {"query": "harbour crane"}),
]


def answered(asked):
    """How many results of tools the agent sends along."""
    blocks = [block for message in asked["messages"] if isinstance(message["content"], list) for block in message["content"]]
    return sum(block["type"] == "tool_result" for block in blocks)


def anthropic(asked, number):
    done = answered(asked)
    is_main = any(tool.get("name", "").startswith("mcp__neap__") or tool.get("name") == "Bash" for tool in asked.get("tools", []))
    return called(asked, number, *CALLS[done]) if is_main and done < len(CALLS) else said(asked, number, "Done.")


Provider.says = {"/v1/messages": anthropic}


def tried(args, name, server, environment):
    """One run of the agent with this server."""
    Provider.kept.clear()
    folder = Path(environment["HOME"])
    config = folder / f"{name}.json"
    config.write_text(json.dumps({"mcpServers": {"neap": server}}))
    command = [args.agent, "-p", "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__neap", "--", "What lifts the crane?"]
    ran = subprocess.run(command, env=environment, cwd=folder, stdin=-3, capture_output=True, text=True, timeout=120)
    last = json.dumps(Provider.kept[-1]) if Provider.kept else ""
    told = {"exit": ran.returncode, "remembered": "Remembered as f" in last or "says it already" in last, "recalled": last.count("38 tonnes") >= 2}
    print(name, json.dumps(told), flush=True)
    return told["exit"] == 0 and told["remembered"] and told["recalled"]


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--agent", default="claude", help="the agent's binary")
    args = asks.parse_args()
    args.neap, args.agent = os.path.abspath(args.neap), os.path.abspath(args.agent)
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap", ANTHROPIC_API_KEY="sk-ant-none")
        environment |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{provider.server_port}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        address = "127.0.0.1:18428"
        serving = subprocess.Popen([args.neap, "serve", "--listen", address, "--upstream", "http://127.0.0.1:9"], env=environment, stdout=-3, stderr=-3)
        time.sleep(2)
        holds = tried(args, "stdio", {"command": args.neap, "args": ["mcp"], "env": {"NEAP_DATA_DIR": f"{home}/neap"}}, environment)
        with open(f"{home}/neap/keys/mcp.token") as token:
            headers = {"Authorization": f"Bearer {token.read().strip()}"}
        holds &= tried(args, "http", {"type": "http", "url": f"http://{address}/mcp", "headers": headers}, environment)
        serving.terminate()
        serving.wait()
    return 0 if holds else 1


sys.exit(main())
