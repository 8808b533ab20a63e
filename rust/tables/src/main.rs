//! Writes the committed tables: `cargo run -p tamis-tables`.

use std::fs;

fn main() -> std::io::Result<()> {
    for (path, content) in tamis_tables::generated() {
        fs::write(path, content)?;
    }
    Ok(())
}
