//! What a component of an embedding may be stored as.

use super::kernel::Lanes;
use half::f16;

/// A storage type that widens to single precision exactly: `f32`, `f16`, and `i8` (symmetric; its scale cancels).
///
/// Sealed: the score is defined for these three.
pub trait Element: Lanes + Copy + Send + Sync + 'static {
    /// What the query of such rows is stored as: `i8` for `i8`, else `f32`.
    type Query: Element<Query = Self::Query, Wide = Self::Wide> + Into<Self::Wide>;

    /// The largest dimension whose sums are exact or rounded as defined; integer sums could overflow beyond it.
    const MAX_DIMENSION: usize = usize::MAX;

    /// The value in single precision.
    fn widen(self) -> f32;
}

/// A storage type with a scale of its own, so that rows can be unit vectors.
pub trait Float: Element {}

impl Element for f32 {
    type Query = Self;

    fn widen(self) -> f32 {
        self
    }
}

impl Element for f16 {
    type Query = f32;

    fn widen(self) -> f32 {
        self.to_f32()
    }
}

impl Element for i8 {
    type Query = Self;

    /// (−128)² · 131 071 is the last multiple of 2¹⁴ below 2³¹.
    const MAX_DIMENSION: usize = 131_071;

    fn widen(self) -> f32 {
        self.into()
    }
}

impl Float for f32 {}
impl Float for f16 {}
