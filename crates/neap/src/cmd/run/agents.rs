//! How each agent learns the proxy's address, and which agents cannot use a proxy.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A variable that programs read their provider's base URL from.
pub(super) struct UrlVariable {
    pub(super) name: &'static str,
    /// Appended to the proxy's URL.
    path: &'static str,
    /// Set only beside another variable with this prefix: on its own it would change which provider is used.
    needs_prefix: Option<&'static str>,
}

const PROVIDER_PREFIX: &str = "COPILOT_PROVIDER_";
pub(super) const COPILOT_URL: &str = "COPILOT_PROVIDER_BASE_URL";

const URL_VARIABLES: [UrlVariable; 5] = [
    UrlVariable { name: "ANTHROPIC_BASE_URL", path: "", needs_prefix: None },
    UrlVariable { name: "OPENAI_BASE_URL", path: "/v1", needs_prefix: None },
    UrlVariable { name: "OPENAI_API_BASE", path: "/v1", needs_prefix: None },
    UrlVariable { name: COPILOT_URL, path: "", needs_prefix: Some(PROVIDER_PREFIX) },
    UrlVariable { name: "NEAP_PROXY_URL", path: "", needs_prefix: None },
];

/// The variables to set, with their values.
pub(super) fn url_variables<'a>(
    proxy_url: &'a str,
    is_set: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'static str, String)> + 'a {
    let wanted = move |variable: &&UrlVariable| variable.needs_prefix.is_none_or(&is_set);
    URL_VARIABLES
        .iter()
        .filter(wanted)
        .map(move |variable| (variable.name, format!("{proxy_url}{}", variable.path)))
}

/// How an agent comes to use the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads the variables.
    Variables,
    /// It also needs these arguments before its own; `{url}` stands for the proxy's URL.
    Arguments(&'static [&'static str]),
    /// It reads the variables only if one with this prefix is set; else it is out of reach, for this reason.
    VariablesIf(&'static str, &'static str),
    /// It is out of reach, for this reason.
    OutOfReach(&'static str),
}

pub(super) struct AgentProgram {
    /// Its executable, without folder and extension.
    name: &'static str,
    pub(super) access: Access,
    /// The variable that names its provider, where that is not one that all programs share.
    pub(super) provider_variable: Option<&'static str>,
    /// Settings of its own that send requests elsewhere.
    pub(super) elsewhere: &'static str,
}

const CURSOR: Access =
    Access::OutOfReach("Cursor's CLI sends its requests to Cursor's servers, in their own format");

const AGENTS: [AgentProgram; 8] = [
    AgentProgram {
        name: "claude",
        access: Access::Variables,
        provider_variable: None,
        elsewhere: "Claude Code goes elsewhere if CLAUDE_CODE_USE_BEDROCK or CLAUDE_CODE_USE_VERTEX is set, or if its \
                    settings.json sets ANTHROPIC_BASE_URL",
    },
    AgentProgram {
        name: "codex",
        // Up to 0.113 it reads OPENAI_BASE_URL only, from 0.120 on this setting only.
        access: Access::Arguments(&["-c", "openai_base_url=\"{url}/v1\""]),
        provider_variable: None,
        elsewhere: "Codex goes elsewhere if its config.toml or a profile sets model_provider: set base_url of that provider \
                    to a proxy started with `neap serve`",
    },
    AgentProgram {
        name: "copilot",
        access: Access::VariablesIf(
            PROVIDER_PREFIX,
            "GitHub Copilot CLI sends its requests to GitHub's servers, in their own format, unless it has a provider of \
             your own: set COPILOT_PROVIDER_API_KEY and COPILOT_MODEL (`copilot help providers`)",
        ),
        provider_variable: Some(COPILOT_URL),
        elsewhere: "GitHub Copilot CLI uses the proxy only with a provider of your own (`copilot help providers`)",
    },
    AgentProgram {
        name: "opencode",
        access: Access::Variables,
        provider_variable: None,
        elsewhere: "opencode uses the proxy for the providers openai and anthropic with an API key; others, sign-ins and a \
                    baseURL in opencode.json go elsewhere",
    },
    AgentProgram {
        name: "aider",
        access: Access::Variables,
        provider_variable: None,
        elsewhere: "aider uses the proxy for models of OpenAI and Anthropic, unless --openai-api-base or .aider.conf.yml \
                    names another address",
    },
    AgentProgram {
        name: "gemini",
        access: Access::OutOfReach("Gemini CLI uses Google's own protocol, which the proxy does not support"),
        provider_variable: None,
        elsewhere: "",
    },
    AgentProgram { name: "cursor-agent", access: CURSOR, provider_variable: None, elsewhere: "" },
    AgentProgram { name: "cursor", access: CURSOR, provider_variable: None, elsewhere: "" },
];

impl AgentProgram {
    /// The agent that a command runs, by the name of its executable.
    pub(super) fn of_command(program: &OsStr) -> Option<&'static Self> {
        let stem = Path::new(program).file_stem()?.to_str()?;
        AGENTS.iter().find(|agent| stem.eq_ignore_ascii_case(agent.name))
    }

    /// Arguments to insert before the user's.
    pub(super) fn arguments(&self, proxy_url: &str) -> Vec<OsString> {
        match self.access {
            Access::Arguments(arguments) => {
                arguments.iter().map(|argument| argument.replace("{url}", proxy_url).into()).collect()
            }
            Access::Variables | Access::VariablesIf(..) | Access::OutOfReach(_) => Vec::new(),
        }
    }

    /// Why none of its requests will come to the proxy, if that is known beforehand.
    pub(super) fn out_of_reach(&self, is_set: impl Fn(&str) -> bool) -> Option<&'static str> {
        match self.access {
            Access::Variables | Access::Arguments(_) => None,
            Access::VariablesIf(prefix, reason) => (!is_set(prefix)).then_some(reason),
            Access::OutOfReach(reason) => Some(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:9";

    fn agent(command: &str) -> &'static AgentProgram {
        AgentProgram::of_command(OsStr::new(command)).unwrap_or_else(|| panic!("{command} is not known"))
    }

    #[test]
    fn an_agent_is_known_by_its_executable() {
        for command in ["codex", "/usr/local/bin/codex", "codex.exe", "CODEX.cmd", "./node_modules/.bin/codex"] {
            assert_eq!(agent(command).name, "codex", "{command}");
        }
        for command in ["sh", "codex-helper", "", "mycodex", "/opt/codex/run"] {
            assert!(AgentProgram::of_command(OsStr::new(command)).is_none(), "{command}");
        }
    }

    /// Codex ignores OPENAI_BASE_URL: it is told by an argument, which must be TOML.
    #[test]
    fn codex_is_told_by_arguments_and_the_others_by_variables() {
        assert_eq!(agent("codex").arguments(URL), ["-c", "openai_base_url=\"http://127.0.0.1:9/v1\""]);
        for other in ["claude", "opencode", "aider", "copilot", "gemini", "cursor-agent"] {
            assert!(agent(other).arguments(URL).is_empty(), "{other}");
        }
        let names: Vec<&str> = url_variables(URL, |_| false).map(|(name, _)| name).collect();
        assert_eq!(names, ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "NEAP_PROXY_URL"]);
    }

    /// With COPILOT_PROVIDER_BASE_URL alone, Copilot refuses to start for somebody who is signed in at GitHub.
    #[test]
    fn copilot_is_pointed_here_only_with_a_provider_of_ones_own() {
        let copilot = |is_set: bool| {
            let set: Vec<_> =
                url_variables(URL, move |_| is_set).filter(|(name, _)| *name == COPILOT_URL).collect();
            (set, agent("copilot").out_of_reach(move |_| is_set).is_some())
        };
        assert_eq!(copilot(false), (vec![], true));
        // Without /v1: it appends /v1/messages for Anthropic, and the proxy accepts /chat/completions as it is.
        assert_eq!(copilot(true), (vec![(COPILOT_URL, URL.to_owned())], false));
    }

    #[test]
    fn an_agent_that_may_go_elsewhere_has_a_hint() {
        for known in &AGENTS {
            let is_out_of_reach = matches!(known.access, Access::OutOfReach(_));
            assert_eq!(known.elsewhere.is_empty(), is_out_of_reach, "{}", known.name);
        }
        assert!(agent("gemini").out_of_reach(|_| true).is_some_and(|reason| reason.contains("Google")));
        assert!(agent("cursor-agent").out_of_reach(|_| true).is_some_and(|reason| reason.contains("Cursor")));
        assert!(agent("claude").out_of_reach(|_| false).is_none());
    }
}
