"""Forms of server. Written by tools/forms.py."""

import sys
from typing import Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

from neap.forms.shared import (
    Clipped,
)


class Document(TypedDict):
    """This document."""

    openapi: str


class RankFactors(TypedDict):
    beside: float
    conversation: float
    cost: float
    decision: float
    file: float
    here: float
    lately: float
    meaning: float
    opening: float
    speaker: float
    time: float
    words: float


class ExpectedOutcome(TypedDict):
    place: NotRequired[int]
    score: NotRequired[float]
    shared: list[str]
    similarity: NotRequired[float]
    stage: Literal["not_stored", "not_searched", "not_proposed", "below_floor", "beyond_limit", "found"]
    why: NotRequired[RankFactors]


class Expected(TypedDict):
    clipped: NotRequired[Clipped]
    expected: str
    outcome: ExpectedOutcome


ExpectedSearch = TypedDict(
    "ExpectedSearch",
    {
        "by": NotRequired[str | None],
        "effort": NotRequired[str | None],
        "expect": str,
        "here": NotRequired[str | None],
        "in": NotRequired[Literal["talk", "raw", "efforts", "memories", "all"] | None],
        "max": NotRequired[int | None],
        "project": NotRequired[str | None],
        "query": str,
        "session": NotRequired[str | None],
        "since": NotRequired[int | None],
    },
)


class Health(TypedDict):
    status: Literal["ok", "failing"]
    version: str


class Hit(TypedDict):
    at: int
    effort: NotRequired[str]
    kind: str
    project: NotRequired[str]
    score: float
    session: str
    text: str
    turn: NotRequired[int]
    who: NotRequired[str]
    why: RankFactors


class JobsEmbedding(TypedDict):
    fault: str | None
    model: str | None


class JobsRecording(TypedDict):
    dropped: int
    failing: str | None
    waiting: int


class Jobs(TypedDict):
    agent: str
    embedding: JobsEmbedding
    proxy: bool
    recording: JobsRecording


class LoggedRequestUsed(TypedDict):
    cached: int
    input: int
    output: int


LoggedRequest = TypedDict(
    "LoggedRequest",
    {
        "asks": str,
        "at": int,
        "changes": int,
        "class": str,
        "epoch": int,
        "is_whole": bool,
        "left_out": int,
        "number": int,
        "session": str | None,
        "tokens_in": int,
        "tokens_sent": int,
        "took_ms": int,
        "used": LoggedRequestUsed | None,
        "verdict": str | None,
    },
)


class Problem(TypedDict):
    code: str
    detail: str
    hint: str
    status: int
    title: str
    type: str


class RequestLog(TypedDict):
    clipped: NotRequired[Clipped]
    requests: list[LoggedRequest]
    waiting: int


Search = TypedDict(
    "Search",
    {
        "by": NotRequired[str | None],
        "effort": NotRequired[str | None],
        "here": NotRequired[str | None],
        "in": NotRequired[Literal["talk", "raw", "efforts", "memories", "all"] | None],
        "max": NotRequired[int | None],
        "project": NotRequired[str | None],
        "query": str,
        "session": NotRequired[str | None],
        "since": NotRequired[int | None],
    },
)
