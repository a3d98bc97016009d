//! Sums of few products, whose terms share their doublings (Straus).
//!
//! Digits of factors (`factor`) are read as signed windows (width-5 NAF) over odd multiples. The
//! multiples, and the additions between two doublings, are batches of affine additions (`batch`).
//! `msm` uses the resulting terms for one sum, `sums` for many.
//!
//! The time depends on all inputs, so they must be public.
use alloc::vec::Vec;

use crate::batch::{vartime_add_cells, vartime_add_pairs};
use crate::factor::Factor;
use crate::group::Group;
use crate::points::{Affine, Projective};

/// Width of the signed windows: digits are odd, between −15 and 15.
const WIDTH: u32 = 5;
/// The multiples 1, 3, …, 15.
const MULTIPLES: usize = 1 << (WIDTH - 2);
/// Number of places of all digits of a scalar, with a carry for each digit. All windows end below it.
pub(crate) const PLACES: usize = 264;

/// The terms to add at each place of each sum. A sum is `Σ 2ᵏ·termₖ` over its places.
pub(crate) fn at_places<G: Group>(
    terms: &[(Affine<G>, Factor<G>)],
    ends: &[usize],
) -> Vec<Affine<G>> {
    let points: Vec<Affine<G>> = terms.iter().map(|(point, _)| *point).collect();
    let mut rows = terms.iter().zip(odd_multiples(&points));
    let places = PLACES / G::DIGITS;
    let (mut additions, mut start) = (Vec::new(), 0);
    for (sum, end) in ends.iter().enumerate() {
        for ((_, factor), mut row) in rows.by_ref().take(end.saturating_sub(start)) {
            for digit in factor.digits() {
                additions.extend(windows(*digit).filter_map(|(place, window)| {
                    let multiple = *row.get(usize::from(window.unsigned_abs() / 2))?;
                    Some((sum * places + place, if window < 0 { -multiple } else { multiple }))
                }));
                row.iter_mut().for_each(|point| *point = Affine(G::endomorphism(&point.0)));
            }
        }
        start = *end;
    }
    vartime_add_cells(ends.len() * places, &additions)
}

/// `Σ 2ᵏ·termₖ`
pub(crate) fn horner<G: Group>(terms: &[Affine<G>]) -> Projective<G> {
    let terms = terms.iter().rev().skip_while(|term| term.is_identity());
    terms.fold(Projective::identity(), |sum: Projective<G>, term| {
        let double = sum.double();
        if term.is_identity() { double } else { double + *term }
    })
}

/// `P, 3P, 5P, …` for each point.
fn odd_multiples<G: Group>(points: &[Affine<G>]) -> Vec<[Affine<G>; MULTIPLES]> {
    let mut doubles = points.to_vec();
    vartime_add_pairs(&mut doubles, points);
    let mut rows: Vec<_> = points.iter().map(|point| [*point; MULTIPLES]).collect();
    let mut multiples = points.to_vec();
    for column in 1..MULTIPLES {
        vartime_add_pairs(&mut multiples, &doubles);
        for (row, multiple) in rows.iter_mut().zip(&multiples) {
            row.iter_mut().skip(column).take(1).for_each(|place| *place = *multiple);
        }
    }
    rows
}

/// The odd digits of the non-adjacent form of a number below 2¹²⁸ − 16, with their places.
fn windows(number: u128) -> impl Iterator<Item = (usize, i8)> {
    let (mut rest, mut place) = (number, 0);
    core::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let zeros = rest.trailing_zeros();
        rest >>= zeros;
        place += usize::try_from(zeros).unwrap_or(0);
        let low = i8::try_from(rest % (1 << WIDTH)).unwrap_or(0);
        let window = if low >= 1 << (WIDTH - 1) { low - (1 << WIDTH) } else { low };
        rest = rest.wrapping_sub_signed(window.into());
        Some((place, window))
    })
}
