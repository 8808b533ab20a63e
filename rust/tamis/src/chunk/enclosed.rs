//! Ends inside a quotation or bracket after which the sentence goes on: `She cried "Stop! Stop!" and ran.`

use super::scan::Openings;
use super::white::is_white;

/// How far the opening mark is looked for before a terminal, and the closing one after it, in bytes.
pub(super) const REACH: usize = 400;

/// Whether the terminal lies inside a pair whose closing mark is followed by a small letter: the sentence that began
/// before the pair goes on after it. Bounded work.
pub(super) fn is_enclosed(text: &str, openings: Openings<'_>, terminal: usize, end: usize) -> bool {
    let Some(close) = opened(text, openings, terminal) else {
        return false;
    };
    let mut limit = text.len().min(end + REACH);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let ahead = &text[end..limit];
    let Some(at) = ahead.find(close) else {
        return false;
    };
    // A hard newline ends whatever was open.
    if ahead[..at].contains("\n\n") {
        return false;
    }
    let after = ahead[at + close.len_utf8()..].trim_start_matches(is_white);
    after.starts_with(char::is_lowercase)
}

/// The mark that closes what is open at the terminal, of the marks before it.
fn opened(text: &str, marks: Openings<'_>, terminal: usize) -> Option<char> {
    let bytes = text.as_bytes();
    let mut open = None;
    for mark in marks {
        match bytes[mark] {
            b'"' => {
                let opening = mark == 0 || {
                    let before = bytes[mark - 1];
                    before.is_ascii_whitespace() || b"([{-".contains(&before)
                };
                open = opening.then_some('"');
            }
            b'(' => {
                if open.is_none() && memchr::memchr(b')', &bytes[mark..terminal]).is_none() {
                    open = Some(')');
                }
            }
            // The last byte of three.
            _ => {
                let lead = mark.checked_sub(2);
                match lead.and_then(|lead| text.get(lead..=mark)) {
                    Some("“") => open = Some('”'),
                    Some("「") => open = Some('」'),
                    Some("『") => open = Some('』'),
                    Some("”") if open == Some('”') => open = None,
                    Some("」") if open == Some('」') => open = None,
                    Some("』") if open == Some('』') => open = None,
                    _ => {}
                }
            }
        }
    }
    open
}
