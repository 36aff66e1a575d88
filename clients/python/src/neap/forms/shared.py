"""Forms of several subjects. Written by tools/forms.py."""

import sys
from typing import Generic, Literal, TypeVar

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


Author = Literal["person", "model", "tool", "import"]


class ClippedItem(TypedDict):
    at: str
    chars: NotRequired[int]
    items: NotRequired[int]


Clipped = list[ClippedItem]


class Cost(TypedDict):
    cached: int
    calls: int
    nanodollars: int
    output: int
    sent: int


LayerTokens = dict[str, int]


class LoadedItem(TypedDict):
    id: str
    micro: NotRequired[bool]
    score: float
    similarity: float
    tokens: int


class RequestCost(TypedDict):
    sent_nanodollars: int
    untouched_nanodollars: int


Role = Literal["system", "user", "assistant", "tool"]


class TokenUsage(TypedDict):
    cache_written: NotRequired[int]
    cached: int
    input: int
    output: int


Item = TypeVar("Item")


class Page(TypedDict, Generic[Item]):
    """A part of a list; `next` is the cursor of the part after it, None at the end."""

    items: list[Item]
    next: str | None
    note: NotRequired[str | None]
    clipped: NotRequired[Clipped]
