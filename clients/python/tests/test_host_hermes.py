"""Hermes: its real manager of memories, with this provider as a plugin in its home."""

import json
from pathlib import Path
from typing import Any

import pytest
from hosts import FACT, QUESTION, TURNS, answer, library, question

from neap import Neap

library("agent.memory_provider")

from agent.memory_manager import MemoryManager
from test_process import kill

from neap.hosts.hermes import NeapMemoryProvider

PAGE_CHARS_MAX = 12_000
ROW_CHARS = 200


def test_a_hundred_turns_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    provider = NeapMemoryProvider(neap)
    manager: Any = MemoryManager()
    manager.add_provider(provider)
    manager.initialize_all("a customer", hermes_home="/nowhere", platform="cli")
    pages: list[str] = []
    for turn in range(1, TURNS):
        pages.append(manager.prefetch_all(question(turn), session_id="a customer"))
        manager.sync_all(question(turn), answer(turn), session_id="a customer")
        assert manager.flush_pending(timeout=60)
        if turn == TURNS // 2:
            kill(neap)
    page = manager.prefetch_all(QUESTION, session_id="a customer")
    assert FACT in page and max(map(len, pages)) < PAGE_CHARS_MAX
    assert FACT in json.loads(manager.handle_tool_call("neap_recall", {"query": "staging gateway port"}))["result"]
    assert "heron-17" in manager.on_pre_compress([{"role": "user", "content": QUESTION}])
    told = json.loads(manager.handle_tool_call("neap_remember", {"fact": "Tim prefers Celsius"}))
    assert told["result"] and neap.recall("Celsius")["items"]
    assert "error" in json.loads(provider.handle_tool_call("neap_remember", {"fact": ""}))
    turns = [row["message"] for row in neap.each(neap.list_turns, provider._name("a customer"), limit=200)]  # pyright: ignore
    # A row has the beginning of a message.
    assert turns == [question(turn)[:ROW_CHARS] for turn in range(TURNS - 1, 0, -1)]
    manager.shutdown_all()
    assert neap.health()["status"] == "ok", "a client of ours stays open"


def test_what_a_subagent_says_is_not_recorded(neap: Neap) -> None:
    provider = NeapMemoryProvider(neap)
    provider.initialize("s", agent_context="subagent")
    provider.sync_turn("a task", "done")
    provider.on_session_switch("t")
    assert list(neap.each(neap.list_sessions)) == [] and provider.prefetch("a task") == ""


def test_hermes_finds_it_as_a_plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_dir: Path) -> None:
    plugin = tmp_path / "plugins" / "neap"
    plugin.mkdir(parents=True)
    # Hermes looks for the word register_memory_provider in it.
    (plugin / "__init__.py").write_text("# register_memory_provider\nfrom neap.hosts.hermes import register\n")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    plugins: Any = library("plugins.memory")
    provider = plugins.load_memory_provider("neap")
    assert provider.name == "neap" and provider.is_available()
    assert provider.backup_paths() == [str(data_dir)]
    provider.initialize("s")
    provider.sync_turn("is 8443 right?", "Yes.")
    assert "8443" in provider.prefetch("which port?")
    provider.shutdown()
