"""Claude Agent SDK: a `SessionStore` for its transcripts, and a tool that searches what was said in them."""

import asyncio
import copy
import json
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import SessionStore, fold_session_summary

from neap import fork
from neap.client import Neap
from neap.forms import Author
from neap.hosts.claude_words import messages_of
from neap.hosts.fold import Change, Fold
from neap.hosts.recall_text import recall_text
from neap.hosts.words import Words

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

MAIN = ""
"""The main transcript among a session's; the others are its agents'."""


class Transcripts(Fold):
    """All transcripts of one session."""

    def __init__(self, neap: Neap, project: str, session: str, author: Author) -> None:
        super().__init__(neap, "claude-agent-sdk", json.dumps([project, session]))
        self._key = {"project_key": project, "session_id": session}
        self._words = Words(self, author)
        self.reset()

    def reset(self) -> None:
        self.entries: dict[str, list[Any]] = {}
        self.summary: Any = None
        self._known: set[tuple[str, str]] = set()
        self._words.reset()

    def apply(self, change: Change) -> Any:
        match change["op"]:
            case "add":
                self._add(change["path"], change["entries"], change["at"])
            case "delete":
                self.entries.pop(change["path"], None)
                self._known = {known for known in self._known if known[0] != change["path"]}
            case _:
                return self._words.apply(change)
        return None

    def add(self, path: str, entries: list[Any], at: int) -> None:
        with self._reading:
            self.write({"op": "add", "path": path, "entries": entries, "at": at})
            self.follow()
            main = self.entries.get(MAIN, [])
            self._words.record(len(main), lambda first, end: messages_of(main[first:end]))

    def _add(self, path: str, entries: list[Any], at: int) -> None:
        """An entry that has a uuid is kept once."""
        new = [entry for entry in entries if "uuid" not in entry or (path, entry["uuid"]) not in self._known]
        self._known |= {(path, entry["uuid"]) for entry in new if "uuid" in entry}
        self.entries.setdefault(path, []).extend(new)
        if path == MAIN:
            self.summary = {**fold_session_summary(self.summary, cast("SessionKey", self._key), new), "mtime": at}


class Index(Fold):
    """The sessions of one project."""

    def __init__(self, neap: Neap, project: str) -> None:
        super().__init__(neap, "claude-agent-sdk-index", project)
        self.reset()

    def reset(self) -> None:
        self.summaries: dict[str, Any] = {}

    def apply(self, change: Change) -> None:
        session = change["session"]
        if change["op"] == "delete":
            self.summaries.pop(session, None)
        elif change["op"] == "summary":
            before = self.summaries.get(session)
            # Two processes may write theirs in another order than they made them.
            if before is None or before["mtime"] <= change["summary"]["mtime"]:
                self.summaries[session] = change["summary"]


class NeapSessionStore(SessionStore):
    """Entries come back as they were; a deleted session is erased. `author` is who wrote the user's words."""

    def __init__(self, neap: Neap, *, author: Author = "model") -> None:
        self._neap = neap
        self._author: Author = author
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], Transcripts] = {}
        self._indexes: dict[str, Index] = {}
        self._last_time = 0
        fork.clients.add(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    async def append(self, key: "SessionKey", entries: "list[SessionStoreEntry]") -> None:
        if entries:
            await asyncio.to_thread(self._append, key, entries)

    async def load(self, key: "SessionKey") -> "list[SessionStoreEntry] | None":
        return await asyncio.to_thread(self._load, key)

    async def list_sessions(self, project_key: str) -> "list[SessionStoreListEntry]":
        summaries = await self.list_session_summaries(project_key)
        return [{"session_id": one["session_id"], "mtime": one["mtime"]} for one in summaries]

    async def list_session_summaries(self, project_key: str) -> "list[SessionSummaryEntry]":
        return await asyncio.to_thread(self._summaries, project_key)

    async def delete(self, key: "SessionKey") -> None:
        await asyncio.to_thread(self._delete, key)

    async def list_subkeys(self, key: "SessionListSubkeysKey") -> list[str]:
        return await asyncio.to_thread(self._subkeys, key)

    def recall_server(self) -> "McpSdkServerConfig":
        """An MCP server for `ClaudeAgentOptions(mcp_servers={"neap": ...})`: its tool searches all that was said."""
        from claude_agent_sdk import create_sdk_mcp_server, tool

        @tool("recall", "Search what was said in earlier conversations, word for word.", {"query": str})
        async def recall(arguments: dict[str, Any]) -> dict[str, Any]:
            text = await asyncio.to_thread(recall_text, self._neap, None, str(arguments["query"]))
            return {"content": [{"type": "text", "text": text}]}

        return create_sdk_mcp_server("neap", tools=[recall])

    def _append(self, key: "SessionKey", entries: "list[SessionStoreEntry]") -> None:
        session, path = self._transcripts(key), key.get("subpath") or MAIN
        session.add(path, entries, self._now())
        if path == MAIN:
            change = {"op": "summary", "session": key["session_id"], "summary": session.summary}
            self._index(key["project_key"]).write(change)

    def _load(self, key: "SessionKey") -> "list[SessionStoreEntry] | None":
        session = self._transcripts(key)
        with session.reading():
            return copy.deepcopy(session.entries.get(key.get("subpath") or MAIN))

    def _summaries(self, project: str) -> "list[SessionSummaryEntry]":
        index = self._index(project)
        with index.reading():
            return copy.deepcopy(list(index.summaries.values()))

    def _delete(self, key: "SessionKey") -> None:
        session, path = self._transcripts(key), key.get("subpath")
        if path:
            session.write({"op": "delete", "path": path})
            return
        session.erase()
        self._index(key["project_key"]).write({"op": "delete", "session": key["session_id"]})

    def _subkeys(self, key: "SessionListSubkeysKey") -> list[str]:
        session = self._transcripts(cast("SessionKey", key))
        with session.reading():
            return [path for path in session.entries if path != MAIN]

    def _transcripts(self, key: "SessionKey") -> Transcripts:
        project, session = key["project_key"], key["session_id"]
        with self._lock:
            if (project, session) not in self._sessions:
                self._sessions[project, session] = Transcripts(self._neap, project, session, self._author)
            return self._sessions[project, session]

    def _index(self, project: str) -> Index:
        with self._lock:
            if project not in self._indexes:
                self._indexes[project] = Index(self._neap, project)
            return self._indexes[project]

    def _now(self) -> int:
        """Milliseconds since 1970, never the same twice."""
        with self._lock:
            self._last_time = max(int(time.time() * 1000), self._last_time + 1)
            return self._last_time
