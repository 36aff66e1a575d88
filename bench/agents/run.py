"""Real coding agents through the proxy, for many turns, against a provider on this machine.

    npm install @anthropic-ai/claude-code @openai/codex
    python3 bench/agents/run.py claude --turns 200 --budget 45000
    python3 bench/agents/run.py codex --turns 100 --budget 15000

Every request that reaches the provider is kept and looked at: is it within the budget, are calls and their results together, does it go on from
the one before except where the history was cut, and is a fact of turn 3 in the last one, which asks for it? Nothing is asked of anybody
outside this machine. Exit code 0 if all of it holds.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

import cost
from provider import Provider, called, message, responded, said

FACT = "Remember: the staging database is called heron-7 and listens on port 6543."
QUESTION = "What is the name of the staging database, and its port?"
FILLER = "The parser now reads the header first, then the table of lengths, and only then the rows themselves. " * 8
NOTED = "Noted. " + "I keep that in mind and go on with the next part of the work. " * 6
HEARD = re.compile(r"neap::ingest: heard .*tokens_in=(\d+) tokens_planned=(\d+) epoch=(\d+)")


def line(turn, turns):
    """What is said in a turn; in every fourth, the agent is to run something."""
    if turn == 3:
        return FACT
    if turn == turns:
        return QUESTION
    if turn % 4 == 0:
        return f"Step {turn}: please run the check of part {turn} and tell me."
    return f"Step {turn}: I changed src/part_{turn}.rs. {FILLER}"


def blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def anthropic(asked, number):
    last = blocks(asked["messages"][-1])
    is_result = any(block["type"] == "tool_result" for block in last)
    wants = any("please run" in block.get("text", "") for block in last)
    can = any(tool.get("name") == "Bash" for tool in asked.get("tools", []))
    if wants and can and not is_result:
        return called(asked, number, "Bash", {"command": "echo " + "out " * 60, "description": "check"})
    return said(asked, number, NOTED)


def responses(asked, number):
    item, last = message(number, NOTED), asked["input"][-1]
    tools = {tool.get("name") for tool in asked.get("tools", [])}
    if "please run" in json.dumps(last.get("content", "")) and last.get("role") == "user":
        command = "echo " + "out " * 60
        given = {"exec_command": {"cmd": command}, "shell_command": {"command": command}, "shell": {"command": ["sh", "-c", command]}}
        name = next((name for name in given if name in tools), None)
        if name:
            item = {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
            item |= {"arguments": json.dumps(given[name])}
    return responded(asked, number, item)


Provider.says = {"/v1/messages": anthropic, "/v1/responses": responses}


def unpaired(asked):
    """Calls without a result, and results without a call."""
    called, answered = set(), set()
    for message in asked.get("messages", []):
        for block in blocks(message):
            called |= {block["id"]} if block["type"] == "tool_use" else set()
            answered |= {block["tool_use_id"]} if block["type"] == "tool_result" else set()
    for item in asked.get("input", []):
        called |= {item["call_id"]} if item["type"].endswith("_call") else set()
        answered |= {item["call_id"]} if item["type"].endswith("_call_output") else set()
    return called ^ answered


def history(asked):
    """What was said, item by item, without the marks that clients move from turn to turn."""
    return [re.sub(r', "cache_control": \{[^}]*\}', "", json.dumps(item)) for item in asked.get("messages") or asked["input"]]


def claude(args, environment, proxy):
    environment |= {"ANTHROPIC_API_KEY": "sk-ant-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    form = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"]
    command = [args.neap, "run", *proxy, "--", args.agent or "claude", *form]
    with open(args.log, "w") as log:
        agent = subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, stderr=log, text=True)
    faults = 0
    for turn in range(1, args.turns + 1):
        message = {"role": "user", "content": [{"type": "text", "text": line(turn, args.turns)}]}
        print(json.dumps({"type": "user", "message": message}), file=agent.stdin, flush=True)
        told = {}
        while told.get("type") != "result":
            told = json.loads(agent.stdout.readline())
            # The agent compacts by itself if it believes to be full: it must never have to.
            faults += "compact" in str(told.get("subtype"))
        faults += bool(told.get("is_error"))
    agent.stdin.close()
    return faults + (agent.wait() != 0)


def codex(args, environment, proxy):
    home = Path(environment["HOME"]) / ".codex"
    home.mkdir()
    address = "127.0.0.1:18427"
    provider = f'[model_providers.neap]\nname = "neap"\nbase_url = "http://{address}/v1"\nwire_api = "responses"\nenv_key = "NONE"\n'
    (home / "config.toml").write_text(f'model = "gpt-5-codex"\nmodel_provider = "neap"\n{provider}')
    environment |= {"CODEX_HOME": str(home), "NONE": "sk-none"}
    with open(args.log, "w") as log:
        server = subprocess.Popen([args.neap, "serve", "--listen", address, *proxy], env=environment, stderr=log)
    while "listening" not in Path(args.log).read_text():
        time.sleep(0.1)
    faults = 0
    for turn in range(1, args.turns + 1):
        again = ["resume", "--last"] if turn > 1 else []
        command = [args.agent or "codex", "exec", *again, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", line(turn, args.turns)]
        ran = subprocess.run(command, env=environment, cwd=environment["HOME"], stdin=-3, stdout=-3, stderr=-3)
        faults += ran.returncode != 0
    server.terminate()
    return faults + (server.wait() != 0)


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("which", choices=["claude", "codex"])
    asks.add_argument("--turns", type=int, default=200)
    asks.add_argument("--budget", type=int, default=45_000)
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--agent", help="the agent's binary")
    asks.add_argument("--log", default=os.path.join(tempfile.gettempdir(), "neap-agents.log"), help="where the proxy writes")
    args = asks.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap", NEAP_LOG="info")
        proxy = ["--upstream", f"http://127.0.0.1:{server.server_port}", "--budget", str(args.budget)]
        faults = {"claude": claude, "codex": codex}[args.which](args, environment, proxy)
    heard = [tuple(map(int, found.groups())) for found in map(HEARD.search, open(args.log)) if found]
    kept = [history(asked) for asked in Provider.kept]
    rewritten = sum(after[: len(before)] != before for before, after in zip(kept, kept[1:]))
    last = "".join(kept[-1])
    told = {
        "turns": args.turns,
        "requests": len(kept),
        "seconds": round(time.monotonic() - began),
        "faults of the agent": faults,
        "tokens of the longest that came": max(came for came, _, _ in heard),
        "tokens of the longest that was sent": max(sent for _, sent, _ in heard),
        "bytes of the longest that was sent": max(len(json.dumps(asked)) for asked in Provider.kept),
        "over the budget": sum(sent > args.budget for _, sent, _ in heard),
        "cut": heard[-1][2],
        "not an extension of the one before": rewritten,
        "with calls or results alone": sum(bool(unpaired(asked)) for asked in Provider.kept),
        "the fact is there": "heron-7" in last and "6543" in last,
    }
    print(json.dumps(told, indent=1))
    print("\n".join(cost.table(heard, args.budget)))
    holds = faults == 0 and told["over the budget"] == 0 and told["with calls or results alone"] == 0
    return 0 if holds and rewritten <= told["cut"] and told["the fact is there"] else 1


sys.exit(main())
