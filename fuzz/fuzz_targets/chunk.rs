//! Any text is cut with exact spans: nothing lost, nothing over the limit, starts and ends ascending.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::Chunker;

fn is_white(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fuzz_target!(|input: (u8, u8, &str)| {
    let (max_chars, overlap, text) = input;
    let Ok(chunker) = Chunker::new(max_chars.into(), overlap.into()) else {
        return;
    };
    let spans = chunker.chunk(text);
    let mut covered = 0;
    for pair in spans.as_slice().windows(2) {
        assert!(pair[0].start < pair[1].start && pair[0].end < pair[1].end);
    }
    for (span, &(first, last)) in spans.as_slice().iter().zip(spans.code_points()) {
        let slice = &text[span.start..span.end];
        assert_eq!(slice.chars().count(), last - first);
        assert!(last - first <= chunker.max_chars());
        assert!(span.start <= covered || text[covered..span.start].chars().all(is_white));
        covered = span.end;
    }
    assert!(text[covered..].chars().all(is_white));
});
