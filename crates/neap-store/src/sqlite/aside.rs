//! A thread beside the one that writes, for what takes long: packing, and copying the log of writes into the file.
//! Nobody who commits waits for it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::connect::Place;
use super::{checkpoint, cold};
use crate::StoreError;

/// What it can do.
pub(super) enum Ask {
    /// Packs what is due next in a stream.
    Pack(i64),
    /// Copies the log of writes into the file.
    Copy,
}

/// What came of it. What failed stays due.
pub(super) enum Answer {
    Packed(i64, Option<cold::Next>),
    Copied,
}

/// The handle to it. It does one thing at a time. Dropping it waits until it has closed its connection.
pub(super) struct Aside {
    asks: Option<Sender<Ask>>,
    answers: Receiver<Answer>,
    is_at_work: bool,
    thread: Option<JoinHandle<()>>,
}

impl Aside {
    pub(super) fn start(place: Arc<Place>) -> Result<Self, StoreError> {
        let (asks, asked) = channel();
        let (answered, answers) = channel();
        let thread = std::thread::Builder::new()
            .name("neap-aside".to_owned())
            .spawn(move || work(&place, &asked, &answered))
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        Ok(Self { asks: Some(asks), answers, is_at_work: false, thread: Some(thread) })
    }

    /// Whether something was asked for and is not answered yet.
    pub(super) fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        self.is_at_work = self.asks.as_ref().is_some_and(|asks| asks.send(ask).is_ok());
    }

    /// The answer, if it is there.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv();
        self.is_at_work &= matches!(answer, Err(TryRecvError::Empty));
        answer.ok()
    }

    /// Waits for the answer to what was asked; none if nothing was.
    pub(super) fn wait(&mut self) -> Option<Answer> {
        if !std::mem::take(&mut self.is_at_work) {
            return None;
        }
        self.answers.recv().ok()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.asks.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(place: &Place, asked: &Receiver<Ask>, answered: &Sender<Answer>) {
    let mut db: Option<Connection> = None;
    while let Ok(ask) = asked.recv() {
        if db.is_none() {
            db = place.writer().ok();
        }
        let (answer, is_well) = match ask {
            Ask::Pack(stream) => {
                let next = db.as_ref().map(|db| cold::prepare(db, stream));
                let is_well = matches!(next, Some(Ok(_)));
                (Answer::Packed(stream, next.and_then(Result::ok).flatten()), is_well)
            }
            Ask::Copy => (Answer::Copied, db.as_ref().is_some_and(|db| checkpoint::copy(db).is_ok())),
        };
        if !is_well {
            // A connection that failed is closed.
            db = None;
        }
        if answered.send(answer).is_err() {
            return;
        }
    }
}
