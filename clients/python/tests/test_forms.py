"""The forms are those of docs/openapi.json."""

from typing import Any, Literal, get_args, get_origin

import pytest
from documents import document
from forms import FORMS, read_schemas, written

from neap import forms

SCHEMAS: dict[str, dict[str, Any]] = document()["components"]["schemas"]


def test_the_files_are_as_the_tool_writes_them() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in FORMS.glob("*.py")}
    assert texts == written(read_schemas()), "run `python tools/forms.py`"


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "properties" in SCHEMAS[name]])
def test_a_form_has_the_properties_of_its_schema(name: str) -> None:
    form = getattr(forms, name)
    assert form.__required_keys__ == set(SCHEMAS[name].get("required", []))
    check(form, SCHEMAS[name])


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "properties" not in SCHEMAS[name]])
def test_a_name_for_a_form_stands_for_its_schema(name: str) -> None:
    check(getattr(forms, name), SCHEMAS[name])


def check(kind: Any, schema: dict[str, Any]) -> None:
    """Compares a type with a schema, written apart from the tool that makes the one of the other."""
    kind = without_absence(kind)
    if "$ref" in schema:
        assert kind == getattr(forms, schema["$ref"].rpartition("/")[2])
    elif "enum" in schema or "const" in schema:
        assert get_origin(kind) is Literal
        assert list(get_args(kind)) == schema.get("enum", [schema.get("const")])
    elif "anyOf" in schema or "oneOf" in schema:
        check_choice(kind, schema.get("anyOf") or schema["oneOf"])
    elif isinstance(schema.get("type"), list):
        check_choice(kind, [{**schema, "type": one} for one in schema["type"]])
    elif schema["type"] == "array":
        assert get_origin(kind) is list
        check(get_args(kind)[0], schema["items"])
    elif schema["type"] == "object" and isinstance(kind, type) and hasattr(kind, "__required_keys__"):
        annotations: dict[str, Any] = kind.__annotations__
        assert set(annotations) == set(schema["properties"])
        form: Any = kind
        assert form.__required_keys__ == set(schema.get("required", []))
        for key, value in annotations.items():
            check(value, schema["properties"][key])
    elif schema["type"] == "object":
        assert get_args(kind)[0] is str and get_origin(kind) is dict
        assert schema.get("additionalProperties") is not False
        if isinstance(schema.get("additionalProperties"), dict):
            check(get_args(kind)[1], schema["additionalProperties"])
    else:
        simple: dict[str, Any] = {
            "string": str,
            "integer": int,
            "number": float,
            "boolean": bool,
            "null": type(None),
        }
        assert kind is simple[schema["type"]]


def check_choice(kind: Any, schemas: list[dict[str, Any]]) -> None:
    kinds: list[Any] = list(get_args(kind))
    schemas = [{**one, "type": kind} for one in schemas for kind in listed(one.get("type"))]
    for schema in schemas:
        assert any(fits(one, schema) for one in expanded(kinds, kind)), (kind, schema)
    assert len(expanded(kinds, kind)) >= len(schemas)


def expanded(kinds: list[Any], kind: Any) -> list[Any]:
    """A choice that is named is a choice of its own: `Scope | None` is one of three."""
    named = [value for value in vars(forms).values() if get_args(value) and set(get_args(value)) < set(get_args(kind))]
    return kinds + named


def listed(kinds: Any) -> list[Any]:
    return [*kinds] if isinstance(kinds, list) else [kinds]  # pyright: ignore[reportUnknownVariableType]


def fits(kind: Any, schema: dict[str, Any]) -> bool:
    try:
        check(kind, schema)
    except (AssertionError, IndexError, KeyError):
        return False
    return True


def without_absence(kind: Any) -> Any:
    return get_args(kind)[0] if str(get_origin(kind)).endswith("NotRequired") else kind
