//! Generates the tables of the chunker from Unicode and from word lists. Unpublished; a test holds the committed files to
//! what this makes.

mod sentence_break;
mod words;

use std::path::PathBuf;

/// The generated files: where they belong, and their content.
pub fn generated() -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tamis/src/chunk/tables");
    vec![
        (folder.join("sentence_break.rs"), sentence_break::source()),
        (folder.join("words.rs"), words::source()),
    ]
}

/// Numbers as lines of an array.
fn rows<T: std::fmt::Display>(numbers: &[T]) -> String {
    let mut out = String::new();
    for row in numbers.chunks(20) {
        let row: Vec<String> = row.iter().map(T::to_string).collect();
        out.push_str("    ");
        out.push_str(&row.join(", "));
        out.push_str(",\n");
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a generator for developers reads the source tree"
    )]
    fn the_committed_tables_are_fresh() {
        let files = super::generated();
        assert_eq!(files.len(), 2);
        for (path, content) in files {
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == content,
                "{} is stale: run `cargo run -p tamis-tables`",
                path.display()
            );
        }
    }
}
