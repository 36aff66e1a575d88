//! Decides whether to retry and how long to wait. Callers do the waiting.

use std::time::Duration;

use crate::ModelError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Including the first one.
    pub attempts_max: u32,
    /// The wait after the first failure; it doubles with each.
    pub first_wait: Duration,
    pub wait_max: Duration,
    /// Gives up, rather than waits, when a provider requests a longer wait.
    pub retry_after_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 4,
            first_wait: Duration::from_millis(500),
            wait_max: Duration::from_secs(8),
            retry_after_max: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The wait before the next attempt; `None` to give up. `jitter` is between 0 and 1 and spreads clients that
    /// failed together. A wait that the provider requested is never shortened.
    pub(crate) fn backoff(&self, failures: u32, error: &ModelError, jitter: f64) -> Option<Duration> {
        if failures >= self.attempts_max {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.wait_max);
        let spread = doubled.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        match error {
            ModelError::RateLimited { retry_after: Some(wait), .. } => {
                (*wait <= self.retry_after_max).then(|| *wait + doubled.mul_f64(0.1 * jitter.clamp(0.0, 1.0)))
            }
            ModelError::RateLimited { retry_after: None, .. } | ModelError::Transport(_) => Some(spread),
            ModelError::Refused(_)
            | ModelError::ContextFull(_)
            | ModelError::Protocol(_)
            | ModelError::TimedOut(_)
            | ModelError::ScriptEnded => None,
        }
    }
}

/// The provider's requested wait, from its headers: milliseconds, seconds, or a date.
pub(crate) fn parse_retry_after(
    millis: Option<&str>,
    after: Option<&str>,
    now: jiff::Timestamp,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    if let Some(millis) = millis.and_then(number) {
        return Some(Duration::from_secs_f64((millis / 1_000.0).min(1e9)));
    }
    let after = after?.trim();
    if let Some(seconds) = number(after) {
        return Some(Duration::from_secs_f64(seconds.min(1e9)));
    }
    let until = jiff::fmt::rfc2822::parse(after).ok()?.timestamp();
    // A date in the past means no wait.
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
        let retry = RetryPolicy { attempts_max: 7, ..RetryPolicy::default() };
        let waits = |jitter| (1..8).map(move |n| retry.backoff(n, &ModelError::Transport(String::new()), jitter));
        let most: Vec<_> = waits(1.0).map(|wait| wait.map(|wait| wait.as_millis())).collect();
        assert_eq!(most, [Some(500), Some(1_000), Some(2_000), Some(4_000), Some(8_000), Some(8_000), None]);
        let least: Vec<_> = waits(0.0).map(|wait| wait.map(|wait| wait.as_millis())).collect();
        assert_eq!(least, [Some(250), Some(500), Some(1_000), Some(2_000), Some(4_000), Some(4_000), None]);
    }

    #[test]
    fn what_is_asked_for_is_waited_or_not_waited_at_all() {
        let retry = RetryPolicy::default();
        for jitter in [0.0, 0.3, 1.0] {
            let wait = retry.backoff(1, &limited(Some(7 * SECOND)), jitter).expect("a wait");
            assert!(wait >= 7 * SECOND && wait < 8 * SECOND, "{wait:?}");
        }
        assert!(retry.backoff(1, &limited(Some(60 * SECOND)), 0.0).is_some());
        assert_eq!(retry.backoff(1, &limited(Some(61 * SECOND)), 0.0), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let text = String::new;
        let never = [
            ModelError::Refused(text()),
            ModelError::ContextFull(text()),
            ModelError::Protocol(text()),
            ModelError::TimedOut(SECOND),
            ModelError::ScriptEnded,
        ];
        for error in never {
            assert_eq!(RetryPolicy::default().backoff(1, &error, 0.5), None, "{error:?}");
        }
        assert!(RetryPolicy::default().backoff(1, &limited(None), 0.5).is_some());
        assert_eq!(RetryPolicy::never().backoff(1, &limited(None), 0.5), None);
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
            let got = parse_retry_after(millis, after, now).map(|wait| wait.as_millis());
            assert_eq!(got, want, "{millis:?} {after:?}");
        }
    }
}
