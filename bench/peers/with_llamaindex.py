"""LlamaIndex's memory block that recalls by vectors, a turn at a time."""

import asyncio
import re

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import AsyncQdrantClient

import sparse
from rules import LIMIT

# How the block writes a message down, and what joins those that it recalls.
MESSAGE = re.compile(r"<message role='\w+'>(.*)</message>", re.DOTALL)
BETWEEN = "</message>\n\n<message "


class Embedder(BaseEmbedding):
    """The shared vectors by LlamaIndex's own interface. The markup around a message is left out of its vector."""

    _vectors = PrivateAttr()

    def __init__(self, vectors):
        super().__init__(model_name="shared")
        self._vectors = vectors

    def _get_text_embedding(self, text):
        return self._vectors.embed([bare(text)])[0]

    def _get_query_embedding(self, query):
        return self._vectors.embed([query])[0]

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)


class Block:
    """The block puts what it is given at once into one node: given a turn at a time, a node is a turn."""

    NOTE = "VectorMemoryBlock over embedded Qdrant, a node a turn"
    PACKAGES = ("llama-index-core", "llama-index-vector-stores-qdrant", "qdrant-client")

    def __init__(self, folder, vectors, query=None, **hybrid):
        self.loop = asyncio.new_event_loop()
        self.client = AsyncQdrantClient(path=str(folder / "qdrant"))
        self.block = VectorMemoryBlock(
            vector_store=QdrantVectorStore(collection_name="turns", aclient=self.client, **hybrid),
            embed_model=Embedder(vectors),
            similarity_top_k=LIMIT,
            query_kwargs=query or {},
        )
        self.places, self.count = {}, 0

    def store(self, turns):
        for turn in turns:
            self.places.setdefault(turn.text, []).append(self.count)
            self.count += 1
            self.loop.run_until_complete(self.block.aput([ChatMessage(role=turn.role, content=turn.text)]))

    def settle(self):
        pass

    def search(self, question, limit):
        assert limit == LIMIT, "the block takes its limit when it is made"
        asked = [ChatMessage(role="user", content=question)]
        return self.where(self.loop.run_until_complete(self.block.aget(asked)))

    def where(self, recalled):
        """The block answers with one text; the turns in it are told apart by its markup."""
        found = []
        for part in recalled.replace(BETWEEN, f"</message>\0<message ").split("\0"):
            found += self.places.get(bare(part), [])
        return list(dict.fromkeys(found))

    def close(self):
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


class Hybrid(Block):
    """With the hybrid search of the store below it."""

    NOTE = "the same with Qdrant's hybrid search (fastembed BM25, LlamaIndex's relative score fusion)"
    PACKAGES = ("llama-index-core", "llama-index-vector-stores-qdrant", "qdrant-client", "fastembed")

    def __init__(self, folder, vectors):
        encoder = sparse.encoder(folder)

        def documents(texts):
            return halves(encoder.embed([bare(text) for text in texts]))

        def queries(texts):
            return halves(encoder.query_embed(texts))

        query = {
            "mode": VectorStoreQueryMode.HYBRID,
            "sparse_top_k": LIMIT,
            "hybrid_top_k": LIMIT,
        }
        super().__init__(
            folder, vectors, query, enable_hybrid=True, sparse_doc_fn=documents, sparse_query_fn=queries
        )


def bare(text):
    message = MESSAGE.fullmatch(text)
    return message.group(1) if message else text


def halves(encoded):
    """Places and weights apart, which is how the store wants them."""
    encoded = list(encoded)
    return [one.indices.tolist() for one in encoded], [one.values.tolist() for one in encoded]
