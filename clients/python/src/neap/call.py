"""One call of the API: what is sent, and how its answer is read. Both clients send the same calls."""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, urlencode

from neap.errors import BY_STATUS, ApiError, NeapError
from neap.lines import EventReader, LineReader

Form = TypeVar("Form")


@dataclass(frozen=True)
class Call(Generic[Form]):
    """A call whose answer has the form `Form`."""

    method: str
    path: str
    content: bytes | None
    headers: tuple[tuple[str, str], ...]
    can_repeat: bool
    """Whether to send it twice is the same as to send it once."""

    def read(self, status: int, content: bytes) -> Form:
        if status != 200:
            raise error_of(status, content)
        return cast(Form, json.loads(content))


@dataclass(frozen=True)
class Download(Call[Form]):
    """A call whose answer comes in lines, each of the form `Form`."""

    reader: Callable[[], LineReader]
    is_endless: bool
    """Whether it is asked again, from its last item on, when the answer ends."""

    def after(self, item: Form) -> "Download[Form]":
        """The call that asks for what comes after an item."""
        last: Any = item
        if self.is_endless:
            return replace(self, headers=(("Last-Event-ID", last["id"]),))
        return replace(self, can_repeat=False)


def get(path: str, **query: str | int | bool | None) -> Call[Any]:
    return Call("GET", path + query_text(query), None, (), True)


def download(path: str) -> Download[Any]:
    return Download("GET", path, None, (), True, LineReader, False)


def watch(path: str, last_event_id: str | None) -> Download[Any]:
    headers = () if last_event_id is None else (("Last-Event-ID", last_event_id),)
    return Download("GET", path, None, headers, True, EventReader, True)


def put(path: str, body: Mapping[str, object]) -> Call[Any]:
    return Call("PUT", path, json_bytes(body), (), True)


def ask(path: str, body: Mapping[str, object]) -> Call[Any]:
    """A question with a body: it changes nothing."""
    return Call("POST", path, json_bytes(body), (), True)


def post(path: str, body: Mapping[str, object] | None = None) -> Call[Any]:
    return Call("POST", path, None if body is None else json_bytes(body), (), False)


def post_once(path: str, body: Mapping[str, object], key: str | None) -> Call[Any]:
    """A change that the server makes once for a key, however often it is sent."""
    return Call("POST", path, json_bytes(body), (("Idempotency-Key", key or new_id()),), True)


def patch(path: str, body: Mapping[str, object]) -> Call[Any]:
    return Call("PATCH", path, json_bytes(body, keep_null=True), (), False)


def delete(path: str, **query: str) -> Call[Any]:
    return Call("DELETE", path + query_text(query), None, (), False)


def new_id() -> str:
    return uuid.uuid4().hex


def part(name: str | int) -> str:
    """A name as one part of a path."""
    text = str(name)
    if not text:
        raise NeapError("a name in the call is empty", "give the name or id of what is meant")
    # A part of dots alone would be taken for a folder.
    return text.replace(".", "%2E") if not text.strip(".") else quote(text, safe="")


def query_text(query: Mapping[str, str | int | bool | None]) -> str:
    given = {name: str(value).lower() if value is True or value is False else value for name, value in query.items()}
    text = urlencode({name: value for name, value in given.items() if value is not None})
    return f"?{text}" if text else ""


def json_bytes(body: Mapping[str, object], *, keep_null: bool = False) -> bytes:
    given = body if keep_null else {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise NeapError("the text has half of a character", "send text that can be encoded as UTF-8") from error


def error_of(status: int, content: bytes) -> ApiError:
    kind = BY_STATUS.get(status, ApiError)
    try:
        problem: Any = json.loads(content)
        return kind(status, problem["code"], problem["detail"], problem["hint"])
    except (ValueError, LookupError, TypeError):
        detail = f"the server answered {status}: {content[:200].decode(errors='replace')}"
        return kind(status, "unknown", detail, "check that base_url is Neap's own address")
