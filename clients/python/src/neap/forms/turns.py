"""Forms of turns. Written by tools/forms.py."""

import sys
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

from neap.forms.shared import (
    Author,
    Clipped,
    Cost,
    LayerTokens,
    LoadedItem,
    RequestCost,
    Role,
    TokenUsage,
)


class Appended(TypedDict):
    recorded: int
    turn: int


class Block(TypedDict):
    block: int
    cached: bool
    chars: int
    layer: str | None
    offset: int
    role: Literal["system", "user", "assistant", "tool", "tools"]
    text: str
    tokens: int
    turn: int | None
    why: str


class Change(TypedDict):
    at: int
    cause: str | dict[str, Any] | None
    ids: list[str]
    kind: str
    seq: int
    tokens: int | None
    turn: int | None


class DiffBlocks(TypedDict):
    block: int
    change: Literal["same", "added", "removed"]
    layer: str | None
    role: str
    text: str
    tokens: int


Diff = TypedDict(
    "Diff",
    {
        "blocks": list[DiffBlocks],
        "clipped": NotRequired[Clipped],
        "exact": bool,
        "from": int,
        "same_tokens": int,
        "to": int,
    },
)


EpochCause = Literal["first", "full", "expired", "cheaper", "turns_over"]


class ToolCall(TypedDict):
    arguments: str
    id: str
    name: str


class Message(TypedDict):
    content: str
    incomplete: NotRequired[str | dict[str, Any]]
    name: NotRequired[str]
    role: Role
    tokens: NotRequired[int]
    tool_call_id: NotRequired[str]
    tool_calls: NotRequired[list[ToolCall]]


class Exchange(TypedDict):
    at: int
    clipped: NotRequired[Clipped]
    messages: list[Message]
    turn: int


class ScopeEffort(TypedDict):
    effort: str


Scope = Literal["ambient"] | ScopeEffort


LogShown = TypedDict(
    "LogShown",
    {
        "excerpted": NotRequired[bool],
        "exchanges": int,
        "from": NotRequired[int],
        "in_short": NotRequired[str],
        "layer": str,
        "left_out": NotRequired[int],
        "scope": Scope,
        "tokens": int,
    },
)


class Ledger(TypedDict):
    budget: int
    cost: NotRequired[Cost]
    epoch_since: NotRequired[int]
    evicted: NotRequired[int]
    logs: NotRequired[list[LogShown]]
    memories: NotRequired[list[str]]
    memories_used: NotRequired[list[str]]
    model: NotRequired[str]
    naive_tokens: int
    rounds_left_out: NotRequired[int]
    summaries: NotRequired[list[str]]
    summaries_over_budget: NotRequired[list[str]]
    summaries_over_budget_count: NotRequired[int]
    tokens: LayerTokens


class MemoryLoad(TypedDict):
    budget: int
    cause: str
    considered: int
    frame: str
    frame_confidence: float
    items: list[LoadedItem]
    tokens: int


class NewMessagesMessages(TypedDict):
    at: NotRequired[int | None]
    content: str
    name: NotRequired[str | None]
    role: Role
    tool_call_id: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCall]]


class NewMessages(TypedDict):
    author: NotRequired[Author | None]
    messages: list[NewMessagesMessages]


class NewTurn(TypedDict):
    at: NotRequired[int | None]
    author: NotRequired[Author | None]
    message: str
    reply: str


RequestAccount = TypedDict(
    "RequestAccount",
    {
        "changes": int,
        "class": str,
        "cost": NotRequired[RequestCost],
        "counted_by": NotRequired[str],
        "epoch": int,
        "is_whole": bool,
        "model": NotRequired[str],
        "tokens_in": int,
        "tokens_sent": int,
        "used": NotRequired[TokenUsage],
        "verdict": NotRequired[str],
    },
)


class PromptLayers(TypedDict):
    layer: str
    tokens: int


class Prompt(TypedDict):
    blocks: list[Block]
    budget: int | None
    cached_tokens: int
    clipped: NotRequired[Clipped]
    exact: bool
    kind: Literal["assembled", "forwarded", "recorded"]
    layers: list[PromptLayers]
    next: int | None
    note: str | None
    requests: list[RequestAccount]
    tokens_total: int
    turn: int


class RecordedTurn(TypedDict):
    banners: list[str]
    clipped: NotRequired[Clipped]
    ledger: Ledger
    refusals: list[str]
    scope: Scope
    text: str
    turn: int


class SeriesRow(TypedDict):
    at: int
    budget: int | None
    clipped: NotRequired[Clipped]
    cost: Cost | None
    epoch_since: int | None
    naive_tokens: int | None
    requests: list[RequestAccount]
    rewritten: EpochCause | None
    state: Literal["completed", "recorded", "abandoned", "pending", "taken_back"]
    tokens: LayerTokens | None
    tokens_total: int | None
    turn: int


class ToolRound(TypedDict):
    assistant: Message
    notes: NotRequired[list[Message]]
    results: list[Message]
    seals: NotRequired[list[dict[str, Any]]]


class TurnChosen(TypedDict):
    loaded: MemoryLoad
    turn: int


class Turn(TypedDict):
    abandoned: str | None | dict[str, Any]
    author: NotRequired[Author]
    chosen: NotRequired[TurnChosen]
    clipped: NotRequired[Clipped]
    epoch_cause: NotRequired[EpochCause]
    happened: list[dict[str, Any]]
    incomplete: NotRequired[str | dict[str, Any]]
    ledger: Ledger | None
    message: str | None
    reply: str | None
    rounds: list[ToolRound]
    scope: Scope | None
    turn: int


class TurnRow(TypedDict):
    at: int
    budget: int | None
    clipped: NotRequired[Clipped]
    cost: Cost | None
    epoch_since: int | None
    happened: list[str]
    message: str
    naive_tokens: int | None
    requests: list[RequestAccount]
    rewritten: EpochCause | None
    scope: Scope | None
    state: Literal["completed", "recorded", "abandoned", "pending", "taken_back"]
    tokens: LayerTokens | None
    tokens_total: int | None
    turn: int
