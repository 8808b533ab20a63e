//! Direct speech and brackets after which the sentence goes on.

use super::closing::Following;
use super::refine::{Candidate, REACH, starts_sentence};
use super::white::is_white;
use super::words::Next;

impl Candidate<'_> {
    /// Direct speech with its reporting clause: 「…。」と言った, “……。”他说。, "Stop!" he cried.
    pub(super) fn speech_goes_on(&self, following: &Following<'_>) -> bool {
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
