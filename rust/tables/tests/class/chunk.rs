//! The folder that the core's file expects around it.

#[path = "../../../tamis/src/chunk/class.rs"]
mod class;
#[path = "../../../tamis/src/chunk/tables/mod.rs"]
mod tables;

/// The class of a character, by its name.
pub(super) fn class_name(c: char) -> String {
    format!("{:?}", class::class(c))
}
