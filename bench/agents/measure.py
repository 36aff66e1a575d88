"""Figures of a conversation, from the requests that reached the provider."""

import json

import cost
import script

RECENT_TURNS = 10


def conversation(recorded):
    """The requests of the conversation itself, not those for titles and the like, which have no tools."""
    return [one["body"] for one in recorded if one["body"].get("tools")]


def unpaired(asked):
    """Calls without a result, and results without a call."""
    called, answered = set(), set()
    for message in asked.get("messages", []):
        for block in message["content"] if isinstance(message.get("content"), list) else []:
            called |= {block["id"]} if block["type"] == "tool_use" else set()
            answered |= {block["tool_use_id"]} if block["type"] == "tool_result" else set()
        called |= {call["id"] for call in message.get("tool_calls") or []}
        answered |= {message["tool_call_id"]} if message["role"] == "tool" else set()
    for item in asked.get("input", []):
        called |= {item["call_id"]} if item["type"].endswith("_call") else set()
        answered |= {item["call_id"]} if item["type"].endswith("_call_output") else set()
    return called ^ answered


def beginning(recorded, turns):
    """The requests of the first turns."""
    at = [number for number, one in enumerate(recorded) if one["body"].get("tools")]
    begins = turn_begins(conversation(recorded))
    return recorded[:at[begins[turns]]] if turns < len(begins) else recorded


def direct(recorded, tokens, faults):
    requests = conversation(recorded)
    pairs = list(cost.accounts(requests, tokens))
    return {"direct": {
        "requests": len(requests),
        "peak": round(max(size for size, _ in pairs)),
        "tools and system": round(sum(map(tokens, cost.fixed(requests[-1])))),
        "cost": round(cost.bill(pairs)),
        "breaks": len(cost.breaks(requests)),
        "faults": faults,
    }}


def turn_begins(requests):
    """The numbers of the requests that begin a turn: the newest message is no result of a tool."""
    newest = map(json.dumps, map(cost.newest, requests))
    return [number for number, item in enumerate(newest) if not any(mark in item for mark in ('"tool_result"', '_call_output"', '"tool_call_id"'))]


def facts(sent, begins, turns):
    told = {}
    for turn, at in enumerate(begins, 1):
        if wanted := script.asked(turn, turns):
            kind, distance = wanted
            words = script.FACTS[kind][3]
            text = "".join(cost.history(sent[at]))
            told.setdefault(kind, {})[distance] = all(word in text for word in words)
    return told


def written_files(came, sent, begins):
    """Of the calls of the last turns that wrote a file, how many are whole in each request: (whole, all)."""
    whole = every = 0
    for turn, at in enumerate(begins):
        since = begins[max(turn - RECENT_TURNS, 0)]
        before = set(cost.history(came[since])) if turn > RECENT_TURNS else set()
        writes = [piece for piece in cost.history(came[at]) if "<<'END'" in piece and piece not in before]
        every += len(writes)
        whole += sum(piece in set(cost.history(sent[at])) for piece in writes)
    return f"{whole} of {every}"


def cuts(sent, epochs, begins):
    """How often the history was cut, and how many turns passed from one cut to the next."""
    at = [number for number, (one, other) in enumerate(zip([0, *epochs], epochs)) if other != one]
    turns = [sum(begin <= number for begin in begins) for number in at]
    broken = cost.breaks(sent)
    return {
        "cuts": len(at),
        "at turns": turns,
        "turns for each cut after the first": round((len(begins) - turns[0]) / (len(turns) - 1), 1) if len(turns) > 1 else None,
        "breaks at a cut": sum(number in at for number in broken),
        "breaks elsewhere": [number for number in broken if number not in at],
    }


def through(args, tokens, budget, recorded, sent, epochs):
    came, sent = conversation(recorded), conversation(sent)
    assert len(came) == len(sent) == len(epochs), f"direct {len(came)} requests, at the provider {len(sent)}, in the proxy's log {len(epochs)}"
    begins = turn_begins(came)
    wanted = args.first or args.turns
    assert len(begins) == wanted, f"{len(begins)} turns in the recording, {wanted} wanted"
    own = {piece for asked in came for piece in cost.history(asked)}
    pairs = list(cost.accounts(sent, tokens))
    untouched = list(cost.accounts(came, tokens))
    paid = cost.bill(pairs)
    return {
        "ratio": round(paid / cost.bill(untouched), 3),
        "highest ratio": round(cost.highest_running(pairs, untouched), 3),
        "cost": round(paid),
        "peak": round(max(size for size, _ in pairs)),
        "over": sum(size > budget for size, _ in pairs),
        **cuts(sent, epochs, begins),
        "recalled": round(100 * cost.recalled_share(sent, own, tokens), 1),
        "facts": facts(sent, begins, args.turns),
        "written files": written_files(came, sent, begins),
        "spent": cost.spent(sent, own, tokens),
        "unpaired": sum(bool(unpaired(asked)) for asked in sent),
    }


def holds(figures):
    found = all(there for kind in figures["facts"].values() for there in kind.values())
    return found and not (figures["over"] or figures["unpaired"] or figures["breaks elsewhere"] or figures["faults"])
