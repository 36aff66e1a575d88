"""CrewAI: its real agent and memory against a scripted model, and the contract of a storage."""

import copy
import json
import os
import re
import warnings
import zlib
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hosts import FACT, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

# Before it is imported: nothing leaves this machine.
os.environ.update({"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"})
with warnings.catch_warnings():
    # Its modules import each other in circles.
    warnings.simplefilter("ignore", ImportWarning)
    library("crewai.memory.unified_memory")

from crewai import Agent
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.utilities.i18n import I18N_DEFAULT

from neap.hosts.crewai import NeapStorage

# It reads fields of its own that it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
DIMENSIONS = 256
# A prompt has at most 20 memories, each as long as a question.
REQUEST_CHARS_MAX = 20 * 600 + 4000


def embed(texts: list[str]) -> list[list[float]]:
    """Which words are in each."""
    vectors = [[0.0] * DIMENSIONS for _ in texts]
    for text, vector in zip(texts, vectors, strict=True):
        for word in set(re.findall(r"\w+", text.lower())):
            vector[zlib.crc32(word.encode()) % DIMENSIONS] = 1.0
    return vectors


class Scripted(BaseLLM):
    """Repeats the fact if it is in the request, else it says `answer`; remembers what the user said."""

    requests: list[str] = []

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        system, user = messages[0]["content"], messages[-1]["content"]
        if system == I18N_DEFAULT.memory("extract_memories_system"):
            said = user.split("Input: ", 1)[1].split("\nAgent: ", 1)[0]
            return json.dumps({"memories": [said]})
        if system == I18N_DEFAULT.memory("save_system"):
            return json.dumps({"suggested_scope": "/notes", "categories": ["note"], "importance": 0.5})
        if system == I18N_DEFAULT.memory("consolidation_system"):
            return json.dumps({"actions": [], "insert_new": True})
        if system == I18N_DEFAULT.memory("query_system"):
            return json.dumps({"complexity": "simple"})
        self.requests.append(json.dumps(messages))
        return f"Final Answer: {FACT if QUESTION in user and FACT in user else answer(len(self.requests))}"


def agent_with(neap: Neap, model: Scripted) -> Any:
    storage = NeapStorage(neap, "a customer")
    memory = Memory(storage=storage, llm=model, embedder=embed, exploration_budget=0)
    return Agent(role="assistant", goal="answer", backstory="none", llm=model, memory=memory)


def test_a_hundred_turns_are_bounded_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    model = Scripted(model="test")
    agent = agent_with(neap, model)
    said = ""
    for turn in range(1, TURNS + 1):
        said = str(agent.kickoff(question(turn)).raw)
        if turn == TURNS // 2:
            # What is remembered in the background is there first.
            agent.memory.close()
            kill(neap)
            # As a process that starts anew.
            agent = agent_with(neap, model)
    assert FACT in said and len(model.requests) == TURNS
    assert FACT not in model.requests[3 + TURNS // 2]
    assert max(map(len, model.requests)) < REQUEST_CHARS_MAX
    agent.memory.close()
    kept = NeapStorage(neap, "a customer").list_records(limit=1000)
    assert sorted(record.content for record in kept) == sorted(question(turn) for turn in range(1, TURNS + 1))
    assert any(FACT in hit["text"] for hit in neap.search("staging gateway certificate")["items"])


def record(name: str, scope: str = "/", **more: Any) -> MemoryRecord:
    content = more.pop("content", f"about {name}")
    return MemoryRecord(id=name, content=content, scope=scope, embedding=embed([content])[0], **more)


def names(records: list[MemoryRecord]) -> list[str]:
    return [one.id for one in records]


def test_records_come_back_as_they_were_and_for_all_processes(neap: Neap) -> None:
    with Neap() as second:
        one, other = NeapStorage(neap), NeapStorage(second)
        assert isinstance(one, StorageBackend) and one.get_record("a") is None
        vector = [0.1, -1e300, 5e-324, 1 / 3] + [0.0] * (DIMENSIONS - 4)
        odd = MemoryRecord(
            id="'a' \ud83d\x00",
            content="§[é",
            scope="/x/é",
            categories=["c"],
            metadata={"k": [1.5, None]},
            importance=0.9,
            embedding=vector,
            source="s",
            private=True,
        )
        without = MemoryRecord(id="b", content="no vector")
        one.save([odd, without])
        assert other.get_record(odd.id) == odd and other.get_record("b") == without
        changed = without.model_copy(update={"content": "changed", "metadata": {"n": 1}})
        other.update(changed)
        assert one.get_record("b") == changed and one.count() == 2
        got = one.get_record("b")
        assert got is not None
        got.metadata["n"] = 2
        assert one.get_record("b") == changed
        one.touch_records(["b", "none"])
        touched = other.get_record("b")
        assert touched is not None and touched.last_accessed > changed.last_accessed
        kill(neap)
        assert names(NeapStorage(neap).list_records()) == names(other.list_records())
        one.reset()
        assert other.count() == 0 and other.search(embed(["x"])[0]) == []
        other.save([without])
        assert one.count() == 1


def test_a_search_ranks_by_the_cosine_of_what_fits(neap: Neap) -> None:
    storage = NeapStorage(neap)
    storage.save(
        [
            record("tea", "/a", content="green tea in the morning", categories=["drink"], metadata={"by": "Tim"}),
            record("milk", "/a/b", content="green milk", categories=["drink", "cold"]),
            record("port", "/ab", content="the gateway has port 8443"),
            MemoryRecord(id="none", content="no vector", scope="/a"),
        ]
    )
    query = embed(["green tea"])[0]

    def found(**fields: Any) -> list[str]:
        return names([one for one, _ in storage.search(query, **fields)])

    assert found()[:2] == ["tea", "milk"] and set(found()[2:]) == {"port", "none"}
    scores = dict((one.id, score) for one, score in storage.search(query))
    assert scores["tea"] == pytest.approx(2 / (2 * 5) ** 0.5) and scores["milk"] == pytest.approx(0.5)
    assert scores["none"] == 0
    assert found(scope_prefix="/a/") == ["tea", "milk", "none"] and found(scope_prefix="/a/b") == ["milk"]
    assert found(categories=["cold", "hot"]) == ["milk"] and found(metadata_filter={"by": "Tim"}) == ["tea"]
    assert found(min_score=0.55) == ["tea"] and found(limit=1) == ["tea"] and found(limit=0) == []
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([record("x"), MemoryRecord(content="y", embedding=[1.0])])
    assert storage.count() == 4


def test_scopes_and_categories_are_counted(neap: Neap) -> None:
    storage = NeapStorage(neap)
    assert storage.list_scopes() == [] and storage.get_scope_info("/").record_count == 0
    start = datetime(2026, 1, 1)
    places = ["/", "/a", "/a/b", "/a/b/c", "/ab"]
    for at, place in enumerate(places):
        storage.save([record(f"r{at}", place, categories=["x"] * (at % 2), created_at=start + timedelta(at))])
    assert storage.list_scopes() == ["/a", "/ab"] and storage.list_scopes("/a/") == ["/a/b"]
    assert (storage.count(), storage.count("/"), storage.count("/a"), storage.count("/none")) == (5, 5, 3, 0)
    assert storage.list_categories() == {"x": 2} and storage.list_categories("/ab") == {}
    assert names(storage.list_records()) == ["r4", "r3", "r2", "r1", "r0"]
    assert names(storage.list_records("/a", limit=1, offset=1)) == ["r2"]
    info = storage.get_scope_info("/a")
    assert (info.path, info.record_count, info.categories, info.child_scopes) == ("/a", 3, ["x"], ["/a/b"])
    assert (info.oldest_record, info.newest_record) == (start + timedelta(1), start + timedelta(3))


def test_what_fits_is_deleted_and_counted(neap: Neap) -> None:
    storage = NeapStorage(neap)
    start = datetime(2026, 1, 1)
    for at in range(8):
        scope, made = "/old" if at < 4 else "/new", start + timedelta(at)
        storage.save([record(str(at), scope, categories=[f"c{at % 2}"], metadata={"at": at}, created_at=made)])
    assert storage.delete(record_ids=["0", "none"]) == 1 and storage.delete(record_ids=[]) == 0
    assert storage.delete(scope_prefix="/old", categories=["c1"]) == 2
    assert storage.delete(metadata_filter={"at": 7}) == 1
    assert storage.delete(older_than=(start + timedelta(5)).replace(tzinfo=timezone.utc)) == 2
    assert names(storage.list_records()) == ["6", "5"]
    storage.reset("/none")
    assert storage.count() == 2
    storage.reset("/new")
    assert storage.count() == 0


def test_words_are_searched_unless_they_are_private(neap: Neap) -> None:
    storage = NeapStorage(neap, author="person")
    private = record("two", content="Tim dreads PostgreSQL", private=True)
    storage.save([record("one", content="Staging runs PostgreSQL 16"), private])
    assert [hit["text"] for hit in neap.search("PostgreSQL")["items"]] == ["Staging runs PostgreSQL 16"]
    assert copy.deepcopy(storage) is storage
    storage.reset()
    assert neap.search("PostgreSQL")["items"] == []
