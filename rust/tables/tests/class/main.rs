//! The core reads its table as Unicode has it: every character.
#![allow(dead_code, reason = "the core's own file, of which one function is asked")]

mod chunk;

use icu_properties::CodePointMapData;
use icu_properties::props::SentenceBreak;

fn name(class: SentenceBreak) -> &'static str {
    match class {
        SentenceBreak::CR => "CR",
        SentenceBreak::LF => "LF",
        SentenceBreak::Sep => "Sep",
        SentenceBreak::Extend => "Extend",
        SentenceBreak::Format => "Format",
        SentenceBreak::Sp => "Sp",
        SentenceBreak::Lower => "Lower",
        SentenceBreak::Upper => "Upper",
        SentenceBreak::OLetter => "OLetter",
        SentenceBreak::Numeric => "Numeric",
        SentenceBreak::ATerm => "ATerm",
        SentenceBreak::SContinue => "SContinue",
        SentenceBreak::STerm => "STerm",
        SentenceBreak::Close => "Close",
        _ => "Other",
    }
}

#[test]
fn every_character_has_its_class() {
    let unicode = CodePointMapData::<SentenceBreak>::new();
    for c in '\0'..=char::MAX {
        assert_eq!(chunk::class_name(c), name(unicode.get(c)), "{c:?}");
    }
}
