"""Bad input: each is an exception of its own, with a hint."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import venv
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_process import SOURCES, process_of

from neap import (
    ApiError,
    AsyncNeap,
    Conflict,
    Malformed,
    Neap,
    NeapError,
    NotAllowed,
    NotFound,
    ProgramMissing,
    Refused,
    ServerUnavailable,
    VersionMismatch,
    __version__,
    version,
)


def key_of(data_dir: Path, name: str = "api.token") -> str:
    return (data_dir / "keys" / name).read_text().strip()


def base_url_of(neap: Neap) -> str:
    address = neap._server.address()  # pyright: ignore[reportPrivateUsage]
    return address.api.removesuffix("/api/v1")


def test_errors_of_the_api_have_classes(neap: Neap) -> None:
    with pytest.raises(NotFound) as missing:
        neap.show_session("nowhere")
    assert (missing.value.status, missing.value.code) == (404, "no_session")
    assert "nowhere" in missing.value.detail and missing.value.hint
    assert str(missing.value) == f"{missing.value.detail}\nhint: {missing.value.hint}"
    neap.record_turn("auth", "one", "reply", turn="a")
    with pytest.raises(Conflict):
        neap.record_turn("auth", "two", "reply", turn="a")
    with pytest.raises(Refused):
        neap.erase_session("auth", confirm="another")
    with pytest.raises(Malformed):
        neap.list_turns("auth", limit=0)
    with pytest.raises(Conflict):
        neap.remember("one", key="k")
        neap.remember("two", key="k")
    assert neap.show_session("auth")["turns"] == 1


def test_a_wrong_key_is_not_allowed(neap: Neap, data_dir: Path) -> None:
    with Neap(base_url=base_url_of(neap), key=key_of(data_dir)) as other:
        other.record_turn("auth", "one", "reply")
    # Health is open to all, so that this client begins.
    with Neap(base_url=base_url_of(neap), key="wrong") as other, pytest.raises(NotAllowed) as refused:
        other.show_session("auth")
    assert refused.value.status == 401 and "token" in refused.value.hint


def test_a_key_that_may_only_read_cannot_change(neap: Neap, data_dir: Path) -> None:
    neap.record_turn("auth", "one", "reply")
    with Neap(base_url=base_url_of(neap) + "/api/v1/", key=key_of(data_dir, "api-read.token")) as reader:
        assert reader.show_session("auth")["turns"] == 1
        with pytest.raises(NotAllowed) as refused:
            reader.record_turn("auth", "two", "reply")
    assert refused.value.code == "read_only" and neap.show_session("auth")["turns"] == 1


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="no program at /nowhere/neap"):
        Neap(program="/nowhere/neap").health()
    monkeypatch.setenv("NEAP_BIN", "/nowhere/either")
    with pytest.raises(ProgramMissing, match="NEAP_BIN"):
        Neap().health()
    monkeypatch.delenv("NEAP_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing, match="hint: install a wheel"):
        Neap().health()


def test_the_path_is_the_last_place_to_look(monkeypatch: pytest.MonkeyPatch, program: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "neap").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("NEAP_BIN", "/nowhere")
    with Neap(program=program) as client:
        assert client.health()["status"] == "ok"
    monkeypatch.delenv("NEAP_BIN")
    with Neap() as client:
        assert client.health()["status"] == "ok"


def test_the_program_of_the_wheel_is_found(tmp_path: Path, program: str) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    (tmp_path / "venv" / "bin" / "neap").symlink_to(program)
    code = "from neap.program import find_program; print(find_program())"
    environment = {"PYTHONPATH": os.pathsep.join([SOURCES, *sys.path]), "PATH": ""}
    said = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == f"{tmp_path}/venv/bin/neap\n"


@pytest.mark.parametrize("name", ["true", "echo", "yes"])
def test_another_program_is_not_taken_for_the_server(name: str) -> None:
    with pytest.raises(ServerUnavailable, match="ended before it was ready") as error:
        Neap(program=shutil.which(name)).health()
    assert error.value.hint


def test_a_program_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "neap"
    broken.write_bytes(b"\0not a program")
    broken.chmod(0o755)
    with pytest.raises(ServerUnavailable, match="cannot start"):
        Neap(program=broken).health()


def test_a_data_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ServerUnavailable) as error:
        Neap(data_dir=tmp_path / "file").health()
    assert "file" in str(error.value)


def test_a_server_of_another_version_is_refused(neap: Neap, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, key = base_url_of(neap), key_of(data_dir)
    monkeypatch.setattr(version, "VERSION", "0.2.0")
    with pytest.raises(VersionMismatch, match=r"is Neap 0\.1\.\d+, this package is made for 0\.2\.0") as error:
        with Neap(base_url=address, key=key):
            pass
    assert "pip install neap==0.1." in error.value.hint
    with pytest.raises(VersionMismatch):
        with Neap():
            pass
    monkeypatch.setattr(version, "VERSION", "0.1.99")
    with Neap(base_url=address, key=key) as other:
        assert other.health()["status"] == "ok"


def test_what_is_no_neap_server_is_refused(neap: Neap, data_dir: Path) -> None:
    # Below the page there is an answer, but no API.
    with closing(Neap(base_url=base_url_of(neap) + "/ui", key=key_of(data_dir))) as other:
        with pytest.raises(VersionMismatch, match="no Neap server"):
            other.health()


def test_a_server_that_is_not_there_is_unavailable() -> None:
    # Port 1 of this machine is closed.
    with pytest.raises(ServerUnavailable, match="cannot reach") as error:
        Neap(base_url="http://127.0.0.1:1", key="x").show_session("auth")
    assert "base_url" in error.value.hint


def test_arguments_that_do_not_fit_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"base_url": "http://127.0.0.1:6327"},
        {"key": "x"},
        {"base_url": "127.0.0.1:6327", "key": "x"},
        {"base_url": "http://127.0.0.1:6327", "key": "x", "data_dir": "/tmp"},
    ]
    for arguments in wrong:
        for client in (Neap, AsyncNeap):
            with pytest.raises(NeapError) as error:
                client(**arguments)
            assert error.value.hint


def test_names_and_texts_that_cannot_be_sent_are_refused(neap: Neap) -> None:
    with pytest.raises(NeapError, match="empty"):
        neap.show_session("")
    with pytest.raises(NeapError, match="half of a character"):
        neap.record_turn("auth", "\ud83d", "reply")
    with pytest.raises(NotFound):
        neap.show_session("..")


def test_a_closed_client_says_so(neap: Neap, data_dir: Path) -> None:
    other = Neap(base_url=base_url_of(neap), key=key_of(data_dir))
    other.health()
    for client in (other, neap):
        client.close()
        client.close()
        with pytest.raises(NeapError, match="closed"):
            client.health()


def test_errors_can_be_copied_between_processes() -> None:
    for error in (NotFound(404, "no_session", "there is none", "look"), NeapError("what", "do")):
        copied = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error) and vars(copied) == vars(error)
    assert issubclass(NotFound, ApiError) and issubclass(ApiError, NeapError)
    assert version.VERSION == __version__


def test_a_key_is_not_shown(neap: Neap, data_dir: Path) -> None:
    address = neap._server.address()  # pyright: ignore[reportPrivateUsage]
    assert key_of(data_dir) not in repr(address)


def test_a_server_that_does_not_answer_in_time_is_unavailable(neap: Neap, data_dir: Path) -> None:
    with closing(Neap(base_url=base_url_of(neap), key=key_of(data_dir), timeout=0.3)) as hasty:
        hasty.health()
        process = process_of(neap)
        process.send_signal(signal.SIGSTOP)
        # Until it stands still, it answers.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            with pytest.raises(ServerUnavailable, match="did not answer in time") as error:
                hasty.show_session("auth")
        finally:
            process.send_signal(signal.SIGCONT)
    assert "timeout" in error.value.hint
