//! Nested families: what a parameter is compared with.

/// A family of rules by one parameter: a snippet is kept iff its value in the family is at most the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// The score itself.
    #[default]
    Threshold,
    /// The score minus the mean score of the query's candidates. Breaks when lists become shorter or are cut otherwise.
    Relative,
    /// The rank among the query's candidates by (score, position), from 1.
    TopK,
    /// The summed size of the candidates up to and including this one in that order.
    Tokens,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 4] = [Self::Threshold, Self::Relative, Self::TopK, Self::Tokens];

    /// The word used in arguments, files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Relative => "relative",
            Self::TopK => "top_k",
            Self::Tokens => "tokens",
        }
    }

    /// Whether the parameter is a whole number.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::TopK | Self::Tokens)
    }
}
