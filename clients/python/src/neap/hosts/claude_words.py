"""The words in the entries of Claude Code's transcripts."""

from collections.abc import Iterable
from typing import Any, cast

from neap.forms import NewMessagesMessages

Entry = dict[str, Any]


def messages_of(entries: Iterable[Entry]) -> list[NewMessagesMessages]:
    """What a person and the model said; tool calls, their results and thoughts stay in the entries alone."""
    messages: list[NewMessagesMessages] = []
    for entry in entries:
        role, message = entry.get("type"), entry.get("message")
        if role in ("user", "assistant") and isinstance(message, dict):
            words = words_of(cast("Entry", message).get("content"))
            if words.strip():
                messages.append({"role": "user" if role == "user" else "assistant", "content": words})
    return messages


def words_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = cast("list[Entry]", content if isinstance(content, list) else [])
    return "\n".join(str(block.get("text")) for block in blocks if block.get("type") == "text")
