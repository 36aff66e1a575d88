"""The wheel: the same bytes for the same inputs, installed without a network, and it brings its program."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from neap import __version__

pytest.importorskip("tomllib")

import wheel

EXAMPLE = """
from neap import Neap
from neap.program import find_program

with Neap() as neap:
    neap.record_turn("auth", "users get a 401", "The refresh token expires.", author="person")
    print(neap.search("refresh token")["items"][0]["text"])
print(find_program())
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, program: str) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    small = folder / "neap"
    # What only debuggers need is most of a debug build.
    stripped = shutil.which("strip") and subprocess.run(["strip", "-o", small, program]).returncode == 0
    return wheel.write_wheel(small if stripped else Path(program), folder, None)


def python_of(folder: Path) -> str:
    """A virtual environment in which there is httpx, but not this package."""
    venv.create(folder, symlinks=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(others))
    return str(folder / "bin" / "python")


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True)


def install(python: str, made: Path, into: Path) -> None:
    scripts = ["--no-warn-script-location", "--prefix", str(into), "--force-reinstall"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *scripts, str(made)]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_example_runs_from_nothing(made: Path, tmp_path: Path) -> None:
    python = python_of(tmp_path / "venv")
    install(python, made, tmp_path / "venv")
    done = run(python, "-c", EXAMPLE, NEAP_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"The refresh token expires.\n{tmp_path}/venv/bin/neap\n"
    version = run(str(tmp_path / "venv/bin/neap"), "--version").stdout
    assert version.split()[1] == __version__


def test_without_its_program_it_says_what_to_do(made: Path, tmp_path: Path) -> None:
    python = python_of(tmp_path / "venv")
    install(python, made, tmp_path / "venv")
    (tmp_path / "venv/bin/neap").unlink()
    done = run(python, "-c", EXAMPLE, NEAP_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode != 0
    assert "neap.errors.ProgramMissing" in done.stderr and "hint: install a wheel that has it" in done.stderr


def test_what_it_has(made: Path, tmp_path: Path, program: str) -> None:
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        for needed in ("neap/__init__.py", "neap/py.typed", "neap/hosts/openai_agents.py"):
            assert needed in names
        assert not any("test" in name or "__pycache__" in name for name in names)
        info = f"neap-{__version__}.dist-info"
        head = archive.read(f"{info}/METADATA").decode()
        assert f"\nVersion: {__version__}\n" in head and "\nRequires-Dist: httpx>=0.27,<1\n" in head
        assert "\nRequires-Dist: openai-agents>=0.24,<1; extra == 'openai-agents'\n" in head
        for tag in archive.read(f"{info}/WHEEL").decode().splitlines():
            assert not tag.startswith("Tag: ") or tag.removeprefix("Tag: ") in made.name or "." in made.name
        assert archive.getinfo(f"neap-{__version__}.data/scripts/neap").external_attr >> 16 == 0o100755


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"a program for another system")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = [wheel.write_wheel(program, tmp_path / name, "win_amd64") for name in "ab"]
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in made}
    assert len(digests) == 1 and made[0].name == f"neap-{__version__}-py3-none-win_amd64.whl"
    with pytest.raises(SystemExit, match="--platform"):
        wheel.write_wheel(program, tmp_path, None)


def test_the_platform_is_that_of_the_program(program: str) -> None:
    head = bytearray(Path(program).read_bytes()[:4096])
    found = wheel.elf_platform(Path(program).read_bytes())
    assert found is not None and found.startswith("manylinux_2_")
    head[0] = 0
    assert wheel.elf_platform(bytes(head)) is None
