"""docs/openapi.json, as tests read it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    parameters: dict[str, str]
    """Where each is: in the path, the query or a header."""
    body: str | None
    is_download: bool


def document() -> dict[str, Any]:
    return json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))


def operations() -> list[Operation]:
    return [
        Operation(
            name=given["operationId"],
            method=method.upper(),
            path=path,
            parameters={one["name"]: one["in"] for one in given["parameters"]},
            body=body_of(given),
            is_download="application/json" not in given["responses"]["200"]["content"],
        )
        for path, methods in document()["paths"].items()
        for method, given in methods.items()
    ]


def body_of(given: dict[str, Any]) -> str | None:
    if "requestBody" not in given:
        return None
    return given["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
