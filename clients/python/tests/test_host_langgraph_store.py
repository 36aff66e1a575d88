"""LangGraph's store: as its own store in memory, kept, and searched by Neap."""

import asyncio
import random
from typing import Any

import pytest
from hosts import library
from test_process import kill

from neap import Neap

library("langgraph.store.memory")

from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from neap.hosts.langgraph import NeapStore


def value_of(item: Any) -> Any:
    return None if item is None else (item.namespace, item.key, item.value)


def test_it_answers_as_the_store_in_memory(neap: Neap) -> None:
    chance = random.Random(7)
    ours, theirs = NeapStore(neap), InMemoryStore()
    spaces = [("a",), ("a", "b"), ("c", "b")]
    for step in range(120):
        space, key = chance.choice(spaces), str(chance.randrange(4))
        for store in (ours, theirs):
            if step % 5 == 4:
                store.delete(space, key)
            else:
                store.put(space, key, {"step": step, "even": step % 2 == 0, "text": "é\x00"}, index=False)
        if step % 10 == 0:
            for one in spaces:
                for name in "0123":
                    assert value_of(ours.get(one, name)) == value_of(theirs.get(one, name))
            for filter in (None, {"even": True}, {"step": {"$gt": step // 2}}):
                found = [{str(value_of(one)) for one in store.search(("a",), filter=filter)} for store in (ours, theirs)]
                assert found[0] == found[1]
            full = [store.list_namespaces(prefix=("a",), max_depth=1) for store in (ours, theirs)]
            assert full[0] == full[1]
    again = NeapStore(neap)
    assert [value_of(one) for one in again.search(())] == [value_of(one) for one in ours.search(())]


def test_a_batch_reads_what_was_before_and_its_last_put_counts(neap: Neap) -> None:
    store = NeapStore(neap)
    store.put(("a",), "k", {"v": 1}, index=False)
    ops: list[Any] = [
        PutOp(("a",), "k", {"v": 2}, index=False),
        GetOp(("a",), "k"),
        PutOp(("a",), "k", {"v": 3}, index=False),
        SearchOp(("a",)),
    ]
    put, got, again, found = store.batch(ops)
    assert (put, again) == (None, None)
    assert [item.value for item in (got, *found)] == [{"v": 1}, {"v": 1}]  # type: ignore[misc, union-attr]
    item = asyncio.run(store.aget(("a",), "k"))
    assert item is not None and item.value == {"v": 3} and item.created_at < item.updated_at
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"v": 4}, ttl=1)
    with pytest.raises(TypeError):
        store.put(("a",), "k", {"v": object()}, index=False)


def test_a_query_ranks_by_what_bears_on_it(neap: Neap) -> None:
    store = NeapStore(neap)
    store.put(("facts",), "tea", {"text": "Tim drinks green tea in the morning"})
    store.put(("facts",), "db", {"text": "Staging runs MySQL"})
    store.put(("facts",), "db", {"text": "Staging runs PostgreSQL 16"})
    store.put(("other",), "db", {"text": "Staging is in Frankfurt"})
    kill(neap)
    found = NeapStore(neap).search(("facts",), query="which database has staging, PostgreSQL?", limit=1)
    assert [(item.key, item.value["text"]) for item in found] == [("db", "Staging runs PostgreSQL 16")]
    assert found[0].score is not None
    assert len(store.search(("facts",), query="nothing like it")) == 2
    store.delete(("facts",), "db")
    assert [item.key for item in store.search(("facts",), query="PostgreSQL")] == ["tea"]
    store.erase()
    assert store.search(()) == [] and neap.search("PostgreSQL")["items"] == []
