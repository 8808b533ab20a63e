//! What a calibration is for: the scorer, the chunker and the kind of labels it was made with.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One field of an identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// JSON null.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// Either named fields, which tamis knows how to compare one by one, or one string that the user declares at
/// calibration and at use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Identity {
    /// Declared by the user.
    Declared(String),
    /// Made by tamis, or by a user who wants differences named by field.
    Fields(BTreeMap<String, Scalar>),
}

impl Identity {
    /// Whether this is the value of one of the named fields.
    pub(crate) fn says(&self, field: &str, value: &str) -> bool {
        match self {
            Self::Declared(_) => false,
            Self::Fields(fields) => {
                matches!(fields.get(field), Some(Scalar::Text(text)) if text == value)
            }
        }
    }

    /// Succeeds when `used` is this identity.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityMismatch`] naming every field that differs and both values of each.
    pub fn check(&self, part: &'static str, used: &Self) -> Result<()> {
        let differences = match (self, used) {
            (a, b) if a == b => return Ok(()),
            (Self::Fields(calibrated), Self::Fields(used)) => fields_that_differ(part, calibrated, used),
            (calibrated, used) => format!("{part}: calibrated with {calibrated}, used with {used}"),
        };
        Err(Error::IdentityMismatch { part, differences })
    }
}

fn fields_that_differ(
    part: &str,
    calibrated: &BTreeMap<String, Scalar>,
    used: &BTreeMap<String, Scalar>,
) -> String {
    let show = |value: Option<&Scalar>| value.map_or_else(|| "nothing".to_owned(), ToString::to_string);
    let mut names: Vec<&String> = calibrated.keys().chain(used.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let lines: Vec<String> = names
        .into_iter()
        .filter(|name| calibrated.get(*name) != used.get(*name))
        .map(|name| {
            let (was, is) = (show(calibrated.get(name)), show(used.get(name)));
            format!("{part}.{name}: calibrated with {was}, used with {is}")
        })
        .collect();
    lines.join("; ")
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared(name) => write!(f, "{name:?}"),
            Self::Fields(fields) => {
                f.write_str("{")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}
