"""The words in items of OpenAI's Responses API."""

import json
from collections.abc import Iterable
from typing import Any, cast

from neap.forms import NewMessagesMessages

Item = dict[str, Any]


def role_of(item: Item) -> str | None:
    """Of a message; None for other items."""
    return str(item.get("role")) if item.get("type", "message") == "message" else None


def is_question(item: Item) -> bool:
    """Whether an exchange begins with it."""
    return role_of(item) == "user"


def is_reply(item: Item) -> bool:
    return role_of(item) == "assistant"


def words_of(item: Item) -> str:
    content: Any = item.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Item]", content if isinstance(content, list) else [])
    texts = [part.get("text") or part.get("refusal") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def messages_of(items: Iterable[Item]) -> list[NewMessagesMessages]:
    """The words of items as messages; reasoning and what has no words is left out."""
    messages: list[NewMessagesMessages] = []
    for item in items:
        role = role_of(item)
        if role is None:
            messages += tool_messages(item)
        elif role in ("user", "assistant") and words_of(item).strip():
            messages.append({"role": "user" if role == "user" else "assistant", "content": words_of(item)})
    return messages


def tool_messages(item: Item) -> list[NewMessagesMessages]:
    call_id = str(item.get("call_id") or item.get("id") or "call")
    if item.get("type") == "function_call":
        name, arguments = str(item.get("name")), str(item.get("arguments"))
        call: NewMessagesMessages = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call_id, "name": name, "arguments": arguments}],
        }
        return [call]
    if item.get("type") == "function_call_output":
        output: Any = item.get("output")
        words = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return [{"role": "tool", "content": words, "tool_call_id": call_id}]
    return []
