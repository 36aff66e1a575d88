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
