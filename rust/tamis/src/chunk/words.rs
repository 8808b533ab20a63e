//! The word before a terminal and the word after it, as far as they decide.

use super::class::{Class, class};
use super::white::is_white;

/// No abbreviation is longer: a longer token is cut, and then unknown.
const LONGEST: usize = 40;

/// The token that ends at a byte: letters and digits with the stops, apostrophes and signs inside, back to a space, a
/// bracket, a quote or a dash, and not before `start`.
pub(super) fn token_before(text: &str, start: usize, end: usize) -> &str {
    let mut from = end;
    for (at, c) in text[start..end]
        .char_indices()
        .rev()
        .map(|(at, c)| (start + at, c))
    {
        let inside = match c {
            '.' | '&' | '\'' | '’' | '_' | '@' => true,
            ..'\u{80}' => c.is_ascii_alphanumeric(),
            // Marks on letters included: what is no letter, digit or mark is white, punctuation or a sign.
            _ => !is_white(c) && !is_sign(c),
        };
        if !inside || end - at > LONGEST {
            break;
        }
        from = at;
    }
    let token = text[from..end].trim_start_matches(['\'', '’', '.', '&']);
    // "l'art", "d'Inc": what is elided is not part of the word. "int'l", "gov't" are words.
    match token.rfind(['\'', '’']) {
        Some(at) if token[at..].chars().count() > 3 => token[at..].trim_start_matches(['\'', '’']),
        _ => token,
    }
}

/// Punctuation and signs beyond ASCII that part words.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}' | '\u{2060}' | '\u{80}'..='©' | '«'..='¯' | '±'..='´' | '¶'..='¹' | '»'..='¿' | '×' | '÷'
        | '\u{2010}'..='\u{205e}' | '\u{2190}'..='\u{2bff}' | '\u{2e00}'..='\u{2e7f}' | '\u{3000}'..='\u{303f}'
        | '\u{fe10}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}')
}

/// What a sentence would begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// Nothing.
    End,
    /// A digit of any script.
    Digit,
    /// A word that begins with a capital, and whether a full stop follows it.
    Upper(&'a str, bool),
    /// A word that begins with a small letter.
    Lower(&'a str),
    /// A letter of a script without case.
    Letter(char),
    /// A bracket or quotation mark that opens, and the position after it.
    Open(usize),
    /// Anything else.
    Other(char),
}

/// Reads what begins at a byte.
pub(super) fn next(text: &str, from: usize) -> Next<'_> {
    let Some(c) = text[from..].chars().next() else {
        return Next::End;
    };
    let kind = class(c);
    match c {
        _ if kind == Class::Numeric => Next::Digit,
        _ if kind == Class::Upper => {
            let word = word_at(text, from);
            let after = from + word.len();
            // "I." closes a sentence as often as it begins a name.
            Next::Upper(word, text[after..].starts_with('.'))
        }
        _ if kind == Class::Lower => Next::Lower(word_at(text, from)),
        _ if kind == Class::OLetter => Next::Letter(c),
        '(' | '[' | '{' | '"' | '\'' | '“' | '‘' | '„' | '‚' | '«' | '‹' | '「' | '『' | '（' | '《'
        | '【' | '¿' | '¡' => Next::Open(from + c.len_utf8()),
        // As an opening quotation mark, in German books and in Swedish.
        '»' | '›' | '”' | '’' if text[from + c.len_utf8()..].starts_with(is_letter) => {
            Next::Open(from + c.len_utf8())
        }
        _ => Next::Other(c),
    }
}

/// The letters and digits that begin at a byte ("It's" is "It").
fn word_at(text: &str, from: usize) -> &str {
    let tail = &text[from..];
    let end = tail
        .char_indices()
        .take(LONGEST)
        .take_while(|(_, c)| is_letter(*c))
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    &tail[..end]
}

/// A letter, digit or mark on one.
pub(super) fn is_letter(c: char) -> bool {
    matches!(
        class(c),
        Class::Lower | Class::Upper | Class::OLetter | Class::Numeric | Class::Extend
    )
}
