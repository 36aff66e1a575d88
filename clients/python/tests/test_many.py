"""Turns from many threads and tasks, all of which must be there. NEAP_TEST_TURNS=10000 makes the long run."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from test_process import kill

from neap import AsyncNeap, Neap

TURNS = int(os.environ.get("NEAP_TEST_TURNS", "160"))
SESSIONS = 8


def check(neap: Neap, turns: list[int]) -> None:
    """Each message is there once, in the turn that was answered; a session's turns have no gaps."""
    for name in range(SESSIONS):
        expected = {turns[number]: f"message {number}" for number in range(name, len(turns), SESSIONS)}
        rows = list(neap.each(neap.list_turns, f"session {name}", limit=200))
        assert [(row["turn"], row["message"]) for row in rows] == sorted(expected.items(), reverse=True)
        assert sorted(expected) == list(range(1, len(rows) + 1))


def record(neap: Neap, number: int) -> int:
    return neap.record_turn(f"session {number % SESSIONS}", f"message {number}", "reply")["turn"]


def test_turns_of_eight_threads_are_all_there(neap: Neap) -> None:
    with ThreadPoolExecutor(8) as threads:
        turns = list(threads.map(record, repeat(neap), range(TURNS)))
    check(neap, turns)


def test_turns_of_asyncio_are_all_there(neap: Neap) -> None:
    async def record_all() -> list[int]:
        async with AsyncNeap() as client:
            recorded = await asyncio.gather(
                *(
                    client.record_turn(f"session {number % SESSIONS}", f"message {number}", "reply")
                    for number in range(TURNS)
                )
            )
            return [one["turn"] for one in recorded]

    check(neap, asyncio.run(record_all()))


def test_turns_are_all_there_though_the_server_is_killed(neap: Neap) -> None:
    turns = min(TURNS, 1000)
    recorded = 0
    lock = threading.Lock()
    reached = threading.Semaphore(0)

    def record_counted(number: int) -> int:
        nonlocal recorded
        turn = record(neap, number)
        with lock:
            recorded += 1
            if recorded % (turns // 4) == 0:
                reached.release()
        return turn

    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(record_counted, number) for number in range(turns)]
        for _ in range(3):
            reached.acquire()
            kill(neap)
        check(neap, [one.result() for one in done])
