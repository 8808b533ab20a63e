//! Inputs that benches share.

/// A fixed sequence in [0, 1) without randomness: the fractional parts of multiples of the golden ratio.
pub fn sequence(n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| (i as f64 * 0.618_033_988_749_894_9).fract())
        .collect()
}
