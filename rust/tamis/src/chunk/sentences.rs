//! Sentence boundaries: scan, rules of UAX #29, refinement.

use super::class::Class;
use super::enclosed::{self, is_enclosed};
use super::glance::{Glance, glance};
use super::refine::Candidate;
use super::rules::{Verdict, after_separator, after_terminal, at};
use super::scan::{Hits, Openings};
use super::white::{is_boundary, is_white};

/// Names the rules and tables that boundaries are made by: part of a chunker's identity, since another version may cut
/// elsewhere, and so score other snippets.
pub const BOUNDARY_TABLE: &str = "uax29-17.0+2";

/// The ends of the sentences in bytes, ascending; together the sentences tile the text. Linear.
pub(super) struct SentenceEnds<'a> {
    text: &'a str,
    hits: Hits<'a>,
    /// Where the present sentence begins.
    start: usize,
    /// What lies before it has been decided.
    decided: usize,
    /// An end found, and held back while only white space follows: that belongs to the sentence before it.
    pending: Option<usize>,
    done: bool,
    /// Whether nothing is decided at a glance, which must make no difference.
    #[cfg(test)]
    looks_closely: bool,
}

impl<'a> SentenceEnds<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            hits: Hits::new(text),
            start: 0,
            decided: 0,
            pending: None,
            done: false,
            #[cfg(test)]
            looks_closely: false,
        }
    }

    /// The next end by the rules and the refinement, white sentences included.
    fn next_end(&mut self) -> Option<usize> {
        while let Some(hit) = self.hits.next() {
            if hit < self.decided {
                continue;
            }
            let seen = glance(self.text, self.start, hit);
            #[cfg(test)]
            let seen = if self.looks_closely { Glance::Unclear } else { seen };
            match seen {
                Glance::None => continue,
                Glance::End(end) if self.goes_on(hit, end) => continue,
                Glance::End(end) | Glance::Line(end) => return Some(self.begin(end)),
                Glance::Unclear => {}
            }
            let position = character(self.text, hit);
            if position < self.decided {
                continue;
            }
            let Some((c, kind)) = at(self.text, position) else {
                continue;
            };
            self.decided = position + c.len_utf8();
            let end = match kind {
                Class::CR | Class::LF | Class::Sep => {
                    let end = after_separator(self.text, position, c);
                    self.decided = end;
                    Some(end)
                }
                Class::ATerm | Class::STerm => self.after(position, c, kind),
                _ => None,
            };
            // "‼" and "⁉" are emoji too: joined to another one, they end no sentence, for a grapheme cluster stays whole.
            if let Some(end) = end
                && end < self.text.len()
                && is_boundary(self.text, end)
            {
                return Some(self.begin(end));
            }
        }
        None
    }

    /// Whether a terminal that seems to end the sentence stands in a quotation or bracket, and the sentence goes on after.
    fn goes_on(&self, hit: usize, end: usize) -> bool {
        let terminal = character(self.text, hit);
        is_enclosed(self.text, self.openings(terminal), terminal, end)
    }

    fn openings(&self, terminal: usize) -> Openings<'_> {
        self.hits
            .openings_since(self.start.max(terminal.saturating_sub(enclosed::REACH)))
    }

    /// A sentence begins here.
    fn begin(&mut self, at: usize) -> usize {
        self.start = at;
        // A reference mark that belongs to the sentence before may hold a stop: "so.[12][.]"
        self.decided = self.decided.max(at);
        at
    }

    fn after(&self, position: usize, c: char, kind: Class) -> Option<usize> {
        let (found, lower) = match after_terminal(self.text, position, c, kind) {
            Verdict::Break(found) => (found, false),
            Verdict::Lower(found) => (found, true),
            Verdict::None if c == '.' => return Candidate::after_word(self.text, position),
            Verdict::None => return None,
        };
        Candidate {
            openings: self.openings(position),
            text: self.text,
            start: self.start,
            terminal: c,
            kind,
            found,
            lower,
        }
        .end()
    }
}

/// Where the character begins that a byte belongs to.
fn character(text: &str, mut byte: usize) -> usize {
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

impl Iterator for SentenceEnds<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while !self.done {
            let from = self.start;
            let end = self.next_end().unwrap_or_else(|| {
                self.done = true;
                self.text.len()
            });
            let white = self.text[from..end].chars().all(is_white);
            if self.done && from == end {
                break;
            }
            if white && self.pending.is_some() {
                self.pending = Some(end);
            } else if let Some(held) = self.pending.replace(end) {
                return Some(held);
            }
        }
        self.pending.take()
    }
}

/// The ends by the rules of UAX #29 alone, for comparison with other implementations.
#[cfg(test)]
fn rule_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut decided = 0;
    for hit in Hits::new(text) {
        let position = character(text, hit);
        let Some((c, kind)) = at(text, position) else {
            continue;
        };
        if position < decided {
            continue;
        }
        decided = position + c.len_utf8();
        let end = match kind {
            Class::CR | Class::LF | Class::Sep => {
                decided = after_separator(text, position, c);
                Some(decided)
            }
            Class::ATerm | Class::STerm => match after_terminal(text, position, c, kind) {
                Verdict::Break(found) => Some(found.end),
                _ => None,
            },
            _ => None,
        };
        ends.extend(end.filter(|&end| end < text.len()));
    }
    if !text.is_empty() {
        ends.push(text.len());
    }
    ends
}

#[cfg(test)]
mod tests {
    use icu_segmenter::SentenceSegmenter;
    use icu_segmenter::options::SentenceBreakInvariantOptions;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::super::class::class;
    use super::super::newline::is_soft;
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut start = 0;
        let ends: Vec<usize> = SentenceEnds::new(text).collect();
        assert_eq!(ends.last().copied().unwrap_or(0), text.len());
        ends.into_iter()
            .map(|end| text[std::mem::replace(&mut start, end)..end].trim_matches(is_white))
            .collect()
    }

    /// The text with each soft newline replaced by spaces.
    fn softened(text: &str) -> String {
        let mut out = text.as_bytes().to_vec();
        for (at, c) in text.char_indices() {
            let pair = at > 0 && c == '\n' && text.as_bytes()[at - 1] == b'\r';
            if matches!(c, '\n' | '\r') && is_soft(text, if pair { at - 1 } else { at }) {
                out[at] = b' ';
            }
        }
        String::from_utf8(out).unwrap()
    }

    fn assert_rules(text: &str) {
        let soft = softened(text);
        let icu: Vec<usize> = SentenceSegmenter::new(SentenceBreakInvariantOptions::default())
            .segment_str(&soft)
            .filter(|&end| end > 0)
            .collect();
        assert_eq!(rule_ends(text), icu, "{text:?}");
        let ours: Vec<usize> = soft
            .split_sentence_bound_indices()
            .map(|(start, sentence)| start + sentence.len())
            .collect();
        assert_eq!(rule_ends(text), ours, "{text:?}");
    }

    /// One character of each class.
    const CLASSES: [char; 15] = [
        '&', '\r', '\n', '\u{2028}', '\u{301}', '\u{ad}', ' ', 'a', 'A', '猫', '1', '.', ',', '!', '"',
    ];

    #[test]
    fn the_rules_are_those_of_uax_29_on_all_short_strings() {
        let mut seen = std::collections::HashSet::new();
        for c in CLASSES {
            seen.insert(format!("{:?}", class(c)));
        }
        assert_eq!(seen.len(), 15);
        let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
        let mut text = String::new();
        for length in 1..=LENGTH {
            for mut number in 0..15_usize.pow(length) {
                text.clear();
                for _ in 0..length {
                    text.push(CLASSES[number % 15]);
                    number /= 15;
                }
                let soft = softened(&text);
                let icu = segmenter.segment_str(&soft).filter(|&end| end > 0);
                assert!(icu.eq(rule_ends(&text)), "{text:?}: {:?}", rule_ends(&text));
            }
        }
    }

    /// 12 million strings.
    const LENGTH: u32 = 6;

    proptest! {
        #[test]
        fn the_rules_are_those_of_uax_29_on_any_text(text in "\\PC{0,40}") {
            assert_rules(&text);
        }

        #[test]
        fn the_rules_are_those_of_uax_29_on_terminals(parts in prop::collection::vec(prop_oneof![
            prop::sample::select(CLASSES.to_vec()).prop_map(String::from),
            prop::sample::select(vec!["\r\n", "\n\n", "\n- ", "…", "。", "？", "।", "։", "؟", "”", "“", "\u{200d}", "B.", "c.", "3."])
                .prop_map(String::from),
            any::<char>().prop_map(String::from),
        ], 0..40)) {
            assert_rules(&parts.concat());
        }
    }

    fn assert_glances(text: &str) {
        let mut closely = SentenceEnds::new(text);
        closely.looks_closely = true;
        assert_eq!(
            SentenceEnds::new(text).collect::<Vec<_>>(),
            closely.collect::<Vec<_>>(),
            "{text:?}"
        );
    }

    /// Before a terminal, the terminal, a gap, and what follows: all that the glance tells apart.
    const PARTS: [&[&str]; 4] = [
        &[
            "word",
            "Word",
            "IV",
            "I",
            "a",
            "12",
            "2020",
            "Dr",
            "U.S",
            "etc",
            "pH",
            "Yahoo",
            ")",
            "]",
            "\"",
            "”",
            "」",
            "слово",
            "млн",
            "А",
            "كلمة",
            "é",
            "猫",
            " ",
            "",
        ],
        &[".", "!", "?", "。", "！", "？", "．", "，", "...", "\n"],
        &[
            " ", "", "\n", "\n\n", " \n", "\n ", "\r\n", "12", "3", "\"", "” ", " “", " (", ") ", "[",
        ],
        &[
            "A",
            "Then ",
            "The word ",
            "a ",
            "and ",
            "iv) ",
            "iPhone ",
            "7 ",
            "Он ",
            "он ",
            "ثم",
            "猫",
            "の",
            "- ",
            "=",
            ",",
            "\u{301}",
            "",
        ],
    ];

    fn parts() -> impl Strategy<Value = String> {
        PARTS
            .map(|part| prop::sample::select(part.to_vec()))
            .prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50_000))]

        #[test]
        fn a_glance_decides_nothing_else(parts in prop::collection::vec(parts(), 1..8)) {
            assert_glances(&parts.concat());
            assert_glances(&parts.join(" "));
        }
    }

    #[test]
    fn newlines_inside_a_paragraph_are_soft() {
        assert_eq!(
            sentences("One line\nand its rest. Two.\r\nThree."),
            ["One line\nand its rest.", "Two.", "Three."]
        );
        assert_eq!(
            sentences("Title\n\nBody here\n \nEnd"),
            ["Title", "Body here", "End"]
        );
        assert_eq!(
            sentences("Things:\n- one\n- two\n2. three\n# Head\nbody"),
            ["Things:", "- one", "- two", "2. three", "# Head\nbody"]
        );
        assert_eq!(
            sentences("They met the Dr.\n\nMore."),
            ["They met the Dr.", "More."]
        );
        assert_eq!(sentences(""), [""; 0]);
        assert_eq!(sentences("  \n\n A."), ["", "A."]);
    }

    #[test]
    fn the_table_names_the_version_it_has() {
        let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
        assert_eq!(BOUNDARY_TABLE, format!("uax29-{major}.{minor}+2"));
    }
}
