"""What adapters store: in one order for all processes, whatever its size, and gone when it is erased."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from test_process import kill

from neap import Neap
from neap.hosts.fold import Change, Fold
from neap.hosts.names import session_name
from neap.hosts.parts import PART_CHARS_MAX, REQUEST_BYTES_MAX, Joiner, entries_of, requests_of


class Stack(Fold):
    def __init__(self, neap: Neap, name: str = "a stack") -> None:
        super().__init__(neap, "test", name)
        self.reset()

    def reset(self) -> None:
        self.values: list[Any] = []

    def apply(self, change: Change) -> Any:
        if change["op"] == "push":
            return self.values.append(change["value"])
        return self.values.pop() if self.values else None

    def push(self, value: object) -> None:
        self.write({"op": "push", "value": value})

    def pop(self) -> Any:
        return self.write_and_follow({"op": "pop"})

    def all(self) -> list[Any]:
        with self.reading():
            return list(self.values)


ODD: list[Any] = [
    "",
    "§[a mark] \u202e \x00 \r\n \x1b[31m",
    "half a character: \ud83d",
    "token=ghp_0123456789abcdefghijABCDEFGHIJ012345",
    {"z": 1, "a": [None, True, 1.5, 1e300, -0.0, 2**63, {"": ""}]},
    "x" * (2 * PART_CHARS_MAX + 1),
    "é\x00" * PART_CHARS_MAX,
]


def test_values_come_back_as_they_were(neap: Neap) -> None:
    stack = Stack(neap)
    for value in ODD:
        stack.push(value)
    other = Stack(neap)
    assert stack.all() == other.all() == ODD
    assert [json.dumps(one) for one in other.all()] == [json.dumps(one) for one in ODD]


def test_parts_fit_a_request_and_of_several_writers_are_put_together() -> None:
    texts = ["\x00" * (3 * PART_CHARS_MAX), "é" * (2 * PART_CHARS_MAX), "short"]
    requests = [list(requests_of(text)) for text in texts]
    for entries in (entries for one in requests for entries in one):
        # The server takes 4 MiB.
        assert len(json.dumps({"entries": entries}, ensure_ascii=False).encode()) <= REQUEST_BYTES_MAX + (1 << 20)
    joiner = Joiner()
    mixed = [list(entries_of(text)) for text in texts]
    order = [entries[number] for number in range(3) for entries in mixed if number < len(entries)]
    assert sorted(text for text in map(joiner.add, order) if text is not None) == sorted(texts)


def test_another_process_sees_what_was_written_and_both_agree_on_the_order(neap: Neap) -> None:
    with Neap() as second:
        one, other = stacks = Stack(neap), Stack(second)

        def push(number: int) -> None:
            stacks[number % 2].push(number)

        def pop(number: int) -> Any:
            return stacks[number % 2].pop()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(push, range(64)))
        assert one.all() == other.all() and sorted(one.all()) == list(range(64))
        with ThreadPoolExecutor(8) as threads:
            popped = list(threads.map(pop, range(70)))
        # Each got another one; six found nothing.
        assert sorted(value for value in popped if value is not None) == list(range(64))
        assert one.all() == other.all() == []


def test_a_killed_server_loses_nothing(neap: Neap) -> None:
    stack = Stack(neap)
    for number in range(6):
        stack.push(number)
        kill(neap)
    assert stack.all() == Stack(neap).all() == list(range(6))


def test_what_was_erased_is_gone_for_all_and_it_begins_anew(neap: Neap) -> None:
    with Neap() as second:
        one, other = Stack(neap), Stack(second)
        for value in ("a", "b"):
            one.push(value)
        assert other.all() == ["a", "b"]
        one.erase()
        one.erase()
        assert other.all() == one.all() == []
        other.push("c")
        assert one.all() == other.all() == Stack(neap).all() == ["c"]
        other.erase()
        one.push("d")
        assert one.all() == other.all() == ["d"]


def test_names_never_share_a_session(neap: Neap) -> None:
    names = ["a", "A", "a ", "é", "", "x" * 300, "x" * 301, "a/b", "a-b", "\ud83d"]
    assert len({session_name("test", name) for name in names}) == len(names)
    for name in names:
        Stack(neap, name).push(name)
    for name in names:
        assert Stack(neap, name).all() == [name]


def test_a_forked_child_follows_and_writes(neap: Neap, tmp_path: Path) -> None:
    stack = Stack(neap)
    stack.push("parent")
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with stack.reading():
            held.set()
            go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        stack.push("child")
        os._exit(0 if stack.all() == ["parent", "child"] else 1)
    go.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert stack.all() == ["parent", "child"]
