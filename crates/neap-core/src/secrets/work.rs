//! How much a text is looked at. Only tests count it: no clock on a shared machine can tell linear work from more.

#[cfg(test)]
thread_local! {
    static BYTES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many bytes were looked at.
#[cfg(test)]
pub(super) fn looked_at(bytes: usize) {
    BYTES.with(|all| all.set(all.get() + bytes as u64));
}

#[cfg(not(test))]
pub(super) fn looked_at(_: usize) {}

/// How many bytes were looked at while something was done.
#[cfg(test)]
pub(super) fn of(work: impl FnOnce()) -> u64 {
    let before = BYTES.with(std::cell::Cell::get);
    work();
    BYTES.with(std::cell::Cell::get) - before
}
