"""What happens now, as GET /events sends it."""

import sys
from typing import Literal

from neap.forms import LoggedRequest

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


class Opened(TypedDict):
    resumed: bool


class Happened(TypedDict):
    session: str | None
    turn: int | None
    seq: int
    at: int
    kind: str
    ids: NotRequired[list[str]]


class OpenEvent(TypedDict):
    """The first event of a connection. If it did not resume, load anew what you show."""

    id: str
    event: Literal["open"]
    data: Opened


class RequestEvent(TypedDict):
    id: str
    event: Literal["request"]
    data: LoggedRequest


class ChangeEvent(TypedDict):
    id: str
    event: Literal["turn", "rewrite", "effort", "memory", "session"]
    data: Happened


LiveEvent = OpenEvent | RequestEvent | ChangeEvent
