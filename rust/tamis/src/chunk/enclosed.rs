//! Ends inside a quotation or bracket after which the sentence goes on: `She cried "Stop! Stop!" and ran.`

use super::white::is_white;

/// How far the opening mark is looked for before a terminal, and the closing one after it, in bytes.
const REACH: usize = 400;

/// Whether the terminal lies inside a pair whose closing mark is followed by a small letter: the sentence that began
/// before the pair goes on after it. Bounded work.
pub(super) fn is_enclosed(text: &str, start: usize, terminal: usize, end: usize) -> bool {
    let Some(close) = opened(text, start.max(terminal.saturating_sub(REACH)), terminal) else {
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

/// The mark that closes what is open at `end`, of what opened since `from`.
fn opened(text: &str, from: usize, end: usize) -> Option<char> {
    let bytes = &text.as_bytes()[from..end];
    let mut open = None;
    // The quotation marks of general punctuation and of CJK have 0x80 as their second byte.
    for hit in memchr::memchr3_iter(b'"', b'(', 0x80, bytes) {
        let at = from + hit;
        match bytes[hit] {
            b'"' => {
                let opening = at == 0 || {
                    let before = text.as_bytes()[at - 1];
                    before.is_ascii_whitespace() || b"([{-".contains(&before)
                };
                open = opening.then_some('"');
            }
            b'(' => {
                if open.is_none() && memchr::memchr(b')', &bytes[hit..]).is_none() {
                    open = Some(')');
                }
            }
            _ => {
                let Some(c) = at
                    .checked_sub(1)
                    .and_then(|lead| text.get(lead..))
                    .and_then(|tail| tail.chars().next())
                else {
                    continue;
                };
                match c {
                    '“' => open = Some('”'),
                    '「' => open = Some('」'),
                    '『' => open = Some('』'),
                    '”' | '」' | '』' if open == Some(c) => open = None,
                    _ => {}
                }
            }
        }
    }
    open
}
