"""The asyncio client: as the other, by the same calls."""

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import pytest
from test_process import kill

from neap import AsyncNeap, Neap, NeapError, NotFound, ServerUnavailable


def run(task: Coroutine[Any, Any, None]) -> None:
    asyncio.run(task)


def test_the_main_calls() -> None:
    async def main() -> None:
        async with AsyncNeap() as neap:
            await neap.record_turn("auth", "the refresh token expired", "I see.", author="person")
            await neap.record_turn("auth", "is 8443 right?", "Yes.")
            assert [turn["turn"] async for turn in neap.each(neap.list_turns, "auth", limit=1)] == [2, 1]
            assert (await neap.search("refresh token"))["items"]
            name = (await neap.remember("Staging runs PostgreSQL 16"))["id"]
            assert (await neap.recall("staging"))["items"][0]["id"] == name
            assert (await neap.build_context("auth", budget=500))["tokens"] <= 500
            assert [event["seq"] async for event in neap.export_session("auth")]
            with pytest.raises(NotFound):
                await neap.show_session("nowhere")
        with pytest.raises(NeapError, match="closed"):
            await neap.health()

    run(main())


def test_a_killed_server_is_started_again() -> None:
    async def main() -> None:
        async with AsyncNeap() as neap:
            await neap.record_turn("auth", "message", "reply")
            kill(neap)
            turns = await asyncio.gather(*(neap.show_session("auth") for _ in range(20)))
            assert {turn["turns"] for turn in turns} == {1}
        with pytest.raises(ServerUnavailable):
            await AsyncNeap(base_url="http://127.0.0.1:1", key="x").health()

    run(main())


def test_a_cancelled_call_leaves_the_others_alone() -> None:
    async def main() -> None:
        async with AsyncNeap() as neap:
            tasks = [
                asyncio.ensure_future(neap.record_turn("auth", f"message {number}", "reply", turn=str(number)))
                for number in range(24)
            ]
            await tasks[0]
            for task in tasks[1::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, (dict, asyncio.CancelledError)) for one in done)
            # Every connection is free again.
            assert len(await asyncio.gather(*(neap.health() for _ in range(100)))) == 100
            messages = {row["message"] async for row in neap.each(neap.list_turns, "auth")}
            assert messages >= {f"message {number}" for number in range(0, 24, 2)}

    run(main())


def test_a_client_goes_on_in_another_event_loop() -> None:
    neap = AsyncNeap()

    async def record() -> None:
        await neap.record_turn("auth", "message", "reply")

    async def end() -> None:
        assert (await neap.show_session("auth"))["turns"] == 2
        await neap.close()

    with pytest.warns(ResourceWarning):
        for part in (record(), record(), end()):
            run(part)
        gc.collect()


def test_both_clients_share_a_folder(neap: Neap) -> None:
    async def main() -> None:
        async with AsyncNeap() as other:
            await other.record_turn("auth", "from a task", "reply")

    run(main())
    assert neap.list_turns("auth")["items"][0]["message"] == "from a task"
