//! A borrowed matrix of embeddings.

use super::element::Float;
use crate::{Error, Result};

/// A view of `n` rows of `d` components; each row is contiguous, rows lie a fixed stride apart. Copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    values: &'a [T],
    first: usize,
    n: usize,
    d: usize,
    stride: isize,
    unit: bool,
}

impl<'a, T> Rows<'a, T> {
    /// Row after row, without gaps: `values` is `[n, d]`, row-major.
    ///
    /// # Errors
    ///
    /// [`Error::RowsOutOfBounds`] when `values` has not exactly n·d components.
    pub fn contiguous(values: &'a [T], n: usize, d: usize) -> Result<Self> {
        if n.checked_mul(d) != Some(values.len()) {
            return Err(out_of_bounds(values, n, d));
        }
        Self::strided(values, 0, n, d, d.cast_signed())
    }

    /// Row i is `values[first + i·stride..][..d]`. The stride counts components; negative, zero and overlapping are fine.
    ///
    /// # Errors
    ///
    /// [`Error::RowsOutOfBounds`] when a row would not lie in `values`.
    pub fn strided(values: &'a [T], first: usize, n: usize, d: usize, stride: isize) -> Result<Self> {
        let last = n
            .saturating_sub(1)
            .checked_mul(stride.unsigned_abs())
            .and_then(|distance| {
                if stride < 0 {
                    first.checked_sub(distance)
                } else {
                    first.checked_add(distance)
                }
            });
        let fits = |start: usize| start.checked_add(d).is_some_and(|end| end <= values.len());
        if n > 0 && !(fits(first) && last.is_some_and(fits)) {
            return Err(out_of_bounds(values, n, d));
        }
        Ok(Self {
            values,
            first,
            n,
            d,
            stride,
            unit: false,
        })
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Components of a row.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The i-th row.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[inline]
    pub fn row(&self, index: usize) -> &'a [T] {
        assert!(index < self.n, "row {index} of {}", self.n);
        // Wrapping, so that a negative stride is the addition of its complement; the constructor checked both ends.
        let start = self
            .first
            .wrapping_add(index.wrapping_mul(self.stride.cast_unsigned()));
        &self.values[start..start + self.d]
    }

    /// Whether the caller declared unit rows.
    pub fn is_unit(&self) -> bool {
        self.unit
    }

    /// Whether rows follow each other without gaps.
    pub(super) fn is_contiguous(&self) -> bool {
        self.stride.cast_unsigned() == self.d
    }

    /// Bytes of all components.
    pub fn n_bytes(&self) -> usize {
        self.n.saturating_mul(self.d).saturating_mul(size_of::<T>())
    }

    /// The rows from `start` on, `n` of them.
    pub(crate) fn part(&self, start: usize, n: usize) -> Self {
        debug_assert!(start + n <= self.n);
        Self {
            first: self
                .first
                .wrapping_add(start.wrapping_mul(self.stride.cast_unsigned())),
            n,
            ..*self
        }
    }

    /// Components before the first row since the last multiple of `block` components in memory, when every row has as
    /// many; 0 otherwise.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn common_shift(&self, block: usize) -> usize {
        if self.n == 0 || (self.n > 1 && !self.stride.unsigned_abs().is_multiple_of(block)) {
            return 0;
        }
        self.row(0).as_ptr().addr() / size_of::<T>() % block
    }
}

impl<T: Float> Rows<'_, T> {
    /// Declares that every row has length one, so that its norm need not be summed: the score is 1 − dot / √nq.
    ///
    /// This is another function than with norms (the bits differ by some ulps), so it belongs to the scorer's identity.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }
}

fn out_of_bounds<T>(values: &[T], n: usize, d: usize) -> Error {
    Error::RowsOutOfBounds {
        n,
        d,
        length: values.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_where_the_stride_says() {
        let values: Vec<i8> = (0..12).collect();
        let rows = Rows::strided(&values, 1, 3, 2, 4).unwrap();
        assert_eq!([rows.row(0), rows.row(1), rows.row(2)], [[1, 2], [5, 6], [9, 10]]);
        let backwards = Rows::strided(&values, 9, 3, 2, -4).unwrap();
        assert_eq!([backwards.row(0), backwards.row(2)], [rows.row(2), rows.row(0)]);
        assert_eq!(backwards.part(1, 2).row(1), rows.row(0));
        assert_eq!(Rows::strided(&values, 3, 1000, 2, 0).unwrap().row(999), [3, 4]);
    }

    #[test]
    fn rows_outside_their_values_are_refused() {
        let values = [0_i8; 12];
        assert!(Rows::contiguous(&values, 3, 5).is_err());
        assert!(Rows::contiguous(&values, usize::MAX, 2).is_err());
        for (first, n, d, stride) in [
            (0, 3, 5, 4),
            (3, 3, 2, 4),
            (0, 2, 1, -1),
            (1, usize::MAX, 1, isize::MAX),
            (13, 1, 0, 0),
            (usize::MAX, 1, 1, 0),
        ] {
            assert_eq!(
                Rows::strided(&values, first, n, d, stride).err(),
                Some(Error::RowsOutOfBounds { n, d, length: 12 })
            );
        }
        assert_eq!(Rows::contiguous(&values[..0], 0, 5).unwrap().n(), 0);
    }
}
