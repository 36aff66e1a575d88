"""LangGraph's long-term stores, with an index of vectors over the text of each item."""

import sqlite3
import sys

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    # An interpreter built without what sqlite-vec needs; this one has it.
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from vectors import DIMENSIONS

SPACE = ("turns",)


class LangGraph:
    """What both stores share: they have one interface."""

    def __init__(self, store):
        self.items, self.count = store, 0

    def store(self, turns):
        puts, texts = [], set()
        for turn in turns:
            if turn.text in texts:
                # InMemoryStore takes no batch in which two items have the same text.
                self.items.batch(puts)
                puts, texts = [], set()
            puts.append(PutOp(SPACE, str(self.count), {"text": turn.text}))
            texts.add(turn.text)
            self.count += 1
        self.items.batch(puts)

    def settle(self):
        pass

    def search(self, question, limit):
        return [int(item.key) for item in self.items.search(SPACE, query=question, limit=limit)]

    def close(self):
        pass


class InMemory(LangGraph):
    NOTE = "InMemoryStore; nothing is kept when the process ends"
    PACKAGES = ("langgraph", "langgraph-checkpoint")

    def __init__(self, _folder, vectors):
        super().__init__(InMemoryStore(index=index(vectors)))


class Sqlite(LangGraph):
    NOTE = "SqliteStore with sqlite-vec"
    PACKAGES = ("langgraph-checkpoint-sqlite", "sqlite-vec")

    def __init__(self, folder, vectors):
        self.opened = SqliteStore.from_conn_string(str(folder / "store.db"), index=index(vectors))
        super().__init__(self.opened.__enter__())
        self.items.setup()

    def close(self):
        self.opened.__exit__(None, None, None)


def index(vectors):
    """The field to embed under both names: SqliteStore documents the first and reads the second."""
    return {"dims": DIMENSIONS, "embed": vectors.embed, "fields": ["text"], "text_fields": ["text"]}
