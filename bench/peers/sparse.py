"""The keyword encoder of fastembed, which mem0 and LlamaIndex use for hybrid search, without the hub.

Its only file is a list of stop words that it would download. The same list (NLTK's English one) lies in llama-index-core.
"""

from importlib.util import find_spec
from pathlib import Path


def encoder(folder):
    """The encoder that `SparseTextEmbedding("Qdrant/bm25")` makes, its stop words handed in."""
    # Only here: rows that do without it shall not pay for it.
    from fastembed import SparseTextEmbedding

    core = Path(find_spec("llama_index.core").origin).parent
    words = core / "_static/nltk_cache/corpora/stopwords/english"
    return SparseTextEmbedding(
        "Qdrant/bm25", specific_model_path=str(folder), stopwords=set(words.read_text().split())
    )
