//! Calibration of an agent's confidence against the outcomes of its decisions (003, Calibration Note).
//!
//! Accuracy is the mean value of reviewed decisions (success 1, partial ½, failure 0), Brier the mean squared
//! difference of confidence and value, gap the accuracy minus mean confidence. Bands are compared as exact sums.

use super::ReviewStats;

/// Fewer reviews give no calibration.
pub const REVIEWS_MIN: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    pub reviews: u64,
    pub accuracy: f64,
    pub brier: f64,
    pub confidence: f64,
    /// Accuracy minus mean confidence; negative is overconfident.
    pub gap: f64,
    pub advice: Advice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Gap below −0.10.
    Overconfident,
    /// From −0.10 to −0.05.
    SlightlyOverconfident,
    /// Gap within ±0.05.
    Calibrated,
    /// From 0.05 to 0.10.
    SlightlyUnderconfident,
    /// Above 0.10.
    Underconfident,
}

impl ReviewStats {
    /// `None` below [`REVIEWS_MIN`] reviews.
    pub fn calibration(&self) -> Option<Calibration> {
        if self.count < REVIEWS_MIN {
            return None;
        }
        let mean = |sum: u64, unit: f64| sum as f64 / (self.count as f64 * unit);
        let (accuracy, confidence) = (mean(self.value_sum, 1e3), mean(self.confidence_sum, 1e3));
        Some(Calibration {
            reviews: self.count,
            accuracy,
            brier: mean(self.squares_sum, 1e6),
            confidence,
            gap: accuracy - confidence,
            advice: self.advice(),
        })
    }

    fn advice(&self) -> Advice {
        let difference = self.value_sum.abs_diff(self.confidence_sum);
        let overconfident = self.confidence_sum > self.value_sum;
        match (difference < 50 * self.count, difference > 100 * self.count, overconfident) {
            (true, _, _) => Advice::Calibrated,
            (false, true, true) => Advice::Overconfident,
            (false, true, false) => Advice::Underconfident,
            (false, false, true) => Advice::SlightlyOverconfident,
            (false, false, false) => Advice::SlightlyUnderconfident,
        }
    }
}

impl Calibration {
    /// e.g. `Recent accuracy: 97%. Brier: 0.019. Slightly underconfident — trust your analysis.`
    pub fn note(&self) -> String {
        let advice = match self.advice {
            Advice::Overconfident => "Overconfident — lower your confidence and look for what speaks against it.",
            Advice::SlightlyOverconfident => "Slightly overconfident — check once more before you commit.",
            Advice::Calibrated => "Well calibrated — your confidence fits what came of it.",
            Advice::SlightlyUnderconfident => "Slightly underconfident — trust your analysis.",
            Advice::Underconfident => "Underconfident — you are right more often than you think.",
        };
        format!("Recent accuracy: {:.0}%. Brier: {:.3}. {advice}", self.accuracy * 100.0, self.brier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Confidence, Outcome};

    fn reviews(decisions: &[(u16, Outcome)]) -> ReviewStats {
        let mut reviews = ReviewStats::default();
        for (sure, outcome) in decisions {
            reviews.tally(Confidence::from_thousandths(*sure).unwrap(), *outcome, true);
        }
        reviews
    }

    #[track_caller]
    fn check(decisions: &[(u16, Outcome)], numbers: [f64; 4], advice: Advice) {
        let found = reviews(decisions).calibration().unwrap();
        let got = [found.accuracy, found.brier, found.confidence, found.gap];
        for (got, want) in got.iter().zip(numbers) {
            assert!((got - want).abs() < 1e-9, "{got} is not {want}: {found:?}");
        }
        assert_eq!(found.advice, advice);
    }

    /// SOURCES, Newton: Brier = mean (confidence − value)², success 1, partial 0.5, failure 0.
    #[test]
    fn vectors_computed_by_hand() {
        use Outcome::{Failure, Partial, Success};
        // Squared differences 0.01, 0.64, 0.01, 0.09 and 0.25: 1.00 over five is 0.2.
        let mixed = [(900, Success), (800, Failure), (600, Partial), (700, Success), (500, Success)];
        check(&mixed, [0.7, 0.2, 0.7, 0.0], Advice::Calibrated);
        // Five failures at full confidence, five successes at none: the worst possible score.
        check(&[(1_000, Failure); 5], [0.0, 1.0, 1.0, -1.0], Advice::Overconfident);
        check(&[(0, Success); 5], [1.0, 1.0, 0.0, 1.0], Advice::Underconfident);
    }

    /// SOURCES, Newton: |gap| < .05 calibrated, < −.10 overconfident, > .10 underconfident, between: slightly.
    #[test]
    fn bands_at_their_edges() {
        for (sure, advice) in [
            (951, Advice::Calibrated),
            (950, Advice::SlightlyUnderconfident),
            (900, Advice::SlightlyUnderconfident),
            (899, Advice::Underconfident),
        ] {
            assert_eq!(reviews(&[(sure, Outcome::Success); 7]).calibration().unwrap().advice, advice, "{sure}");
        }
        for (sure, advice) in [
            (49, Advice::Calibrated),
            (50, Advice::SlightlyOverconfident),
            (100, Advice::SlightlyOverconfident),
            (101, Advice::Overconfident),
        ] {
            assert_eq!(reviews(&[(sure, Outcome::Failure); 7]).calibration().unwrap().advice, advice, "{sure}");
        }
    }

    /// SOURCES, Newton: advice from ≥ 5 reviewed.
    #[test]
    fn fewer_than_five_reviews_say_nothing() {
        assert_eq!(reviews(&[(500, Outcome::Success); 4]).calibration(), None);
        assert!(reviews(&[(500, Outcome::Success); 5]).calibration().is_some());
        assert_eq!(reviews(&[(500, Outcome::Pending); 9]).calibration(), None);
    }

    /// 003, Example, Note: sixteen decisions, one of them partial: 15.5 of 16 are 97 %. Fifteen at 0.9 (0.01 each)
    /// and one at 0.9 with half (0.16): 0.31 over 16 is 0.019.
    #[test]
    fn newton_calibration_note_in_the_seeds_words() {
        let mut all = vec![(900, Outcome::Success); 15];
        all.push((900, Outcome::Partial));
        let note = reviews(&all).calibration().unwrap().note();
        assert_eq!(note, "Recent accuracy: 97%. Brier: 0.019. Slightly underconfident — trust your analysis.");
    }
}
