//! A level in (0, 1) read as the decimal its user wrote: exact integers p/q, never a binary float.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;
use num_integer::Integer;

use crate::{Error, Result};

/// Longest text that is read; a level of more characters is a mistake, not a precision.
const MAX_TEXT: usize = 1_100;
/// Largest decimal exponent that is read: `5e-324` is the smallest double.
const MAX_EXPONENT: i64 = 400;

/// An exact rational strictly between 0 and 1: alpha (miscoverage) or delta.
///
/// Doubles cannot hold most decimals, and a rank computed from them is wrong in about one case in a thousand
/// (`n = 49, alpha = 0.42`). So a level is two integers, and everything made from it is integer arithmetic.
#[derive(Clone, PartialEq, Eq)]
pub struct Level {
    numerator: BigUint,
    denominator: BigUint,
    /// As written, for messages and files.
    text: String,
}

impl Level {
    /// Reads `"0.1"`, `".1"`, `"1e-1"` or `"1/10"`; `name` is the argument's name in messages.
    ///
    /// # Errors
    ///
    /// [`Error::LevelSyntax`] for anything else, [`Error::LevelRange`] unless strictly between 0 and 1.
    pub fn parse(name: &'static str, text: &str) -> Result<Self> {
        let bad = || Error::LevelSyntax {
            name,
            text: text.chars().take(40).collect(),
        };
        if text.len() > MAX_TEXT {
            return Err(bad());
        }
        let (negative, body) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (numerator, denominator) = match (short_decimal(body), body.split_once('/')) {
            (Some((p, q)), _) => (p.into(), q.into()),
            (None, Some((p, q))) => (integer(p).ok_or_else(bad)?, integer(q).ok_or_else(bad)?),
            (None, None) => decimal(body).ok_or_else(bad)?,
        };
        let zero = BigUint::ZERO;
        if denominator == zero {
            return Err(bad());
        }
        if negative || numerator == zero || numerator >= denominator {
            return Err(Error::LevelRange {
                name,
                text: text.chars().take(40).collect(),
            });
        }
        let (numerator, denominator) = reduced(numerator, denominator);
        Ok(Self {
            numerator,
            denominator,
            text: text.to_owned(),
        })
    }

    /// One minus this level: alpha from a coverage.
    #[must_use]
    pub fn complement(&self) -> Self {
        let numerator = &self.denominator - &self.numerator;
        let text = format!("{numerator}/{}", self.denominator);
        Self {
            numerator,
            denominator: self.denominator.clone(),
            text,
        }
    }

    /// p of p/q in lowest terms.
    pub fn numerator(&self) -> &BigUint {
        &self.numerator
    }

    /// q of p/q in lowest terms.
    pub fn denominator(&self) -> &BigUint {
        &self.denominator
    }

    /// The level as its user wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The nearest double, for words and plots only: no decision is taken on it.
    pub fn to_f64(&self) -> f64 {
        let parse = |n: &BigUint| n.to_string().parse::<f64>().unwrap_or(f64::NAN);
        self.text
            .parse()
            .unwrap_or_else(|_| parse(&self.numerator) / parse(&self.denominator))
    }

    /// p and q where machine words hold them: arithmetic of big integers costs as much as selecting among a thousand.
    pub(crate) fn words(&self) -> Option<(u64, u64)> {
        Some((
            (&self.numerator).try_into().ok()?,
            (&self.denominator).try_into().ok()?,
        ))
    }

    /// ⌊x · p/q⌋, exactly.
    pub(crate) fn floor_mul(&self, x: &BigUint) -> BigUint {
        x * &self.numerator / &self.denominator
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Level({})", self.text)
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse("alpha", text)
    }
}

fn reduced(p: BigUint, q: BigUint) -> (BigUint, BigUint) {
    if let (Ok(p), Ok(q)) = (u64::try_from(&p), u64::try_from(&q)) {
        let divisor = p.gcd(&q);
        return ((p / divisor).into(), (q / divisor).into());
    }
    let divisor = p.gcd(&q);
    (p / &divisor, q / divisor)
}

/// `0.1` as (1, 10), when it has at most 18 digits and no exponent: what nearly every level is.
fn short_decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.')?;
    let n_digits = whole.len() + fraction.len();
    if n_digits == 0 || n_digits > 18 {
        return None;
    }
    let mut p = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        p = p * 10 + u64::from(digit - b'0');
    }
    Some((p, 10_u64.pow(u32::try_from(fraction.len()).ok()?)))
}

fn integer(digits: &str) -> Option<BigUint> {
    let ok = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    ok.then(|| digits.parse().ok()).flatten()
}

/// `12.5e-3` as (125, 10000).
fn decimal(text: &str) -> Option<(BigUint, BigUint)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => {
            let tail = &text[at + 1..];
            let digits = tail.strip_prefix(['+', '-']).unwrap_or(tail);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            (
                &text[..at],
                tail.parse::<i64>().ok().filter(|e| e.abs() <= MAX_EXPONENT)?,
            )
        }
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let numerator = integer(&digits)?;
    let shift = exponent - i64::try_from(fraction.len()).ok()?;
    let power = BigUint::from(10_u32).pow(u32::try_from(shift.unsigned_abs()).ok()?);
    Some(if shift < 0 {
        (numerator, power)
    } else {
        (numerator * power, BigUint::from(1_u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_decimal_is_the_same_level() {
        for text in [
            "0.1",
            ".1",
            "1e-1",
            "1E-1",
            "+0.10",
            "10e-2",
            "1/10",
            "0.1000000000",
        ] {
            let level = Level::parse("alpha", text).unwrap();
            assert_eq!(
                (level.numerator.to_string(), level.denominator.to_string()),
                ("1".into(), "10".into()),
                "{text}"
            );
            assert!((level.to_f64() - 0.1).abs() < 1e-17);
        }
        assert_eq!(
            Level::parse("alpha", "5e-324").unwrap().denominator.bits(),
            1075 - 1
        );
    }

    #[test]
    fn what_is_no_level_is_refused_by_name() {
        for text in [
            "",
            ".",
            "e1",
            "0.1.2",
            "1e",
            "1/0",
            "0x1p-2",
            "nan",
            "inf",
            "1e-99999999999",
            "٠.١",
            " 0.1",
            "0.1 ",
            "1/-2",
            "--0.1",
        ] {
            assert!(
                matches!(
                    Level::parse("alpha", text),
                    Err(Error::LevelSyntax { name: "alpha", .. })
                ),
                "{text}"
            );
        }
        for text in ["0", "1", "-0.1", "1.5", "0.0", "3/2", "0/7", "1e0"] {
            assert!(
                matches!(
                    Level::parse("delta", text),
                    Err(Error::LevelRange { name: "delta", .. })
                ),
                "{text}"
            );
        }
    }
}
