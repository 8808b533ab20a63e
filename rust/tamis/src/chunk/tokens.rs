//! What a token before a full stop looks like.

/// Digits, with stops between them.
pub(super) fn is_number(token: &str) -> bool {
    token.chars().all(|c| c == '.' || c.is_numeric()) && token.contains(char::is_numeric)
}

pub(super) fn is_ordinal(token: &str) -> bool {
    token.chars().count() <= 2 && token.chars().all(char::is_numeric)
}

/// Roman numerals, as list markers.
pub(super) fn is_numeral(token: &str) -> bool {
    token.len() <= 6 && token.bytes().all(|byte| b"IVXLC".contains(&byte))
        || token.len() <= 5 && token.bytes().all(|byte| b"ivx".contains(&byte))
}

/// Letters parted by stops: "U.S", "p.m", "Ph.D", "т.е", "พ.ศ".
pub(super) fn is_acronym(token: &str) -> bool {
    token.contains('.')
        && token.split('.').all(|part| {
            let letters = part.chars().filter(|c| c.is_alphabetic()).count();
            (1..=2).contains(&letters) && part.chars().all(|c| !c.is_ascii_digit() && c != '_' && c != '@')
        })
}

/// A capitalised short word without vowels is no word: "Hwy", "Blvd", "Sgt".
pub(super) fn lacks_vowels(token: &str) -> bool {
    let mut bytes = token.bytes();
    (2..=5).contains(&token.len())
        && bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_lowercase())
        && !token.bytes().any(|byte| b"aeiouyAEIOUY".contains(&byte))
}

/// A name that begins with one small letter: "iPhone", "eBay", "pH".
pub(super) fn is_camel(word: &str) -> bool {
    word.chars().nth(1).is_some_and(char::is_uppercase)
}
