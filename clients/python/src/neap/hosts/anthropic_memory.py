"""Anthropic SDK: the memory tool, with its files in Neap: the same for all processes, each change in one order."""

import asyncio
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from neap.client import Neap
from neap.hosts.fold import Change, Fold
from neap.hosts.memory_files import CommandError, MemoryFiles

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )


class Directory(Fold):
    """Commands are decided again in the order of the store, so that of two at once only one can win."""

    def __init__(self, neap: Neap, name: str) -> None:
        super().__init__(neap, "anthropic-memory", name)
        self.reset()

    def reset(self) -> None:
        self._files = MemoryFiles()

    def apply(self, change: Change) -> str | CommandError:
        try:
            return self._files.run(change)
        except CommandError as error:
            return error

    def view(self, command: Change) -> str:
        with self.reading():
            return self._files.run(command)

    def change(self, command: Change) -> str:
        with self.reading():
            # What is refused already is not stored.
            self._files.copy().run(command)
            result: str | CommandError = self.write_and_follow(command)
        if isinstance(result, CommandError):
            raise result
        return result


class NeapMemoryTool(BetaAbstractMemoryTool):
    """For `client.beta.messages.tool_runner(tools=[...])`. Tools of one `name` have the same files."""

    def __init__(
        self, neap: Neap, name: str = "default", *, cache_control: "BetaCacheControlEphemeralParam | None" = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._directory = Directory(neap, name)

    def view(self, command: "BetaMemoryTool20250818ViewCommand") -> str:
        return told(self._directory, fields_of(command))

    def create(self, command: "BetaMemoryTool20250818CreateCommand") -> str:
        return told(self._directory, fields_of(command))

    def str_replace(self, command: "BetaMemoryTool20250818StrReplaceCommand") -> str:
        return told(self._directory, fields_of(command))

    def insert(self, command: "BetaMemoryTool20250818InsertCommand") -> str:
        return told(self._directory, fields_of(command))

    def delete(self, command: "BetaMemoryTool20250818DeleteCommand") -> str:
        return told(self._directory, fields_of(command))

    def rename(self, command: "BetaMemoryTool20250818RenameCommand") -> str:
        return told(self._directory, fields_of(command))

    def clear_all_memory(self) -> str:
        """Erases all files and their history for good."""
        self._directory.erase()
        return "All memory cleared"


class AsyncNeapMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`."""

    def __init__(
        self, neap: Neap, name: str = "default", *, cache_control: "BetaCacheControlEphemeralParam | None" = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._directory = Directory(neap, name)

    async def view(self, command: "BetaMemoryTool20250818ViewCommand") -> str:
        return await self._told(command)

    async def create(self, command: "BetaMemoryTool20250818CreateCommand") -> str:
        return await self._told(command)

    async def str_replace(self, command: "BetaMemoryTool20250818StrReplaceCommand") -> str:
        return await self._told(command)

    async def insert(self, command: "BetaMemoryTool20250818InsertCommand") -> str:
        return await self._told(command)

    async def delete(self, command: "BetaMemoryTool20250818DeleteCommand") -> str:
        return await self._told(command)

    async def rename(self, command: "BetaMemoryTool20250818RenameCommand") -> str:
        return await self._told(command)

    async def clear_all_memory(self) -> str:
        """Erases all files and their history for good."""
        await asyncio.to_thread(self._directory.erase)
        return "All memory cleared"

    async def _told(self, command: Any) -> str:
        return await asyncio.to_thread(told, self._directory, fields_of(command))


def fields_of(command: Any) -> Change:
    fields: Change = command.to_dict()
    return fields


def told(directory: Directory, command: Change) -> str:
    """The answer; a refusal as the error that the SDK hands to the model."""
    try:
        return directory.view(command) if command["command"] == "view" else directory.change(command)
    except CommandError as error:
        raise ToolError(str(error)) from error
    except KeyError as error:
        raise ToolError(f"the command needs {error}") from error
