"""Writes src/neap/forms from docs/openapi.json: `python tools/forms.py`. A test fails while they differ."""

import json
import keyword
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FORMS = ROOT / "clients/python/src/neap/forms"
SUBJECTS = ROOT / "crates/neap-server/src/api/schemas"
SHARED = "shared"
WIDTH = 110
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
HEAD = '''"""{title}. Written by tools/forms.py."""

import sys
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict
'''
PAGE = '''

Item = TypeVar("Item")


class Page(TypedDict, Generic[Item]):
    """A part of a list; `next` is the cursor of the part after it, None at the end."""

    items: list[Item]
    next: str | None
    note: NotRequired[str | None]
    clipped: NotRequired[Clipped]
'''

Schema = dict[str, Any]


def read_schemas() -> dict[str, Schema]:
    document: Schema = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    return document["components"]["schemas"]


def references(schema: Schema) -> set[str]:
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schema)))


def subjects(schemas: dict[str, Schema]) -> dict[str, str]:
    """The file of each schema: its subject's, or the shared one if forms of two subjects need it."""
    own = {name: file.stem for file in sorted(SUBJECTS.glob("*.json")) for name in json.loads(file.read_text("utf-8"))}
    shared: set[str] = set()
    waiting = [one for name in schemas for one in references(schemas[name]) if own[one] != own[name]]
    while waiting:
        name = waiting.pop()
        if name not in shared:
            shared.add(name)
            waiting.extend(references(schemas[name]))
    return {name: SHARED if name in shared else own[name] for name in schemas}


class Writer:
    """Definitions of one schema, with those of the objects inside it before it."""

    def __init__(self) -> None:
        self.definitions: list[str] = []

    def named(self, name: str, schema: Schema) -> None:
        if "properties" in schema:
            self.typed_dict(name, schema)
        else:
            inner = name + "Item" if schema.get("type") == "array" else name
            self.definitions.append(f"{name} = {self.annotation(inner, schema)}")

    def annotation(self, name: str, schema: Schema) -> str:
        if "$ref" in schema:
            return str(schema["$ref"]).rpartition("/")[2]
        if "const" in schema:
            return f"Literal[{literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(literal(value) for value in schema['enum'])}]"
        for any_of in ("anyOf", "oneOf"):
            if any_of in schema:
                choices: list[Schema] = schema[any_of]
                several = sum(one.get("type") != "null" for one in choices) > 1
                return union(self.annotation(name + variant(one) * several, one) for one in choices)
        kind: str | list[str] = schema["type"]
        if not isinstance(kind, str):
            return union(self.annotation(name, {**schema, "type": one}) for one in kind)
        if kind == "array":
            return f"list[{self.annotation(name, schema['items'])}]"
        if kind == "object":
            return self.object(name, schema)
        return SIMPLE[kind]

    def object(self, name: str, schema: Schema) -> str:
        extra: Any = schema.get("additionalProperties", True)
        if "additionalProperties" in schema and not isinstance(extra, bool):
            return f"dict[str, {self.annotation(name, extra)}]"
        if extra or "properties" not in schema:
            return "dict[str, Any]"
        self.typed_dict(name, schema)
        return name

    def typed_dict(self, name: str, schema: Schema) -> None:
        required = set(schema.get("required", ()))
        fields = {
            key: self.annotation(name + key.title().replace("_", ""), value)
            for key, value in schema["properties"].items()
        }
        fields = {key: kind if key in required else f"NotRequired[{kind}]" for key, kind in fields.items()}
        if any(keyword.iskeyword(key) for key in fields):
            lines = "".join(f"        {literal(key)}: {kind},\n" for key, kind in fields.items())
            text = f"{name} = TypedDict(\n    {literal(name)},\n    {{\n{lines}    }},\n)"
        else:
            text = f"class {name}(TypedDict):\n{about(schema)}" + "\n".join(
                f"    {key}: {kind}" for key, kind in fields.items()
            )
        self.definitions.append(text)


def about(schema: Schema) -> str:
    return f'    """{schema["description"]}"""\n\n' if "description" in schema else ""


def variant(schema: Schema) -> str:
    properties: Schema = schema.get("properties", {})
    if "const" in properties.get("kind", {}):
        return str(properties["kind"]["const"]).title()
    return next(iter(properties), "").title()


def literal(value: str) -> str:
    return json.dumps(value)


def union(parts: Iterator[str]) -> str:
    return " | ".join(dict.fromkeys(parts))


def in_order(names: list[str], schemas: dict[str, Schema]) -> list[str]:
    """Each after those that it refers to."""
    done: list[str] = []

    def add(name: str) -> None:
        if name in done or name not in names:
            return
        for one in sorted(references(schemas[name])):
            add(one)
        done.append(name)

    for name in names:
        add(name)
    return done


def wrapped(line: str) -> str:
    """A long line of choices, one bracket opened."""
    if len(line) <= WIDTH or "[" not in line:
        return line
    at = line.index("Literal[") + len("Literal[") if "Literal[" in line else line.index("[") + 1
    end = line.index("]", at)
    indent = " " * (len(line) - len(line.lstrip()))
    inside = textwrap.fill(line[at:end], WIDTH, initial_indent=indent + "    ", subsequent_indent=indent + "    ")
    return f"{line[:at]}\n{inside}\n{indent}{line[end:]}"


def written(schemas: dict[str, Schema]) -> dict[str, str]:
    """The text of each file."""
    subject_of = subjects(schemas)
    files: dict[str, str] = {}
    for subject in sorted(set(subject_of.values())):
        names = in_order([name for name in schemas if subject_of[name] == subject], schemas)
        needed = {one for name in names for one in references(schemas[name])} - set(names)
        title = "Forms of several subjects" if subject == SHARED else f"Forms of {subject}"
        writer = Writer()
        for name in names:
            writer.named(name, schemas[name])
        body = "\n\n\n".join(writer.definitions) + "\n"
        head = HEAD.format(title=title)
        if needed:
            head += "\nfrom neap.forms.shared import (\n" + "".join(f"    {one},\n" for one in sorted(needed)) + ")\n"
        text = "\n".join(wrapped(line) for line in (head + "\n\n" + body).split("\n"))
        if subject == SHARED:
            text += PAGE
        files[f"{subject}.py"] = with_used_imports(text)
    files["__init__.py"] = index(files)
    return files


def with_used_imports(text: str) -> str:
    used = [
        name for name in ("Any", "Generic", "Literal", "TypeVar") if re.search(rf"\b{name}\b", text.split("\nif", 1)[1])
    ]
    text = text.replace(
        "from typing import Any, Literal\n", f"from typing import {', '.join(used)}\n" if used else "", 1
    )
    return text if "NotRequired[" in text else text.replace("NotRequired, TypedDict", "TypedDict")


def index(files: dict[str, str]) -> str:
    """All forms by one name."""
    names: dict[str, list[str]] = {}
    for file, text in files.items():
        found = [re.split(r"[(:]", line)[0].split()[1] for line in text.split("\n") if line.startswith("class ")]
        found += [line.split(" =")[0] for line in text.split("\n") if line[:1].isupper() and " = " in line]
        names[file.removesuffix(".py")] = sorted(set(found) - {"Item"})
    lines = ['"""The JSON of each thing, as docs/openapi.json has it. Written by tools/forms.py."""\n']
    for subject, found in names.items():
        lines.append(f"from neap.forms.{subject} import (\n" + "".join(f"    {one},\n" for one in found) + ")")
    every = sorted(one for found in names.values() for one in found)
    lines.append("\n__all__ = [\n" + "".join(f"    {literal(one)},\n" for one in every) + "]\n")
    return "\n".join(lines)


if __name__ == "__main__":
    for file, text in written(read_schemas()).items():
        (FORMS / file).write_text(text, encoding="utf-8")
