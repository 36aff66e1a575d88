"""OpenAI Agents SDK: the real runner against a scripted model, and the contract of a session."""

import asyncio
import json
from typing import Any

from hosts import FACT, FACT_TURN, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

library("agents")

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from neap.hosts.openai_agents import NeapSession
from neap.hosts.sizes import tokens_of

set_tracing_disabled(True)
BUDGET = 3000
ITEMS: list[Any] = [
    {"role": "user", "content": "hi"},
    {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1.0}', "id": "fc_1", "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "password: hunter2-hunter2 \ud83d\x00"},
    {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "é"}], "status": "completed"},
]


class Scripted(Model):
    """Says `answer`; for the last question it searches first, and then repeats what it was given."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.requests.append(input)
        last = input[-1]
        if last.get("type") == "function_call_output":
            output: list[Any] = [said(str(last["output"]))]
        elif last.get("content") == QUESTION:
            arguments = json.dumps({"query": "port of the staging gateway, certificate"})
            output = [ResponseFunctionToolCall(type="function_call", call_id="call_1", name="recall", arguments=arguments)]
        else:
            output = [said(answer(len(self.requests)))]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])


def test_a_hundred_turns_are_bounded_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    async def talk() -> None:
        model = Scripted()
        session = NeapSession("a customer", neap, budget=BUDGET)
        final = ""
        for turn in range(1, TURNS + 1):
            agent = Agent("assistant", model=model, tools=[session.recall_tool()])
            result = await Runner.run(agent, question(turn), session=session)
            final = str(result.final_output)
            if turn == TURNS // 2:
                kill(neap)
                # As a process that starts anew.
                session = NeapSession("a customer", neap, budget=BUDGET)
        assert "8443" in final and "heron-17" in final
        sizes = [tokens_of(request) for request in model.requests]
        assert max(sizes) <= BUDGET + tokens_of([{"role": "user", "content": question(1)}]) + 1000
        every = await session.get_all_items()
        assert tokens_of(every) > 4 * BUDGET
        asked = [item["content"] for item in every if item.get("role") == "user"]  # type: ignore[union-attr]
        assert asked == [question(turn) for turn in range(1, TURNS + 1)]
        # The last request does not have the fact before it is searched for.
        assert FACT not in json.dumps(model.requests[-2])
        # Between two cuts a request begins as the one before.
        grown = sum(1 for one, other in zip(model.requests, model.requests[1:]) if other[: len(one)] == one)
        assert grown > TURNS * 0.6
        recorded = [row["message"] for row in neap.each(neap.list_turns, session.session, limit=200)]
        assert len(recorded) == TURNS and f"Please note: {FACT}" in recorded

    asyncio.run(talk())
    assert FACT_TURN < TURNS


def test_items_come_back_as_they_were(neap: Neap) -> None:
    async def use() -> None:
        session = NeapSession("one", neap)
        assert isinstance(session, Session)
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        other = NeapSession("one", neap)
        for one in (session, other):
            items = await one.get_items()
            assert items == ITEMS and [list(item) for item in items] == [list(item) for item in ITEMS]
        items[0]["content"] = "changed"  # type: ignore[typeddict-unknown-key]
        assert (await session.get_items())[0] == ITEMS[0]
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=0) == [] and await session.get_items(limit=99) == ITEMS
        limited = NeapSession("one", neap, session_settings=SessionSettings(limit=1))
        assert await limited.get_items() == ITEMS[-1:]
        assert await other.pop_item() == ITEMS[-1] and await session.pop_item() == ITEMS[-2]
        assert await session.get_items() == ITEMS[:-2]
        await other.clear_session()
        assert await session.get_items() == []
        await session.add_items(ITEMS[:1])
        assert await other.get_items() == ITEMS[:1]
        assert await NeapSession("two", neap).get_items() == []

    asyncio.run(use())


def test_items_of_writers_at_once_are_all_there_and_each_is_popped_once(neap: Neap) -> None:
    async def use() -> None:
        with Neap() as second:
            sessions = [NeapSession("busy", neap), NeapSession("busy", second)]
            items: list[Any] = [{"role": "user", "content": str(number)} for number in range(40)]
            await asyncio.gather(*(sessions[at % 2].add_items([one]) for at, one in enumerate(items)))
            stored = await sessions[0].get_items()
            assert stored == await sessions[1].get_items()
            assert sorted(map(str, stored)) == sorted(map(str, items))
            popped = await asyncio.gather(*(sessions[at % 2].pop_item() for at in range(40)))
            assert sorted(map(str, popped)) == sorted(map(str, items))

    asyncio.run(use())


def test_compaction_keeps_whole_exchanges_and_is_the_same_for_all(neap: Neap) -> None:
    async def use() -> None:
        session = NeapSession("long", neap, budget=BUDGET)
        for turn in range(1, 30):
            call: Any = {"type": "function_call", "call_id": f"c{turn}", "name": "f", "arguments": "{}"}
            output: Any = {"type": "function_call_output", "call_id": f"c{turn}", "output": "done " * 20}
            await session.add_items([{"role": "user", "content": question(turn)}, call, output])
            await session.add_items([{"role": "assistant", "content": answer(turn)}])
        await session.run_compaction({"force": True})
        items = await session.get_items()
        assert tokens_of(items) <= BUDGET and items == await NeapSession("long", neap, budget=BUDGET).get_items()
        calls: set[Any] = {item["call_id"] for item in items if item.get("type") == "function_call"}  # type: ignore[typeddict-item]
        outputs: set[Any] = {item["call_id"] for item in items if item.get("type") == "function_call_output"}  # type: ignore[typeddict-item]
        assert calls == outputs and len(calls) > 3
        assert len(await NeapSession("long", neap).get_items()) == len(items)
        assert len(await session.get_all_items()) == 29 * 4
        unbounded = NeapSession("short", neap)
        await unbounded.add_items([{"role": "user", "content": "x"}])
        await unbounded.run_compaction()
        assert await unbounded.get_items() == [{"role": "user", "content": "x"}]

    asyncio.run(use())
