"""LangGraph: checkpoints, a store, and a history that stays within a budget."""

from neap.hosts.langgraph_checkpoints import NeapSaver
from neap.hosts.langgraph_history import NeapHistory
from neap.hosts.langgraph_store import NeapStore

__all__ = ["NeapHistory", "NeapSaver", "NeapStore"]
