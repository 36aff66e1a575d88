"""Where a client's server is: a given address, or an embedded server that is started when it is needed."""

import os
import threading
import weakref
from dataclasses import dataclass, field
from typing import Protocol

from neap.errors import NeapError, ServerUnavailable
from neap.process import ServerProcess
from neap.program import find_program

PREFIX = "/api/v1"


@dataclass(frozen=True)
class Address:
    api: str
    key: str = field(repr=False)
    is_local: bool


class Server(Protocol):
    def ready(self) -> Address | None:
        """The address, if it is known without starting anything."""
        ...

    def address(self) -> Address:
        """The address; starts the server if need be."""
        ...

    def gave_up(self, address: Address) -> None:
        """Nothing answers there."""
        ...

    def close(self) -> None: ...

    def after_fork(self) -> None: ...


class RemoteServer:
    """Somebody else's."""

    def __init__(self, base_url: str, key: str) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise NeapError(f"base_url is no address: {base_url!r}", "an address looks like http://127.0.0.1:6327")
        self._address = Address(base_url.rstrip("/").removesuffix(PREFIX) + PREFIX, key, False)
        self._is_closed = False

    def ready(self) -> Address | None:
        return None if self._is_closed else self._address

    def address(self) -> Address:
        if self._is_closed:
            raise closed()
        return self._address

    def gave_up(self, address: Address) -> None:
        pass

    def close(self) -> None:
        self._is_closed = True

    def after_fork(self) -> None:
        pass


class EmbeddedServer:
    """A process of this client's own, started at the first call, and again if it was killed."""

    def __init__(
        self, program: str | os.PathLike[str] | None, data_dir: str | os.PathLike[str] | None, agent: str | None
    ) -> None:
        self._program = program
        self._options = [f"--data-dir={os.fspath(data_dir)}"] if data_dir is not None else []
        self._options += [f"--agent={agent}"] if agent is not None else []
        self._lock = threading.Lock()
        self._process: ServerProcess | None = None
        self._address: Address | None = None
        self._is_closed = False

    def ready(self) -> Address | None:
        address, process = self._address, self._process
        return None if process is not None and process.has_ended() else address

    def address(self) -> Address:
        address = self.ready()
        if address is None:
            with self._lock:
                address = self.ready() or self._start()
        return address

    def gave_up(self, address: Address) -> None:
        with self._lock:
            if self._address is address:
                self._end()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._end()

    def after_fork(self) -> None:
        """In the child the server is still its parent's: the child speaks to it, but neither holds nor ends it."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.let_go()
            self._process = None

    def _start(self) -> Address:
        if self._is_closed:
            raise closed()
        self._end()
        process = ServerProcess(find_program(self._program), self._options)
        self._process = process
        weakref.finalize(self, process.end)
        try:
            key = process.read_key()
        except OSError as error:
            raise ServerUnavailable(f"cannot read the server's key: {error}", "check data_dir") from error
        self._address = Address(process.api, key, True)
        return self._address

    def _end(self) -> None:
        self._address = None
        if self._process is not None:
            self._process.end()
            self._process = None


def closed() -> NeapError:
    return NeapError("this client is closed", "make another one")
