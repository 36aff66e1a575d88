"""LangGraph: what is sent of a thread's messages stays within a budget; the rest stays in reach."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool

from neap import fork
from neap.client import Neap
from neap.forms import Author, NewMessagesMessages
from neap.hosts.cut import first_kept, page_of
from neap.hosts.fold import Change, Fold
from neap.hosts.recall_text import recall_text
from neap.hosts.sizes import tokens_of
from neap.hosts.words import record_words

HOST = "langgraph-history"
THREADS_MAX = 64


class ThreadHistory(Fold):
    """Which messages of a thread have their words recorded, and where it is cut."""

    def __init__(self, neap: Neap, thread_id: str) -> None:
        super().__init__(neap, HOST, thread_id)
        self.is_opened = False
        self.reset()

    def reset(self) -> None:
        self.cut: tuple[str, str] | None = None
        """The first message that is kept, and the page that stands for those before it."""
        self.claim: list[str] = []
        self._recorded: set[str] = set()

    def apply(self, change: Change) -> list[str] | None:
        match change["op"]:
            case "cut":
                self.cut = (change["from"], change["page"])
            case "record":
                self.claim = [name for name in change["messages"] if name not in self._recorded]
                self._recorded.update(self.claim)
                return self.claim
            case _:
                pass  # Of a later version.
        return None

    def unrecorded(self, messages: Sequence[AnyMessage]) -> list[str]:
        return [message.id for message in messages if message.id and message.id not in self._recorded]


class NeapHistory:
    """For `pre_model_hook`: the graph keeps every message, the model gets those that fit in `budget` tokens.

    What no longer fits is replaced by a page of Neap's; between two such cuts the messages only grow at their end.
    `recall_tool` lets the model search all that was said in its thread, up to the question before.
    """

    def __init__(self, neap: Neap, *, budget: int, author: Author = "model") -> None:
        self._neap = neap
        self._budget = budget
        self._author: Author = author
        self._threads: OrderedDict[str, ThreadHistory] = OrderedDict()
        self._lock = threading.Lock()
        fork.clients.add(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, state: dict[str, Any], config: RunnableConfig) -> dict[str, list[AnyMessage]]:
        return {"llm_input_messages": self.bounded(state["messages"], str(config.get("configurable", {})["thread_id"]))}

    def bounded(self, messages: Sequence[AnyMessage], thread_id: str) -> list[AnyMessage]:
        """The system's messages, the page, and the newest exchanges as they are."""
        thread = self._thread(thread_id)
        with thread.reading():
            self._record(thread, messages)
            shown = view(messages, thread.cut)
            if size(shown) > self._budget:
                place = first_kept(messages, self._budget, lambda one: size([one]), is_question)
                first = None if place is None else messages[place].id
                if first and (thread.cut is None or thread.cut[0] != first):
                    page = page_of(thread, words_of(messages[last_question(messages)]), self._budget)
                    thread.write({"op": "cut", "from": first, "page": page})
                    thread.follow()
                    shown = view(messages, thread.cut)
            return shown

    def recall_tool(self) -> BaseTool:
        @tool
        def recall(query: str, config: RunnableConfig) -> str:
            """Search what was said earlier in this conversation, word for word."""
            thread = self._thread(str(config.get("configurable", {})["thread_id"]))
            return recall_text(self._neap, thread.session, query)

        return recall

    def erase(self, thread_id: str) -> None:
        """Erases the thread's words for good; its checkpoints are the saver's to delete."""
        self._thread(thread_id).erase()

    def _thread(self, thread_id: str) -> ThreadHistory:
        with self._lock:
            thread = self._threads.get(thread_id) or ThreadHistory(self._neap, thread_id)
            self._threads[thread_id] = thread
            self._threads.move_to_end(thread_id)
            if len(self._threads) > THREADS_MAX:
                self._threads.popitem(last=False)
            return thread

    def _record(self, thread: ThreadHistory, messages: Sequence[AnyMessage]) -> None:
        """The words of all exchanges before the current one."""
        if not thread.is_opened:
            # The process that claimed the last ones may have ended before it recorded them.
            thread.is_opened = True
            self._send(thread, thread.claim, messages)
        new = thread.unrecorded(messages[: last_question(messages)])
        if new:
            self._send(thread, thread.write_and_follow({"op": "record", "messages": new}), messages)

    def _send(self, thread: ThreadHistory, names: Sequence[str], messages: Sequence[AnyMessage]) -> None:
        chosen = set(names)
        given = [one for message in messages if message.id in chosen for one in recorded(message)]
        if given:
            record_words(thread, given, self._author, f"{names[0]}-{len(names)}")


def view(messages: Sequence[AnyMessage], cut: tuple[str, str] | None) -> list[AnyMessage]:
    place = next((place for place, one in enumerate(messages) if cut and one.id == cut[0]), None)
    if cut is None or place is None:
        return list(messages)
    system = [message for message in messages[:place] if isinstance(message, SystemMessage)]
    return [*system, HumanMessage(cut[1], id=f"page-{cut[0]}"), *messages[place:]]


def is_question(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage)


def last_question(messages: Sequence[AnyMessage]) -> int:
    """Its place; 0 if there is none."""
    return max((place for place, message in enumerate(messages) if is_question(message)), default=0)


def size(messages: Sequence[AnyMessage]) -> int:
    return tokens_of([message.model_dump(mode="json", include={"content", "tool_calls", "type"}) for message in messages])


def words_of(message: AnyMessage) -> str:
    return str(message.text)


def recorded(message: AnyMessage) -> list[NewMessagesMessages]:
    words = words_of(message)
    if isinstance(message, HumanMessage):
        return [{"role": "user", "content": words}] if words.strip() else []
    if isinstance(message, ToolMessage):
        return [{"role": "tool", "content": words, "tool_call_id": message.tool_call_id}]
    if isinstance(message, AIMessage) and words.strip():
        return [{"role": "assistant", "content": words}]
    return []
