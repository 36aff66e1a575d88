//! Figures for people.

/// A number with its noun: "1 request", "1,200 requests".
pub fn plural(n: u64, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(n))
}

/// An amount of money; small ones with more digits.
pub fn dollars(amount: f64) -> String {
    if amount < 0.01 { format!("${amount:.6}") } else { format!("${amount:.4}") }
}

/// A number with separators: "1,200".
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Few characters for a line of figures: "840", "1.9k", "62k", "9.9M".
pub fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000.. => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn figures_are_short() {
        assert_eq!([0, 840, 1_900, 16_000, 9_940_000].map(short), ["0", "840", "1.9k", "16k", "9.9M"]);
    }
}
