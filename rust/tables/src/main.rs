//! Writes the committed tables: `cargo run -p tamis-tables`.

use std::fs;

#[expect(
    clippy::disallowed_methods,
    reason = "a generator for developers writes into the source tree"
)]
fn main() -> std::io::Result<()> {
    for (path, content) in tamis_tables::generated() {
        fs::write(path, content)?;
    }
    Ok(())
}
