"""The figures as Markdown."""

import datetime
import os
import platform

from rules import BUDGETS, LIMIT

COLUMNS = (
    "",
    "evidence recall % at " + " / ".join(str(budget) for budget in BUDGETS) + " tokens",
    "question ms p50 / p95",
    "store ms a turn",
    "start s",
    "disk MiB",
    "memory MiB",
)
MIB = 1 << 20


def head(most):
    day = datetime.datetime.now(datetime.timezone.utc).date()
    first = f"; of each file the first {most} conversations at most" if most else ""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"# Neap and its peers, side by side\n\n{day}, {machine}{first}.\n"


def file(path, prepared, rows, load):
    lines = [f"## {path.name.split('.')[0]}: {prepared['turns']:,} turns, {prepared['questions']:,} questions", ""]
    lines += [cells(COLUMNS), cells(["---"] * len(COLUMNS))]
    lines += [cells([name, *figures(row)]) for name, row in rows.items()]
    lines += ["", embedding(prepared, rows), f"Load of the machine: {load[0]:.1f} before, {load[1]:.1f} after.", ""]
    return "\n".join(lines)


def figures(row):
    recall = {int(budget): share for budget, share in row["recall"].items()}
    return [
        " / ".join(f"{recall[budget]:.1f}" for budget in BUDGETS),
        f"{row['p50_ms']:.2f} / {row['p95_ms']:.2f}",
        f"{row['store_ms']:.2f}",
        f"{row['started_s']:.1f}",
        f"{row['disk_bytes'] / MIB:.1f}" if row["disk_bytes"] else "–",
        f"{row['memory_bytes'] / MIB:.0f}",
    ]


def embedding(prepared, rows):
    said = (
        f"Embedding is in no figure above. One text at a time it took the peers' model {prepared['turn_ms']:.1f} ms a turn and "
        f"{prepared['question_ms']:.1f} ms a question"
    )
    own = rows.get("Neap")
    if own is None:
        return f"{said}."
    if "embed_turn_ms" not in own:
        return f"{said}. This build of Neap embeds nothing: it ranks by words and by what stands around them."
    return f"{said}, Neap's own {own['embed_turn_ms']:.1f} ms a turn (in bulk) and {own['embed_question_ms']:.1f} ms a question."


def notes(rows):
    lines = ["## What was measured", ""]
    lines += [f"- **{name}** ({', '.join(row['versions'])}): {row['note']}." for name, row in rows.items()]
    lines += [
        "",
        "Every turn of each conversation is stored, a store a conversation, then every question is asked. A budget is filled with "
        f"whole turns in the peer's order (of {LIMIT} results; one that does not fit is passed over), counted with o200k_base as "
        "`speaker: text`. Neap fills it by itself and pays for the times that it writes beside the turns. Recall is the share of "
        "the evidence turns whose text is in the context, a mean over the questions that have evidence.",
        "",
        "Peers that need vectors are all given paraphrase-MiniLM-L3-v2, the model that is built into Neap, but in full precision where "
        "Neap's has 4 bits a weight: no hub or key was to be had. "
        "**With a strong hosted embedder they would do better.**",
        "",
        "Each row is a process of its own on one thread. The first question is among the times; *start* is from launching a process "
        "to being ready to store (for Neap a whole run over one turn). *Memory* is the most that was resident: the peers' with the Python "
        "interpreter but without a model, Neap's with its model. *Disk* is the sum over all conversations, for Neap at its largest "
        "with the log of writes. LangGraph's InMemoryStore keeps nothing on disk. mem0 without a model stores neither facts nor entities: "
        "its extraction, which is what it is known for, is not measured here; nor is LlamaIndex's fact extraction.",
    ]
    return "\n".join(lines)


def cells(values):
    return f"| {' | '.join(values)} |"
