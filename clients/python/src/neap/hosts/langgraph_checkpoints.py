"""LangGraph: a checkpointer. Each thread is a journal of its own; a process holds the threads that it last used."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from neap import fork
from neap.client import Neap
from neap.hosts.langgraph_thread import Dumped, Place, Thread, encoded, thread_ids

THREADS_MAX = 64
"""Held in memory; the others are read again when they are used."""


class NeapSaver(BaseCheckpointSaver[str]):
    """Checkpoints and writes come back exactly as the serializer gave them, in any process."""

    def __init__(self, neap: Neap, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._neap = neap
        self._threads: OrderedDict[str, Thread] = OrderedDict()
        self._lock = threading.Lock()
        fork.clients.add(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._thread(thread_of(config)).current(self.serde) as memory:
            return memory.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        names = thread_ids(self._neap) if config is None else [thread_of(config)]
        for name in names:
            one = config or {"configurable": {"thread_id": name}}
            with self._thread(name).current(self.serde) as memory:
                found = [*memory.list(one, filter=filter, before=before, limit=limit)]
            yield from found
            if limit is not None:
                limit -= len(found)
                if limit <= 0:
                    return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        place = configurable(config)
        name, namespace = thread_of(config), place.get("checkpoint_ns", "")
        values = checkpoint["channel_values"]
        rest = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        blobs = [
            [channel, version, self._dumped(values[channel]) if channel in values else None]
            for channel, version in new_versions.items()
        ]
        self._thread(name).write(
            {
                "op": "put",
                "thread": name,
                "ns": namespace,
                "checkpoint_id": checkpoint["id"],
                "parent": place.get("checkpoint_id"),
                "checkpoint": self._dumped(rest),
                "metadata": self._dumped(get_checkpoint_metadata(config, metadata)),
                "blobs": blobs,
            }
        )
        return {"configurable": {"thread_id": name, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        place, name = configurable(config), thread_of(config)
        self._thread(name).write(
            {
                "op": "writes",
                "thread": name,
                "ns": place.get("checkpoint_ns", ""),
                "checkpoint_id": place["checkpoint_id"],
                "task": task_id,
                "path": task_path,
                "writes": [
                    [WRITES_IDX_MAP.get(channel, number), channel, self._dumped(value)]
                    for number, (channel, value) in enumerate(writes)
                ],
            }
        )

    def delete_thread(self, thread_id: str) -> None:
        """Erases the thread for good."""
        self._thread(thread_id).erase()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        with self._thread(source_thread_id).current(self.serde):
            changes = [*self._thread(source_thread_id).changes(target_thread_id)]
        target = self._thread(target_thread_id)
        for change in changes:
            target.write(change)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Takes the runs' checkpoints out of their threads; only `delete_thread` erases the bytes."""
        if not run_ids:
            return
        for name in thread_ids(self._neap):
            one: RunnableConfig = {"configurable": {"thread_id": name}}
            gone = [place_of(found) for found in self.list(one) if found.metadata.get("run_id") in run_ids]
            if gone:
                self._thread(name).write({"op": "drop", "thread": name, "places": gone})

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keeps the latest checkpoint of each namespace, and those before it whose values it still needs.

        `keep_latest` takes the others out of the thread; `delete` erases the thread.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"there is no strategy {strategy!r}: keep_latest and delete are those known")
        for name in thread_ids:
            thread = self._thread(name)
            if strategy == "delete":
                thread.erase()
                continue
            with thread.current(self.serde):
                gone = thread.superseded()
            if gone:
                thread.write({"op": "drop", "thread": name, "places": gone})

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        with self._thread(thread_of(config)).current(self.serde) as memory:
            return memory.get_delta_channel_history(config=config, channels=channels)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:
        """With the arguments of `list`."""
        for found in await asyncio.to_thread(lambda: [*self.list(config, **which)]):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await asyncio.to_thread(lambda: self.get_delta_channel_history(config=config, channels=channels))

    def get_next_version(self, current: str | None, channel: None) -> str:
        return InMemorySaver.get_next_version(self, current, channel)  # type: ignore[arg-type]

    def _thread(self, name: str) -> Thread:
        with self._lock:
            thread = self._threads.get(name) or Thread(self._neap, name)
            self._threads[name] = thread
            self._threads.move_to_end(name)
            if len(self._threads) > THREADS_MAX:
                self._threads.popitem(last=False)
            return thread

    def _dumped(self, value: object) -> Dumped:
        return encoded(self.serde.dumps_typed(value))


def configurable(config: RunnableConfig) -> dict[str, Any]:
    return config.get("configurable", {})


def thread_of(config: RunnableConfig) -> str:
    return str(configurable(config)["thread_id"])


def place_of(found: CheckpointTuple) -> Place:
    place = configurable(found.config)
    return [place.get("checkpoint_ns", ""), place["checkpoint_id"]]



