//! `neap session export`: writes a session's events, one per line.

use std::io::Write;
use std::process::ExitCode;

use neap_core::base::ids::Seq;
use neap_store::StoredEvent;
use serde_json::json;

use crate::app;
use crate::cli::SessionExportArgs;
use crate::env::DataDir;
use crate::out::{self, Failure};

const PAGE_EVENTS: usize = 1_000;

pub(super) async fn run(data: &DataDir, args: &SessionExportArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    let id = app::parse_session_id(&args.session)?;
    engine.attach(&id).await?;
    let mut sink = out::export_sink(args.output.as_deref())?;
    let mut from = Seq(1);
    let mut damaged = 0;
    loop {
        let page = engine.store().events(&id, from, PAGE_EVENTS).await?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            match stored {
                StoredEvent::Whole(recorded) => {
                    from = recorded.seq.next();
                    writeln!(sink, "{}", out::json_text(&recorded)?)?;
                }
                StoredEvent::Damaged { seq, .. } => {
                    from = seq.next();
                    damaged += 1;
                }
            }
        }
    }
    sink.flush()?;
    if damaged > 0 {
        return Err(Failure::new(format!("left out of the export: {}", out::count(damaged, "damaged event")))
            .hint("`neap store doctor` names them"));
    }
    match &args.output {
        Some(path) if json => out::print_json(&json!({"session": id, "events": from.0 - 1, "output": path}))?,
        Some(path) => out::print_line(format!("wrote {}", path.display())),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}
