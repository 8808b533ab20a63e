//! Generated tables; `rust/tables` makes them.

#[rustfmt::skip]
pub(super) mod sentence_break;
#[rustfmt::skip]
pub(super) mod words;
