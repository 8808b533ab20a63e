//! What missing one relevant snippet costs its unit: the loss that every promise is about.

use std::collections::HashMap;

use super::calibration::Calibration;
use super::threshold::Unit;
use crate::{Error, Result};

/// A relevant snippet's place in the loss of its unit, which is the mean over queries of the share missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The unit, numbered in the order of first appearance.
    pub(super) unit: usize,
    /// Answerable queries of the unit.
    pub(super) queries: u64,
    /// Relevant snippets of the query.
    pub(super) snippets: u64,
}

impl Calibration {
    /// The share 1/(queries · snippets) of each relevant snippet, and the number of units. O(n), with the joining of topics
    /// from documents where they are.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] when the unit asks for ids that were not given.
    pub(super) fn shares(&self, unit: Unit) -> Result<(Vec<Share>, usize)> {
        if unit == Unit::Snippet {
            let n = self.positives.score.len();
            let alone = |unit| Share {
                unit,
                queries: 1,
                snippets: 1,
            };
            return Ok(((0..n).map(alone).collect(), n));
        }
        let topics = if unit == Unit::Topic {
            Some(self.topic_of_query()?)
        } else {
            None
        };
        let query = self
            .positives
            .query
            .as_ref()
            .ok_or(Error::missing_query("unit \"query\""))?;
        let mut snippets = HashMap::new();
        for &code in query {
            *snippets.entry(code).or_insert(0_u64) += 1;
        }
        let mut number = HashMap::new();
        let mut unit_of = HashMap::new();
        let mut queries = Vec::new();
        for &code in query {
            unit_of.entry(code).or_insert_with(|| {
                let name = topics.as_ref().map_or(code, |topics| topics[code as usize]);
                let unit = *number.entry(name).or_insert_with(|| {
                    queries.push(0_u64);
                    queries.len() - 1
                });
                queries[unit] += 1;
                unit
            });
        }
        let share = |code| {
            let unit = unit_of[code];
            Share {
                unit,
                queries: queries[unit],
                snippets: snippets[code],
            }
        };
        Ok((query.iter().map(share).collect(), queries.len()))
    }
}
