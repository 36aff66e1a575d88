"""The README's examples run, one after the other."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run(capsys: Any) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 4
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, example in enumerate(examples):
        exec(compile(example, f"example {number + 1}", "exec"), names)
    said = capsys.readouterr().out
    for part in ("401 an hour after login", "Staging runs PostgreSQL 16", "open {'resumed': False}", "404 no_session"):
        assert part in said
