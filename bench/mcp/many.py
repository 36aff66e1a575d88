#!/usr/bin/env python3
"""Several `neap mcp` processes on one store, each recording turns as fast as it can; half of them are killed on the way.

Prints how long a call waits (median, 99th percentile, longest) and whether every acknowledged turn is there once.
Usage: many.py NEAP [--processes 8] [--turns 1000] [--sessions 1]
"""
import argparse
import json
import subprocess
import tempfile
import threading
import time
from collections import Counter


def client(neap, data, session):
    env = {"NEAP_DATA_DIR": data, "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen([neap, "mcp", "--session", session], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "many", "version": "1"}}
    ask(process, 0, "initialize", hello)
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return process


def send(process, number, method, params):
    line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()


def ask(process, number, method, params):
    send(process, number, method, params)
    while True:
        answer = json.loads(process.stdout.readline())
        if answer.get("id") == number:
            return answer


def record(args, data, at, waits, acknowledged):
    session = f"many-{at % args.sessions}"
    process = client(args.neap, data, session)
    dies_at = args.turns // 2 + at if at % 2 else None
    for turn in range(1, args.turns + 1):
        said = f"p{at}t{turn}e"
        call = {"name": "record_turn", "arguments": {"user": said, "assistant": "noted", "turn_id": said}}
        if turn == dies_at:
            # It dies with a call in flight; whoever comes after it sends that turn again.
            send(process, turn, "tools/call", call)
            process.kill()
            process.wait()
            process = client(args.neap, data, session)
        began = time.perf_counter()
        answer = ask(process, turn, "tools/call", call)
        waits.append(time.perf_counter() - began)
        if answer["result"]["isError"]:
            print(answer)
            continue
        acknowledged.append(said)
    process.stdin.close()
    process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("neap")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=1)
    args = parser.parse_args()
    waits, acknowledged = [], []
    with tempfile.TemporaryDirectory() as data:
        began = time.perf_counter()
        threads = [threading.Thread(target=record, args=(args, data, at, waits, acknowledged)) for at in range(args.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        found = Counter()
        for at in range(args.sessions):
            command = [args.neap, "--data-dir", data, "session", "export", f"many-{at}"]
            for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines():
                event = json.loads(line)
                turn_id = json.dumps(event).split('"turn_id": "')
                if len(turn_id) > 1:
                    found[turn_id[1].split('"')[0]] += 1
    waits.sort()
    at = lambda share: waits[min(len(waits) - 1, int(len(waits) * share))] * 1000
    print(f"{len(acknowledged)} turns acknowledged in {took:.1f} s by {args.processes} processes, {args.sessions} session(s)")
    print(f"a call waits {at(0.5):.1f} ms (median), {at(0.99):.1f} ms (99 %), {waits[-1] * 1000:.1f} ms (longest)")
    missing = [said for said in acknowledged if found[said] != 1]
    twice = [said for said, count in found.items() if count > 1]
    print(f"missing: {len(missing)}, twice: {len(twice)}")


if __name__ == "__main__":
    main()
