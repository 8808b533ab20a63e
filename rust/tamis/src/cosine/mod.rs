//! The nonconformity score 1 − cosine, defined to the bit.
//!
//! The definition is [`portable`]: 16 lanes, one fused multiply-add per element, a fixed tree. The x86 bodies compute the
//! same bits faster and hold the crate's only `unsafe`.

mod element;
mod fused;
mod kernel;
mod options;
mod padded;
mod portable;
mod rescale;
mod rows;
mod score;
mod threads;
#[cfg(target_arch = "x86_64")]
mod x86_avx2;
#[cfg(target_arch = "x86_64")]
mod x86_avx512;

pub use element::{Element, Float};
pub use kernel::Kernel;
pub use options::Scoring;
pub(crate) use padded::Padded;
pub use rows::Rows;
pub(crate) use score::{BLOCK, Scorer};
pub use score::{cosine_scores, cosine_scores_into};
pub(crate) use threads::each_part;
