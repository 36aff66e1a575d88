//! Cue phrases of decisions, causes, outcomes and small talk.
//!
//! English, German and Chinese, and the most common of a few other languages. A cue only changes a sentence's
//! score; it alone neither keeps nor drops a sentence, except for pure small talk.

use std::sync::LazyLock;

const DECISIONS: &str = "\
    decid|chose|choose|we will|we'll|i'll go with|go with|going with|instead of|rather than|agreed|\
    settled on|opted|switch to|switched to|must not|never|always|entschied|entschlossen|beschlossen|statt|\
    anstatt|nehmen wir|wir werden|immer|nie |决定|选择|采用|改用|而不是|décid|decidi";

const CAUSES: &str = "\
    because|root cause|due to|caused by|the cause|the reason|the problem was|the issue was|turns out|\
    that is an|this is an|means that|turned out|culprit|it was the|es war|since the|weil|ursache|grund|wegen|\
    liegt daran|lag daran|因为|由于|原因|导致|parce que|porque";

const OUTCOMES: &str = "\
    fixed|fix was|works now|working now|resolved|solved|passes|passing|succeeded|deployed|shipped|merged|\
    done|finished|completed|booked|confirmed|migrated|reduced|improved|went from|dropped from|down to|\
    no longer|verified|result|gelöst|behoben|funktioniert|fertig|erledigt|läuft|gebucht|abgeschlossen|解决|修复|\
    成功|完成|正常|通过|résolu|resuelto";

const ACTIONS: &str = "\
    added|created|changed|removed|replaced|installed|upgraded|renamed|moved|set |wrote|ordered|paid|signed|\
    hinzugefügt|geändert|entfernt|ersetzt|installiert|增加|修改|删除|调到";

/// Problems, and what must not be forgotten.
const WARNINGS: &str = "\
    error|fail|crash|exception|timeout|todo|remember|important|deadline|remaining|still need|next step|\
    follow-up|follow up|fehler|wichtig|noch offen|错误|失败|超时|报错|注意|erreur";

const TALK: &str = "\
    let me know|would you like|do you want|happy to help|i can help|glad|sure,|of course|sounds good|\
    here's how|here is how|could you share|can you share|could you tell|feel free|hope this helps|no problem|\
    you're welcome|good question|great question|gern geschehen|kein problem|sag bescheid|\
    soll ich|kannst du mir|我可以帮|请告诉我|不客气|当然";

const FILLERS: &str = "\
    a|ah|alles|all|alright|and|awesome|bye|cheers|cool|danke|dank|excellent|fine|for|go|good|goodbye|great|\
    gut|guten|hallo|hello|help|hey|hi|hm|hmm|i|it|ja|klar|lot|many|much|nice|no|oh|ok|okay|perfect|perfekt|\
    please|prima|right|see|so|super|sure|tag|thank|thanks|that|the|there|then|toll|tschüss|very|vielen|\
    welcome|well|wow|yeah|yep|work|yes|you|your|好|好的|谢谢|你好|谢谢你|嗯|是的|再见";

/// The cue lists and their weights.
const CUE_WEIGHTS: [(&str, f64); 6] =
    [(DECISIONS, 1.8), (CAUSES, 2.2), (OUTCOMES, 2.0), (ACTIONS, 1.2), (WARNINGS, 0.8), (TALK, -2.0)];
/// Index of [`OUTCOMES`] in [`CUE_WEIGHTS`].
const OUTCOMES_INDEX: usize = 2;
/// Index of [`ACTIONS`] there; what stands before it tells of the work, too.
const ACTIONS_INDEX: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cues([bool; CUE_WEIGHTS.len()]);

impl Cues {
    /// Expects lowercase text.
    pub(super) fn of(lower: &str) -> Self {
        let mut found = [false; CUE_WEIGHTS.len()];
        for start in word_starts(lower) {
            let rest = &lower.as_bytes()[start..];
            for (cue, list) in &INDEX.spaced[usize::from(rest[0])] {
                found[*list] = found[*list] || rest.starts_with(cue.as_bytes());
            }
        }
        if lower.bytes().any(|byte| byte >= UNSPACED_BYTE_MIN) {
            for (cue, list) in &INDEX.unspaced {
                found[*list] = found[*list] || lower.contains(cue);
            }
        }
        Self(found)
    }

    /// From about -2 to 6.
    pub(super) fn weight(self) -> f64 {
        CUE_WEIGHTS.iter().zip(self.0).filter(|(_, has)| *has).map(|((_, weight), _)| weight).sum()
    }

    /// Whether it says what was done, and why: a decision, a cause, an outcome or an action.
    pub(super) fn tells_fix(self) -> bool {
        self.0[..=ACTIONS_INDEX].contains(&true)
    }

    pub(super) fn has_outcome(self) -> bool {
        self.0[OUTCOMES_INDEX]
    }
}

/// Whether it is mere courtesy. Expects lowercase text.
pub(super) fn is_filler(lower: &str) -> bool {
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .all(|word| FILLERS.split('|').any(|filler| filler == word))
}

/// First UTF-8 byte of scripts without spaces.
const UNSPACED_BYTE_MIN: u8 = 0xE3;

struct Index {
    /// By first byte; these match at the start of a word.
    spaced: Vec<Vec<(&'static str, usize)>>,
    /// For scripts without spaces; these match anywhere.
    unspaced: Vec<(&'static str, usize)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { spaced: vec![Vec::new(); 256], unspaced: Vec::new() };
    for (list, (cues, _)) in CUE_WEIGHTS.iter().enumerate() {
        for cue in cues.split('|') {
            match cue.bytes().next() {
                Some(first) if first < UNSPACED_BYTE_MIN => index.spaced[usize::from(first)].push((cue, list)),
                Some(_) => index.unspaced.push((cue, list)),
                None => {}
            }
        }
    }
    index
});

fn word_starts(text: &str) -> impl Iterator<Item = usize> {
    let mut in_word = false;
    text.char_indices().filter_map(move |(at, c)| {
        let begins = c.is_alphanumeric() && !in_word;
        in_word = c.is_alphanumeric();
        begins.then_some(at)
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
        assert!(Cues::of("the port was fixed").has_outcome() && !Cues::of("the port is 80").has_outcome());
    }

    #[test]
    fn courtesy_is_filler_and_numbers_are_not() {
        for text in ["thanks a lot!", "ok great", "好的，谢谢", "", "hi there"] {
            assert!(is_filler(text), "{text}");
        }
        assert!(!is_filler("ok, port 8080"));
    }
}
