//! Parses a call's arguments leniently: undeclared ones are dropped, missing or ill-typed ones are refused with an
//! explanation.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::base::ids::Stamp;
use crate::base::project_id::ProjectId;
use crate::base::refusal::Refusal;
use crate::memory::{Confidence, MemoryId};

pub(super) struct Arguments<'a> {
    tool: &'a str,
    values: Map<String, Value>,
}

impl<'a> Arguments<'a> {
    pub(super) fn parse(tool: &'a str, text: &str) -> Result<Self, Refusal> {
        if text.trim().is_empty() {
            return Ok(Self { tool, values: Map::new() });
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(values)) => Ok(Self { tool, values }),
            Ok(Value::Null) => Ok(Self { tool, values: Map::new() }),
            Ok(_) => Err(Refusal::new(format!("Arguments of {tool} must be a JSON object."))),
            Err(error) => Err(Refusal::new(format!("Arguments of {tool} are not valid JSON: {error}."))),
        }
    }

    /// The project that it names; none for an empty name.
    pub(super) fn project(&self) -> Result<Option<ProjectId>, Refusal> {
        let name: Option<String> = self.optional("project")?;
        let parse = |name: String| {
            let refusal = |error| Refusal::new(format!("'project' is not the name of a project: {error}."));
            ProjectId::from_name(&name).map_err(refusal)
        };
        name.filter(|name| !name.trim().is_empty()).map(parse).transpose()
    }

    pub(super) fn optional(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::new(format!("Argument '{key}' of {} must be text.", self.tool))),
        }
    }

    pub(super) fn required(&self, key: &str) -> Result<String, Refusal> {
        self.optional(key)?.ok_or_else(|| Refusal::new(format!("{} needs the argument '{key}'.", self.tool)))
    }

    /// Results call it `effort_id`, so small models send it back under that name.
    pub(super) fn id(&self) -> Result<Option<String>, Refusal> {
        Ok(self.optional("id")?.or(self.optional("effort_id")?))
    }

    pub(super) fn required_id(&self) -> Result<String, Refusal> {
        match self.id()? {
            Some(id) => Ok(id),
            None => self.required("id"),
        }
    }

    /// A non-negative whole number; zero if absent.
    pub(super) fn number_or_zero(&self, key: &str) -> Result<usize, Refusal> {
        let number = match self.values.get(key) {
            None | Some(Value::Null) => Some(0),
            Some(value) => value.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        let refusal =
            || Refusal::new(format!("Argument '{key}' of {} must be a whole number from 0 on.", self.tool));
        number.ok_or_else(refusal)
    }

    /// A whole number above zero; saturates at `u64::MAX`.
    pub(super) fn positive_number(&self, key: &str) -> Result<Option<u64>, Refusal> {
        let whole = |number: &f64| *number >= 1.0 && number.fract() == 0.0;
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().or(value.as_f64().filter(whole).map(|number| number as u64)) {
                Some(count) if count > 0 => Ok(Some(count)),
                Some(_) | None => {
                    Err(Refusal::new(format!("Argument '{key}' of {} must be a whole number above 0.", self.tool)))
                }
            },
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Refusal> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Refusal::new(format!("Argument '{key}' of {} must be true or false.", self.tool))),
        }
    }

    /// A list of texts; a single text is a list of one.
    pub(super) fn list(&self, key: &str) -> Result<Vec<String>, Refusal> {
        let wrong = || Refusal::new(format!("Argument '{key}' of {} must be a list of texts.", self.tool));
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(values)) => {
                values.iter().map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// A number from 0 to 1.
    pub(super) fn fraction(&self, key: &str) -> Result<Option<Confidence>, Refusal> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_f64().ok_or_else(|| {
                    Refusal::new(format!("Argument '{key}' of {} must be a number from 0 to 1.", self.tool))
                })?;
                Confidence::try_from(number).map(Some).map_err(|error| Refusal::new(format!("{error}.")))
            }
        }
    }

    /// One of a few words, deserialised into its type.
    pub(super) fn one_of<T: DeserializeOwned>(&self, key: &str, known: &str) -> Result<Option<T>, Refusal> {
        let Some(given) = self.optional(key)? else { return Ok(None) };
        let folded = given.trim().to_lowercase().replace([' ', '-'], "_");
        serde_json::from_value(Value::String(folded)).map(Some).map_err(|_| {
            let given: String = given.chars().filter(|c| !c.is_control()).take(40).collect();
            Refusal::new(format!("Argument '{key}' of {} is '{given}'.", self.tool))
                .hint(format!("one of: {known}"))
        })
    }

    /// The first moment of a day.
    pub(super) fn day(&self, key: &str) -> Result<Option<Stamp>, Refusal> {
        let Some(given) = self.optional(key)? else { return Ok(None) };
        let day = Stamp::parse_date(given.trim());
        let refusal = || Refusal::new(format!("Argument '{key}' of {} must be a day as YYYY-MM-DD.", self.tool));
        day.ok_or_else(refusal).map(Some)
    }

    pub(super) fn time(&self, key: &str) -> Result<Option<Stamp>, Refusal> {
        let Some(given) = self.optional(key)? else { return Ok(None) };
        let refusal = || {
            Refusal::new(format!("Argument '{key}' of {} is no time.", self.tool))
                .hint("2026-05-01, or 2026-05-01T09:30:00Z")
        };
        Stamp::parse_iso(&given).ok_or_else(refusal).map(Some)
    }

    pub(super) fn memory_id(&self, key: &str) -> Result<MemoryId, Refusal> {
        self.required(key)?.parse().map_err(|error| Refusal::new(format!("{error}.")))
    }
}
