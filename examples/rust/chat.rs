//! A chat with the built-in model, kept in a file: `cargo run -p neap-engine --example chat -- chat.db`. Started again, it goes on.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use neap_core::base::ids::SessionId;
use neap_engine::{Author, Engine, NullObserver, SessionOptions};
use neap_sqlite::SqliteStore;

#[allow(dead_code, reason = "the test of this example calls `chat`")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "chat.db".to_owned());
    chat(Path::new(&path), std::io::stdin().lock(), std::io::stdout()).await
}

pub(crate) async fn chat(path: &Path, input: impl BufRead, mut output: impl Write) -> Result<(), Box<dyn Error>> {
    // `.model(…)` here takes any `ChatModel`.
    let engine = Engine::builder(Arc::new(SqliteStore::open(path)?)).build();
    let mut session = engine.resume(&SessionId::from_name("chat")?, &SessionOptions::default()).await?;
    for line in input.lines() {
        let reply = session.turn(Author::Person, &line?, &mut NullObserver).await?;
        for banner in &reply.banners {
            writeln!(output, "{banner}")?;
        }
        writeln!(output, "{}", reply.text)?;
    }
    Ok(())
}
