"""Real coding agents with Neap's hooks installed, against a provider on this machine.

    npm install @anthropic-ai/claude-code @openai/codex
    python3 bench/agents/hooks.py claude --neap target/release/neap --agent node_modules/.bin/claude
    python3 bench/agents/hooks.py codex --neap target/release/neap --agent node_modules/.bin/codex

A conversation of the same agent is imported first. Then the agent, with the hooks as `neap install` writes them, is asked about it: the fact must be in the
request of that turn, and in no other. Claude Code is made to compact, and what its summary leaves out must be named in the next request and come back
by its handle. Nothing is asked of anybody outside this machine. Exit code 0 if all of it holds.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

from provider import Provider, message, responded, said

IMPORTED = "The harbour crane is called Ottilie and lifts 38 tonnes, measured on the quay."
TOLD = "Note this: the tide gauge answers on port 6543 and its key is gauge-Q7."
ASKED = "How many tonnes does the harbour crane lift?"
FULL = 90_000
SUMMARY = "They talked about a gauge and about other things."


def anthropic(asked, number):
    compacts = "summary" in json.dumps(asked["messages"][-1]).lower() and len(asked["messages"]) > 2
    return said(asked, number, f"<analysis>x</analysis><summary>{SUMMARY}</summary>" if compacts else "Noted.")


def responses(asked, number):
    last = json.dumps(asked["input"][-1]).lower()
    compacts = "summary" in last and "context" in last
    # More than the agent was told to bear: before the next turn it puts all of it in short.
    return responded(asked, number, message(number, SUMMARY if compacts else "Noted."), 1 if compacts else FULL)


Provider.says = {"/v1/messages": anthropic, "/v1/responses": responses}


def ran(command, environment, **more):
    done = subprocess.run(command, env=environment, cwd=environment["HOME"], capture_output=True, text=True, timeout=120, **more)
    if done.returncode != 0:
        print(command, done.returncode, done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return done


def turn(since):
    """All that was sent since, as text."""
    return json.dumps(Provider.kept[since:])


def lost(neap, said):
    """What is told of what the agent's own summary left out, and that it was taken down once and is there."""
    sessions = json.loads(neap("session", "list", "--json").stdout)
    session = next(one["session"] for one in sessions if "11111111" not in one["session"])
    begun = [line for line in neap("session", "export", session).stdout.splitlines() if '"turn_started"' in line]
    handle = re.search(r"neap session original (t\d+-\d+)", said)
    words = neap("session", "original", handle.group(1) if handle else "t0", "--session", session).stdout
    return {
        "what the summary left out is named": "not in the summary" in said and "6543" in said,
        "and comes back by its handle": "gauge-Q7" in words,
        "what was said is taken down once": sum(TOLD in line for line in begun) == 1,
    }


def claude(args, environment, port):
    environment |= {"ANTHROPIC_API_KEY": "sk-ant-none", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    folder = Path(environment["HOME"]) / ".claude/projects/-old"
    folder.mkdir(parents=True)
    say = lambda uuid, role, text: {"type": role, "uuid": uuid, "timestamp": "2026-03-01T08:00:00.000Z", "message": {"role": role, "id": uuid, "content": text}}
    lines = [say("a1", "user", IMPORTED), say("a2", "assistant", "Noted.")]
    (folder / "11111111-2222-4333-8444-555555555555.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    neap = lambda *words: ran([args.neap, *words], environment)
    told = {"imported": "imported 2 records" in neap("import", "claude-code").stdout, "installed": neap("install", "claude-code", "--yes").returncode == 0}
    agent = [args.agent or "claude", "-p"]
    said, again = [], []
    for words in [TOLD, ASKED, "/compact", "What did we say?"]:
        before = len(Provider.kept)
        ran([*agent, *again, words], environment)
        said.append(turn(before))
        again = ["--continue"]
    told["the fact is where it is asked for"] = "38 tonnes" in said[1]
    told["and not before"] = "38 tonnes" not in said[0]
    return told | lost(neap, said[3])


def codex(args, environment, port):
    home = Path(environment["HOME"]) / ".codex"
    (home / "sessions/2026/03/01").mkdir(parents=True)
    provider = f'[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\nenv_key = "NONE"\n'
    (home / "config.toml").write_text(f'model = "gpt-5-codex"\nmodel_provider = "mock"\nmodel_auto_compact_token_limit = {FULL // 2}\n{provider}')
    environment |= {"CODEX_HOME": str(home), "NONE": "sk-none"}
    part = lambda role, kind, text: {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    items = [part("user", "input_text", IMPORTED), part("assistant", "output_text", "Noted.")]
    lines = [{"timestamp": "2026-03-01T08:00:00.000Z", "type": "response_item", "payload": item} for item in items]
    name = "rollout-2026-03-01T08-00-00-11111111-2222-7333-8444-555555555555.jsonl"
    (home / "sessions/2026/03/01" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    neap = lambda *words: ran([args.neap, *words], environment)
    told = {"imported": "imported 2 records" in neap("import", "codex").stdout, "installed": neap("install", "codex", "--yes").returncode == 0}
    said, again = [], []
    for words in [TOLD, ASKED, "What did we say?"]:
        before = len(Provider.kept)
        # These hooks were just written by ourselves.
        trust = "--dangerously-bypass-hook-trust"
        ran([args.agent or "codex", "exec", *again, trust, "--json", "--skip-git-repo-check", words], environment, stdin=subprocess.DEVNULL)
        said.append(turn(before))
        again = ["resume", "--last"]
    told["the fact is where it is asked for"] = "38 tonnes" in said[1]
    told["and not before"] = "38 tonnes" not in said[0]
    return told | lost(neap, "".join(said[1:]))


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("which", choices=["claude", "codex"])
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--agent", help="the agent's binary")
    args = asks.parse_args()
    args.neap = os.path.abspath(args.neap) if os.sep in args.neap else args.neap
    args.agent = os.path.abspath(args.agent) if args.agent and os.sep in args.agent else args.agent
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap", NEAP_EMBEDDER="none")
        told = {"claude": claude, "codex": codex}[args.which](args, environment, server.server_port)
        log = Path(home) / "neap/hooks/faults.log"
        told["faults of hooks"] = log.read_text().splitlines() if log.exists() else []
    print(json.dumps(told, indent=1))
    return 0 if all(value is True for value in told.values() if isinstance(value, bool)) else 1


sys.exit(main())
