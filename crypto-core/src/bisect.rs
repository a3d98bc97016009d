//! Who is at fault when a batched check fails.
//!
//! A batch multiplies many equations, each raised to its own random 128-bit coefficient, into one.
//! Halving a failing batch costs about `2·k·log₂(n/k)` checks for `k` culprits among `n`, and the
//! same coefficients serve every half: they were drawn after all errors were fixed, so any one of
//! the at most `2n` halves hides an error with probability 2⁻¹²⁸.
//!
//! Elsewhere: what the equations are (`bls`, `wvuf`) and where coefficients come from (`challenge`).
use alloc::collections::BTreeSet;
use core::ops::Range;

/// Positions in `0..len` whose equation fails, by halving. `holds` checks the product of the
/// equations in a range; it is never asked about an empty one.
pub(crate) fn culprits(len: usize, mut holds: impl FnMut(Range<usize>) -> bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    if len > 0 && !holds(0..len) {
        halve(0..len, &mut holds, &mut found);
    }
    found
}

/// `range` is known to fail.
fn halve(
    range: Range<usize>,
    holds: &mut impl FnMut(Range<usize>) -> bool,
    found: &mut BTreeSet<usize>,
) {
    if range.len() <= 1 {
        found.extend(range);
        return;
    }
    let middle = range.start.midpoint(range.end);
    let (left, right) = (range.start..middle, middle..range.end);
    if holds(left.clone()) {
        // The whole is the product of its halves: if the left one is sound, the right one is not.
        halve(right, holds, found);
        return;
    }
    halve(left, holds, found);
    if !holds(right.clone()) {
        halve(right, holds, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_culprits_is_found_exactly() {
        for len in 0..9_usize {
            for faults in 0..1_u32 << len {
                let faulty = |i: &usize| faults >> i & 1 == 1;
                let found = culprits(len, |range| {
                    assert!(!range.is_empty());
                    !range.into_iter().any(|i| faulty(&i))
                });
                assert_eq!(found, (0..len).filter(faulty).collect(), "{len} {faults:b}");
            }
        }
    }

    #[test]
    fn one_culprit_among_many_costs_a_logarithm() {
        let mut checks = 0;
        let found = culprits(1024, |range| {
            checks += 1;
            !range.contains(&777)
        });
        assert_eq!(found, BTreeSet::from([777]));
        assert!(checks <= 21, "{checks} checks");
    }
}
