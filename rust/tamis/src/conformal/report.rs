//! A calibration in words and numbers.

use std::fmt;

use super::calibration::{Calibration, Declaration};
use super::level::Level;
use super::plan::FEW_UNITS;
use super::threshold::{Threshold, Unit};

/// Below this within-query AUC the scores hardly separate.
const WEAK_AUC: f64 = 0.6;

/// What a calibration holds and promises. Its text is for people; the fields are for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Queries, answerable or not; `None` without query ids.
    pub n_queries: Option<u64>,
    /// Queries with a relevant snippet.
    pub n_answerable: Option<u64>,
    /// Independent units; `None` when the calibration cannot say.
    pub n_topics: Option<u64>,
    /// What the units are.
    pub declared_units: Option<Declaration>,
    /// Relevant snippets.
    pub n_positives: u64,
    /// Within-query AUC.
    pub auc: Option<f64>,
    /// Whether the direction of scores was checked.
    pub direction_checked: bool,
    /// Thresholds at alpha 0.05, 0.1 and 0.2 for the default unit (topic, else query, else snippet).
    pub thresholds: Vec<Threshold>,
    /// Design effect at the alpha 0.1 threshold.
    pub design_effect: Option<f64>,
    /// n over the design effect.
    pub effective_n: Option<f64>,
    /// Labelled spans, lost before scoring, and not retrieved (`None` = unknown); `None` without span labels.
    pub evidence: Option<(u64, u64, Option<u64>)>,
    /// Warnings in plain words.
    pub warnings: Vec<String>,
}

impl Calibration {
    /// Counts, thresholds and warnings. O(n log n).
    pub fn report(&self) -> Report {
        let topics = self.topic_of_query().ok();
        let unit = match (&topics, &self.queries) {
            (Some(_), _) => Unit::Topic,
            (None, Some(_)) => Unit::Query,
            (None, None) => Unit::Snippet,
        };
        let thresholds: Vec<Threshold> = ["0.05", "0.1", "0.2"]
            .iter()
            .filter_map(|alpha| self.threshold(&Level::parse("alpha", alpha).ok()?, unit).ok())
            .collect();
        let n_answerable = self.positives.query.as_ref().map(|codes| {
            let mut distinct = codes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.len() as u64
        });
        let n_topics = topics
            .is_some()
            .then(|| thresholds.first().map_or(0, |threshold| threshold.n_units));
        let design = thresholds
            .get(1)
            .and_then(|threshold| self.design_effect(threshold.value).ok());
        let mut report = Report {
            n_queries: self.queries.as_ref().map(|queries| queries.id.len() as u64),
            n_answerable,
            n_topics,
            declared_units: self.declared_units,
            n_positives: self.positives.score.len() as u64,
            auc: self.direction.auc,
            direction_checked: self.direction.checked,
            design_effect: design.as_ref().and_then(|design| design.design_effect),
            effective_n: design.as_ref().and_then(|design| design.effective_n),
            thresholds,
            evidence: self.evidence.as_ref().map(|evidence| {
                let lost = evidence.score.iter().filter(|score| score.is_none()).count() as u64;
                (evidence.score.len() as u64, lost, evidence.not_retrieved)
            }),
            warnings: Vec::new(),
        };
        report.warnings = warnings(&report, unit);
        report
    }
}

fn warnings(report: &Report, unit: Unit) -> Vec<String> {
    let mut out = Vec::new();
    match report.auc {
        Some(auc) if auc < super::fit::REFUSED_AUC => out.push(format!(
            "within-query AUC is {auc:.3}: the scores look like similarities, and the check was switched off"
        )),
        Some(auc) if auc < WEAK_AUC => out.push(format!("within-query AUC is {auc:.3}: the scores hardly separate, little will be removed")),
        None => out.push("no query holds both relevant and other snippets: the direction of the scores could not be checked".to_owned()),
        Some(_) => {}
    }
    if !report.direction_checked {
        out.push("the direction of the scores was not checked".to_owned());
    }
    if let Some(n) = report.n_topics.filter(|&n| n < FEW_UNITS) {
        out.push(format!(
            "{n} units only: how much is removed is a matter of luck under {FEW_UNITS}"
        ));
    }
    if unit == Unit::Query {
        out.push("no topics: the promise holds if queries are independent, which queries sharing documents are not".to_owned());
    }
    if unit == Unit::Snippet {
        out.push(
            "no query ids: only the pooled snippet unit can be promised, which does not cover a new query"
                .to_owned(),
        );
    }
    out
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        writeln!(
            f,
            "calibration set: {} relevant snippets of {} queries ({} answerable)",
            self.n_positives,
            known(self.n_queries),
            known(self.n_answerable)
        )?;
        match (self.declared_units, self.n_topics) {
            (Some(Declaration::Topic), Some(n)) => writeln!(f, "independent units: {n} topics")?,
            (Some(Declaration::Query), Some(n)) => writeln!(
                f,
                "independent units: {n} queries, declared independent (topic=\"query\")"
            )?,
            (Some(Declaration::Document), Some(n)) => {
                writeln!(
                    f,
                    "independent units: {} queries = {n} independent units as topics (queries that share a labelled document are joined)",
                    known(self.n_answerable)
                )?;
            }
            _ => writeln!(
                f,
                "independent units: unknown (neither topic= nor document= was given)"
            )?,
        }
        if let Some(auc) = self.auc {
            writeln!(f, "within-query AUC: {auc:.3}")?;
        }
        if let Some((effect, n)) = self.design_effect.zip(self.effective_n) {
            writeln!(
                f,
                "design effect at alpha 0.1: {effect:.2}, so {} snippets are worth {n:.0} independent ones",
                self.n_positives
            )?;
        }
        for threshold in &self.thresholds {
            write!(f, "{}", promise(threshold, self.declared_units))?;
        }
        if let Some((spans, lost, not_retrieved)) = self.evidence {
            write!(f, "labelled spans: {spans}, of which {lost} lie in no snippet; ")?;
            match not_retrieved {
                Some(n) => writeln!(f, "{n} more were not retrieved, which no filter can mend")?,
                None => writeln!(
                    f,
                    "how much retrieval lost is unknown: the promise is about what it returned"
                )?,
            }
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}

/// One line: the threshold and what it promises.
fn promise(threshold: &Threshold, declared: Option<Declaration>) -> String {
    let (Some(alpha), Some(unit)) = (&threshold.alpha, threshold.unit) else {
        return format!("{threshold}\n");
    };
    let share = (1.0 - alpha.to_f64()) * 100.0;
    if threshold.keeps_everything() {
        let needed = threshold
            .n_units_needed()
            .map_or_else(String::new, |n| n.to_string());
        return format!(
            "alpha {alpha}: keeps everything; {needed} {} are needed, {} are there\n",
            unit.plural(),
            threshold.n_units
        );
    }
    let promised = match unit {
        Unit::Topic if declared == Some(Declaration::Query) => {
            format!(
                "on average over new queries, {share:.4}% of a query's relevant snippets are kept (marginal)"
            )
        }
        Unit::Topic => format!(
            "on average over new topics, {share:.4}% of a topic's relevant snippets are kept (marginal)"
        ),
        Unit::Query => format!(
            "on average over new queries, {share:.4}% of a query's relevant snippets are kept (marginal)"
        ),
        Unit::Snippet => format!(
            "a relevant snippet of the pooled mix is kept with probability {share:.4}% (marginal; not for a new topic)"
        ),
    };
    let tidy = promised.replace(".0000%", "%");
    format!(
        "alpha {alpha}: keep scores up to {:.4}; {tidy}\n",
        threshold.value
    )
}
