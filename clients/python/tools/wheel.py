"""Writes the wheel for a program that is built: `python tools/wheel.py --binary PATH --out FOLDER`.

The same inputs give the same bytes; files have the time of SOURCE_DATE_EPOCH, or 1980. A program that is linked statically
runs on every Linux of its processor; another needs the glibc whose symbols it names. For other systems, give --platform.
"""

import argparse
import base64
import hashlib
import os
import re
import struct
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).resolve().parents[1]
ROOT = CLIENT.parents[1]
EARLIEST = 315_532_800
"""1980, the first time that a zip file can name."""
MACHINES = {62: "x86_64", 183: "aarch64"}
PT_INTERP = 3
STATIC = ("manylinux_2_17_{0}", "manylinux2014_{0}", "musllinux_1_1_{0}")
File = tuple[str, bytes, int]
"""Its name in the wheel, its content, its mode."""


def elf_platform(program: bytes) -> str | None:
    """The platform tags of a 64-bit ELF program; None for other files."""
    if program[:6] != b"\x7fELF\x02\x01":
        return None
    (machine,) = struct.unpack_from("<H", program, 18)
    (headers,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    name = MACHINES.get(machine)
    if name is None:
        return None
    kinds = [struct.unpack_from("<I", program, headers + number * size)[0] for number in range(count)]
    if PT_INTERP not in kinds:
        return ".".join(tag.format(name) for tag in STATIC)
    versions = {(int(major), int(minor)) for major, minor in re.findall(rb"\bGLIBC_(\d+)\.(\d+)", program)}
    major, minor = max(versions, default=(2, 17))
    return f"manylinux_{major}_{minor}_{name}"


def metadata(project: dict[str, Any], version: str) -> str:
    """The package's core metadata."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in licenses()),
        *(f"Classifier: {one}" for one in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {one}" for one in project["dependencies"]),
    ]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {with_extra(need, extra)}" for need in needs]
    readme = (CLIENT / project["readme"]).read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def with_extra(need: str, extra: str) -> str:
    package, marker, condition = need.partition(";")
    return f"{package.strip()}; ({condition.strip()}) and extra == '{extra}'" if marker else f"{need}; extra == '{extra}'"


def licenses() -> list[str]:
    return sorted(one.name for one in ROOT.glob("LICENSE-*"))


def files(program: bytes, tags: list[str]) -> Iterator[File]:
    project = read_project()
    version = package_version()
    info = f"neap-{version}.dist-info"
    for path in sorted((CLIENT / "src").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(CLIENT / "src").as_posix(), path.read_bytes(), 0o644
    yield f"neap-{version}.data/scripts/neap", program, 0o755
    yield f"{info}/METADATA", metadata(project, version).encode(), 0o644
    wheel = ["Wheel-Version: 1.0", "Generator: tools/wheel.py", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    yield f"{info}/WHEEL", ("\n".join(wheel) + "\n").encode(), 0o644
    for name in licenses():
        yield f"{info}/licenses/{name}", (ROOT / name).read_bytes(), 0o644


def read_project() -> dict[str, Any]:
    """What pyproject.toml says of the package."""
    if sys.version_info < (3, 11):
        raise SystemExit("to write a wheel needs Python 3.11, which reads TOML")
    import tomllib

    return tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def package_version() -> str:
    text = (CLIENT / "src/neap/version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise SystemExit("src/neap/version.py has no VERSION")
    return found[1]


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
    return f"{name},sha256={digest},{len(content)}\n"


def write_wheel(binary: Path, out: Path, platform: str | None) -> Path:
    program = binary.read_bytes()
    platform = platform or elf_platform(program)
    if platform is None:
        raise SystemExit(f"{binary} is no program for Linux that this tool knows; name its platform with --platform")
    tags = [f"py3-none-{one}" for one in platform.split(".")]
    version = package_version()
    content = list(files(program, tags))
    record = f"neap-{version}.dist-info/RECORD"
    lines = "".join(record_line(name, data) for name, data, _ in content)
    content.append((record, f"{lines}{record},,\n".encode(), 0o644))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"neap-{version}-py3-none-{platform}.whl"
    moment = time.gmtime(max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST))))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data, mode in content:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return path


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Writes the wheel for a program that is built.")
    parser.add_argument("--binary", type=Path, required=True, help="the program")
    parser.add_argument("--out", type=Path, required=True, help="the folder that gets the wheel")
    parser.add_argument("--platform", help="the platform tag, if it is not that of the program's ELF headers")
    given = parser.parse_args(arguments)
    print(write_wheel(given.binary, given.out, given.platform))


if __name__ == "__main__":
    main(sys.argv[1:])
