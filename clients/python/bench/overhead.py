"""What a call costs beside a bare http.client call to the same server, and how long a server takes to start.

NEAP_BIN=... python bench/overhead.py
"""

import asyncio
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from neap import AsyncNeap, Neap
from neap.program import find_program

ROUNDS = 1000
STARTS = 11


def bare_call(api: str, key: str) -> Callable[[], object]:
    connection = http.client.HTTPConnection(urlsplit(api).netloc)
    headers = {"Authorization": f"Bearer {key}"}

    def call() -> object:
        connection.request("GET", "/api/v1/sessions/bench", headers=headers)
        return json.loads(connection.getresponse().read())

    return call


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def milliseconds(times: list[float]) -> str:
    return f"{statistics.median(times) * 1e3:.2f} ms"


def compared(own: list[float], bare: list[float]) -> str:
    extra = statistics.median(own) - statistics.median(bare)
    return f"http.client {milliseconds(bare)}, this client {milliseconds(own)}, more {extra * 1e3:.2f} ms"


def of_threads(neap: Neap, bare: Callable[[], object]) -> str:
    own: list[float] = []
    others: list[float] = []
    for _ in range(ROUNDS):
        others.append(seconds(bare))
        own.append(seconds(lambda: neap.show_session("bench")))
    return compared(own, others)


async def of_asyncio(neap: AsyncNeap, bare: Callable[[], object]) -> str:
    own: list[float] = []
    others: list[float] = []
    async with neap:
        for _ in range(ROUNDS):
            others.append(seconds(bare))
            began = time.perf_counter()
            await neap.show_session("bench")
            own.append(time.perf_counter() - began)
    return compared(own, others)


def main() -> None:
    print("program:", find_program())
    with tempfile.TemporaryDirectory() as data_dir, Neap(data_dir=data_dir) as neap:
        neap.record_turn("bench", "message", "reply")
        address = neap._server.address()  # pyright: ignore[reportPrivateUsage]
        bare = bare_call(address.api, address.key)
        print(f"p50 of {ROUNDS} calls, Neap: {of_threads(neap, bare)}")
        other = AsyncNeap(base_url=address.api, key=address.key)
        print(f"p50 of {ROUNDS} calls, AsyncNeap: {asyncio.run(of_asyncio(other, bare))}")
        starts: list[float] = []
        for _ in range(STARTS):
            other = Neap(data_dir=data_dir)
            starts.append(seconds(other.health))
            other.close()
        print(f"p50 of {STARTS} starts up to the first answer: {milliseconds(starts)}")


if __name__ == "__main__":
    main()
