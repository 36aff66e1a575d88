"""pydantic-ai: the real agent against a function model of its own."""

import asyncio
from typing import Any

from hosts import FACT, QUESTION, TURNS, answer, library, question
from test_process import kill

from neap import Neap

library("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from neap.hosts.pydantic_ai import NeapConversation, dumped
from neap.hosts.sizes import tokens_of

BUDGET = 6000


def test_a_hundred_turns_are_bounded_and_a_fact_of_turn_3_comes_back(neap: Neap) -> None:
    requests: list[list[Any]] = []

    def reply(messages: list[Any], _: Any) -> ModelResponse:
        requests.append(dumped(messages))
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse([TextPart(str(last.content))])
        if isinstance(last, UserPromptPart) and last.content == QUESTION:
            return ModelResponse([ToolCallPart("recall", {"query": "port of the staging gateway, certificate"})])
        return ModelResponse([TextPart(answer(len(requests)))])

    async def talk() -> None:
        conversation = NeapConversation(neap, "a customer", budget=BUDGET)
        said = ""
        for turn in range(1, TURNS + 1):
            agent = Agent(FunctionModel(reply), capabilities=[conversation])
            result = await agent.run(question(turn), message_history=await conversation.messages())
            said = str(result.output)
            if turn == TURNS // 2:
                kill(neap)
                # As a process that starts anew.
                conversation = NeapConversation(neap, "a customer", budget=BUDGET)
        assert "8443" in said and "heron-17" in said
        # Before the question nothing asks for the fact.
        assert FACT not in str(requests[-3])
        assert max(map(tokens_of, requests)) <= BUDGET + 1000
        every = await conversation.messages()
        assert tokens_of(dumped(every)) > 3 * BUDGET
        again = await NeapConversation(neap, "a customer", budget=BUDGET).messages()
        assert again == every
        asked = [part.content for one in every for part in one.parts if isinstance(part, UserPromptPart)]
        assert asked == [question(turn) for turn in range(1, TURNS + 1)]

    asyncio.run(talk())
