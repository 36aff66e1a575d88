"""What a model gets that searches the past."""

from neap.client import Neap
from neap.errors import NotFound

HITS_MAX = 6
HIT_CHARS_MAX = 600


def recall_text(neap: Neap, session: str | None, query: str) -> str:
    """The words that bear on a query, each with where it was said; of one session or of all."""
    if not query.strip():
        return "Say what to look for."
    try:
        hits = neap.search(query, session=session, max=HITS_MAX)["items"]
    except NotFound:
        hits = []
    if not hits:
        return "Nothing that was said bears on this."
    lines = [f"[turn {hit.get('turn', '-')}, {hit['kind']}] {hit['text'][:HIT_CHARS_MAX]}" for hit in hits]
    return "Said earlier, word for word:\n" + "\n".join(lines)
