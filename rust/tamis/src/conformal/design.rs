//! What dependence costs: the design effect of the miss rate between topics.

use num_bigint::BigInt;

use super::calibration::Calibration;
use crate::Result;

/// Spread of the pooled miss rate at a threshold when topics, not snippets, are the independent draws (THEORY: Kish 1965).
#[derive(Debug, Clone, PartialEq)]
pub struct DesignEffect {
    /// Relevant snippets.
    pub n: u64,
    /// Topics with at least one.
    pub n_units: u64,
    /// Share of relevant snippets above the threshold.
    pub miss_rate: f64,
    /// K/(K−1) Σ (x − p·n)² / n², the between-topic variance of the miss rate; `None` for fewer than two topics.
    pub variance: Option<f64>,
    /// Variance over that of n independent snippets; `None` also when the miss rate is 0 or 1.
    pub design_effect: Option<f64>,
    /// n / design effect; `None` also when the design effect is 0.
    pub effective_n: Option<f64>,
}

impl Calibration {
    /// The design effect at a threshold, each number the double nearest to the exact rational. O(n).
    ///
    /// # Errors
    ///
    /// [`crate::Error::MissingField`] without topics.
    pub fn design_effect(&self, threshold: f64) -> Result<DesignEffect> {
        let topics = self.topic_of_query()?;
        let query = self.positives.query.as_deref().unwrap_or(&[]);
        let mut counts: std::collections::BTreeMap<u32, (u64, u64)> = std::collections::BTreeMap::new();
        for (&code, &score) in query.iter().zip(&self.positives.score) {
            let topic = counts.entry(topics[code as usize]).or_default();
            topic.0 += u64::from(score > threshold);
            topic.1 += 1;
        }
        let n = query.len() as u64;
        let missed: u64 = counts.values().map(|topic| topic.0).sum();
        let k = counts.len() as u64;
        // Σ (x − p·n_k)² with p = missed/n: over n².
        let squares: BigInt = counts
            .values()
            .map(|&(x, m)| (BigInt::from(x) * n - BigInt::from(missed) * m).pow(2))
            .sum();
        let variance = (
            BigInt::from(k) * &squares,
            BigInt::from(k.saturating_sub(1)) * BigInt::from(n).pow(4),
        );
        let binomial = (BigInt::from(missed) * (n - missed), BigInt::from(n).pow(3));
        let effect = (&variance.0 * &binomial.1, &variance.1 * &binomial.0);
        Ok(DesignEffect {
            n,
            n_units: k,
            miss_rate: missed as f64 / n as f64,
            variance: ratio(&variance.0, &variance.1),
            design_effect: ratio(&effect.0, &effect.1),
            effective_n: ratio(&(&effect.1 * n), &effect.0).filter(|_| effect.1 != BigInt::ZERO),
        })
    }
}

/// The double nearest to numerator/denominator; `None` when the denominator is 0.
fn ratio(numerator: &BigInt, denominator: &BigInt) -> Option<f64> {
    if *denominator == BigInt::ZERO {
        return None;
    }
    if *numerator == BigInt::ZERO {
        return Some(0.0);
    }
    // Scale the quotient to 66 bits: 53 for the double, the rest and a sticky bit for correct rounding.
    let shift = 66 - (i64::try_from(numerator.bits()).ok()? - i64::try_from(denominator.bits()).ok()?);
    let (a, b) = if shift >= 0 {
        (numerator << shift, denominator.clone())
    } else {
        (numerator.clone(), denominator << -shift)
    };
    let (mut quotient, rest) = (&a / &b, &a % &b);
    if rest != BigInt::ZERO {
        quotient |= BigInt::from(1);
    }
    let mantissa: u128 = quotient.try_into().ok()?;
    // Correctly rounded by the cast (the sticky bit breaks false ties); the power of two is exact in range.
    Some(mantissa as f64 * 2_f64.powi(i32::try_from(-shift).ok()?))
}
