"""Where a history is cut to stay within a budget, and the page that stands for what was before."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from neap.hosts.fold import Fold

Item = TypeVar("Item")
PAGE_SHARE = 4
"""Of the budget, one part in so many is a page of what came before; half of it may be the newest exchanges."""
PAGE_TOKENS_MIN = 256
"""The server makes no smaller page."""


def first_kept(
    items: Sequence[Item], budget: int, tokens_of: Callable[[Item], int], is_question: Callable[[Item], bool]
) -> int | None:
    """Where the newest exchanges begin that fit in half of it; the last one is kept whatever its size."""
    first, tokens = None, 0
    for place in reversed(range(len(items))):
        tokens += tokens_of(items[place])
        if first is not None and tokens > budget // 2:
            break
        if is_question(items[place]):
            first = place
    return first


def page_of(fold: Fold, question: str | None, budget: int) -> str:
    """For the exchanges before the cut."""
    tokens = max(budget // PAGE_SHARE, PAGE_TOKENS_MIN)
    return fold.neap.build_context(fold.session, question=question or None, budget=tokens)["text"]
