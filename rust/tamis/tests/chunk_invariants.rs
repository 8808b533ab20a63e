//! What holds for every text: exact spans, nothing lost, never over the limit, no containment.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::num::NonZero;

use proptest::prelude::*;
use tamis::{Chunker, Error, Span, Spans, code_points, holds};
use unicode_segmentation::UnicodeSegmentation;

fn is_white(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Asserts the invariants and gives the spans.
fn checked(text: &str, max_chars: usize, overlap: usize) -> Vec<Span> {
    let spans = Chunker::new(max_chars, overlap).unwrap().chunk(text);
    let spans = spans.as_slice();
    let mut covered = 0;
    for (i, span) in spans.iter().enumerate() {
        let slice = &text[span.start..span.end];
        assert!(slice.chars().count() <= max_chars, "over the limit: {slice:?}");
        assert!(
            slice
                .graphemes(true)
                .next()
                .is_some_and(|g| !g.chars().all(is_white))
                && slice
                    .graphemes(true)
                    .next_back()
                    .is_some_and(|g| !g.chars().all(is_white)),
            "{slice:?}"
        );
        if i > 0 {
            assert!(
                span.start > spans[i - 1].start && span.end > spans[i - 1].end,
                "{spans:?}"
            );
            let shared = spans[i - 1].end.saturating_sub(span.start);
            assert!(text[span.start..span.start + shared].chars().count() <= overlap);
        }
        assert!(
            span.start <= covered || text[covered..span.start].chars().all(is_white),
            "lost: {text:?} {spans:?}"
        );
        covered = span.end;
    }
    assert!(text[covered..].chars().all(is_white), "lost at the end: {text:?}");
    spans.to_vec()
}

/// No boundary lies inside a grapheme cluster, unless that one alone is over the limit.
fn assert_whole_graphemes(text: &str, spans: &[Span], max_chars: usize) {
    let inside: std::collections::HashSet<usize> = text
        .grapheme_indices(true)
        .filter(|(_, cluster)| cluster.chars().count() <= max_chars)
        .flat_map(|(start, cluster)| cluster.char_indices().skip(1).map(move |(at, _)| start + at))
        .collect();
    for span in spans {
        assert!(
            !inside.contains(&span.start) && !inside.contains(&span.end),
            "{span:?} in {text:?}"
        );
    }
}

#[test]
fn text_without_separators_overlaps() {
    let spans = checked(&"abcdefghij".repeat(120), 500, 100);
    assert_eq!(spans.len(), 3);
    assert!(spans.windows(2).all(|pair| pair[1].start == pair[0].end - 100));
}

#[test]
fn whole_sentences_are_shared_where_they_fit() {
    let text = "Fog came at six. Fog left at ten. Fog came back at noon. Fog stayed until dusk.";
    let cut: Vec<&str> = checked(text, 40, 18)
        .iter()
        .map(|span| &text[span.start..span.end])
        .collect();
    assert_eq!(
        cut[..2],
        [
            "Fog came at six. Fog left at ten.",
            "Fog left at ten. Fog came back at noon."
        ]
    );
}

#[test]
fn the_tail_of_a_sentence_starts_at_a_word() {
    let text = "A rather long first sentence stands here. Another one that is as long follows it.";
    let spans = checked(text, 60, 11);
    assert_eq!(
        &text[spans[1].start..spans[1].end],
        "here. Another one that is as long follows it."
    );
}

#[test]
fn hostile_repetition_stays_linear_and_valid() {
    for unit in [
        "a",
        " ",
        "A. ",
        "\u{301}",
        "🇩🇪",
        "\r\n",
        "👩‍👩‍👧‍👦",
        "。",
        "a ",
        "\n\n",
        "\0",
        "\u{feff}",
    ] {
        checked(&unit.repeat(200_000 / unit.len()), 500, 100);
    }
    checked(&format!("a{}b", " ".repeat(300_000)), 500, 100);
}

#[test]
fn flags_and_families_are_never_cut() {
    for unit in ["🇩🇪", "👩‍👩‍👧‍👦", "e\u{301}", "\r\n", "नि"] {
        let text = unit.repeat(300);
        for (max_chars, overlap) in [(50, 10), (50, 49), (7, 6), (7, 1)] {
            assert_whole_graphemes(&text, &checked(&text, max_chars, overlap), max_chars);
        }
    }
}

#[test]
fn an_emoji_that_is_a_sentence_terminal_is_not_cut_from_what_it_is_joined_to() {
    let text = "Wow\u{203c}\u{200d}🚀 Next one.";
    assert_whole_graphemes(text, &checked(text, 8, 2), 8);
}

#[test]
fn a_grapheme_cluster_over_the_limit_is_cut_between_code_points() {
    let text = format!("a{}b", "\u{301}".repeat(1_000));
    let spans = checked(&text, 100, 20);
    assert_eq!(text[spans[0].start..spans[0].end].chars().count(), 100);
}

#[test]
fn a_sentence_over_the_limit_is_cut_at_a_clause_then_at_a_space() {
    let cut = |text: &str, max_chars| -> Vec<String> {
        let spans = checked(text, max_chars, 0);
        spans
            .iter()
            .map(|span| text[span.start..span.end].to_owned())
            .collect()
    };
    assert_eq!(
        cut("the tide went out, the boats lay on the sand and nobody came", 30),
        [
            "the tide went out,",
            "the boats lay on the sand and",
            "nobody came"
        ]
    );
    assert_eq!(
        cut("潮水退去了，船停在沙滩上没有人来", 10),
        ["潮水退去了，", "船停在沙滩上没有人来"]
    );
    assert_eq!(
        cut("سارت السفينة، ثم وقفت عند الميناء", 16),
        ["سارت السفينة،", "ثم وقفت عند", "الميناء"]
    );
}

#[test]
fn limits_that_cannot_move_on_are_refused() {
    for (max_chars, overlap) in [(0, 0), (1, 1), (100, 100), (50, 51)] {
        assert_eq!(
            Chunker::new(max_chars, overlap),
            Err(Error::ChunkLimits { max_chars, overlap })
        );
    }
    assert_eq!(Chunker::new(1, 0).unwrap().chunk("ab").as_slice().len(), 2);
    assert_eq!(
        Chunker::new(usize::MAX, usize::MAX - 1)
            .unwrap()
            .chunk("ab")
            .as_slice()
            .len(),
        1
    );
}

#[test]
fn many_texts_keep_their_positions() {
    let spans = Chunker::new(10, 2)
        .unwrap()
        .chunk_many(&["One. Two.", "", " \n ", "Three."], NonZero::<usize>::MIN);
    let documents: Vec<usize> = spans.as_slice().iter().map(|span| span.document).collect();
    assert_eq!(documents, [0, 3]);
    assert_eq!(spans.of_document(3).len(), 1);
    assert_eq!(
        spans.of_document(1).len() + spans.of_document(2).len() + spans.of_document(9).len(),
        0
    );
}

#[test]
fn spans_put_together_again_are_checked() {
    let texts = ["añb", "c"];
    let spans = Spans::new(&texts, &[(0, 0, 3), (0, 1, 4), (1, 0, 1)]).unwrap();
    assert_eq!(spans.as_slice().len(), 3);
    for wrong in [
        vec![(0, 0, 0)],
        vec![(0, 0, 2)],
        vec![(0, 0, 5)],
        vec![(2, 0, 1)],
        vec![(0, 1, 3), (0, 1, 4)],
        vec![(0, 0, 4), (0, 1, 3)],
        vec![(1, 0, 1), (0, 0, 1)],
    ] {
        assert!(Spans::new(&texts, &wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn labels_out_of_bounds_are_refused_by_index() {
    let spans = checked("añb", 10, 0);
    for wrong in [(0, 4), (2, 2), (3, 1)] {
        let refused = holds("añb", &spans, &[(0, 3), wrong]);
        assert!(
            matches!(refused, Err(Error::SpanOutOfBounds { index: 1, start, end, length: 3, .. }) if (start, end) == wrong)
        );
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a",
        "word ",
        "Sentence one. ",
        "他",
        "。",
        "他们谈了。",
        "\n",
        "\n\n",
        "\r\n",
        "\u{301}",
        "🇩🇪",
        "👩‍👩‍👧‍👦",
        "  ",
        "\t",
        "\0",
        "\u{feff}",
        "\u{200b}",
        "سلام، ",
        "؟ ",
        "Dr. ",
        "3.5 ",
        "\u{1c}",
        "- item\n",
        "; ",
        ", ",
        "\u{2029}",
        "e\u{301}",
        "\u{a0}",
        "\u{85}",
        "\r",
        "\u{203c}",
        "\u{200d}",
        "🚀",
        "\u{600}",
        "क\u{94d}",
        "ᄀ",
        "ᅡ",
        " \u{308}",
        "🇩",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

/// What the refinement of sentence ends decides by, in any order.
fn traps() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        ".", "!", "?", "…", "。", "！", "।", "؟", "\"", "'", "(", ")", "[", "]", "“", "”", "‘", "’", "«",
        "»", "「", "」", "《", "》", "（", "）", " ", "\n", "\r\n", "\u{2028}", "\u{feff}", "\u{301}",
        "\u{200d}", "🇩", "Mr", "Dr.", "U.S.", "e.g.", "etc.", "a", "B", "1", "12", "猫", "ก", "ا", "한",
        "The", "said", "word", "1.", "2.", "a.", "b.", "- ", "**", "x?y=1", "[12]", "¹", "iPhone", "vitamin",
        "Yahoo!", "说", "قال", "と", "N°", "5. 6.", ".12 The",
    ]);
    prop::collection::vec((parts, prop::sample::select(vec!["", "", " "])), 0..60)
        .prop_map(|parts| parts.into_iter().flat_map(|(part, gap)| [part, gap]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn traps_are_cut_like_any_text(text in traps(), max_chars in 1_usize..60, share in 0_usize..100) {
        let spans = checked(&text, max_chars, share * max_chars / 100);
        assert_whole_graphemes(&text, &spans, max_chars);
        let sentences = Chunker::new(9, 0).unwrap().sentences(&[&text]);
        let ink = |text: &str| text.chars().filter(|c| !is_white(*c)).count();
        let held: usize = sentences.as_slice().iter().map(|span| ink(&text[span.start..span.end])).sum();
        prop_assert_eq!(held, ink(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn invariants(text in hostile(), max_chars in 1_usize..60, share in 0_usize..100) {
        let overlap = share * max_chars / 100;
        let spans = checked(&text, max_chars, overlap);
        assert_whole_graphemes(&text, &spans, max_chars);
    }

    #[test]
    fn every_label_is_held(text in hostile(), max_chars in 1_usize..60, share in 0_usize..100, a in 0_usize..400, b in 0_usize..400) {
        let spans = checked(&text, max_chars, share * max_chars / 100);
        let n = text.chars().count();
        prop_assume!(n > 0);
        let (start, end) = ((a % n).min(b % n), (a % n).max(b % n) + 1);
        let blank = text.chars().skip(start).take(end - start).all(is_white);
        let held = holds(&text, &spans, &[(start, end)]).unwrap();
        prop_assert_eq!(held.is_empty(), blank);
    }

    #[test]
    fn offsets_are_code_points(text in hostile()) {
        let spans = checked(&text, 20, 5);
        let starts = code_points(&text, spans.iter().map(|span| span.start));
        let ends = code_points(&text, spans.iter().map(|span| span.end));
        let counted: Vec<_> = starts.iter().copied().zip(ends.iter().copied()).collect();
        let chunker = Chunker::new(20, 5).unwrap();
        let snippets = chunker.chunk(&text);
        prop_assert_eq!(snippets.code_points(), counted);
        let sentences = chunker.sentences(&[&text]);
        let of_sentences: Vec<_> = sentences
            .as_slice()
            .iter()
            .map(|span| (text[..span.start].chars().count(), text[..span.end].chars().count()))
            .collect();
        prop_assert_eq!(sentences.code_points(), of_sentences);
        for ((span, start), end) in spans.iter().zip(starts).zip(ends) {
            let slice: String = text.chars().skip(start).take(end - start).collect();
            prop_assert_eq!(&text[span.start..span.end], slice);
        }
    }
}
