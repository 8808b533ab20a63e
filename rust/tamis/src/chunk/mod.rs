//! Text into snippets: runs of whole sentences with exact spans.

mod labels;
mod offsets;
mod sentences;
mod spans;
mod white;
mod window;

pub use labels::{Hold, holds};
pub use offsets::code_points;
pub use sentences::BOUNDARY_TABLE;
pub use spans::{Span, Spans};
pub use window::Chunker;
