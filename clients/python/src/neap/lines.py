"""Reads answers that come in lines: server-sent events, and downloads with a JSON object a line.

Lines end with a line feed alone. What else Python takes for the end of a line may be inside a JSON text.
"""

import json
from typing import Any


class LineReader:
    """Makes items of the bytes that arrive."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, content: bytes) -> list[Any]:
        *lines, self._rest = (self._rest + content).split(b"\n")
        items = [self.item(line) for line in lines]
        return [item for item in items if item is not None]

    def item(self, line: bytes) -> Any | None:
        return json.loads(line) if line else None


class EventReader(LineReader):
    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, str] = {}

    def item(self, line: bytes) -> Any | None:
        name, _, value = line.decode().partition(":")
        if name:
            self._fields[name] = value.removeprefix(" ")
            return None
        # A comment is a line without a name, too, and stands between events.
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        return {"id": fields.get("id", ""), "event": fields.get("event", ""), "data": json.loads(fields["data"])}
