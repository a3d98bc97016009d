//! What a peer's bytes can make a decoder allocate. Alone in its program, for it counts every byte.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "suite/wire/codecs.rs"]
mod codecs;

use peak_alloc::PeakAlloc;
use prefinal_crypto_core::wire::Kind;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Above a multiple of the input: an empty map's first node, and the page that Borsh allows a list before it
/// reads its items.
const FIXED: usize = 8192;
/// The same for an encryption key, whose decoder pairs: arkworks prepares the lines of both pairings.
const PAIRINGS: usize = 1 << 17;
/// A decoded point takes four times its compressed bytes (two coordinates, each in two words for one),
/// and a growing list doubles.
const FACTOR: usize = 8;

/// The most bytes in use at once while `decode` runs.
fn peak<T>(decode: impl FnOnce(&[u8]) -> T, bytes: &[u8]) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let verdict = decode(bytes);
    let peak = MEMORY.peak_usage() - before;
    drop(verdict);
    peak
}

#[test]
fn memory_is_bounded_by_the_input() {
    let content = codecs::vector();
    let mut inputs: Vec<(u8, String, Vec<u8>)> = Vec::new();
    inputs.extend(content.cases.into_iter().map(|case| (case.kind, case.what, case.bytes)));
    // Wherever a length could stand, the largest one, and one that needs a megabyte.
    for (kind, what, bytes) in inputs.clone() {
        for at in 2..bytes.len().saturating_sub(3).min(200) {
            for length in [u32::MAX, 1 << 20] {
                let mut huge = bytes.clone();
                huge.splice(at..at + 4, length.to_le_bytes());
                inputs.push((kind, format!("{what}, {length} at byte {at}"), huge));
            }
        }
    }
    let refused = content.refused.into_iter();
    inputs.extend(refused.map(|case| (case.kind, case.why + ": " + &case.reason, case.bytes)));
    for (kind, what, bytes) in &inputs {
        let codec = codecs::codec_of(*kind);
        let fixed = if codec.kind == Kind::ElgamalKey { PAIRINGS } else { FIXED };
        let bound = FACTOR * bytes.len() + fixed;
        let wire = peak(codec.again, bytes);
        assert!(wire <= bound, "{kind:#04x}, {what}: {wire} bytes for {}", bytes.len());
        let body = bytes.get(2..).unwrap_or_default();
        let borsh = peak(codec.borsh, body);
        assert!(borsh <= bound, "Borsh, {kind:#04x}, {what}: {borsh} bytes for {}", body.len());
    }
    // The measure measures: a list that believed its count would show.
    assert!(peak(|_| Vec::<u8>::with_capacity(1 << 20), &[]) >= 1 << 20);
}
