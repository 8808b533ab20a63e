//! The two precisions that scores come in, and their order as integers.

/// A precision that scores are selected in: `f32` or `f64`. Sealed: the kernels know these two.
pub trait Real: crate::keep::Score + PartialOrd + Default + Send + Sync {
    /// Digits of 16 bits in a key.
    const DIGITS: u32;
    /// Above every score.
    const ABOVE: Self;
    /// Below every score.
    const BELOW: Self;

    /// Whether it is neither NaN nor infinite.
    fn finite(self) -> bool;
    /// An integer of `DIGITS` digits in the order of `total_cmp`.
    fn key(self) -> u64;
    /// The score of a key.
    fn of_key(key: u64) -> Self;
    /// The total order, −0 before +0.
    fn compare(&self, other: &Self) -> std::cmp::Ordering;
    /// The same score with +0 for −0.
    #[must_use]
    fn unsigned_zero(self) -> Self;
    /// Counts and compacts one block, for which the tally has room; false when a score is not finite.
    fn count(kernel: super::pass::Kernel, block: &[Self], tally: &mut super::pass::Tally<'_, Self>) -> bool;
    /// So many scores are ranked without another pass.
    const AT_ONCE: usize;
    /// The scores at two places (from 0, below the length) of at most [`Self::AT_ONCE`] finite ones.
    fn places(kernel: super::pass::Kernel, scores: &[Self], ks: [usize; 2]) -> [Self; 2];
}

macro_rules! real {
    ($float:ty, $bits:ty, $digits:literal, $count2:path, $count512:path, $places512:path) => {
        impl Real for $float {
            const DIGITS: u32 = $digits;
            const ABOVE: Self = <$float>::INFINITY;
            const BELOW: Self = <$float>::NEG_INFINITY;
            const AT_ONCE: usize = 256 / size_of::<$float>();

            fn finite(self) -> bool {
                self.is_finite()
            }

            fn key(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
            }

            #[allow(
                clippy::cast_possible_truncation,
                reason = "a key has no more digits than the bits"
            )]
            fn of_key(key: u64) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let key = key as $bits;
                Self::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
            }

            fn compare(&self, other: &Self) -> std::cmp::Ordering {
                self.total_cmp(other)
            }

            fn unsigned_zero(self) -> Self {
                self + 0.0
            }

            fn count(
                kernel: super::pass::Kernel,
                block: &[Self],
                tally: &mut super::pass::Tally<'_, Self>,
            ) -> bool {
                match kernel {
                    super::pass::Kernel::Portable => super::pass::portable(block, tally),
                    #[cfg(target_arch = "x86_64")]
                    super::pass::Kernel::Avx2(proof) => $count2(proof, block, tally),
                    #[cfg(target_arch = "x86_64")]
                    super::pass::Kernel::Avx512(proof) => $count512(proof, block, tally),
                }
            }

            fn places(kernel: super::pass::Kernel, scores: &[Self], ks: [usize; 2]) -> [Self; 2] {
                match kernel {
                    super::pass::Kernel::Portable => super::small::places_portable(scores, ks),
                    #[cfg(target_arch = "x86_64")]
                    super::pass::Kernel::Avx2(proof) => super::avx2::places(proof, scores, ks),
                    #[cfg(target_arch = "x86_64")]
                    super::pass::Kernel::Avx512(proof) => $places512(proof, scores, ks),
                }
            }
        }
    };
}

real!(
    f32,
    u32,
    2,
    super::avx2::count_f32,
    super::avx512::count_f32,
    super::avx512::places_f32
);
real!(
    f64,
    u64,
    4,
    super::avx2::count_f64,
    super::avx512::count_f64,
    super::avx512::places_f64
);
