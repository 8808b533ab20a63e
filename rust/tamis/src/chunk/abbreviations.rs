//! What is known of a word at a full stop.

use super::class::{Class, class};
use super::tables::words::{SLOTS, WORDS};

/// A set of the classes that `rust/tables/data/abbreviations.txt` defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    pub(super) const NONE: Self = Self(0);
    /// Stands before a name: never an end.
    pub(super) const TITLE: Self = Self(1);
    /// No end if a number follows.
    pub(super) const NUMBER: Self = Self(2);
    /// An end only before a word that begins sentences.
    pub(super) const ORDINARY: Self = Self(4);
    /// An end before any capital.
    pub(super) const FINAL: Self = Self(8);
    /// No end if a digit follows.
    pub(super) const MONTH: Self = Self(16);
    /// Begins sentences.
    pub(super) const STARTER: Self = Self(32);
    /// Follows an ordinal.
    pub(super) const MONTHNAME: Self = Self(64);
    /// Follows a time.
    pub(super) const WEEKDAY: Self = Self(128);
    /// Has a single letter as its name.
    pub(super) const LETTERED: Self = Self(256);
    /// A name that ends with an exclamation mark.
    pub(super) const BANG: Self = Self(512);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the word is an abbreviation of any kind.
    pub(super) const fn abbreviates(self) -> bool {
        self.has(Self(1 | 2 | 4 | 8 | 16))
    }
}

/// The kind of a word without its last stop, as it is written. One hash (FNV-1a over the word in lower case) and, mostly,
/// one look; most words are told by their length and ends to be none of the table.
pub(super) fn kind_of(word: &str) -> Kind {
    if word.len() > LONGEST {
        return Kind::NONE;
    }
    let Some(first) = word.chars().next() else {
        return Kind::NONE;
    };
    if word.is_ascii() {
        return lookup(word.as_bytes(), first.is_ascii_uppercase());
    }
    // A capital sigma becomes one of two small ones, by its place.
    if word.contains('Σ') {
        return lookup(word.to_lowercase().as_bytes(), first.is_uppercase());
    }
    // A small letter takes at most half as many bytes again.
    let mut small = [0; 2 * LONGEST];
    let mut length = 0;
    let mut push = |c: char| length += c.encode_utf8(&mut small[length..]).len();
    for c in word.chars() {
        if is_capital(c) {
            c.to_lowercase().for_each(&mut push);
        } else {
            push(c);
        }
    }
    lookup(&small[..length], first.is_uppercase())
}

/// Whether a letter has another small one: cheaper than to ask for it. Georgian capitals are of another class, for they
/// begin no sentence.
fn is_capital(c: char) -> bool {
    class(c) == Class::Upper || ('\u{1c90}'..='\u{1cbf}').contains(&c)
}

/// No word of the table is longer, in bytes; tested.
const LONGEST: usize = 40;

/// By the first and the last byte of a word, each by its lowest five bits: the lengths that the table's words have there.
static LENGTHS: [[u64; 32]; 32] = lengths();

const fn lengths() -> [[u64; 32]; 32] {
    let mut out = [[0; 32]; 32];
    let mut i = 0;
    while i < WORDS.len() {
        let word = WORDS[i].0.as_bytes();
        out[(word[0] & 31) as usize][(word[word.len() - 1] & 31) as usize] |= 1 << word.len();
        i += 1;
    }
    out
}

fn lookup(word: &[u8], capital: bool) -> Kind {
    let [first, .., last] =
        [word.first(), word.last()].map(|byte| usize::from(byte.copied().unwrap_or_default() & 31));
    if word.len() > LONGEST || LENGTHS[first][last] >> word.len() & 1 == 0 {
        return Kind::NONE;
    }
    let hash = word.iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    let mut slot = hash as usize % SLOTS.len();
    // At most half of the slots are taken, so an empty one comes soon.
    while let Some(number) = usize::from(SLOTS[slot]).checked_sub(1) {
        let (known, any, capitals) = WORDS[number];
        if known.as_bytes().eq_ignore_ascii_case(word) {
            return Kind(if capital { any | capitals } else { any });
        }
        slot = (slot + 1) % SLOTS.len();
    }
    Kind::NONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capitals_have_another_small_letter() {
        for c in ('\0'..=char::MAX).filter(|&c| !is_capital(c)) {
            assert!(c.to_lowercase().eq([c]), "{c:?}");
        }
        for c in '\0'..=char::MAX {
            let small: usize = c.to_lowercase().map(char::len_utf8).sum();
            assert!(small <= 2 * c.len_utf8(), "{c:?}");
        }
    }

    #[test]
    fn every_word_is_found_and_no_other() {
        assert!(WORDS.len() > 800);
        for (word, any, capitals) in WORDS {
            assert!(word.len() <= LONGEST);
            assert_eq!(lookup(word.as_bytes(), true), Kind(any | capitals));
            assert_eq!(kind_of(word), Kind(any), "{word} is not in lower case");
        }
        for unknown in ["", "sieve", "evidence", "u", "猫"] {
            assert_eq!(kind_of(unknown), Kind::NONE, "{unknown}");
        }
        assert!(kind_of("Dr").has(Kind::TITLE) && kind_of("U.S").has(Kind::ORDINARY));
        assert_eq!(kind_of("МЛРД"), kind_of("млрд"));
        assert!(kind_of("МЛРД").abbreviates());
        assert!(kind_of("Ill").abbreviates() && !kind_of("ill").abbreviates());
    }
}
