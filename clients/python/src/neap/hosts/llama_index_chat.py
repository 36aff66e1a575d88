"""LlamaIndex: the chat that a memory or a memory block keeps. Its messages are JSON, as LlamaIndex gives them."""

from collections.abc import Iterable, Sequence
from typing import Any

from neap.client import Neap
from neap.forms import Author, NewMessagesMessages
from neap.hosts.cut import first_kept, page_of
from neap.hosts.fold import Change, Fold
from neap.hosts.sizes import tokens_of
from neap.hosts.words import Words

Message = dict[str, Any]
REPLIES = ("assistant", "model", "chatbot")
RESULTS = ("tool", "function")


class Chat(Fold):
    def __init__(self, neap: Neap, name: str, author: Author) -> None:
        super().__init__(neap, "llama-index", name)
        self._words = Words(self, author)
        self.reset()

    def reset(self) -> None:
        self._kept: list[tuple[int, Message]] = []
        """With their numbers, which are never used again."""
        self._next = 0
        self._cut: tuple[int, Message] | None = None
        """The first message that is kept, and the page that stands for those before it."""
        self._words.reset()

    def apply(self, change: Change) -> Any:
        match change["op"]:
            case "put":
                self._put(change["messages"])
            case "set":
                # What is the same keeps its number, so that its words are recorded once.
                same = length_of_same([message for _, message in self._kept], change["messages"])
                del self._kept[same:]
                self._put(change["messages"][same:])
                if self._cut is not None and not self._has(self._cut[0]):
                    self._cut = None
            case "cut":
                if self._has(change["from"]):
                    self._cut = (change["from"], change["page"])
            case _:
                return self._words.apply(change)
        return None

    def messages(self) -> list[Message]:
        return [message for _, message in self._kept]

    def put(self, messages: Sequence[Message]) -> None:
        """Durable when this returns, all of them or none; the words of exchanges that are over are recorded."""
        self._change({"op": "put", "messages": messages})

    def set(self, messages: Sequence[Message]) -> None:
        self._change({"op": "set", "messages": messages})

    def bounded(self, budget: int, question: str | None) -> list[Message]:
        """The system's messages, the page, and the newest exchanges as they are."""
        with self.reading():
            shown = self._view()
            if tokens_of(shown) > budget:
                place = first_kept(self.messages(), budget, lambda one: tokens_of([one]), is_question)
                first = self._kept[place][0] if place else None
                if first is not None and (self._cut is None or self._cut[0] < first):
                    page = page_of(self, question or question_in(self.messages()), budget)
                    self.write({"op": "cut", "from": first, "page": said_by_user(page)})
                    self.follow()
                    shown = self._view()
            return shown

    def _view(self) -> list[Message]:
        if self._cut is None:
            return self.messages()
        first, page = self._cut
        system = [message for number, message in self._kept if number < first and message["role"] == "system"]
        return [*system, page, *(message for number, message in self._kept if number >= first)]

    def _change(self, change: Change) -> None:
        with self._reading:
            self.write(change)
            self.follow()
            end = next((number for number, message in reversed(self._kept) if is_question(message)), 0)
            if self._kept and self._kept[-1][1]["role"] in REPLIES:
                end = self._next
            self._words.record(end, self._words_between)

    def _words_between(self, first: int, end: int) -> list[NewMessagesMessages]:
        return recorded(message for number, message in self._kept if first <= number < end)

    def _put(self, messages: Sequence[Message]) -> None:
        self._kept += enumerate(messages, self._next)
        self._next += len(messages)

    def _has(self, number: int) -> bool:
        return any(number == one for one, _ in self._kept)


def length_of_same(some: Sequence[Message], others: Sequence[Message]) -> int:
    pairs = zip(some, others, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def said_by_user(text: str) -> Message:
    return {"role": "user", "blocks": [{"block_type": "text", "text": text}]}


def is_question(message: Message) -> bool:
    return message["role"] == "user"


def question_in(messages: Sequence[Message]) -> str | None:
    """The latest."""
    return next((words_of(message) for message in reversed(messages) if is_question(message)), None)


def words_of(message: Message) -> str:
    return "\n".join(block["text"] for block in message["blocks"] if block["block_type"] == "text")


def recorded(messages: Iterable[Message]) -> list[NewMessagesMessages]:
    """What the user, the model and its tools said; what has no words is left out."""
    said: list[NewMessagesMessages] = []
    for message in messages:
        words, role = words_of(message), message["role"]
        if not words.strip():
            continue
        if is_question(message):
            said.append({"role": "user", "content": words})
        elif role in REPLIES:
            said.append({"role": "assistant", "content": words})
        elif role in RESULTS:
            call = str(message["additional_kwargs"].get("tool_call_id", "call"))
            said.append({"role": "tool", "content": words, "tool_call_id": call})
    return said
