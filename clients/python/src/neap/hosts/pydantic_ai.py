"""pydantic-ai: a capability that keeps a conversation, and sends what fits of it in a budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import AgentRunResult, FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext

from neap.client import Neap
from neap.forms import Author, NewMessagesMessages
from neap.hosts.cut import first_kept, page_of
from neap.hosts.fold import Change, Fold
from neap.hosts.recall_text import recall_text
from neap.hosts.sizes import tokens_of
from neap.hosts.words import Words


class Conversation(Fold):
    """Its messages as JSON, and the place where it is cut."""

    def __init__(self, neap: Neap, name: str, author: Author) -> None:
        super().__init__(neap, "pydantic-ai", name)
        self.words = Words(self, author)
        self.reset()

    def reset(self) -> None:
        self.messages: list[Any] = []
        self.cut: tuple[int, str] | None = None
        self.words.reset()

    def apply(self, change: Change) -> Any:
        match change["op"]:
            case "add":
                self.messages += change["messages"]
            case "cut":
                self.cut = (change["from"], change["page"])
            case _:
                return self.words.apply(change)
        return None


class NeapConversation(AbstractCapability[Any]):
    """Give it to an agent as a capability, and `await conversation.messages()` to each run as `message_history`.

    A run's messages are kept when it is over; of several at once, in the order in which they end. The model gets what
    fits in `budget` tokens, the newest exchanges whole, and a page of Neap's in place of those before them. With its
    tool `recall` it searches all that was said.
    """

    def __init__(self, neap: Neap, name: str, *, budget: int, author: Author = "model") -> None:
        self._neap = neap
        self._budget = budget
        self._kept = Conversation(neap, name, author)

    async def messages(self) -> list[ModelMessage]:
        """All that were kept."""
        return await asyncio.to_thread(self._messages)

    def get_toolset(self) -> FunctionToolset[Any]:
        async def recall(query: str) -> str:
            """Search what was said earlier in this conversation, word for word."""
            return await asyncio.to_thread(recall_text, self._neap, self._kept.session, query)

        return FunctionToolset([recall])

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        shown = await asyncio.to_thread(self._bounded, request_context.messages)
        return replace(request_context, messages=shown)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        await asyncio.to_thread(self._keep, result.new_messages())
        return result

    def _messages(self) -> list[ModelMessage]:
        with self._kept.reading():
            return ModelMessagesTypeAdapter.validate_python(self._kept.messages)

    def _keep(self, messages: Sequence[ModelMessage]) -> None:
        kept = self._kept
        with kept.reading():
            kept.write({"op": "add", "messages": dumped(messages)})
            kept.follow()
            kept.words.record(len(kept.messages), self._words)

    def _words(self, first: int, end: int) -> list[NewMessagesMessages]:
        return words_of(ModelMessagesTypeAdapter.validate_python(self._kept.messages[first:end]))

    def _bounded(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        kept = self._kept
        with kept.reading():
            shown = view(messages, kept.cut)
            if tokens_of(dumped(shown)) > self._budget:
                first = first_kept(messages, self._budget, lambda one: tokens_of(dumped([one])), is_question)
                if first and (kept.cut is None or kept.cut[0] != first):
                    asked = words_of(messages[first:])
                    question = next((one["content"] for one in reversed(asked) if one["role"] == "user"), None)
                    kept.write({"op": "cut", "from": first, "page": page_of(kept, question, self._budget)})
                    kept.follow()
                    shown = view(messages, kept.cut)
            return shown


def dumped(messages: Sequence[ModelMessage]) -> list[Any]:
    return ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")


def is_question(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)


def view(messages: Sequence[ModelMessage], cut: tuple[int, str] | None) -> list[ModelMessage]:
    if cut is None or cut[0] >= len(messages) or not is_question(messages[cut[0]]):
        return list(messages)
    before = [part for one in messages[: cut[0]] if isinstance(one, ModelRequest) for part in one.parts]
    system = [part for part in before if isinstance(part, SystemPromptPart)]
    return [ModelRequest([*system, UserPromptPart(cut[1])]), *messages[cut[0] :]]


def words_of(messages: Sequence[ModelMessage]) -> list[NewMessagesMessages]:
    """What the user and the model said; tool calls and their results stay in the messages alone."""
    said: list[NewMessagesMessages] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            text = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
            if text.strip():
                said.append({"role": "assistant", "content": text})
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                given = [part.content] if isinstance(part.content, str) else part.content
                text = "\n".join(one for one in given if isinstance(one, str))
                if text.strip():
                    said.append({"role": "user", "content": text})
    return said
