"""A program on a pseudo-terminal, for the scripts that type into it."""

import os, pty, select, signal, time

PROMPT = "› ".encode()
TAKEN = b"\x1b[?2004l"  # The line editor gives the terminal back: what was typed is being answered.


class Screen:
    def __init__(self, command):
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)

    def wait_for(self, words, start, seconds=30):
        """Reads until the words have come after a place, or time is up."""
        return self.wait_for_any([words], start, seconds)

    def wait_for_any(self, choices, start, seconds=30):
        end = time.monotonic() + seconds
        while not any(words in self.seen[start:] for words in choices):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                return False
            try:
                read = os.read(self.terminal, 65536)
            except OSError:
                read = b""
            if not read:
                return False
            self.seen += read
        return True

    def wait_for_prompt_after(self, words, start):
        """Waits for words after a place, then for a prompt after them."""
        return self.wait_for(words, start) and self.wait_for(PROMPT, self.seen.index(words, start))

    def type(self, words):
        """Types, and says where on the screen what follows begins."""
        start = len(self.seen)
        os.write(self.terminal, words)
        return start

    def type_line(self, words):
        """Types at the prompt, and says where on the screen the answer begins."""
        start = self.type(words)
        self.wait_for(TAKEN, start)
        return start

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def end(self):
        """Types Ctrl-D, and gives the exit code and all that was seen."""
        self.type(b"\x04")
        self.wait_for(b"never printed", 0)
        _, status = os.waitpid(self.pid, 0)
        return {"exit": os.waitstatus_to_exitcode(status), "seen": self.seen.decode("utf-8", "replace")}
