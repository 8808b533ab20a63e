//! What a component of an embedding may be stored as.

use half::f16;

/// A storage type that widens to single precision exactly.
pub trait Element: Copy {
    /// The value in single precision.
    fn widen(self) -> f32;
}

impl Element for f32 {
    fn widen(self) -> f32 {
        self
    }
}

impl Element for f16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }
}
