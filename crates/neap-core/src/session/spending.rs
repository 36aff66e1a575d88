//! What a session spent, by model.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::base::ledger::Ledger;
use crate::base::model_name::ModelName;
use crate::base::tokens::Tokens;
use crate::session::request_account::RequestAccount;

/// Models that are told apart; a session uses few.
const MODELS_MAX: usize = 16;
/// Stands for all further ones.
const OTHERS: &str = "others";

/// What one model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spending {
    pub calls: u64,
    /// Includes what was read from the provider's cache.
    pub sent: Tokens,
    pub cached: Tokens,
    pub output: Tokens,
    /// Clients' requests with a known price. Own calls are priced by the session's settings.
    pub priced: u64,
    pub nanodollars: u64,
    /// What clients' requests would have cost untouched; the own calls cost what they cost.
    pub untouched_nanodollars: u64,
}

/// Spending by model. Calls of which nobody said the model are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpendingByModel(BTreeMap<ModelName, Spending>);

impl SpendingByModel {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ModelName, &Spending)> {
        self.0.iter()
    }

    /// Adds a turn's own calls.
    pub(crate) fn add_turn(&mut self, ledger: &Ledger) {
        let cost = &ledger.cost;
        if let (Some(model), true) = (&ledger.model, cost.calls > 0) {
            let (sent, cached, output) = (cost.sent, cost.cached, cost.output);
            let (nanodollars, untouched_nanodollars) = (cost.nanodollars, cost.nanodollars);
            let own = Spending {
                calls: cost.calls,
                priced: 0,
                sent,
                cached,
                output,
                nanodollars,
                untouched_nanodollars,
            };
            self.add(model, &own);
        }
    }

    /// Adds a client's request.
    pub(crate) fn add_request(&mut self, account: &RequestAccount) {
        let Some(model) = &account.model else { return };
        let (used, cost) = (account.used.unwrap_or_default(), account.cost.unwrap_or_default());
        let request = Spending {
            calls: 1,
            priced: u64::from(account.cost.is_some()),
            sent: used.input,
            cached: used.cached,
            output: used.output,
            nanodollars: cost.sent_nanodollars,
            untouched_nanodollars: cost.untouched_nanodollars,
        };
        self.add(model, &request);
    }

    fn add(&mut self, model: &ModelName, spending: &Spending) {
        let has_room = self.0.len() < MODELS_MAX || self.0.contains_key(model);
        let model = if has_room { Some(model.clone()) } else { ModelName::of_safe_name(OTHERS) };
        if let Some(model) = model {
            *self.0.entry(model).or_default() += spending;
        }
    }
}

impl AddAssign<&SpendingByModel> for SpendingByModel {
    fn add_assign(&mut self, other: &SpendingByModel) {
        for (model, spending) in other.iter() {
            *self.0.entry(model.clone()).or_default() += spending;
        }
    }
}

impl AddAssign<&Spending> for Spending {
    fn add_assign(&mut self, other: &Spending) {
        let Spending { calls, priced, sent, cached, output, nanodollars, untouched_nanodollars } = other;
        self.calls += calls;
        self.priced += priced;
        for (sum, more) in [(&mut self.sent, sent), (&mut self.cached, cached), (&mut self.output, output)] {
            *sum = Tokens(sum.0.saturating_add(more.0));
        }
        self.nanodollars = self.nanodollars.saturating_add(*nanodollars);
        self.untouched_nanodollars = self.untouched_nanodollars.saturating_add(*untouched_nanodollars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cost::Cost;

    #[test]
    fn models_beyond_the_limit_are_counted_together() {
        let mut spending = SpendingByModel::default();
        for n in 0..40 {
            let cost = Cost { calls: 1, sent: Tokens(10), ..Cost::default() };
            spending.add_turn(&Ledger {
                model: ModelName::from_name(&format!("m{n}")),
                cost,
                ..Ledger::default()
            });
        }
        assert_eq!(spending.iter().count(), MODELS_MAX + 1);
        assert_eq!(spending.iter().map(|(_, one)| one.sent.0).sum::<u64>(), 400);
        let others = spending.iter().find(|(model, _)| model.as_str() == OTHERS).map(|(_, one)| one.calls);
        assert_eq!(others, Some(40 - MODELS_MAX as u64));
    }
}
