"""The client for asyncio."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

import httpx

from neap import fork
from neap.async_routes import AsyncRoutes
from neap.call import Call, Download
from neap.calls import server as server_calls
from neap.forms import Page
from neap.pool import (
    CONNECTIONS_MAX,
    TIMEOUT_SECONDS,
    call_timeout,
    lines_timeout,
    request_of,
    transport_options,
)
from neap.server import Address
from neap.settings import server_of
from neap.tries import Tries
from neap.version import check_version

P = ParamSpec("P")
Form = TypeVar("Form")


class LoopPool:
    """Connections of one event loop, no other may use them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: Address) -> None:
        self.loop = loop
        self.transport = httpx.AsyncHTTPTransport(**transport_options(address))
        # Calls wait here: each one that waits in the transport slows down all others.
        self.free = asyncio.Semaphore(CONNECTIONS_MAX)


class AsyncNeap(AsyncRoutes):
    """As `Neap`, for any number of tasks; its methods are awaited."""

    def __init__(
        self,
        *,
        program: str | os.PathLike[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        base_url: str | None = None,
        key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._server = server_of(program, data_dir, agent, base_url, key)
        self._timeout = timeout
        self._pool: LoopPool | None = None
        self._checked: Address | None = None
        fork.clients.add(self)

    async def __aenter__(self) -> "AsyncNeap":
        try:
            await self.health()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections, and the server if it is this client's own."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.loop is asyncio.get_running_loop():
            await pool.transport.aclose()
        await asyncio.to_thread(self._server.close)

    def after_fork(self) -> None:
        self._pool = None
        self._server.after_fork()

    async def send(self, call: Call[Form]) -> Form:
        """Makes a call of `neap.calls`; each has a method here."""
        tries = Tries(call, self._server)
        while True:
            try:
                status, content = await self._send(call, await self._address(tries))
                pause = tries.after_answer(status)
                if pause is None:
                    return call.read(status, content)
            except httpx.TransportError as error:
                pause = tries.after_failure(error)
            await asyncio.sleep(pause)

    async def read(self, download: Download[Form]) -> AsyncGenerator[Form, None]:
        """The items of an answer that comes in lines; events go on until the caller ends them."""
        tries = Tries(download, self._server)
        while True:
            try:
                address = await self._address(tries)
                async with httpx.AsyncHTTPTransport(**transport_options(address)) as own:
                    request = request_of(download, address, lines_timeout(self._timeout))
                    answer = await own.handle_async_request(request)
                    pause = tries.after_answer(answer.status_code)
                    if pause is None:
                        if answer.status_code != 200:
                            download.read(answer.status_code, await answer.aread())
                        reader = download.reader()
                        async for content in answer.aiter_raw():
                            for item in reader.feed(content):
                                download = tries.after_item(download, item)
                                yield item
                        if not download.is_endless:
                            return
                        pause = tries.after_end()
            except httpx.TransportError as error:
                pause = tries.after_failure(error)
            await asyncio.sleep(pause)

    async def each(
        self, lists: Callable[P, Awaitable[Page[Form]]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[Form, None]:
        """All items of a list, page after page: `neap.each(neap.list_turns, "auth")`."""
        page_of: Callable[..., Awaitable[Page[Form]]] = lists
        options: dict[str, Any] = dict(kwargs)
        while True:
            page = await page_of(*args, **options)
            for item in page["items"]:
                yield item
            if page["next"] is None:
                return
            options["cursor"] = page["next"]

    async def _address(self, tries: Tries) -> Address:
        address = self._server.ready()
        if address is None:
            address = await asyncio.to_thread(self._server.address)
        tries.begin(address)
        if address is not self._checked:
            check_version(*await self._send(server_calls.health(), address))
            self._checked = address
        tries.send()
        return address

    async def _send(self, call: Call[Any], address: Address) -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool.loop is not loop:
            self._pool = LoopPool(loop, address)
        pool = self._pool
        async with pool.free:
            request = request_of(call, address, call_timeout(self._timeout))
            answer = await pool.transport.handle_async_request(request)
            return answer.status_code, await answer.aread()
