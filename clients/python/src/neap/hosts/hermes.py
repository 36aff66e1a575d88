"""Hermes: a memory provider. It records each turn, gives what bears on a question, and has tools to search and to remember."""

import json
import os
from pathlib import Path
from typing import Any, Protocol

from agent.memory_provider import MemoryProvider

from neap.client import Neap
from neap.errors import NeapError, ProgramMissing
from neap.forms import Author
from neap.hosts.names import session_name
from neap.hosts.recall_text import recall_text
from neap.program import find_program

PAGE_TOKENS = 2000
HOST = "hermes"
RECALL: dict[str, Any] = {
    "name": "neap_recall",
    "description": "Search what was said in all earlier conversations, word for word.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for, in a few words."}},
        "required": ["query"],
    },
}
REMEMBER: dict[str, Any] = {
    "name": "neap_remember",
    "description": "Remember one fact for all later conversations.",
    "parameters": {
        "type": "object",
        "properties": {"fact": {"type": "string", "description": "One sentence."}},
        "required": ["fact"],
    },
}


class Registry(Protocol):
    """What Hermes gives `register`."""

    def register_memory_provider(self, provider: MemoryProvider) -> None: ...


class NeapMemoryProvider(MemoryProvider):
    """Without a client of yours it starts a server at `initialize`, and ends it at `shutdown`."""

    def __init__(self, neap: Neap | None = None, *, budget: int = PAGE_TOKENS, author: Author = "model") -> None:
        self._given = neap
        self._neap = neap
        self._budget = budget
        self._author: Author = author
        self._session = ""
        self._records = True

    @property
    def name(self) -> str:
        return "neap"

    def is_available(self) -> bool:
        try:
            find_program()
        except ProgramMissing:
            return self._given is not None
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._neap = self._neap or Neap()
        self._session = session_id
        # What subagents and timers say is nobody's conversation.
        self._records = kwargs.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        return "Earlier conversations are kept whole: search them with neap_recall before you say that you do not know."

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """A page of what bears on the question: summaries, memories and words of this conversation."""
        if not query.strip():
            return ""
        try:
            name = self._name(session_id)
            return self._client().build_context(name, question=query, budget=self._budget)["text"]
        except NeapError:
            # There is no session before the first turn is over; a turn goes on without its memory.
            return ""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        if self._records:
            self._client().record_turn(
                self._name(session_id), user_content, assistant_content, author=self._author
            )

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [RECALL, REMEMBER]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name == RECALL["name"]:
            return json.dumps({"result": recall_text(self._client(), None, str(args.get("query", "")))})
        if tool_name == REMEMBER["name"]:
            try:
                return json.dumps({"result": self._client().remember(str(args.get("fact", "")))["note"]})
            except NeapError as error:
                return json.dumps({"error": str(error)})
        return json.dumps({"error": f"there is no tool {tool_name}"})

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        self._session = new_session_id

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        """What the summary of the messages should keep: the page of the conversation."""
        asked = [message for message in messages if message.get("role") == "user"]
        return self.prefetch(str(asked[-1].get("content", "")) if asked else "")

    def backup_paths(self) -> list[str]:
        """The data folder that the program uses by itself."""
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
        return [os.environ.get("NEAP_DATA_DIR") or str(Path(data) / "neap")]

    def shutdown(self) -> None:
        if self._neap is not None and self._given is None:
            self._neap.close()
            self._neap = None

    def _client(self) -> Neap:
        if self._neap is None:
            raise NeapError("the memory provider is not initialized", "call initialize first")
        return self._neap

    def _name(self, session_id: str) -> str:
        return session_name(HOST, session_id or self._session)


def register(context: Registry) -> None:
    """The entry of a plugin: `from neap.hosts.hermes import register`."""
    context.register_memory_provider(NeapMemoryProvider())
