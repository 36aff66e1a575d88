"""LangGraph: its conformance suite, the real graph against a scripted model, and what a process finds after another."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from hosts import FACT, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

library("langgraph.checkpoint.conformance")
library("langgraph.prebuilt")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from neap.hosts.langgraph import NeapHistory, NeapSaver
from neap.hosts.langgraph_history import size

BUDGET = 3000


def test_the_conformance_suite_passes(neap: Neap) -> None:
    @checkpointer_test(name="NeapSaver")
    async def saver() -> AsyncGenerator[NeapSaver, None]:
        yield NeapSaver(neap)

    report = asyncio.run(validate(saver))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert all(result.detected and result.passed for result in report.results.values())
    passed = sum(result.tests_passed for result in report.results.values())
    assert passed >= 70, f"{passed} tests of the suite ran"


class Scripted(BaseChatModel):
    """Says `answer`; for the last question it searches first, and then repeats what it was given."""

    requests: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.requests.append(messages)
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(str(last.content))
        elif last.content == QUESTION:
            call = {"name": "recall", "args": {"query": "port of the staging gateway, certificate"}, "id": "call_1"}
            reply = AIMessage("", tool_calls=[call])
        else:
            reply = AIMessage(answer(len(self.requests)))
        return ChatResult(generations=[ChatGeneration(message=reply)])


def test_a_hundred_turns_are_bounded_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    model = Scripted(requests=[])
    config: Any = {"configurable": {"thread_id": "a customer"}}

    def graph() -> Any:
        history = NeapHistory(neap, budget=BUDGET)
        tools = [history.recall_tool()]

        def agent(state: Any, config: RunnableConfig) -> Any:
            return {"messages": model.bind_tools(tools).invoke(history(state, config)["llm_input_messages"])}

        builder: Any = StateGraph(MessagesState)
        builder.add_node("agent", agent)
        builder.add_node("tools", ToolNode(tools))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", tools_condition)
        builder.add_edge("tools", "agent")
        return builder.compile(checkpointer=NeapSaver(neap))

    agent = graph()
    result: Any = None
    for turn in range(1, TURNS + 1):
        if turn == TURNS // 2:
            kill(neap)
            # As a process that starts anew.
            agent = graph()
        result = agent.invoke({"messages": [HumanMessage(question(turn))]}, config)
    said = result["messages"][-1].content
    assert "8443" in said and "heron-17" in said
    assert max(size(request) for request in model.requests) <= BUDGET + 1000
    assert FACT not in str(model.requests[-2])
    asked = [message.content for message in result["messages"] if isinstance(message, HumanMessage)]
    assert asked == [question(turn) for turn in range(1, TURNS + 1)]
    assert size(result["messages"]) > 4 * BUDGET
    contents = [[message.content for message in request] for request in model.requests]
    grown = sum(1 for one, other in zip(contents, contents[1:]) if other[: len(one)] == one)
    assert grown > TURNS * 0.6


def test_what_one_process_wrote_another_reads_and_a_killed_server_loses_nothing(neap: Neap) -> None:
    with Neap() as second:
        saver, other = NeapSaver(neap), NeapSaver(second)
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        big = "x" * 1_500_000
        for number in range(3):
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = {"big": big, "odd": {"b": b"\x00\xff", "s": {1, 2}, "n": number}}
            checkpoint["channel_versions"] = {"big": "1", "odd": str(number)}
            versions: Any = {"odd": str(number)} if number else {"big": "1", "odd": "0"}
            config = saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, versions)
            saver.put_writes(config, [("odd", {"n": number})], "task")
            kill(neap)
        found = other.get_tuple({"configurable": {"thread_id": "t"}})
        assert found is not None and found.pending_writes == [("task", "odd", {"n": 2})]
        assert found.checkpoint["channel_values"] == {"big": big, "odd": {"b": b"\x00\xff", "s": {1, 2}, "n": 2}}
        assert [one.metadata.get("step") for one in other.list(config=None)] == [2, 1, 0]
        other.delete_thread("t")
        assert saver.get_tuple(config) is None and list(saver.list(None)) == []
