//! Generates values from descriptions: literal text with random parts in braces, a letter for the alphabet and a
//! length.
//!
//! `a` small letters and digits, `A` letters and digits, `l` small letters, `L` letters, `U` capitals and digits,
//! `h`/`H` hexadecimal, `d` digits, `D` digits as base64 of digits, `b` base64, `w` base64 for URLs, `B` base32,
//! `C` base58, `J` base64 of JSON text, `Q` bech32 capitals, `s` a password as people choose them, `u` (no length)
//! a UUID.

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len())]).collect()
    }

    /// Fills in a description's random parts; other braces stay.
    pub(super) fn fill(&mut self, form: &str) -> String {
        let mut out = String::new();
        let mut rest = form;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let inner = &rest[at + 1..];
            let part = inner.find('}').and_then(|end| Some((self.part(&inner[..end])?, end)));
            match part {
                Some((part, end)) => {
                    out.push_str(&part);
                    rest = &inner[end + 1..];
                }
                None => {
                    out.push('{');
                    rest = inner;
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn part(&mut self, what: &str) -> Option<String> {
        let kind = what.chars().next()?;
        if what == "u" {
            let hex = |of: &mut Self, n| of.of("0123456789abcdef", n);
            let (a, b, c, d, e) = (hex(self, 8), hex(self, 4), hex(self, 3), hex(self, 3), hex(self, 12));
            return Some(format!("{a}-{b}-4{c}-a{d}-{e}"));
        }
        let length: usize = what[kind.len_utf8()..].parse().ok()?;
        let small = "abcdefghijklmnopqrstuvwxyz";
        let capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let alphabet = match kind {
            'a' => format!("{small}0123456789"),
            'A' => format!("{small}{capital}0123456789"),
            'l' => small.to_owned(),
            'L' => format!("{small}{capital}"),
            'U' => format!("{capital}0123456789"),
            'h' => "0123456789abcdef".to_owned(),
            'H' => "0123456789ABCDEF".to_owned(),
            'd' => "0123456789".to_owned(),
            'D' => "EIMQUYcgkwMTADNzO".to_owned(),
            'b' | 'J' => format!("{small}{capital}0123456789{}", if kind == 'b' { "+/" } else { "" }),
            'w' => format!("{small}{capital}0123456789_-"),
            'B' => format!("{capital}234567"),
            'C' => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".to_owned(),
            'Q' => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            's' => return Some(self.password(length)),
            _ => return None,
        };
        Some(self.of(&alphabet, length))
    }

    /// Mixed characters, a letter at both ends.
    fn password(&mut self, length: usize) -> String {
        let inner = self.of("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!@#%^*-_+.", length - 4);
        format!("{}{inner}{}{}", self.of("abcdefgh", 1), self.of("23456789", 1), self.of("ABCDEFkmnpq", 2))
    }
}

/// Removes the marks `«` and `»`; returns the text and the secrets between them.
pub(super) fn unmarked(text: &str) -> (String, Vec<String>) {
    let mut secrets = Vec::new();
    let mut out = String::new();
    for (n, piece) in text.split('«').enumerate() {
        match piece.split_once('»') {
            Some((secret, after)) if n > 0 => {
                secrets.push(secret.to_owned());
                out.push_str(secret);
                out.push_str(after);
            }
            Some(_) | None => out.push_str(piece),
        }
    }
    (out, secrets)
}
