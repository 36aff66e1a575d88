"""Forms of memories. Written by tools/forms.py."""

import sys
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

from neap.forms.shared import (
    Author,
    Clipped,
    LayerTokens,
    LoadedItem,
)


class Pattern(TypedDict):
    by: Literal["words", "regex", "like"]
    of: str


class Provenance(TypedDict):
    author: Author
    session: NotRequired[str]
    source: NotRequired[str]
    trust: Literal["low", "medium", "high"]
    turn: NotRequired[int]


class BodyDecisionReasons(TypedDict):
    kind: str
    text: str


class BodyDecision(TypedDict):
    alternatives: NotRequired[list[str]]
    category: NotRequired[str]
    confidence: float
    context: NotRequired[str]
    description: str
    kind: Literal["decision"]
    outcome: Literal["pending", "success", "partial", "failure"]
    outcome_notes: NotRequired[str]
    reasons: NotRequired[list[BodyDecisionReasons]]
    rests_on: NotRequired[list[str]]
    reviewed_by: NotRequired[Author]
    stakes: Literal["low", "medium", "high", "critical"]


class BodyFact(TypedDict):
    confidence: float
    confirmations: NotRequired[int]
    content: str
    kind: Literal["fact"]
    last_confirmed: NotRequired[int]
    last_confirmed_by: NotRequired[Provenance]
    subject: NotRequired[str]
    superseded_by: NotRequired[str]


class BodyProcedure(TypedDict):
    activations: NotRequired[int]
    core_patterns: NotRequired[list[str]]
    failures: NotRequired[int]
    kind: Literal["procedure"]
    name: str
    steps: NotRequired[list[str]]
    successes: NotRequired[int]


class BodyEpisode(TypedDict):
    detail: NotRequired[str]
    detail_at: NotRequired[int]
    effort: NotRequired[str]
    kind: Literal["episode"]
    lessons: NotRequired[list[str]]
    minutes: NotRequired[int]
    outcome: NotRequired[str]
    participants: NotRequired[list[str]]
    session: NotRequired[str]
    summary: str


class BodyCensor(TypedDict):
    action: Literal["steer", "refuse", "abort"]
    false_positives: NotRequired[int]
    kind: Literal["censor"]
    pattern: Pattern
    reason: str
    side: Literal["input", "output", "tool_call"]
    triggers: NotRequired[int]


Body = BodyDecision | BodyFact | BodyProcedure | BodyEpisode | BodyCensor


class MemoryLines(TypedDict):
    micro: str
    micro_tokens: int
    summary: str
    summary_tokens: int


class MemorySupersedes(TypedDict):
    id: str
    text: str


class Memory(TypedDict):
    body: Body
    clipped: NotRequired[Clipped]
    contested_with: NotRequired[list[str]]
    created: int
    domain: NotRequired[str]
    forget_asked: NotRequired[bool]
    id: str
    lines: MemoryLines
    masked: NotRequired[int]
    pin_asked: NotRequired[bool]
    pinned: NotRequired[bool]
    project: NotRequired[str]
    provenance: Provenance
    shaken_by: NotRequired[list[str]]
    status: str
    supersedes: NotRequired[list[MemorySupersedes]]
    tags: NotRequired[list[str]]
    updated: int
    valid_from: NotRequired[int]
    valid_until: NotRequired[int]


class Asked(TypedDict):
    clipped: NotRequired[Clipped]
    id: str
    memory: Memory
    reason: str


class NewBodyDecisionReasons(TypedDict):
    kind: str
    text: str


class NewBodyDecision(TypedDict):
    alternatives: NotRequired[list[str]]
    category: NotRequired[str]
    confidence: NotRequired[float]
    context: NotRequired[str]
    description: str
    kind: Literal["decision"]
    reasons: NotRequired[list[NewBodyDecisionReasons]]
    rests_on: NotRequired[list[str]]
    stakes: NotRequired[Literal["low", "medium", "high", "critical"]]


class NewBodyFact(TypedDict):
    confidence: NotRequired[float]
    content: str
    kind: Literal["fact"]
    subject: NotRequired[str]


class NewBodyProcedure(TypedDict):
    core_patterns: NotRequired[list[str]]
    kind: Literal["procedure"]
    name: str
    steps: NotRequired[list[str]]


class NewBodyEpisode(TypedDict):
    detail: NotRequired[str]
    effort: NotRequired[str]
    kind: Literal["episode"]
    lessons: NotRequired[list[str]]
    minutes: NotRequired[int]
    outcome: NotRequired[str]
    participants: NotRequired[list[str]]
    session: NotRequired[str]
    summary: NotRequired[str]


class NewBodyCensor(TypedDict):
    action: NotRequired[Literal["steer", "refuse", "abort"]]
    kind: Literal["censor"]
    pattern: Pattern
    reason: NotRequired[str]
    side: NotRequired[Literal["input", "output", "tool_call"]]


NewBody = NewBodyDecision | NewBodyFact | NewBodyProcedure | NewBodyEpisode | NewBodyCensor


class Draft(TypedDict):
    body: NewBody
    domain: NotRequired[str | None]
    force: NotRequired[bool]
    pinned: NotRequired[bool]
    project: NotRequired[str | None]
    tags: NotRequired[list[str]]
    valid_from: NotRequired[int | None]
    valid_until: NotRequired[int | None]


class ErasedMemory(TypedDict):
    erased: bool
    events: int
    id: str


class ExpectedRecall(TypedDict):
    expect: str
    here: NotRequired[str | None]
    kinds: NotRequired[list[Literal["decision", "fact", "procedure", "episode", "censor"]]]
    max: NotRequired[int | None]
    project: NotRequired[str | None]
    query: NotRequired[str]
    superseded: NotRequired[bool]
    time: NotRequired[str | None]


class Frame(TypedDict):
    """As `neap memory frames` prints it."""

    description: NotRequired[str]
    name: str
    questions: list[str]
    words: list[str]


class Imported(TypedDict):
    always_elsewhere: int
    clipped: NotRequired[Clipped]
    confirmed: int
    contested: int
    ids: dict[str, str]
    known: int
    new: int
    out_of_use: int
    refused: list[str]
    superseded: int


class MemoryChange(TypedDict):
    clipped: NotRequired[Clipped]
    id: str
    memory: Memory
    note: str
    status: str


class MemoryEdit(TypedDict):
    body: NotRequired[dict[str, Any]]
    domain: NotRequired[str | None]
    pinned: NotRequired[bool]
    project: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    valid_from: NotRequired[int | None]
    valid_until: NotRequired[int | None]


class MemoryErasureTakes(TypedDict):
    how: Literal["rests_on", "superseded_by", "contested_with", "shaken_by"]
    id: str


class MemoryErasure(TypedDict):
    clipped: NotRequired[Clipped]
    erased: bool
    id: str
    memory: Memory
    takes: list[MemoryErasureTakes]
    versions: int


class MemoryHitSupersedes(TypedDict):
    id: str
    text: str


class MemoryHit(TypedDict):
    clipped: NotRequired[Clipped]
    content: str
    id: str
    kind: str
    nearest: NotRequired[bool]
    project: NotRequired[str]
    score: float
    source: str
    supersedes: NotRequired[list[MemoryHitSupersedes]]
    text: str
    when: int


class MemoryOutcome(TypedDict):
    clipped: NotRequired[Clipped]
    id: str
    memory: Memory | None
    note: str
    similar: list[MemoryHit]
    status: str
    superseded: list[str]


class MemoryQuestion(TypedDict):
    budget: NotRequired[int | None]
    frame: NotRequired[str | None]
    here: NotRequired[str | None]
    project: NotRequired[str | None]
    question: str


class MemoryStatus(TypedDict):
    agent: str
    always: list[str]
    calibration: dict[str, Any] | None
    censors: list[str]
    clipped: NotRequired[Clipped]
    confirmation_rate: float | None
    growth_per_day: float | None
    kinds: dict[str, dict[str, int]]
    pending: list[dict[str, Any]]
    records: int
    reviews: int


class NewImport(TypedDict):
    ids: NotRequired[dict[str, str]]
    memories: list[dict[str, Any]]
    source: str


class NewReview(TypedDict):
    notes: NotRequired[str]
    outcome: Literal["pending", "success", "partial", "failure"]


class NewRollBack(TypedDict):
    author: Author
    confirm: NotRequired[bool]
    session: NotRequired[str | None]
    since: NotRequired[int | None]


class NewTrial(TypedDict):
    pattern: Pattern
    text: str


class QuestionCandidates(TypedDict):
    confidence: float
    id: str
    loaded: bool
    outcome: float
    priority: float
    recency: float
    score: float
    similarity: float
    usage: float
    why: str


class QuestionSections(TypedDict):
    layer: str
    text: str


class Question(TypedDict):
    budget: int
    build_ms: float
    candidates: list[QuestionCandidates]
    clipped: NotRequired[Clipped]
    frame: str
    frame_because: str
    frame_confidence: float
    items: list[LoadedItem]
    sections: list[QuestionSections]
    text: str
    tokens: LayerTokens
    tokens_total: int


class Recall(TypedDict):
    here: NotRequired[str | None]
    kinds: NotRequired[list[Literal["decision", "fact", "procedure", "episode", "censor"]]]
    max: NotRequired[int | None]
    project: NotRequired[str | None]
    query: NotRequired[str]
    superseded: NotRequired[bool]
    time: NotRequired[str | None]


class RolledBack(TypedDict):
    author: Author
    clipped: NotRequired[Clipped]
    done: bool
    records: list[Memory]
    rolled_back: list[str]


class Trial(TypedDict):
    clipped: NotRequired[Clipped]
    found: bool
    pattern: Pattern


class Version(TypedDict):
    """What happened has fields of its own, such as `by` and `evidence`."""

    at: int
    change: str
    memory: Memory
    seq: int
