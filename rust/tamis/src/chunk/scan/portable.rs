//! The marks of a block on any machine.

use super::{BLOCK, Marks, Window, Windows};

pub(super) fn fill(windows: Windows<'_>, out: &mut [Marks]) {
    for (n, marks) in out.iter_mut().enumerate() {
        *marks = windows.with(n, marks_of);
    }
}

/// Exactly what the tests define. Without branches and byte by byte, so that the compiler makes
/// vector code of it.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "lazy operators are branches, which keep the compiler from vector code"
)]
#[inline]
fn marks_of(window: &Window) -> Marks {
    let block = &window[1..];
    // 1 for a terminal, 2 for an opening mark.
    let mut flags = [0_u8; BLOCK];
    for (flag, &v) in flags.iter_mut().zip(block) {
        let ends = (v == b'.') | (v == b'!') | (v == b'?') | (v == b'\n') | (v == b'\r');
        *flag = u8::from(ends) | u8::from((v == b'"') | (v == b'(')) << 1;
    }
    if !block.is_ascii() {
        let within = |v: u8, low: u8, high: u8| v.wrapping_sub(low) <= high - low;
        for (flag, (&p, &v)) in flags.iter_mut().zip(window.iter().zip(block)) {
            let two = (p == 0xC2) & (v == 0x85)
                | (p == 0xD6) & (v == 0x89)
                | (p == 0xD8) & within(v, 0x9D, 0x9F)
                | (p == 0xDB) & (v == 0x94)
                | (p == 0xDC) & within(v, 0x80, 0x82)
                | (p == 0xDF) & (v == 0xB9);
            let inner = (p == 0xA5) & within(v, 0xA4, 0xA5)
                | (p == 0x80)
                    & ((v == 0x82)
                        | (v == 0xA4)
                        | (v == 0xA6)
                        | within(v, 0xA8, 0xA9)
                        | within(v, 0xBC, 0xBD))
                | (p == 0x81) & within(v, 0x87, 0x89);
            let lead = (p == 0xEF) & within(v, 0xB8, 0xBD)
                | (p == 0xE0) & (v == 0xA0)
                | (p == 0xE1) & within(v, 0x80, 0xB1)
                | (p == 0xE2) & within(v, 0xB3, 0xB9)
                | (p == 0xEA) & within(v, 0x80, 0xAF)
                | (p == 0xF0) & within(v, 0x80, 0x9E);
            let opens = (p == 0x80) & within(v, 0x8C, 0x9D);
            *flag |= u8::from(two | inner | lead) | u8::from(opens) << 1;
        }
    }
    let (eights, _) = flags.as_chunks::<8>();
    let bits = |plane: u32| {
        eights.iter().rev().fold(0, |marks, eight| {
            // Bytes of 0 or 1 as bits: byte k of the factor brings bit 8·k to bit 56 + k.
            let ones = u64::from_le_bytes(*eight) >> plane & 0x0101_0101_0101_0101;
            marks << 8 | ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    };
    // Most blocks have none.
    if flags == [0; BLOCK] {
        return Marks::default();
    }
    Marks {
        terminals: bits(0),
        openings: bits(1),
    }
}
