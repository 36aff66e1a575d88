"""Events as they happen."""

import asyncio
import socket
from typing import Any

import pytest
from test_process import kill

from neap import AsyncNeap, Neap, NotAllowed
from neap.lines import EventReader, LineReader


def test_a_turn_is_seen_as_it_happens(neap: Neap) -> None:
    events = neap.events()
    first = next(events)
    assert first["event"] == "open" and not first["data"]["resumed"]
    neap.record_turn("auth", "message", "reply")
    kinds: list[str] = []
    for event in events:
        if event["event"] != "open" and event["event"] != "request":
            assert event["data"]["session"] in ("auth", None)
            kinds.append(event["data"]["kind"])
            if kinds[-1] == "turn_completed":
                break
    events.close()
    assert {"session_created", "turn_started", "turn_completed"} <= set(kinds)


def test_events_go_on_where_they_were_left(neap: Neap) -> None:
    last = ""
    events = neap.events()
    for event in events:
        last = event["id"]
        if event["event"] == "open":
            neap.record_turn("auth", "message", "reply")
        if event["event"] == "turn" and event["data"]["kind"] == "turn_completed":
            break
    events.close()
    events = neap.events(last_event_id=last)
    first = next(events)
    events.close()
    assert first["event"] == "open" and first["data"]["resumed"]


def test_events_miss_nothing_when_the_connection_breaks(neap: Neap) -> None:
    events = neap.events()
    assert next(events)["event"] == "open"
    break_connection(events)
    neap.record_turn("auth", "message", "reply")
    again = next(events)
    assert again["event"] == "open" and again["data"]["resumed"]
    kinds = [next(events)["event"] for _ in range(2)]
    assert kinds == ["session", "turn"]
    events.close()


def break_connection(events: Any) -> None:
    stream = events.gi_frame.f_locals["answer"].extensions["network_stream"]
    stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def test_events_go_on_after_the_server_was_killed(neap: Neap) -> None:
    events = neap.events()
    assert next(events)["event"] == "open"
    kill(neap)
    again = next(events)
    assert again["event"] == "open" and not again["data"]["resumed"]
    neap.record_turn("auth", "message", "reply")
    assert next(events)["event"] in ("session", "turn")
    events.close()


def test_events_for_asyncio() -> None:
    async def main() -> None:
        async with AsyncNeap() as neap:
            events = neap.events()
            async for event in events:
                if event["event"] == "open":
                    await neap.record_turn("auth", "message", "reply")
                if event["event"] == "turn" and event["data"]["kind"] == "turn_completed":
                    break
            await events.aclose()

    asyncio.run(main())


def test_a_wrong_key_sees_nothing(neap: Neap) -> None:
    address = neap._server.address()  # pyright: ignore[reportPrivateUsage]
    with Neap(base_url=address.api, key="wrong") as other, pytest.raises(NotAllowed):
        next(other.events())


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_lines_are_whole_however_they_arrive(size: int) -> None:
    text = 'id: r-1\nevent: turn\ndata: {"a": "x\u2028\u0085y"}\n\n:\n\nid: r-2\nevent: open\ndata: {}\n\n'
    wanted: list[Any] = [
        {"id": "r-1", "event": "turn", "data": {"a": "x\u2028\u0085y"}},
        {"id": "r-2", "event": "open", "data": {}},
    ]
    assert items(EventReader(), text.encode(), size) == wanted
    assert items(LineReader(), '{"a":"\u2028"}\n{"b":1}\n'.encode(), size) == [{"a": "\u2028"}, {"b": 1}]


def items(reader: LineReader, content: bytes, size: int) -> list[Any]:
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    return [item for part in parts for item in reader.feed(part)]
