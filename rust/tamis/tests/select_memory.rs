//! Selection does not copy its input: the peak of allocated memory during one call.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "a counting allocator has to be an allocator, and a test may panic"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tamis::{Level, Real, conformal_quantile};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT: usize = 2 << 20;

fn check<T: Real>(scores: &[T]) {
    for alpha in ["0.5", "0.1", "0.01"] {
        let alpha = Level::parse("alpha", alpha).unwrap();
        let before = NOW.load(Relaxed);
        PEAK.store(before, Relaxed);
        assert!(conformal_quantile(scores, &alpha).unwrap().is_finite());
        let extra = PEAK.load(Relaxed) - before;
        assert!(extra > 0 && extra <= LIMIT, "{extra} bytes");
    }
}

#[test]
#[allow(clippy::cast_possible_truncation, reason = "the other precision")]
fn at_most_two_mebibytes_for_ten_million() {
    let mixed =
        |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
    let doubles: Vec<f64> = (0..10_000_000).map(|i| mixed(i) as f64).collect();
    check(&doubles);
    check(&doubles.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    // Sorted, and heavily tied.
    check(&(0..10_000_000).map(f64::from).collect::<Vec<f64>>());
    check(&(0..10_000_000).map(|i| f64::from(i % 11)).collect::<Vec<f64>>());
}
