"""Real coding agents through the proxy, for many turns, against a provider on this machine.

    npm install @anthropic-ai/claude-code @openai/codex
    python3 bench/agents/run.py claude --turns 200 --budget 45000
    python3 bench/agents/run.py codex --turns 100 --budget 15000

Every request that reaches the provider is kept and looked at: is it within the budget, are calls and their results together, does it go on from
the one before except where the history was cut, are facts of the first turns there when they are asked for, 20, 60 and all turns later, and
what does it cost against the same conversation untouched? The provider counts tokens its own way, and the budget is in its tokens. Nothing
is asked of anybody outside this machine. Exit code 0 if all of it holds.
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
import script
from provider import Provider, called, message, responded, said

HEARD = re.compile(r"neap::ingest: heard .*class=\"?(\w+).*tokens_in=(\d+) tokens_planned=(\d+) epoch=(\d+)")


def tokens(text):
    """The provider's tokenizer, which is not Neap's."""
    return -(-len(text.encode()) // 3.6)


def blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def anthropic(asked, number):
    last = blocks(asked["messages"][-1])
    text = " ".join(block.get("text", "") for block in last)
    is_result = any(block["type"] == "tool_result" for block in last)
    can = any(tool.get("name") == "Bash" for tool in asked.get("tools", []))
    count = int(sum(map(tokens, pieces(asked))))
    if "please run" in text and can and not is_result:
        return called(asked, number, "Bash", {"command": script.command(text), "description": "check"}, count)
    return said(asked, number, script.NOTED if is_result else script.reply(text), count)


def responses(asked, number):
    last = asked["input"][-1]
    text = json.dumps(last.get("content", "")) if last.get("role") == "user" else ""
    item, count = message(number, script.reply(text)), int(sum(map(tokens, pieces(asked))))
    tools = {tool.get("name") for tool in asked.get("tools", [])}
    if "please run" in text:
        command = script.command(text)
        given = {"exec_command": {"cmd": command}, "shell_command": {"command": command}, "shell": {"command": ["sh", "-c", command]}}
        name = next((name for name in given if name in tools), None)
        if name:
            item = {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
            item |= {"arguments": json.dumps(given[name])}
    return responded(asked, number, item, count)


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


def pieces(asked):
    """All that the provider counts, in the order in which it caches: tools, system text, history."""
    fixed = [json.dumps(asked[part]) for part in ("tools", "system", "instructions") if part in asked]
    return fixed + history(asked)


def claude(args, environment, proxy):
    environment |= {"ANTHROPIC_API_KEY": "sk-ant-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    form = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"]
    command = [args.neap, "run", *proxy, "--", args.agent or "claude", *form]
    with open(args.log, "w") as log:
        agent = subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, stderr=log, text=True)
    faults = 0
    for turn in range(1, args.turns + 1):
        message = {"role": "user", "content": [{"type": "text", "text": script.line(turn, args.turns, args.filler)}]}
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
        command = [args.agent or "codex", "exec", *again, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", script.line(turn, args.turns, args.filler)]
        ran = subprocess.run(command, env=environment, cwd=environment["HOME"], stdin=-3, stdout=-3, stderr=-3)
        faults += ran.returncode != 0
    server.terminate()
    return faults + (server.wait() != 0)


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("which", choices=["claude", "codex"])
    asks.add_argument("--turns", type=int, default=200)
    asks.add_argument("--budget", type=int, default=45_000)
    asks.add_argument("--filler", choices=["prose", "coding", "documents"], default="prose")
    asks.add_argument("--option", action="append", default=[], help="of the proxy, such as --economy")
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--agent", help="the agent's binary")
    asks.add_argument("--log", default=os.path.join(tempfile.gettempdir(), "neap-agents.log"), help="where the proxy writes")
    args = asks.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap", NEAP_LOG="info")
        proxy = ["--upstream", f"http://127.0.0.1:{server.server_port}", "--budget", str(args.budget), *args.option]
        faults = {"claude": claude, "codex": codex}[args.which](args, environment, proxy)
    print(json.dumps(told := measure(args, began, faults), indent=1))
    holds = faults == 0 and told["over the budget"] == 0 and told["with calls or results alone"] == 0
    return 0 if holds and told["rewritten elsewhere"] == 0 and not told["facts that are missing"] else 1


def measure(args, began, faults):
    """By what the provider was sent; what came is known from the proxy's log, in its count, and scaled by that of what was sent."""
    heard = [found.groups() for found in map(HEARD.search, open(args.log)) if found]
    heard = [tuple(map(int, rest)) for kind, *rest in heard if kind in ("main_turn", "tool_loop", "subagent")]
    asked = [asked for asked in Provider.kept if asked.get("tools")]
    assert len(heard) == len(asked), f"the proxy heard {len(heard)} requests, the provider {len(asked)}"
    sent = list(cost.as_sent(map(pieces, asked), tokens))
    came = [came * size / planned for (came, planned, _), (size, _) in zip(heard, sent)]
    kept = [history(one) for one in asked]
    rewritten = sum(after[: len(before)] != before for before, after in zip(kept, kept[1:]))
    missing, found = [], 0
    for turn in range(1, args.turns + 1):
        if wanted := script.asked(turn, args.turns):
            (_, _, question, words) = script.FACTS[wanted[0]]
            has = [one for one in kept if question in one[-1]]
            nth = sum(script.asked(before, args.turns) is not None and script.asked(before, args.turns)[0] == wanted[0] for before in range(1, turn))
            text = "".join(has[nth]) if nth < len(has) else ""
            found += all(word in text for word in words)
            missing += [] if all(word in text for word in words) else [f"{wanted[0]}, {wanted[1]} turns before"]
    ours, direct = cost.bill(sent), cost.bill(cost.untouched(came))
    return {
        "turns": args.turns,
        "requests": len(asked),
        "seconds": round(time.monotonic() - began),
        "faults of the agent": faults,
        "longest that came": round(max(came)),
        "longest that was sent": round(max(size for size, _ in sent)),
        "over the budget": sum(size > args.budget for size, _ in sent),
        "cuts": heard[-1][2],
        "rewritten elsewhere": max(rewritten - heard[-1][2], 0),
        "with calls or results alone": sum(bool(unpaired(one)) for one in asked),
        "facts found": found,
        "facts that are missing": missing,
        "cost, thousand input tokens": round(ours),
        "cost untouched": round(direct),
        "ratio": round(ours / direct, 3),
    }


sys.exit(main())
