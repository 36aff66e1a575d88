//! Counts the bytes a scan reads, in tests only: no clock on a shared machine can tell linear work from quadratic.

#[cfg(test)]
thread_local! {
    static BYTES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(super) fn looked_at(bytes: usize) {
    BYTES.with(|all| all.set(all.get() + bytes as u64));
}

#[cfg(not(test))]
pub(super) fn looked_at(_: usize) {}

/// Bytes read while `work` ran.
#[cfg(test)]
pub(super) fn of(work: impl FnOnce()) -> u64 {
    let before = BYTES.with(std::cell::Cell::get);
    work();
    BYTES.with(std::cell::Cell::get) - before
}
