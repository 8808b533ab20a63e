//! False ends that UAX #29 reports and true ones that it hides: abbreviations, initials, markers, addresses, quotations.
//!
//! The rules know characters, not words. Here the word before the terminal and the one after it decide, by tables. Each
//! decision looks at a bounded stretch around the terminal, so the whole stays linear.

use super::abbreviations::{Kind, kind_of};
use super::class::Class;
use super::enclosed::is_enclosed;
use super::rules::{Break, at};
use super::white::is_white;
use super::words::{Next, is_letter, next, token_before};

/// How far back the beginning of an address or of a sentence is looked for, in bytes.
const REACH: usize = 256;

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
    /// Whether a mark that opens a quotation or bracket may lie in the sentence.
    pub(super) may_be_enclosed: bool,
}

/// What follows the terminal and all that belongs to it.
#[derive(Clone, Copy)]
struct Following<'a> {
    /// One past the closing punctuation.
    closed: usize,
    /// Whether there is any.
    has_closing: bool,
    /// Where the next sentence would begin.
    end: usize,
    next: Next<'a>,
}

impl<'a> Candidate<'a> {
    /// Where the sentence ends, if it does.
    pub(super) fn end(&self) -> Option<usize> {
        if self.lower && !self.may_begin_unusually() {
            return None;
        }
        if self.is_plain() {
            let end = self.found.end;
            let goes_on =
                self.may_be_enclosed && is_enclosed(self.text, self.start, self.found.terminal, end);
            return (!goes_on).then_some(end);
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
                && self.may_be_enclosed
                && is_enclosed(self.text, self.start, self.found.terminal, following.end);
        (ends && !quoted).then_some(following.end)
    }

    /// The common case, decided first: after an ordinary word in ASCII letters, a space and a capital.
    fn is_plain(&self) -> bool {
        let bytes = self.text.as_bytes();
        let Break {
            terminal,
            after,
            closed,
            end,
        } = self.found;
        if !(self.terminal.is_ascii()
            && closed == after
            && end > closed
            && bytes.get(end).is_some_and(u8::is_ascii_uppercase))
        {
            return false;
        }
        let before = &bytes[self.start..terminal];
        let length = before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let word = &self.text[terminal - length..terminal];
        // Begun by a space, so that the letters are the whole token.
        let whole =
            length > 1 && before.len() > length && matches!(before[before.len() - length - 1], b' ' | b'\n');
        whole
            && if self.kind == Class::ATerm {
                !kind_of(word).abbreviates() && !lacks_vowels(word)
            } else {
                !kind_of(word).has(Kind::BANG)
            }
    }

    /// Closing punctuation that the rules leave to the next sentence, and opening one that they take from it.
    fn following(&self) -> Option<Following<'a>> {
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
        let first =
            text[self.start..from].trim_start_matches(|c: char| is_white(c) || "([*_-–•#>".contains(c));
        let whole = first.is_empty() && from - self.start < REACH;
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
                Next::Upper(word, _) => token.ends_with(".m") && is_time_word(word),
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
                !kind_of(token_before(self.text, self.start, self.start + before.len())).has(Kind::LETTERED)
                    && !(kind_of_letter(initial).has(Kind::FINAL) && matches!(following, Next::Upper(..)))
                    && !begins(self.text, following)
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

    /// A reference mark of digits right after the stop, for which the rules see a number: "was shown.12 Then".
    pub(super) fn after_reference(text: &str, stop: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let word = bytes[..stop]
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
        let begins = matches!(bytes.get(end..)?, [b' ', b'A'..=b'Z', ..]);
        let is_word = word > 3 && !kind_of(&text[stop - word..stop]).abbreviates();
        (begins && is_word && (1..=3).contains(&digits)).then_some(end + 1)
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

    /// Direct speech with its reporting clause: 「…。」と言った, “……。”他说。, "Stop!" he cried.
    fn speech_goes_on(&self, following: &Following<'_>) -> bool {
        match following.next {
            Next::Letter(c) => {
                let direct = following.end == following.closed;
                let mark = self.text[..following.closed].chars().next_back();
                // A bracket that opened after the sentence began, or a particle: 「…。」と, "…!"라고.
                mark.is_some_and(|mark| self.bracket_opened_inside(mark))
                    || direct
                        && matches!(c, '\u{3041}'..='\u{309f}' | '\u{ac00}'..='\u{d7a3}' | '的' | '和' | '与' | '與')
                    || is_reported(&self.text[following.end..])
            }
            Next::Upper(word, stop) => {
                let mark = self.text[..following.closed].chars().next_back();
                mark.is_some_and(|mark| self.bracket_opened_inside(mark)) && !starts_sentence(word, stop)
            }
            _ => false,
        }
    }
}

impl Candidate<'_> {
    /// Whether a closing bracket belongs to one that opened after the sentence began: "He paid (so much!) Smith."
    fn bracket_opened_inside(&self, close: char) -> bool {
        let open = match close {
            ')' => '(',
            '）' => '（',
            '》' => '《',
            '】' => '【',
            _ => return false,
        };
        let mut from = self.found.terminal.saturating_sub(REACH).max(self.start);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        self.text[from..self.found.terminal]
            .rfind(open)
            .is_some_and(|at| !self.text[self.start..from + at].trim_matches(is_white).is_empty())
    }
}

/// A name that begins with one small letter: "iPhone", "eBay", "pH".
fn is_camel(word: &str) -> bool {
    word.chars().nth(1).is_some_and(char::is_uppercase)
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

fn kind_of_letter(letter: char) -> Kind {
    kind_of(letter.encode_utf8(&mut [0; 4]))
}

/// Digits, with stops between them.
fn is_number(token: &str) -> bool {
    token.contains(char::is_numeric) && token.chars().all(|c| c.is_numeric() || c == '.')
}

fn is_ordinal(token: &str) -> bool {
    token.chars().count() <= 2 && token.chars().all(char::is_numeric)
}

/// Roman numerals, as list markers.
fn is_numeral(token: &str) -> bool {
    token.len() <= 6 && token.bytes().all(|byte| b"IVXLC".contains(&byte))
        || token.len() <= 5 && token.bytes().all(|byte| b"ivx".contains(&byte))
}

/// Letters parted by stops: "U.S", "p.m", "Ph.D", "т.е", "พ.ศ".
fn is_acronym(token: &str) -> bool {
    token.contains('.')
        && token.split('.').all(|part| {
            let letters = part.chars().filter(|c| c.is_alphabetic()).count();
            (1..=2).contains(&letters) && part.chars().all(|c| !c.is_ascii_digit() && c != '_' && c != '@')
        })
}

/// A capitalised short word without vowels is no word: "Hwy", "Blvd", "Sgt".
fn lacks_vowels(token: &str) -> bool {
    let mut bytes = token.bytes();
    (2..=5).contains(&token.len())
        && bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_lowercase())
        && !token.bytes().any(|byte| b"aeiouyAEIOUY".contains(&byte))
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

fn starts_sentence(word: &str, stop: bool) -> bool {
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

/// Whether a reporting clause begins: a verb of saying within a short clause that a comma or full stop ends.
fn is_reported(tail: &str) -> bool {
    let ends = |c: char| {
        matches!(
            c,
            '，' | '。' | '！' | '،' | '.' | ',' | '।' | '؟' | '？' | '：' | ':' | '\n'
        )
    };
    let Some((at, end)) = tail.char_indices().take(40).find(|&(_, c)| ends(c)) else {
        return false;
    };
    let clause = &tail[..at];
    // After a colon speech begins anew.
    !matches!(end, '：' | ':' | '？' | '؟' | '\n') && SAYING.iter().any(|verb| clause.contains(verb))
}

/// Verbs of saying in Chinese, Arabic, Persian, Urdu, Hindi and Thai, as they follow direct speech.
const SAYING: [&str; 40] = [
    "说",
    "道",
    "问",
    "喊",
    "叫",
    "答",
    "想",
    "說",
    "問",
    "嚷",
    "吼",
    "笑着",
    "قال",
    "سأل",
    "صاح",
    "هتف",
    "أجاب",
    "رد ",
    "صرخ",
    "همس",
    "گفت",
    "پرسید",
    "فریاد",
    "جواب",
    "پاسخ",
    "کہا",
    "پوچھا",
    "कहा",
    "पूछा",
    "बोला",
    "बोली",
    "बोले",
    "चिल्ला",
    "ने जवाब",
    "พูด",
    "ถาม",
    "ตอบ",
    "ตะโกน",
    "กล่าว",
    "บอก",
];
