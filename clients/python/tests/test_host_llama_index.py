"""LlamaIndex: its real agent against a model of its own for tests, and its own memories beside this one."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hosts import FACT, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

library("llama_index.core.memory")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from llama_index.core.tools import FunctionTool
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from neap.hosts.llama_index import NeapMemory, NeapMemoryBlock, dumped
from neap.hosts.sizes import tokens_of

# Its workflows read fields that pydantic has renamed.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")
BUDGET = 3000
MESSAGES = [
    ChatMessage("password: hunter2-hunter2 \ud83d\x00", additional_kwargs={"a": [1.5, {"b": None}]}),
    ChatMessage(blocks=[TextBlock(text="look at this heron"), ImageBlock(image=b"\x89PNG", image_mimetype="image/png")]),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[ThinkingBlock(content="hm"), ToolCallBlock(tool_call_id="c1", tool_name="f", tool_kwargs={"é": 1})],
    ),
    ChatMessage("done", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage("§[é", role=MessageRole.ASSISTANT),
]


class Scripted:
    """Says `answer`; for the last question it searches first, and then repeats what it was given."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.requests.append(dumped(messages))
        last = messages[-1]
        if last.role is MessageRole.TOOL:
            return ChatMessage(last.content, role=MessageRole.ASSISTANT)
        if last.content == QUESTION:
            arguments = {"query": "port of the staging gateway, certificate"}
            call = ToolCallBlock(tool_call_id="call_1", tool_name="recall", tool_kwargs=arguments)
            return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])
        return ChatMessage(answer(len(self.requests)), role=MessageRole.ASSISTANT)


async def ask(script: Scripted, tool: FunctionTool, turn: int, memory: BaseMemory) -> str:
    llm = MockFunctionCallingLLM(response_generator=script)
    agent: Any = FunctionAgent(tools=[tool], llm=llm, streaming=False)
    return str(await agent.run(user_msg=question(turn), memory=memory))


def test_a_hundred_turns_are_bounded_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    async def talk() -> None:
        script = Scripted()
        memory = NeapMemory(neap, "a customer", budget=BUDGET)
        said = ""
        for turn in range(1, TURNS + 1):
            said = await ask(script, memory.recall_tool(), turn, memory)
            if turn == TURNS // 2:
                kill(neap)
                # As a process that starts anew.
                memory = NeapMemory(neap, "a customer", budget=BUDGET)
        assert "8443" in said and "heron-17" in said
        # Before the question nothing asks for the fact.
        assert FACT not in str(script.requests[-3])
        # What a turn's own tools say comes on top.
        assert max(map(tokens_of, script.requests[:-1])) <= BUDGET
        grown = sum(1 for one, other in zip(script.requests, script.requests[1:]) if other[: len(one)] == one)
        assert grown > TURNS * 0.6
        every = await memory.aget_all()
        assert tokens_of(dumped(every)) > 4 * BUDGET
        assert NeapMemory(neap, "a customer", budget=BUDGET).get_all() == every
        asked = [message.content for message in every if message.role is MessageRole.USER]
        assert asked == [question(turn) for turn in range(1, TURNS + 1)]

    asyncio.run(talk())


def test_its_own_memory_with_this_block_knows_what_left_it(neap: Neap) -> None:
    async def talk() -> None:
        script = Scripted()
        block = NeapMemoryBlock(neap, "a customer", budget=600)
        engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
        memory: Memory = Memory.from_defaults(  # pyright: ignore[reportUnknownMemberType]
            token_limit=2000, memory_blocks=[block], async_engine=engine
        )
        last, said = 30, ""
        for turn in (*range(1, last), TURNS):
            said = await ask(script, block.recall_tool(), turn, memory)
            if turn == last // 2:
                kill(neap)
        assert "8443" in said and "heron-17" in said
        # Its question asks for the fact, which is in the block's page.
        assert FACT in str(script.requests[-2]) and FACT not in str(script.requests[-3])
        assert len(await memory.aget_all()) >= 2 * last
        assert max(map(tokens_of, script.requests[:-1])) <= 2 * 2000
        await engine.dispose()

    asyncio.run(talk())


def test_it_answers_as_a_memory_of_llama_index(neap: Neap) -> None:
    chance = random.Random(7)
    ours = NeapMemory.from_defaults(neap=neap, name="one", budget=100_000)
    theirs = ChatMemoryBuffer.from_defaults(token_limit=100_000)  # pyright: ignore[reportUnknownMemberType]
    for step in range(40):
        some = [chance.choice(MESSAGES[1:]) for _ in range(chance.randrange(4))]
        change = chance.choice(["put", "put_messages", "put_messages", "set", "longer", "reset"])
        for memory in (ours, theirs):
            match change:
                case "put":
                    memory.put(MESSAGES[step % 5])
                case "put_messages":
                    memory.put_messages(some)
                case "set":
                    memory.set(list(some))
                case "longer":
                    memory.set([*memory.get_all(), *some])
                case _:
                    memory.reset()
        assert ours.get_all() == theirs.get_all() == ours.get()
        if step % 10 == 0:
            assert NeapMemory(neap, "one", budget=100_000).get_all() == theirs.get_all()


def test_messages_come_back_as_they_were_and_for_all_processes(neap: Neap) -> None:
    with Neap() as second:
        one, other = NeapMemory(neap, "one", budget=9000), NeapMemory(second, "one", budget=9000)
        one.put_messages(MESSAGES)
        for memory in (one, other):
            assert [dumped([message]) for message in memory.get_all()] == [dumped([message]) for message in MESSAGES]
        other.get_all()[0].content = "changed"
        assert one.get_all() == other.get_all() == MESSAGES
        other.set([*MESSAGES, ChatMessage("go on")])
        assert one.get_all() == [*MESSAGES, ChatMessage("go on")]
        assert neap.search("heron")["items"]
        one.reset()
        assert other.get() == [] and neap.search("heron")["items"] == []
        other.put(MESSAGES[-1])
        assert one.get() == MESSAGES[-1:]


def test_a_history_that_is_set_again_is_recorded_once(neap: Neap) -> None:
    memory = NeapMemory(neap, "one", budget=9000)
    history: list[ChatMessage] = []
    for turn in range(1, 6):
        history += [ChatMessage(question(turn)), ChatMessage(answer(turn), role=MessageRole.ASSISTANT)]
        memory.set(history)
    rows = [row["message"] for row in neap.each(neap.list_turns, memory._chat.session, limit=200)]  # pyright: ignore
    assert len(rows) == 5 and f"Please note: {FACT}" in rows


def test_a_cut_leaves_room_for_what_the_host_adds_and_keeps_the_system(neap: Neap) -> None:
    memory = NeapMemory(neap, "one", budget=BUDGET)
    memory.put(ChatMessage("Answer briefly.", role=MessageRole.SYSTEM))
    for turn in range(1, 20):
        call = ToolCallBlock(tool_call_id=f"c{turn}", tool_name="f", tool_kwargs={})
        result = ChatMessage("done", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": f"c{turn}"})
        memory.put_messages([ChatMessage(question(turn)), ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])])
        memory.put_messages([result, ChatMessage(answer(turn), role=MessageRole.ASSISTANT)])
    shown = memory.get(initial_token_count=1000)
    assert tokens_of(dumped(shown)) <= BUDGET - 1000
    assert shown[0].content == "Answer briefly." and [message.role for message in shown[1:3]] == ["user", "user"]
    calls = [block.tool_call_id for message in shown for block in message.blocks if isinstance(block, ToolCallBlock)]
    results = [message.additional_kwargs["tool_call_id"] for message in shown if message.role is MessageRole.TOOL]
    assert calls == results and len(calls) > 1
    assert NeapMemory(neap, "one", budget=BUDGET).get(initial_token_count=1000) == shown
    with pytest.raises(ValueError, match="no room"):
        memory.get(initial_token_count=BUDGET)


def test_a_chat_engine_goes_on_where_it_ended(neap: Neap) -> None:
    script = Scripted()
    for turn in (FACT, "And now?"):
        memory = NeapMemory(neap, "one", budget=BUDGET)
        llm = MockFunctionCallingLLM(response_generator=script)
        engine: Any = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        engine.chat(turn)
    assert FACT in str(script.requests[-1])


def test_a_block_is_shortened_at_its_end(neap: Neap) -> None:
    block = NeapMemoryBlock(neap, "one")
    assert asyncio.run(block.aget([ChatMessage("which port?")])) == ""
    asyncio.run(block.aput([ChatMessage(FACT), ChatMessage("Noted.", role=MessageRole.ASSISTANT)]))
    assert FACT in asyncio.run(block.aget([ChatMessage("which port?")]))
    assert asyncio.run(block.atruncate("one line\nanother\na third", 2)) == "one line\nanother\n"
    assert asyncio.run(block.atruncate("one line", 100)) is None
