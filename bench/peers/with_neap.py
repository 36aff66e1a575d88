"""Neap itself, through `neap lab eval`: it tells the same turns to its real engine and judges by the same rule."""

import json
import threading
import time

import conversations
from process import run

WORDS_ONLY = ("--without", "meaning")
# No embedder answers in less; a build without one does.
EMBEDDING_MS_MIN = 0.05


class Neap:
    """A binary, and a folder for what it is given and what it keeps."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def measure(self, path, most, options, note):
        """The figures of one row; `options` leave parts of its ranking out."""
        rows = conversations.rows(path, most)
        asked, told, start = (self.folder / f"neap-{name}.jsonl" for name in ("asked", "told", "start"))
        write(asked, rows)
        write(told, [{**row, "questions": []} for row in rows])
        write(start, [{**rows[0], "turns": rows[0]["turns"][:1], "questions": []}])
        turns = sum(len(row["turns"]) for row in rows)
        with Sizes(self.folder / "neap-stores") as sizes:
            answer, ended = self.eval(asked, options, TMPDIR=str(sizes.folder))
        # It tells no time for storing: it is that of whole runs without questions, less that of a run over one turn. Text is
        # embedded in one of them and not in the other, so that the cost of it can be told apart.
        started_s = self.eval(start, options)[1].wall_s
        bare_s = self.eval(told, WORDS_ONLY)[1].wall_s - self.eval(start, WORDS_ONLY)[1].wall_s
        full_s = self.eval(told, options)[1].wall_s - started_s
        return {
            "recall": {row["budget"]: row["recall"] for row in answer["rows"] if row["category"] == "all"},
            "p50_ms": answer["assembling_ms"]["p50"],
            "p95_ms": answer["assembling_ms"]["p95"],
            "store_ms": 1e3 * bare_s / turns,
            "started_s": started_s,
            "disk_bytes": sizes.total(),
            "memory_bytes": ended.memory_bytes,
            **embedding(answer["embedding_ms"]["p50"], 1e3 * (full_s - bare_s) / turns, options),
            "note": note,
            "versions": [run([self.binary, "--version"]).printed.strip()],
        }

    def eval(self, path, options, **environment):
        command = [self.binary, "lab", "eval", path, "--json", "--suite", "recall", "--threads", "1", *options]
        ended = run(command, **environment)
        return json.loads(ended.printed)["files"][0], ended


def embedding(question_ms, turn_ms, options):
    """What embedding cost it, if it embeds at all."""
    if options == WORDS_ONLY or question_ms < EMBEDDING_MS_MIN:
        return {}
    return {"embed_question_ms": question_ms, "embed_turn_ms": max(0.0, turn_ms)}


class Sizes:
    """How large the stores in a folder were at their largest; Neap removes each when it is done with it."""

    def __init__(self, folder):
        self.folder, self.largest, self.is_done = folder, {}, threading.Event()

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_done.set()
        self.thread.join()

    def watch(self):
        while not self.is_done.is_set():
            for store in list(self.folder.iterdir()):
                self.largest[store.name] = max(self.largest.get(store.name, 0), size(store))
            time.sleep(0.02)

    def total(self):
        return sum(self.largest.values())


def size(folder):
    total = 0
    for file in folder.glob("**/*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            # Removed while it was looked at.
            pass
    return total


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
