//! Punctuation around a terminal: what closes the sentence with it, and what opens the next one.

use super::class::Class;
use super::refine::Candidate;
use super::rules::at;
use super::white::is_white;
use super::words::{Next, is_letter, next};

/// What follows the terminal and all that belongs to it.
#[derive(Clone, Copy)]
pub(super) struct Following<'a> {
    /// One past the closing punctuation.
    pub(super) closed: usize,
    /// Whether there is any.
    pub(super) has_closing: bool,
    /// Where the next sentence would begin.
    pub(super) end: usize,
    pub(super) next: Next<'a>,
}

impl<'a> Candidate<'a> {
    /// Closing punctuation that the rules leave to the next sentence, and opening one that they take from it.
    pub(super) fn following(&self) -> Option<Following<'a>> {
        let text = self.text;
        let mut closed = self.found.after;
        for (offset, c) in text[closed..self.found.closed].char_indices() {
            let position = self.found.after + offset;
            if opens(text, position, c) {
                return self.before_opening(position, c);
            }
            closed = position + c.len_utf8();
        }
        let mut end = self.found.end;
        let has_gap = end > closed;
        let tail = &text[end..];
        // Emphasis and reference marks: "**Note.** Then", "so it is.¹ Then".
        if !has_gap && tail.starts_with(is_mark) {
            let marked = closed + (tail.len() - tail.trim_start_matches(is_mark).len());
            let spaced = spaces(text, marked);
            if spaced == marked && marked < text.len() {
                return (self.terminal.len_utf8() > 1).then(|| self.gather(closed, end));
            }
            return Some(self.gather(marked, spaced));
        }
        // A space before the closing mark: "Quoi ? »".
        while has_gap
            && let Some(c) = text[end..].chars().next()
            && closes(text, end, c)
        {
            closed = end + c.len_utf8();
            end = spaces(text, closed);
        }
        Some(self.gather(closed, end))
    }

    fn gather(&self, closed: usize, end: usize) -> Following<'a> {
        Following {
            closed,
            has_closing: closed > self.found.after,
            end,
            next: next(self.text, end),
        }
    }

    /// An opening bracket or quotation mark right after the terminal: a reference mark "[12]" belongs to the sentence,
    /// anything else to the next.
    fn before_opening(&self, position: usize, c: char) -> Option<Following<'a>> {
        let text = self.text;
        if !matches!(c, '[' | '(' | '{') {
            return Some(self.gather(position, position));
        }
        let inner = &text[position + 1..];
        let width = inner
            .bytes()
            .take(16)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b",- ".contains(byte))
            .count();
        let close = position + 1 + width;
        if width > 0 && text[close..].starts_with([']', ')']) {
            let mut closed = close + 1;
            if text[closed..].starts_with('[') {
                // "[1][2]": as far as the last.
                closed = text[closed..]
                    .find(is_white)
                    .filter(|&more| more < 16)
                    .map_or(closed, |more| closed + more);
            }
            let end = spaces(text, closed);
            return (end > closed).then(|| self.gather(closed, end));
        }
        (!self.terminal.is_ascii()).then(|| self.gather(position, position))
    }
}

/// One past the spaces at a byte; soft newlines are spaces.
fn spaces(text: &str, from: usize) -> usize {
    let mut position = from;
    while let Some((c, Class::Sp)) = at(text, position) {
        position += c.len_utf8();
    }
    position
}

/// Marks that are set after the stop and belong to the sentence.
fn is_mark(c: char) -> bool {
    matches!(c, '*' | '_' | '`' | '~' | '†' | '‡' | '¹' | '²' | '³' | '⁰'..='⁹')
}

/// Whether punctuation right after a terminal opens something new.
fn opens(text: &str, position: usize, c: char) -> bool {
    match c {
        '(' | '[' | '{' | '（' | '［' | '「' | '『' | '《' | '〈' | '【' | '〔' | '¿' | '¡' => true,
        '“' | '‘' | '«' | '‹' | '„' | '‚' | '»' | '›' => text[position + c.len_utf8()..]
            .chars()
            .next()
            .is_some_and(is_letter),
        _ => false,
    }
}

/// Whether punctuation after a space closes what the sentence has opened.
fn closes(text: &str, position: usize, c: char) -> bool {
    match c {
        ')' | ']' | '}' | '）' | '」' | '』' | '》' | '】' => true,
        '»' | '›' | '”' => {
            !opens(text, position, c) && !text[position + c.len_utf8()..].starts_with(is_letter)
        }
        _ => false,
    }
}
