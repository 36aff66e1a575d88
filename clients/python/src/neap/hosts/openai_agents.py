"""OpenAI Agents SDK: a `Session` whose history stays within a budget, with the past in reach."""

import asyncio
import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from neap.client import Neap
from neap.forms import Author, NewMessagesMessages
from neap.hosts.cut import first_kept, page_of
from neap.hosts.fold import Change, Fold
from neap.hosts.openai_words import is_question, is_reply, messages_of, words_of
from neap.hosts.recall_text import recall_text
from neap.hosts.sizes import tokens_of
from neap.hosts.words import Words

if TYPE_CHECKING:
    from agents import FunctionTool
    from agents.items import TResponseInputItem
    from agents.memory import OpenAIResponsesCompactionArgs, SessionSettings

Kept = TypeVar("Kept")


class NeapSession(Fold):
    """Keeps every item as it is. Their words are recorded in the session `session`, where search finds them.

    Without `budget`, `get_items` gives everything. With it, older items are replaced by a page of Neap's as soon as
    the history exceeds so many tokens, a question and its answer always together; between two such cuts it only
    grows at its end. `get_all_items` still gives everything, and `recall_tool` lets the model search it.
    """

    def __init__(
        self,
        session_id: str,
        neap: Neap,
        *,
        budget: int | None = None,
        author: Author = "model",
        session_settings: "SessionSettings | None" = None,
    ) -> None:
        """`author` is who wrote the user's messages: "person" only if you vouch for that."""
        super().__init__(neap, "openai-agents", session_id)
        self.session_id = session_id
        self.session_settings = session_settings
        self._budget = budget
        self._words = Words(self, author)
        self.reset()

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The history; with a limit, that of the session's settings too, its latest items as they are."""
        from agents.memory import SessionSettings
        from agents.memory.session_settings import resolve_session_limit

        settings = self.session_settings
        wanted = resolve_session_limit(limit, settings if isinstance(settings, SessionSettings) else None)
        return await asyncio.to_thread(self._get, wanted)

    async def get_all_items(self) -> "list[TResponseInputItem]":
        return await asyncio.to_thread(self._get_all)

    async def add_items(self, items: "Sequence[TResponseInputItem]") -> None:
        """Durable when this returns, all of them or none."""
        if items:
            await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> "TResponseInputItem | None":
        """Takes the latest item out of the history; of several processes, each gets another one."""
        popped = await asyncio.to_thread(self.write_and_follow, {"op": "pop"})
        return cast("TResponseInputItem | None", popped)

    async def clear_session(self) -> None:
        """Erases the history and its words for good."""
        await asyncio.to_thread(self.erase)

    async def run_compaction(self, args: "OpenAIResponsesCompactionArgs | None" = None) -> None:
        """Cuts the history back if it exceeds its budget, or if `force` is set; the SDK calls it after each run."""
        force = bool(args and args.get("force"))
        await asyncio.to_thread(self._compact_if_due, force)

    def recall_tool(self) -> "FunctionTool":
        """A tool with which the model searches everything that was said in this session."""
        from agents import function_tool

        async def recall(query: str) -> str:
            """Search what was said earlier in this conversation, word for word.

            Args:
                query: What to look for, in a few words.
            """
            return await asyncio.to_thread(recall_text, self.neap, self.session, query)

        return function_tool(recall)

    def reset(self) -> None:
        self._items: list[tuple[int, Any]] = []
        """With their numbers, which are never used again."""
        self._next = 0
        self._cut: tuple[int, Any] | None = None
        """The first item that is kept, and what stands for those before it."""
        self._words.reset()

    def apply(self, change: Change) -> Any:
        match change["op"]:
            case "add":
                self._items += enumerate(change["items"], self._next)
                self._next += len(change["items"])
            case "pop":
                return self._items.pop()[1] if self._items else None
            case "cut":
                self._cut = (change["from"], change["page"])
            case _:
                return self._words.apply(change)
        return None

    def _get(self, limit: int | None) -> "list[TResponseInputItem]":
        with self._reading:
            self._compact_if_due(False)
            items = [item for _, item in self._items]
            if limit is not None:
                return copied(items[-limit:] if limit > 0 else [])
            return copied(self._view())

    def _get_all(self) -> "list[TResponseInputItem]":
        with self.reading():
            return copied([item for _, item in self._items])

    def _add(self, items: "list[TResponseInputItem]") -> None:
        with self._reading:
            self.write({"op": "add", "items": items})
            self.follow()
            self._record_words()

    def _view(self) -> list[Any]:
        if self._cut is None:
            return [item for _, item in self._items]
        first, page = self._cut
        return [page, *(item for number, item in self._items if number >= first)]

    def _compact_if_due(self, force: bool) -> None:
        with self.reading():
            if self._budget is None or not (force or tokens_of(self._view()) > self._budget):
                return
            place = first_kept(
                self._items, self._budget, lambda kept: tokens_of([kept[1]]), lambda kept: is_question(kept[1])
            )
            if place is None:
                return
            first = self._items[place][0]
            if self._cut is not None and first <= self._cut[0]:
                return
            page = page_of(self, self._latest_question(), self._budget)
            self.write({"op": "cut", "from": first, "page": {"role": "user", "content": page}})
            self.follow()

    def _latest_question(self) -> str | None:
        return next((words_of(item) for _, item in reversed(self._items) if is_question(item)), None)

    def _record_words(self) -> None:
        """Of exchanges that are over: the reply was said, or the next question."""
        end = next((number for number, item in reversed(self._items) if is_question(item)), 0)
        if self._items and is_reply(self._items[-1][1]):
            end = self._next
        self._words.record(end, self._messages)

    def _messages(self, first: int, end: int) -> list[NewMessagesMessages]:
        return messages_of(item for number, item in self._items if first <= number < end)


def copied(items: list[Kept]) -> list[Kept]:
    return copy.deepcopy(items)
