"""LlamaIndex: a memory for its agents and chat engines, and a block for its own `Memory`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer  # pyright: ignore[reportUnknownVariableType]

from neap.client import Neap
from neap.errors import NotFound
from neap.forms import Author
from neap.hosts.llama_index_chat import Chat, Message, question_in
from neap.hosts.recall_text import recall_text

PAGE_TOKENS = 2000


class NeapMemory(BaseMemory):
    """Keeps every message as it is; `get` gives those that fit in `budget` tokens, the newest exchanges whole.

    A page of Neap's stands for the exchanges before them; between two such cuts the history only grows at its end.
    `get_all` gives everything, `reset` erases it for good, and with `recall_tool` the model searches it.
    """

    _chat: Chat = PrivateAttr()
    _budget: int = PrivateAttr()

    def __init__(self, neap: Neap, name: str, *, budget: int, author: Author = "model") -> None:
        """`author` is who wrote the user's messages: "person" only if you vouch for that."""
        super().__init__()
        self._chat = Chat(neap, name, author)
        self._budget = budget

    @classmethod
    def class_name(cls) -> str:
        return "NeapMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "NeapMemory":
        return cls(**kwargs)

    def get(self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any) -> list[ChatMessage]:
        """What fits beside `initial_token_count` tokens; `input` is the question, if it is not in the history yet."""
        budget = self._budget - initial_token_count
        if budget <= 0:
            raise ValueError(f"{initial_token_count} tokens leave no room in a budget of {self._budget}")
        return loaded(self._chat.bounded(budget, input))

    def get_all(self) -> list[ChatMessage]:
        with self._chat.reading():
            return loaded(self._chat.messages())

    def put(self, message: ChatMessage) -> None:
        self._chat.put(dumped([message]))

    def put_messages(self, messages: list[ChatMessage]) -> None:
        if messages:
            self._chat.put(dumped(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        self._chat.set(dumped(messages))

    def reset(self) -> None:
        self._chat.erase()

    def recall_tool(self) -> FunctionTool:
        return recall_tool(self._chat)


class NeapMemoryBlock(BaseMemoryBlock[str]):
    """For `Memory.from_defaults(memory_blocks=[...])`: keeps what leaves its short-term memory, and gives a page of
    what bears on the question, at most `budget` tokens.
    """

    _chat: Chat = PrivateAttr()
    _budget: int = PrivateAttr()

    def __init__(
        self, neap: Neap, name: str, *, budget: int = PAGE_TOKENS, author: Author = "model", priority: int = 1
    ) -> None:
        super().__init__(name="neap", description="What was said earlier in this conversation", priority=priority)
        self._chat = Chat(neap, name, author)
        self._budget = budget

    def recall_tool(self) -> FunctionTool:
        return recall_tool(self._chat)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Without its last lines, counted by LlamaIndex's tokenizer."""
        tokens = cast("Callable[[str], Sequence[int]]", get_tokenizer())
        lines, room = content.splitlines(keepends=True), len(tokens(content)) - tokens_to_truncate
        while lines and len(tokens("".join(lines))) > room:
            lines.pop()
        return "".join(lines) or None

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._page, question_in(dumped(messages or [])))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if messages:
            await asyncio.to_thread(self._chat.put, dumped(messages))

    def _page(self, question: str | None) -> str:
        try:
            page = self._chat.neap.build_context(self._chat.session, question=question or None, budget=self._budget)
            return page["text"]
        except NotFound:
            # Nothing has left the short-term memory yet.
            return ""


def recall_tool(chat: Chat) -> FunctionTool:
    """A tool with which the model searches everything that was kept."""

    async def recall(query: str) -> str:
        """Search what was said earlier in this conversation, word for word."""
        return await asyncio.to_thread(recall_text, chat.neap, chat.session, query)

    return FunctionTool.from_defaults(async_fn=recall)


def dumped(messages: Sequence[ChatMessage]) -> list[Message]:
    return [message.model_dump(mode="json") for message in messages]


def loaded(messages: Sequence[Message]) -> list[ChatMessage]:
    return [ChatMessage.model_validate(message) for message in messages]
