//! Which body sums the products: chosen once per call by what the processor has.

use super::element::Element;
use super::padded::Padded;
use super::portable;
use super::rows::Rows;
#[cfg(target_arch = "x86_64")]
use super::{x86_avx2, x86_avx512};

/// A body of the sums. All give the same bits; they differ in speed.
#[derive(Debug, Clone, Copy)]
pub struct Kernel(Body);

#[derive(Debug, Clone, Copy)]
enum Body {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_avx512::Avx512),
}

/// What each body needs to know of a storage type.
#[cfg(target_arch = "x86_64")]
pub trait Lanes: portable::Lanes + x86_avx2::Lanes + x86_avx512::Lanes {}
#[cfg(target_arch = "x86_64")]
impl<T: portable::Lanes + x86_avx2::Lanes + x86_avx512::Lanes> Lanes for T {}

/// What each body needs to know of a storage type.
#[cfg(not(target_arch = "x86_64"))]
pub trait Lanes: portable::Lanes {}
#[cfg(not(target_arch = "x86_64"))]
impl<T: portable::Lanes> Lanes for T {}

/// How rows come from memory, which no bit of a sum depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// From a core's own cache: several rows side by side share the query's loads.
    Cached,
    /// From a shared cache: side by side, and asked for ahead in the order in which they lie.
    Ahead,
    /// From memory: row after row, the only pattern that processors recognise and fetch at full width.
    Streamed,
}

/// Rows of more bytes in all do not stay in a core's own cache.
const CACHED_TO: usize = 1 << 20;
/// Rows of more bytes in all do not stay in a cache that cores share.
const AHEAD_TO: usize = 16 << 20;
/// How far ahead rows are asked for: four of 384 single-precision components.
#[cfg(target_arch = "x86_64")]
pub(super) const BYTES_AHEAD: usize = 6 << 10;

impl Reading {
    /// What suits these rows.
    pub(super) fn of<T>(rows: &Rows<'_, T>) -> Self {
        match rows.n_bytes() {
            0..=CACHED_TO => Self::Cached,
            0..=AHEAD_TO if rows.is_contiguous() => Self::Ahead,
            _ => Self::Streamed,
        }
    }
}

impl Kernel {
    /// The fastest one that this processor has. Some nanoseconds: the standard library caches what it found.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(kernel) = x86_avx512::Avx512::detect() {
                return Self(Body::Avx512(kernel));
            }
            if let Some(kernel) = x86_avx2::Avx2::detect() {
                return Self(Body::Avx2(kernel));
            }
        }
        Self::portable()
    }

    /// The one that every processor has.
    pub fn portable() -> Self {
        Self(Body::Portable)
    }

    /// All that this processor has, for tests and benches.
    pub fn available() -> Vec<Self> {
        let mut kernels = vec![Self::portable()];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(x86_avx2::Avx2::detect().map(|kernel| Self(Body::Avx2(kernel))));
            kernels.extend(x86_avx512::Avx512::detect().map(|kernel| Self(Body::Avx512(kernel))));
        }
        kernels
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Body::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Body::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Body::Avx512(_) => "avx512",
        }
    }

    /// By how many components to shift the query so that the body's loads of these rows are aligned.
    pub(super) fn shift<T: Element>(self, rows: &Rows<'_, T>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Body::Avx512(_) = self.0 {
            return rows.common_shift(<T as x86_avx512::Lanes>::BLOCK);
        }
        let _ = rows;
        0
    }

    /// Σ x·y of the query with each row, and Σ y·y of each unless the rows are declared unit (then `norms` is left).
    ///
    /// All lengths are the number of rows, and the dimensions of query and rows agree.
    pub(super) fn sums<T: Element>(
        self,
        query: &Padded<T::Wide>,
        rows: &Rows<'_, T>,
        reading: Reading,
        dots: &mut [f32],
        norms: &mut [f32],
    ) {
        let _ = reading; // the portable body goes row after row
        match self.0 {
            Body::Portable => portable::sums(query.query(), rows, dots, norms),
            #[cfg(target_arch = "x86_64")]
            Body::Avx2(kernel) => kernel.sums(query, rows, reading, dots, norms),
            #[cfg(target_arch = "x86_64")]
            Body::Avx512(kernel) => kernel.sums(query, rows, reading, dots, norms),
        }
    }
}
