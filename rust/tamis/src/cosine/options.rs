//! How the work is done, which no bit of the result depends on.

use super::kernel::Kernel;
use super::rows::Rows;
use std::num::NonZeroUsize;

/// How to score: the same bits with every choice.
#[derive(Debug, Clone, Copy)]
pub struct Scoring {
    /// The body that sums the products; the fastest that the processor has by default.
    pub kernel: Kernel,
    /// Threads that share the rows when these are 16 MiB or more; 1 by default: the caller's own.
    pub threads: NonZeroUsize,
}

impl Default for Scoring {
    fn default() -> Self {
        Self {
            kernel: Kernel::detect(),
            threads: NonZeroUsize::MIN,
        }
    }
}

/// Below this many bytes of rows, starting a thread costs more than it saves.
const THREADS_FROM: usize = 16 << 20;

/// How rows are divided: into parts of `size` rows, the last one shorter.
pub(crate) struct Parts {
    pub(crate) size: usize,
}

impl Scoring {
    pub(crate) fn parts<T>(&self, rows: &Rows<'_, T>) -> Parts {
        let threads = if rows.n_bytes() < THREADS_FROM {
            1
        } else {
            self.threads.get()
        };
        Parts {
            size: rows.n().div_ceil(threads).max(1),
        }
    }
}
