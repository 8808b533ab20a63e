//! Soft newlines: those inside a paragraph, which count as spaces.
//!
//! UAX #29 would end a sentence at every line of hard-wrapped text. A blank line before or after, or a list item or
//! heading after, keeps a newline hard.

use super::white::is_white;

/// Whether the newline that begins at this byte (`\n`, `\r` or `\r\n`) is soft. Cost: the white space around it.
pub(super) fn is_soft(text: &str, at: usize) -> bool {
    if is_softly_plain(text.as_bytes(), at) {
        return true;
    }
    let width = if text[at..].starts_with("\r\n") { 2 } else { 1 };
    !is_blank_before(text, at) && !starts_anew(&text[at + width..])
}

/// The common case: a line ends, perhaps with a space, and the next begins with a word, perhaps after one.
#[inline]
pub(super) fn is_softly_plain(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let before = before.strip_suffix(b" ").unwrap_or(before);
    let after = &bytes[at + 1..];
    let after = after.strip_prefix(b" ").unwrap_or(after);
    bytes[at] == b'\n'
        && matches!(before, [.., b'!'..=b'~'])
        && matches!(
            after,
            [
                b'A'..=b'Z' | b'a'..=b'z',
                // Else it may be a numeral before a bracket.
                b'a'..=b'h' | b'j'..=b'u' | b'w' | b'y' | b'z',
                ..,
            ]
        )
}

/// Whether only white space lies between the newline before and this byte.
fn is_blank_before(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .rev()
        .find(|&c| is_newline(c) || !is_white(c))
        .is_none_or(is_newline)
}

fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// Whether the text begins with a blank line, a list item or a heading.
fn starts_anew(text: &str) -> bool {
    let body = text.trim_start_matches(|c| is_white(c) && !is_newline(c));
    let mut chars = body.chars();
    match chars.next() {
        None | Some('\n' | '\r') => true,
        Some('-' | '*' | '+' | '•' | '‣' | '–' | '—' | '·' | '▪' | '●' | '◦') => {
            chars.next().is_none_or(is_white)
        }
        Some('#') => body.trim_start_matches('#').starts_with(is_white),
        Some('(') => marker(chars.as_str(), &[")"]),
        Some(c) if c.is_alphanumeric() => marker(body, &[".", ")"]),
        Some(_) => false,
    }
}

/// Whether the text begins with a number, a letter (before a bracket only) or a numeral such as `iv)`, one of the closings, and a space.
fn marker(text: &str, closings: &[&str]) -> bool {
    let digits = text
        .chars()
        .take(13)
        .take_while(|c| c.is_numeric())
        .map(char::len_utf8)
        .sum::<usize>();
    let letters = text.bytes().take(5).take_while(u8::is_ascii_alphabetic).count();
    let (width, letter) = if digits > 0 {
        (digits, false)
    } else {
        (letters, true)
    };
    if width == 0
        || digits > 12
        || letter && letters > 1 && !text[..letters].bytes().all(|b| b"ivxIVX".contains(&b))
        || letters > 4
    {
        return false;
    }
    closings.iter().any(|closing| {
        (!letter || *closing == ")")
            && text[width..]
                .strip_prefix(closing)
                .is_some_and(|rest| rest.starts_with(is_white))
    })
}
