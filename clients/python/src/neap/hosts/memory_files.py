"""The files of Anthropic's memory tool, and its commands with the answers of the SDK's own tool for a file system."""

import posixpath
from typing import Any

ROOT = "/memories"
LINES_MAX = 999_999
NUMBER_WIDTH = 6
CONTEXT_LINES = 2
"""Shown before and after an edited line."""
DEPTH_MAX = 2


class CommandError(Exception):
    """What the model is told."""


class MemoryFiles:
    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders: set[str] = {ROOT}

    def run(self, command: dict[str, Any]) -> str:
        match command["command"]:
            case "view":
                return self._view(command["path"], command.get("view_range"))
            case "create":
                return self._create(command["path"], command["file_text"])
            case "str_replace":
                return self._replace(command["path"], command["old_str"], command["new_str"])
            case "insert":
                return self._insert(command["path"], command["insert_line"], command["insert_text"])
            case "delete":
                return self._delete(command["path"])
            case "rename":
                return self._rename(command["old_path"], command["new_path"])
            case unknown:
                raise CommandError(f"Unknown command: {unknown}")

    def copy(self) -> "MemoryFiles":
        copied = MemoryFiles()
        copied._files, copied._folders = dict(self._files), set(self._folders)
        return copied

    def _view(self, given: str, lines_range: list[int] | None) -> str:
        path = normal(given)
        if path in self._folders:
            rows = [f"{size_text(self._size(path))}\t{given}", *self._listing(path, given, 1)]
            head = f"Here're the files and directories up to {DEPTH_MAX} levels deep in {given}, excluding hidden items:"
            return "\n".join([head, *rows])
        if path not in self._files:
            raise CommandError(f"The path {given} does not exist. Please provide a valid path.")
        lines = self._files[path].split("\n")
        if len(lines) > LINES_MAX:
            raise CommandError(f"File {given} exceeds maximum line limit of 999,999 lines.")
        first, last = 0, len(lines)
        if lines_range and len(lines_range) == 2:
            first = max(1, lines_range[0]) - 1
            last = len(lines) if lines_range[1] == -1 else lines_range[1]
        numbered = numbered_lines(lines[first:last], first + 1)
        return f"Here's the content of {given} with line numbers:\n" + numbered

    def _create(self, given: str, text: str) -> str:
        path = normal(given)
        if path in self._files or path in self._folders:
            raise CommandError(f"File {given} already exists")
        self._make_folders(path, given)
        self._files[path] = text
        return f"File created successfully at: {given}"

    def _replace(self, given: str, old: str, new: str) -> str:
        path = self._file(given)
        text = self._files[path]
        count = text.count(old)
        if count == 0:
            raise CommandError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {given}."
            )
        if count > 1:
            numbers = ", ".join(str(text.count("\n", 0, place) + 1) for place in places_of(text, old))
            raise CommandError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
                "Please ensure it is unique"
            )
        changed = text.count("\n", 0, text.find(old))
        self._files[path] = text.replace(old, new)
        lines = self._files[path].split("\n")
        first = max(0, changed - CONTEXT_LINES)
        snippet = numbered_lines(lines[first : changed + CONTEXT_LINES + 1], first + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"

    def _insert(self, given: str, line: int, text: str) -> str:
        path = self._file(given)
        lines = self._files[path].split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= line <= len(lines):
            raise CommandError(
                f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        joined = "\n".join(lines)
        self._files[path] = joined if joined.endswith("\n") else joined + "\n"
        return f"The file {given} has been edited."

    def _delete(self, given: str) -> str:
        path = normal(given)
        if path == ROOT:
            raise CommandError("Cannot delete the /memories directory itself")
        if path not in self._files and path not in self._folders:
            raise CommandError(f"The path {given} does not exist")
        self._files = {one: text for one, text in self._files.items() if not is_in(one, path)}
        self._folders = {one for one in self._folders if not is_in(one, path)}
        return f"Successfully deleted {given}"

    def _rename(self, old_given: str, new_given: str) -> str:
        old, new = normal(old_given), normal(new_given)
        if old == ROOT:
            raise CommandError("Cannot rename the /memories directory itself")
        if new in self._files or new in self._folders:
            raise CommandError(f"The destination {new_given} already exists")
        if old not in self._files and old not in self._folders:
            raise CommandError(f"The path {old_given} does not exist")
        if is_in(new, old):
            raise CommandError(f"The destination {new_given} is inside {old_given}")
        self._make_folders(new, new_given)
        moved = {one: new + one[len(old) :] for one in {*self._files, *self._folders} if is_in(one, old)}
        self._files = {moved.get(one, one): text for one, text in self._files.items()}
        self._folders = {moved.get(one, one) for one in self._folders}
        return f"Successfully renamed {old_given} to {new_given}"

    def _file(self, given: str) -> str:
        path = normal(given)
        if path in self._folders:
            raise CommandError(f"The path {given} is not a file.")
        if path not in self._files:
            raise CommandError(f"The path {given} does not exist. Please provide a valid path.")
        return path

    def _make_folders(self, path: str, given: str) -> None:
        folder = posixpath.dirname(path)
        missing: list[str] = []
        while folder not in self._folders:
            if folder in self._files:
                raise CommandError(f"The path {given} is below a file")
            missing.append(folder)
            folder = posixpath.dirname(folder)
        self._folders.update(missing)

    def _listing(self, folder: str, shown: str, depth: int) -> list[str]:
        rows: list[str] = []
        within = [one for one in {*self._files, *self._folders} if posixpath.dirname(one) == folder and one != ROOT]
        for one in sorted(within):
            name = posixpath.basename(one)
            if name.startswith("."):
                continue
            is_folder = one in self._folders
            rows.append(f"{size_text(self._size(one))}\t{shown}/{name}{'/' if is_folder else ''}")
            if is_folder and depth < DEPTH_MAX:
                rows += self._listing(one, f"{shown}/{name}", depth + 1)
        return rows

    def _size(self, path: str) -> int:
        """In bytes; a folder's is that of its files."""
        return sum(len(text.encode("utf-8", "replace")) for one, text in self._files.items() if is_in(one, path))


def normal(given: str) -> str:
    """The path without dots and doubled slashes; it must stay below the root."""
    if not given.startswith(ROOT):
        raise CommandError(f"Path must start with /memories, got: {given}")
    path = posixpath.normpath(posixpath.join(ROOT, given[len(ROOT) :].lstrip("/")))
    if not is_in(path, ROOT) or "\0" in path:
        raise CommandError(f"Path {given} would escape /memories directory")
    return path


def is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def places_of(text: str, part: str) -> list[int]:
    places: list[int] = []
    place = text.find(part)
    while place != -1:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def numbered_lines(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def size_text(size: int) -> str:
    unit = 0
    scaled = float(size)
    while scaled >= 1024 and unit < 3:
        scaled /= 1024
        unit += 1
    return f"{scaled:.0f}{'BKMG'[unit]}" if scaled == int(scaled) else f"{scaled:.1f}{'BKMG'[unit]}"
