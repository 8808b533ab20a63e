//! Scoped threads, only when asked for: no pool, nothing outlives the call.

use crate::Result;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Runs `work` on each part with its position, the last one on the caller's own thread, and gives the results in order.
///
/// # Errors
///
/// The first part's that failed, which names its first row: as one thread would. A part for which the host has no
/// thread left is worked on by the caller's.
pub(crate) fn each_part<P: Send, R: Send>(
    mut parts: impl ExactSizeIterator<Item = P>,
    work: impl Fn(usize, P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if parts.len() <= 1 {
        return parts.next().map(|part| work(0, part)).into_iter().collect();
    }
    let last = parts.len() - 1;
    scope(|scope| {
        let work = &work;
        let mut started = Vec::with_capacity(last);
        let mut own = None;
        for (position, part) in parts.enumerate() {
            if position == last {
                own = Some(work(position, part));
                break;
            }
            // The part moves into the thread only once there is one.
            let slot = std::sync::Arc::new(std::sync::Mutex::new(Some(part)));
            let taken = std::sync::Arc::clone(&slot);
            let take = move |slot: &std::sync::Mutex<Option<P>>| {
                slot.lock()
                    .ok()
                    .and_then(|mut part| part.take())
                    .map(|part| work(position, part))
            };
            match Builder::new().spawn_scoped(scope, move || take(&taken)) {
                Ok(handle) => started.push(Ok(handle)),
                Err(_) => started.push(Err(take(&slot))),
            }
        }
        started
            .into_iter()
            .map(|part| match part {
                Ok(handle) => handle.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(done) => done,
            })
            .chain([own])
            .flatten()
            .collect()
    })
}
