//! Many texts on more than one thread.

use std::num::NonZero;
use std::ops::Range;

use super::spans::Spans;

/// Runs of texts of about equal length in bytes, at most `threads` of them; none is empty.
pub(super) fn shares(lengths: &[usize], threads: NonZero<usize>) -> Vec<Range<usize>> {
    let total: usize = lengths.iter().sum();
    let share = total.div_ceil(threads.get()).max(1);
    let (mut out, mut start, mut held) = (Vec::new(), 0, 0);
    for (i, length) in lengths.iter().enumerate() {
        held += length;
        if held >= share || i + 1 == lengths.len() {
            out.push(start..i + 1);
            (start, held) = (i + 1, 0);
        }
    }
    out
}

/// Cuts each share on a thread of its own, the last one on the caller's; the spans are in the order of the texts.
///
/// Threads live for the call: no pool. Where the system gives none, the caller's thread does the work.
pub(super) fn cut(shares: Vec<Range<usize>>, work: impl Fn(Range<usize>) -> Spans + Sync) -> Spans {
    std::thread::scope(|scope| {
        let work = &work;
        let mut shares = shares;
        let Some(own) = shares.pop() else {
            return Spans::default();
        };
        let running: Vec<_> = shares
            .into_iter()
            .map(|share| {
                let thread = std::thread::Builder::new().spawn_scoped(scope, {
                    let share = share.clone();
                    move || work(share)
                });
                (share, thread)
            })
            .collect();
        let last = work(own);
        let mut out = Spans::default();
        for (share, thread) in running {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(spans)) => out.append(spans),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => out.append(work(share)),
            }
        }
        out.append(last);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_even() {
        let three = NonZero::new(3).unwrap();
        assert_eq!(shares(&[10, 10, 10, 10, 10, 10], three), [0..2, 2..4, 4..6]);
        assert_eq!(shares(&[100, 1, 1], three), [0..1, 1..3]);
        assert_eq!(shares(&[0, 0], three), vec![Range { start: 0, end: 2 }]);
        assert_eq!(shares(&[], three), []);
    }
}
