"""Measures every row on every file, each in a process of its own, one after the other, and prints the table.

This process imports no peer: a child's figure for its memory begins with that of the process that launched it.
"""

import argparse
import json
import math
import os
import shutil
import sys
from pathlib import Path

import table
from process import run
from rules import PEERS
from with_neap import WORDS_ONLY, Neap

HERE = Path(__file__).parent
NEAP = {
    "Neap": ((), "`neap lab eval`, as built"),
    "Neap, words only": (WORDS_ONLY, "the same without vectors, if it has any (`--without meaning`)"),
}


def main():
    options = arguments()
    names = options.rows or [*PEERS, *NEAP]
    neap = Neap(options.neap, options.work) if options.neap else None
    if neap is None:
        names = [name for name in names if name not in NEAP]
        say("no neap was found (--neap PATH): its rows are left out")
    print(table.head(options.most))
    for path in options.files:
        say(f"{path.name}: embedding …")
        prepared = json.loads(python("prepare.py", path, options).printed)
        before = os.getloadavg()[0]
        rows = {}
        for name in names:
            say(f"{path.name}: {name} …")
            rows[name] = neap.measure(path, options.most, *NEAP[name]) if name in NEAP else peer(name, path, options)
        print(table.file(path, prepared, rows, (before, os.getloadavg()[0])), flush=True)
    print(table.notes(rows))


def peer(name, path, options):
    shutil.rmtree(options.work / "store", ignore_errors=True)
    ended = python("one.py", path, options, name)
    figures = json.loads(ended.printed.splitlines()[-1])
    asked = sorted(figures.pop("asked_ms")) or [0.0]
    at = lambda share: asked[max(math.ceil(len(asked) * share) - 1, 0)]
    return {**figures, "p50_ms": at(0.5), "p95_ms": at(0.95), "memory_bytes": ended.memory_bytes}


def python(script, path, options, *first):
    return run([sys.executable, HERE / script, *first, path, options.most or 0, options.work])


def arguments():
    parser = argparse.ArgumentParser(prog="run", description="Neap and its peers side by side.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="conversations, one a line, plain or gzip")
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--neap", default=shutil.which("neap"), metavar="PATH", help="the binary (default: from PATH)")
    parser.add_argument("--most", type=int, metavar="N", help="only the first conversations of each file")
    parser.add_argument("--rows", action="append", choices=[*PEERS, *NEAP], metavar="NAME", help="only this row; may be repeated")
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
