//! The score's bits on every body that this processor has.
#![allow(
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    missing_docs,
    reason = "numbers in tests are small, and a test that fails may panic"
)]

use half::f16;
use proptest::prelude::*;
use std::num::NonZeroUsize;
use tamis::{
    Element, Error, Kernel, Rows, Scoring, Threshold, cosine_scores, cosine_scores_into, keep, select,
    select_into, select_many,
};

fn on(kernel: Kernel) -> Scoring {
    Scoring {
        kernel,
        ..Scoring::default()
    }
}

fn scored<T: Element>(kernel: Kernel, query: &[T::Query], rows: Rows<'_, T>) -> tamis::Result<Vec<u32>> {
    let mut scores = vec![0.0; rows.n()];
    cosine_scores_into(query, rows, on(kernel), &mut scores)?;
    Ok(scores.into_iter().map(f32::to_bits).collect())
}

/// The numbers of the golden file's `drawn` cases.
fn states(n: usize, seed: u32) -> impl Iterator<Item = u32> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(next(&seed), next).take(n)
}

fn single(n: usize, seed: u32) -> Vec<f32> {
    states(n, seed)
        .map(|state| ((state >> 8) as f32 - 8_388_608.0) / 8_388_608.0)
        .collect()
}

fn half(n: usize, seed: u32) -> Vec<f16> {
    states(n, seed)
        .map(|state| f16::from_f32(((state >> 20) as f32 - 2048.0) / 2048.0))
        .collect()
}

fn bytes(n: usize, seed: u32) -> Vec<i8> {
    states(n, seed)
        .map(|state| ((state >> 24) as u8).cast_signed())
        .collect()
}

fn widened(vector: &[f16]) -> Vec<f32> {
    vector.iter().map(|value| value.to_f32()).collect()
}

#[derive(serde::Deserialize)]
struct Golden {
    drawn: Vec<Drawn>,
    special: Vec<Special>,
}

#[derive(serde::Deserialize)]
struct Drawn {
    dtype: String,
    d: usize,
    seed: u32,
    score: String,
    unit: Option<String>,
}

#[derive(serde::Deserialize)]
struct Special {
    name: String,
    query: String,
    row: String,
    score: String,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../tests/fixtures/cosine_bits.json")).unwrap()
}

fn bits(text: &str) -> Vec<u32> {
    text.as_bytes()
        .chunks(8)
        .map(|digits| u32::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn drawn_vectors_have_the_bits_of_exact_arithmetic() {
    let cases = golden().drawn;
    assert_eq!(cases.len(), 3 * 72);
    for kernel in Kernel::available() {
        for case in &cases {
            let (d, n) = (case.d, 2 * case.d);
            let at = format!("{} {} {d}", kernel.name(), case.dtype);
            let row = |rows: Rows<'_, f32>, query: &[f32]| {
                assert_eq!(scored(kernel, query, rows).unwrap(), bits(&case.score), "{at}");
                if let Some(unit) = &case.unit {
                    assert_eq!(
                        scored(kernel, query, rows.unit()).unwrap(),
                        bits(unit),
                        "{at} unit"
                    );
                }
            };
            match case.dtype.as_str() {
                "float32" => {
                    let values = single(n, case.seed);
                    row(Rows::contiguous(&values[d..], 1, d).unwrap(), &values[..d]);
                }
                "float16" => {
                    let values = half(n, case.seed);
                    let query = widened(&values[..d]);
                    let rows = Rows::contiguous(&values[d..], 1, d).unwrap();
                    assert_eq!(scored(kernel, &query, rows).unwrap(), bits(&case.score), "{at}");
                    if let Some(unit) = &case.unit {
                        assert_eq!(
                            scored(kernel, &query, rows.unit()).unwrap(),
                            bits(unit),
                            "{at} unit"
                        );
                    }
                    // Exactly widened, the rows are those of single precision.
                    row(Rows::contiguous(&widened(&values[d..]), 1, d).unwrap(), &query);
                }
                _ => {
                    let values = bytes(n, case.seed);
                    let rows = Rows::contiguous(&values[d..], 1, d).unwrap();
                    assert_eq!(
                        scored(kernel, &values[..d], rows).unwrap(),
                        bits(&case.score),
                        "{at}"
                    );
                }
            }
        }
    }
}

#[test]
fn special_vectors_have_the_bits_of_exact_arithmetic() {
    let cases = golden().special;
    assert!(cases.len() > 10);
    for kernel in Kernel::available() {
        for case in &cases {
            let vector = |text| -> Vec<f32> { bits(text).into_iter().map(f32::from_bits).collect() };
            let (query, row) = (vector(&case.query), vector(&case.row));
            let rows = Rows::contiguous(&row, 1, row.len()).unwrap();
            assert_eq!(
                scored(kernel, &query, rows).unwrap(),
                bits(&case.score),
                "{} {}",
                kernel.name(),
                case.name
            );
        }
    }
}

/// Rows inside a buffer of `hostile` values, at every offset from a cache line: same bits, and nothing leaks in.
fn at_every_offset<T: Element>(query: &[T::Query], rows: &[T], d: usize, hostile: T) {
    let n = rows.len() / d;
    let expected = scored::<T>(Kernel::portable(), query, Rows::contiguous(rows, n, d).unwrap()).unwrap();
    for kernel in Kernel::available() {
        for gap in [0, 1, 64] {
            for offset in 0..=64 / size_of::<T>() {
                let stride = d + gap;
                let mut buffer = vec![hostile; offset + n * stride + 64];
                for (i, row) in rows.chunks(d).enumerate() {
                    buffer[offset + i * stride..][..d].copy_from_slice(row);
                }
                let view = Rows::strided(&buffer, offset, n, d, stride.cast_signed()).unwrap();
                assert_eq!(
                    scored(kernel, query, view).unwrap(),
                    expected,
                    "{} d={d} gap={gap} offset={offset}",
                    kernel.name()
                );
            }
        }
    }
}

#[test]
fn neither_alignment_nor_neighbours_matter() {
    for d in [1, 3, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 100, 384] {
        for n in [1, 3, 4, 9] {
            at_every_offset(&single(d, 7), &single(n * d, 8), d, f32::INFINITY);
            at_every_offset(&single(d, 7), &single(n * d, 8), d, f32::NAN);
            at_every_offset(&single(d, 7), &half(n * d, 8), d, f16::INFINITY);
            at_every_offset(&bytes(d, 7), &bytes(n * d, 8), d, 127_i8);
        }
    }
}

#[test]
fn backwards_broadcast_and_single_rows_agree() {
    let (d, n) = (50, 70);
    let (query, matrix) = (single(d, 1), single(n * d, 2));
    for kernel in Kernel::available() {
        let forwards = scored::<f32>(kernel, &query, Rows::contiguous(&matrix, n, d).unwrap()).unwrap();
        let rows = Rows::strided(&matrix, (n - 1) * d, n, d, -50).unwrap();
        let mut backwards = scored(kernel, &query, rows).unwrap();
        backwards.reverse();
        assert_eq!(backwards, forwards);
        let rows = Rows::strided(&matrix, d, 9, d, 0).unwrap();
        assert_eq!(scored(kernel, &query, rows).unwrap(), [forwards[1]; 9]);
        for (row, expected) in matrix.chunks(d).zip(&forwards) {
            let rows = Rows::contiguous(row, 1, d).unwrap();
            assert_eq!(scored::<f32>(kernel, &query, rows).unwrap(), [*expected]);
        }
    }
}

#[test]
fn the_first_row_without_a_cosine_is_named() {
    let (n, d) = (200, 20);
    let query = vec![1.0_f32; d];
    for kernel in Kernel::available() {
        for bad in [0, 1, 63, 64, 130, 199] {
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut matrix = vec![1.0_f32; n * d];
                matrix[199 * d + 19] = f32::NAN;
                matrix[bad * d + 17] = value;
                let found = scored(kernel, &query, Rows::contiguous(&matrix, n, d).unwrap());
                assert!(
                    matches!(found, Err(Error::NonFiniteVector { name: "snippet vector", index, component: 17, .. }) if index == bad),
                    "{found:?}"
                );
                for value in &mut matrix {
                    *value *= 0.2;
                }
                let found = scored(kernel, &query, Rows::contiguous(&matrix, n, d).unwrap().unit());
                assert!(
                    matches!(found, Err(Error::NonFiniteVector { index, component: 17, .. }) if index == bad),
                    "{found:?}"
                );
            }
            let mut matrix = vec![1_i8; n * d];
            matrix[bad * d..][..d].fill(0);
            assert_eq!(
                scored::<i8>(kernel, &vec![1; d], Rows::contiguous(&matrix, n, d).unwrap()),
                Err(Error::ZeroVector {
                    name: "snippet vector",
                    index: bad
                })
            );
        }
        let long = [30.0_f32, 40.0];
        let rows = Rows::contiguous(&long, 1, 2).unwrap();
        assert!(matches!(
            scored(kernel, &[1.0, 1.0], rows.unit()),
            Err(Error::NotUnit { index: 0, .. })
        ));
        assert_eq!(
            scored::<i8>(kernel, &[0; 3], Rows::contiguous(&[1; 3], 1, 3).unwrap()),
            Err(Error::ZeroVector {
                name: "query vector",
                index: 0
            })
        );
        let empty: [f32; 0] = [];
        assert!(scored(kernel, &empty, Rows::contiguous(&empty, 3, 0).unwrap()).is_err());
        assert_eq!(
            scored(kernel, &[1.0], Rows::contiguous(&empty, 0, 1).unwrap()),
            Ok(vec![])
        );
    }
}

#[test]
fn integer_sums_cannot_overflow() {
    let d = <i8 as Element>::MAX_DIMENSION;
    let least = vec![-128_i8; d + 1];
    let opposite = vec![127_i8; d];
    for kernel in Kernel::available() {
        let rows = Rows::contiguous(&least[..d], 1, d).unwrap();
        assert_eq!(scored(kernel, &least[..d], rows).unwrap(), [0.0_f32.to_bits()]);
        assert_eq!(scored(kernel, &opposite, rows).unwrap(), [2.0_f32.to_bits()]);
        assert_eq!(
            scored(kernel, &least, Rows::contiguous(&least, 1, d + 1).unwrap()),
            Err(Error::DimensionTooLarge { limit: d, got: d + 1 })
        );
    }
}

#[test]
fn selecting_is_keeping_the_scores() {
    let d = 24;
    for n in [0, 1, 63, 64, 65, 500] {
        let (query, matrix) = (single(d, 3), single(n * d, 4));
        let rows = Rows::contiguous(&matrix, n, d).unwrap();
        let scores = cosine_scores(&query, rows).unwrap();
        let limits = [0.0, 0.8, 1.0, 1.2, 2.0, f64::INFINITY];
        for limit in limits
            .into_iter()
            .chain(scores.iter().map(|&score| f64::from(score)).take(9))
        {
            let threshold = Threshold::fixed(limit).unwrap();
            let expected = keep(&scores, &threshold).unwrap();
            assert_eq!(
                select(&query, rows, &threshold).unwrap(),
                (expected.clone(), scores.clone())
            );
            for kernel in Kernel::available() {
                let mut kept = vec![usize::MAX; n];
                let n_kept = select_into(&query, rows, &threshold, on(kernel), &mut kept, None).unwrap();
                assert_eq!(kept[..n_kept], expected);
            }
        }
    }
    let threshold = Threshold::fixed(1.0).unwrap();
    let rows = Rows::contiguous(&[1.0_f32; 8], 4, 2).unwrap();
    let short = select_into(
        &[1.0, 1.0],
        rows,
        &threshold,
        Scoring::default(),
        &mut [0; 3],
        None,
    );
    assert_eq!(
        short,
        Err(Error::LengthMismatch {
            name: "kept",
            expected: 4,
            got: 3
        })
    );
}

#[test]
fn a_micro_batch_is_its_queries_one_by_one() {
    let (d, offsets) = (33, [0, 5, 5, 100, 171]);
    let (queries, matrix) = (single(4 * d, 5), single(171 * d, 6));
    let (queries, rows) = (
        Rows::contiguous(&queries, 4, d).unwrap(),
        Rows::contiguous(&matrix, 171, d).unwrap(),
    );
    let threshold = Threshold::fixed(0.95).unwrap();
    let many = select_many(queries, rows, &offsets, &threshold, Scoring::default()).unwrap();
    for q in 0..4 {
        let (start, end) = (offsets[q], offsets[q + 1]);
        let own = Rows::contiguous(&matrix[start * d..end * d], end - start, d).unwrap();
        let (kept, scores) = select(queries.row(q), own, &threshold).unwrap();
        let kept: Vec<usize> = kept.into_iter().map(|index| index + start).collect();
        assert_eq!(many.kept[many.kept_offsets[q]..many.kept_offsets[q + 1]], kept);
        assert_eq!(many.scores[start..end], scores);
    }
    for (offsets, index) in [
        (&[0, 5, 5, 100][..], 4),
        (&[0, 5, 4, 100, 171], 2),
        (&[1, 5, 5, 100, 171], 0),
        (&[0, 5, 5, 100, 170], 4),
        (&[], 0),
    ] {
        assert_eq!(
            select_many(queries, rows, offsets, &threshold, Scoring::default()),
            Err(Error::Offsets { index, n: 171 })
        );
    }
}

/// All rows at once, and a hundred at a time, which stay in a core's own cache.
fn assert_large_is_as_small<T: Element>(query: &[T::Query], rows: Rows<'_, T>, parts: &[Rows<'_, T>]) {
    for kernel in Kernel::available() {
        let scoring = Scoring {
            kernel,
            ..Scoring::default()
        };
        let mut together = vec![0.0; rows.n()];
        cosine_scores_into(query, rows, scoring, &mut together).unwrap();
        let mut apart = vec![0.0; rows.n()];
        let mut from = 0;
        for part in parts {
            cosine_scores_into(query, *part, scoring, &mut apart[from..from + part.n()]).unwrap();
            from += part.n();
        }
        assert_eq!(from, rows.n());
        assert_eq!(together, apart, "{kernel:?} {}", rows.n_bytes());
    }
}

fn parts<T>(matrix: &[T], d: usize) -> Vec<Rows<'_, T>> {
    matrix
        .chunks(100 * d)
        .map(|rows| Rows::contiguous(rows, rows.len() / d, d).unwrap())
        .collect()
}

#[test]
fn where_rows_come_from_changes_no_bit() {
    for (d, n) in [(61, 5_001), (61, 70_003), (384, 11_501)] {
        let query = single(d, 21);
        let mut matrix = single(n * d, 22);
        let rows = Rows::contiguous(&matrix, n, d).unwrap();
        assert!(rows.n_bytes() > 1 << 20);
        assert_large_is_as_small(&query, rows, &parts(&matrix, d));
        // Every other row: not one after the other in memory.
        let strided = Rows::strided(&matrix, 0, n / 2, d, 2 * d.cast_signed()).unwrap();
        let each: Vec<Rows<'_, f32>> = matrix
            .chunks_exact(2 * d)
            .map(|pair| Rows::contiguous(&pair[..d], 1, d).unwrap())
            .collect();
        assert_large_is_as_small(&query, strided, &each);
        for row in matrix.chunks_mut(d) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            for x in row {
                *x /= length;
            }
        }
        let rows = Rows::contiguous(&matrix, n, d).unwrap().unit();
        let unit: Vec<Rows<'_, f32>> = parts(&matrix, d).into_iter().map(Rows::unit).collect();
        assert_large_is_as_small(&query, rows, &unit);
    }
    for (d, n) in [(61, 20_001), (384, 47_001)] {
        let (matrix, query) = (half(n * d, 23), single(d, 21));
        assert_large_is_as_small(
            &query,
            Rows::contiguous(&matrix, n, d).unwrap(),
            &parts(&matrix, d),
        );
        let (matrix, query) = (bytes(n * d, 24), bytes(d, 25));
        assert_large_is_as_small(
            &query,
            Rows::contiguous(&matrix, n, d).unwrap(),
            &parts(&matrix, d),
        );
    }
}

#[test]
fn threads_change_no_bit_and_no_error() {
    let (d, n) = (64, 70_001);
    let (query, mut matrix) = (single(d, 9), single(n * d, 10));
    let threshold = Threshold::fixed(0.9).unwrap();
    let rows = Rows::contiguous(&matrix, n, d).unwrap();
    assert!(rows.n_bytes() > 16 << 20);
    let (kept, scores) = select(&query, rows, &threshold).unwrap();
    assert!(!kept.is_empty() && kept.len() < n);
    for threads in [2, 3, 7] {
        let scoring = Scoring {
            threads: NonZeroUsize::new(threads).unwrap(),
            ..Scoring::default()
        };
        let mut buffers = (vec![0; n], vec![0.0; n]);
        let n_kept = select_into(
            &query,
            rows,
            &threshold,
            scoring,
            &mut buffers.0,
            Some(&mut buffers.1),
        )
        .unwrap();
        assert_eq!(buffers.0[..n_kept], kept);
        assert_eq!(buffers.1, scores);
        cosine_scores_into(&query, rows, scoring, &mut buffers.1).unwrap();
        assert_eq!(buffers.1, scores);
    }
    matrix[40_000 * d] = f32::NAN;
    matrix[69_000 * d] = f32::NAN;
    let scoring = Scoring {
        threads: NonZeroUsize::new(4).unwrap(),
        ..Scoring::default()
    };
    let mut scores = vec![0.0; n];
    let found = cosine_scores_into(
        &query,
        Rows::contiguous(&matrix, n, d).unwrap(),
        scoring,
        &mut scores,
    );
    assert!(
        matches!(found, Err(Error::NonFiniteVector { index: 40_000, .. })),
        "{found:?}"
    );
}

#[test]
fn threads_share_a_micro_batch_and_change_nothing() {
    let (d, n) = (64, 70_001);
    let (queries, matrix) = (single(7 * d, 11), single(n * d, 12));
    let threshold = Threshold::fixed(0.9).unwrap();
    let rows = Rows::contiguous(&matrix, n, d).unwrap();
    let on_threads = |queries: &[f32], offsets: &[usize], threads: usize| {
        let scoring = Scoring {
            threads: NonZeroUsize::new(threads).unwrap(),
            ..Scoring::default()
        };
        let queries = Rows::contiguous(queries, 7, d).unwrap();
        select_many(queries, rows, offsets, &threshold, scoring)
    };
    // 35 001 and 23 334 are where two and three threads divide the rows.
    for offsets in [
        [0, 0, 10, 35_001, 35_001, 35_001, n, n],
        [0, 23_334, 23_334, 23_335, 60_000, 60_001, n, n],
        [0, 0, 0, n, n, n, n, n],
        [0, 0, 0, 0, 0, 0, 0, n],
    ] {
        let alone = on_threads(&queries, &offsets, 1).unwrap();
        assert!(!alone.kept.is_empty() && alone.kept.len() < n);
        for threads in [2, 3, 7] {
            assert_eq!(on_threads(&queries, &offsets, threads).unwrap(), alone);
        }
        for q in 0..7 {
            let mut queries = queries.clone();
            queries[q * d..(q + 1) * d].fill(0.0);
            for threads in [1, 2, 3, 7] {
                let name = "query vector";
                let found = on_threads(&queries, &offsets, threads);
                assert_eq!(
                    found,
                    Err(Error::ZeroVector { name, index: q }),
                    "{threads} {offsets:?}"
                );
            }
        }
    }
    let empty = Rows::contiguous(&matrix[..0], 0, d).unwrap();
    let queries = Rows::contiguous(&queries, 7, d).unwrap();
    let nothing = select_many(queries, empty, &[0; 8], &threshold, Scoring::default()).unwrap();
    assert_eq!((nothing.kept.len(), nothing.kept_offsets), (0, vec![0; 8]));
}

/// Components of every magnitude, zeros of both signs and subnormals among them.
fn component() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1.0_f32..1.0,
        1 => any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |value| value.is_finite()),
        1 => Just(0.0_f32),
        1 => Just(-0.0_f32),
    ]
}

fn same_everywhere<T: Element>(
    query: &[T::Query],
    matrix: &[T],
    n: usize,
    d: usize,
    first: usize,
    stride: usize,
) {
    let rows = Rows::strided(matrix, first, n, d, stride.cast_signed()).unwrap();
    let expected = scored(Kernel::portable(), query, rows).map_err(|error| error.to_string());
    for kernel in Kernel::available() {
        assert_eq!(
            scored(kernel, query, rows).map_err(|error| error.to_string()),
            expected,
            "{}",
            kernel.name()
        );
    }
}

proptest! {
    #[test]
    fn every_body_gives_the_same_bits(
        d in 1_usize..100, n in 0_usize..9, gap in 0_usize..40, first in 0_usize..16,
        pool in prop::collection::vec(component(), 64..1500),
    ) {
        let take = |count: usize, from: usize| (from..from + count).map(|i| pool[i % pool.len()]);
        let stride = d + gap;
        let size = first + n * stride;
        let query: Vec<f32> = take(d, 0).collect();
        let matrix: Vec<f32> = take(size, d).collect();
        same_everywhere(&query, &matrix, n, d, first, stride);
        let halves: Vec<f16> = matrix.iter().map(|&value| f16::from_f32(value.clamp(-65504.0, 65504.0))).collect();
        same_everywhere(&query, &halves, n, d, first, stride);
        let query: Vec<i8> = take(d, 0).map(|value| (value * 128.0) as i8).collect();
        let integers: Vec<i8> = matrix.iter().map(|value| (value * 128.0) as i8).collect();
        same_everywhere(&query, &integers, n, d, first, stride);
    }

    #[test]
    fn the_error_is_bounded(seed: u32, d in 1_usize..1500) {
        let (query, row) = (single(d, seed), single(d, seed ^ 0x5555_5555));
        let wide = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let exact = 1.0 - wide(&query, &row) / (wide(&query, &query) * wide(&row, &row)).sqrt();
        // Each lane sums d/16 terms: error at most (d/16 + 8) half-ulps of 1 for each of dot and norms.
        let bound = (d as f64 / 16.0 + 8.0) * f64::from(f32::EPSILON);
        for kernel in Kernel::available() {
            let score = f32::from_bits(scored(kernel, &query, Rows::contiguous(&row, 1, d).unwrap()).unwrap()[0]);
            prop_assert!((f64::from(score) - exact).abs() <= bound, "{} {score} {exact}", kernel.name());
        }
    }
}
