//! What missing one item costs its unit: the loss that every promise is about.

use std::collections::HashMap;

use super::calibration::Calibration;
use super::family::Family;
use super::threshold::{Target, Unit};
use crate::{Error, Result};

/// An item's place in the loss of its unit, which is the mean over queries of the share of items missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The unit, numbered in the order of first appearance.
    pub(super) unit: usize,
    /// Queries of the unit that have items.
    pub(super) queries: u64,
    /// Items of the query.
    pub(super) items: u64,
}

/// The items that a promise counts (relevant snippets, a query's last one, or labelled spans), and what each one weighs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Losses {
    /// The smallest parameter of the family that keeps the item.
    pub(super) values: Vec<f64>,
    /// Its part of its unit's loss.
    pub(super) shares: Vec<Share>,
    /// Units that have an item.
    pub(super) n_units: usize,
    /// The weight of each unit under another mix of units, as integers of the calibration's scale; `None`: all alike.
    pub(super) weights: Option<Vec<u64>>,
}

/// One item before its share is known.
struct Item {
    value: f64,
    query: Option<u32>,
    weight: Option<u64>,
}

impl Calibration {
    /// The items of a target in a family, of the relevant snippets in `rows` (all by default). O(n), with the joining of
    /// topics from documents where they are.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] when the question needs what was not given; [`Error::MixedWeights`] when a unit has not one
    /// weight.
    pub(super) fn losses(
        &self,
        unit: Unit,
        target: Target,
        family: Family,
        rows: Option<&[usize]>,
    ) -> Result<Losses> {
        let items = match target {
            Target::Recall | Target::Total => self.relevant(family, rows)?,
            Target::All => self.last_of_each_query(family, rows)?,
            Target::Evidence => self.spans(family)?,
        };
        let mut losses = Losses {
            values: items.iter().map(|item| item.value).collect(),
            shares: Vec::with_capacity(items.len()),
            n_units: items.len(),
            weights: None,
        };
        if unit == Unit::Snippet {
            let alone = |unit| Share {
                unit,
                queries: 1,
                items: 1,
            };
            losses.shares = (0..items.len()).map(alone).collect();
        } else {
            let topics = match unit {
                Unit::Topic => Some(self.topic_of_query()?),
                Unit::Query | Unit::Snippet => None,
            };
            let query: Option<Vec<u32>> = items.iter().map(|item| item.query).collect();
            let query = query.ok_or(Error::missing_query("unit \"query\""))?;
            (losses.shares, losses.n_units) = shares(topics.as_deref(), &query);
        }
        if self.positives.weight.is_some() {
            let mut weights = vec![None; losses.n_units];
            for (item, share) in items.iter().zip(&losses.shares) {
                let known = weights[share.unit].get_or_insert(item.weight.unwrap_or(0));
                if Some(*known) != item.weight {
                    return Err(Error::MixedWeights {
                        unit: unit.as_str(),
                        query: self.query_name(item.query),
                    });
                }
            }
            losses.weights = Some(weights.into_iter().map(|weight| weight.unwrap_or(0)).collect());
        }
        Ok(losses)
    }

    /// Every relevant snippet.
    fn relevant(&self, family: Family, rows: Option<&[usize]>) -> Result<Vec<Item>> {
        let positives = &self.positives;
        let value = self.values(family)?;
        let item = |row: usize| Item {
            value: value(row),
            query: positives.query.as_ref().map(|query| query[row]),
            weight: positives.weight.as_ref().map(|weight| weight[row]),
        };
        Ok(match rows {
            Some(rows) => rows.iter().map(|&row| item(row)).collect(),
            None => (0..positives.score.len()).map(item).collect(),
        })
    }

    /// Of each query the relevant snippet that is kept last: nothing relevant is dropped iff it is kept.
    fn last_of_each_query(&self, family: Family, rows: Option<&[usize]>) -> Result<Vec<Item>> {
        let mut last: Vec<Item> = Vec::new();
        let mut place = HashMap::new();
        for item in self.relevant(family, rows)? {
            let query = item.query.ok_or(Error::missing_query("target \"all\""))?;
            let at = *place.entry(query).or_insert(last.len());
            match last.get_mut(at) {
                Some(known) if known.value >= item.value => {}
                Some(known) => *known = item,
                None => last.push(item),
            }
        }
        Ok(last)
    }

    /// Every labelled span that lies in a snippet, by its best one. Spans that no snippet holds were lost before scoring:
    /// the report counts them.
    fn spans(&self, family: Family) -> Result<Vec<Item>> {
        let missing = |field, remedy| Error::MissingField {
            question: "target \"evidence\"",
            field,
            remedy,
        };
        let remedy = "pass evidence= to Calibration.fit, or calibrate on labelled spans";
        let evidence = self
            .evidence
            .as_ref()
            .ok_or_else(|| missing("evidence", remedy))?;
        let mean = match family {
            Family::Threshold => None,
            Family::Relative => Some(self.means()?),
            Family::TopK | Family::Tokens => {
                return Err(Error::Unavailable {
                    what: "target \"evidence\"",
                    with: "family \"top_k\" or \"tokens\": a span is known by the score of its best snippet only",
                });
            }
        };
        let mut weight_of = HashMap::new();
        if let (Some(query), Some(weight)) = (&self.positives.query, &self.positives.weight) {
            weight_of.extend(query.iter().copied().zip(weight.iter().copied()));
        }
        evidence
            .query
            .iter()
            .zip(&evidence.score)
            .filter_map(|(&query, &score)| score.map(|score| (query, score)))
            .map(|(query, score)| {
                let weight = weight_of.get(&query).copied();
                if self.positives.weight.is_some() && weight.is_none() {
                    return Err(missing(
                        "a weight of each query with evidence",
                        "weigh all of its rows",
                    ));
                }
                Ok(Item {
                    value: score - mean.map_or(0.0, |mean| mean[query as usize]),
                    query: Some(query),
                    weight,
                })
            })
            .collect()
    }

    /// The value of relevant snippets in a family, by row.
    fn values(&self, family: Family) -> Result<impl Fn(usize) -> f64> {
        let missing = |field, remedy| Error::MissingField {
            question: match family {
                Family::TopK => "family \"top_k\"",
                Family::Tokens => "family \"tokens\"",
                _ => "family \"relative\"",
            },
            field,
            remedy,
        };
        let all = "pass irrelevant candidates and query= to Calibration.fit too";
        let positives = &self.positives;
        let whole = |column: &[u64]| column.iter().map(|&x| x as f64).collect::<Vec<f64>>();
        let column = match family {
            Family::Threshold => None,
            Family::Relative => Some(
                positives
                    .relative
                    .clone()
                    .ok_or_else(|| missing("relative scores", all))?,
            ),
            Family::TopK => Some(whole(
                positives.rank.as_ref().ok_or_else(|| missing("ranks", all))?,
            )),
            Family::Tokens => {
                let sizes = positives.cumulative_size.as_ref();
                let sized = "pass size=, irrelevant candidates and query= to Calibration.fit too";
                let sizes = sizes.ok_or_else(|| missing("cumulative sizes", sized))?;
                if let Some(&size) = sizes.iter().find(|&&size| size > 1 << 53) {
                    return Err(Error::TooLarge {
                        what: "a cumulative size",
                        value: size,
                        limit: 1 << 53,
                    });
                }
                Some(whole(sizes))
            }
        };
        let score = &positives.score;
        Ok(move |row: usize| column.as_ref().map_or_else(|| score[row], |column| column[row]))
    }

    fn means(&self) -> Result<&[f64]> {
        let means = self
            .queries
            .as_ref()
            .and_then(|queries| queries.mean_score.as_deref());
        means.ok_or(Error::MissingField {
            question: "family \"relative\"",
            field: "mean scores of queries",
            remedy: "pass irrelevant candidates and query= to Calibration.fit too",
        })
    }

    fn query_name(&self, code: Option<u32>) -> String {
        let queries = self.queries.as_ref();
        let name = code.and_then(|code| queries?.id.get(code as usize));
        name.cloned().unwrap_or_default()
    }
}

/// The share of each item, given its query and each query's topic (queries are units without), and the number of units.
fn shares(topics: Option<&[u32]>, query: &[u32]) -> (Vec<Share>, usize) {
    let mut items = HashMap::new();
    for &code in query {
        *items.entry(code).or_insert(0_u64) += 1;
    }
    let mut number = HashMap::new();
    let mut unit_of = HashMap::new();
    let mut queries = Vec::new();
    for &code in query {
        unit_of.entry(code).or_insert_with(|| {
            let name = topics.map_or(code, |topics| topics[code as usize]);
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
            items: items[code],
        }
    };
    (query.iter().map(share).collect(), queries.len())
}
