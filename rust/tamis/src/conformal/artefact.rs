//! The calibration file: to and from strict JSON text. Bytes on disk are the caller's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::calibration::{Calibration, Candidates, Declaration, Direction, Evidence, Positives, Queries};
use super::identity::Identity;
use super::summary::PER_MILLE;
use crate::{Error, Result};

const FORMAT: &str = "tamis.calibration";
const VERSION: u64 = 1;

/// The file as it is written, field by field; `sha256` holds a digest of each other field's compact JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u64,
    created: String,
    tamis_version: String,
    scorer: Option<Identity>,
    chunker: Option<Identity>,
    labels: Option<Identity>,
    environment: BTreeMap<String, String>,
    declared_units: Option<Declaration>,
    direction: Direction,
    slack: f64,
    queries: Option<Queries>,
    positives: Positives,
    evidence: Option<Evidence>,
    summary: Candidates,
    sha256: BTreeMap<String, String>,
}

/// The part that every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl Calibration {
    /// Strict JSON (no NaN, no infinity), the same text for the same calibration. O(n).
    pub fn to_json(&self) -> String {
        let mut file = self.to_file();
        file.sha256 = digests(&file);
        // Every value is finite and every key a string, so serialisation has nothing to fail on.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads what [`Calibration::to_json`] wrote, whatever its white space.
    ///
    /// # Errors
    ///
    /// [`Error::CalibrationFile`] naming the field that is damaged, missing, unknown, inconsistent, or was changed after
    /// the file was made.
    pub fn from_json(text: &str) -> Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let file: File = match serde_path_to_error::deserialize(&mut reader) {
            Ok(file) => file,
            Err(error) => return Err(explain(text, &error)),
        };
        reader
            .end()
            .map_err(|error| refuse("end of file", error.to_string()))?;
        check_head(&file.format, file.version)?;
        check(&file)?;
        let expected = digests(&file);
        if let Some(field) = expected
            .keys()
            .chain(file.sha256.keys())
            .find(|field| expected.get(*field) != file.sha256.get(*field))
        {
            return Err(refuse(
                field,
                "was changed after the file was made (its sha256 differs)".to_owned(),
            ));
        }
        Ok(Self::from_file(file))
    }

    /// The first 16 hexadecimal digits of the digest over all fields: names this calibration in results and logs. O(n).
    pub fn id(&self) -> String {
        let file = self.to_file();
        let all = digests(&file)
            .into_iter()
            .fold(String::new(), |mut all, (field, digest)| {
                let _ = writeln!(all, "{field} {digest}");
                all
            });
        hex(all.as_bytes())[..16].to_owned()
    }

    fn to_file(&self) -> File {
        File {
            format: FORMAT.to_owned(),
            version: VERSION,
            created: self.created.clone(),
            tamis_version: self.tamis_version.clone(),
            scorer: self.scorer.clone(),
            chunker: self.chunker.clone(),
            labels: self.labels.clone(),
            environment: self.environment.clone(),
            declared_units: self.declared_units,
            direction: self.direction.clone(),
            slack: self.slack,
            queries: self.queries.clone(),
            positives: self.positives.clone(),
            evidence: self.evidence.clone(),
            summary: self.summary.clone(),
            sha256: BTreeMap::new(),
        }
    }

    fn from_file(file: File) -> Self {
        Self {
            created: file.created,
            tamis_version: file.tamis_version,
            scorer: file.scorer,
            chunker: file.chunker,
            labels: file.labels,
            environment: file.environment,
            declared_units: file.declared_units,
            direction: file.direction,
            slack: file.slack,
            queries: file.queries,
            positives: file.positives,
            evidence: file.evidence,
            summary: file.summary,
        }
    }
}

fn refuse(field: &str, problem: String) -> Error {
    Error::CalibrationFile {
        field: field.to_owned(),
        problem,
    }
}

fn check_head(format: &str, version: u64) -> Result<()> {
    if format != FORMAT {
        return Err(refuse(
            "format",
            format!("is {format:?}, not {FORMAT:?}: this is no calibration file"),
        ));
    }
    if version != VERSION {
        return Err(refuse(
            "version",
            format!("is {version}, and this tamis reads version {VERSION}"),
        ));
    }
    Ok(())
}

/// A version that is not ours explains every other oddity, so it is reported first.
fn explain(text: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    if let Ok(head) = serde_json::from_str::<Head>(text)
        && let Err(foreign) = check_head(&head.format, head.version)
    {
        return foreign;
    }
    let path = error.path().to_string();
    refuse(
        if path == "." { "file" } else { &path },
        error.inner().to_string(),
    )
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

fn digests(file: &File) -> BTreeMap<String, String> {
    fn of<T: Serialize>(value: &T) -> String {
        hex(&serde_json::to_vec(value).unwrap_or_default())
    }
    [
        ("format", of(&file.format)),
        ("version", of(&file.version)),
        ("created", of(&file.created)),
        ("tamis_version", of(&file.tamis_version)),
        ("scorer", of(&file.scorer)),
        ("chunker", of(&file.chunker)),
        ("labels", of(&file.labels)),
        ("environment", of(&file.environment)),
        ("declared_units", of(&file.declared_units)),
        ("direction", of(&file.direction)),
        ("slack", of(&file.slack)),
        ("queries", of(&file.queries)),
        ("positives", of(&file.positives)),
        ("evidence", of(&file.evidence)),
        ("summary", of(&file.summary)),
    ]
    .into_iter()
    .map(|(field, digest)| (field.to_owned(), digest))
    .collect()
}

/// What the types cannot say: lengths, ranges, references.
fn check(file: &File) -> Result<()> {
    let n = file.positives.score.len();
    if n == 0 {
        return Err(refuse(
            "positives.score",
            "is empty: a calibration needs a relevant snippet".to_owned(),
        ));
    }
    if file.slack < 0.0 {
        return Err(refuse(
            "slack",
            format!("is {}, must not be negative", file.slack),
        ));
    }
    let positives = &file.positives;
    column("positives.query", n, positives.query.as_ref())?;
    column("positives.group", n, positives.group.as_ref())?;
    column("positives.rank", n, positives.rank.as_ref())?;
    column("positives.cumulative_size", n, positives.cumulative_size.as_ref())?;
    column("positives.relative", n, positives.relative.as_ref())?;
    column("positives.weight", n, positives.weight.as_ref())?;
    if positives.weight.is_some() != positives.weight_scale.is_some() {
        return Err(refuse(
            "positives.weight_scale",
            "and positives.weight must both be there or both be absent".to_owned(),
        ));
    }
    if let Some(scale) = positives
        .weight_scale
        .filter(|scale| !(scale.is_finite() && *scale > 0.0))
    {
        return Err(refuse(
            "positives.weight_scale",
            format!("is {scale}, must be positive"),
        ));
    }
    if let Some(index) = positives.weight.iter().flatten().position(|&weight| weight == 0) {
        return Err(refuse(
            &format!("positives.weight[{index}]"),
            "is 0, must be positive".to_owned(),
        ));
    }
    if file.queries.is_some() != positives.query.is_some() {
        return Err(refuse(
            "positives.query",
            "and queries must both be there or both be absent".to_owned(),
        ));
    }
    let n_queries = file.queries.as_ref().map_or(0, |queries| queries.id.len());
    if let Some(queries) = &file.queries {
        column("queries.topic", n_queries, queries.topic.as_ref())?;
        column("queries.documents", n_queries, queries.documents.as_ref())?;
        column("queries.n_candidates", n_queries, queries.n_candidates.as_ref())?;
        column("queries.best_score", n_queries, queries.best_score.as_ref())?;
        column("queries.mean_score", n_queries, queries.mean_score.as_ref())?;
        column("queries.sd_score", n_queries, queries.sd_score.as_ref())?;
        let distinct: std::collections::HashSet<&String> = queries.id.iter().collect();
        if distinct.len() != n_queries {
            return Err(refuse("queries.id", "holds an id twice".to_owned()));
        }
    }
    references(
        "positives.query",
        positives.query.as_deref().unwrap_or(&[]),
        n_queries,
    )?;
    if let Some(evidence) = &file.evidence {
        column("evidence.score", evidence.query.len(), Some(&evidence.score))?;
        references("evidence.query", &evidence.query, n_queries)?;
    }
    let has = |column: fn(&Queries) -> bool| file.queries.as_ref().is_some_and(column);
    let (field, there) = match file.declared_units {
        Some(Declaration::Topic) => ("queries.topic", has(|queries| queries.topic.is_some())),
        Some(Declaration::Document) => ("queries.documents", has(|queries| queries.documents.is_some())),
        Some(Declaration::Query) => ("queries", file.queries.is_some()),
        None => ("", true),
    };
    if !there {
        return Err(refuse(field, "is absent, but declared_units needs it".to_owned()));
    }
    let summary = &file.summary;
    for (field, summary) in [
        ("summary.score", &summary.score),
        ("summary.size", &summary.size),
        ("summary.per_query", &summary.per_query),
    ] {
        column(
            &format!("{field}.values"),
            PER_MILLE.len(),
            summary.as_ref().map(|summary| &summary.values),
        )?;
    }
    Ok(())
}

fn column<T>(field: &str, expected: usize, values: Option<&Vec<T>>) -> Result<()> {
    match values.map(Vec::len) {
        Some(got) if got != expected => {
            Err(refuse(field, format!("has {got} entries, {expected} are needed")))
        }
        _ => Ok(()),
    }
}

fn references(field: &str, codes: &[u32], n_queries: usize) -> Result<()> {
    match codes.iter().position(|&code| code as usize >= n_queries) {
        Some(index) => Err(refuse(
            &format!("{field}[{index}]"),
            format!("is {}, but there are {n_queries} queries", codes[index]),
        )),
        None => Ok(()),
    }
}
