"""What is the same for everybody."""

# Tokens that recalled text may cost.
BUDGETS = (500, 1000, 2000)
# Results that a peer is asked for: enough to fill the largest budget.
LIMIT = 100
# A row's name, its module and its class. They are imported only where they are measured, since their memory is.
PEERS = {
    "BM25": ("with_bm25", "Bm25"),
    "mem0": ("with_mem0", "Mem0"),
    "mem0, hybrid": ("with_mem0", "Hybrid"),
    "LangGraph, memory": ("with_langgraph", "InMemory"),
    "LangGraph, SQLite": ("with_langgraph", "Sqlite"),
    "LlamaIndex": ("with_llamaindex", "Block"),
    "LlamaIndex, hybrid": ("with_llamaindex", "Hybrid"),
}
