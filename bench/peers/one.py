"""One peer, one file, in a process of its own: `one.py PEER FILE MOST FOLDER`. Prints its figures as a line of JSON."""

import importlib
import json
import os
import shutil
import sys
import time
from importlib import metadata
from pathlib import Path

import conversations
from budget import fill, recall
from rules import BUDGETS, LIMIT, PEERS
from vectors import Vectors


class Figures:
    """What is added up over the conversations of a file."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.turns, self.stored_s, self.asked_ms, self.disk_bytes = 0, 0.0, [], 0
        self.shares = {budget: [] for budget in BUDGETS}

    def clock(self):
        """Seconds, less those in which text was embedded."""
        return time.perf_counter() - self.vectors.spent

    def measure(self, make, conversation, costs, folder):
        peer = make(folder, self.vectors)
        waiting = list(conversation.sessions().items())
        told = []
        for question in sorted(conversation.questions, key=limit_of):
            while waiting and waiting[0][0] < limit_of(question):
                told += self.store(peer, waiting.pop(0)[1])
            self.settle(peer)
            self.ask(peer, told, costs, question)
        while waiting:
            told += self.store(peer, waiting.pop(0)[1])
        self.settle(peer)
        peer.close()
        self.turns += len(told)
        self.disk_bytes += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def store(self, peer, turns):
        began = self.clock()
        peer.store(turns)
        self.stored_s += self.clock() - began
        return turns

    def settle(self, peer):
        began = self.clock()
        peer.settle()
        self.stored_s += self.clock() - began

    def ask(self, peer, told, costs, question):
        began = self.clock()
        order = peer.search(question.text, LIMIT) if told else []
        self.asked_ms.append((self.clock() - began) * 1e3)
        for budget in BUDGETS:
            share = recall(told, question, fill(told, costs, order, budget))
            if share is not None:
                self.shares[budget].append(share)


def limit_of(question):
    """Sessions from this one on are told only after the question."""
    return sys.maxsize if question.before is None else question.before


def main(name, path, most, folder):
    module, kind = PEERS[name]
    make = getattr(importlib.import_module(module), kind)
    folder = Path(folder)
    figures = Figures(Vectors(folder / "vectors.db"))
    started_s = time.time() - float(os.environ["LAUNCHED"])
    all_costs = json.loads((folder / "costs.json").read_text())
    for conversation, costs in zip(conversations.read(path, int(most) or None), all_costs):
        own = folder / "store"
        own.mkdir()
        figures.measure(make, conversation, costs, own)
        shutil.rmtree(own)
    print(
        json.dumps(
            {
                "recall": {budget: 100 * sum(shares) / max(len(shares), 1) for budget, shares in figures.shares.items()},
                "started_s": started_s,
                "asked_ms": figures.asked_ms,
                "store_ms": 1e3 * figures.stored_s / figures.turns,
                "disk_bytes": figures.disk_bytes,
                "note": make.NOTE,
                "versions": [f"{package} {metadata.version(package)}" for package in make.PACKAGES],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
