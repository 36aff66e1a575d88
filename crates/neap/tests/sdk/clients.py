"""The makers' own libraries, through the proxy. Their parsers are strict: what they take is right. Run by sdk.rs."""

import anthropic
import openai

one = openai.OpenAI(api_key="k", max_retries=0)
two = anthropic.Anthropic(api_key="k", max_retries=0)
said = [{"role": "user", "content": "hi"}]
failing = [{"role": "user", "content": "please fail"}]
tool = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
tool_two = [{"name": "f", "input_schema": {"type": "object"}}]


def refused(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError("it was answered")


# Chat Completions: whole, streamed, usage only where it was asked for, tools, errors.
whole = one.chat.completions.create(model="gpt-x", messages=said)
assert whole.choices[0].message.content == "Hello" and whole.usage.prompt_tokens == 11
with_usage = {"include_usage": True}
chunks = list(one.chat.completions.create(model="gpt-x", messages=said, stream=True, stream_options=with_usage))
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello"
assert chunks[-1].usage.total_tokens == 14
chunks = list(one.chat.completions.create(model="gpt-x", messages=said, stream=True))
assert all(chunk.usage is None for chunk in chunks)
whole = one.chat.completions.create(model="gpt-x", messages=said, tools=tool)
assert whole.choices[0].message.tool_calls[0].function.name == "f"
with one.chat.completions.stream(model="gpt-x", messages=said, tools=tool) as stream:
    call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert call.function.arguments == '{"a":1}'
error = refused(openai.RateLimitError, lambda: one.chat.completions.create(model="gpt-x", messages=failing))
assert error.code == "rate_limit_exceeded" and error.request_id == "r-1"

# Responses.
assert one.responses.create(model="gpt-x", input="hi").output_text == "Hello"
assert list(one.responses.create(model="gpt-x", input="hi", stream=True))[-1].type == "response.completed"
with one.responses.stream(model="gpt-x", input="hi") as stream:
    assert stream.get_final_response().usage.input_tokens == 11
assert one.responses.input_tokens.count(model="gpt-x", input="hi").input_tokens == 42
# The proxy itself answers this, and opens what it gave when it comes back.
short = one.responses.compact(model="gpt-x", input="hi")
assert [item.type for item in short.output] == ["message", "compaction"] and short.object == "response.compaction"
again = [item.to_dict() for item in short.output] + said
assert one.responses.create(model="gpt-x", input=again).output_text == "Hello"
assert [model.id for model in one.models.list()] == ["gpt-x"]

# Messages.
whole = two.messages.create(model="claude-x", max_tokens=9, messages=said)
assert whole.content[0].text == "Hello" and whole.usage.input_tokens == 11
with two.messages.stream(model="claude-x", max_tokens=9, messages=said) as stream:
    assert "".join(stream.text_stream) == "Hello"
    assert stream.get_final_message().stop_reason == "end_turn"
with two.messages.stream(model="claude-x", max_tokens=9, messages=said, tools=tool_two) as stream:
    assert stream.get_final_message().content[0].input == {"a": 1}
error = refused(anthropic.BadRequestError, lambda: two.messages.create(model="claude-x", max_tokens=9, messages=failing))
assert "prompt is too long" in str(error)
assert two.messages.count_tokens(model="claude-x", messages=said).input_tokens == 42
assert [model.id for model in two.models.list()] == ["claude-x"]

# What the proxy itself refuses, and what it tells.
page = {"origin": "https://evil.example"}
elsewhere = two.with_options(default_headers=page)
refused(anthropic.PermissionDeniedError, lambda: elsewhere.messages.create(model="claude-x", max_tokens=9, messages=said))
long = [{"role": "user", "content": "x" * (64 << 20)}]
error = refused(openai.APIStatusError, lambda: one.chat.completions.create(model="gpt-x", messages=long))
assert (error.status_code, error.code) == (413, "request_too_large")
headers = two.messages.with_raw_response.create(model="claude-x", max_tokens=9, messages=said).headers
assert headers["x-neap-changes"] == "0" and headers["x-neap-tokens-in"] == headers["x-neap-tokens-sent"]
print("all hold")
