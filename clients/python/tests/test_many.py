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


def numbers_of(neap: Neap) -> list[int]:
    """The numbers that the turns' messages have, of all sessions."""
    rows = [row for name in range(SESSIONS) for row in neap.each(neap.list_turns, f"session {name}", limit=200)]
    assert all(row["message"].startswith("message ") for row in rows)
    return sorted(int(row["message"].removeprefix("message ")) for row in rows)


def record(neap: Neap, number: int) -> int:
    return neap.record_turn(f"session {number % SESSIONS}", f"message {number}", "reply")["turn"]


def test_turns_of_eight_threads_are_all_there(neap: Neap) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(record, repeat(neap), range(TURNS)))
    assert numbers_of(neap) == list(range(TURNS))


def test_turns_of_asyncio_are_all_there(neap: Neap) -> None:
    async def record_all() -> None:
        async with AsyncNeap() as client:
            await asyncio.gather(
                *(
                    client.record_turn(f"session {number % SESSIONS}", f"message {number}", "reply")
                    for number in range(TURNS)
                )
            )

    asyncio.run(record_all())
    assert numbers_of(neap) == list(range(TURNS))


def test_turns_are_all_there_though_the_server_is_killed(neap: Neap) -> None:
    turns = min(TURNS, 1000)
    recorded = 0
    lock = threading.Lock()
    reached = threading.Semaphore(0)

    def record_counted(number: int) -> None:
        nonlocal recorded
        record(neap, number)
        with lock:
            recorded += 1
            if recorded % (turns // 4) == 0:
                reached.release()

    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(record_counted, number) for number in range(turns)]
        for _ in range(3):
            reached.acquire()
            kill(neap)
        for one in done:
            one.result()
    assert numbers_of(neap) == list(range(turns))
