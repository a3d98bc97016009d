//! Certificates: what a quorum of stake has said, in one signature.
//!
//! | step     | what                                                                     | by whom   |
//! |----------|--------------------------------------------------------------------------|-----------|
//! | assemble | `σ = ∏ᵢ σᵢ`, checked as below; only if that fails each `σᵢ` by itself    | collector |
//! | count    | `Σ_{i ∈ S} stakeᵢ ≥ quorum`, exact integers, nobody twice                | anyone    |
//! | verify   | `e(σ, g) = ∏ₖ e(H(mₖ), ∏_{i ∈ Sₖ} pkᵢ)`, `S = ∪ₖ Sₖ`                     | anyone    |
//!
//! Mostly all signers say the same, `k = 1`: that is a [`Certificate`]. Where they may say different
//! things (timeouts name the highest certificate that each had), [`Electorate::verify`] takes one
//! [`Statement`] for each. After Boneh, Drijvers and Neven (see `bls`): keys enter an [`Electorate`]
//! only with their proof of possession, so none is made of the others' keys, and each only once, so
//! nobody's stake counts under two names with one signature.
//!
//! Certificates count exact stake, so secrecy and reconstruction threshold are one, and they can be
//! complete as soon as the value is final. Ours: if more than half sign, the absent are subtracted from
//! the sum of all keys.
//!
//! Where 48 bytes have to do, shares of one key sign instead: a
//! [threshold certificate](crate::threshold::Purpose::CERTIFICATES) names nobody and counts shares.
//!
//! Elsewhere: what the statements say and when they are made (the engines).
mod electorate;
mod signers;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

pub use self::electorate::{Elector, Electorate, ElectorateError};
pub use self::signers::{Signers, Stranger};
use crate::access::Party;
use crate::bls::{
    Claim, Domain, Signature, SignatureError, Signed, Variant, aggregate, verify_aggregate,
    verify_batch,
};
use crate::verified::Verified;

/// A quorum and the sum of its signatures on one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate<V: Variant> {
    /// Who signed.
    pub signers: Signers,
    /// The sum of what they signed.
    pub signature: Signature<V>,
}

/// A message, and those who are said to have signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// What they signed.
    pub message: &'a [u8],
    /// Who they are.
    pub signers: &'a Signers,
}

/// One party's signature on what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote<'a, V: Variant> {
    /// What it says.
    pub message: &'a [u8],
    /// Its signature.
    pub signature: Signature<V>,
}

/// Why a certificate proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// A bitmap of another length, or with a bit beyond the last party.
    #[error("bitmap of {got} bytes does not fit an electorate of {parties}")]
    Bitmap {
        /// Its length.
        got: usize,
        /// Parties there are.
        parties: usize,
    },
    /// A party may sign one statement of a certificate.
    #[error("{party} signed twice")]
    SignedTwice {
        /// The party.
        party: Party,
    },
    /// Not enough stake.
    #[error("signers hold {got} stake, a quorum is {need}")]
    BelowQuorum {
        /// Their stake.
        got: u128,
        /// The least that suffices.
        need: u128,
    },
    /// The signature is not that of the signers.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Why votes do not add up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VotesError {
    /// Nothing to add up.
    #[error("no votes")]
    NoVotes,
    /// The caller's mistake: nobody counts this party's votes.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// Try again without the culprits. Convincing others of their fault takes the messages that
    /// brought the votes.
    #[error("{} vote(s) are not signed as they should be", culprits.len())]
    Faulty {
        /// Whose votes are not valid, and whose keys cancel each other, which takes accomplices.
        culprits: BTreeSet<Party>,
    },
}

/// Why votes are not a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// Wait for more and try again.
    #[error("votes hold {got} stake, a quorum is {need}")]
    BelowQuorum {
        /// Their stake.
        got: u128,
        /// The least that suffices.
        need: u128,
    },
    /// The caller's mistake or the voters' fault.
    #[error(transparent)]
    Votes(#[from] VotesError),
}

impl<V: Variant> Certificate<V> {
    /// Adds votes for one message up. The votes are not checked as long as their sum is good: two
    /// pairings for any number. Otherwise culprits are found by halving.
    ///
    /// # Errors
    /// [`AssembleError`] says whether to wait, to leave somebody out, or to look for one's own mistake.
    pub fn assemble(
        electorate: &Electorate<V>,
        domain: Domain,
        message: &[u8],
        votes: &BTreeMap<Party, Signature<V>>,
    ) -> Result<Verified<Self>, AssembleError> {
        let signers =
            Signers::new(electorate.len(), votes.keys().copied()).map_err(VotesError::from)?;
        let (got, need) = (electorate.stake_of(&signers), electorate.quorum());
        if got < need {
            return Err(AssembleError::BelowQuorum { got, need });
        }
        let vote = |(&party, &signature): (&_, &_)| (party, Vote { message, signature });
        let signature = electorate.add_up(domain, &votes.iter().map(vote).collect())?;
        Ok(Verified::new(Self { signers, signature }))
    }

    /// Checks that a quorum has signed the message.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(
        &self,
        electorate: &Electorate<V>,
        domain: Domain,
        message: &[u8],
    ) -> Result<Verified<&Self>, CertificateError> {
        let statement = Statement { message, signers: &self.signers };
        electorate.verify(domain, &[statement], &self.signature)?;
        Ok(Verified::new(self))
    }
}

impl<V: Variant> Electorate<V> {
    /// Counts the stake of disjoint sets of signers. No algebra, so it comes before any.
    ///
    /// # Errors
    /// If a bitmap does not fit, a set is empty, somebody is in two sets, or together they are no
    /// quorum.
    pub fn check_quorum<'a>(
        &self,
        sets: impl IntoIterator<Item = &'a Signers>,
    ) -> Result<u128, CertificateError> {
        let mut seen = Signers::none(self.len());
        for signers in sets {
            signers.check(self.len())?;
            if signers.is_empty() {
                return Err(SignatureError::NoSigners.into());
            }
            if let Some(party) = seen.join(signers) {
                return Err(CertificateError::SignedTwice { party });
            }
        }
        let (got, need) = (self.stake_of(&seen), self.quorum());
        if got < need { Err(CertificateError::BelowQuorum { got, need }) } else { Ok(got) }
    }

    /// Checks that a quorum has signed, each party one of the statements. Costs a pairing for each
    /// statement and one more, and additions of keys.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(
        &self,
        domain: Domain,
        statements: &[Statement<'_>],
        signature: &Signature<V>,
    ) -> Result<(), CertificateError> {
        self.check_quorum(statements.iter().map(|statement| statement.signers))?;
        self.verify_sum(domain, statements, signature)?;
        Ok(())
    }

    /// Adds votes up, whatever their stake and whatever each says, and checks the sum. Only if it is
    /// not valid the votes are checked one by one.
    ///
    /// # Errors
    /// If there are none, or somebody is not of the electorate; otherwise with the names of those whose
    /// votes are not valid.
    pub fn add_up(
        &self,
        domain: Domain,
        votes: &BTreeMap<Party, Vote<'_, V>>,
    ) -> Result<Signature<V>, VotesError> {
        if votes.is_empty() {
            return Err(VotesError::NoVotes);
        }
        let mut sides: BTreeMap<&[u8], Vec<Party>> = BTreeMap::new();
        for (&party, vote) in votes {
            sides.entry(vote.message).or_default().push(party);
        }
        let sides =
            sides.into_iter().map(|(message, side)| Ok((message, Signers::new(self.len(), side)?)));
        let sides: Vec<(&[u8], Signers)> = sides.collect::<Result<_, VotesError>>()?;
        let statements: Vec<_> =
            sides.iter().map(|(message, signers)| Statement { message, signers }).collect();
        let sum = aggregate(votes.values().map(|vote| &vote.signature)).and_then(|sum| {
            self.verify_sum(domain, &statements, &sum)?;
            Ok(sum)
        });
        sum.or_else(|_| {
            let mut culprits = self.culprits(domain, votes)?;
            // Each of these votes may be good. But only keys of accomplices cancel: it takes all their
            // secrets to prove possession of the last one.
            let cancel = |signers: &&Signers| self.sum(signers).is_err();
            let accomplices = sides.iter().map(|(_, signers)| signers).filter(cancel);
            culprits.extend(accomplices.flat_map(Signers::iter));
            Err(VotesError::Faulty { culprits })
        })
    }

    /// Checks each vote by itself, all in one batch if all are valid, and names those that are not.
    ///
    /// # Errors
    /// If somebody is not of the electorate.
    pub fn culprits(
        &self,
        domain: Domain,
        votes: &BTreeMap<Party, Vote<'_, V>>,
    ) -> Result<BTreeSet<Party>, VotesError> {
        let signed = votes.iter().map(|(&party, &Vote { message, signature })| {
            let elector = self.elector(party).ok_or(Stranger { party, parties: self.len() })?;
            Ok(Signed { key: *elector.key.get(), message, signature })
        });
        let signed: Vec<_> = signed.collect::<Result<_, VotesError>>()?;
        let Err(found) = verify_batch(domain, &signed) else { return Ok(BTreeSet::new()) };
        let parties = votes.keys().enumerate();
        Ok(parties
            .filter(|(at, _)| found.positions.contains(at))
            .map(|(_, &party)| party)
            .collect())
    }

    fn verify_sum(
        &self,
        domain: Domain,
        statements: &[Statement<'_>],
        signature: &Signature<V>,
    ) -> Result<(), SignatureError> {
        let claim = |statement: &Statement<'_>| self.sum(statement.signers);
        let sums: Vec<_> = statements.iter().map(claim).collect::<Result<_, _>>()?;
        let claims = statements.iter().zip(sums);
        let claims: Vec<_> = claims
            .map(|(&Statement { message, .. }, signers)| Claim { signers, message })
            .collect();
        verify_aggregate(&claims, domain, signature)
    }
}

impl<V: Variant> BorshSerialize for Certificate<V> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.signers.serialize(writer)?;
        self.signature.serialize(writer)
    }
}

impl<V: Variant> BorshDeserialize for Certificate<V> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let signers = Signers::deserialize_reader(reader)?;
        Ok(Self { signers, signature: Signature::deserialize_reader(reader)? })
    }
}
