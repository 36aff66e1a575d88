//! Resolves the chat model, its address and its key from arguments and the environment.

use std::sync::Arc;

use neap_core::base::ledger::{Layer, Ledger};
use neap_core::base::token_ratio::{AssumedRatio, PromptReport};
use neap_core::base::tokens::Tokens;
use neap_core::client::WireApi;
use neap_engine::Session;
use neap_model::client::{ApiKey, BaseUrl, Client, ClientOptions, default_base_url};
use neap_model::profile::{ModelProfile, ModelProfiles};
use neap_model::summarize::ModelSummarizer;
use neap_model::usage::Usage;

use crate::agent_profile::read_text;
use crate::cli::ModelArgs;
use crate::env::{self, DataDir};
use crate::local_models;
use crate::out::{self, Failure, thousands};

/// How much higher than ours a provider's count may be without a notice, in per cent: delimiters are counted
/// differently.
const WARN_PERCENT: u64 = 10;

pub(crate) struct ChosenModel {
    pub(crate) client: Arc<Client>,
    pub(crate) profile: ModelProfile,
    pub(crate) api: WireApi,
    pub(crate) base_url: BaseUrl,
    is_warned: bool,
    /// What budgets assume of the provider's counts.
    ratio: AssumedRatio,
}

/// The name that stands for a model on this machine.
const AUTO: &str = "auto";

pub(crate) async fn choose(data: &DataDir, args: &ModelArgs) -> Result<Option<ChosenModel>, Failure> {
    if args.model.as_deref().map(str::trim) != Some(AUTO) {
        return choose_named(data, args);
    }
    let found = local_models::find(args.base_url.as_deref()).await?;
    let args = ModelArgs { model: Some(found.name), base_url: Some(found.base_url), api: args.api };
    let mut chosen = choose_named(data, &args)?;
    if let Some(ChosenModel { profile, .. }) = &mut chosen {
        profile.window_tokens = profile.window_tokens.or(found.window_tokens);
    }
    Ok(chosen)
}

fn choose_named(data: &DataDir, args: &ModelArgs) -> Result<Option<ChosenModel>, Failure> {
    let ModelArgs { model, base_url, api } = args;
    let Some(model) = model.as_deref().map(str::trim).filter(|name| !name.is_empty()) else {
        if model.is_none() && (base_url.is_some() || api.is_some()) {
            return Err(Failure::new("--base-url and --api need a model").hint("name one with --model"));
        }
        return Ok(None);
    };
    let profile = profiles(data)?.lookup(model);
    let api = api.unwrap_or_else(|| default_api(&profile, base_url.as_deref()));
    let base_url = resolve_base_url(api, base_url.as_deref())?;
    let mut options = ClientOptions::new(api, base_url.clone(), model);
    options.key = api_key(api, &base_url)?;
    options.reply_tokens_max = Some(profile.reply_tokens());
    options.reasons = profile.reasons;
    let ratio = AssumedRatio::new(profile.token_estimate());
    let client = Client::new(options).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Some(ChosenModel { client: Arc::new(client), profile, api, base_url, is_warned: false, ratio }))
}

/// The model that summarises, if not the built-in summariser; uses the same address.
pub(crate) fn summarizer(
    data: &DataDir,
    args: &ModelArgs,
    name: Option<String>,
) -> Result<Option<Arc<ModelSummarizer>>, Failure> {
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else { return Ok(None) };
    let args = ModelArgs { model: Some(name), base_url: args.base_url.clone(), api: args.api };
    let chosen = choose_named(data, &args)?;
    Ok(chosen.map(|chosen| Arc::new(ModelSummarizer::new(chosen.client))))
}

impl ChosenModel {
    pub(crate) fn encoding(&self) -> String {
        self.profile.encoding()
    }

    /// The model's prices as settings, followed by the user's, which override them.
    pub(crate) fn settings(&self, set: Vec<(String, String)>) -> Vec<(String, String)> {
        let prices = self.profile.price_settings().into_iter();
        prices.map(|(key, value)| (key.to_owned(), value.to_string())).chain(set).collect()
    }

    /// Lowers the context budget of a session that was created for a larger model. Budgets are in the provider's tokens, of
    /// which the most is assumed until it reports some.
    pub(crate) async fn fit_budget(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.assume(session).await?;
        let Some(window) = self.profile.context_tokens_max() else { return Ok(()) };
        let budget = session.state().policy().context_tokens_max;
        if budget > window.0 {
            session.set("context_tokens_max", &window.0.to_string()).await?;
            out::print_notice(format!(
                "this model accepts {} tokens besides its reply: context_tokens_max was {} and is now lowered to that",
                thousands(window.0),
                thousands(budget)
            ));
        }
        Ok(())
    }

    async fn assume(&self, session: &mut Session) -> Result<(), Failure> {
        assume_ratio(session, self.ratio.per_mille()).await
    }

    /// Usage since the last call; `None` if the provider does not report it.
    pub(crate) fn take_usage(&self) -> Option<Usage> {
        let usage = self.client.meter().take();
        (usage.calls > 0).then_some(usage)
    }

    /// Compares the provider's token count with ours, and has budgets assume what it shows. If it is higher than was assumed,
    /// that is said.
    pub(crate) async fn adjust_budget(
        &mut self,
        session: &mut Session,
        sent: &Ledger,
        usage: &Usage,
    ) -> Result<(), Failure> {
        // Failed calls are counted by one side only.
        if usage.calls != sent.cost.calls {
            return Ok(());
        }
        let (theirs, ours) = (usage.input, sent.cost.sent);
        if !self.is_warned && theirs.0 * 100 > ours.0 * (100 + WARN_PERCENT) {
            self.is_warned = true;
            let (theirs, ours) = (thousands(theirs.0), thousands(ours.0));
            out::print_notice(format!(
                "the provider counts {theirs} tokens where Neap counts {ours}: the real cost is higher than shown"
            ));
        }
        let before = self.ratio.per_mille();
        let report = PromptReport { ours, tools: Tokens(sent.tokens.get(Layer::Tools).0 * usage.calls), theirs };
        let budget = Tokens(session.state().policy().context_tokens_max);
        if let Some(now) = self.ratio.observe(report, budget, session.tools().tokens()) {
            self.assume(session).await?;
            if now > before {
                out::print_notice(format!(
                    "{} of Neap's tokens are now taken for 1,000 of the provider's, so that prompts fit by the provider's count",
                    thousands(1_000_000 / now)
                ));
            }
        }
        Ok(())
    }
}

/// Has a session's budget assume so many of its provider's tokens for a thousand of ours.
pub(crate) async fn assume_ratio(session: &mut Session, per_mille: u64) -> Result<(), Failure> {
    if session.state().policy().provider_tokens_per_mille != per_mille {
        session.set("provider_tokens_per_mille", &per_mille.to_string()).await?;
    }
    Ok(())
}

/// The user's profiles first, then the built-in ones.
pub(crate) fn profiles(data: &DataDir) -> Result<ModelProfiles, Failure> {
    let path = data.models_file();
    match read_text(&path)? {
        Some(table) => ModelProfiles::built_in().with_table(&table).map_err(|error| {
            Failure::new(format!("{}: {error}", path.display()))
                .hint("each model is a [[model]] with a name; docs/models.md lists its fields")
        }),
        None => Ok(ModelProfiles::built_in()),
    }
}

/// The default protocol. Servers other than OpenAI's nearly all speak Chat Completions.
fn default_api(profile: &ModelProfile, base_url: Option<&str>) -> WireApi {
    match profile.api {
        Some(WireApi::Responses) if base_url.is_some() || env::var(env::OPENAI_BASE_URL).is_some() => {
            WireApi::Chat
        }
        Some(api) => api,
        None => WireApi::Chat,
    }
}

fn resolve_base_url(api: WireApi, typed: Option<&str>) -> Result<BaseUrl, Failure> {
    let variable = match api {
        WireApi::Chat | WireApi::Responses => env::OPENAI_BASE_URL,
        WireApi::Messages => env::ANTHROPIC_BASE_URL,
    };
    let given = typed.map(str::to_owned).or_else(|| env::var(variable));
    let text = given.unwrap_or_else(|| default_base_url(api).to_owned());
    BaseUrl::parse(&text)
        .map_err(|error| Failure::new(error).hint("write it as https://host/v1 or http://localhost:8080/v1"))
}

/// The key for an address. A provider's own key is sent only over a private connection; `NEAP_API_KEY` is the
/// user's explicit choice and goes anywhere.
fn api_key(api: WireApi, base_url: &BaseUrl) -> Result<Option<ApiKey>, Failure> {
    if let Some(key) = env::var(env::NEAP_API_KEY) {
        return Ok(Some(ApiKey::new(key)));
    }
    let (found, names) = match api {
        WireApi::Chat | WireApi::Responses => {
            (env::var(env::OPENAI_API_KEY).map(ApiKey::new), env::OPENAI_API_KEY)
        }
        WireApi::Messages => {
            let key = env::var(env::ANTHROPIC_API_KEY).map(ApiKey::new);
            (key.or_else(|| env::var(env::ANTHROPIC_AUTH_TOKEN).map(ApiKey::bearer)), env::ANTHROPIC_API_KEY)
        }
    };
    let found = found.filter(|_| base_url.is_private());
    if found.is_none() && BaseUrl::parse(default_base_url(api)).is_ok_and(|home| home.host() == base_url.host()) {
        return Err(Failure::new(format!("{} requires a key", base_url.host()))
            .hint(format!("set {names} or {}, or choose another server with --base-url", env::NEAP_API_KEY)));
    }
    Ok(found)
}
