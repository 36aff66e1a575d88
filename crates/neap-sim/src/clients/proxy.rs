//! What clients of the proxy do. Each sends its history whole: with a new turn, once more, with an edit, as a branch,
//! compacted, twice at a time, or after a reply that broke off.

use neap_core::base::message::ToolCall;
use neap_core::client::{ProviderReply, WireApi};
use neap_engine::{Engine, RequestPlan};
use serde_json::json;

use super::proxy_client::{InFlight, ProxyClient, canary};
use super::{Clients, Delivery, Place, labels_in};
use crate::check::Violations;
use crate::plant::Plant;
use crate::run::Report;
use crate::wire;
use crate::words::ramble;

/// Most turns that a client takes in one step.
const TURNS_MAX: u64 = 4;

impl Clients {
    pub(super) async fn use_proxy(&mut self, report: &mut Report, out: &mut Violations) {
        let at = usize::try_from(self.rng.below(self.proxy.clients.len() as u64)).unwrap_or(0);
        let mut client = self.proxy.clients[at].clone();
        match self.rng.below(100) {
            0..=7 if !client.is_chained => {
                // Nothing new: a retry, or another reply is wanted.
                let last = client.history.iter().rposition(|item| item["role"] == "user").map_or(0, |at| at + 1);
                client.history.truncate(last);
            }
            8..=15 if !client.is_chained => {
                let turn = client.random_turn(&mut self.rng).unwrap_or(0);
                client.history.truncate(turn);
                self.ask(&mut client);
            }
            16..=21 if !client.is_chained => {
                let turn = client.random_turn(&mut self.rng).unwrap_or(0);
                client.history.truncate(turn);
                client.name = client.name.map(|name| if name == "desk" { "lamp" } else { "desk" });
                self.ask(&mut client);
            }
            22..=24 if !client.is_chained => {
                let summary = format!("{} Summary of what was said before.", self.next_label());
                client.history = vec![wire::user(&summary)];
                self.ask(&mut client);
            }
            25..=27 => {
                client = ProxyClient::new(&mut self.rng);
                self.ask(&mut client);
            }
            28..=38 if !client.is_chained => return self.send_two(at, report, out).await,
            39..=44 => return self.complete_one(out).await,
            _ => {
                for _ in 1..self.rng.between(1, TURNS_MAX) {
                    self.ask(&mut client);
                    self.converse(&mut client, report, out).await;
                }
                self.ask(&mut client);
            }
        }
        if !client.history.is_empty() {
            self.converse(&mut client, report, out).await;
        }
        self.proxy.clients[at] = client;
    }

    fn ask(&mut self, client: &mut ProxyClient) {
        let mut text = format!("{} {}", self.next_label(), self.proxy.users[client.tenant].next_message());
        // The past is recalled for whoever asks about it: here for what every tenant says, each with a word of its own
        // that the question does not name.
        text = match self.labels.is_multiple_of(3) {
            true => format!("Our code word is {}.\n\n{text}", canary(client.tenant)),
            false => format!("What is the code word that we agreed on earlier?\n\n{text}"),
        };
        client.history.push(wire::user(&text));
    }

    /// Sends the history and gets a reply; the model may call tools first.
    async fn converse(&mut self, client: &mut ProxyClient, report: &mut Report, out: &mut Violations) {
        for _ in 0..3 {
            let Some((engine, plan)) = self.send(client, report, out).await else { return };
            if plan.overflow.is_some() {
                // Refused: the client begins anew.
                client.history.clear();
                client.previous = None;
                return;
            }
            let reply = self.draw_reply(client, true);
            let calls = reply.calls.clone();
            self.answer(client, engine, plan, reply, out).await;
            if calls.is_empty() {
                return;
            }
            let results: Vec<_> = calls.into_iter().map(|call| (call.id, self.draw_output())).collect();
            client.history.extend(wire::results(client.api, &results));
        }
        // It has had enough of tools.
        client.history.clear();
    }

    async fn send(
        &mut self,
        client: &ProxyClient,
        report: &mut Report,
        out: &mut Violations,
    ) -> Option<(Engine, Box<RequestPlan>)> {
        let engine = self.draw_engine()?;
        let delivery = Delivery::Request(client.request(self.proxy.budget, self.settings.encoding));
        let (_, plan) = self.deliver(&engine, delivery.clone(), Some(delivery), out).await;
        let plan = plan?;
        report.proxied += 1;
        report.cut += u64::from(plan.body.is_some());
        report.deferred += u64::from(plan.fault.is_some());
        Some((engine, plan))
    }

    fn draw_output(&mut self) -> String {
        let words = self.rng.pick(&[3, 30, 300]).copied().unwrap_or(30);
        format!("{} {}", self.next_label(), ramble(&mut self.rng, None, words))
    }

    fn draw_reply(&mut self, client: &ProxyClient, may_call: bool) -> ProviderReply {
        let calls_tools = may_call && !client.is_chained && self.rng.chance(250);
        let calls = if calls_tools { self.rng.between(1, 2) } else { 0 };
        let call = |clients: &mut Self| {
            let command = format!("{} ls", clients.next_label());
            ToolCall {
                id: format!("call_{}", clients.labels),
                name: "run".to_owned(),
                arguments: json!({ "command": command }).to_string(),
            }
        };
        let calls: Vec<ToolCall> = (0..calls).map(|_| call(self)).collect();
        let words = self.rng.between(1, 150);
        let text = if calls.is_empty() || self.rng.chance(500) {
            format!("{} {}", self.next_label(), ramble(&mut self.rng, None, words))
        } else {
            String::new()
        };
        let id = (client.api == WireApi::Responses).then(|| format!("resp_{}", self.labels));
        ProviderReply { text, calls, id, ..ProviderReply::default() }
    }

    /// The client has a reply. It is recorded now, later or never, as a whole or as far as it came.
    async fn answer(
        &mut self,
        client: &mut ProxyClient,
        engine: Engine,
        plan: Box<RequestPlan>,
        mut reply: ProviderReply,
        out: &mut Violations,
    ) {
        let kind = self.rng.below(100);
        if kind < 10 && reply.calls.is_empty() {
            // It broke off; some clients keep what came, others do not.
            reply.is_truncated = true;
            if kind < 5 {
                client.history.extend(wire::reply(client.api, &reply));
            }
            return self.complete(&engine, &plan, &reply, out).await;
        }
        client.history.extend(wire::reply(client.api, &reply));
        client.previous = reply.id.clone().filter(|_| client.is_chained);
        match kind {
            10..=14 => {}
            15..=22 => self.proxy.in_flight.push(InFlight { engine, plan, reply }),
            _ => self.complete(&engine, &plan, &reply, out).await,
        }
    }

    async fn complete(
        &mut self,
        engine: &Engine,
        plan: &RequestPlan,
        reply: &ProviderReply,
        out: &mut Violations,
    ) {
        let arguments: String = reply.calls.iter().map(|call| call.arguments.as_str()).collect();
        let labels = labels_in(&format!("{}{arguments}", reply.text));
        let is_forgotten = self.plant == Some(Plant::ForgottenReply);
        let completed = if is_forgotten { Ok(()) } else { engine.complete_request(plan, reply).await };
        match completed {
            Ok(()) => {
                let place = plan.session.clone().map_or(Place::AnyStream, |session| Place::In(session.into()));
                self.accepted.push((labels, place));
            }
            Err(error) => {
                self.explain(&error, out);
                self.waiting.push((labels, Place::AnyStream));
            }
        }
    }

    /// Completes a request whose client may have gone on since.
    async fn complete_one(&mut self, out: &mut Violations) {
        let at = usize::try_from(self.rng.below(self.proxy.in_flight.len() as u64)).unwrap_or(0);
        if at < self.proxy.in_flight.len() {
            let InFlight { engine, plan, reply } = self.proxy.in_flight.remove(at);
            self.complete(&engine, &plan, &reply, out).await;
        }
    }

    /// Two requests at a time that continue one history; the later one is answered first.
    async fn send_two(&mut self, at: usize, report: &mut Report, out: &mut Violations) {
        let mut pair = [self.proxy.clients[at].clone(), self.proxy.clients[at].clone()];
        let mut sent = Vec::new();
        for client in &mut pair {
            self.ask(client);
            sent.push(self.send(client, report, out).await);
        }
        for (client, sent) in pair.iter_mut().zip(sent).rev() {
            if let Some((engine, plan)) = sent.filter(|(_, plan)| plan.overflow.is_none()) {
                let reply = self.draw_reply(client, false);
                self.answer(client, engine, plan, reply, out).await;
            }
        }
        let [first, second] = pair;
        self.proxy.clients[at] = if self.rng.chance(500) { first } else { second };
    }
}
