//! Every route of the API.

use axum::http::Method;

use super::route::{Form, Handler, Kind, LIMIT_MAX, Param, Route};
use super::{
    changes, events, host_entries, memories, memory_changes, memory_transfer, prompt, search, sessions, system,
    turns,
};

pub(crate) const PREFIX: &str = "/api/v1";

const LIMIT: Param = Param::query("limit", Kind::Integer(1, LIMIT_MAX), "Most items; 50 unless given.");
const POINTS: Param = Param::query("limit", Kind::Integer(1, 1_000), "Most items; 50 unless given.");
const CURSOR: Param = Param::query("cursor", Kind::Text(256), "`next` of the page before.");
const BEFORE: Param = Param::query("before", Kind::Integer(1, u64::MAX >> 1), "Turns before this one.");
const OFFSET: Param = Param::query("offset", Kind::Integer(0, u64::MAX >> 12), "The first character.");
const CHARS: Param = Param::query("limit", Kind::Integer(1, 40_000), "Most characters; 20000 unless given.");
const CONFIRM: Param = Param::query("confirm", Kind::Text(256), "The name or id once more.").required();
const KEY: Param = Param::header(
    "Idempotency-Key",
    Kind::Text(128),
    "The caller's own id: with the same one again, nothing is stored.",
);
const LAST_EVENT: Param =
    Param::header("Last-Event-ID", Kind::Text(128), "The last event that was read, to go on from there.");
const MEMORY_KINDS: &[&str] = &["decision", "fact", "procedure", "episode", "censor"];
const AUTHORS: &[&str] = &["person", "model", "tool", "import"];
const TRUSTS: &[&str] = &["low", "medium", "high"];
const STATUSES: &[&str] = &[
    "recorded", "pending", "reviewed", "new", "confirmed", "core", "superseded", "inactive", "active",
    "summarized", "archived", "effective", "ineffective", "created", "escalated", "retired",
];

pub(crate) fn about_path_param(name: &str) -> &'static str {
    match name {
        "session" => "The session's name.",
        "turn" => "A turn's number, or `latest`; where a turn is recorded, the caller's own id for it.",
        "effort" => "The effort's id; for a log also `ambient`.",
        "handle" => "What a text is stored under, such as t12, t12.3 or t3-41@auth-bug.",
        "id" => "The memory's id, such as f7.",
        "action" => "What to do.",
        _ => "",
    }
}

/// A handler as the table keeps it.
macro_rules! call {
    ($handler:path) => {{
        let handler: Handler = |api, call| Box::pin($handler(api, call));
        handler
    }};
}

fn get(path: &'static str, id: &'static str, about: &'static str, form: Form, handler: Handler) -> Route {
    Route::new((Method::GET, path), id, about, form, handler)
}

fn post(path: &'static str, id: &'static str, about: &'static str, form: Form, handler: Handler) -> Route {
    Route::new((Method::POST, path), id, about, form, handler)
}

fn put(path: &'static str, id: &'static str, about: &'static str, form: Form, handler: Handler) -> Route {
    Route::new((Method::PUT, path), id, about, form, handler)
}

fn delete(path: &'static str, id: &'static str, about: &'static str, form: Form, handler: Handler) -> Route {
    Route::new((Method::DELETE, path), id, about, form, handler)
}

pub(crate) fn routes() -> Vec<Route> {
    [of_the_server(), of_sessions(), of_efforts(), of_turns(), of_memories(), of_memory_changes()]
        .into_iter()
        .flatten()
        .collect()
}

fn of_the_server() -> Vec<Route> {
    use Form::{List, One, Stream};
    let after = Param::query("after", Kind::Integer(0, u64::MAX >> 1), "Requests after this number.");
    vec![
        get("/health", "health", "Whether the store answers", One("Health"), call!(system::health)).open(),
        get("/openapi.json", "openapi", "This document", One("Document"), call!(system::document)).anywhere(),
        get("/report", "report", "Totals of all sessions", One("StoreReport"), call!(system::report)),
        get("/jobs", "jobs", "What goes on in the background", One("Jobs"), call!(system::jobs)).live(),
        get("/requests", "requests", "The proxy's last requests", One("RequestLog"), call!(system::requests))
            .with(&[after])
            .live(),
        get("/events", "events", "What happens now", Stream("text/event-stream"), call!(events::serve))
            .with(&[LAST_EVENT])
            .live(),
        post("/search", "search", "Search what was said", List("Hit"), call!(search::search))
            .body("Search")
            .reads(),
        post("/search/expect", "expect", "Why a text is found or not", One("Expected"), call!(search::expect))
            .body("ExpectedSearch")
            .reads(),
    ]
}

fn of_sessions() -> Vec<Route> {
    use Form::{List, One, Stream};
    let part = Param::query("q", Kind::Text(256), "Part of the name.");
    let project = Param::query("project", Kind::Text(256), "Only of this project.");
    let erased = Param::query("erased", Kind::Flag, "Erased ones, too.");
    let after = Param::query("after", Kind::Integer(0, u64::MAX >> 1), "Those of events after this one.");
    vec![
        get("/sessions", "list_sessions", "Sessions, last changed first", List("Session"), call!(sessions::list))
            .with(&[LIMIT, CURSOR, part, project, erased]),
        get("/sessions/{session}", "show_session", "A session", One("SessionDetail"), call!(sessions::show)),
        put(
            "/sessions/{session}",
            "put_session",
            "Begin a session, or set it",
            One("SessionDetail"),
            call!(sessions::put),
        )
        .body("Settings"),
        delete("/sessions/{session}", "erase_session", "Erase a session", One("Erased"), call!(sessions::erase))
            .with(&[CONFIRM]),
        get(
            "/sessions/{session}/erasure",
            "preview_session_erasure",
            "What erasing takes",
            One("SessionErasure"),
            call!(sessions::erasure),
        ),
        get(
            "/sessions/{session}/export",
            "export_session",
            "All events, one a line",
            Stream("application/x-ndjson"),
            call!(sessions::export),
        ),
        get(
            "/sessions/{session}/events",
            "list_events",
            "Events, oldest first",
            List("Event"),
            call!(sessions::events),
        )
        .with(&[LIMIT, CURSOR]),
        get(
            "/sessions/{session}/report",
            "session_report",
            "Figures",
            One("SessionReport"),
            call!(sessions::report),
        ),
        get(
            "/sessions/{session}/receipts",
            "list_receipts",
            "Summaries",
            List("Receipt"),
            call!(sessions::receipts),
        )
        .with(&[LIMIT, CURSOR]),
        get(
            "/sessions/{session}/originals/{handle}",
            "show_original",
            "The original text behind a handle",
            One("Original"),
            call!(sessions::original),
        )
        .with(&[OFFSET, CHARS]),
        get(
            "/sessions/{session}/entries",
            "read_entries",
            "What a host stored for itself, oldest first",
            Stream("application/x-ndjson"),
            call!(host_entries::list),
        )
        .with(&[after]),
        post(
            "/sessions/{session}/entries",
            "append_entries",
            "Store what a host keeps for itself",
            One("EntriesAppended"),
            call!(host_entries::append),
        )
        .with(&[KEY.required()])
        .body("NewEntries"),
        post(
            "/sessions/{session}/context",
            "build_context",
            "A page for a host",
            One("Brief"),
            call!(sessions::context),
        )
        .body("ContextQuestion")
        .reads(),
    ]
}

fn of_efforts() -> Vec<Route> {
    use Form::{List, One};
    vec![
        get("/sessions/{session}/efforts", "list_efforts", "Efforts", List("Effort"), call!(sessions::efforts))
            .with(&[LIMIT, CURSOR]),
        post(
            "/sessions/{session}/efforts",
            "open_effort",
            "Open one",
            One("ToolReply"),
            call!(sessions::open_effort),
        )
        .body("NewEffort"),
        get("/sessions/{session}/efforts/{effort}", "show_effort", "One", One("Effort"), call!(sessions::effort)),
        get(
            "/sessions/{session}/efforts/{effort}/log",
            "list_log",
            "Its log",
            List("Exchange"),
            call!(sessions::log),
        )
        .with(&[LIMIT, CURSOR]),
        post(
            "/sessions/{session}/efforts/{effort}/{action}",
            "act_on_effort",
            "expand, collapse, conclude, reopen, switch",
            One("ToolReply"),
            call!(sessions::act_on_effort),
        ),
    ]
}

fn of_turns() -> Vec<Route> {
    use Form::{List, One};
    let with =
        Param::query("with", Kind::Integer(1, u64::MAX >> 1), "The other turn; the one before unless given.");
    let points =
        Param::query("points", Kind::Integer(1, LIMIT_MAX), "So many turns, evenly spaced over the session.");
    let block = Param::query("block", Kind::Integer(0, u64::MAX >> 12), "The first block.");
    vec![
        get("/sessions/{session}/turns", "list_turns", "Turns, newest first", List("TurnRow"), call!(turns::list))
            .with(&[LIMIT, CURSOR, BEFORE]),
        get("/sessions/{session}/series", "series", "Turns for plots", List("SeriesRow"), call!(turns::series))
            .with(&[POINTS, CURSOR, BEFORE, points]),
        get(
            "/sessions/{session}/changes",
            "list_changes",
            "What changed prompts, newest first",
            List("Change"),
            call!(changes::list),
        )
        .with(&[LIMIT, CURSOR, BEFORE]),
        get("/sessions/{session}/turns/{turn}", "explain_turn", "A turn", One("Turn"), call!(turns::explain)),
        put(
            "/sessions/{session}/turns/{turn}",
            "record_turn",
            "Record a turn",
            One("RecordedTurn"),
            call!(turns::record),
        )
        .body("NewTurn"),
        get(
            "/sessions/{session}/turns/{turn}/prompt",
            "show_prompt",
            "Its prompt",
            One("Prompt"),
            call!(prompt::show),
        )
        .with(&[block, OFFSET, CHARS]),
        get(
            "/sessions/{session}/turns/{turn}/diff",
            "diff_prompts",
            "Two prompts",
            One("Diff"),
            call!(prompt::diff),
        )
        .with(&[with]),
        post(
            "/sessions/{session}/messages",
            "append_messages",
            "Record messages",
            One("Appended"),
            call!(turns::append),
        )
        .with(&[KEY.required()])
        .body("NewMessages"),
    ]
}

fn of_memories() -> Vec<Route> {
    use Form::{List, One};
    let filters = [
        LIMIT,
        CURSOR,
        Param::query("kind", Kind::OneOf(MEMORY_KINDS), "Only this kind."),
        Param::query("status", Kind::OneOf(STATUSES), "Only this status."),
        Param::query("author", Kind::OneOf(AUTHORS), "Only by this author."),
        Param::query("trust", Kind::OneOf(TRUSTS), "Only of this trust."),
        Param::query("tag", Kind::Text(128), "Only with this tag."),
        Param::query("q", Kind::Text(256), "Words that its text has."),
    ];
    vec![
        get("/memories", "list_memories", "Memories, newest first", List("Memory"), call!(memories::list))
            .with(&filters),
        get("/memories/asked", "list_asked", "What models asked to forget", List("Asked"), call!(memories::asked))
            .with(&[LIMIT, CURSOR]),
        get("/memories/status", "memory_status", "Counts", One("MemoryStatus"), call!(memories::status)),
        get(
            "/memories/export",
            "export_memories",
            "All memories, one a line",
            Form::Stream("application/x-ndjson"),
            call!(memory_transfer::export),
        ),
        get("/memories/frames", "list_frames", "Frames", List("Frame"), call!(memories::frames)),
        get("/memories/{id}", "show_memory", "A memory", One("Memory"), call!(memories::show)),
        get("/memories/{id}/history", "memory_history", "Versions", List("Version"), call!(memories::history))
            .with(&[LIMIT, CURSOR]),
        get("/memories/{id}/chain", "memory_chain", "What replaced what", List("Memory"), call!(memories::chain)),
        get(
            "/memories/{id}/erasure",
            "preview_memory_erasure",
            "What erasing takes",
            One("MemoryErasure"),
            call!(memories::erasure),
        ),
        post("/memories/recall", "recall", "Search memories", List("MemoryHit"), call!(memories::recall))
            .body("Recall")
            .reads(),
        post(
            "/memories/expect",
            "expect_memory",
            "Why a memory is found or not",
            One("Expected"),
            call!(memories::expect),
        )
        .body("ExpectedRecall")
        .reads(),
        post(
            "/memories/context",
            "explain_recall",
            "Candidates and scores",
            One("Question"),
            call!(memories::context),
        )
        .body("MemoryQuestion")
        .reads(),
        post("/memories/try", "try_pattern", "Try a rule's pattern", One("Trial"), call!(memories::try_pattern))
            .body("NewTrial")
            .reads(),
    ]
}

fn of_memory_changes() -> Vec<Route> {
    use Form::One;
    vec![
        post("/memories", "remember", "Remember", One("MemoryOutcome"), call!(memory_changes::remember))
            .with(&[KEY])
            .body("Draft"),
        post(
            "/memories/import",
            "import_memories",
            "Take over an export",
            One("Imported"),
            call!(memory_transfer::import),
        )
        .body("NewImport"),
        Route::new(
            (Method::PATCH, "/memories/{id}"),
            "edit_memory",
            "Edit",
            One("MemoryChange"),
            call!(memory_changes::edit),
        )
        .body("MemoryEdit"),
        delete("/memories/{id}", "erase_memory", "Erase", One("ErasedMemory"), call!(memory_changes::erase))
            .with(&[CONFIRM]),
        post(
            "/memories/{id}/{action}",
            "act_on_memory",
            "undo, confirm, core, wrong, retire, false-positive",
            One("MemoryChange"),
            call!(memory_changes::act),
        ),
        post(
            "/memories/{id}/review",
            "review_memory",
            "Review",
            One("MemoryChange"),
            call!(memory_changes::review),
        )
        .body("NewReview"),
        post("/memories/roll-back", "roll_back", "Roll back", One("RolledBack"), call!(memory_changes::roll_back))
            .body("NewRollBack"),
    ]
}
