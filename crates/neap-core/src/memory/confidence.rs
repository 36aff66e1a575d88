//! Confidence from 0 to 1.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stored in thousandths, so that sums are exact and equal on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(u16);

impl Confidence {
    pub const FULL: Confidence = Confidence(1_000);

    /// Panics above 1,000; for constants.
    pub(crate) const fn of_thousandths(thousandths: u16) -> Self {
        assert!(thousandths <= 1_000, "a confidence is not above 1");
        Self(thousandths)
    }

    /// `None` above 1,000.
    pub fn from_thousandths(thousandths: u16) -> Option<Self> {
        (thousandths <= 1_000).then_some(Self(thousandths))
    }

    pub fn thousandths(self) -> u64 {
        u64::from(self.0)
    }

    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl TryFrom<f64> for Confidence {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) {
            return Ok(Self((value * 1_000.0).round() as u16));
        }
        Err(format!("a confidence of {value} is not between 0 and 1"))
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> f64 {
        confidence.value()
    }
}

/// Two decimals, or three where needed: `0.85`, `0.875`.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0.is_multiple_of(10) { 2 } else { 3 };
        write!(f, "{:.*}", decimals, self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_are_confidences() {
        for bad in [1.7, -0.1, f64::NAN, f64::INFINITY] {
            assert!(Confidence::try_from(bad).is_err(), "{bad}");
        }
        let sure = Confidence::try_from(0.85).unwrap();
        assert_eq!((sure.thousandths(), sure.to_string()), (850, "0.85".to_owned()));
        assert_eq!(serde_json::to_string(&sure).unwrap(), "0.85");
        assert!(serde_json::from_str::<Confidence>("1.7").is_err());
    }
}
