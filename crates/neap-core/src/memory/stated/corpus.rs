//! What people state in passing, and what merely looks like it, as generated lists.

use super::*;

const LIKED: &[&str] = &[
    "I like {}.",
    "I really like {}",
    "I love {}!",
    "I absolutely love {}.",
    "I enjoy {} a lot.",
    "I do enjoy {}, as you may have noticed.",
    "I'm a big fan of {}.",
    "I've always liked {}.",
    "I have a soft spot for {}.",
    "I'm fond of {}.",
    "I'm really into {}.",
    "My favourite thing is {}.",
    "{} are my favourite.",
    "I prefer {} over anything else.",
    "I'd always choose {} over the alternatives.",
    "I'm partial to {}.",
    "I generally prefer {}",
    "As for me, I like {}.",
    "btw I love {}",
    "I can't get enough of {}.",
];
const DISLIKED: &[&str] = &[
    "I dislike {}.", "I hate {}", "I avoid {}.", "I usually avoid {} if I can.", "I can't stand {}.",
    "I cannot stand {}!", "I don't like {}.", "I really don't like {}.", "I'm not a fan of {}.",
    "I'm not a big fan of {}.", "I detest {}", "I try to avoid {}.", "{} aren't my thing.", "{} drive me crazy.",
    "I don't care for {}.", "I'm not keen on {}.", "{} are not for me.", "Honestly, I loathe {}.",
    "I stay away from {}.",
];
const THINGS: &[&str] = &[
    "crowded restaurants", "spicy noodles", "long flights", "jazz records", "early mornings", "paper books",
    "night trains", "bullet points", "surprise parties", "detective novels", "board games", "blue cheeses",
    "mountain huts", "video calls", "short summaries", "horror films", "strawberries", "dark themes",
    "city breaks", "street markets",
];
const OTHER: &[&str] = &[
    "I'm allergic to {}.",
    "I'm severely allergic to {}, so please be careful.",
    "I don't eat {}.",
    "I never eat {}.",
    "I have an allergy to {}.",
];
const FOODS: &[&str] =
    &["peanuts", "shellfish", "eggs", "soy", "sesame", "celery", "mustard", "pork", "lactose", "kiwis"];
const CHOICES: &[(&str, &str)] = &[
    ("tea", "coffee"),
    ("trains", "planes"),
    ("aisle seats", "window seats"),
    ("tabs", "spaces"),
    ("e-mail", "phone calls"),
    ("hotels", "hostels"),
    ("metric units", "imperial ones"),
    ("short answers", "long ones"),
    ("Rust", "Go"),
    ("the sea", "the mountains"),
    ("cash", "cards"),
    ("dogs", "cats"),
];
const CHOOSING: &[&str] = &[
    "I prefer {a} over {b}.",
    "I prefer {a} to {b}.",
    "I'd rather have {a} than {b}.",
    "I like {a} more than {b}.",
    "I'd take {a} over {b} any day.",
    "Given the choice, I prefer {a}.",
    "I'd pick {a} over {b}.",
    "I much prefer {a} to {b}.",
    "I tend to prefer {a}.",
];
const INSTRUCTIONS: &[&str] = &[
    "Please always {}.",
    "Always {}.",
    "From now on, {}.",
    "From now on please {}.",
    "Going forward, {}.",
    "I'd like you to always {}.",
    "Make sure to always {}.",
    "You should always {}.",
    "I want you to always {}.",
    "Whenever you reply, {}.",
    "When I ask about a trip, {}.",
    "When I ask you for help, please {}.",
    "Every time you answer, {}.",
    "If I ask for a recipe, {}.",
    "In future replies, {}.",
    "Until I say otherwise, {}.",
    "When you write to me, {}.",
];
const ACTIONS: &[&str] = &[
    "use metric units", "answer in French", "include the sources", "keep it under 100 words",
    "add a short summary", "show prices in euros", "mention the opening hours", "start with the conclusion",
    "give two alternatives", "use British spelling", "list the risks", "round to whole numbers",
];
const DENIALS: &[&str] = &[
    "Never {}.",
    "Please never {}.",
    "Don't ever {}.",
    "Please don't {} when you reply to me.",
    "Don't {} unless I ask.",
    "Do not {} without asking me first.",
    "From now on, don't {}.",
    "You must never {}.",
    "I don't want you to {}.",
    "Don't {} in your answers.",
];
const MISTAKES: &[&str] = &[
    "use emojis", "mention prices", "push to main", "apologize", "shorten my name", "delete files",
    "suggest pork", "repeat my question", "use tables", "send mails",
];
const SINGLE: &[&str] = &[
    "I'm a vegetarian.",
    "I'm vegan",
    "I am a vegetarian, by the way.",
    "I'm lactose intolerant.",
    "I'm a morning person.",
    "I'm more of a cat person.",
    "I'm a tea drinker.",
    "I'm not a morning person.",
    "I'm a night owl.",
    "I'm colour-blind.",
    "I'm left-handed.",
    "I eat only halal meat, and I keep a halal diet.",
    "I follow a gluten-free diet.",
    "I'm on a low-carb diet.",
    "My favourite colour is orange.",
    "My favorite editor is Helix.",
    "My favourite composer is Ravel.",
    "My all-time favourite film is Alien.",
    "My preferred airline is Condor.",
    "My pronouns are they/them.",
    "Call me Sam.",
    "Please call me Dr. Yilmaz.",
    "I never fly.",
    "I don't drink alcohol.",
    "I don't smoke.",
    "I only drink decaf.",
    "I only use open source software.",
    "I'd rather you didn't use emojis.",
    "I'd rather take the stairs than the lift.",
    "I would like shorter answers.",
    "I'd like my code in Rust.",
    "I like it when you explain things step by step.",
    "I hate it when you repeat yourself.",
    "Keep your answers short.",
    "Stop apologizing.",
    "I like my coffee black.",
    "I like to run before breakfast.",
    "I love working outdoors.",
    "I hate being late.",
    "I enjoy cooking for friends.",
    "I prefer not to fly.",
    "Use British spelling in your answers.",
    "I have a sweet tooth.",
    "I have no patience for small talk.",
    "Small talk isn't my cup of tea.",
    "I always want a window seat.",
    "I usually go for the vegetarian option.",
    "I want all answers in German.",
    "When coding, I prefer tabs.",
    "When I travel, I prefer the aisle.",
];
/// Longer messages around a statement.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("Thanks, that worked. ", ""),
    ("", " Can you find something for Saturday?"),
    (
        "We are planning the weekend with my parents, and there will be six of us. ",
        " What would you suggest for the evening? It should not be too far from the station.",
    ),
    ("Here is what I have so far:\n- two nights in Ghent\n- a day in Bruges\n\n", "\n\nDoes that look right?"),
    ("Hi! ", " Just so you know."),
    (
        "The build failed again:\n```\nerror[E0382]: use of moved value\n```\nI'll look at it later. ",
        " Anyway, next question: how do I list all branches?",
    ),
];

/// What is no statement of the person's own wishes.
const FILLERS: &str = include_str!("fillers.txt");

fn fill(template: &str, thing: &str) -> String {
    let text = template.replace("{}", thing);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn statements() -> Vec<String> {
    let mut out = Vec::new();
    for (templates, things) in
        [(LIKED, THINGS), (DISLIKED, THINGS), (OTHER, FOODS), (INSTRUCTIONS, ACTIONS), (DENIALS, MISTAKES)]
    {
        out.extend(templates.iter().flat_map(|template| things.iter().map(|thing| fill(template, thing))));
    }
    for (a, b) in CHOICES {
        out.extend(CHOOSING.iter().map(|template| template.replace("{a}", a).replace("{b}", b)));
    }
    out.extend(SINGLE.iter().map(|text| (*text).to_owned()));
    out
}

#[test]
fn what_people_state_in_passing_is_kept() {
    let statements = statements();
    assert!(statements.len() >= 1_000, "{}", statements.len());
    let mut missed = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        let (before, after) = AROUND[at % AROUND.len()];
        let message = format!("{before}{statement}{after}");
        let kept = stated(&message);
        let is_kept =
            kept.iter().any(|stated| statement.contains(stated.text) || stated.text.contains(statement.as_str()));
        if !is_kept {
            missed.push(message);
        }
    }
    assert!((statements.len() - missed.len()) * 100 >= 90 * statements.len(), "{}", missed.join("\n"));
}

#[test]
fn nothing_else_is_kept() {
    let fillers: Vec<String> = FILLERS
        .split("\n---\n")
        .flat_map(|part| match part.contains("\n\n") || part.contains("```") {
            // A message of several lines.
            true => vec![part.to_owned()],
            false => part.lines().map(str::to_owned).collect(),
        })
        .collect();
    assert!(fillers.len() >= 300, "{}", fillers.len());
    let kept: Vec<String> = fillers
        .iter()
        .flat_map(|filler| stated(filler).into_iter().map(move |kept| format!("{kept:?} in {filler}")))
        .collect();
    assert_eq!(kept, Vec::<String>::new());
}
