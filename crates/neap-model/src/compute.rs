//! Work that takes a processor's time, off the threads that others wait on.
//!
//! A worker of an async runtime that reads, masks or embeds a megabyte answers nobody else meanwhile. What is small stays where
//! it is: to hand it over would take longer than to do it.

use std::sync::{Arc, LazyLock};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// What is smaller is done at once, in bytes: some tens of microseconds at worst.
pub const SMALL_BYTES: usize = 16 * 1_024;

/// So much is done at once, whoever asks: more would only wait for each other's processors, each with its text.
static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Arc::new(Semaphore::new(processors.max(2)))
});

/// Does some work on so many bytes: on a thread that may take its time, unless they are few or there is no runtime that has
/// such threads. If the caller stops waiting, the work is finished all the same, and what comes of it is dropped.
pub async fn off_worker<T, F>(bytes: usize, work: F) -> T
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    if bytes < SMALL_BYTES {
        return work();
    }
    let Ok(runtime) = Handle::try_current() else { return work() };
    // It is never closed. Whoever stops waiting leaves the work where it is, and its room with it.
    let room = ROOM.clone().acquire_owned().await;
    let work = move || {
        let done = work();
        drop(room);
        done
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and whoever waits here with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Does some work on so many bytes that cannot be taken elsewhere: where the runtime has other threads, its other tasks go on there.
pub fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) if bytes >= SMALL_BYTES => block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    #[tokio::test]
    async fn what_is_large_is_done_elsewhere_and_what_is_small_here() {
        let here = current().id();
        assert_eq!(off_worker(SMALL_BYTES - 1, || current().id()).await, here);
        assert_ne!(off_worker(SMALL_BYTES, || current().id()).await, here);
    }

    /// The first look at it gives the thread back to whoever else waits.
    #[tokio::test]
    async fn the_worker_is_free_meanwhile() {
        let mut work = Box::pin(off_worker(SMALL_BYTES, || 7));
        let first = std::future::poll_fn(|cx| std::task::Poll::Ready(work.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        assert_eq!(work.await, 7);
    }

    /// Whoever drives a future without a runtime gets it done in place.
    #[test]
    fn it_needs_no_runtime() {
        let mut work = Box::pin(off_worker(SMALL_BYTES, || 7));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert_eq!(work.as_mut().poll(&mut cx), std::task::Poll::Ready(7));
    }

    /// Others go on while a thread is taken, where there are other threads; and nothing fails where there are none.
    #[test]
    fn what_stays_keeps_nobody_waiting() {
        let threads = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let done = threads().block_on(async {
            let taken = tokio::spawn(async {
                let (said, heard) = std::sync::mpsc::channel();
                tokio::spawn(async move { said.send(7) });
                in_place(SMALL_BYTES, || heard.recv())
            });
            taken.await.expect("it does not panic")
        });
        assert_eq!(done, Ok(7));
        let alone = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!((alone.block_on(async { in_place(SMALL_BYTES, || 7) }), in_place(SMALL_BYTES, || 7)), (7, 7));
    }

    #[tokio::test]
    #[should_panic(expected = "as it is")]
    async fn a_panic_is_passed_on() {
        off_worker(SMALL_BYTES, || panic!("as it is")).await
    }
}
