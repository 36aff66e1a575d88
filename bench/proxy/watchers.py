"""What 50 watchers of `/api/v1/events` cost 16 agents that talk through the proxy: the time to the first token, in rounds with and
without watchers that take turns in one process, so that both are measured in the same minutes.

    cargo build --release
    python3 bench/proxy/watchers.py --neap target/release/neap

Exit code 0 if the median grows by less than a millisecond.
"""

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import run

AGENTS, WATCHERS, ROUNDS, REQUESTS, HISTORY = 16, 50, 12, 12, 10
ADDED_MS_MAX = 1.0


class Watcher:
    """Reads the stream of events as a page does."""

    def __init__(self):
        self.seen, self.task, self.writer = 0, None, None

    async def begin(self, port, token):
        reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
        self.writer.write(head.encode())
        answer, _ = await run.read_head(reader)
        assert b" 200 " in answer.split(b"\r\n", 1)[0], answer
        self.task = asyncio.create_task(self.read(reader))
        return self

    async def read(self, reader):
        while line := await reader.readline():
            self.seen += line.startswith(b"event:")


async def watch(port, token):
    """A process of watchers, so that reading the events takes no time from the agents; it ends with its standard input."""
    watchers = [await Watcher().begin(port, token) for _ in range(WATCHERS)]
    print("watching", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(sum(watcher.seen for watcher in watchers), flush=True)
    for watcher in watchers:
        watcher.task.cancel()


def watching(port, token):
    args = [sys.executable, __file__, "--watch", str(port), token]
    process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "watching"
    return process


async def one_round(clients, begin):
    """First-token times of all agents, each of which thinks between its requests: some 80 requests a second in all."""
    async def agent(n, client):
        session, times = b"x-neap-session: agent-%d\r\n" % n, []
        for at in range(REQUESTS):
            await asyncio.sleep(random.uniform(0.1, 0.3))
            times.append(await run.timed(client, run.body(HISTORY, f"agent {n}", begin + at), session))
        return times

    return [took for times in await asyncio.gather(*(agent(n, client) for n, client in enumerate(clients))) for took in times]


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neap", default="target/release/neap")
    parser.add_argument("--watch", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.watch:
        return await watch(int(args.watch[0]), args.watch[1])
    port = run.free_port()
    provider = subprocess.Popen([sys.executable, run.__file__, "--provider", str(port)])
    try:
        await asyncio.sleep(0.5)
        with tempfile.TemporaryDirectory() as folder:
            neap = await run.Neap(args.neap, folder, port).ready()
            token = (Path(folder) / "keys" / "api-read.token").read_text().strip()
            clients = [run.Client(neap.port) for _ in range(AGENTS)]
            await one_round(clients, 0)
            await neap.rest()
            times, seen = {False: [], True: []}, 0
            for at in range(ROUNDS * 2):
                # 0 1 1 0 0 1 1 0: neither is always the later.
                is_watched = at % 4 in (1, 2)
                watchers = watching(neap.port, token) if is_watched else None
                times[is_watched] += await one_round(clients, (at + 1) * REQUESTS)
                await asyncio.sleep(0.5)
                if watchers is not None:
                    seen += int(watchers.communicate()[0])
                await neap.rest()
            neap.end()
    finally:
        provider.kill()
    alone, watched = (run.percentile(times[kind], 50) for kind in (False, True))
    tail = [run.percentile(times[kind], 99) for kind in (False, True)]
    assert seen > WATCHERS * ROUNDS, "the watchers saw nothing"
    met = run.row(
        f"first token of {AGENTS} agents beside {WATCHERS} watchers, which saw {seen} events",
        f"less than {ADDED_MS_MAX:.0f} ms more at p50",
        f"{watched - alone:+.2f} ms at p50 ({alone:.2f} to {watched:.2f}), p99 {tail[0]:.1f} to {tail[1]:.1f}",
        watched - alone < ADDED_MS_MAX,
    )
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    asyncio.run(main())
