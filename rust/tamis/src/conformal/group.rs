//! The group or groups of a snippet.

use serde::{Deserialize, Serialize};

/// A snippet's group (its language, its source, …), or several that overlap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Groups {
    /// One group.
    One(String),
    /// Several, or none.
    Several(Vec<String>),
}

impl Groups {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: &[String] = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        names.iter().map(String::as_str)
    }
}

impl From<&str> for Groups {
    fn from(name: &str) -> Self {
        Self::One(name.to_owned())
    }
}
