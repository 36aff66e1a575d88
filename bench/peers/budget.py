"""What of the evidence is in the context, when a budget of tokens is filled with whole turns in the order of a peer."""

def fill(turns, costs, order, budget):
    """The turns that are taken. One that does not fit is passed over for the next that does."""
    chosen, left = [], budget
    for at in order:
        if costs[at] <= left:
            left -= costs[at]
            chosen.append(turns[at])
    return chosen


def recall(turns, question, chosen):
    """The share of the evidence whose text is in the context; nothing for a question without evidence.

    By text, not by id, as `neap lab eval` judges: the same words said twice are found either way.
    """
    evidence = [turn for turn in turns if turn.id in set(question.evidence)]
    if not evidence:
        return None
    context = flat("\n".join(turn.said for turn in chosen))
    return sum(flat(turn.said) in context for turn in evidence) / len(evidence)


def flat(text):
    return " ".join(text.split())
