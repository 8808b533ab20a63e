//! Lists within a paragraph: "1. The first item 2. The second item". UAX #29 ends a sentence after each marker; the item
//! ends before the next one.

use super::abbreviations::{Kind, kind_of};
use super::refine::Candidate;
use super::white::is_white;
use super::words::{Next, next, token_before};

impl Candidate<'_> {
    /// Where an item ends before the marker at this stop, if the sentence began with the marker before it.
    pub(super) fn end_of_item(&self) -> Option<usize> {
        let (text, stop) = (self.text, self.found.terminal);
        let token = token_before(text, self.start, stop);
        let from = stop - token.len();
        let marker = marker(token)?;
        // A few characters: a sentence may begin with a megabyte of dashes.
        let ahead = text[self.start..from].char_indices().take(8);
        let (begin, _) = ahead.into_iter().find(|&(_, c)| !is_white(c) && !is_bullet(c))?;
        let item = &text[self.start + begin..from];
        let first = item
            .char_indices()
            .take(4)
            .find(|(_, c)| !c.is_ascii_alphanumeric())
            .map(|(at, _)| at)
            .filter(|&at| item[at..].starts_with(['.', ')']))
            .and_then(|at| self::marker(&item[..at]))?;
        if !first.precedes(marker) || !matches!(next(text, self.found.end), Next::Upper(..) | Next::Letter(_))
        {
            return None;
        }
        let mut body = text[self.start..from].trim_end_matches(is_white);
        body = body.strip_suffix(is_bullet).unwrap_or(body);
        let end = self.start + body.len();
        let word = token_before(
            text,
            self.start,
            self.start + body.trim_end_matches(is_white).len(),
        );
        // "1. Multiply by 2. Then …", "1. See chapter 2. It …"
        let named = kind_of(word);
        let refers = named.has(Kind::LETTERED) || named.has(Kind::STARTER) || named.has(Kind::NUMBER);
        (!refers && !word.is_empty()).then_some(end)
    }
}

/// A number or a letter that counts items.
#[derive(Clone, Copy)]
enum Marker {
    Number(u32),
    Letter(u8),
}

impl Marker {
    fn precedes(self, next: Self) -> bool {
        match (self, next) {
            (Self::Number(a), Self::Number(b)) => a + 1 == b,
            (Self::Letter(a), Self::Letter(b)) => a + 1 == b,
            _ => false,
        }
    }
}

fn marker(token: &str) -> Option<Marker> {
    match token.as_bytes() {
        &[letter] if letter.is_ascii_alphabetic() => Some(Marker::Letter(letter)),
        [b'0'..=b'9', ..] if token.len() <= 3 => token.parse().ok().map(Marker::Number),
        _ => None,
    }
}

fn is_bullet(c: char) -> bool {
    matches!(c, '•' | '‣' | '⁃' | '▪' | '●' | '◦' | '-' | '–' | '*')
}
