"""Every route of docs/openapi.json has a method of its name on both clients, which takes what the route takes."""

import inspect
import json
from collections.abc import Callable
from typing import Any, get_args, get_origin

import pytest
from documents import Operation, document, operations

from neap import AsyncNeap, Neap
from neap.async_routes import AsyncRoutes
from neap.call import Call, Download
from neap.calls import efforts, memories, memory_changes, server, sessions, turns
from neap.routes import Routes

SUBJECTS = (server, sessions, efforts, turns, memories, memory_changes)
OPERATIONS = operations()
NAMES = {"id_": "id", "in_": "in", "with_": "with", "key": "Idempotency-Key", "last_event_id": "Last-Event-ID"}


def call_of(name: str) -> Callable[..., Call[Any]]:
    return next(vars(subject)[name] for subject in SUBJECTS if name in vars(subject))


def properties(schema: str | None) -> set[str]:
    return set(document()["components"]["schemas"][schema]["properties"]) if schema else set()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_route_has_a_method_that_takes_what_it_takes(operation: Operation) -> None:
    for client in (Neap, AsyncNeap):
        assert callable(getattr(client, operation.name))
    signature = inspect.signature(call_of(operation.name))
    taken = {NAMES.get(name, name) for name in signature.parameters}
    if operation.name == "edit_memory":
        # There None clears a field, so that the whole form is taken.
        assert taken == {"id", "edit"}
        return
    assert taken == set(operation.parameters) | properties(operation.body)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_call_goes_to_its_route(operation: Operation) -> None:
    build = call_of(operation.name)
    samples: dict[str, Any] = {
        name: sample(parameter.annotation) for name, parameter in inspect.signature(build).parameters.items()
    }
    call = build(**samples)
    path, _, query = call.path.partition("?")
    wanted = operation.path.removeprefix("/api/v1")
    for name, place in operation.parameters.items():
        if place == "path":
            wanted = wanted.replace(f"{{{name}}}", str(samples[name]))
    assert (call.method, path) == (operation.method, wanted)
    asked = {pair.split("=")[0] for pair in query.split("&") if pair}
    assert asked == {name for name, place in operation.parameters.items() if place == "query"}
    sent = {name for name, _ in call.headers}
    assert sent == {name for name, place in operation.parameters.items() if place == "header"}
    body = set(json.loads(call.content)) if call.content is not None else set[str]()
    assert (call.content is not None) == (operation.body is not None)
    if operation.name != "edit_memory":
        assert body == properties(operation.body)
    assert isinstance(call, Download) == operation.is_download
    assert not call.can_repeat or operation.method in ("GET", "PUT", "POST")


def sample(annotation: Any) -> Any:
    """Some value for a parameter, in the shape that building the call needs."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is str or str in arguments:
        return "x"
    if annotation is int or int in arguments:
        return 1
    if annotation is bool or bool in arguments:
        return True
    if origin is not None and type(None) in arguments:
        return sample(next(one for one in arguments if one is not type(None)))
    if origin is not None and arguments and isinstance(arguments[0], str):
        return arguments[0]
    return {} if "Mapping" in str(annotation) or origin is None else []


def test_changes_without_a_key_are_not_repeated() -> None:
    repeated = {
        operation.name
        for operation in OPERATIONS
        if operation.method == "POST"
        for call in [
            call_of(operation.name)(
                **{
                    name: sample(parameter.annotation)
                    for name, parameter in inspect.signature(call_of(operation.name)).parameters.items()
                }
            )
        ]
        if call.can_repeat
    }
    keyed = {"append_entries", "append_messages", "remember"}
    asking = {"search", "expect", "build_context", "recall", "expect_memory", "explain_recall", "try_pattern"}
    assert repeated == keyed | asking


def test_there_is_no_method_without_a_route() -> None:
    names = {operation.name for operation in OPERATIONS}
    for routes in (Routes, AsyncRoutes):
        assert {name for name in vars(routes) if not name.startswith("_")} == names


def test_help_shows_what_a_method_takes() -> None:
    for client in (Neap, AsyncNeap):
        signature = inspect.signature(client.show_original)
        assert list(signature.parameters) == ["self", "session", "handle", "offset", "limit"]
        assert client.show_original.__doc__ == sessions.show_original.__doc__
