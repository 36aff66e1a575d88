"""One thread of LangGraph: the fold of its journal is a saver in memory of LangGraph's own."""

import base64
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from neap.client import Neap
from neap.hosts.fold import Change, Fold
from neap.hosts.parts import Joiner

HOST = "langgraph-thread"
EMPTY = ("empty", b"")
"""As that saver marks a channel without a value."""
Place = list[str]
"""A namespace and a checkpoint's id in it."""
Dumped = list[str]
"""What a serializer gave: its type, and its bytes in base64."""


class Thread(Fold):
    def __init__(self, neap: Neap, thread_id: str) -> None:
        super().__init__(neap, HOST, thread_id)
        self._id = thread_id
        self.reset()

    @contextmanager
    def current(self, serde: SerializerProtocol) -> Generator[InMemorySaver, None, None]:
        """With what all processes have written so far."""
        with self.reading():
            self._memory.serde = serde
            yield self._memory

    def reset(self) -> None:
        self._memory = InMemorySaver()

    def apply(self, change: Change) -> None:
        match change["op"]:
            case "put":
                self._put(change)
            case "writes":
                self._put_writes(change)
            case "drop":
                for namespace, name in change["places"]:
                    self._memory.storage[self._id][namespace].pop(name, None)
                    self._memory.writes.pop((self._id, namespace, name), None)
            case _:
                pass  # Of a later version.

    def changes(self, target: str) -> Iterator[Change]:
        """What makes a copy of it."""
        memory = self._memory
        blobs: dict[str, list[Any]] = {}
        for (_, namespace, channel, version), blob in memory.blobs.items():
            blobs.setdefault(namespace, []).append([channel, version, None if blob == EMPTY else encoded(blob)])
        for namespace, checkpoints in memory.storage[self._id].items():
            own = blobs.pop(namespace, [])
            for name, (checkpoint, metadata, parent) in checkpoints.items():
                place = {"thread": target, "ns": namespace, "checkpoint_id": name}
                parts = {"checkpoint": encoded(checkpoint), "metadata": encoded(metadata), "blobs": own}
                yield {"op": "put", **place, "parent": parent, **parts}
                own = []
                for (task, number), (_, channel, value, path) in memory.writes[(self._id, namespace, name)].items():
                    written = [[number, channel, encoded(value)]]
                    yield {"op": "writes", **place, "task": task, "path": path, "writes": written}

    def superseded(self) -> list[Place]:
        """Checkpoints that the latest of each namespace does not need.

        A channel without a value of its own may be rebuilt from those before it, as far as one that has it.
        """
        gone: list[Place] = []
        for namespace, checkpoints in self._memory.storage[self._id].items():
            kept: set[str] = set()
            name: str | None = max(checkpoints, default=None)
            missing: set[str] | None = None
            while name in checkpoints and (missing is None or missing):
                kept.add(name)
                checkpoint, _, parent = checkpoints[name]
                versions = self._memory.serde.loads_typed(checkpoint)["channel_versions"]
                have = {one for one, version in versions.items() if self._has_value(namespace, one, version)}
                missing = (set(versions) if missing is None else missing) - have
                name = parent
            gone += [[namespace, one] for one in checkpoints if one not in kept]
        return gone

    def _has_value(self, namespace: str, channel: str, version: Any) -> bool:
        return self._memory.blobs.get((self._id, namespace, channel, version), EMPTY) != EMPTY

    def _put(self, change: Change) -> None:
        namespace = change["ns"]
        for channel, version, blob in change["blobs"]:
            self._memory.blobs[(self._id, namespace, channel, version)] = EMPTY if blob is None else decoded(blob)
        self._memory.storage[self._id][namespace][change["checkpoint_id"]] = (
            decoded(change["checkpoint"]),
            decoded(change["metadata"]),
            change["parent"],
        )

    def _put_writes(self, change: Change) -> None:
        stored = self._memory.writes[(self._id, change["ns"], change["checkpoint_id"])]
        for number, channel, value in change["writes"]:
            place = (change["task"], number)
            # Those with a negative number replace each other: errors and interrupts.
            if number < 0 or place not in stored:
                stored[place] = (change["task"], channel, decoded(value), change["path"])


def encoded(typed: tuple[str, bytes]) -> Dumped:
    return [typed[0], base64.b64encode(typed[1]).decode("ascii")]


def decoded(stored: Dumped) -> tuple[str, bytes]:
    return (stored[0], base64.b64decode(stored[1]))


def thread_ids(neap: Neap) -> list[str]:
    """Of all threads that there are, as their first entries say."""
    found: list[str] = []
    for row in neap.each(neap.list_sessions, q=f"{HOST}-", limit=200):
        joiner = Joiner()
        entries = (entry for line in neap.read_entries(row["session"]) for entry in line["entries"])
        first = next((text for text in map(joiner.add, entries) if text is not None), None)
        if first is not None:
            found.append(str(json.loads(first)["thread"]))
    return found
