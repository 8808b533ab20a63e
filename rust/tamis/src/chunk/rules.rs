//! The sentence rules of UAX #29, decided by looking around a terminal.
//!
//! No state runs over the text: after a terminal only what follows it, up to the next terminal or letter, decides, and
//! before it only one character. So every byte is looked at a bounded number of times, and the rules apply wherever a
//! [scan](super::scan) finds a terminal. Soft newlines are class Sp, as if they were spaces.

use super::class::{Class, class};
use super::newline::is_soft;

/// What surrounds a terminal after which UAX #29 breaks. Positions in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Break {
    /// First byte of the terminal.
    pub(super) terminal: usize,
    /// One past the terminal and the marks on it.
    pub(super) after: usize,
    /// One past the closing punctuation.
    pub(super) closed: usize,
    /// One past the spaces: where the next sentence begins.
    pub(super) end: usize,
}

/// What a terminal decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A break.
    Break(Break),
    /// A full stop before a small letter: no break by rule SB8.
    Lower(Break),
    /// No break.
    None,
}

/// The character at a byte, with its class; `None` at the end of the text.
#[inline]
pub(super) fn at(text: &str, position: usize) -> Option<(char, Class)> {
    let c = match *text.as_bytes().get(position)? {
        byte @ ..0x80 => char::from(byte),
        _ => text[position..].chars().next()?,
    };
    let class = class(c);
    let soft = matches!(class, Class::LF | Class::CR) && is_soft(text, newline_start(text, position, c));
    Some((c, if soft { Class::Sp } else { class }))
}

/// `\r\n` is one newline.
fn newline_start(text: &str, at: usize, c: char) -> usize {
    if c == '\n' && at > 0 && text.as_bytes()[at - 1] == b'\r' {
        at - 1
    } else {
        at
    }
}

/// One past the break after a hard separator (SB3, SB4).
pub(super) fn after_separator(text: &str, separator: usize, c: char) -> usize {
    let after = separator + c.len_utf8();
    if c == '\r' && text[after..].starts_with('\n') {
        after + 1
    } else {
        after
    }
}

/// Rules SB5 to SB11 at a terminal.
pub(super) fn after_terminal(text: &str, terminal: usize, c: char, kind: Class) -> Verdict {
    // The common case first: a space and a capital.
    if let [b' ', b'A'..=b'Z', ..] = text.as_bytes()[terminal + c.len_utf8()..] {
        let after = terminal + c.len_utf8();
        return Verdict::Break(Break {
            terminal,
            after,
            closed: after,
            end: after + 1,
        });
    }
    let after = marks(text, terminal + c.len_utf8());
    let next = at(text, after);
    if kind == Class::ATerm
        && let Some((_, next)) = next
        && (next == Class::Numeric // SB6
            || next == Class::Upper && matches!(before(text, terminal), Class::Upper | Class::Lower))
    // SB7
    {
        return Verdict::None;
    }
    let closed = run(text, after, Class::Close);
    let end = run(text, closed, Class::Sp);
    let found = Break {
        terminal,
        after,
        closed,
        end,
    };
    match at(text, end) {
        // SB8a, and the separator breaks by itself.
        Some((_, Class::SContinue | Class::STerm | Class::ATerm | Class::CR | Class::LF | Class::Sep)) => {
            Verdict::None
        }
        Some(_) if kind == Class::ATerm && lower_follows(text, end) => Verdict::Lower(found),
        _ => Verdict::Break(found),
    }
}

/// SB8: a small letter comes before any other letter, terminal or separator.
fn lower_follows(text: &str, from: usize) -> bool {
    let mut position = from;
    while let Some((c, kind)) = at(text, position) {
        match kind {
            Class::Lower => return true,
            Class::OLetter
            | Class::Upper
            | Class::CR
            | Class::LF
            | Class::Sep
            | Class::STerm
            | Class::ATerm => return false,
            _ => position += c.len_utf8(),
        }
    }
    false
}

/// One past the characters of a class, and the marks on them, that begin at a byte.
fn run(text: &str, from: usize, wanted: Class) -> usize {
    let mut position = from;
    while let Some((c, kind)) = at(text, position) {
        if kind != wanted {
            break;
        }
        position = marks(text, position + c.len_utf8());
    }
    position
}

/// One past the marks at a byte (SB5).
fn marks(text: &str, from: usize) -> usize {
    let mut position = from;
    while let Some((c, Class::Extend | Class::Format)) = at(text, position) {
        position += c.len_utf8();
    }
    position
}

/// The class of the character before a byte, marks passed over (SB5).
fn before(text: &str, position: usize) -> Class {
    text[..position]
        .chars()
        .rev()
        .map(class)
        .find(|kind| !matches!(kind, Class::Extend | Class::Format))
        .unwrap_or(Class::Other)
}
