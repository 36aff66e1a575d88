"""Whether each agent's requests come through `neap run`: one question each, against a provider on this machine.

    npm install @anthropic-ai/claude-code @openai/codex opencode-ai @github/copilot
    python3 -m venv aider && aider/bin/pip install aider-chat
    PATH=$PWD/node_modules/.bin:$PWD/aider/bin:$PATH python3 bench/agents/reach.py --neap target/debug/neap

An agent that is not installed is left out. Keys are made up. Exit code 0 if every other one was answered through the proxy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer

from provider import Provider, message, said, stream

AIDER = ["aider", "--no-git", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-analytics", "--message", "ping"]
OWN = {"COPILOT_PROVIDER_API_KEY": "sk-none", "COPILOT_PROVIDER_BASE_URL": "{provider}"}
ASKS = {
    "Claude Code": (["claude", "-p", "ping"], {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}),
    "Codex": (["codex", "exec", "--skip-git-repo-check", "ping"], {"CODEX_API_KEY": "sk-none"}),
    "opencode, Anthropic": (["opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "ping"], {}),
    "opencode, OpenAI": (["opencode", "run", "-m", "openai/gpt-5", "ping"], {}),
    "Copilot, OpenAI": (["copilot", "-p", "ping"], OWN | {"COPILOT_MODEL": "gpt-5"}),
    "Copilot, Anthropic": (["copilot", "-p", "ping"], OWN | {"COPILOT_MODEL": "claude-sonnet-4-5", "COPILOT_PROVIDER_TYPE": "anthropic"}),
    "aider, OpenAI": ([*AIDER, "--model", "gpt-4o"], {}),
    "aider, Anthropic": ([*AIDER, "--model", "claude-sonnet-4-5"], {}),
}


def chat(asked, _):
    part = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
    spoken = part | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "pong"}, "finish_reason": None}]}
    ended = part | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in (spoken, ended)) + b"data: [DONE]\n\n"


def responses(asked, number):
    """With every event of a stream: some clients show only the pieces, others only the whole."""
    item, at = message(number, "pong"), {"item_id": f"m{number}", "output_index": 0, "content_index": 0}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": asked["model"], "output": [item]}
    whole |= {"status": "completed", "usage": usage}
    return stream([
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": [], "status": "in_progress"}},
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": "", "annotations": []}} | at,
        {"type": "response.output_text.delta", "delta": "pong"} | at,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ])


Provider.says = {
    "/v1/messages": lambda asked, number: said(asked, number, "pong"),
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
}


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--neap", default="neap", help="the binary")
    args = asks.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, failed = f"http://127.0.0.1:{server.server_port}", 0
    for name, (command, given) in ASKS.items():
        if shutil.which(command[0]) is None:
            print(f"{name}: not installed")
            continue
        before = len(Provider.kept)
        with tempfile.TemporaryDirectory() as home:
            environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap", OPENAI_API_KEY="sk-none", ANTHROPIC_API_KEY="sk-ant-none")
            environment |= {key: value.format(provider=url) for key, value in given.items()}
            # Copilot's provider is the one in its own variable.
            upstream = [] if "COPILOT_PROVIDER_BASE_URL" in given else ["--upstream", url]
            run = [os.path.abspath(args.neap), "run", *upstream, "--", *command]
            ran = subprocess.run(run, env=environment, cwd=home, stdin=-3, stdout=-1, stderr=-1, text=True, timeout=300)
        told = ran.stderr.strip().splitlines()[-1:]
        came = ran.returncode == 0 and "pong" in ran.stdout and len(Provider.kept) > before and "tokens in" in "".join(told)
        failed += not came
        print(f"{name}: {'through the proxy' if came else 'NOT through the proxy'}: {''.join(told)}")
    return 1 if failed else 0


sys.exit(main())
