//! False ends that UAX #29 reports and true ones that it hides: abbreviations, initials, markers, addresses, quotations.
//!
//! The rules know characters, not words. Here the word before the terminal and the one after it decide, by tables. Each
//! decision looks at a bounded stretch around the terminal, so the whole stays linear.

use super::abbreviations::{Kind, kind_of};
use super::class::Class;
use super::closing::Following;
use super::enclosed::is_enclosed;
use super::rules::Break;
use super::scan::Openings;
use super::tokens::{is_acronym, is_camel, is_number, is_numeral, is_ordinal, lacks_vowels};
use super::white::is_white;
use super::words::{Next, next, token_before};

/// How far back the beginning of an address or of a sentence is looked for, in bytes.
pub(super) const REACH: usize = 256;

/// A terminal in its sentence.
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    /// Where the sentence begins.
    pub(super) start: usize,
    pub(super) terminal: char,
    pub(super) kind: Class,
    pub(super) found: Break,
    /// A small letter follows a full stop: no end by the rules.
    pub(super) lower: bool,
    /// The marks of quotations and brackets in the sentence before the terminal, near enough to matter.
    pub(super) openings: Openings<'a>,
}

impl Candidate<'_> {
    /// Where the sentence ends, if it does.
    pub(super) fn end(&self) -> Option<usize> {
        if self.lower && !self.may_begin_unusually() {
            return None;
        }
        if self.kind == Class::ATerm
            && let Some(end) = self.end_of_item()
        {
            return Some(end);
        }
        let following = self.following()?;
        if following.next == Next::End {
            return None;
        }
        let ends = if self.kind == Class::ATerm {
            self.full_stop_ends(&following)
        } else {
            self.exclamation_ends(&following)
        };
        let quoted = following.has_closing && self.speech_goes_on(&following)
            || !following.has_closing
                && is_enclosed(
                    self.text,
                    self.openings.clone(),
                    self.found.terminal,
                    following.end,
                );
        (ends && !quoted).then_some(following.end)
    }

    /// Exclamation and question marks, and the full stops of scripts that use theirs for nothing else.
    fn exclamation_ends(&self, following: &Following<'_>) -> bool {
        if !self.terminal.is_ascii() {
            return true;
        }
        let text = self.text;
        let has_gap = following.end > following.closed;
        // "(!)", "[?]": a remark on the words before.
        let before = text[self.start..self.found.terminal].trim_end_matches(['!', '?']);
        if following.has_closing && before.ends_with(['(', '[']) {
            return false;
        }
        match following.next {
            Next::Lower(_) => has_gap && !following.has_closing && self.begins_small(),
            // "?page=2", "!=", "a!b": part of an address or an expression, unless a space was forgotten.
            Next::Upper(..) | Next::Letter(_) if !has_gap && !following.has_closing => {
                let token = token_before(text, self.start, self.found.terminal);
                let foreign = matches!(following.next, Next::Letter(_))
                    && token.starts_with(|c: char| c.is_ascii_uppercase());
                token.chars().count() > 1 && !foreign && !self.is_in_address()
            }
            Next::Upper(word, _) => {
                self.terminal != '!'
                    || following.has_closing
                    || !kind_of(token_before(text, self.start, self.found.terminal)).has(Kind::BANG)
                    || starts_sentence(word, false)
            }
            Next::Other(c) => has_gap && !"&+=/|<>~^%".contains(c),
            _ => has_gap || following.has_closing || matches!(following.next, Next::Open(_)),
        }
    }

    fn full_stop_ends(&self, following: &Following<'_>) -> bool {
        let text = self.text;
        let stop = self.found.terminal;
        let has_gap = following.end > following.closed;
        let token = token_before(text, self.start, stop);
        let dots = text[self.start..stop].ends_with(['.', '…']);
        if self.lower {
            return has_gap && !dots && self.small_begins(token, following);
        }
        if dots {
            // Without capitals nothing says that a new sentence begins after "...".
            return !matches!(following.next, Next::Letter(_)) && (has_gap || following.has_closing);
        }
        if !has_gap && !following.has_closing {
            // Nothing between the stop and what follows: a space forgotten, or a number, a name, a file.
            return match following.next {
                Next::Letter(_) => !self.is_abbreviation(token, following.next) && !is_number(token),
                Next::Open(_) => !token.is_ascii() || token.len() > 1,
                Next::Other(c) => !c.is_ascii() || c == '<',
                Next::Upper(..) => !self.terminal.is_ascii(),
                _ => false,
            };
        }
        token.is_empty() || !self.is_abbreviation(token, following.next)
    }

    /// Whether a sentence goes on after the token with a stop, before what follows.
    fn is_abbreviation(&self, token: &str, following: Next<'_>) -> bool {
        let text = self.text;
        let from = self.found.terminal - token.len();
        // Looked for near by only: a sentence may begin with a megabyte of brackets.
        let whole = from - self.start < REACH
            && text[self.start..from]
                .trim_start_matches(|c: char| is_white(c) || "([*_-–•#>".contains(c))
                .is_empty();
        // The end of an address: "…?d=E."
        if text[..from].ends_with(['=', '/', '&', '?', '#', '%', '~', '+']) {
            return false;
        }
        if is_number(token) {
            // "1. First", "2.1. Scope"; "am 3. Oktober"; "5. 6. 2020", "2020. 5. 6."
            return whole
                || match following {
                    Next::Upper(word, _) => is_ordinal(token) && kind_of(word).has(Kind::MONTHNAME),
                    Next::Digit => self.is_date(token),
                    _ => false,
                };
        }
        let mut letters = token.chars().filter(|c| c.is_alphanumeric());
        let (Some(initial), second) = (letters.next(), letters.next()) else {
            return false;
        };
        // A small letter is a word or a name unless the table knows it ("p. 5", "г. Москва").
        if second.is_none() && !token.contains('.') && (whole || !initial.is_lowercase()) {
            return self.is_initial(initial, from, whole, following);
        }
        if whole && is_numeral(token) {
            return true;
        }
        // Thai and Lao end no sentence with a full stop, but many an abbreviation.
        if ('\u{e00}'..='\u{eff}').contains(&initial) {
            return true;
        }
        // "z. B.", "i. V."
        if second.is_none() && matches!(following, Next::Upper(word, true) if word.chars().count() == 1) {
            return true;
        }
        let kind = kind_of(token);
        if kind.has(Kind::TITLE) {
            return true;
        }
        if kind.has(Kind::NUMBER) && is_counted(text, following) {
            return true;
        }
        if kind.has(Kind::MONTH) && matches!(following, Next::Digit | Next::Lower(_) | Next::Letter(_)) {
            return true;
        }
        if kind.has(Kind::FINAL) && !kind.has(Kind::MONTH) {
            return match following {
                Next::Upper(word, _) => {
                    matches!(token.rsplit('.').next(), Some("m" | "M")) && is_time_word(word)
                }
                Next::Letter(_) => true,
                _ => false,
            };
        }
        let ordinary = kind.has(Kind::ORDINARY)
            || kind.has(Kind::MONTH)
            || is_acronym(token)
            || !kind.abbreviates() && lacks_vowels(token);
        ordinary && !begins(text, following)
    }

    /// "J. Smith", "К. Маркс", "د. أحمد"; "A. First"; but "vitamin D. It".
    fn is_initial(&self, initial: char, from: usize, whole: bool, following: Next<'_>) -> bool {
        if initial.is_numeric() {
            return false;
        }
        let has_case = initial.is_uppercase() || initial.is_lowercase();
        if whole && has_case {
            return true;
        }
        match initial {
            _ if has_case => {
                let before = self.text[self.start..from].trim_end_matches(is_white);
                let named = kind_of(token_before(self.text, self.start, self.start + before.len()));
                let ends = named.has(Kind::LETTERED)
                    || begins(self.text, following)
                    || kind_of_letter(initial).has(Kind::FINAL) && matches!(following, Next::Upper(..));
                !ends
            }
            // Hebrew and Arabic, Thai and Lao.
            '\u{590}'..='\u{8ff}' | '\u{e00}'..='\u{eff}' | '\u{fb1d}'..='\u{fdff}' => true,
            _ => false,
        }
    }

    /// Whether digits and a stop between spaces are part of a date: another number with a stop follows, or a year.
    fn is_date(&self, token: &str) -> bool {
        let tail = &self.text[self.found.end..];
        let digits = tail.chars().take(5).take_while(|c| c.is_numeric()).count();
        let after = tail.chars().nth(digits);
        token.chars().count() <= 4 && (after == Some('.') && digits <= 2 || digits == 4 && is_ordinal(token))
    }

    /// Whether what follows a full stop may begin a sentence although no capital comes: cheap, asked first.
    fn may_begin_unusually(&self) -> bool {
        match next(self.text, self.found.end) {
            Next::Digit => true,
            Next::Lower(word) => is_camel(word) || self.begins_small(),
            _ => false,
        }
    }

    /// "it rained. we stayed.", "… was shown. iPhones sold …", "… was over. 15 people left."
    fn small_begins(&self, token: &str, following: &Following<'_>) -> bool {
        let is_word = token.chars().count() > 1
            && token.chars().all(char::is_alphabetic)
            && !kind_of(token).abbreviates();
        match following.next {
            Next::Lower(_) => is_word && !following.has_closing,
            // What stands before a number is often an abbreviation that no table has: a whole word or a year only.
            Next::Digit => {
                let long = is_word
                    && token.len() > 3
                    && !lacks_vowels(token)
                    && !token.starts_with(char::is_uppercase);
                long || is_number(token) && token.len() > 2 && !self.is_date(token)
            }
            _ => false,
        }
    }

    /// An end where the rules see a number or a name, after a whole word in small letters: a reference mark of digits
    /// ("was shown.12 Then"), or a space forgotten before a word that begins sentences ("was shown.Then we").
    pub(super) fn after_word(text: &str, stop: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let length = bytes[..stop]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_lowercase())
            .count();
        let digits = bytes[stop + 1..]
            .iter()
            .take(4)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let end = stop + 1 + digits;
        let begins = match (digits, bytes.get(end..)?) {
            (1..=3, [b' ', b'A'..=b'Z', ..]) => {
                return Self::is_word(text, stop, length, 4).then_some(end + 1);
            }
            (0, [b'A'..=b'Z', ..]) => match next(text, end) {
                Next::Upper(word, stop) => {
                    word.len() > 1 && starts_sentence(word, stop) && text[end + word.len()..].starts_with(' ')
                }
                _ => false,
            },
            _ => false,
        };
        let parted = bytes[..stop - length].last().is_none_or(u8::is_ascii_whitespace);
        (begins && parted && Self::is_word(text, stop, length, 3)).then_some(end)
    }

    fn is_word(text: &str, stop: usize, length: usize, least: usize) -> bool {
        length >= least && !kind_of(&text[stop - length..stop]).abbreviates()
    }

    /// Whether the sentence is written without a capital at its beginning.
    fn begins_small(&self) -> bool {
        self.text[self.start..]
            .chars()
            .take(64)
            .find(|c| c.is_alphanumeric())
            .is_some_and(char::is_lowercase)
    }

    /// Whether the terminal stands in an address, a path or an expression.
    fn is_in_address(&self) -> bool {
        let mut from = self.found.terminal.saturating_sub(REACH).max(self.start);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        let before = &self.text[from..self.found.terminal];
        let run = before.rsplit(is_white).next().unwrap_or(before);
        run.contains(['/', '=', '@', '\\', '&', '#', '_', '$', '<', '{']) || run.starts_with("www.")
    }
}

fn kind_of_letter(letter: char) -> Kind {
    kind_of(letter.encode_utf8(&mut [0; 4]))
}

/// Whether a number follows: digits, a Roman numeral, a section sign, or one of these in brackets.
fn is_counted(text: &str, following: Next<'_>) -> bool {
    match following {
        Next::Digit | Next::Lower(_) | Next::Letter(_) | Next::Other('§' | '#' | '№' | '±' | '-' | '–') => {
            true
        }
        Next::Upper(word, _) => {
            word.bytes().all(|byte| b"IVXLCDM".contains(&byte))
                || word.len() == 1
                || word.contains(|c: char| c.is_ascii_digit())
        }
        Next::Open(inside) => matches!(next(text, inside), Next::Digit),
        _ => false,
    }
}

/// Whether what follows begins a sentence even after an abbreviation.
fn begins(text: &str, following: Next<'_>) -> bool {
    match following {
        Next::Upper(word, stop) => starts_sentence(word, stop),
        Next::Open(inside) => {
            let quotes = !text[..inside].ends_with(['(', '[', '{', '（']);
            match next(text, inside) {
                Next::Upper(word, stop) => quotes || starts_sentence(word, stop),
                _ => false,
            }
        }
        Next::Other(c) => matches!(c, '•' | '–' | '—' | '*' | '#' | '-'),
        _ => false,
    }
}

pub(super) fn starts_sentence(word: &str, stop: bool) -> bool {
    !stop && kind_of(word).has(Kind::STARTER)
}

/// What follows "a.m." and "p.m." in the middle of a sentence.
fn is_time_word(word: &str) -> bool {
    kind_of(word).has(Kind::WEEKDAY)
        || kind_of(word).has(Kind::MONTHNAME)
        || matches!(word, "Eastern" | "Central" | "Pacific" | "Mountain" | "Greenwich")
        || kind_of(word).has(Kind::MONTH)
        || (2..=4).contains(&word.len())
            && word.ends_with('T')
            && word.bytes().all(|byte| byte.is_ascii_uppercase())
        || matches!(word, "UTC" | "ET" | "PT")
}
