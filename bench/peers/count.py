"""What turns cost in tokens."""

from rs_bpe.bpe import openai


def costs(conversation):
    """For each turn, session by session: who spoke, and what they said, by the exact vocabulary of o200k_base."""
    encoding = openai.o200k_base()
    turns = [turn for turns in conversation.sessions().values() for turn in turns]
    return [encoding.count(f"{turn.who}: {turn.said}\n") for turn in turns]
