"""A client's methods, made of the calls: each has one signature and one doc, in `neap.calls`."""

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, get_args

from neap.call import Call, Download

P = ParamSpec("P")
Form = TypeVar("Form")
Method = TypeVar("Method", bound=Callable[..., Any])


class Sender(Protocol):
    def send(self, call: Call[Form]) -> Form: ...
    def read(self, download: Download[Form]) -> Generator[Form, None, None]: ...


class AsyncSender(Protocol):
    async def send(self, call: Call[Form]) -> Form: ...
    def read(self, download: Download[Form]) -> AsyncGenerator[Form, None]: ...


def sent(build: Callable[P, Call[Form]]) -> Callable[Concatenate[Sender, P], Form]:
    def method(client: Sender, /, *args: P.args, **kwargs: P.kwargs) -> Form:
        return client.send(build(*args, **kwargs))

    return named(method, build)


def read(build: Callable[P, Download[Form]]) -> Callable[Concatenate[Sender, P], Generator[Form, None, None]]:
    def method(client: Sender, /, *args: P.args, **kwargs: P.kwargs) -> Generator[Form, None, None]:
        return client.read(build(*args, **kwargs))

    return named(method, build, Iterator)


def awaited(build: Callable[P, Call[Form]]) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, Form]]:
    async def method(client: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> Form:
        return await client.send(build(*args, **kwargs))

    return named(method, build)


def iterated(build: Callable[P, Download[Form]]) -> Callable[Concatenate[AsyncSender, P], AsyncGenerator[Form, None]]:
    def method(client: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Form, None]:
        return client.read(build(*args, **kwargs))

    return named(method, build, AsyncIterator)


def named(method: Method, build: Callable[..., Any], several: Any = None) -> Method:
    """With the name, the doc and the parameters of `build`, for `help`."""
    functools.update_wrapper(method, build)
    signature = inspect.signature(build)
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    form = get_args(signature.return_annotation)[0]
    shown = signature.replace(
        parameters=[client, *signature.parameters.values()],
        return_annotation=form if several is None else several[form],
    )
    vars(method)["__signature__"] = shown
    return method
