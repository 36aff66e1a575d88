"""A conversation of an agent with a provider on this machine: recorded, through the proxy, or replayed through it."""

import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

import script
from agents import AGENTS
from cost import RECALLED, newest
from provider import Provider, called, completed, message, responded, said

HEARD = re.compile(r"neap::ingest: heard .*class=\"?(\w+).*epoch=(\d+)")
# Headers that a client writes anew for each connection.
OWN_HEADERS = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}


def blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def told(last):
    """What the user says in a message. What Neap recalled beside it is a record, and no model should act on it."""
    return RECALLED.sub("", " ".join(block.get("text", "") for block in blocks(last)))


def messages(asked, number, count):
    """The answer of the Messages API, by the script."""
    text = told(newest(asked))
    is_result = any(block["type"] == "tool_result" for block in blocks(newest(asked)))
    can = any(tool.get("name") == "Bash" for tool in asked.get("tools", []))
    if "please run" in text and can and not is_result:
        return called(asked, number, "Bash", {"command": script.command(text), "description": "check"}, count)
    return said(asked, number, script.NOTED if is_result else script.reply(text), count)


def responses(asked, number, count):
    """The answer of the Responses API, by the script."""
    last = newest(asked)
    text = told(last) if last.get("role") == "user" else ""
    item = message(number, script.reply(text))
    tools = {tool.get("name") for tool in asked.get("tools", [])}
    if "please run" in text:
        command = script.command(text)
        given = {"exec_command": {"cmd": command}, "shell_command": {"command": command}, "shell": {"command": ["sh", "-c", command]}}
        if name := next((name for name in given if name in tools), None):
            item = {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
            item |= {"arguments": json.dumps(given[name])}
    return responded(asked, number, item, count)


def completions(asked, number, count):
    """The answer of the Chat Completions API, by the script."""
    last = newest(asked)
    text = told(last) if last["role"] == "user" else ""
    if "please run" not in text:
        return completed(asked, number, {"content": script.reply(text)}, "stop", count)
    function = {"name": "Bash", "arguments": json.dumps({"command": script.command(text)})}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return completed(asked, number, {"tool_calls": [call]}, "tool_calls", count)


def provider(tokens):
    """A provider with a memory of its own, that reports usage in its tokens."""
    paths = {"/v1/messages": messages, "/v1/responses": responses, "/v1/chat/completions": completions}
    says = {path: lambda asked, number, how=how: how(asked, number, round(tokens.size(asked))) for path, how in paths.items()}
    return type("Scripted", (Provider,), {"kept": [], "heads": [], "says": says})


def read_recording(path):
    return [json.loads(line) for line in open(path)]


def write_recording(path, heard):
    """Only when it is whole: half a recording would be read as a short conversation."""
    unfinished = Path(f"{path}.part")
    with open(unfinished, "w") as file:
        for (address, headers), body in zip(heard.heads, heard.kept, strict=True):
            headers = {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}
            print(json.dumps({"path": address, "headers": headers, "body": body}), file=file)
    unfinished.rename(path)


class Session:
    def __init__(self, args, tokens, lines):
        self.args, self.tokens, self.lines = args, tokens, lines

    def agent(self, home, address):
        environment = dict(os.environ, HOME=str(home))
        with open(home / "agent.log", "w") as log:
            return AGENTS[self.args.which](self.args.agent, address, environment, self.lines, log)

    def record(self):
        """The agent and the provider alone; returns the agent's faults."""
        with tempfile.TemporaryDirectory() as home, listening(provider(self.tokens)) as (heard, address):
            faults = self.agent(Path(home), address)
        write_recording(self.args.recording, heard)
        return faults

    def through_neap(self, budget, direct):
        """The requests that came through, the proxy's count of cuts at each of them, and the agent's faults."""
        with tempfile.TemporaryDirectory() as home, listening(provider(self.tokens)) as (heard, upstream):
            with proxy(self.args, Path(home), upstream, budget) as (address, log):
                faults = self.replay(address, direct) if self.args.replay else self.agent(Path(home), address)
            epochs = [found.groups() for found in map(HEARD.search, open(log)) if found]
        if self.args.sent:
            folder = Path(self.args.sent)
            folder.mkdir(parents=True, exist_ok=True)
            write_recording(folder / f"{self.args.which}-{self.args.filler}-{self.args.first or self.args.turns}-{budget}.jsonl", heard)
        epochs = [int(epoch) for kind, epoch in epochs if kind in ("main_turn", "tool_loop", "subagent")]
        return [{"body": body} for body in heard.kept], epochs, faults

    def replay(self, address, direct):
        """Each recorded request once more, as slowly as an agent: what Neap does between turns has its time."""
        for one in direct:
            time.sleep(self.args.pace)
            asks = urllib.request.Request(address + one["path"], json.dumps(one["body"]).encode(), one["headers"])
            try:
                with urllib.request.urlopen(asks, timeout=60) as answer:
                    answer.read()
            except urllib.error.HTTPError as refused:
                raise SystemExit(f"refused: {refused.code} {refused.read().decode()}") from None
        return 0


@contextmanager
def listening(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield handler, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@contextmanager
def proxy(args, home, upstream, budget):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = dict(os.environ, HOME=str(home), NEAP_DATA_DIR=str(home / "neap"), NEAP_LOG="info")
    command = [args.neap, "serve", "--listen", address, "--upstream", upstream, "--budget", str(budget), *args.option]
    path = home / "proxy.log"
    with open(path, "w") as log:
        server = subprocess.Popen(command, env=environment, stderr=log)
    while "listening" not in path.read_text():
        assert server.poll() is None, path.read_text()
        time.sleep(0.1)
    try:
        yield f"http://{address}", path
    finally:
        server.terminate()
        server.wait()
