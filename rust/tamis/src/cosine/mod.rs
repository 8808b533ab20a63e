//! The nonconformity score 1 − cosine, defined to the bit.

mod element;
mod portable;
mod score;

pub use element::Element;
pub use score::cosine_scores;
