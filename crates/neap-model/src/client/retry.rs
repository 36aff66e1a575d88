//! When to ask again, and how long to wait before: decided here, waited elsewhere.

use std::time::Duration;

use crate::ModelError;

/// How often and how patiently to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all.
    pub attempts_max: u32,
    /// The wait after the first failure; it doubles with each.
    pub first_wait: Duration,
    /// It doubles up to here.
    pub wait_max: Duration,
    /// The longest wait that a provider may ask for; longer ones are for the caller to decide on.
    pub asked_wait_max: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts_max: 4,
            first_wait: Duration::from_millis(500),
            wait_max: Duration::from_secs(8),
            asked_wait_max: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// Never asks again.
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// How long to wait before asking again; none if that is not to be done. `jitter` is between 0 and 1: many who failed
    /// together are not to come back together. A wait that was asked for is never shortened.
    pub(crate) fn wait(&self, failures: u32, error: &ModelError, jitter: f64) -> Option<Duration> {
        if failures >= self.attempts_max {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.wait_max);
        let spread = doubled.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        match error {
            ModelError::RateLimited { retry_after: Some(asked), .. } => {
                (*asked <= self.asked_wait_max).then(|| *asked + doubled.mul_f64(0.1 * jitter.clamp(0.0, 1.0)))
            }
            ModelError::RateLimited { retry_after: None, .. } | ModelError::Transport(_) => Some(spread),
            ModelError::Refused(_)
            | ModelError::ContextFull(_)
            | ModelError::Protocol(_)
            | ModelError::TimedOut(_)
            | ModelError::Unusable(_)
            | ModelError::ScriptEnded => None,
        }
    }
}

/// What a provider asks to wait, from its headers: milliseconds, seconds, or a date.
pub(crate) fn asked_wait(millis: Option<&str>, after: Option<&str>, now: jiff::Timestamp) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    if let Some(millis) = millis.and_then(number) {
        return Some(Duration::from_secs_f64((millis / 1_000.0).min(1e9)));
    }
    let after = after?.trim();
    if let Some(seconds) = number(after) {
        return Some(Duration::from_secs_f64(seconds.min(1e9)));
    }
    let until = jiff::fmt::rfc2822::parse(after).ok()?.timestamp();
    // A moment that is past asks for no wait.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limited(retry_after: Option<Duration>) -> ModelError {
        ModelError::RateLimited { retry_after, message: String::new() }
    }

    #[test]
    fn waits_double_up_to_a_cap_and_end() {
        let retry = Retry { attempts_max: 7, ..Retry::default() };
        let waits = |jitter| (1..8).map(move |n| retry.wait(n, &ModelError::Transport(String::new()), jitter));
        let most: Vec<_> = waits(1.0).map(|wait| wait.map(|wait| wait.as_millis())).collect();
        assert_eq!(most, [Some(500), Some(1_000), Some(2_000), Some(4_000), Some(8_000), Some(8_000), None]);
        let least: Vec<_> = waits(0.0).map(|wait| wait.map(|wait| wait.as_millis())).collect();
        assert_eq!(least, [Some(250), Some(500), Some(1_000), Some(2_000), Some(4_000), Some(4_000), None]);
    }

    #[test]
    fn what_is_asked_for_is_waited_or_not_waited_at_all() {
        let retry = Retry::default();
        for jitter in [0.0, 0.3, 1.0] {
            let wait = retry.wait(1, &limited(Some(7 * SECOND)), jitter).expect("a wait");
            assert!(wait >= 7 * SECOND && wait < 8 * SECOND, "{wait:?}");
        }
        assert!(retry.wait(1, &limited(Some(60 * SECOND)), 0.0).is_some());
        assert_eq!(retry.wait(1, &limited(Some(61 * SECOND)), 0.0), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let text = String::new;
        let never = [
            ModelError::Refused(text()),
            ModelError::ContextFull(text()),
            ModelError::Protocol(text()),
            ModelError::TimedOut(SECOND),
            ModelError::Unusable(text()),
            ModelError::ScriptEnded,
        ];
        for error in never {
            assert_eq!(Retry::default().wait(1, &error, 0.5), None, "{error:?}");
        }
        assert!(Retry::default().wait(1, &limited(None), 0.5).is_some());
        assert_eq!(Retry::never().wait(1, &limited(None), 0.5), None);
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let now: jiff::Timestamp = "2026-11-15T08:49:37Z".parse().expect("a moment");
        let table = [
            (Some("1500"), Some("9"), Some(1_500)),
            (None, Some("7"), Some(7_000)),
            (None, Some(" 0.5 "), Some(500)),
            (None, Some("Sun, 15 Nov 2026 08:50:07 GMT"), Some(30_000)),
            (None, Some("Sun, 15 Nov 2026 08:00:00 GMT"), Some(0)),
            (None, Some("-3"), None),
            (None, Some("soon"), None),
            (Some("NaN"), None, None),
            (None, None, None),
        ];
        for (millis, after, want) in table {
            let got = asked_wait(millis, after, now).map(|wait| wait.as_millis());
            assert_eq!(got, want, "{millis:?} {after:?}");
        }
    }
}
