//! The clients of the proxy: each has its history, and writes requests in its API.

use neap_core::base::tokens::Tokens;
use neap_core::client::{ProviderReply, WireApi};
use neap_engine::{Engine, RequestPlan};
use serde_json::{Value, json};

use super::ProxyRequest;
use crate::plant::Plant;
use crate::rng::Rng;
use crate::user::User;
use crate::wire;

const TENANTS: usize = 2;
const CLIENTS: u64 = 3;

pub(super) struct ProxyClients {
    pub(super) clients: Vec<ProxyClient>,
    pub(super) users: Vec<User>,
    pub(super) budget: u64,
    /// Requests whose replies are not recorded yet.
    pub(super) in_flight: Vec<InFlight>,
}

#[derive(Debug, Clone)]
pub(super) struct ProxyClient {
    pub(super) tenant: usize,
    pub(super) api: WireApi,
    pub(super) name: Option<&'static str>,
    pub(super) history: Vec<Value>,
    /// The provider keeps the history: only what follows this response is sent.
    pub(super) previous: Option<String>,
    pub(super) is_chained: bool,
}

pub(super) struct InFlight {
    pub(super) engine: Engine,
    pub(super) plan: Box<RequestPlan>,
    pub(super) reply: ProviderReply,
}

impl ProxyClients {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let budget = rng.pick(&[1_500, 4_000, 6_000]).copied().unwrap_or(4_000);
        let clients = (0..CLIENTS).map(|_| ProxyClient::new(rng)).collect();
        let user = |tenant| User::new(rng.fork(&format!("tenant {tenant}")), canary(tenant), budget);
        Self { clients, users: (0..TENANTS).map(user).collect(), budget, in_flight: Vec::new() }
    }

    pub(super) fn canaries(&self) -> impl Iterator<Item = String> {
        (0..TENANTS).map(canary)
    }

    /// Corrupts what is forwarded.
    pub(super) fn spoil_plan(&self, plant: Option<Plant>, request: &ProxyRequest, plan: &mut RequestPlan) {
        if plant == Some(Plant::ForwardedWhole) {
            plan.body = None;
        }
        if plant == Some(Plant::ForwardedOrphan) {
            let forwarded = plan.body.as_deref().unwrap_or(&request.body);
            let mut body: Value = serde_json::from_str(forwarded).unwrap_or_default();
            let list = if request.api == WireApi::Responses { "input" } else { "messages" };
            if let Some(items) = body[list].as_array_mut() {
                items.retain(|item| item["role"] != "tool" && item["type"] != "function_call_output");
            }
            plan.body = Some(body.to_string());
        }
    }
}

pub(super) fn canary(tenant: usize) -> String {
    format!("zqtenant{tenant}qz")
}

impl ProxyClient {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let api = rng.pick(&wire::ALL_APIS).copied().unwrap_or(WireApi::Chat);
        let tenant = usize::try_from(rng.below(TENANTS as u64)).unwrap_or(0);
        // Tenants use the same names.
        let name = rng.pick(&[None, None, Some("desk"), Some("lamp")]).copied().flatten();
        let is_chained = api == WireApi::Responses && rng.chance(300);
        Self { tenant, api, name, history: Vec::new(), previous: None, is_chained }
    }

    pub(super) fn request(&self, budget: u64, encoding: &'static str) -> ProxyRequest {
        let mut headers = vec![("x-api-key".to_owned(), format!("sk-sim-{}-4f9aT7bQ2mX8vL1c", self.tenant))];
        headers.extend(self.name.map(|name| ("x-neap-session".to_owned(), name.to_owned())));
        let (tenant, api) = (self.tenant, self.api);
        let mut body = match self.previous {
            Some(_) => wire::body(api, self.history.last().map_or(&[], std::slice::from_ref)),
            None => wire::body(api, &self.history),
        };
        if let Some(previous) = &self.previous {
            body["previous_response_id"] = json!(previous);
        }
        ProxyRequest { tenant, api, headers, body: body.to_string(), budget: Tokens(budget), encoding }
    }

    /// A place where a person spoke, at random.
    pub(super) fn random_turn(&self, rng: &mut Rng) -> Option<usize> {
        let spoken = |item: &Value| item["role"] == "user" && item["content"].is_string();
        let places: Vec<usize> = (0..self.history.len()).filter(|at| spoken(&self.history[*at])).collect();
        rng.pick(&places).copied()
    }
}
