//! Random requests that try to go over a budget: three protocols, many shapes, sizes and writing systems, all from a seed.

mod shapes;
mod text;

use serde_json::{Map, Value, json};

use crate::mock::Speaks;

pub(crate) use shapes::SHAPES;

/// SplitMix64: the same seed gives the same requests on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x1234_5678_9abc_def0)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between two, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.draw() % (high - low + 1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.draw() % 100 < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.between(0, of.len() - 1)]
    }
}

/// A request as a client would send it.
pub(crate) struct Hostile {
    pub(crate) shape: &'static str,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    /// Whether all that is in it but a few hundred tokens can be left out or shortened: then it must reach the provider.
    pub(crate) must_pass: bool,
    /// Whether its calls and results are paired: then they are at the provider as well.
    pub(crate) is_paired: bool,
}

/// A history in the making, in one of the protocols.
pub(crate) struct History {
    pub(crate) speaks: Speaks,
    pub(crate) body: Map<String, Value>,
    pub(crate) items: Vec<Value>,
    calls: usize,
}

impl History {
    pub(crate) fn new(speaks: Speaks) -> Self {
        let body = json!({"model": "some-model", "stream": true, "max_tokens": 500});
        let Value::Object(body) = body else { unreachable!("an object") };
        Self { speaks, body, items: Vec::new(), calls: 0 }
    }

    pub(crate) fn path(&self) -> &'static str {
        match self.speaks {
            Speaks::Chat => "/v1/chat/completions",
            Speaks::Responses => "/v1/responses",
            Speaks::Messages => "/v1/messages",
        }
    }

    pub(crate) fn list(&self) -> &'static str {
        if self.speaks == Speaks::Responses { "input" } else { "messages" }
    }

    /// A message of a role.
    pub(crate) fn say(&mut self, role: &str, text: &str) {
        self.items.push(json!({"role": role, "content": text}));
    }

    /// A part of a message that is text.
    pub(crate) fn part(&self, role: &str, text: &str) -> Value {
        let kind = match (self.speaks, role) {
            (Speaks::Chat | Speaks::Messages, _) => "text",
            (Speaks::Responses, "assistant") => "output_text",
            (Speaks::Responses, _) => "input_text",
        };
        json!({"type": kind, "text": text})
    }

    /// Instructions, where the protocol has them.
    pub(crate) fn system(&mut self, text: &str) {
        match self.speaks {
            Speaks::Chat => self.items.insert(0, json!({"role": "system", "content": text})),
            Speaks::Responses => drop(self.body.insert("instructions".to_owned(), json!(text))),
            Speaks::Messages => drop(self.body.insert("system".to_owned(), json!(text))),
        }
    }

    /// Tools, each with a schema.
    pub(crate) fn tool(&mut self, name: &str, about: &str, schema: &Value) {
        let tool = match self.speaks {
            Speaks::Chat => {
                json!({"type": "function", "function": {"name": name, "description": about, "parameters": schema}})
            }
            Speaks::Responses => {
                json!({"type": "function", "name": name, "description": about, "parameters": schema})
            }
            Speaks::Messages => json!({"name": name, "description": about, "input_schema": schema}),
        };
        let tools = self.body.entry("tools").or_insert_with(|| json!([]));
        tools.as_array_mut().expect("a list").push(tool);
    }

    /// Calls made at once, and what they answered.
    pub(crate) fn round(&mut self, said: &str, calls: &[(Value, String)]) {
        let ids: Vec<String> = calls.iter().map(|_| self.next_id()).collect();
        let made = ids.iter().zip(calls);
        match self.speaks {
            Speaks::Chat => {
                let made: Vec<Value> = made
                    .map(|(id, (input, _))| {
                        json!({"id": id, "type": "function", "function": {"name": "look", "arguments": input.to_string()}})
                    })
                    .collect();
                let content = if said.is_empty() { Value::Null } else { json!(said) };
                self.items.push(json!({"role": "assistant", "content": content, "tool_calls": made}));
                for (id, (_, result)) in ids.iter().zip(calls) {
                    self.items.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
                }
            }
            Speaks::Responses => {
                if !said.is_empty() {
                    self.say("assistant", said);
                }
                for (id, (input, _)) in ids.iter().zip(calls) {
                    self.items.push(
                        json!({"type": "function_call", "call_id": id, "name": "look", "arguments": input.to_string()}),
                    );
                }
                for (id, (_, result)) in ids.iter().zip(calls) {
                    self.items.push(json!({"type": "function_call_output", "call_id": id, "output": result}));
                }
            }
            Speaks::Messages => {
                let mut content: Vec<Value> = Vec::new();
                if !said.is_empty() {
                    content.push(json!({"type": "text", "text": said}));
                }
                content.extend(made.map(
                    |(id, (input, _))| json!({"type": "tool_use", "id": id, "name": "look", "input": input}),
                ));
                self.items.push(json!({"role": "assistant", "content": content}));
                let results: Vec<Value> = ids
                    .iter()
                    .zip(calls)
                    .map(|(id, (_, result))| json!({"type": "tool_result", "tool_use_id": id, "content": result}))
                    .collect();
                self.items.push(json!({"role": "user", "content": results}));
            }
        }
    }

    fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("call_{}", self.calls)
    }

    pub(crate) fn value(&self) -> Value {
        let mut body = self.body.clone();
        body.insert(self.list().to_owned(), json!(self.items));
        Value::Object(body)
    }
}
