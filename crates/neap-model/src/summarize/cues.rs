//! Words that tell decisions, causes and outcomes from talk.
//!
//! English, German and Chinese, and the commonest of a few more. A cue only raises or lowers a sentence's
//! weight; nothing is kept or dropped for its cue alone, except talk that says nothing else.

use std::sync::LazyLock;

/// Something was chosen.
const DECISIONS: &str = "\
    decid|chose|choose|we will|we'll|i'll go with|go with|going with|instead of|rather than|agreed|\
    settled on|opted|switch to|switched to|must not|never|always|entschied|entschlossen|beschlossen|statt|\
    anstatt|nehmen wir|wir werden|immer|nie |决定|选择|采用|改用|而不是|décid|decidi";

/// Why something is so.
const CAUSES: &str = "\
    because|root cause|due to|caused by|the cause|the reason|the problem was|the issue was|turns out|\
    that is an|this is an|means that|turned out|culprit|it was the|es war|since the|weil|ursache|grund|wegen|\
    liegt daran|lag daran|因为|由于|原因|导致|parce que|porque";

/// How something came out.
const OUTCOMES: &str = "\
    fixed|fix was|works now|working now|resolved|solved|passes|passing|succeeded|deployed|shipped|merged|\
    done|finished|completed|booked|confirmed|migrated|reduced|improved|went from|dropped from|down to|\
    no longer|verified|result|gelöst|behoben|funktioniert|fertig|erledigt|läuft|gebucht|abgeschlossen|解决|修复|\
    成功|完成|正常|通过|résolu|resuelto";

/// Something was done.
const ACTIONS: &str = "\
    added|created|changed|removed|replaced|installed|upgraded|renamed|moved|set |wrote|ordered|paid|signed|\
    hinzugefügt|geändert|entfernt|ersetzt|installiert|增加|修改|删除|调到";

/// What went wrong or must not be forgotten.
const WARNINGS: &str = "\
    error|fail|crash|exception|timeout|todo|remember|important|deadline|remaining|still need|next step|\
    follow-up|follow up|fehler|wichtig|noch offen|错误|失败|超时|报错|注意|erreur";

/// Talk that carries little by itself.
const TALK: &str = "\
    let me know|would you like|do you want|happy to help|i can help|glad|sure,|of course|sounds good|\
    here's how|here is how|could you share|can you share|could you tell|feel free|hope this helps|no problem|\
    you're welcome|good question|great question|gern geschehen|kein problem|sag bescheid|\
    soll ich|kannst du mir|我可以帮|请告诉我|不客气|当然";

/// Phrases of the built-in model about its own keeping: whatever they name was said elsewhere.
const KEEPING: &str = "noted under|built-in offline model|from the log of|from the summary of|its summary stands";

/// Words of which mere courtesy consists.
const FILLERS: &str = "\
    a|ah|alles|all|alright|and|awesome|bye|cheers|cool|danke|dank|excellent|fine|for|go|good|goodbye|great|\
    gut|guten|hallo|hello|help|hey|hi|hm|hmm|i|it|ja|klar|lot|many|much|nice|no|oh|ok|okay|perfect|perfekt|\
    please|prima|right|see|so|super|sure|tag|thank|thanks|that|the|there|then|toll|tschüss|very|vielen|\
    welcome|well|wow|yeah|yep|work|yes|you|your|好|好的|谢谢|你好|谢谢你|嗯|是的|再见";

/// The lists of cues, with what a sentence that has one of them is worth more.
const WORTH: [(&str, f64); 6] =
    [(DECISIONS, 1.8), (CAUSES, 2.2), (OUTCOMES, 2.0), (ACTIONS, 1.2), (WARNINGS, 0.8), (TALK, -2.0)];
/// The place of the outcomes among them.
const OF_OUTCOMES: usize = 2;

/// Which lists a sentence has cues of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cues([bool; WORTH.len()]);

impl Cues {
    /// Finds them. Expects lower case.
    pub(super) fn of(lower: &str) -> Self {
        let mut found = [false; WORTH.len()];
        for start in starts(lower) {
            let rest = &lower.as_bytes()[start..];
            for (cue, list) in &INDEX.spaced[usize::from(rest[0])] {
                found[*list] = found[*list] || rest.starts_with(cue.as_bytes());
            }
        }
        if lower.bytes().any(|byte| byte >= UNSPACED) {
            for (cue, list) in &INDEX.unspaced {
                found[*list] = found[*list] || lower.contains(cue);
            }
        }
        Self(found)
    }

    /// How much they are worth, from about -2 to 6.
    pub(super) fn weight(self) -> f64 {
        WORTH.iter().zip(self.0).filter(|(_, has)| *has).map(|((_, worth), _)| worth).sum()
    }

    /// Whether they say how something came out.
    pub(super) fn tell_an_outcome(self) -> bool {
        self.0[OF_OUTCOMES]
    }
}

/// Whether it only tells what was kept. Expects lower case.
pub(super) fn is_keeping(lower: &str) -> bool {
    let at: Vec<usize> = starts(lower).collect();
    KEEPING.split('|').any(|cue| at.iter().any(|at| lower.as_bytes()[*at..].starts_with(cue.as_bytes())))
}

/// Whether nothing but courtesy is said. Expects lower case.
pub(super) fn is_filler(lower: &str) -> bool {
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .all(|word| FILLERS.split('|').any(|filler| filler == word))
}

/// First byte of the first letters of scripts without spaces, in UTF-8.
const UNSPACED: u8 = 0xE3;

/// Cues by how they are found, each with the place of its list.
struct Index {
    /// By the first byte: a word begins with them.
    spaced: Vec<Vec<(&'static str, usize)>>,
    /// In scripts without spaces they stand anywhere.
    unspaced: Vec<(&'static str, usize)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { spaced: vec![Vec::new(); 256], unspaced: Vec::new() };
    for (list, (cues, _)) in WORTH.iter().enumerate() {
        for cue in cues.split('|') {
            match cue.bytes().next() {
                Some(first) if first < UNSPACED => index.spaced[usize::from(first)].push((cue, list)),
                Some(_) => index.unspaced.push((cue, list)),
                None => {}
            }
        }
    }
    index
});

/// Where the words of a text begin.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut in_word = false;
    text.char_indices().filter_map(move |(place, c)| {
        let begins = c.is_alphanumeric() && !in_word;
        in_word = c.is_alphanumeric();
        begins.then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(lower: &str) -> f64 {
        Cues::of(lower).weight()
    }

    #[test]
    fn cues_begin_words() {
        assert!(weight("the root cause was a stale token") > 2.0);
        assert!(weight("abandoned") == 0.0, "`done` inside a word is no outcome");
        assert!(weight("根本原因是缓存") > 2.0);
        assert!(weight("let me know") < 0.0);
        assert!(Cues::of("the port was fixed").tell_an_outcome() && !Cues::of("the port is 80").tell_an_outcome());
    }

    #[test]
    fn courtesy_is_filler_and_numbers_are_not() {
        for text in ["thanks a lot!", "ok great", "好的，谢谢", "", "hi there"] {
            assert!(is_filler(text), "{text}");
        }
        assert!(!is_filler("ok, port 8080"));
    }
}
