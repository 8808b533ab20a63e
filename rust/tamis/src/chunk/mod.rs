//! Text into snippets: runs of whole sentences with exact spans.

mod abbreviations;
mod class;
mod closing;
mod enclosed;
mod given;
mod glance;
mod labels;
mod lists;
mod newline;
mod offsets;
mod packer;
mod refine;
mod rules;
mod scan;
mod sentences;
mod spans;
mod speech;
mod tables;
mod threads;
mod tokens;
mod white;
mod window;
mod words;

pub use labels::{Hold, holds};
pub use offsets::code_points;
pub use sentences::BOUNDARY_TABLE;
pub use spans::{Span, Spans};
pub use window::Chunker;
