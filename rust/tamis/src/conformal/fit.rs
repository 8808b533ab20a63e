//! From labelled scores to a calibration.

use std::collections::BTreeMap;

use super::calibration::{Calibration, Candidates, Declaration, Direction, Evidence, Positives, Queries};
use super::direction::within_query_auc;
use super::group::Groups;
use super::identity::Identity;
use super::summary::{Summary, mean_and_sd};
use super::units::Column;
use crate::{Error, Result};

/// Everything that a calibration is made of. Columns are parallel to `scores`.
#[derive(Debug, Clone, Default)]
pub struct Input<'a> {
    /// Nonconformity scores of candidate snippets, lower is more relevant.
    pub scores: &'a [f64],
    /// Labels.
    pub relevant: &'a [bool],
    /// Query ids.
    pub query: Option<Column>,
    /// Topic ids, one topic per query.
    pub topic: Option<Column>,
    /// Declares queries independent of each other (instead of `topic`).
    pub queries_independent: bool,
    /// Document ids.
    pub document: Option<Column>,
    /// Groups.
    pub group: Option<&'a [Groups]>,
    /// What made them, where tamis makes them at use too.
    pub grouping: Option<String>,
    /// How much more likely a unit like this row's is in production than in the calibration set: positive, finite.
    pub weight: Option<&'a [f64]>,
    /// Sizes of the snippets in code points or tokens.
    pub size: Option<&'a [u64]>,
    /// Which of them.
    pub size_unit: Option<String>,
    /// Labelled spans.
    pub evidence: Option<LabelledSpans>,
    /// What the scores were made by.
    pub scorer: Option<Identity>,
    /// What the snippets were cut by.
    pub chunker: Option<Identity>,
    /// What kind of labels these are.
    pub labels: Option<Identity>,
    /// Circumstances that only warn.
    pub environment: BTreeMap<String, String>,
    /// The scorer's tolerance.
    pub slack: f64,
    /// Refuse scores that look like similarities.
    pub check_direction: bool,
    /// Time of making, as ISO 8601 text; the core has no clock.
    pub created: String,
}

/// One row per labelled span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabelledSpans {
    /// Id of the query; it must be among [`Input::query`].
    pub query: Vec<String>,
    /// Lowest score of the snippets that hold the span, `None` where none does.
    pub score: Vec<Option<f64>>,
    /// Number of spans whose document was not retrieved; `None` when the labels do not say.
    pub not_retrieved: Option<u64>,
}

/// Below this within-query AUC scores are refused as similarities.
pub(crate) const REFUSED_AUC: f64 = 0.5;

impl Calibration {
    /// Makes a calibration. O(n log n).
    ///
    /// # Errors
    ///
    /// Scores that are not finite, columns of another length, no relevant snippet, a query of two topics, scores that look
    /// like similarities, a slack that is negative or not finite.
    pub fn fit(input: Input<'_>) -> Result<Self> {
        let n = input.scores.len();
        check_finite("scores", input.scores)?;
        check_length("relevant", n, input.relevant.len())?;
        for (name, column) in [
            ("query", &input.query),
            ("topic", &input.topic),
            ("document", &input.document),
        ] {
            check_length(name, n, column.as_ref().map_or(n, Column::len))?;
        }
        if input.grouping.is_some() && input.group.is_none() {
            return Err(Error::Needed {
                what: "grouping=",
                needs: "group=",
            });
        }
        check_length("group", n, input.group.map_or(n, <[Groups]>::len))?;
        check_length("weight", n, input.weight.map_or(n, <[f64]>::len))?;
        check_length("size", n, input.size.map_or(n, <[u64]>::len))?;
        if !input.slack.is_finite() || input.slack < 0.0 {
            return Err(Error::Slack { value: input.slack });
        }
        if !input.relevant.contains(&true) {
            return Err(Error::NoPositive);
        }

        let query = input.query.as_ref().or(input.topic.as_ref());
        let lists = Lists::new(input.scores, query);
        let auc = within_query_auc(input.scores, input.relevant, lists.iter());
        if let Some(auc) = auc.filter(|&auc| auc < REFUSED_AUC && input.check_direction) {
            return Err(Error::LooksLikeSimilarity { auc });
        }
        let declared_units = declaration(&input)?;
        let ranked = auc.is_some();
        let queries = query
            .map(|query| queries(&input, query, &lists, ranked))
            .transpose()?;
        let evidence = input
            .evidence
            .clone()
            .map(|given| evidence(query, given))
            .transpose()?;
        let mut positives = positives(&input, query, &lists, ranked && query.is_some(), queries.as_ref());
        if let Some(weight) = input.weight {
            let (scale, weight) = super::weight::quantised(weight)?;
            positives.weight = Some(relevant_of(&input, &weight));
            positives.weight_scale = Some(scale);
        }
        if let Some(relative) = &positives.relative {
            check_finite("scores relative to their query's mean", relative)?;
        }
        Ok(Self {
            positives,
            summary: Candidates {
                score: ranked.then(|| Summary::of(input.scores.to_vec())).flatten(),
                size: input
                    .size
                    .and_then(|size| Summary::of(size.iter().map(|&x| x as f64).collect())),
                per_query: (ranked && query.is_some())
                    .then(|| Summary::of(lists.lengths()))
                    .flatten(),
                size_unit: input.size_unit,
            },
            queries,
            evidence,
            declared_units,
            direction: Direction {
                auc,
                checked: input.check_direction,
            },
            created: input.created,
            tamis_version: env!("CARGO_PKG_VERSION").to_owned(),
            scorer: input.scorer,
            chunker: input.chunker,
            labels: input.labels,
            environment: input.environment,
            slack: input.slack,
        })
    }
}

/// Refuses the first value that is not finite, by its position.
pub(crate) fn check_finite(name: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NonFinite {
            name,
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

fn check_length(name: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::LengthMismatch { name, expected, got })
    }
}

fn declaration(input: &Input<'_>) -> Result<Option<Declaration>> {
    match (&input.topic, input.queries_independent, &input.document) {
        (Some(_), ..) => Ok(Some(Declaration::Topic)),
        (None, true, _) if input.query.is_none() => Err(Error::missing_query("topic=\"query\"")),
        (None, true, _) => Ok(Some(Declaration::Query)),
        (None, false, Some(_)) if input.query.is_none() => Err(Error::missing_query("document=")),
        (None, false, Some(_)) => Ok(Some(Declaration::Document)),
        (None, false, None) => Ok(None),
    }
}

/// The rows of each query in ascending order of (score, position).
struct Lists {
    rows: Vec<usize>,
    /// Where each query's rows begin; one more at the end.
    starts: Vec<usize>,
}

impl Lists {
    /// Without query ids, everything is one list: enough for the check of direction.
    fn new(scores: &[f64], query: Option<&Column>) -> Self {
        let code = |row: usize| query.map_or(0, |query| query.codes[row]);
        let mut rows: Vec<usize> = (0..scores.len()).collect();
        rows.sort_unstable_by(|&a, &b| {
            code(a)
                .cmp(&code(b))
                .then_with(|| {
                    scores[a]
                        .partial_cmp(&scores[b])
                        .unwrap_or(std::cmp::Ordering::Equal)
                })
                .then(a.cmp(&b))
        });
        let n_lists = query.map_or(1, |query| query.names.len());
        let mut starts = vec![0; n_lists + 1];
        for row in 0..scores.len() {
            starts[code(row) as usize + 1] += 1;
        }
        for i in 0..n_lists {
            starts[i + 1] += starts[i];
        }
        Self { rows, starts }
    }

    fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.starts.windows(2).map(|ends| &self.rows[ends[0]..ends[1]])
    }

    fn lengths(&self) -> Vec<f64> {
        self.iter().map(|rows| rows.len() as f64).collect()
    }
}

fn queries(input: &Input<'_>, query: &Column, lists: &Lists, ranked: bool) -> Result<Queries> {
    let topic = input
        .topic
        .as_ref()
        .map(|topic| topic_of_query(query, topic))
        .transpose()?;
    let documents = input.document.as_ref().map(|document| {
        let labelled = |rows: &[usize]| {
            let mut ids: Vec<String> = rows
                .iter()
                .filter(|&&row| input.relevant[row])
                .map(|&row| document.name(row).to_owned())
                .collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        lists.iter().map(labelled).collect()
    });
    let column = |of: fn(&[f64], &[usize]) -> f64| {
        ranked.then(|| lists.iter().map(|rows| of(input.scores, rows)).collect())
    };
    Ok(Queries {
        id: query.names.clone(),
        topic,
        documents,
        n_candidates: ranked.then(|| lists.iter().map(|rows| rows.len() as u64).collect()),
        best_score: column(|scores, rows| scores[rows[0]]),
        mean_score: column(|scores, rows| mean_and_sd(scores, rows).0),
        sd_score: column(|scores, rows| mean_and_sd(scores, rows).1),
    })
}

fn topic_of_query(query: &Column, topic: &Column) -> Result<Vec<String>> {
    let mut found: Vec<Option<u32>> = vec![None; query.names.len()];
    for (row, &code) in query.codes.iter().enumerate() {
        let known = found[code as usize].get_or_insert(topic.codes[row]);
        if *known != topic.codes[row] {
            return Err(Error::TwoTopics {
                query: query.name(row).to_owned(),
                first: topic.names[*known as usize].clone(),
                second: topic.name(row).to_owned(),
            });
        }
    }
    Ok(found
        .into_iter()
        .flatten()
        .map(|code| topic.names[code as usize].clone())
        .collect())
}

fn positives(
    input: &Input<'_>,
    query: Option<&Column>,
    lists: &Lists,
    ranked: bool,
    queries: Option<&Queries>,
) -> Positives {
    let rows: Vec<usize> = (0..input.scores.len())
        .filter(|&row| input.relevant[row])
        .collect();
    let mut rank = vec![0_u64; input.scores.len()];
    let mut cumulative = vec![0_u64; input.scores.len()];
    for list in lists.iter() {
        let mut total = 0_u64;
        for (place, &row) in (1..).zip(list) {
            total = total.saturating_add(input.size.map_or(0, |size| size[row]));
            rank[row] = place;
            cumulative[row] = total;
        }
    }
    let mean = queries.and_then(|queries| queries.mean_score.as_ref());
    Positives {
        score: rows.iter().map(|&row| input.scores[row]).collect(),
        query: query.map(|query| rows.iter().map(|&row| query.codes[row]).collect()),
        group: input
            .group
            .map(|group| rows.iter().map(|&row| group[row].clone()).collect()),
        rank: ranked.then(|| rows.iter().map(|&row| rank[row]).collect()),
        cumulative_size: (ranked && input.size.is_some())
            .then(|| rows.iter().map(|&row| cumulative[row]).collect()),
        relative: query.zip(mean).map(|(query, mean)| {
            rows.iter()
                .map(|&row| input.scores[row] - mean[query.codes[row] as usize])
                .collect()
        }),
        grouping: input.grouping.clone(),
        weight: None,
        weight_scale: None,
    }
}

/// A column at the relevant rows.
fn relevant_of<T: Copy>(input: &Input<'_>, column: &[T]) -> Vec<T> {
    let relevant = column
        .iter()
        .zip(input.relevant)
        .filter(|(_, relevant)| **relevant);
    relevant.map(|(&value, _)| value).collect()
}

fn evidence(query: Option<&Column>, given: LabelledSpans) -> Result<Evidence> {
    let LabelledSpans {
        query: ids,
        score,
        not_retrieved,
    } = given;
    let Some(query) = query else {
        return Err(Error::missing_query("evidence="));
    };
    check_length("evidence scores", ids.len(), score.len())?;
    let known: std::collections::HashMap<&str, u32> =
        query.names.iter().map(String::as_str).zip(0..).collect();
    let query = ids
        .iter()
        .map(|id| {
            known
                .get(id.as_str())
                .copied()
                .ok_or_else(|| Error::UnknownQuery { query: id.clone() })
        })
        .collect::<Result<_>>()?;
    if let Some(index) = score
        .iter()
        .position(|score| score.is_some_and(|score| !score.is_finite()))
    {
        return Err(Error::NonFinite {
            name: "evidence scores",
            index,
            value: score[index].unwrap_or(f64::NAN),
        });
    }
    Ok(Evidence {
        query,
        score,
        not_retrieved,
    })
}
