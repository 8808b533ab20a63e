//! Sentence boundaries: UAX #29 over text whose soft newlines count as spaces.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use super::white::{is_boundary, is_white};

/// Names the rules and tables that boundaries are made by: part of a chunker's identity, since another version may cut
/// elsewhere, and so score other snippets.
pub const BOUNDARY_TABLE: &str = "uax29-17.0+1";

/// The end of every sentence in bytes; together they tile the text. Linear.
pub(super) fn sentence_ends(text: &str) -> Vec<usize> {
    let soft = soften(text);
    let mut ends: Vec<usize> = Vec::new();
    for (start, sentence) in soft.split_sentence_bound_indices() {
        let end = start + sentence.len();
        // "‼" and "⁉" are emoji too: joined to another one, they end no sentence, for a grapheme cluster stays whole.
        if !is_boundary(text, end) {
            continue;
        }
        // What is only white space belongs to the sentence before it; asked first, so that the white space after a title is
        // looked at once and not at each of a million newlines.
        let previous = ends.len().checked_sub(2).map_or(0, |before| ends[before]);
        match ends.last_mut() {
            Some(last)
                if *last == start
                    && (sentence.chars().all(is_white) || ends_in_title(&soft[previous..start])) =>
            {
                *last = end;
            }
            _ => ends.push(end),
        }
    }
    ends
}

/// Abbreviations before a name or number, after which a sentence never ends.
const TITLES: [&str; 22] = [
    "Mr.", "Mrs.", "Ms.", "Mx.", "Dr.", "Prof.", "Rev.", "Hon.", "Gen.", "Col.", "Lt.", "Sgt.", "Capt.",
    "Gov.", "Sen.", "Rep.", "Messrs.", "Mme.", "St.", "vs.", "e.g.", "i.e.",
];

/// Whether a sentence, with the white space after it, ends in an abbreviation that stands before a name.
fn ends_in_title(sentence: &str) -> bool {
    let body = sentence.trim_end_matches(is_white);
    // A blank line after it is an end all the same.
    let gap = &sentence[body.len()..];
    let word = body
        .rsplit(|c: char| is_white(c) || matches!(c, '(' | '[' | '"' | '“' | '‘'))
        .next()
        .unwrap_or(body);
    TITLES.contains(&word) && !gap.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// The text with each soft newline replaced by as many spaces as it has bytes, so that positions stay.
///
/// A newline is soft inside a paragraph: UAX #29 would end a sentence at every line of hard-wrapped text. A blank line
/// before or after, or a list item or heading after, keeps it hard.
fn soften(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        let (line, tail) = rest.split_at(at);
        let width = if tail.starts_with("\r\n") { 2 } else { 1 };
        let (newline, next) = tail.split_at(width);
        out.push_str(line);
        if line.chars().all(is_white) || starts_anew(next) {
            out.push_str(newline);
        } else {
            out.extend(std::iter::repeat_n(' ', width));
        }
        rest = next;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether the text begins with a blank line, a list item or a heading.
fn starts_anew(text: &str) -> bool {
    let line = &text[..memchr::memchr2(b'\n', b'\r', text.as_bytes()).unwrap_or(text.len())];
    let body = line.trim_start_matches(is_white);
    let mut chars = body.chars();
    match chars.next() {
        None => true,
        Some('-' | '*' | '+' | '•' | '‣' | '–' | '—' | '·' | '▪' | '●' | '◦') => {
            chars.next().is_none_or(is_white)
        }
        Some('#') => body.trim_start_matches('#').starts_with(is_white),
        Some(c) if c.is_numeric() => {
            let after = body.trim_start_matches(char::is_numeric);
            let digits = body.len() - after.len();
            digits <= 12
                && after
                    .strip_prefix(['.', ')'])
                    .is_some_and(|rest| rest.starts_with(is_white))
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut start = 0;
        let ends = sentence_ends(text);
        assert_eq!(ends.last().copied().unwrap_or(0), text.len());
        ends.into_iter()
            .map(|end| text[std::mem::replace(&mut start, end)..end].trim_matches(is_white))
            .collect()
    }

    #[test]
    fn newlines_inside_a_paragraph_are_soft() {
        assert_eq!(
            sentences("One line\nand its rest. Two.\r\nThree."),
            ["One line\nand its rest.", "Two.", "Three."]
        );
        assert_eq!(
            sentences("Title\n\nBody here\n \nEnd"),
            ["Title", "Body here", "End"]
        );
        assert_eq!(
            sentences("Things:\n- one\n- two\n2. three\n# Head\nbody"),
            ["Things:", "- one", "- two", "2. three", "# Head\nbody"]
        );
        assert_eq!(
            sentences("Dr. Ahn met Mrs. Bell. They talked."),
            ["Dr. Ahn met Mrs. Bell.", "They talked."]
        );
        assert_eq!(
            sentences("They met the Dr.\n\nMore."),
            ["They met the Dr.", "More."]
        );
        assert_eq!(sentences("他们谈了。后来走了。"), ["他们谈了。", "后来走了。"]);
        assert_eq!(sentences(""), [""; 0]);
    }

    #[test]
    fn the_table_names_the_version_it_has() {
        let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
        assert_eq!(BOUNDARY_TABLE, format!("uax29-{major}.{minor}+1"));
    }
}
