"""A chat as a graph of LangGraph. Its checkpoints are in Neap, and the model gets at most some 8000 tokens of them.

pip install "neap[langgraph]" langgraph openai; OPENAI_API_KEY=... python langgraph_agent.py [NAME OF THE CHAT]
"""

import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from openai import OpenAI

from neap import Neap
from neap.hosts.langgraph import NeapHistory, NeapSaver


def main() -> None:
    client = OpenAI()
    with Neap() as neap:
        history = NeapHistory(neap, budget=8000, author="person")

        def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            shown: Any = convert_to_openai_messages(history(dict(state), config)["llm_input_messages"])
            reply = client.chat.completions.create(model="gpt-5.5-mini", messages=shown)
            return {"messages": [AIMessage(reply.choices[0].message.content or "")]}

        builder: Any = StateGraph(MessagesState)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        graph = builder.compile(checkpointer=NeapSaver(neap))
        config = {"configurable": {"thread_id": sys.argv[1] if len(sys.argv) > 1 else "a chat"}}
        for line in sys.stdin:
            if line.strip():
                result = graph.invoke({"messages": [HumanMessage(line.strip())]}, config)
                print(result["messages"][-1].content, flush=True)


main()
