"""What is done once for all peers of a file: `prepare.py FILE MOST FOLDER`. Prints a line of JSON.

Every text is embedded and every turn counted in tokens, so that no peer's memory or time is burdened with either. What embedding
costs is measured here.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import conversations
from count import costs
from minilm import MiniLM
from vectors import Vectors

SAMPLE = 60


def main(path, most, folder):
    all_of_it = conversations.read(path, int(most) or None)
    turns = [turn.text for conversation in all_of_it for turn in conversation.turns]
    questions = [question.text for conversation in all_of_it for question in conversation.questions]
    (Path(folder) / "costs.json").write_text(json.dumps([costs(conversation) for conversation in all_of_it]))
    vectors = Vectors(Path(folder) / "vectors.db")
    vectors.embed(list(dict.fromkeys(turns + questions)))
    model = MiniLM()
    model.embed(["warm"])
    print(
        json.dumps(
            {
                "turns": len(turns),
                "questions": len(questions),
                "turn_ms": alone(model, turns),
                "question_ms": alone(model, questions),
            }
        )
    )


def alone(model, texts):
    """Milliseconds for one text by itself: the mean over a sample from all of them."""
    took = []
    for text in texts[:: max(len(texts) // SAMPLE, 1)]:
        began = time.perf_counter()
        model.embed([text])
        took.append((time.perf_counter() - began) * 1e3)
    return statistics.fmean(took) if took else 0.0


if __name__ == "__main__":
    main(*sys.argv[1:])
