//! What is known of a word at a full stop.

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
/// one look; only a word beyond ASCII is copied.
pub(super) fn kind_of(word: &str) -> Kind {
    if word.len() > LONGEST {
        return Kind::NONE;
    }
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    if word.is_ascii() {
        lookup(word, capital)
    } else {
        lookup(&word.to_lowercase(), capital)
    }
}

/// No word of the table is longer, in bytes; tested.
const LONGEST: usize = 40;

fn lookup(word: &str, capital: bool) -> Kind {
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    let mut slot = hash as usize % SLOTS.len();
    // At most half of the slots are taken, so an empty one comes soon.
    while let Some(number) = usize::from(SLOTS[slot]).checked_sub(1) {
        let (known, any, capitals) = WORDS[number];
        if known.eq_ignore_ascii_case(word) {
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
    fn every_word_is_found_and_no_other() {
        assert!(WORDS.len() > 800);
        for (word, any, capitals) in WORDS {
            assert!(word.len() <= LONGEST);
            assert_eq!(lookup(word, true), Kind(any | capitals));
            assert_eq!(kind_of(word), Kind(any), "{word} is not in lower case");
        }
        for unknown in ["", "sieve", "evidence", "u", "猫"] {
            assert_eq!(kind_of(unknown), Kind::NONE, "{unknown}");
        }
        assert!(kind_of("Dr").has(Kind::TITLE) && kind_of("U.S").has(Kind::ORDINARY));
        assert!(kind_of("Ill").abbreviates() && !kind_of("ill").abbreviates());
    }
}
