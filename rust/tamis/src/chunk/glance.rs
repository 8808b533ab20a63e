//! What the bytes around a terminal decide at a glance. Nothing is decided here that the rules and the refinement would
//! decide otherwise: it only saves most of their work, for most text is plain.

use super::abbreviations::{Kind, kind_of};
use super::class::{Class, class};
use super::newline::is_softly_plain;
use super::tokens::{is_numeral, lacks_vowels};

/// What is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glance {
    /// A sentence ends here, unless it is enclosed.
    End(usize),
    /// None ends here.
    None,
    /// A hard newline, and the end after it.
    Line(usize),
    /// Rules and refinement must decide.
    Unclear,
}

/// Looks at the byte of a hit in the sentence that begins at `start`.
#[inline]
pub(super) fn glance(text: &str, start: usize, hit: usize) -> Glance {
    let bytes = text.as_bytes();
    match bytes[hit] {
        b'\n' => newline(bytes, hit),
        b'.' | b'!' | b'?' => stop(text, start, hit),
        // The last byte of "。", the second of "！", "．" and "？", and of full-width letters, digits and commas.
        0x82 if bytes[..hit].ends_with(&[0xE3, 0x80]) => wide(text, hit + 1),
        0xBC if bytes[..hit].ends_with(&[0xEF]) => match bytes.get(hit + 1) {
            Some(0x81 | 0x9F) => wide(text, hit + 2),
            Some(0x8E) | None => Glance::Unclear,
            Some(_) => Glance::None,
        },
        _ => Glance::Unclear,
    }
}

fn newline(bytes: &[u8], at: usize) -> Glance {
    if is_softly_plain(bytes, at) {
        return Glance::None;
    }
    match (at.checked_sub(1).map(|before| bytes[before]), bytes.get(at + 1)) {
        (Some(b'\n'), Some(_)) | (_, Some(b'\n')) => Glance::Line(at + 1),
        _ => Glance::Unclear,
    }
}

#[inline]
fn stop(text: &str, start: usize, stop: usize) -> Glance {
    let bytes = text.as_bytes();
    let before = stop.checked_sub(1).map_or(b' ', |before| bytes[before]);
    match (bytes[stop], &bytes[stop + 1..]) {
        (_, [b' ', b'A'..=b'Z', ..]) if is_plain(text, start, stop) => Glance::End(stop + 2),
        // "3.14", "e.g.", "example.org", "...", "Inc., of": no end, unless a reference mark follows a word: "so.12 Then".
        (b'.', [b'0'..=b'9', ..]) if !before.is_ascii_lowercase() => Glance::None,
        // What follows a blank line begins by itself.
        (b'.', [b'a'..=b'z' | b'.' | b',', ..]) | (_, [b'\n', b'\n', ..]) => Glance::None,
        // "of the Y. pest", in a sentence that began with a capital.
        (b'.', [b' ', b'a'..=b'z', b'a'..=b'z' | b' ', ..]) if bytes[start].is_ascii_uppercase() => {
            Glance::None
        }
        (_, [b' ', 0xC3..=0xDB, _, ..]) if is_letter_after_gap(text, stop) && is_plain(text, start, stop) => {
            Glance::End(stop + 2)
        }
        _ => Glance::Unclear,
    }
}

/// Whether a capital, or after a full stop a letter without case, follows the terminal and a space.
fn is_letter_after_gap(text: &str, stop: usize) -> bool {
    match text[stop + 2..].chars().next().map(class) {
        Some(Class::Upper) => true,
        Some(Class::OLetter) => text.as_bytes()[stop] == b'.',
        _ => false,
    }
}

/// Whether an ordinary word, or what closes a bracket or quotation, comes before the terminal.
#[inline]
fn is_plain(text: &str, start: usize, stop: usize) -> bool {
    let bytes = text.as_bytes();
    let mut from = stop;
    let mut letters = 0;
    while from > start {
        match bytes[from - 1] {
            b'a'..=b'z' | b'A'..=b'Z' => from -= 1,
            // Letters of two bytes: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic.
            0x80..0xC0 if from - start > 1 && is_letter_of_two(bytes[from - 2], bytes[from - 1]) => from -= 2,
            _ => break,
        }
        letters += 1;
    }
    if from == start {
        return false;
    }
    let word = &text[from..stop];
    let parted = match bytes[from - 1] {
        // What closes, or a space before the terminal: no token.
        b' ' | b'\n' | b')' | b']' | b'}' | b'"' if letters == 0 => return true,
        // What parts a token, and is no part of an address.
        b' ' | b'\n' | b'"' | b'(' | b'[' | b'-' | b',' | b':' | b';' | b'*' => true,
        _ => false,
    };
    parted
        && letters > 1
        // Behind a dash it may count an item.
        && !is_numeral(word)
        && if bytes[stop] == b'.' {
            !kind_of(word).abbreviates() && !lacks_vowels(word)
        } else {
            !kind_of(word).has(Kind::BANG)
        }
}

fn is_letter_of_two(lead: u8, last: u8) -> bool {
    (0xC3..=0xDB).contains(&lead)
        && char::from_u32(u32::from(lead & 0x1F) << 6 | u32::from(last & 0x3F))
            .is_some_and(|c| matches!(class(c), Class::Lower | Class::Upper | Class::OLetter))
}

/// After a full stop of CJK text: a kana or an ideograph begins a sentence.
fn wide(text: &str, after: usize) -> Glance {
    let tail = &text[after..];
    let (gap, tail) = match tail.strip_prefix(' ') {
        Some(tail) => (1, tail),
        None => (0, tail),
    };
    match tail.chars().next() {
        Some(
            '\u{3041}'..='\u{3096}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}',
        ) => Glance::End(after + gap),
        // What follows a blank line begins by itself.
        Some('\n') if gap == 0 && tail[1..].starts_with('\n') => Glance::None,
        _ => Glance::Unclear,
    }
}
