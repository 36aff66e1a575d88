"""What the proxy adds: time to the first token, many streams at once, clients that go away, and the bill.

    cargo build --release
    python3 bench/proxy/run.py --neap target/release/neap

A provider on this machine answers; the same requests go to it directly and through Neap, in turns, so that both are measured in the same
minutes. Nothing is asked of anybody outside this machine. Exit code 0 if every aim is met.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HISTORY_TURNS = 300  # some 50,000 tokens
SAID = "The parser of part {n} reads the header first, then the table of lengths, and only then the rows themselves; " * 4
HEARD = "Noted: part {n} is on the list, and I shall look at the table of lengths before anything else is changed. " * 4
ANSWER = "Yes."
SAMPLES = 200
STREAMS = 1_000
GONE = 1_000


def body(turns, tag, more=0):
    """A request of the Messages API with that much history, after `more` turns that went on from it."""
    messages = []
    for n in range(turns):
        messages.append({"role": "user", "content": f"[{tag}] " + SAID.format(n=n)})
        messages.append({"role": "assistant", "content": HEARD.format(n=n)})
    for n in range(more + 1):
        messages.append({"role": "user", "content": f"[{tag}] and now part {turns + n}?"})
        messages.append({"role": "assistant", "content": ANSWER})
    messages.pop()
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 256, "stream": True, "messages": messages}).encode()


def event(kind, **fields):
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind} | fields).encode())


def start():
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    block = {"type": "text", "text": ""}
    return event("message_start", message=message) + event("content_block_start", index=0, content_block=block)


def delta(text):
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


END = (
    event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 3})
    + event("message_stop")
)


async def read_head(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    return head, headers


class Provider:
    """Answers at once; a request whose path ends in `slow` is answered word by word over ten seconds."""

    async def serve(self, reader, writer):
        try:
            while True:
                head, headers = await read_head(reader)
                await reader.readexactly(int(headers.get(b"content-length", b"0")))
                is_slow = b"x-slow" in headers
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                await self.chunk(writer, start() + delta(ANSWER))
                for _ in range(20 if is_slow else 0):
                    await asyncio.sleep(0.5)
                    await self.chunk(writer, delta(" And more."))
                await self.chunk(writer, END)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @staticmethod
    async def chunk(writer, data):
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()


class Client:
    """One connection, used again for each request."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def send(self, data, headers=b""):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
        head += headers + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data)
        self.writer.write(head + data)
        await self.writer.drain()

    async def first(self):
        """Waits for the first token."""
        head, _ = await read_head(self.reader)
        assert b" 200 " in head.split(b"\r\n", 1)[0], head
        await self.reader.readuntil(b"text_delta")

    async def rest(self):
        await self.reader.readuntil(b"message_stop")
        await self.reader.readuntil(b"0\r\n\r\n")

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()
            self.writer = None


async def timed(client, data, headers=b""):
    began = time.perf_counter()
    await client.send(data, headers)
    await client.first()
    took = (time.perf_counter() - began) * 1_000
    await client.rest()
    return took


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share / 100))]


def status(pid, key):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Neap:
    """The proxy, as a process of its own."""

    def __init__(self, neap, folder, provider, *more):
        self.port = free_port()
        args = [neap, "serve", "--listen", f"127.0.0.1:{self.port}", "--upstream", f"http://127.0.0.1:{provider}"]
        env = dict(os.environ, NEAP_DATA_DIR=str(folder))
        self.process = subprocess.Popen(args + list(more), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def ready(self):
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return self
            except OSError:
                await asyncio.sleep(0.05)
        raise SystemExit("neap serve did not come up")

    async def rest(self):
        """Waits until it has nothing left to do."""
        spent = -1
        for _ in range(240):
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            now = int(fields[11]) + int(fields[12])
            if now - spent <= 1 and spent >= 0:
                return
            spent = now
            await asyncio.sleep(0.5)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def latency(args, provider, name, budget):
    """First tokens of a conversation that goes on, directly and through Neap, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        neap = await Neap(args.neap, folder, provider, "--budget", str(budget)).ready()
        direct, through = Client(provider), Client(neap.port)
        plain, added = [], []
        for n in range(args.samples + 10):
            data = body(HISTORY_TURNS, name, n)
            if n == 10:
                # A history that comes all at once is embedded once, beside the requests.
                await neap.rest()
            session = b"x-neap-session: %s\r\n" % name.encode()
            pair = (await timed(direct, data), await timed(through, data, session))
            if n >= 10:
                plain.append(pair[0])
                added.append(pair[1] - pair[0])
            await asyncio.sleep(0.02)
        direct.close()
        through.close()
        neap.end()
    p50, p99 = percentile(added, 50), percentile(added, 99)
    return row(
        f"first token, {len(data) // 1024} KiB of history, {name}",
        "p50 at most 2 ms, p99 at most 10 ms more",
        f"{p50:.2f} and {p99:.2f} ms more than {percentile(plain, 50):.2f} ms",
        p50 <= 2 and p99 <= 10,
    )


async def streams(args, provider):
    """Many slow answers at once, then many clients that go away in the middle of one."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        neap = await Neap(args.neap, folder, provider).ready()
        pid = neap.process.pid
        clients = [Client(neap.port) for _ in range(args.streams)]
        warm = Client(neap.port)
        await timed(warm, body(1, "warm"))
        idle, began = status(pid, "VmRSS"), time.perf_counter()
        held = descriptors(pid)

        async def one(n, client):
            await client.send(body(2, f"stream {n}"), b"x-slow: 1\r\n")
            await client.first()
            await client.rest()

        task = asyncio.gather(*(one(n, client) for n, client in enumerate(clients)))
        most = 0
        while not task.done():
            most = max(most, status(pid, "VmRSS"))
            await asyncio.sleep(0.2)
        await task
        took = time.perf_counter() - began
        rows.append(row(
            f"{args.streams} streams at once, ten seconds each",
            "all whole, at most 100 MiB",
            f"all whole in {took:.0f} s; {most // 1024} MiB at most, {idle // 1024} MiB before",
            most <= 100 * 1024,
        ))
        for client in clients:
            client.close()
        for begin in range(0, args.gone, 100):
            group = [Client(neap.port) for _ in range(100)]
            for n, client in enumerate(group):
                await client.send(body(2, f"gone {begin + n}"), b"x-slow: 1\r\n")
            await asyncio.gather(*(client.first() for client in group))
            for client in group:
                client.close()
        await asyncio.sleep(3)
        left, fds = status(pid, "VmRSS"), descriptors(pid)
        await timed(warm, body(2, "warm"))
        rows.append(row(
            f"{args.gone} clients that go away",
            "no descriptor left behind, at most 100 MiB",
            f"{fds} descriptors open ({held} before), {left // 1024} MiB",
            fds <= held + 8 and left <= 100 * 1024,
        ))
        warm.close()
        neap.end()
    return rows


def row(what, aim, measured, ok):
    print(f"{'ok  ' if ok else 'MISS'} {what}: {measured}  (aim: {aim})", flush=True)
    return ok


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neap", default="target/release/neap")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--gone", type=int, default=GONE)
    parser.add_argument("--provider", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.provider:
        server = await asyncio.start_server(Provider().serve, "127.0.0.1", args.provider, limit=1 << 22, backlog=2048)
        async with server:
            await server.serve_forever()
    port = free_port()
    provider = subprocess.Popen([sys.executable, __file__, "--provider", str(port)])
    try:
        await asyncio.sleep(0.5)
        met = [await latency(args, port, "untouched", 200_000), await latency(args, port, "bounded", 20_000)]
        met += await streams(args, port)
    finally:
        provider.kill()
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    asyncio.run(main())
