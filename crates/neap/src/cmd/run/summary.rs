//! What a command's requests cost, in one line.

use std::cmp::Ordering;

use neap_server::proxy::ProxyTraffic;
use serde_json::json;

use crate::cmd::report::saved_text;
use crate::out::{self, Failure, count, thousands};

pub(super) fn line(traffic: &ProxyTraffic) -> String {
    let ProxyTraffic { received, answered } = traffic;
    if answered.is_empty() {
        return format!("{} came through the proxy, and no model answered", count(*received, "request"));
    }
    let mut parts = vec![
        count(answered.requests, "request"),
        format!("{} tokens in", thousands(answered.tokens_in.0)),
        format!("{} sent", thousands(answered.tokens_sent.0)),
    ];
    parts.extend(answered.cached_share().map(|share| format!("{:.1} % cached", share * 100.0)));
    let mut line = parts.join(", ");
    if let Some(cost) = answered.known_cost() {
        line.push_str(&format!("; cost {}", out::dollars(cost.sent_dollars())));
        line.push_str(&match cost.sent_nanodollars.cmp(&cost.untouched_nanodollars) {
            Ordering::Less => format!(", saved {}", saved_text(&cost)),
            Ordering::Equal => ", as untouched".to_owned(),
            Ordering::Greater => format!(", {} more than untouched", out::dollars(-cost.saved_dollars())),
        });
    }
    line
}

/// On standard error, where everything of Neap's own goes: standard output is the command's.
pub(super) fn print_json(traffic: &ProxyTraffic) -> Result<(), Failure> {
    let ProxyTraffic { received, answered } = traffic;
    let mut value = json!(answered);
    value["received"] = json!(received);
    value["cached_share"] = json!(answered.cached_share());
    value["saved_dollars"] = json!(answered.known_cost().map(|cost| cost.saved_dollars()));
    out::print_notice(out::json_text(&value)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use neap_core::base::tokens::Tokens;
    use neap_core::client::{RequestCost, RequestTotals, TokenUsage};

    use super::*;

    #[test]
    fn the_line_says_what_the_provider_reported() {
        let used = TokenUsage { input: Tokens(1_000), cached: Tokens(931), ..TokenUsage::default() };
        let mut answered = RequestTotals { requests: 12, ..RequestTotals::default() };
        (answered.tokens_in, answered.tokens_sent) = (Tokens(340_112), Tokens(120_400));
        let traffic = |answered| ProxyTraffic { received: 13, answered };
        assert_eq!(line(&traffic(answered)), "12 requests, 340,112 tokens in, 120,400 sent");
        answered.used = used;
        assert_eq!(line(&traffic(answered)), "12 requests, 340,112 tokens in, 120,400 sent, 93.1 % cached");
        let mut costing = |sent, untouched| {
            answered.priced = 12;
            answered.cost = RequestCost { sent_nanodollars: sent, untouched_nanodollars: untouched };
            line(&traffic(answered)).split_once("; ").map(|(_, cost)| cost.to_owned()).unwrap_or_default()
        };
        assert_eq!(costing(680_000_000, 1_100_000_000), "cost $0.6800, saved $0.4200 (38.2 %)");
        assert_eq!(costing(680_000_000, 680_000_000), "cost $0.6800, as untouched");
        assert_eq!(costing(700_000_000, 680_000_000), "cost $0.7000, $0.0200 more than untouched");
        let none = line(&traffic(RequestTotals::default()));
        assert_eq!(none, "13 requests came through the proxy, and no model answered");
    }
}
