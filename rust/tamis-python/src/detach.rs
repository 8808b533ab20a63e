//! When the interpreter's lock is released.

use pyo3::Python;

/// Work on fewer bytes than this costs less than taking the lock again: the one size in the project.
const DETACH_BYTES: usize = 64 * 1024;

/// Runs `work` with the lock released when it touches enough bytes (text or rows).
pub(crate) fn maybe_detach<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes >= DETACH_BYTES {
        py.detach(work)
    } else {
        work()
    }
}
