"""How many tokens a host's items are, without its model's tokenizer."""

import json
from collections.abc import Sequence

BYTES_PER_TOKEN = 3
"""Fewer than any common text has, so that a budget is not exceeded."""


def tokens_of(items: Sequence[object]) -> int:
    return sum(-(-len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace")) // BYTES_PER_TOKEN) for item in items)
