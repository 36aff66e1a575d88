//! Layer budgets, and where unused tokens flow.

use super::*;

fn allotted(name: &str, input: &str, room: u64) -> KnowledgeBudget {
    allocate(FrameSet::built_in().get(name).unwrap(), input, Tokens(room))
}

const PLAIN: &str = "Use the queue for mail in the new service";

/// 003, Context Budget: the caps of the fixed layers, whatever the frame.
#[test]
fn context_budget_the_fixed_layers() {
    for frame in FrameSet::built_in().iter() {
        let caps = allocate(frame, PLAIN, Tokens(100_000)).caps;
        let fixed =
            [Layer::Identity, Layer::Profile, Layer::Censors, Layer::Frame, Layer::Focus, Layer::Calibration];
        assert_eq!(fixed.map(|layer| caps.get(layer).0), [500, 200, 300, 500, 700, 100], "{}", frame.name);
    }
}

/// 003, Context Budget and Step 2: 8,000 in all; decisions 2,000, facts 1,500, procedures 1,500, episodes 1,000.
#[test]
fn context_budget_the_flexible_layers() {
    let budget = allotted("task", PLAIN, 100_000);
    let flexible = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];
    assert_eq!(flexible.map(|layer| budget.caps.get(layer).0), [2_000, 1_500, 1_500, 1_000]);
    assert_eq!(budget.total, Tokens(8_000), "the caps add up to 8,300; the total is enforced");
    assert_eq!(allotted("conversation", PLAIN, 100_000).total, Tokens(3_000));
    assert_eq!(allotted("decision", PLAIN, 100_000).total, Tokens(10_300), "the sum of its caps is below 12,000");
}

/// 003, Step 2: "Short question? Reduce flexible budgets."
#[test]
fn step2_a_short_question_gets_less() {
    let budget = allotted("question", "What is Redis?", 100_000);
    let flexible = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];
    assert_eq!(flexible.map(|layer| budget.caps.get(layer).0), [600, 900, 300, 300]);
    assert_eq!(budget.total, Tokens(2_300 + 2_100), "and what is cut does not come back as flow");
    assert_eq!(budget.caps.get(Layer::Focus), Tokens(700), "fixed layers stay");
}

/// 003, Step 2: "Complex architecture decision? Increase decision + procedure budgets."
#[test]
fn step2_a_complex_decision_gets_more() {
    let input = "Should the new billing service keep its sessions in Redis, or would it be better to compare Postgres first?";
    let budget = allotted("decision", input, 100_000);
    let flexible = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];
    assert_eq!(flexible.map(|layer| budget.caps.get(layer).0), [4_500, 2_000, 3_000, 1_000]);
    assert_eq!(budget.total, Tokens(12_000), "never more than the frame's total");
    assert_eq!(
        allotted("task", input, 100_000).caps.get(Layer::Decisions),
        Tokens(2_000),
        "only a decision is complex"
    );
}

#[test]
fn complexity_has_edges() {
    let frames = FrameSet::built_in();
    let complexity_of = |frame: &str, input: &str| complexity(frames.get(frame).unwrap(), input);
    assert_eq!(complexity_of("decision", "Should we use Redis for it?"), Complexity::Short, "six words");
    assert_eq!(complexity_of("decision", "Should we use Redis for caching in Newton?"), Complexity::Plain);
    assert_eq!(complexity_of("task", "build it"), Complexity::Plain, "no question");
    let words = |n: usize| vec!["word"; n].join(" ");
    assert_eq!(complexity_of("decision", &words(24)), Complexity::Plain);
    assert_eq!(complexity_of("decision", &words(25)), Complexity::Complex);
    assert_eq!(complexity_of("decision", &format!("{} or that", words(9))), Complexity::Plain, "eleven words");
    assert_eq!(complexity_of("decision", &format!("{} or that", words(10))), Complexity::Complex);
}

/// If the context leaves less than the total, all caps shrink alike, but fixed layers keep a minimum.
#[test]
fn a_small_room_shrinks_every_cap() {
    let half = allotted("task", PLAIN, 4_000);
    assert_eq!(half.total, Tokens(4_000));
    let caps =
        [Layer::Identity, Layer::Censors, Layer::Decisions, Layer::Episodes].map(|layer| half.caps.get(layer).0);
    assert_eq!(caps, [250, 150, 1_000, 500]);
    let tiny = allotted("task", PLAIN, 300);
    let fixed = [Layer::Censors, Layer::Frame, Layer::Identity, Layer::Profile, Layer::Focus, Layer::Calibration];
    assert_eq!(fixed.map(|layer| tiny.caps.get(layer).0), [150, 120, 120, 60, 60, 3]);
    assert_eq!((tiny.caps.get(Layer::Decisions), tiny.total), (Tokens(75), Tokens(300)));
    assert_eq!(allotted("task", PLAIN, 0), KnowledgeBudget::default());
}

/// Facts about Redis, each of 20 tokens both as one line and as a summary.
fn facts(count: usize) -> Vec<Memory> {
    let text = |n: usize| format!("Redis has property number {n} of a long list that someone wrote down once");
    (1..=count).map(|n| memory(&format!("f{n}"), 1, &[], fact(&text(n)))).collect()
}

/// 003, Context Budget: "If a layer has nothing relevant, its budget flows to other layers."
#[test]
fn unused_tokens_flow_to_a_layer_that_has_more() {
    let world = World::asking("Tell me what is known of Redis and its long list", facts(400));
    let knowledge = world.build();
    let cap = allotted("question", &world.question, 20_000).caps.get(Layer::Facts);
    assert_eq!(knowledge.frame, "question");
    assert!(knowledge.tokens.get(Layer::Facts) > cap, "flow came in: {}", knowledge.tokens.get(Layer::Facts));
    let left = knowledge.budget - knowledge.tokens.total();
    assert!(left < Tokens(30), "until the total was reached: {left} are left");
}

/// Decision 12: by the frame's priority first, then by the layers' order.
#[test]
fn what_flows_goes_to_the_frames_favourite_first() {
    let mut memories = facts(400);
    for n in 1..=200 {
        let text =
            format!("Redis evening number {n} of a long list, told by someone who was there and wrote it down");
        memories.push(memory(&format!("e{n}"), 1, &[], episode(&text, None, &[], "")));
    }
    let world = World::asking("Tell me what is known of Redis and its long list", memories);
    let knowledge = world.build();
    let caps = allotted("question", &world.question, 20_000).caps;
    assert!(knowledge.tokens.get(Layer::Facts) > caps.get(Layer::Facts), "facts have priority 1.0 there");
    assert!(knowledge.tokens.get(Layer::Episodes) <= caps.get(Layer::Episodes) + Tokens(40), "episodes 0.5");
}

/// Decision 12: never into fixed layers, nor into a layer that the frame gives no budget.
#[test]
fn nothing_flows_into_fixed_layers() {
    let mut world = World::asking("Redis", Vec::new());
    for n in 1..=60 {
        let mut rule = memory(
            &format!("f{n}"),
            1,
            &[],
            fact(&format!("Tim wants rule number {n} to be kept in all that is done")),
        );
        rule.pinned = true;
        world.agent.pinned.insert(rule.id, rule);
        let censor = memory(
            &format!("c{n}"),
            1,
            &[],
            censor(CensorAction::Steer, &format!("never do thing number {n}"), "it went wrong before"),
        );
        world.agent.censors.insert(censor.id, censor);
    }
    world.identity = "A line about who this is and what it does.\n".repeat(200);
    let knowledge = world.build();
    for (layer, cap) in [(Layer::Identity, 500), (Layer::Profile, 200), (Layer::Censors, 300)] {
        let used = knowledge.tokens.get(layer);
        assert!(used <= Tokens(cap) && used > Tokens(cap - 30), "{}: {used} of {cap}", layer.as_str());
    }
    let procedures =
        (1..=5).map(|n| memory(&format!("p{n}"), 1, &[], procedure("Redis", &["restart it"], 1))).collect();
    assert_eq!(World::asking("Redis", procedures).build().items, [], "chat has no room for procedures");
}

/// 003, Step 5: summary first; else one line; else skip it and continue.
#[test]
fn step5_summary_else_micro_else_skip_and_go_on() {
    let mut memories = facts(3);
    let line = |text: &str, tokens| (format!("- {text}\n"), Tokens(tokens));
    for (memory, (summary, micro)) in memories.iter_mut().zip([(60, 20), (200, 30), (90, 25)]) {
        (memory.lines.summary, memory.lines.summary_tokens) = line("s", summary);
        (memory.lines.micro, memory.lines.micro_tokens) = line("m", micro);
    }
    let forms = |memory: &Memory| fill::LineVariants {
        summary: Some(page::CountedText {
            text: memory.lines.summary.clone(),
            tokens: memory.lines.summary_tokens,
        }),
        micro: Some(page::CountedText { text: memory.lines.micro.clone(), tokens: memory.lines.micro_tokens }),
    };
    let chosen = |room: u64| {
        let heading = page::CountedText { text: "## H\n".to_owned(), tokens: Tokens(5) };
        let mut shelf = fill::LayerSelection::new(Layer::Facts, heading, memories.iter().map(forms).collect());
        shelf.fill(Tokens(room));
        assert!(shelf.tokens_used() <= Tokens(room));
        shelf
            .selected
            .iter()
            .map(|c| match c {
                Some(Detail::Summary) => 's',
                Some(Detail::Micro) => 'm',
                None => '-',
            })
            .collect::<String>()
    };
    for (room, want) in [
        (355, "sss"), // 5 + 60 + 200 + 90
        (354, "ssm"),
        (290, "ssm"),
        (289, "ss-"),
        (264, "sms"),
        (185, "sms"),
        (120, "smm"),
        (119, "sm-"),
        (94, "s-m"), // the second does not fit even in one line; the third does
        (65, "s--"),
        (54, "m-m"), // 5 + 20 + 25
        (25, "m--"),
        (24, "---"),
        (0, "---"),
    ] {
        assert_eq!(chosen(room), want, "in {room}");
    }
}
