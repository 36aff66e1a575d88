"""The README's examples run, one after the other."""

import re
from pathlib import Path
from typing import Any

import pytest
from hosts import library

README = Path(__file__).resolve().parents[1] / "README.md"
HOSTS = Path(__file__).resolve().parents[3] / "docs/python.md"


def run_examples(page: Path, models: list[Any], **names: Any) -> None:
    """Each with the model for it, if it needs one, and what else they use."""
    examples = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == len(models)
    names["__name__"] = "__main__"
    for number, (example, model) in enumerate(zip(examples, models, strict=True)):
        names["model"] = model
        exec(compile(example, f"example {number + 1}", "exec"), names)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_examples_for_other_libraries_run(capsys: Any) -> None:
    for needed in ("agents", "langgraph.graph", "claude_agent_sdk", "anthropic", "llama_index.core", "pydantic_ai"):
        library(needed)
    import test_host_crewai
    import test_host_langgraph
    import test_host_llama_index
    import test_host_openai
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def hello(*_: Any) -> ModelResponse:
        return ModelResponse([TextPart("hello")])

    models = [
        test_host_openai.Scripted(),
        test_host_langgraph.Scripted(requests=[]),
        None,
        None,
        MockFunctionCallingLLM(response_generator=test_host_llama_index.Scripted()),
        FunctionModel(hello),
        test_host_crewai.Scripted(model="test"),
    ]
    run_examples(HOSTS, models, embedder=test_host_crewai.embed)
    said = capsys.readouterr().out
    kept = ("{'text': 'drinks green tea'}", "NeapSessionStore", "1\tport 8443", "\nThe gateway listens on port 8443.\n")
    for part in ("2 items", "Answer 1", "follows from point 1.  2\n", "hello 2", *kept):
        assert part in said


def test_the_examples_run(capsys: Any) -> None:
    run_examples(README, [None] * 4)
    said = capsys.readouterr().out
    for part in ("401 an hour after login", "Staging runs PostgreSQL 16", "open {'resumed': False}", "404 no_session"):
        assert part in said
