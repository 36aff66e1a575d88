//! Runs CPU-heavy work off the async workers.
//!
//! A worker that parses, masks or embeds a megabyte serves no other task meanwhile. Small inputs run inline:
//! handing them to another thread would take longer than the work.

use std::sync::{Arc, LazyLock};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// Smaller inputs run inline: some tens of microseconds at worst.
pub const INLINE_BYTES_MAX: usize = 16 * 1_024;

/// Bounds concurrent work to the number of processors: more would only compete for them and hold memory.
static PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Arc::new(Semaphore::new(processors.max(2)))
});

/// Runs `work` on a blocking thread, or inline when `bytes` is small or there is no runtime. Dropping the future
/// does not stop the work; its result is discarded.
pub async fn run_blocking<T, F>(bytes: usize, work: F) -> T
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    if bytes < INLINE_BYTES_MAX {
        return work();
    }
    let Ok(runtime) = Handle::try_current() else { return work() };
    // The semaphore is never closed. The work owns the permit, so a dropped future does not release it early.
    let permit = PERMITS.clone().acquire_owned().await;
    let work = move || {
        let done = work();
        drop(permit);
        done
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs `work` on this thread; a multi-threaded runtime moves its other tasks away meanwhile.
pub fn run_in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) if bytes >= INLINE_BYTES_MAX => block_in_place(work),
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
        assert_eq!(run_blocking(INLINE_BYTES_MAX - 1, || current().id()).await, here);
        assert_ne!(run_blocking(INLINE_BYTES_MAX, || current().id()).await, here);
    }

    /// The first poll yields.
    #[tokio::test]
    async fn the_worker_is_free_meanwhile() {
        let mut work = Box::pin(run_blocking(INLINE_BYTES_MAX, || 7));
        let first = std::future::poll_fn(|cx| std::task::Poll::Ready(work.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        assert_eq!(work.await, 7);
    }

    #[test]
    fn it_needs_no_runtime() {
        let mut work = Box::pin(run_blocking(INLINE_BYTES_MAX, || 7));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert_eq!(work.as_mut().poll(&mut cx), std::task::Poll::Ready(7));
    }

    #[test]
    fn what_stays_keeps_nobody_waiting() {
        let threads = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let done = threads().block_on(async {
            let task = tokio::spawn(async {
                let (sender, receiver) = std::sync::mpsc::channel();
                tokio::spawn(async move { sender.send(7) });
                run_in_place(INLINE_BYTES_MAX, || receiver.recv())
            });
            task.await.expect("it does not panic")
        });
        assert_eq!(done, Ok(7));
        let alone = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(
            (alone.block_on(async { run_in_place(INLINE_BYTES_MAX, || 7) }), run_in_place(INLINE_BYTES_MAX, || 7)),
            (7, 7)
        );
    }

    #[tokio::test]
    #[should_panic(expected = "as it is")]
    async fn a_panic_is_passed_on() {
        run_blocking(INLINE_BYTES_MAX, || panic!("as it is")).await
    }
}
