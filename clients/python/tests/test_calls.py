"""What the client is for, against the program."""

import json
from pathlib import Path

from neap import Neap


def test_turns_are_recorded_once_for_an_id(neap: Neap) -> None:
    first = neap.record_turn("auth", "users get a 401", "The token expires.", author="person", turn="host-1")
    again = neap.record_turn("auth", "users get a 401", "The token expires.", author="person", turn="host-1")
    assert (first["turn"], again["turn"]) == (1, 1)
    assert neap.record_turn("auth", "users get a 401", "The token expires.")["turn"] == 2
    assert neap.show_session("auth")["turns"] == 2
    explained = neap.explain_turn("auth", "latest")
    assert (explained["turn"], explained["reply"]) == (2, "The token expires.")


def test_messages_are_recorded_once_for_a_key(neap: Neap) -> None:
    neap.put_session("auth")
    for recorded in (2, 0):
        answer = neap.append_messages(
            "auth",
            [{"role": "user", "content": "is 8443 right?"}, {"role": "assistant", "content": "Yes."}],
            author="person",
            key="one",
        )
        assert answer["recorded"] == recorded
    original = neap.show_original("auth", "t1")
    assert original["text"] == "user: is 8443 right?\nassistant: Yes.\n"
    neap.append_messages("auth", [{"role": "user", "content": "and 8080?"}])
    exchange = neap.list_log("auth", "ambient")["items"][0]
    assert [message["content"] for message in exchange["messages"]] == ["is 8443 right?", "Yes."]


def test_a_context_keeps_its_budget(neap: Neap) -> None:
    for number in range(8):
        neap.record_turn("auth", f"what is port {8000 + number} for?", f"It is for service {number}. " * 20)
    page = neap.build_context("auth", question="what is port 8003 for?", budget=600)
    assert 0 < page["tokens"] <= page["budget"] == 600
    assert "8003" in page["text"]


def test_a_list_is_read_page_after_page(neap: Neap) -> None:
    for number in range(7):
        neap.record_turn("auth", f"message {number}", "reply")
    assert [turn["turn"] for turn in neap.each(neap.list_turns, "auth", limit=2)] == [7, 6, 5, 4, 3, 2, 1]
    assert [row["turn"] for row in neap.each(neap.series, "auth", limit=3)] == [7, 6, 5, 4, 3, 2, 1]


def test_efforts_open_conclude_and_expand(neap: Neap) -> None:
    neap.put_session("auth", set={"context_tokens_max": "16000"})
    assert neap.open_effort("auth", "auth bug")["refusal"] is None
    for number in range(3):
        neap.record_turn("auth", f"the refresh token {number} expired after 3600 seconds", "Noted.")
    neap.act_on_effort("auth", "auth-bug", "conclude")
    effort = neap.show_effort("auth", "auth-bug")
    assert effort["status"] == "concluded"
    assert [one["id"] for one in neap.list_efforts("auth")["items"]] == ["auth-bug"]
    receipts = neap.list_receipts("auth")["items"]
    assert receipts[0]["of"] == "auth-bug" and receipts[0]["kind"] == "conclusion"
    neap.act_on_effort("auth", "auth-bug", "expand")
    assert neap.show_effort("auth", "auth-bug")["expanded"]


def test_an_original_is_read_by_its_handle(neap: Neap) -> None:
    neap.record_turn("auth", "a message of some length", "reply")
    original = neap.show_original("auth", "t1.0", offset=2, limit=7)
    assert original["text"] == "message"


def test_search_finds_and_says_why_not(neap: Neap) -> None:
    neap.record_turn("auth", "the refresh token expired", "I see.", author="person")
    hits = neap.search("refresh token", session="auth", in_="raw", max=5)["items"]
    assert hits[0]["text"] == "the refresh token expired"
    assert neap.expect("refresh token", "auth/t1")["outcome"]["stage"] == "found"
    assert neap.expect("refresh token", "auth/t9")["outcome"]["stage"] == "not_stored"


def test_memories_are_kept_changed_and_erased(neap: Neap) -> None:
    kept = neap.remember("Staging runs PostgreSQL 16", tags=["db"], pinned=True, key="one")
    assert neap.remember("Staging runs PostgreSQL 16", tags=["db"], pinned=True, key="one")["status"] == "known"
    name = kept["id"]
    assert [hit["id"] for hit in neap.recall("staging")["items"]] == [name]
    assert neap.expect_memory(name, "staging")["outcome"]["stage"] == "found"
    assert neap.list_memories(kind="fact", tag="db")["items"][0]["id"] == name
    neap.edit_memory(name, {"tags": None, "domain": "infrastructure"})
    memory = neap.show_memory(name)
    assert memory.get("domain") == "infrastructure" and "tags" not in memory
    assert len(neap.memory_history(name)["items"]) == 2
    neap.act_on_memory(name, "undo")
    assert neap.show_memory(name).get("tags") == ["db"]
    assert neap.explain_recall("what runs on staging?")["candidates"][0]["id"] == name
    assert neap.erase_memory(name, confirm=name)["erased"]
    assert neap.list_memories()["items"] == []


def test_a_decision_has_a_form_of_its_own(neap: Neap) -> None:
    kept = neap.remember({"kind": "decision", "description": "Use SQLite", "stakes": "high", "confidence": 0.9})
    assert neap.review_memory(kept["id"], "success", notes="It holds.")["memory"]["status"] == "reviewed"
    assert neap.try_pattern({"by": "words", "of": "delete production"}, "please delete production")["found"]


def test_memories_move_to_another_folder(neap: Neap, tmp_path: Path) -> None:
    for text in ("Staging runs PostgreSQL 16", "Tim prefers Celsius"):
        neap.remember(text)
    lines = list(neap.export_memories())
    with Neap(data_dir=tmp_path / "other") as other:
        assert other.import_memories(lines, "laptop")["new"] == 2
        assert len(other.list_memories()["items"]) == 2


def test_an_export_has_every_event_also_with_odd_line_ends(neap: Neap) -> None:
    message = "one\u2028two\u0085three\nfour\r\nfive \U0001f30a"
    neap.record_turn("auth", message, "reply" * 30_000)
    exported = list(neap.export_session("auth"))
    assert [event["seq"] for event in exported] == [event["seq"] for event in neap.each(neap.list_events, "auth")]
    assert json.dumps(message) in json.dumps(exported)


def test_names_arrive_whole(neap: Neap) -> None:
    turns = ("a/b", "a?b#c", "100%2F", "a+b c", "..", "\U0001f30a")
    names = ("a b", "a/b", "\u00fcn\u00ef", "a?b#c", "100%", "a+b")
    for name, turn in zip(names, turns, strict=True):
        first = neap.record_turn(name, "hello", "hi", turn=turn)["turn"]
        assert neap.record_turn(name, "hello", "hi", turn=turn)["turn"] == first
        assert neap.show_session(name)["turns"] == first
