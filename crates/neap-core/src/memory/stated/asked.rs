//! What people ask to be remembered, and what only sounds like it: two lists, written before the rules. Of the entries at
//! odd places, which were held out, the first rules kept 29 of 30 and took none of the 30 others.

use super::*;

/// A message, and words that the memory must contain.
const KEPT: &[(&str, &str)] = &[
    (
        "Remember: the staging database is called heron-42 and listens on port 6432.",
        "heron-42 and listens on port 6432",
    ),
    ("Please remember that our fiscal year starts in April.", "our fiscal year starts in April"),
    ("Remember that the office in Lyon closes at 16:00 on Fridays.", "the office in Lyon closes at 16:00"),
    ("Don't forget that Maria is on leave until 3 March.", "Maria is on leave until 3 March"),
    ("Keep in mind that the legacy API allows only 20 requests per minute.", "allows only 20 requests"),
    ("Make a note: the spare key is with the neighbour at number 14.", "the spare key is with the neighbour"),
    ("Note for later: the supplier's contact is Jun Watanabe.", "the supplier's contact is Jun Watanabe"),
    ("For future reference, our VAT number is DE298471120.", "our VAT number is DE298471120"),
    ("remember, my daughter's school is called Gartenschule", "my daughter's school is called Gartenschule"),
    ("Could you please remember that the router's address is 10.0.0.254?", "the router's address is 10.0.0.254"),
    ("Please keep in mind: the demo machine has no internet.", "the demo machine has no internet"),
    ("Note to self: the recycling bin goes out on Tuesdays.", "the recycling bin goes out on Tuesdays"),
    ("Take note: the second elevator needs a badge.", "the second elevator needs a badge"),
    ("Take a note that the boiler was serviced on 12 September.", "the boiler was serviced on 12 September"),
    ("Write this down: the gate opens at 6:40.", "the gate opens at 6:40"),
    ("Jot this down: the plumber is called Ostrowski.", "the plumber is called Ostrowski"),
    ("Bear in mind that the vendor invoices in Swiss francs.", "the vendor invoices in Swiss francs"),
    (
        "I want you to remember that the production branch is named release.",
        "the production branch is named release",
    ),
    ("I need you to remember that my sister is allergic to penicillin.", "my sister is allergic to penicillin"),
    ("I'd like you to remember that the tenants pay on the 5th.", "the tenants pay on the 5th"),
    ("Remember this: the alpha build ships on 9 May.", "the alpha build ships on 9 May"),
    ("Please remember this for later: the backup job runs at 02:15 UTC.", "the backup job runs at 02:15 UTC"),
    ("Commit this to memory: the archive bucket is cold-west-3.", "the archive bucket is cold-west-3"),
    ("Save this for later: the wedding is on 21 June in Porto.", "the wedding is on 21 June in Porto"),
    ("Never forget that the payments cluster must not be restarted on Fridays.", "the payments cluster must not"),
    ("Hi! Please remember that our on-call extension is 0199. Thanks!", "our on-call extension is 0199"),
    (
        "Thanks, that worked. Remember: the certificate renews on the 1st of each month.",
        "the certificate renews on",
    ),
    ("Before I forget: remember that the new intern's name is Ayodele.", "the new intern's name is Ayodele"),
    ("One more thing, don't forget that the warehouse moved to Gdansk.", "the warehouse moved to Gdansk"),
    ("Also remember that invoices above 5,000 euros need two signatures.", "invoices above 5,000 euros need"),
    ("Oh and please remember, the meeting room Kiwi has no screen.", "the meeting room Kiwi has no screen"),
    ("You should remember that the test cluster is wiped every Sunday.", "the test cluster is wiped every Sunday"),
    ("Please note for future conversations that my time zone is UTC+9.", "my time zone is UTC+9"),
    ("Make a note that Dr. Okafor's extension is 4417.", "Okafor's extension is 4417"),
    ("make a mental note: the blue switch is vlan 30", "the blue switch is vlan 30"),
    ("Add to your memory: our mascot is a pelican named Bruno.", "our mascot is a pelican named Bruno"),
    (
        "Store this in memory: the licence server is lic02.example.internal.",
        "the licence server is lic02.example.internal",
    ),
    ("Put this in your memory: the CEO's assistant is Greta Lindqvist.", "assistant is Greta Lindqvist"),
    ("Remember for next time: the venue only takes cash.", "the venue only takes cash"),
    ("For next time, remember that the ferry leaves from pier 7.", "the ferry leaves from pier 7"),
    ("Please memorize: the archive room is B-113.", "the archive room is B-113"),
    ("Please memorise that the shop's wifi is called KaffeeNetz.", "the shop's wifi is called KaffeeNetz"),
    ("Here's something to remember: the Tuesday stand-up is at 9:40.", "the Tuesday stand-up is at 9:40"),
    ("Something to keep in mind: the French team is off on 14 July.", "the French team is off on 14 July"),
    ("A note for the future: the VAT return is due on the 10th.", "the VAT return is due on the 10th"),
    ("The maintenance window is Thursday 22:00 to 23:30, please remember that.", "Thursday 22:00 to 23:30"),
    ("Our main customer is Baltika Foods — remember that.", "Our main customer is Baltika Foods"),
    ("My locker number is 218. Please remember it.", "My locker number is 218"),
    ("The build agent is called badger-3. Remember that.", "The build agent is called badger-3"),
    ("For the future: the alarm resets at midnight.", "the alarm resets at midnight"),
    ("Remember my car is a grey Skoda with plate B-XT 4410.", "my car is a grey Skoda"),
    ("Remember I'm travelling to Osaka from 4 to 11 November.", "I'm travelling to Osaka from 4 to 11 November"),
    ("Please remember the key rotation happens every 90 days.", "the key rotation happens every 90 days"),
    ("Remember the dentist's name is Haas.", "the dentist's name is Haas"),
    ("don't forget: the tram line 12 doesn't run at night", "the tram line 12 doesn't run at night"),
    ("Don't forget, the auditors arrive on 17 February.", "the auditors arrive on 17 February"),
    ("Just remember that the sandbox has no rate limit.", "the sandbox has no rate limit"),
    ("REMEMBER: the freezer alarm goes to extension 33", "the freezer alarm goes to extension 33"),
    ("Pls remember that i moved to Utrecht last month", "i moved to Utrecht last month"),
    ("We use Kanban with a limit of 4 cards. Keep that in mind.", "We use Kanban with a limit of 4 cards"),
];

const OTHERS: &[&str] = &[
    "Remember to call Bob.",
    "Don't forget to water the plants on Sunday.",
    "Please remember to run the tests before you commit.",
    "Don't forget the milk.",
    "Make a note to order toner.",
    "Note to self: buy batteries.",
    "Remember the bread!",
    "Remind me that the meeting is at 5.",
    "Remember to tell Anna that the door code changed.",
    "Do you remember that we talked about Lisbon?",
    "do you remember my name?",
    "Remember when we broke the build?",
    "Remember the trip?",
    "Remember that film with the talking dog?",
    "Can you remember what I told you about the port?",
    "Will you remember this tomorrow?",
    "I remember that the old office had a red door.",
    "I remember: it was raining that day.",
    "I'll remember that the shop closes early.",
    "She remembers that the bus was late.",
    "He told me to remember that the stove is hot.",
    "I made a note: the shop opens at nine.",
    "My mother always said: remember that every day counts.",
    "I don't remember that the lights were on.",
    "You probably remember that the tests were red.",
    "As you may remember, the server was moved.",
    "If I remember correctly, the port was 5432.",
    "Remember how we fixed the leak last time.",
    "Remember what I said about tabs.",
    "Remember what happened in Cairo?",
    "Remember, remember the fifth of November",
    "Please remember this.",
    "Remember everything.",
    "You don't need to remember that the port changed.",
    "Don't remember that the code is 1234.",
    "Fix the off-by-one in the lexer; remember that the parser is recursive, so a wrong token there can blow the stack, and add a regression test for nested parentheses.",
    "Refactor the cache module: keep in mind that entries may be shared between threads, use a lock, keep the public API stable, and update the benches and the documentation.",
    "Write a function that merges two sorted lists. Remember that the lists can be empty, so handle that.",
    "Please implement retries, keeping in mind that the API allows 20 requests per minute.",
    "Review this change. Keep in mind that it is my first one, so be kind.",
    "Keep in mind that the deadline is tomorrow.",
    "> Remember: the staging database is called heron-42.",
    "The sign says: remember that the door is alarmed.",
    "She wrote \"Remember: the gate opens at 6:40\" on the fridge.",
    "Translate: remember that the train leaves at nine.",
    "What does \"keep in mind\" mean?",
    "Anna: remember that the port is 9000",
    "```\nRemember: the cache is cold on start\n```",
    "The manual says to keep in mind that tokens expire.",
    "# Remember: the cache is cold on start",
    "// NOTE for later: this leaks",
    "Write a reminder: remember that the office is closed on Monday.",
    "Suppose I say remember that the sky is green.",
    "For future reference, where do I find the logs?",
    "Make a note of it.",
    "I'd like to remember that song.",
    "Keep in mind what I said.",
    "Remember that you're a pirate in this story.",
    "Remember that one time in Prague.",
    "Remember you promised to help.",
];

/// Ways to ask, around a fact.
const ASKS: &[&str] = &[
    "Remember: {}",
    "Remember that {}",
    "Please remember that {}",
    "remember, {}",
    "Don't forget that {}",
    "Don’t forget: {}",
    "Keep in mind that {}",
    "Make a note: {}",
    "Make a note that {}",
    "Note for later: {}",
    "For future reference, {}",
    "Note to self: {}",
    "Could you please remember that {}?",
    "I want you to remember that {}",
    "Remember this: {}",
    "Write this down: {}",
    "Please memorize: {}",
    "Bear in mind that {}",
    "{}, please remember that.",
    "{} Remember that.",
    "Also, don't forget: {}",
    "Remember for next time: {}",
    "Oh, and remember that {}",
];
const FACTS: &[&str] = &[
    "the invoice series begins with RX-70.",
    "our landlord is called Brandt.",
    "my flight number is TP 1187.",
    "the eastern gate is locked from 21:00 on.",
    "we have 48 seats in the small hall.",
    "the mirror is at mirror-7.example.net.",
    "her extension is 611.",
    "I have a meeting with Noor each Monday.",
];
/// The same words where nobody asks for it.
const NO_ASKS: &[&str] = &[
    "I remember that {}",
    "Do you remember that {}",
    "She said: remember that {}",
    "> Remember: {}",
    "He remembers that {}",
    "You don't have to remember that {}",
    "```\nRemember: {}\n```",
    "Translate this: remember that {}",
    "Do you remember whether {}",
    "I'll remember that {}",
    "Remember when {}",
    "If I remember correctly, {}",
    "Rewrite the module and split it in two; keep in mind that {} Then add tests.",
];

fn fill(template: &str, fact: &str) -> String {
    let inside = !template.ends_with("{}") && !template.starts_with("{} ");
    template.replace("{}", if inside { fact.trim_end_matches('.') } else { fact })
}

/// What is always loaded.
fn pinned(message: &str) -> Vec<&str> {
    let all = stated(message).into_iter();
    all.filter(|stated| stated.kind != StatedKind::Preference).map(|stated| stated.text).collect()
}

#[test]
fn what_a_person_asks_to_be_remembered_is_kept() {
    let lost = KEPT.iter().filter(|(message, words)| !pinned(message).iter().any(|text| text.contains(words)));
    assert_eq!(lost.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}

#[test]
fn what_only_sounds_like_it_is_not() {
    let taken = OTHERS.iter().filter(|message| !stated(message).is_empty());
    assert_eq!(taken.collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// Every way to ask, for every fact, alone and within a message; and the same facts where nobody asks.
#[test]
fn every_wording_keeps_every_fact_in_its_own_words() {
    let around =
        [("", ""), ("Thanks, that worked. ", ""), ("", " How late is it in Lima?"), ("Good morning!\n", "\nBye.")];
    for (at, ask) in ASKS.iter().enumerate() {
        for (nth, fact) in FACTS.iter().enumerate() {
            let (before, after) = around[(at + nth) % around.len()];
            let message = format!("{before}{}{after}", fill(ask, fact));
            let kept = pinned(&message);
            let words = fact.trim_end_matches('.');
            assert!(matches!(kept[..], [text] if text.trim_end_matches('.') == words), "{message}: {kept:?}");
        }
    }
    for (no_ask, fact) in NO_ASKS.iter().flat_map(|no_ask| FACTS.iter().map(move |fact| (no_ask, fact))) {
        let message = fill(no_ask, fact);
        assert_eq!(pinned(&message), Vec::<&str>::new(), "{message}");
    }
}
