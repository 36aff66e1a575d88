"""The README's examples run, one after the other."""

import re
from pathlib import Path
from typing import Any

from hosts import library

README = Path(__file__).resolve().parents[1] / "README.md"
HOSTS = Path(__file__).resolve().parents[3] / "docs/python.md"


def run_examples(page: Path, models: list[Any]) -> None:
    """Each with the model for it, if it needs one."""
    examples = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == len(models)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, (example, model) in enumerate(zip(examples, models, strict=True)):
        names["model"] = model
        exec(compile(example, f"example {number + 1}", "exec"), names)


def test_the_examples_for_other_libraries_run(capsys: Any) -> None:
    for needed in ("agents", "langgraph.graph", "claude_agent_sdk", "anthropic", "pydantic_ai"):
        library(needed)
    import test_host_langgraph
    import test_host_openai
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def hello(*_: Any) -> ModelResponse:
        return ModelResponse([TextPart("hello")])

    models = [test_host_openai.Scripted(), test_host_langgraph.Scripted(requests=[]), None, None, FunctionModel(hello)]
    run_examples(HOSTS, models)
    said = capsys.readouterr().out
    for part in ("2 items", "Answer 1", "{'text': 'drinks green tea'}", "NeapSessionStore", "1\tport 8443", "hello 2"):
        assert part in said


def test_the_examples_run(capsys: Any) -> None:
    run_examples(README, [None] * 4)
    said = capsys.readouterr().out
    for part in ("401 an hour after login", "Staging runs PostgreSQL 16", "open {'resumed': False}", "404 no_session"):
        assert part in said
