"""mem0 with `infer=False`: each turn is kept as it was said, no model is asked."""

import os

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

import sparse
from vectors import DIMENSIONS

USER = "someone"


class Embedder(EmbeddingBase):
    """The shared vectors by mem0's own interface."""

    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors

    def embed(self, text, memory_action=None):
        return self.vectors.embed([text])[0]

    def embed_batch(self, texts, memory_action="add"):
        return self.vectors.embed(texts)


class Mem0:
    """As it is installed: vectors only, in its default store."""

    NOTE = "`infer=False`, embedded Qdrant; vectors only, as installed by `pip install mem0ai`"
    PACKAGES = ("mem0ai", "qdrant-client")

    def __init__(self, folder, vectors):
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
        # It insists on a key for a model that is never asked.
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
            "llm": unused,
            "embedder": unused,
        }
        self.memory = Memory.from_config(config)
        self.memory.embedding_model = Embedder(vectors)
        self.memory.vector_store._bm25_encoder = self.keywords(folder)
        self.places = {}

    def keywords(self, _folder):
        """What it sets itself where fastembed is not installed."""
        return False

    def store(self, turns):
        said = [{"role": turn.role, "content": turn.text} for turn in turns]
        for memory in self.memory.add(said, user_id=USER, infer=False)["results"]:
            self.places[memory["id"]] = len(self.places)

    def settle(self):
        pass

    def search(self, question, limit):
        # The default threshold of 0.1 would leave out turns for which there is room; 0 is the least that it takes.
        found = self.memory.search(question, filters={"user_id": USER}, top_k=limit, threshold=0.0)
        return [self.places[memory["id"]] for memory in found["results"]]

    def close(self):
        self.memory.vector_store.client.close()
        self.memory.close()


class Hybrid(Mem0):
    """With its keyword search, for which it wants fastembed."""

    NOTE = "the same with its keyword search (fastembed BM25)"
    PACKAGES = ("mem0ai", "qdrant-client", "fastembed")

    def keywords(self, folder):
        """By itself it would ask the hub for a list of stop words."""
        return sparse.encoder(folder)
