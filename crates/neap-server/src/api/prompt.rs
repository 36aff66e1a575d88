//! The prompt of a turn in blocks, and how two differ.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::ledger::Layer;
use neap_core::base::message::{CountedMessage, Message, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::client::RequestAccount;
use neap_core::session::event::{ClientEvent, Event, TurnEvent};
use neap_engine::forms::text_part;
use neap_engine::{PastPrompt, TurnExplanation};
use neap_model::bpe::counter_for;
use neap_model::compute::run_blocking;
use serde::Serialize;
use serde_json::{Value, json};

use super::Api;
use super::page::{fit, to_value};
use super::problem::Problem;
use super::route::{Answer, Call, Outcome};

/// Of a block's text, in characters: what is shown among others.
const BLOCK_CHARS: usize = 20_000;
/// Of an answer's blocks, in bytes.
const BLOCKS_BYTES_MAX: usize = 170_000;
/// Of a block's text in a comparison.
const DIFF_CHARS: usize = 400;
const DIFF_BLOCKS_MAX: usize = 400;

/// A part of a prompt that has one layer and one role.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    layer: Option<Layer>,
    role: &'static str,
    tokens: Tokens,
    text: String,
    turn: Option<TurnNo>,
    cached: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum PromptKind {
    /// Neap built it.
    Assembled,
    /// A client's request, of which the messages and the accounts are stored.
    Forwarded,
    /// Another program built it.
    Recorded,
}

struct Blocks {
    turn: TurnNo,
    kind: PromptKind,
    note: Option<String>,
    budget: Option<Tokens>,
    cached: Tokens,
    blocks: Vec<Block>,
    requests: Vec<RequestAccount>,
}

pub(super) async fn show(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    let prompt = load(&api, &id, call.turn()?).await?;
    let first = call.size("block").unwrap_or(0);
    let offset = call.size("offset");
    let chars_max = call.size("limit").unwrap_or(BLOCK_CHARS);
    let (mut shown, mut bytes, mut next) = (Vec::new(), 0, None);
    for (number, block) in prompt.blocks.iter().enumerate().skip(first) {
        // An offset asks for this block alone.
        if offset.is_some() && number > first {
            break;
        }
        let value = block_form(number, block, offset.unwrap_or(0), chars_max);
        bytes += value.to_string().len();
        if bytes > BLOCKS_BYTES_MAX && !shown.is_empty() {
            next = Some(number);
            break;
        }
        shown.push(value);
    }
    let mut layers: Vec<Value> = Vec::new();
    for layer in Layer::ALL {
        let of_layer = prompt.blocks.iter().filter(|block| block.layer == Some(layer));
        let tokens: Tokens = of_layer.map(|block| block.tokens).sum();
        if tokens > Tokens::ZERO {
            layers.push(json!({"layer": layer, "tokens": tokens}));
        }
    }
    let total: Tokens = prompt.blocks.iter().map(|block| block.tokens).sum();
    Ok(Answer::Json(fit(json!({
        "turn": prompt.turn, "kind": prompt.kind, "exact": prompt.note.is_none(), "note": prompt.note,
        "budget": prompt.budget, "tokens_total": total, "cached_tokens": prompt.cached, "layers": layers,
        "blocks": shown, "next": next, "requests": to_value(&prompt.requests)?,
    }))))
}

fn block_form(number: usize, block: &Block, offset: usize, chars_max: usize) -> Value {
    let (text, chars, _) = text_part(&block.text, offset, chars_max);
    json!({
        "block": number, "layer": block.layer, "role": block.role, "tokens": block.tokens, "chars": chars,
        "offset": offset, "text": text, "turn": block.turn, "why": why(block.layer), "cached": block.cached,
    })
}

async fn load(api: &Api, id: &SessionId, turn: Option<TurnNo>) -> Result<Blocks, Problem> {
    let head = api.engine.head(id).await?;
    let turn = turn.unwrap_or(head.turn);
    let counter = counter_for(&head.encoding);
    if let Some(past) = api.engine.past_prompt(id, turn).await? {
        return Ok(assembled(past, &|text| counter.count(text)));
    }
    let explained = api.engine.explain(id, Some(turn)).await?;
    let bytes = [&explained.message, &explained.reply].into_iter().flatten().map(String::len).sum();
    let blocks = move || held_elsewhere(turn, explained, &|text| counter.count(text));
    Ok(run_blocking(bytes, blocks).await)
}

fn assembled(past: PastPrompt, count: &dyn Fn(&str) -> Tokens) -> Blocks {
    let PastPrompt { turn, context, cached, ledger, differing } = past;
    let mut blocks = Vec::new();
    let recorded = &context.ledger.tokens;
    if !context.tools.is_empty() {
        let text = serde_json::to_string_pretty(
            &context
                .tools
                .iter()
                .map(|tool| {
                    json!({
                        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                    })
                })
                .collect::<Vec<_>>(),
        )
        .unwrap_or_default();
        let tokens = recorded.get(Layer::Tools);
        blocks.push(Block { layer: Some(Layer::Tools), role: "tools", tokens, text, turn: None, cached: false });
    }
    for (role, sections) in [("system", &context.system), ("user", &context.records)] {
        for (layer, text) in sections {
            let block = Block {
                layer: Some(*layer),
                role,
                tokens: count(text),
                text: text.clone(),
                turn: None,
                cached: false,
            };
            blocks.push(block);
        }
    }
    for placed in &context.messages {
        blocks.push(of_message(Some(placed.layer), &placed.counted));
    }
    mark_cached(&mut blocks, cached);
    let names = || differing.iter().map(|layer| layer.as_str()).collect::<Vec<_>>().join(", ");
    let note = (!differing.is_empty()).then(|| {
        format!("built again from what is stored; other tokens than recorded when it was sent in: {}", names())
    });
    Blocks {
        turn,
        kind: PromptKind::Assembled,
        note,
        budget: Some(ledger.budget),
        cached,
        blocks,
        requests: Vec::new(),
    }
}

/// A provider's cache has a prefix.
fn mark_cached(blocks: &mut [Block], cached: Tokens) {
    let mut end = Tokens::ZERO;
    for block in blocks {
        end += block.tokens;
        block.cached = end <= cached;
    }
}

fn of_message(layer: Option<Layer>, counted: &CountedMessage) -> Block {
    let CountedMessage { message, tokens } = counted;
    Block {
        layer,
        role: message.role.as_str(),
        tokens: *tokens,
        text: text_of(message),
        turn: None,
        cached: false,
    }
}

fn text_of(message: &Message) -> String {
    let called = |call: &ToolCall| format!("{}({})", call.name, call.arguments);
    let words = (!message.content.is_empty()).then(|| message.content.to_string());
    words.into_iter().chain(message.tool_calls.iter().map(called)).collect::<Vec<_>>().join("\n")
}

/// A turn whose prompt another program built: its messages, and what is known of its requests.
fn held_elsewhere(turn: TurnNo, explained: TurnExplanation, count: &dyn Fn(&str) -> Tokens) -> Blocks {
    let mut requests = Vec::new();
    let mut messages = Vec::new();
    for event in &explained.happened {
        if let Event::Client(ClientEvent::RequestPassed { account, .. }) = event {
            requests.push(account.clone());
        }
        if let Event::Turn(TurnEvent::MessageAdded { message, .. }) = event {
            messages.push(of_message(None, message));
        }
    }
    let plain = |role, text: String| Block {
        layer: None,
        role,
        tokens: count(&text),
        text,
        turn: Some(turn),
        cached: false,
    };
    let rounds =
        explained.rounds.iter().flat_map(|round| round.messages()).map(|counted| of_message(None, counted));
    let asked = explained.message.map(|text| plain("user", text));
    let replied = explained.reply.map(|text| plain("assistant", text));
    let mut blocks: Vec<Block> = asked.into_iter().chain(rounds).chain(messages).chain(replied).collect();
    blocks.iter_mut().for_each(|block| block.turn = Some(turn));
    let (kind, note) = if requests.is_empty() {
        (PromptKind::Recorded, "another program built the prompt: only the turn's own messages are known")
    } else {
        (
            PromptKind::Forwarded,
            "the client built the prompt: the turn's own messages and the requests' figures are stored",
        )
    };
    let note = Some(note.to_owned());
    Blocks { turn, kind, note, budget: None, cached: Tokens::ZERO, blocks, requests }
}

fn why(layer: Option<Layer>) -> &'static str {
    match layer {
        None => "a message of the turn",
        Some(Layer::Protocol) => "Neap's rules: in every prompt",
        Some(Layer::Tools) => "the tools that the model may call: in every prompt",
        Some(Layer::Identity) => "who the agent is: configured",
        Some(Layer::Profile) => "always loaded: a person asked for it",
        Some(Layer::Censors) => "rules in force",
        Some(Layer::Frame) => "the stance that the message selects",
        Some(Layer::Focus) => "the task, and threads that are open",
        Some(Layer::Decisions | Layer::Facts | Layer::Procedures | Layer::Episodes) => {
            "memories relevant to the message"
        }
        Some(Layer::Calibration) => "how accurate the agent's judgement has been",
        Some(Layer::Summaries) => "concluded efforts in short",
        Some(Layer::Note) => "what is in play, and how to reach what is not shown",
        Some(Layer::Ambient) => "recent chat outside efforts",
        Some(Layer::Expanded) => "a concluded effort that was expanded",
        Some(Layer::Open) => "an open effort in the background",
        Some(Layer::Active) => "the effort that is worked on",
        Some(Layer::Tail) => "messages since the prompt was last rewritten",
        Some(Layer::Message) => "the new message, and this turn's tool rounds",
    }
}

pub(super) async fn diff(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    let to = load(&api, &id, call.turn()?).await?;
    let other = call.integer("with").unwrap_or(to.turn.0.saturating_sub(1));
    let from = load(&api, &id, Some(TurnNo(other))).await?;
    let (pairs, same_tokens) = compare(&from.blocks, &to.blocks);
    let mut blocks: Vec<Value> = Vec::new();
    for (change, number, block) in pairs.into_iter().take(DIFF_BLOCKS_MAX) {
        let text: String = block.text.chars().take(DIFF_CHARS).collect();
        blocks.push(json!({
            "change": change, "layer": block.layer, "role": block.role, "tokens": block.tokens, "text": text,
            "block": number,
        }));
    }
    let exact = from.note.is_none() && to.note.is_none();
    Ok(Answer::Json(fit(json!({
        "from": from.turn, "to": to.turn, "exact": exact, "same_tokens": same_tokens, "blocks": blocks,
    }))))
}

/// The blocks in order: the same ones, those that were added, those that were removed. A block moves at most forward, so
/// each is looked for from where the last one was found.
fn compare<'a>(from: &'a [Block], to: &'a [Block]) -> (Vec<(&'static str, usize, &'a Block)>, Tokens) {
    let is_same = |a: &Block, b: &Block| a.role == b.role && a.text == b.text;
    let (mut at, mut same, mut pairs) = (0, Tokens::ZERO, Vec::new());
    for (number, block) in to.iter().enumerate() {
        match from[at..].iter().position(|old| is_same(old, block)) {
            Some(skipped) => {
                let gone = from[at..at + skipped].iter().enumerate();
                pairs.extend(gone.map(|(n, old)| ("removed", at + n, old)));
                at += skipped + 1;
                same += block.tokens;
                pairs.push(("same", number, block));
            }
            None => pairs.push(("added", number, block)),
        }
    }
    pairs.extend(from[at..].iter().enumerate().map(|(n, old)| ("removed", at + n, old)));
    (pairs, same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_comes_and_goes_is_told_apart() {
        let block = |text: &str| Block {
            layer: None,
            role: "user",
            tokens: Tokens(1),
            text: text.to_owned(),
            turn: None,
            cached: false,
        };
        let all = |texts: &str| texts.split(' ').map(block).collect::<Vec<_>>();
        let check = |from: &str, to: &str, want: &str| {
            let (from, to) = (all(from), all(to));
            let (pairs, _) = compare(&from, &to);
            let sign = |change| match change {
                "same" => "",
                "added" => "+",
                _ => "-",
            };
            let told: Vec<String> =
                pairs.iter().map(|(change, _, b)| format!("{}{}", sign(*change), b.text)).collect();
            assert_eq!(told.join(" "), want);
            for (change, number, block) in pairs {
                assert_eq!(if change == "removed" { &from[number] } else { &to[number] }, block);
            }
        };
        check("a b c", "a b c d", "a b c +d");
        check("a b c", "a x c", "a +x -b c");
        check("a b", "c d", "+c +d -a -b");
        check("a b c", "c", "-a -b c");
    }

    #[test]
    fn a_cache_has_a_prefix() {
        let block = |tokens| Block {
            layer: None,
            role: "user",
            tokens: Tokens(tokens),
            text: String::new(),
            turn: None,
            cached: false,
        };
        let mut blocks = [3, 4, 5].map(block);
        mark_cached(&mut blocks, Tokens(7));
        assert_eq!(blocks.map(|block| block.cached), [true, true, false]);
    }
}
