"""Forms of sessions. Written by tools/forms.py."""

import sys
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

from neap.forms.shared import (
    Clipped,
    Cost,
    RequestCost,
    Role,
    TokenUsage,
)


class Brief(TypedDict):
    budget: int
    clipped: NotRequired[Clipped]
    text: str
    tokens: int


class ContextQuestion(TypedDict):
    budget: NotRequired[int | None]
    question: NotRequired[str | None]


class Effort(TypedDict):
    active: bool
    clipped: NotRequired[Clipped]
    exchanges: int
    expanded: bool
    expansion_cost_tokens: int | None
    id: str
    last_referenced_turn: int
    name: str
    place: Literal["active", "open", "expanded", "shown", "evicted"]
    raw_tokens: int
    status: Literal["open", "concluded"]
    summary: str | None
    summary_tokens: int | None


class EntriesAppended(TypedDict):
    recorded: int
    seq: int


class Erased(TypedDict):
    erased: bool
    events: int
    session: str


class Event(TypedDict):
    """As `neap session export` writes it."""

    at: int
    clipped: NotRequired[Clipped]
    event: dict[str, Any]
    seq: int


KeptChanged = TypedDict(
    "KeptChanged",
    {
        "from": str,
        "kind": str,
        "to": str,
    },
)


class KeptKinds(TypedDict):
    found: int
    missing: int
    recoverable: int
    retained: int


class KeptMissing(TypedDict):
    kind: str
    value: str


class KeptRecoverable(TypedDict):
    kind: str
    value: str


KeptRepaired = TypedDict(
    "KeptRepaired",
    {
        "from": str,
        "kind": str,
        "to": str,
    },
)


class Kept(TypedDict):
    changed: NotRequired[list[KeptChanged]]
    handle: NotRequired[str]
    kinds: NotRequired[dict[str, KeptKinds]]
    missing: NotRequired[list[KeptMissing]]
    recoverable: NotRequired[list[KeptRecoverable]]
    repaired: NotRequired[list[KeptRepaired]]


class LogSize(TypedDict):
    exchanges: int
    tokens: int


class ModelTotals(TypedDict):
    cached: int
    calls: int
    dollars: float | None
    model: str
    output: int
    sent: int
    untouched_dollars: float | None


class NewEffort(TypedDict):
    name: str


class NewEntries(TypedDict):
    entries: list[str]


class OriginalMessages(TypedDict):
    chars: int
    role: Role


class Original(TypedDict):
    chars: int
    clipped: NotRequired[Clipped]
    handle: str
    messages: list[OriginalMessages]
    next: int | None
    offset: int
    text: str


Policy = dict[str, Any]


class ProjectTotals(TypedDict):
    cached: int
    dollars: float
    output: int
    project: str | None
    sent: int
    sessions: int
    turns: int
    untouched_dollars: float


class Receipt(TypedDict):
    at: int
    clipped: NotRequired[Clipped]
    kind: Literal["conclusion", "compaction", "merge", "client"]
    of: str
    receipt: NotRequired[Kept]
    source_tokens: int
    summary_tokens: int
    turn: int


class RequestTotals(TypedDict):
    broken_off: int
    changed: int
    cost: NotRequired[RequestCost]
    priced: NotRequired[int]
    requests: int
    tokens_in: int
    tokens_sent: int
    used: TokenUsage


class Savings(TypedDict):
    of_variable: float
    of_whole: float
    tokens: int


class ReportEfforts(TypedDict):
    evicted: int
    expanded: int
    open: int
    shown: int


class Report(TypedDict):
    auto_collapses: int
    avg_expansion_duration: float | None
    cached_share: float
    compactions: int
    context_tokens: int
    context_tokens_peak: int
    cost: Cost
    efforts: ReportEfforts
    epochs: int
    evictions: int
    expansion_overhead: float
    expansion_tokens: int
    false_decay_rate: float | None
    manual_collapses: int
    manual_vs_auto_collapse: float | None
    memories: dict[str, Any]
    passed: NotRequired[RequestTotals]
    price_dollars: float
    saved_dollars: NotRequired[float | None]
    savings_vs_naive: Savings
    savings_vs_naive_all_turns: Savings
    tokens_saved_by_decay: int
    turns: int


class Spending(TypedDict):
    cached: int
    calls: int
    nanodollars: int
    output: int
    priced: int
    sent: int
    untouched_nanodollars: int


class Session(TypedDict):
    cost: NotRequired[Cost]
    created: int
    efforts: int
    events: int
    models: NotRequired[dict[str, Spending]]
    passed: NotRequired[RequestTotals]
    project: NotRequired[str]
    scrubbed: bool
    session: str
    turns: int
    updated: int


class SessionDetail(TypedDict):
    active: str | None
    all_logs: LogSize
    ambient: LogSize
    created: int
    encoding: str
    policy: Policy
    report: Report
    session: str
    turns: int
    updated: int


class SessionErasure(TypedDict):
    efforts: int
    erased: bool
    session: str
    turns: int


class SessionReportAgent(TypedDict):
    confirmation_rate: float | None
    growth_per_day: float | None
    records: int


class SessionReportEfforts(TypedDict):
    evicted: int
    expanded: int
    open: int
    shown: int


class SessionReportMemoryMetrics(TypedDict):
    met: bool | None
    name: str
    target: str
    value: float | None


class SessionReport(TypedDict):
    agent: SessionReportAgent
    auto_collapses: int
    avg_expansion_duration: float | None
    cached_share: float
    compactions: int
    context_tokens: int
    context_tokens_peak: int
    cost: Cost
    efforts: SessionReportEfforts
    epochs: int
    evictions: int
    expansion_overhead: float
    expansion_tokens: int
    false_decay_rate: float | None
    manual_collapses: int
    manual_vs_auto_collapse: float | None
    memories: dict[str, Any]
    memory_metrics: list[SessionReportMemoryMetrics]
    passed: NotRequired[RequestTotals]
    price_dollars: float
    saved_dollars: NotRequired[float | None]
    savings_vs_naive: Savings
    savings_vs_naive_all_turns: Savings
    session: str
    tokens_saved_by_decay: int
    turns: int


class Settings(TypedDict):
    set: NotRequired[dict[str, str]]


class StoreReport(TypedDict):
    cost: Cost
    models: list[ModelTotals]
    passed: RequestTotals
    price_dollars: float
    projects: list[ProjectTotals]
    saved_dollars: float | None
    sessions: int
    turns: int


class ToolReply(TypedDict):
    banner: str | None
    clipped: NotRequired[Clipped]
    refusal: str | None
    text: str
