"""Vectors for texts, each computed once: what embedding costs is measured apart and is in no peer's figures."""

import hashlib
import sqlite3
import threading
import time

import numpy as np

# Of a vector of the model in minilm.py, which is imported only when needed.
DIMENSIONS = 384
CHUNK = 256


class Vectors:
    """A file of vectors; what is not in it yet is embedded and put there."""

    def __init__(self, path):
        self.file = sqlite3.connect(path, check_same_thread=False)
        self.file.execute("create table if not exists vector (text blob primary key, vector blob) without rowid")
        # Some peers embed on threads of their own.
        self.lock = threading.Lock()
        self.model = None
        # Seconds spent here, for the callers' clocks to leave out.
        self.spent = 0.0

    def embed(self, texts):
        """A vector for each text, as lists of numbers, which is what the peers expect."""
        with self.lock:
            return self.embed_alone(texts)

    def embed_alone(self, texts):
        began = time.perf_counter()
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        found = [self.stored(key) for key in keys]
        missing = [at for at, vector in enumerate(found) if vector is None]
        for first in range(0, len(missing), CHUNK):
            some = missing[first : first + CHUNK]
            for at, vector in zip(some, self.compute([texts[at] for at in some])):
                found[at] = vector
                self.file.execute("insert or ignore into vector values (?, ?)", (keys[at], vector.tobytes()))
            self.file.commit()
        vectors = [vector.tolist() for vector in found]
        self.spent += time.perf_counter() - began
        return vectors

    def stored(self, key):
        row = self.file.execute("select vector from vector where text = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def compute(self, texts):
        if self.model is None:
            # Loaded only if needed: it shall not count into a peer's memory.
            from minilm import MiniLM

            self.model = MiniLM()
        return self.model.embed(texts)
