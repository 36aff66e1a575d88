"""LangGraph: a store. Searches with a query are ranked by Neap's own search, which needs no embeddings of the host's."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import BaseStore, Item, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from neap.client import Neap
from neap.hosts.fold import Change, Fold
from neap.hosts.words import sendable

SEARCH_MAX = 50


class Items(Fold):
    """The fold is LangGraph's own store in memory, which filters and lists."""

    def __init__(self, neap: Neap, name: str) -> None:
        super().__init__(neap, "langgraph-store", name)
        self.reset()

    def reset(self) -> None:
        self.memory = InMemoryStore()
        self._turns: dict[int, tuple[tuple[str, ...], str]] = {}
        """Where the words of each item were recorded."""

    def apply(self, change: Change) -> None:
        at = datetime.fromisoformat(change["at"])
        for put in change["puts"]:
            namespace, key = tuple(put["ns"]), put["key"]
            before = self.memory.get(namespace, key)
            self.memory.batch([PutOp(namespace, key, put["value"])])
            self._turns = {turn: place for turn, place in self._turns.items() if place != (namespace, key)}
            item = self.memory.get(namespace, key)
            if item is not None:
                item.created_at = at if before is None else before.created_at
                item.updated_at = at
                if put["turn"] is not None:
                    self._turns[put["turn"]] = (namespace, key)

    def read(self, ops: Sequence[Op]) -> list[Result]:
        with self.reading():
            results = self.memory.batch(ops)
            for number, op in enumerate(ops):
                if isinstance(op, SearchOp) and op.query:
                    results[number] = self._ranked(op)
            return results

    def put(self, puts: list[PutOp]) -> None:
        # Of several puts of one item in a batch, the last one counts.
        last = {(op.namespace, op.key): op for op in puts}
        with self._reading:
            rows = [
                {
                    "ns": list(op.namespace),
                    "key": op.key,
                    "value": op.value,
                    "turn": self._record_words(op),
                }
                for op in last.values()
            ]
            self.write({"op": "put", "at": datetime.now(timezone.utc).isoformat(), "puts": rows})

    def _record_words(self, op: PutOp) -> int | None:
        if op.value is None or op.index is False:
            return None
        text = f"{'/'.join(op.namespace)} {op.key}: {words_of(op.value)}"
        message = sendable({"role": "user", "content": text})
        return self.neap.append_messages(self.session, [message])["turn"]

    def _ranked(self, op: SearchOp) -> list[SearchItem]:
        """What bears on the query, best first; then the rest, as without a query."""
        every = self.memory.batch([op._replace(query=None, limit=1_000_000, offset=0)])[0]
        items: dict[tuple[tuple[str, ...], str], Any] = {(item.namespace, item.key): item for item in every or []}  # pyright: ignore
        ranked: list[SearchItem] = []
        if items:
            for hit in self.neap.search(op.query or "", session=self.session, max=SEARCH_MAX)["items"]:
                item = items.pop(self._turns.get(hit.get("turn") or 0, ((), "")), None)
                if item is not None:
                    ranked.append(scored(item, hit["score"]))
        ranked += items.values()
        return ranked[op.offset : op.offset + op.limit]


class NeapStore(BaseStore):
    """Values are JSON. What is deleted or replaced is out of the store; only `erase` takes its bytes."""

    __slots__ = ("_items",)

    def __init__(self, neap: Neap, name: str = "default") -> None:
        self._items = Items(neap, name)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        every = list(ops)
        reads = [op for op in every if not isinstance(op, PutOp)]
        puts = [op for op in every if isinstance(op, PutOp)]
        found = iter(self._items.read(reads) if reads else [])
        results: list[Result] = [None if isinstance(op, PutOp) else next(found) for op in every]
        if puts:
            self._items.put(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def erase(self) -> None:
        """Erases everything in it for good."""
        self._items.erase()


def scored(item: Item, score: float) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def words_of(value: Mapping[str, Any]) -> str:
    return " ".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in value.values())
