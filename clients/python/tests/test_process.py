"""The embedded server: it ends with its client, is started again when it was killed, and survives forks."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import wait_until

from neap import AsyncNeap, Neap, ServerUnavailable

SOURCES = str(Path(__file__).resolve().parents[1] / "src")


def process_of(neap: Neap | AsyncNeap) -> "subprocess.Popen[bytes]":
    process = neap._server._process  # pyright: ignore
    assert process is not None
    return process._process  # pyright: ignore


def kill(neap: Neap | AsyncNeap) -> None:
    process = process_of(neap)
    process.kill()
    process.wait()


def wait_for_end(pid: int) -> None:
    """Of a process that is nobody's child here."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([descriptor], [], [], 30)
    os.close(descriptor)
    assert ended, f"the server {pid} still runs"


def python(code: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCES, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_nothing_starts_before_the_first_call() -> None:
    idle = Neap()
    assert idle._server._process is None  # pyright: ignore
    idle.close()


def test_a_killed_server_is_started_again_and_nothing_is_lost(neap: Neap) -> None:
    for number in range(3):
        neap.record_turn("auth", f"message {number}", "reply")
        kill(neap)
    assert neap.show_session("auth")["turns"] == 3
    # What was never sent can be sent, also if it must not be repeated.
    kill(neap)
    assert neap.open_effort("auth", "auth bug")["refusal"] is None


def test_a_call_under_way_is_repeated_if_it_may_be(neap: Neap) -> None:
    neap.record_turn("auth", "message", "reply", turn="a")
    turns: list[int] = []

    def record() -> None:
        turns.append(neap.record_turn("auth", "another", "reply", turn="b")["turn"])

    during_kill(neap, record)
    assert turns == [2] and neap.show_session("auth")["turns"] == 2


def test_a_call_under_way_is_not_repeated_if_it_must_not_be(neap: Neap) -> None:
    name = neap.remember("Staging runs PostgreSQL 16")["id"]
    errors: list[ServerUnavailable] = []

    def confirm() -> None:
        with pytest.raises(ServerUnavailable) as error:
            neap.act_on_memory(name, "confirm")
        errors.append(error.value)

    during_kill(neap, confirm)
    assert "may have been made or not" in errors[0].hint
    # The next call finds a server.
    assert neap.show_memory(name)["id"] == name


def during_kill(neap: Neap, act: Callable[[], None]) -> None:
    """Kills the server after the call was sent, and before it is answered."""
    process = process_of(neap)
    os.kill(process.pid, signal.SIGSTOP)
    thread = threading.Thread(target=act)
    thread.start()
    wait_until(lambda: is_reading(thread), "the call waits for its answer")
    process.kill()
    process.wait()
    thread.join(60)


def is_reading(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore
    return frame is not None and frame.f_code.co_name == "read" and "httpcore" in frame.f_code.co_filename


def test_a_server_that_is_killed_again_and_again_is_given_up(neap: Neap, tmp_path: Path, program: str) -> None:
    neap.record_turn("auth", "message", "reply")
    kill(neap)
    # From now on the program has ended when it says where it listens.
    script = tmp_path / "dying"
    script.write_text(f'#!/bin/sh\nsaid=$("{program}" "$@" </dev/null)\necho "$said"\n')
    script.chmod(0o755)
    neap._server._program = str(script)  # pyright: ignore
    with pytest.raises(ServerUnavailable, match="ended again") as error:
        neap.show_session("auth")
    assert error.value.hint
    neap._server._program = program  # pyright: ignore
    assert neap.show_session("auth")["turns"] == 1


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_the_server_ends_with_its_client_however_that_ends(how: str) -> None:
    code = f"""
import neap, os, signal, sys
client = neap.Neap()
client.record_turn("auth", "message", "reply")
print(client._server._process._process.pid, flush=True)
if {how!r} == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(3)
"""
    child = python(code)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    child.communicate(timeout=60)
    wait_for_end(pid)
    with Neap() as client:
        assert client.show_session("auth")["turns"] == 1


def test_a_server_that_is_told_to_end_is_started_again(neap: Neap) -> None:
    neap.record_turn("auth", "message", "reply")
    process_of(neap).send_signal(signal.SIGTERM)
    assert neap.record_turn("auth", "another", "reply")["turn"] == 2


def test_a_key_for_interruption_does_not_reach_the_server(neap: Neap) -> None:
    assert os.getpgid(process_of(neap).pid) != os.getpgrp()


def test_a_forked_child_uses_its_parents_server_and_its_own_afterwards() -> None:
    code = """
import neap, os
client = neap.Neap()
client.record_turn("auth", "from the parent", "reply")
server = client._server._process._process
said, to_say = os.pipe()
gone, to_go = os.pipe()
child = os.fork()
if child == 0:
    os.close(to_go)
    client.record_turn("auth", "from the child", "reply")
    assert client._server._process is None
    os.write(to_say, b"1")
    # The pipe ends with the parent.
    os.read(gone, 1)
    os.close(gone)
    while True:
        try:
            os.kill(server.pid, 0)
        except ProcessLookupError:
            break
        os.sched_yield()
    client.record_turn("auth", "from the orphan", "reply")
    assert client._server._process._process.pid != server.pid
    print(client.show_session("auth")["turns"], flush=True)
    client.close()
    os._exit(0)
os.read(said, 1)
client.record_turn("auth", "from the parent again", "reply")
print(client.show_session("auth")["turns"], flush=True)
client.close()
os._exit(0)
"""
    parent = python(code)
    said, _ = parent.communicate(timeout=60)
    assert said.split() == ["3", "4"]


def test_a_fork_while_other_threads_call_does_not_hang() -> None:
    code = """
import neap, os, threading
client = neap.Neap()
client.health()
stop = threading.Event()
def call():
    while not stop.is_set():
        client.health()
threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads:
    thread.start()
for number in range(5):
    child = os.fork()
    if child == 0:
        client.record_turn("auth", f"message {number}", "reply")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
print(client.show_session("auth")["turns"])
client.close()
"""
    said, _ = python(code).communicate(timeout=60)
    assert said.split() == ["5"]


def test_two_processes_share_a_data_folder() -> None:
    code = """
import neap, os, sys
client = neap.Neap()
client.health()
print("ready", flush=True)
sys.stdin.readline()
for number in range(8):
    client.record_turn("shared", f"message {number} of {os.environ['WHO']}", "reply")
    client.record_turn(os.environ["WHO"], f"message {number}", "reply")
client.close()
"""
    both = [python(code, WHO="one"), python(code, WHO="two")]
    for child in both:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in both:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in both:
        child.communicate(timeout=60)
    assert [child.returncode for child in both] == [0, 0]
    with Neap() as client:
        rows = list(client.each(client.list_turns, "shared", limit=200))
        assert len({row["message"] for row in rows}) == len(rows) == 16
        assert client.show_session("one")["turns"] == client.show_session("two")["turns"] == 8


def test_import_does_nothing() -> None:
    code = """
import sys, threading
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith(("socket.", "subprocess.")) else None)
import neap
print(threading.active_count(), [event for event in opened if event != "socket.__new__"])
"""
    said, _ = python(code).communicate(timeout=60)
    assert said == "1 []\n"
