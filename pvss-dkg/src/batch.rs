//! The checks of one dealing or many, of either kind: their order, and how culprits are named.
//!
//! | step      | what                                       | by one | by many                       |
//! |-----------|--------------------------------------------|--------|-------------------------------|
//! | shape     | sizes, identities, ranges                  | alone  | alone                         |
//! | signature | `e(σ, ĝ₂) = e(H(digest), pk)`              | alone  | one product, culprits named    |
//! | equations | the rest, each with a separate weight      | one product | the same product, culprits named |
//! | blame     | for culprits, which equation fails first   | alone  | alone                         |
//!
//! So a dealing gets the same verdict alone or together with others, up to the chance of 2⁻¹²⁸ that
//! random weights always have.
use std::collections::BTreeSet;

use prefinal_crypto_core::bls::min_sig;

use crate::accepted::Accepted;
use crate::config::Config;
use crate::proof::{Contribution, ProofError, forged};

/// The checks for one kind of dealings.
pub(crate) trait Checker {
    type Dealing;
    type Error: From<ProofError>;

    fn config(&self) -> &Config;
    /// The checks that need no algebra.
    fn check_shape(&self, dealing: &Self::Dealing) -> Result<(), Self::Error>;
    fn signed<'a>(&self, dealing: &'a Self::Dealing) -> (&'a Contribution, &'a min_sig::Signature);
    /// Positions of dealings for which some equation fails. Their shape is right.
    fn failing(&self, dealings: &[&Self::Dealing]) -> BTreeSet<usize>;
    /// The first equation of such a dealing that fails.
    fn blame(&self, dealing: &Self::Dealing) -> Self::Error;
}

type Verdict<C> = Result<Accepted<<C as Checker>::Dealing>, <C as Checker>::Error>;

pub(crate) fn check<C: Checker>(checker: &C, dealing: C::Dealing) -> Verdict<C> {
    checker.check_shape(&dealing)?;
    let (contribution, signature) = checker.signed(&dealing);
    contribution.check_signature(checker.config(), signature)?;
    if checker.failing(&[&dealing]).is_empty() {
        Ok(Accepted::new(dealing, *checker.config().digest()))
    } else {
        Err(checker.blame(&dealing))
    }
}

/// The verdicts, in the order of the dealings.
pub(crate) fn check_all<C: Checker>(checker: &C, dealings: Vec<C::Dealing>) -> Vec<Verdict<C>> {
    let shape = |dealing| checker.check_shape(dealing).err();
    let mut faults: Vec<Option<C::Error>> = dealings.iter().map(shape).collect();
    let (places, left) = without_fault(&dealings, &faults);
    for position in forged(checker.config(), left.iter().map(|one| checker.signed(one))) {
        set(&mut faults, places.get(position), ProofError::Signature);
    }
    let (places, left) = without_fault(&dealings, &faults);
    for position in checker.failing(&left) {
        if let Some(dealing) = left.get(position) {
            set(&mut faults, places.get(position), checker.blame(dealing));
        }
    }
    let digest = *checker.config().digest();
    let verdict = |(dealing, fault)| match fault {
        None => Ok(Accepted::new(dealing, digest)),
        Some(fault) => Err(fault),
    };
    dealings.into_iter().zip(faults).map(verdict).collect()
}

/// The dealings without a known fault, with their places.
fn without_fault<'a, D, E>(dealings: &'a [D], faults: &[Option<E>]) -> (Vec<usize>, Vec<&'a D>) {
    let good = dealings.iter().zip(faults).enumerate();
    let good = good.filter(|(_, (_, fault))| fault.is_none());
    good.map(|(place, (dealing, _))| (place, dealing)).unzip()
}

fn set<E>(faults: &mut [Option<E>], place: Option<&usize>, fault: impl Into<E>) {
    if let Some(entry) = place.and_then(|place| faults.get_mut(*place)) {
        *entry = Some(fault.into());
    }
}
