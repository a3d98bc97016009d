//! Checks shares of one point against their keys, with one equation.
//!
//! `f` is shared, `g^f(j)` are the keys, `B` is any point, and party `i` gave `Dⱼ` for its indices:
//!
//! ```text
//! e(∏ⱼ Dⱼ^τⱼ, g) = e(B, ∏ⱼ (g^f(j))^τⱼ)      if all Dⱼ = B^f(j), τⱼ of 128 bits from a transcript
//! ```
//!
//! For threshold signatures `B` is the message's hash, for decryption it is the ciphertext's `U`.
//! `bisect` finds the culprits.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use crate::access::Party;
use crate::bisect::{self, Weight};
use crate::bls::{KeyPoint, SignaturePoint, Variant};
use crate::challenge::Transcript;
use crate::curve::Affine;
use crate::curve::hazmat::{Gt, pairing_product, vartime_msm_bytes};

/// The shares that one party gave, with their keys. There are as many shares as keys.
pub(crate) struct PartyShares<'a, V: Variant> {
    pub(crate) party: Party,
    pub(crate) shares: &'a [SignaturePoint<V>],
    pub(crate) keys: &'a [KeyPoint<V>],
}

/// The equations of some parties, with a coefficient for each share.
pub(crate) struct Equations<V: Variant> {
    base: SignaturePoint<V>,
    parties: Vec<Party>,
    /// For each party, the position at which its shares end in the lists below.
    ends: Vec<usize>,
    shares: Vec<SignaturePoint<V>>,
    keys: Vec<KeyPoint<V>>,
    coefficients: Vec<u128>,
}

impl<V: Variant> Equations<V> {
    /// Collects the equations. The transcript must already contain purpose, committee and `base`.
    pub(crate) fn new<'a>(
        mut transcript: Transcript,
        base: SignaturePoint<V>,
        given: impl IntoIterator<Item = PartyShares<'a, V>>,
    ) -> Self {
        let (mut parties, mut ends) = (Vec::new(), Vec::new());
        let (mut shares, mut keys) = (Vec::new(), Vec::new());
        for one in given {
            transcript.append_u64(b"party", one.party.get().into());
            transcript.append_points(b"partial", one.shares);
            shares.extend_from_slice(one.shares);
            keys.extend_from_slice(one.keys);
            parties.push(one.party);
            ends.push(shares.len());
        }
        let coefficients = match shares.len() {
            // With one share or none, no coefficients are needed.
            0 | 1 => alloc::vec![1; shares.len()],
            count => transcript.coefficients_128(b"coefficients", count),
        };
        Self { base, parties, ends, shares, keys, coefficients }
    }

    /// The coefficients of the linear combination.
    #[cfg(test)]
    pub(crate) fn coefficients(&self) -> &[u128] {
        &self.coefficients
    }

    pub(crate) fn hold(&self) -> bool {
        self.parties.is_empty() || self.product(0..self.parties.len(), Weight::One) == Gt::one()
    }

    /// The parties whose equation does not hold.
    pub(crate) fn culprits(&self) -> BTreeSet<Party> {
        let found = bisect::locate(self.parties.len(), |range, weight| self.product(range, weight));
        found.into_iter().filter_map(|at| self.parties.get(at).copied()).collect()
    }

    /// `e(∏ⱼ Dⱼ^cⱼ, g)·e(B, ∏ⱼ (g^f(j))^−cⱼ)` over the shares of some parties, with `cⱼ = τⱼ` or `τⱼ`
    /// times the place of the party.
    fn product(&self, parties: Range<usize>, weight: Weight) -> Gt {
        let end = |parties: usize| {
            parties.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
        };
        let range = end(parties.start)..end(parties.end);
        let shares = self.shares.get(range.clone()).unwrap_or_default();
        let keys = self.keys.get(range).unwrap_or_default();
        let (share, key) = match (shares, keys, self.coefficients.as_slice()) {
            ([share], [key], [1]) => (*share, *key),
            _ => {
                let scalars: Vec<_> =
                    parties.flat_map(|place| self.weighted(place, weight)).collect();
                let share = vartime_msm_bytes(shares, &scalars);
                (share.to_affine(), vartime_msm_bytes(keys, &scalars).to_affine())
            }
        };
        pairing_product(&[V::pair(share, Affine::generator()), V::pair(-self.base, key)])
    }

    /// The coefficients of one party's shares.
    fn weighted(&self, place: usize, weight: Weight) -> impl Iterator<Item = [u8; 24]> {
        let start = place.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        let end = self.ends.get(place).copied().unwrap_or(start);
        let own = self.coefficients.get(start..end).unwrap_or_default();
        own.iter().map(move |coefficient| weight.apply(*coefficient, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bls::MinSig;
    use crate::curve::{G1Affine, G2Affine, Scalar};

    const TAG: &[u8] = b"equations test";

    fn mixed(shares: &[(u32, [G1Affine; 2])]) -> Equations<MinSig> {
        let keys = [2, 3].map(|key| (G2Affine::generator() * Scalar::from_u64(key)).to_affine());
        let given = shares.iter().map(|(party, shares)| PartyShares {
            party: Party::new(*party),
            shares,
            keys: &keys,
        });
        Equations::new(Transcript::new(TAG), Affine::generator(), given)
    }

    fn honest() -> [G1Affine; 2] {
        [2, 3].map(|key| (G1Affine::generator() * Scalar::from_u64(key)).to_affine())
    }

    fn wide(coefficient: u128) -> Scalar {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&coefficient.to_be_bytes());
        Scalar::from_bytes(&bytes).unwrap()
    }

    /// An attacker that knows the coefficients beforehand makes errors that cancel under them.
    #[test]
    fn errors_that_cancel_under_the_coefficients_of_the_honest_shares_are_noticed() {
        let good = mixed(&[(0, honest())]);
        assert!(good.hold());
        let mut moved = honest();
        let known: Vec<Scalar> = good.coefficients().iter().copied().map(wide).collect();
        for (share, by) in moved.iter_mut().zip([known[1], -known[0]]) {
            *share = (G1Affine::generator() * by + *share).to_affine();
        }
        let moved = mixed(&[(0, moved)]);
        assert!(!moved.hold());
        assert_eq!(moved.culprits(), BTreeSet::from([Party::new(0)]));
    }

    #[test]
    fn coefficients_say_whose_shares_they_are() {
        let own = mixed(&[(0, honest()), (1, honest())]);
        let others = mixed(&[(0, honest()), (2, honest())]);
        assert_ne!(own.coefficients(), others.coefficients());
    }
}
