"""Texts of any length as entries that a request can hold."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from neap.call import new_id

Item = TypeVar("Item")
PART_CHARS_MAX = 500_000
"""A character is at most six bytes of JSON, and a request at most 4 MiB."""
REQUEST_BYTES_MAX = 3 << 20
REQUEST_ITEMS_MAX = 256
WHOLE = "="
PART = re.compile(r"\+([0-9a-f]+):(\d+)/(\d+)=", re.ASCII)


def entries_of(text: str) -> Iterator[str]:
    if len(text) <= PART_CHARS_MAX:
        yield WHOLE + text
        return
    name, count = new_id(), -(-len(text) // PART_CHARS_MAX)
    for number in range(count):
        yield f"+{name}:{number}/{count}=" + text[number * PART_CHARS_MAX : (number + 1) * PART_CHARS_MAX]


def requests_of(text: str) -> Iterator[list[str]]:
    """Entries in groups that are stored at once."""
    return grouped(entries_of(text))


def grouped(items: Iterable[Item]) -> Iterator[list[Item]]:
    """As many as one request can hold."""
    group: list[Item] = []
    size = 0
    for item in items:
        item_bytes = len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))
        if group and (size + item_bytes > REQUEST_BYTES_MAX or len(group) == REQUEST_ITEMS_MAX):
            yield group
            group, size = [], 0
        group.append(item)
        size += item_bytes
    if group:
        yield group


class Joiner:
    """Puts texts together again; parts of several writers may be mixed."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}

    def add(self, entry: str) -> str | None:
        """The text that this entry completes."""
        if entry.startswith(WHOLE):
            return entry[len(WHOLE) :]
        head = PART.match(entry)
        if head is None:
            return None
        parts = self._waiting.setdefault(head[1], [])
        parts.append(entry[head.end() :])
        if len(parts) < int(head[3]):
            return None
        return "".join(self._waiting.pop(head[1]))
