//! `neap session erase`: erases a session after a person's confirmation. Models cannot do this.

use std::process::ExitCode;

use neap_engine::forms::SessionErasure;
use serde_json::json;

use crate::app;
use crate::cli::SessionDeleteArgs;
use crate::env::DataDir;
use crate::files;
use crate::out::{self, BOLD, DIM, Failure, count};

pub(super) async fn run(data: &DataDir, args: &SessionDeleteArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::parse_session_id(&args.session)?;
    app::open_existing(data)?;
    let engine = app::engine_builder(data)?.build();
    let session = engine.attach(&id).await?;
    let (turns, efforts) = (session.state().turn().0, session.state().efforts().len());
    let Some(confirm) = &args.confirm else {
        let value = SessionErasure::of(&session);
        let (turns, efforts) = (count(turns, "turn"), count(efforts as u64, "effort"));
        return out::print_answer(json, &value, || {
            format!(
                "{BOLD}{id}{BOLD:#} has {turns} and {efforts}. Erasing it removes all its text from the store, from \
                 its folder and from the input history; only the fact that it was erased remains. This cannot be \
                 undone, not by an import either: what an agent keeps of it from before is not imported again.\n\
                 {DIM}to keep a copy:{DIM:#} neap session export {id} --output {id}.jsonl\n\
                 {DIM}to erase it:{DIM:#}    neap session erase {id} --confirm {id}\n"
            )
        });
    };
    if app::parse_session_id(confirm)? != id {
        return Err(Failure::new(format!("--confirm names a session other than {id}")).hint("nothing was erased"));
    }
    drop(session);
    let events = engine.scrub(&id).await?;
    engine.flush().await;
    let history = data.history_file(&id);
    files::remove(&history).map_err(|error| {
        Failure::new(format!("erased {id}, but not its input history: {error}"))
            .hint(format!("remove {} by hand", history.display()))
    })?;
    out::print_answer(json, &json!({"session": id, "events": events, "erased": true}), || {
        format!("erased {id}: {}\n", count(events, "event"))
    })
}
