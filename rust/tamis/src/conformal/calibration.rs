//! The calibration set: what a threshold, a report and later questions are answered from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::group::Groups;
use super::identity::Identity;
use super::summary::Summary;
use super::units::{Column, components};
use crate::{Error, Result};

/// Labelled scores of a set of queries, with what they were made by.
///
/// Exchangeability: a promise made from this set holds for a new unit (topic, query or snippet) drawn like the units in
/// it. Snippets of one query share its difficulty, so they are *not* exchangeable with a snippet of a new query; that is
/// why the default unit is the topic. A new corpus, model, chunker, kind of label or retrieval depth breaks it.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub(crate) created: String,
    pub(crate) tamis_version: String,
    pub(crate) scorer: Option<Identity>,
    pub(crate) chunker: Option<Identity>,
    pub(crate) labels: Option<Identity>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) declared_units: Option<Declaration>,
    pub(crate) direction: Direction,
    pub(crate) slack: f64,
    pub(crate) queries: Option<Queries>,
    pub(crate) positives: Positives,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) summary: Candidates,
}

/// What the caller declared the independent units to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Declaration {
    /// Topic ids were given.
    Topic,
    /// Queries were declared independent of each other.
    Query,
    /// Labelled documents were given: queries that share one are joined.
    Document,
}

/// The check that lower scores go with relevance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Within-query AUC; `None` when no query holds both kinds of snippet.
    pub auc: Option<f64>,
    /// Whether an AUC below one half would have been refused.
    pub checked: bool,
}

/// One row per query, answerable or not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queries {
    /// Query ids, distinct.
    pub id: Vec<String>,
    /// Topic ids, where topics were given.
    pub topic: Option<Vec<String>>,
    /// Ids of the documents that hold the query's relevant snippets, where documents were given.
    pub documents: Option<Vec<Vec<String>>>,
    /// Number of candidate snippets. This and the next four are absent when no irrelevant score was given.
    pub n_candidates: Option<Vec<u64>>,
    /// Lowest candidate score.
    pub best_score: Option<Vec<f64>>,
    /// Mean candidate score: the reference of scores relative to their query.
    pub mean_score: Option<Vec<f64>>,
    /// Standard deviation (divisor n) of the candidate scores.
    pub sd_score: Option<Vec<f64>>,
}

/// One row per relevant snippet, in the order given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Positives {
    /// Nonconformity scores, finite, lower is more relevant.
    pub score: Vec<f64>,
    /// Position of the query in [`Queries`].
    pub query: Option<Vec<u32>>,
    /// Groups (language, source, …).
    pub group: Option<Vec<Groups>>,
    /// What made the groups ("script", …), where tamis makes them at use too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grouping: Option<String>,
    /// Rank among the query's candidates by (score, position), from 1.
    pub rank: Option<Vec<u64>>,
    /// Summed size of the candidates up to and including this one in that order, in the unit the sizes were given in.
    pub cumulative_size: Option<Vec<u64>>,
    /// Score minus the mean of the query's candidates.
    pub relative: Option<Vec<f64>>,
    /// How much more likely a unit like this one's is in production, in integers: weight · `weight_scale`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Vec<u64>>,
    /// A power of two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_scale: Option<f64>,
}

/// One row per labelled span of evidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Position of the query in [`Queries`].
    pub query: Vec<u32>,
    /// Lowest score of the snippets that hold the span; `None` when no snippet does, so that it was lost before scoring.
    pub score: Vec<Option<f64>>,
    /// Number of labelled spans whose document was not retrieved; `None` when the labels do not say.
    pub not_retrieved: Option<u64>,
}

/// Summaries over all candidates, relevant or not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidates {
    /// Of the scores.
    pub score: Option<Summary>,
    /// Of the sizes of snippets.
    pub size: Option<Summary>,
    /// Of the number of candidates per query.
    pub per_query: Option<Summary>,
    /// What sizes are counted in ("code points", "tokens", …), where it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_unit: Option<String>,
}

impl Calibration {
    /// Number of relevant snippets.
    pub fn n_positives(&self) -> usize {
        self.positives.score.len()
    }

    /// The queries, where query ids were given.
    pub fn queries(&self) -> Option<&Queries> {
        self.queries.as_ref()
    }

    /// The relevant snippets.
    pub fn positives(&self) -> &Positives {
        &self.positives
    }

    /// The labelled spans, where given.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }

    /// Summaries over all candidates.
    pub fn summary(&self) -> &Candidates {
        &self.summary
    }

    /// 1st and 99th percentile of the number of candidates per query, where irrelevant candidates were given.
    pub fn candidates_range(&self) -> Option<(f64, f64)> {
        let summary = self.summary.per_query.as_ref()?;
        Some((summary.at(10)?, summary.at(990)?))
    }

    /// 1st and 99th percentile of the sizes of candidates, where sizes were given.
    pub fn size_range(&self) -> Option<(f64, f64)> {
        let summary = self.summary.size.as_ref()?;
        Some((summary.at(10)?, summary.at(990)?))
    }

    /// The check of the scores' direction.
    pub fn direction(&self) -> &Direction {
        &self.direction
    }

    /// What the independent units were declared to be.
    pub fn declared_units(&self) -> Option<Declaration> {
        self.declared_units
    }

    /// How far above the threshold a score may lie and still be kept: the scorer's tolerance between two runs.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// What the scores were made by.
    pub fn scorer(&self) -> Option<&Identity> {
        self.scorer.as_ref()
    }

    /// What the snippets were cut by.
    pub fn chunker(&self) -> Option<&Identity> {
        self.chunker.as_ref()
    }

    /// What kind of labels these are.
    pub fn labels(&self) -> Option<&Identity> {
        self.labels.as_ref()
    }

    /// Circumstances that only warn: versions, provider, processor.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// The topic-unit number of every query.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] when neither topics nor documents were given.
    pub fn topic_of_query(&self) -> Result<Vec<u32>> {
        let missing = Error::MissingField {
            question: "unit \"topic\"",
            field: "topic",
            remedy: "pass topic= or document= to Calibration.fit, or topic=\"query\" if queries are independent",
        };
        let queries = self.queries.as_ref().ok_or_else(|| missing.clone())?;
        match self.declared_units {
            Some(Declaration::Topic) => {
                let topics = queries.topic.as_ref().ok_or(missing)?;
                Ok(Column::from_ids(topics).codes)
            }
            Some(Declaration::Query) => Ok((0..queries.id.len())
                .map(|i| u32::try_from(i).unwrap_or(u32::MAX))
                .collect()),
            Some(Declaration::Document) => Ok(components(queries.documents.as_ref().ok_or(missing)?)),
            None => Err(missing),
        }
    }

    /// The calibration restricted to the queries marked: what a split into calibration and test needs. O(n).
    ///
    /// Summaries over all candidates are left out, since they cannot be restricted.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] without query ids, [`Error::LengthMismatch`] when `keep` is not one flag per query,
    /// [`Error::NoPositive`] when nothing relevant remains.
    pub fn restrict(&self, keep: &[bool]) -> Result<Self> {
        let (Some(queries), Some(query)) = (&self.queries, &self.positives.query) else {
            return Err(Error::missing_query("a subset of queries"));
        };
        if keep.len() != queries.id.len() {
            return Err(Error::LengthMismatch {
                name: "keep",
                expected: queries.id.len(),
                got: keep.len(),
            });
        }
        let mut next = 0_u32;
        let code: Vec<u32> = keep
            .iter()
            .map(|&kept| {
                let at = next;
                next += u32::from(kept);
                at
            })
            .collect();
        let rows: Vec<usize> = (0..query.len())
            .filter(|&row| keep[query[row] as usize])
            .collect();
        if rows.is_empty() {
            return Err(Error::NoPositive);
        }
        let positives = &self.positives;
        Ok(Self {
            queries: Some(Queries {
                id: kept(&queries.id, keep),
                topic: queries.topic.as_ref().map(|x| kept(x, keep)),
                documents: queries.documents.as_ref().map(|x| kept(x, keep)),
                n_candidates: queries.n_candidates.as_ref().map(|x| kept(x, keep)),
                best_score: queries.best_score.as_ref().map(|x| kept(x, keep)),
                mean_score: queries.mean_score.as_ref().map(|x| kept(x, keep)),
                sd_score: queries.sd_score.as_ref().map(|x| kept(x, keep)),
            }),
            positives: Positives {
                score: picked(&positives.score, &rows),
                query: Some(rows.iter().map(|&row| code[query[row] as usize]).collect()),
                group: positives.group.as_ref().map(|x| picked(x, &rows)),
                grouping: positives.grouping.clone(),
                rank: positives.rank.as_ref().map(|x| picked(x, &rows)),
                cumulative_size: positives.cumulative_size.as_ref().map(|x| picked(x, &rows)),
                relative: positives.relative.as_ref().map(|x| picked(x, &rows)),
                weight: positives.weight.as_ref().map(|x| picked(x, &rows)),
                weight_scale: positives.weight_scale,
            },
            evidence: self.evidence.as_ref().map(|evidence| {
                let rows: Vec<usize> = (0..evidence.query.len())
                    .filter(|&row| keep[evidence.query[row] as usize])
                    .collect();
                Evidence {
                    query: rows
                        .iter()
                        .map(|&row| code[evidence.query[row] as usize])
                        .collect(),
                    score: picked(&evidence.score, &rows),
                    not_retrieved: None,
                }
            }),
            summary: Candidates {
                size_unit: self.summary.size_unit.clone(),
                ..Candidates::default()
            },
            created: self.created.clone(),
            tamis_version: self.tamis_version.clone(),
            scorer: self.scorer.clone(),
            chunker: self.chunker.clone(),
            labels: self.labels.clone(),
            environment: self.environment.clone(),
            declared_units: self.declared_units,
            direction: self.direction.clone(),
            slack: self.slack,
        })
    }
}

fn kept<T: Clone>(values: &[T], keep: &[bool]) -> Vec<T> {
    values
        .iter()
        .zip(keep)
        .filter(|(_, kept)| **kept)
        .map(|(value, _)| value.clone())
        .collect()
}

fn picked<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row].clone()).collect()
}
