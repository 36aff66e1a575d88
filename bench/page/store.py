"""A large store for measuring the page: a session of 100,000 turns, and imported conversations up to 1,000,000 texts.

    cargo build --release
    python3 bench/page/store.py --neap target/release/neap FOLDER
    node bench/page/measure.mjs FOLDER
"""

import argparse
import json
import os
import random
import subprocess
from pathlib import Path

WORDS = "parser header table lengths rows cache queue login page token retry deploy staging budget index shard lock batch report invoice".split()
TURNS_PER_SESSION = 1_000


def said(pick, n):
    return f"In step {n} the {pick.choice(WORDS)} of the {pick.choice(WORDS)} meets the {pick.choice(WORDS)}, and the {pick.choice(WORDS)} waits."


def marathon(turns):
    pick = random.Random(1)
    for n in range(turns):
        calls = {0: [{"name": "open_effort", "arguments": {"name": f"work {n // 40}"}}], 30: [{"name": "close_effort"}]}.get(n % 40, [])
        yield json.dumps({"user": said(pick, n), "calls": calls, "assistant": said(pick, n)})


def transcript(number):
    """One session as Claude Code writes it."""
    pick = random.Random(number)
    parent = None
    for n in range(TURNS_PER_SESSION * 2):
        role = "assistant" if n % 2 else "user"
        uuid = f"00000000-0000-4000-8000-{number * 10_000 + n:012d}"
        minute = n % 1_440
        yield json.dumps({
            "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": f"10000000-0000-4000-8000-{number:012d}", "cwd": "work",
            "timestamp": f"2026-{1 + number % 9:02d}-{1 + number % 27:02d}T{minute // 60:02d}:{minute % 60:02d}:00.000Z",
            "message": {"role": role, "content": said(pick, n)},
        })
        parent = uuid


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--neap", default="target/release/neap")
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=1_000_000)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ, NEAP_DATA_DIR=str(args.folder), NEAP_EMBEDDER="none")

    def neap(*more):
        subprocess.run([args.neap, *more], env=env, check=True, stdout=subprocess.DEVNULL)

    script, old = args.folder / "script.jsonl", args.folder / "old"
    script.write_text("\n".join(marathon(args.turns)))
    neap("lab", "replay", str(script), "--session", "marathon", "--set", "context_tokens_max=16000")
    old.mkdir(exist_ok=True)
    for number in range(max(0, args.texts - args.turns * 2) // (TURNS_PER_SESSION * 2)):
        (old / f"{number}.jsonl").write_text("\n".join(transcript(number)))
    neap("import", "claude-code", str(old))
    subprocess.run([args.neap, "store", "doctor"], env=env, check=False)


if __name__ == "__main__":
    main()
