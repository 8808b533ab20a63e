//! The `Sentence_Break` property of a character (UAX #29, table 4).

use super::tables::sentence_break::{CLASSES, INDEX};

/// `Sentence_Break`. The order is that of the generated table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Other,
    CR,
    LF,
    Sep,
    Extend,
    Format,
    Sp,
    Lower,
    Upper,
    OLetter,
    Numeric,
    ATerm,
    SContinue,
    STerm,
    Close,
}

const ORDER: [Class; 16] = [
    Class::Other,
    Class::CR,
    Class::LF,
    Class::Sep,
    Class::Extend,
    Class::Format,
    Class::Sp,
    Class::Lower,
    Class::Upper,
    Class::OLetter,
    Class::Numeric,
    Class::ATerm,
    Class::SContinue,
    Class::STerm,
    Class::Close,
    Class::Other,
];

/// The class of a character: two look-ups.
#[inline]
pub(super) fn class(c: char) -> Class {
    let point = c as usize;
    let at = usize::from(INDEX[point >> 7]) << 6 | (point & 127) >> 1;
    let pair = CLASSES[at];
    ORDER[usize::from(if point & 1 == 0 { pair & 15 } else { pair >> 4 })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks() {
        for (c, expected) in [
            ('.', Class::ATerm),
            ('!', Class::STerm),
            ('。', Class::STerm),
            ('।', Class::STerm),
            ('។', Class::STerm),
            ('\u{2028}', Class::Sep),
            ('\r', Class::CR),
            ('a', Class::Lower),
            ('Я', Class::Upper),
            ('猫', Class::OLetter),
            ('٣', Class::Numeric),
            (',', Class::SContinue),
            ('”', Class::Close),
            ('\u{301}', Class::Extend),
            ('\u{10FFFF}', Class::Other),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }
}
