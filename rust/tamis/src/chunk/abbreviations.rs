//! What is known of a word at a full stop.

use super::tables::words::{SLOTS, WORDS};

/// A set of the classes that `rust/tables/data/abbreviations.txt` defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u16);

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
    /// Holds only for the word with a capital.
    pub(super) const CAPITAL: Self = Self(1024);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the word is an abbreviation of any kind.
    pub(super) const fn abbreviates(self) -> bool {
        self.has(Self(1 | 2 | 4 | 8 | 16))
    }
}

/// The kind of a word in lower case, without its last stop. One hash (FNV-1a) and, mostly, one look.
pub(super) fn lookup(word: &str) -> Kind {
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let mut slot = hash as usize % SLOTS.len();
    // At most half of the slots are taken, so an empty one comes soon.
    while let Some(number) = usize::from(SLOTS[slot]).checked_sub(1) {
        let (known, kind) = WORDS[number];
        if known == word {
            return Kind(kind);
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
        for (word, kind) in WORDS {
            assert_eq!(lookup(word), Kind(kind));
        }
        for unknown in ["", "sieve", "evidence", "u", "Dr"] {
            assert_eq!(lookup(unknown), Kind::NONE, "{unknown}");
        }
        assert!(lookup("dr").has(Kind::TITLE) && lookup("u.s").has(Kind::ORDINARY));
    }
}
