//! The promise, simulated: topics with a common difficulty, as in real data. Seeded, fixed counts.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use tamis::{Calibration, Column, Input, Level, Unit};

/// `SplitMix64` and a normal draw from it (the sum of twelve uniforms): enough for a simulation, the same everywhere.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// The relevant scores of a topic of one query: hard topics (high scores) have few of them, the usual case.
    fn topic(&mut self) -> Vec<f64> {
        let difficulty = self.normal();
        let n = if difficulty > 0.5 {
            2
        } else if difficulty > -0.5 {
            8
        } else {
            24
        };
        // ICC 0.5: half of the variance is the topic's.
        (0..n)
            .map(|_| (difficulty + self.normal()) * 0.5_f64.sqrt())
            .collect()
    }
}

/// Mean recall of new topics at the threshold of each calibration draw.
fn recalls(unit: Unit, draws: usize, topics: usize) -> Vec<f64> {
    let mut random = Draws(20_261_130);
    let alpha = Level::parse("alpha", "0.1").unwrap();
    let fresh: Vec<Vec<f64>> = (0..4_000).map(|_| random.topic()).collect();
    (0..draws)
        .map(|_| {
            let calibration: Vec<Vec<f64>> = (0..topics).map(|_| random.topic()).collect();
            let scores: Vec<f64> = calibration.iter().flatten().copied().collect();
            let ids = calibration
                .iter()
                .enumerate()
                .flat_map(|(i, scores)| scores.iter().map(move |_| i.to_string()));
            let input = Input {
                scores: &scores,
                relevant: &vec![true; scores.len()],
                topic: Some(Column::from_ids(ids)),
                ..Input::default()
            };
            let threshold = Calibration::fit(input)
                .unwrap()
                .threshold(&alpha, unit)
                .unwrap()
                .value;
            let kept = |topic: &Vec<f64>| topic.iter().filter(|&&score| score <= threshold).count() as f64;
            fresh
                .iter()
                .map(|topic| kept(topic) / topic.len() as f64)
                .sum::<f64>()
                / fresh.len() as f64
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Three standard errors of the mean over draws, plus that of the 4,000 fresh topics (a recall in [0, 1] at mean 0.9 has
/// at most the variance of a coin, 0.9 · 0.1): the binomial band.
fn band(values: &[f64]) -> f64 {
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    3.0 * (variance / values.len() as f64 + 0.9 * 0.1 / 4_000.0).sqrt()
}

#[test]
fn the_topic_unit_keeps_its_promise_where_the_pooled_one_does_not() {
    for topics in [20, 33, 60] {
        let by_topic = recalls(Unit::Topic, 400, topics);
        assert!(
            mean(&by_topic) >= 0.9 - band(&by_topic),
            "{topics} topics: {}",
            mean(&by_topic)
        );
        // Not by keeping everything: risk control overshoots by at most 2/(K+1) and the spread of a step.
        assert!(mean(&by_topic) <= 0.9 + 2.0 / (topics as f64 + 1.0) + band(&by_topic));
        let pooled = recalls(Unit::Snippet, 400, topics);
        assert!(
            mean(&pooled) < 0.9 - band(&pooled),
            "{topics} topics: {}",
            mean(&pooled)
        );
    }
}

#[test]
fn with_too_few_topics_everything_is_kept() {
    let by_topic = recalls(Unit::Topic, 20, 8);
    assert!(by_topic.iter().all(|&recall| recall == 1.0));
    assert!(recalls(Unit::Topic, 20, 9).iter().any(|&recall| recall < 1.0));
}

#[test]
fn a_betting_promise_fails_no_more_often_than_delta() {
    let mut random = Draws(7);
    let (alpha, delta) = (
        Level::parse("alpha", "0.1").unwrap(),
        Level::parse("delta", "0.1").unwrap(),
    );
    let fresh: Vec<Vec<f64>> = (0..4_000).map(|_| random.topic()).collect();
    let draws = 300;
    let mut failures = 0;
    for seed in 0..draws {
        let calibration: Vec<Vec<f64>> = (0..60).map(|_| random.topic()).collect();
        let scores: Vec<f64> = calibration.iter().flatten().copied().collect();
        let ids = calibration
            .iter()
            .enumerate()
            .flat_map(|(i, scores)| scores.iter().map(move |_| i.to_string()));
        let relevant = vec![true; scores.len()];
        let input = Input {
            scores: &scores,
            relevant: &relevant,
            topic: Some(Column::from_ids(ids)),
            ..Input::default()
        };
        let asked = tamis::Guarantee {
            delta: Some(&delta),
            order: tamis::Order::Seeded(seed),
            ..tamis::Guarantee::recall(&alpha, Unit::Topic)
        };
        let threshold = Calibration::fit(input).unwrap().guarantee(&asked).unwrap();
        let kept = |topic: &Vec<f64>| topic.iter().filter(|&&score| score <= threshold.value).count() as f64;
        let recall = fresh
            .iter()
            .map(|topic| kept(topic) / topic.len() as f64)
            .sum::<f64>()
            / fresh.len() as f64;
        failures += u64::from(recall < 0.9);
    }
    // Binomial(300, 0.1) exceeds 30 + 3·√27 = 45.6 about once in a thousand.
    assert!(failures <= 45, "{failures} of {draws}");
}
