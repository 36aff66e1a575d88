//! A provider that counts more than we do, message by message: nothing over its budget is sent, and little of it is left unused.

use proptest::prelude::*;

use super::*;

const CLAUDE: TokenEstimate = TokenEstimate { likely: 1_200, worst: 1_500 };

fn reported(pairs: &[(u64, u64)]) -> TokenRatio {
    let mut ratio = TokenRatio::default();
    for (ours, theirs) in pairs {
        ratio.observe(Tokens(*ours), Tokens(*theirs));
    }
    ratio
}

#[test]
fn a_ratio_rises_at_once_and_falls_by_and_by() {
    assert_eq!(reported(&[(10_000, 11_000), (10_000, 13_000)]).per_mille, 1_300);
    assert_eq!(reported(&[(10_000, 13_000), (10_000, 9_000)]).per_mille, 1_250);
    let often = vec![(10_000, 9_000); 60];
    assert_eq!(reported(&[&[(10_000, 13_000)][..], &often].concat()).per_mille, 900);
}

#[test]
fn reports_that_are_no_count_of_the_request_are_ignored() {
    for (ours, theirs) in [(999, 1_500), (10_000, 0), (10_000, 7), (10_000, 90_000), (10_000, u64::MAX)] {
        assert_eq!(reported(&[(10_000, 12_000), (ours, theirs)]), reported(&[(10_000, 12_000)]), "{theirs}");
    }
}

#[test]
fn without_reports_the_worst_is_assumed_and_with_them_little_is_left_unused() {
    let budget = Tokens(200_000);
    let ours = |reports| {
        let ratio = reported(&vec![(50_000, 55_000); reports]);
        TokenScale::new(CLAUDE, Some(ratio).filter(|ratio| ratio.reports > 0), None).our_budget(budget, Tokens(0))
    };
    assert_eq!(ours(0), Tokens(133_333));
    assert!(ours(1) > Tokens(170_000), "{}", ours(1));
    assert!(ours(6) > Tokens(178_000), "{}", ours(6));
    assert_eq!(ours(60), Tokens(178_253), "a fiftieth stays free of what the reports would allow");
}

#[test]
fn other_conversations_with_the_model_tell_less_than_this_one() {
    let ratio = Some(reported(&[(50_000, 55_000); 20]));
    let of = |session, model| TokenScale::new(CLAUDE, session, model).our_budget(Tokens(100_000), Tokens(0));
    assert!(of(None, None) < of(None, ratio) && of(None, ratio) < of(ratio, None));
    assert_eq!(of(ratio, ratio), of(ratio, None));
}

#[test]
fn an_exact_count_is_corrected_upwards_only() {
    let of = |theirs| {
        TokenScale::new(TokenEstimate::EXACT, Some(reported(&[(10_000, theirs)])), None)
            .our_budget(Tokens(1_000), Tokens(0))
    };
    assert_eq!((of(10_000), of(8_000), of(12_500)), (Tokens(1_000), Tokens(1_000), Tokens(800)));
}

#[test]
fn only_so_many_models_are_remembered() {
    let mut ratios = TokenRatios::default();
    let model = |n: usize| Digest::of("model", &[&n.to_le_bytes()]);
    for n in 0..MODELS_MAX + 3 {
        ratios.observe(model(n), Tokens(2_000), Tokens(2_200));
        ratios.observe(model(0), Tokens(2_000), Tokens(2_400));
    }
    assert_eq!(ratios.0.len(), MODELS_MAX);
    assert_eq!(ratios.get(&model(0)).map(|ratio| ratio.per_mille), Some(1_200), "it is in use");
    assert_eq!(ratios.get(&model(1)), None);
}

/// A conversation whose every message costs the provider 1.0 to 1.5 times our count, each by itself: what is sent is
/// within the budget by the provider's count at all times, the first request and the one after a cut included.
fn largest_sent(budget: u64, messages: &[(u64, u64)]) -> (u64, u64) {
    let (mut ratio, mut kept, mut peak, mut used) = (TokenRatio::default(), Vec::new(), 0, 0);
    let theirs =
        |kept: &[(u64, u64)]| kept.iter().map(|(ours, factor)| (ours * factor).div_ceil(ONE)).sum::<u64>();
    let sum = |kept: &[(u64, u64)]| kept.iter().map(|(ours, _)| ours).sum::<u64>();
    for &(ours, factor) in messages {
        kept.push((ours, factor));
        let scale = TokenScale::new(CLAUDE, Some(ratio).filter(|ratio| ratio.reports > 0), None);
        let limit = scale.our_budget(Tokens(budget), Tokens(ours)).0;
        if sum(&kept) > limit {
            while kept.len() > 1 && sum(&kept) > limit * 6 / 10 {
                kept.remove(0);
            }
        }
        if sum(&kept) > limit {
            // A single message that is too long is shortened.
            kept = vec![(limit, factor)];
        }
        peak = peak.max(theirs(&kept));
        used = used.max(sum(&kept));
        ratio.observe(Tokens(sum(&kept)), Tokens(theirs(&kept)));
    }
    (peak, used)
}

proptest! {
    #[test]
    fn nothing_over_the_providers_budget_is_sent(
        budget in 4_000_u64..200_000,
        messages in proptest::collection::vec((1_u64..100, 1_000_u64..=1_500), 1..120),
    ) {
        let messages: Vec<_> = messages.iter().map(|(share, factor)| (budget * share / 300, *factor)).collect();
        let (peak, _) = largest_sent(budget, &messages);
        prop_assert!(peak <= budget, "{peak} of {budget}");
    }

    #[test]
    fn a_steady_provider_is_used_to_nine_tenths(factor in 1_000_u64..=1_500) {
        let (peak, used) = largest_sent(100_000, &vec![(500, factor); 400]);
        prop_assert!(peak <= 100_000);
        prop_assert!(used * factor / ONE >= 90_000, "{used} at {factor}");
    }
}
