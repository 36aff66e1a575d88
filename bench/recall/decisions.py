#!/usr/bin/env python3
"""Writes conversations in which matters are weighed and settled, with questions about what was decided.

    bench/recall/decisions.py [SEED] > decisions.jsonl
    neap lab eval decisions.jsonl --budget 500,1000,2000

One line is 140 chats of one person. Each chat is about one matter, wanders off it, and settles it in one message: one that
names the matter, or a bare one ("Tuesday it is then"). Half of the matters are mentioned again in later chats, undecided.
"""
import json
import random
import sys

MATTERS = [
    ("caterer for the summer party", ["Olivia's Kitchen", "the Greek place", "Spoon & Sons"]),
    ("colour of the hallway", ["sage green", "plain white", "a pale yellow"]),
    ("database for the booking service", ["Postgres", "MongoDB", "a managed MySQL"]),
    ("date of the retreat", ["the second week of May", "early June", "mid September"]),
    ("name of the new library", ["driftwood", "pebble", "lantern"]),
    ("school for Jonas", ["the Waldorf school", "Hill Road primary", "the bilingual one"]),
    ("logo of the bakery", ["the wheat sheaf", "the plain letters", "the rolling pin"]),
    ("deadline for the tax papers", ["the 15th", "the end of the month", "the first of June"]),
    ("route over the pass", ["the northern trail", "the old mule track", "the road by the lake"]),
    ("framework for the admin pages", ["Svelte", "React", "plain HTML"]),
    ("insurance for the van", ["Nordstern", "Alba Direct", "the cooperative"]),
    ("venue for the concert", ["the boathouse", "the town hall", "Saint Anne's"]),
    ("size of the cluster", ["three nodes", "five nodes", "seven nodes"]),
    ("menu for the wedding", ["the lamb", "the risotto", "a buffet"]),
    ("price of the course", ["240 euros", "180 euros", "300 euros"]),
    ("breed of the puppy", ["a beagle", "a poodle", "a collie"]),
    ("format of the export", ["Parquet", "CSV", "JSON lines"]),
    ("tiles for the bathroom", ["the slate ones", "the terrazzo", "the blue mosaic"]),
    ("hosting of the website", ["Hetzner", "Fly", "our own rack"]),
    ("present for Grandma", ["the photo album", "a day at the spa", "the knitted blanket"]),
    ("license of the tool", ["MIT", "Apache", "AGPL"]),
    ("car for the family", ["the Skoda", "the used Volvo", "the electric Kia"]),
    ("speaker for the opening", ["Dr. Amadi", "Professor Lund", "Ms. Quist"]),
    ("layout of the garden", ["raised beds", "one long border", "a lawn with trees"]),
    ("retry policy of the importer", ["five tries with jitter", "one try only", "endless tries"]),
    ("apartment in Lyon", ["the one by the river", "the attic", "the one near the station"]),
    ("topic of the thesis", ["soil fungi", "urban heat", "river plastics"]),
    ("instrument for Mia", ["the cello", "the clarinet", "the drums"]),
]
TWISTS = ["", "in the north office", "for next year", "of the second team", "at the coast house"]
OPEN = ["We still need to settle the {m}. What do you think?", "Can we talk about the {m}?",
        "I keep going back and forth on the {m}.", "Next thing on my list: the {m}."]
WEIGH = ["{o} would be the safe choice, but it is not cheap.", "I have heard good things about {o}, though it takes longer.",
         "With {o} we would lose some freedom, and gain some calm.", "What speaks against {o} is the effort behind it.",
         "My sister had {o} once and was happy with it.", "If money were no matter I would look at {o} first."]
ASK = ["Which of them costs least over two years?", "Does anyone have experience with that?", "How long would each take?",
       "What would the others say?", "Is there anything that speaks against it?"]
WANDER = ["By the way, the train was late again this morning.", "Did you see the match last night?",
          "I have to fetch the parcel before six.", "It has been raining for days here.", "The coffee machine is broken again.",
          "Remind me to call the plumber later.", "My back hurts from yesterday's run.", "That reminds me, the printer is out of toner."]
LONG = (" To weigh it properly, look at three things: what it costs at the start, what it costs to keep, and what it would take to "
        "change your mind later. None of them decides alone, and each of them can be put off for a while without much harm.")
NAMED = ["Okay, decided: {o} for the {m}.", "Let's go with {o} for the {m}, then.", "So for the {m} we take {o}."]
BARE = ["Alright, let's go with {o}.", "{O} it is then.", "Fine, {o}. That settles it.", "You convinced me, I'll take {o}.",
        "Then we do {o}, final answer.", "Good, {o}, agreed."]
DONE = ["I have just ordered {o}, wish us luck.", "Please book {o} before somebody else does.", "I told them yes to {o} on the phone.",
        "{O}. No more talk about it, please.", "Just signed the papers for {o}.", "My heart says {o}, so {o}."]
LATER = ["The {m} cost us a whole evening, by the way.", "People keep asking me about the {m}.", "I told Ann about the {m} as well."]
QUESTIONS = ["What did we decide about the {m}?", "Which one did we choose for the {m}?", "What was settled for the {m} in the end?",
             "What did we go with for the {m}?"]
ACK = ["Good choice, I will note that.", "Sounds good.", "Great, one thing less."]


def conversation(seed, people):
    pick = random.Random(seed)
    who = ("Nora", "Piet") if people else ("user", "assistant")
    matters = [(f"{m} {twist}".strip(), options) for twist in TWISTS for m, options in MATTERS]
    pick.shuffle(matters)
    turns, questions, begin = [], [], 1_700_000_000

    def say(session, side, text):
        at = len(turns)
        time = f"{begin + session * 86_400 + at}"
        turns.append({"id": at + 1, "session": session, "time": iso(int(time)), "who": who[side], "text": text})
        return at + 1

    for session, (matter, options) in enumerate(matters):
        pads = {"m": matter}
        say(session, 0, pick.choice(OPEN).format(**pads))
        for _ in range(pick.randint(3, 7)):
            line = pick.choice(WEIGH).format(o=pick.choice(options))
            say(session, 1, line if people else line + LONG)
            say(session, 0, pick.choice(ASK + WANDER + WEIGH).format(o=pick.choice(options), **pads))
        for _ in range(pick.randint(0, 3)):
            say(session, 1, pick.choice(WANDER if people else ["Noted.", "Of course.", "I see what you mean."]))
            say(session, 0, pick.choice(WANDER))
        option, kind = pick.choice(options), pick.choice(["named", "bare", "done"])
        text = pick.choice({"named": NAMED, "bare": BARE, "done": DONE}[kind]).format(o=option, O=option[0].upper() + option[1:], **pads)
        settled = say(session, 0, text)
        say(session, 1, pick.choice(ACK))
        for _ in range(pick.randint(0, 2)):
            say(session, 0, pick.choice(WANDER))
        if session and pick.random() < 0.5:
            say(session, 0, pick.choice(LATER).format(m=pick.choice(matters[:session])[0]))
        category = f"{kind}, {'between people' if people else 'with a model'}"
        questions.append({"q": pick.choice(QUESTIONS).format(**pads), "cat": category, "evidence": [settled]})
    return {"id": f"decisions-{seed}-{'people' if people else 'model'}", "turns": turns, "questions": questions}


def iso(seconds):
    import datetime
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for people in (False, True):
        print(json.dumps(conversation(seed, people)))
