//! Columns of ids, and which queries form one independent unit.

use std::collections::HashMap;

/// A column of ids, each distinct id stored once, in order of first appearance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Column {
    /// The distinct ids.
    pub names: Vec<String>,
    /// For each row, the position of its id in `names`.
    pub codes: Vec<u32>,
}

impl Column {
    /// Codes a sequence of ids. O(n) expected. At most 2³² distinct ids, which no memory reaches as strings.
    pub fn from_ids<S: AsRef<str>>(ids: impl IntoIterator<Item = S>) -> Self {
        let mut column = Self::default();
        let mut seen: HashMap<String, u32> = HashMap::new();
        for id in ids {
            let id = id.as_ref();
            let code = seen.get(id).copied().unwrap_or_else(|| {
                let code = u32::try_from(column.names.len()).unwrap_or(u32::MAX);
                seen.insert(id.to_owned(), code);
                column.names.push(id.to_owned());
                code
            });
            column.codes.push(code);
        }
        column
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The id of a row.
    pub(crate) fn name(&self, row: usize) -> &str {
        &self.names[self.codes[row] as usize]
    }
}

/// The unit of each of the queries: queries that share a document are in one, transitively.
///
/// Units are numbered from 0 in order of their first query. Near-linear (union by size, path halving).
pub(crate) fn components<S: AsRef<str>>(documents: &[Vec<S>]) -> Vec<u32> {
    let mut parent: Vec<usize> = (0..documents.len()).collect();
    let mut owner: HashMap<&str, usize> = HashMap::new();
    for (query, labelled) in documents.iter().enumerate() {
        for document in labelled {
            let first = *owner.entry(document.as_ref()).or_insert(query);
            let (a, b) = (root(&mut parent, first), root(&mut parent, query));
            // The smaller root stays: units are then numbered by their first query.
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut number: HashMap<usize, u32> = HashMap::new();
    (0..documents.len())
        .map(|query| {
            let next = u32::try_from(number.len()).unwrap_or(u32::MAX);
            *number.entry(root(&mut parent, query)).or_insert(next)
        })
        .collect()
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_share_a_document_are_one_unit() {
        let documents = [
            vec!["a"],
            vec!["b"],
            vec![],
            vec!["c", "a"],
            vec!["d"],
            vec!["d", "b"],
        ];
        assert_eq!(components(&documents), [0, 1, 2, 0, 1, 1]);
        assert_eq!(components::<&str>(&[]), [] as [u32; 0]);
    }

    #[test]
    fn ids_are_coded_in_order_of_appearance() {
        let column = Column::from_ids(["b", "a", "b", ""]);
        assert_eq!(
            (column.names.as_slice(), column.codes.as_slice()),
            (
                &["b".to_owned(), "a".into(), String::new()][..],
                &[0, 1, 0, 2][..]
            )
        );
    }
}
