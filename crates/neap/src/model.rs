//! Who answers: a model by its name, its address and its key, from what was typed and from the environment.

use std::sync::Arc;

use neap_core::cost::{Cost, budget_that_fits};
use neap_engine::Session;
use neap_model::ChatModel;
use neap_model::bpe::counter_for;
use neap_model::client::{Api, ApiKey, BaseUrl, Client, ClientOptions};
use neap_model::profile::{Profile, Profiles};
use neap_model::summarize::ModelSummarizer;
use neap_model::usage::Usage;

use crate::cli::ModelArgs;
use crate::env::{self, DataDir};
use crate::out::{self, Failure, thousands};
use crate::outlook::text_of;

/// How much more a provider may count than we do before it is told, in per cent: no two count delimiters alike.
const WARN_PERCENT: u64 = 10;

/// A model that was asked for.
pub(crate) struct Chosen {
    pub(crate) client: Arc<Client>,
    pub(crate) profile: Profile,
    pub(crate) api: Api,
    pub(crate) base_url: BaseUrl,
    /// Whether it was told that the provider counts more than we do.
    is_warned: bool,
}

/// The model that was asked for; none if none was.
pub(crate) fn choose(data: &DataDir, args: &ModelArgs) -> Result<Option<Chosen>, Failure> {
    let ModelArgs { model, base_url, api } = args;
    let Some(model) = model.as_deref().map(str::trim).filter(|name| !name.is_empty()) else {
        if model.is_none() && (base_url.is_some() || api.is_some()) {
            return Err(Failure::new("an address is of no use without a model").hint("name one with --model"));
        }
        return Ok(None);
    };
    let profile = profiles(data)?.of(model);
    let api = api.map_or_else(|| guessed(&profile, base_url.as_deref()), Api::from);
    let base_url = address(api, base_url.as_deref())?;
    let mut options = ClientOptions::new(api, base_url.clone(), model);
    options.key = key(api, &base_url)?;
    options.reply_tokens_max = Some(profile.reply_tokens());
    options.reasons = profile.reasons;
    let client = Client::new(options).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Some(Chosen { client: Arc::new(client), profile, api, base_url, is_warned: false }))
}

/// Who summarises, if somebody else than the built-in summariser is to: a model at the same place.
pub(crate) fn summarizer(
    data: &DataDir,
    args: &ModelArgs,
    name: Option<String>,
) -> Result<Option<Arc<ModelSummarizer>>, Failure> {
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else { return Ok(None) };
    let args = ModelArgs { model: Some(name), base_url: args.base_url.clone(), api: args.api };
    let chosen = choose(data, &args)?;
    Ok(chosen.map(|chosen| Arc::new(ModelSummarizer::new(chosen.client))))
}

impl Chosen {
    /// How a new session counts its tokens.
    pub(crate) fn encoding(&self) -> String {
        let name = self.profile.encoding.as_deref().unwrap_or(self.client.name());
        counter_for(name).encoding().to_owned()
    }

    /// The session's prices are this model's; what was set by hand comes after them.
    pub(crate) fn settings(&self, set: Vec<(String, String)>) -> Vec<(String, String)> {
        let prices = self.profile.price_settings().into_iter();
        prices.map(|(key, value)| (key.to_owned(), value.to_string())).chain(set).collect()
    }

    /// A session that was made for a larger model is made to fit this one.
    pub(crate) async fn fit(&self, session: &mut Session) -> Result<(), Failure> {
        let Some(most) = self.profile.context_tokens_max() else { return Ok(()) };
        let budget = session.state().policy().context_budget();
        if budget > most {
            session.set("context_tokens_max", &most.0.to_string()).await?;
            out::aside(format!(
                "this model takes {} tokens beside its reply: context_tokens_max was {} and is now that",
                thousands(most.0),
                thousands(budget.0)
            ));
        }
        Ok(())
    }

    /// What was used since the last look; none if the provider does not tell.
    pub(crate) fn used(&self) -> Option<Usage> {
        let usage = self.client.meter().take();
        (usage.calls > 0).then_some(usage)
    }

    /// Holds what the provider counted against what we did: if it counts more, that is told once, and the budget is
    /// lowered until what it counts fits.
    pub(crate) async fn heed(&mut self, session: &mut Session, ours: &Cost, used: &Usage) -> Result<(), Failure> {
        // Calls that failed on the way were counted by one side only.
        if used.calls != ours.calls || used.input <= ours.sent {
            return Ok(());
        }
        let (theirs, ours) = (used.input, ours.sent);
        if !self.is_warned && theirs.0 * 100 > ours.0 * (100 + WARN_PERCENT) {
            self.is_warned = true;
            let (theirs, ours) = (thousands(theirs.0), thousands(ours.0));
            out::aside(format!(
                "the provider counts {theirs} tokens where we count {ours}: what is shown is less than what is paid"
            ));
        }
        let budget = session.state().policy().context_budget();
        let most = self.profile.context_tokens_max();
        if let Some(fitting) = most.and_then(|most| budget_that_fits(budget, ours, theirs, most)) {
            session.set("context_tokens_max", &fitting.0.to_string()).await?;
            out::aside(format!(
                "context_tokens_max is now {}, so that what the provider counts fits",
                thousands(fitting.0)
            ));
        }
        Ok(())
    }
}

/// What was used, and what it cost, in words.
pub(crate) fn told(profile: &Profile, usage: &Usage) -> String {
    let mut parts = vec![
        format!("{} in", thousands(usage.input.0)),
        format!("{} out", thousands(usage.output.0)),
        format!("{} % cached", usage.cached_percent()),
    ];
    parts.extend(profile.dollars(usage).map(out::dollars));
    parts.join(" · ")
}

/// The built-in profiles, and those of the user before them.
pub(crate) fn profiles(data: &DataDir) -> Result<Profiles, Failure> {
    let path = data.models();
    match text_of(&path)? {
        Some(table) => Profiles::built_in().with(&table).map_err(|error| {
            Failure::new(format!("{}: {error}", path.display()))
                .hint("each model is a [[model]] with a name; docs/models.md lists what can be said of it")
        }),
        None => Ok(Profiles::built_in()),
    }
}

/// The protocol where none is named. At another address than the maker's, nearly all speak Chat Completions.
fn guessed(profile: &Profile, base_url: Option<&str>) -> Api {
    match profile.api {
        Some(Api::Responses) if base_url.is_some() || env::text(env::OPENAI_BASE_URL).is_some() => Api::OpenAi,
        Some(api) => api,
        None => Api::OpenAi,
    }
}

fn address(api: Api, typed: Option<&str>) -> Result<BaseUrl, Failure> {
    let variable = match api {
        Api::OpenAi | Api::Responses => env::OPENAI_BASE_URL,
        Api::Anthropic => env::ANTHROPIC_BASE_URL,
    };
    let given = typed.map(str::to_owned).or_else(|| env::text(variable));
    let text = given.unwrap_or_else(|| api.home().to_owned());
    BaseUrl::parse(&text)
        .map_err(|error| Failure::new(error).hint("write it as https://host/v1 or http://localhost:8080/v1"))
}

/// The key for an address. Keys of makers are not sent where others could read them on the way; one that was given to
/// Neap by name is the user's own choice.
fn key(api: Api, base_url: &BaseUrl) -> Result<Option<ApiKey>, Failure> {
    if let Some(key) = env::text(env::NEAP_API_KEY) {
        return Ok(Some(ApiKey::new(key)));
    }
    let (found, names) = match api {
        Api::OpenAi | Api::Responses => (env::text(env::OPENAI_API_KEY).map(ApiKey::new), env::OPENAI_API_KEY),
        Api::Anthropic => {
            let key = env::text(env::ANTHROPIC_API_KEY).map(ApiKey::new);
            (key.or_else(|| env::text(env::ANTHROPIC_AUTH_TOKEN).map(ApiKey::bearer)), env::ANTHROPIC_API_KEY)
        }
    };
    let found = found.filter(|_| base_url.is_private());
    if found.is_none() && BaseUrl::parse(api.home()).is_ok_and(|home| home.host() == base_url.host()) {
        return Err(Failure::new(format!("{} wants a key", base_url.host())).hint(format!(
            "put it into {names} or {}, or name another place with --base-url",
            env::NEAP_API_KEY
        )));
    }
    Ok(found)
}
