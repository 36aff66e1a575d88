"""How long an agent waits for `neap hook`: cold (the first call on a fresh store) and warm, alone and beside a `neap mcp` that answers for it.

    python3 bench/agents/latency.py --neap target/release/neap [--calls 200] [--turns 2000]

A store with a conversation of many turns is made first, by import. Then each moment is called as an agent would, a process each time; the time is that of
the whole process. Prints milliseconds as JSON: the median, the 99th percentile and the longest of each moment.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

MOMENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"]
WORDS = "anchor buoy current dock ebb fathom gauge harbour inlet jetty keel lagoon mooring neap oar pier quay reef spring tide".split()


def sentence(number):
    some = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 12)]
    return f"Step {number}: " + " ".join(some) + f" at {number % 60} minutes past."


def record(uuid, role, text, more=None):
    message = {"role": role, "id": uuid, "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": role, "uuid": uuid, "timestamp": "2026-03-01T08:00:00.000Z", "message": message} | (more or {})) + "\n"


def called(neap, environment, moment, transcript, number):
    event = {"hook_event_name": moment, "session_id": transcript.stem, "transcript_path": str(transcript), "cwd": "/"}
    if moment == "UserPromptSubmit":
        event |= {"prompt": sentence(number), "prompt_id": f"p{number}"}
    began = time.perf_counter()
    done = subprocess.run([neap, "hook", "claude-code"], env=environment, input=json.dumps(event), text=True, capture_output=True)
    took = (time.perf_counter() - began) * 1000
    assert done.returncode == 0 and not done.stderr, done
    return took


def measured(neap, environment, talk, numbers):
    times = {moment: [] for moment in MOMENTS}
    for number in numbers:
        with talk.open("a") as file:
            file.write(record(f"n{number}", "user", sentence(number), {"promptId": f"p{number - 1}"}) + record(f"m{number}", "assistant", "Noted."))
        for moment in MOMENTS:
            times[moment].append(called(neap, environment, moment, talk, number))
    told = {}
    for moment, all_of in times.items():
        all_of.sort()
        told[moment] = {"p50": round(all_of[len(all_of) // 2], 1), "p99": round(all_of[int(len(all_of) * 0.99)], 1), "max": round(all_of[-1], 1)}
    return told


def main():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--neap", default="neap")
    asks.add_argument("--calls", type=int, default=200)
    asks.add_argument("--turns", type=int, default=2000)
    args = asks.parse_args()
    neap = os.path.abspath(args.neap) if os.sep in args.neap else args.neap
    told = {"turns": args.turns, "calls": args.calls}
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, NEAP_DATA_DIR=f"{home}/neap")
        talk = Path(home) / "talk.jsonl"
        told["cold, nothing there"] = {moment: round(called(neap, dict(environment, NEAP_DATA_DIR=f"{home}/{moment}"), moment, talk, 0), 1) for moment in MOMENTS}
        old = Path(home) / "old.jsonl"
        lines = (record(f"u{n}", "user", sentence(n)) + record(f"a{n}", "assistant", f"Noted {n}.") for n in range(args.turns))
        old.write_text("".join(lines))
        subprocess.run([neap, "import", "claude-code", str(old)], env=environment, check=True, capture_output=True)
        told["alone"] = measured(neap, environment, talk, range(args.calls))
        server = subprocess.Popen([neap, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        line = Path(home) / "neap/hooks/line"
        while not line.exists():
            time.sleep(0.05)
        told["beside neap mcp, its first"] = round(called(neap, environment, "UserPromptSubmit", talk, args.calls), 1)
        time.sleep(args.turns / 100)  # What was said is embedded meanwhile.
        told["beside neap mcp"] = measured(neap, environment, talk, range(args.calls, 2 * args.calls))
        server.stdin.close()
        server.wait()
        log = Path(home) / "neap/hooks/faults.log"
        told["faults"] = len(log.read_text().splitlines()) if log.exists() else 0
    print(json.dumps(told, indent=1))


main()
