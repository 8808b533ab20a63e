//! The one error type of the crate: values that carry numbers, translated once at the border.

/// What went wrong, with the numbers needed to say so.
///
/// Variants are bad arguments unless their documentation says otherwise; the text of each says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `max_chars` is zero or `overlap` is not smaller than it.
    #[error(
        "overlap must be smaller than max_chars and max_chars at least 1, got max_chars={max_chars}, overlap={overlap}"
    )]
    ChunkLimits {
        /// The limit of a snippet in code points.
        max_chars: usize,
        /// The overlap of neighbours in code points.
        overlap: usize,
    },

    /// A span does not lie in its text, is empty, or is out of order.
    #[error("{what} {index} is [{start}, {end}), which is no non-empty span of a text of length {length}")]
    SpanOutOfBounds {
        /// What kind of span it is.
        what: &'static str,
        /// Its position in the input.
        index: usize,
        /// First position.
        start: usize,
        /// One past the last position.
        end: usize,
        /// Length of the text.
        length: usize,
    },

    /// A sentence boundary given by the caller that does not ascend, or lies beyond its text.
    #[error(
        "boundaries[{document}][{index}] is {position}: each must be greater than the one before ({previous}) and at most the length of its text in code points ({length})"
    )]
    Boundary {
        /// The text.
        document: usize,
        /// Position among its boundaries.
        index: usize,
        /// What was given.
        position: usize,
        /// The boundary before it, or 0.
        previous: usize,
        /// Length of the text in code points.
        length: usize,
    },

    /// Boundaries for more or fewer texts than there are, or none for a chunker that needs them, or some for one that
    /// finds its own.
    #[error(
        "got boundaries for {got} texts, expected {expected}: a Chunker(segmenter=NAME) needs boundaries= for each text, any other finds its own"
    )]
    BoundariesFor {
        /// How many texts need boundaries.
        expected: usize,
        /// For how many they were given.
        got: usize,
    },

    /// A level that is no decimal and no fraction.
    #[error("{name} must be a decimal such as 0.1 or a fraction such as \"1/10\", got {text:?}")]
    LevelSyntax {
        /// The argument.
        name: &'static str,
        /// What was received, at most 40 characters of it.
        text: String,
    },

    /// A promise with delta that needs more units than can be labelled.
    #[error("alpha {alpha} with delta {delta} needs more than {limit} units: use larger ones")]
    TooManyUnits {
        /// The miscoverage.
        alpha: String,
        /// The probability of failure.
        delta: String,
        /// The largest count that is looked for.
        limit: u64,
    },

    /// A level outside (0, 1).
    #[error("{name} must lie strictly between 0 and 1, got {text}")]
    LevelRange {
        /// The argument.
        name: &'static str,
        /// What was received.
        text: String,
    },

    /// A number that is not finite where only finite ones are allowed.
    #[error("{name}[{index}] is {value}: only finite numbers are allowed")]
    NonFinite {
        /// The argument.
        name: &'static str,
        /// Position of the first such number.
        index: usize,
        /// The number.
        value: f64,
    },

    /// A number outside [0, 1].
    #[error("{name}[{index}] is {value}, must lie between 0 and 1")]
    OutsideUnitInterval {
        /// The argument.
        name: &'static str,
        /// Position of the first such number.
        index: usize,
        /// The number.
        value: f64,
    },

    /// A column of another length than it is parallel to.
    #[error("{name} has {got} entries, expected {expected}")]
    LengthMismatch {
        /// The argument.
        name: &'static str,
        /// The length needed.
        expected: usize,
        /// The length received.
        got: usize,
    },

    /// A group's number that is negative, or so large that groups cannot be numbered without gaps.
    #[error("groups[{index}] must be from 0 to {}; number the groups without gaps", limit - 1)]
    GroupNumber {
        /// The first position.
        index: usize,
        /// Numbers are below this.
        limit: usize,
    },

    /// Nothing is labelled relevant.
    #[error("no snippet is labelled relevant: there is nothing to calibrate on")]
    NoPositive,

    /// Relevant snippets score higher than the others of their query.
    #[error(
        "scores look like similarities (within-query AUC {auc:.3}): lower must mean more relevant, pass 1 - similarity; check_direction=False skips this check"
    )]
    LooksLikeSimilarity {
        /// Within-query AUC.
        auc: f64,
    },

    /// A tolerance that is negative or not finite.
    #[error("slack must be finite and not negative, got {value}")]
    Slack {
        /// What was received.
        value: f64,
    },

    /// One query under two topics.
    #[error("query {query:?} has two topics, {first:?} and {second:?}")]
    TwoTopics {
        /// The query id.
        query: String,
        /// The topic seen first.
        first: String,
        /// Another one.
        second: String,
    },

    /// A row that refers to a query that is not there.
    #[error("evidence names query {query:?}, which has no candidate")]
    UnknownQuery {
        /// The query id.
        query: String,
    },

    /// A question that needs what the calibration does not hold (domain failure).
    #[error("{question} needs {field}, which this calibration does not have: {remedy}")]
    MissingField {
        /// What was asked.
        question: &'static str,
        /// What is missing.
        field: &'static str,
        /// What to do.
        remedy: &'static str,
    },

    /// Arguments that do not go together.
    #[error("{what} is not available with {with}")]
    Unavailable {
        /// What was asked.
        what: &'static str,
        /// Beside what.
        with: &'static str,
    },

    /// An argument that needs another one.
    #[error("{what} needs {needs}")]
    Needed {
        /// What was asked.
        what: &'static str,
        /// What is missing beside it.
        needs: &'static str,
    },

    /// A weight that is not a positive finite number, or cannot be told from zero beside the others.
    #[error(
        "{name}[{index}] is {value}: weights are positive and finite, and within a factor of 2^53 of each other"
    )]
    Weight {
        /// The argument.
        name: &'static str,
        /// Position of the first such weight.
        index: usize,
        /// The number.
        value: f64,
    },

    /// A unit whose rows have different weights.
    #[error(
        "weight differs within one {unit} (query {query:?}): a promise about a new {unit} needs one weight of each; weights by row are for unit \"snippet\""
    )]
    MixedWeights {
        /// The unit.
        unit: &'static str,
        /// One of its queries.
        query: String,
    },

    /// A number beyond what is exact.
    #[error("{what} is {value}, more than {limit}")]
    TooLarge {
        /// What it counts.
        what: &'static str,
        /// The number.
        value: u64,
        /// The most there may be.
        limit: u64,
    },

    /// Another family of rules than this call can serve.
    #[error(
        "{call} serves thresholds on the score only, got a rule of the family \"{family}\": use {instead}"
    )]
    WrongFamily {
        /// What was called.
        call: &'static str,
        /// The rule's family.
        family: &'static str,
        /// What serves it.
        instead: &'static str,
    },

    /// NaN as a threshold.
    #[error("a threshold must be a number, got NaN")]
    NanThreshold,

    /// Use by another scorer, on another chunking or with another kind of labels than calibrated (domain failure).
    #[error("{differences}; recalibrate, or use what the calibration was made with")]
    IdentityMismatch {
        /// `scorer`, `chunker` or `labels`.
        part: &'static str,
        /// Every field that differs with both values.
        differences: String,
    },

    /// Use without saying by what (domain failure).
    #[error("{part}: calibrated with {calibrated}, used with none given; pass {part}= to declare it")]
    IdentityMissing {
        /// `scorer` or `chunker`.
        part: &'static str,
        /// What it was calibrated with.
        calibrated: String,
    },

    /// A damaged, foreign or changed calibration file (domain failure).
    #[error("calibration file: field `{field}`: {problem}")]
    CalibrationFile {
        /// Path of the field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },

    /// Query and row of different dimension.
    #[error("dimension mismatch: the query vector has {expected} components, the snippet rows have {got}")]
    DimensionMismatch {
        /// Of the query.
        expected: usize,
        /// Of the rows.
        got: usize,
    },

    /// More components than integer sums have room for.
    #[error(
        "int8 vectors may have at most {limit} components, got {got}: their sums could overflow; use float16"
    )]
    DimensionTooLarge {
        /// The most there may be.
        limit: usize,
        /// Of the query.
        got: usize,
    },

    /// Rows that would lie outside the memory they are a view of.
    #[error("{n} rows of {d} components do not lie in {length} values as declared")]
    RowsOutOfBounds {
        /// Rows.
        n: usize,
        /// Components of each.
        d: usize,
        /// Values there are.
        length: usize,
    },

    /// A row declared unit whose score no unit vector can have.
    #[error(
        "snippet vector {index} is not a unit vector (its score would be {score}): do not declare unit rows"
    )]
    NotUnit {
        /// The row.
        index: usize,
        /// 1 - dot / length of the query.
        score: f32,
    },

    /// Offsets of a micro-batch that do not divide the rows.
    #[error("offsets must ascend from 0 to {n}, one more than there are queries: offsets[{index}] is wrong")]
    Offsets {
        /// The first wrong entry.
        index: usize,
        /// Number of rows.
        n: usize,
    },

    /// A vector without a direction.
    #[error("{name} {index} is a zero vector: its cosine is not defined")]
    ZeroVector {
        /// `query vector` or `snippet vector`.
        name: &'static str,
        /// The row; 0 for the query.
        index: usize,
    },

    /// A component that is not finite.
    #[error("{name} {index} is not finite: component {component} is {value}")]
    NonFiniteVector {
        /// `query vector` or `snippet vector`.
        name: &'static str,
        /// The row; 0 for the query.
        index: usize,
        /// The component.
        component: usize,
        /// The number.
        value: f32,
    },
}

impl Error {
    /// A question that needs query ids.
    pub(crate) fn missing_query(question: &'static str) -> Self {
        Self::MissingField {
            question,
            field: "query",
            remedy: "pass query= to Calibration.fit",
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
