//! Certificates: one signature proves that a quorum of stake has signed a statement.
//!
//! | step     | what                                                                     | by whom   |
//! |----------|--------------------------------------------------------------------------|-----------|
//! | assemble | `σ = ∏ᵢ σᵢ`, checked as below; each `σᵢ` alone only if that fails        | collector |
//! | count    | `Σ_{i ∈ S} stakeᵢ ≥ quorum`, exact integers, each party once             | anyone    |
//! | verify   | `e(σ, g) = ∏ₖ e(H(mₖ), ∏_{i ∈ Sₖ} pkᵢ)`, `S = ∪ₖ Sₖ`                     | anyone    |
//!
//! Usually all signers sign the same message, `k = 1`; that is a [`Certificate`]. Where they may sign
//! different messages (a timeout names the highest certificate that its signer had),
//! [`Electorate::verify`] takes one [`Statement`] for each message. After Boneh, Drijvers and Neven
//! (see [`bls`](crate::bls)). A key enters an [`Electorate`] only with its proof of possession, so it
//! cannot be computed from the others' keys. It enters only once, so one signature never counts for
//! the stake of two parties.
//!
//! Certificates count exact stake, so the secrecy threshold and the reconstruction threshold are
//! equal, and a certificate can be complete as soon as the value is final. Difference from the paper:
//! if more than half of the parties sign, the keys of the absent parties are subtracted from the sum
//! of all keys.
//!
//! If a certificate must fit in 48 bytes, use a [threshold
//! certificate](crate::threshold::Purpose::CERTIFICATES): the parties sign with shares of one key. It
//! does not name the signers, and it counts shares instead of stake.
//!
//! The consensus engines decide what the statements say and when they are signed.
mod electorate;
mod signers;
mod state;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};

pub use self::electorate::{Elector, Electorate, ElectorateError};
pub use self::signers::{Signers, Stranger};
pub use self::state::StateStatement;
use crate::access::Party;
use crate::bls::{
    Claim, Domain, Signature, SignatureError, SignedMessage, Variant, aggregate, verify_aggregate,
    verify_batch,
};
use crate::verified::Verified;

/// A quorum of signers, and the sum of their signatures on one message.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use prefinal_crypto_core::access::Party;
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey};
/// use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let signers: Vec<_> = (0..3).map(|_| SecretKey::random(&mut rng)).collect();
/// let mut electors = Vec::new();
/// for (signer, stake) in signers.iter().zip([50, 30, 20]) {
///     let key = signer.public_key().verify_possession(&signer.prove_possession())?;
///     electors.push(Elector { key, stake });
/// }
/// let electorate = Electorate::more_than_two_thirds(electors)?;
/// let vote = |party: Party| (party, signers[party.index()].sign(VOTE, b"block 7"));
///
/// let votes: BTreeMap<_, _> = [0, 1].map(|number| vote(Party::new(number))).into();
/// let certificate = Certificate::assemble(&electorate, VOTE, b"block 7", &votes)?;
/// assert!(certificate.verify(&electorate, VOTE, b"block 7").is_ok());
/// assert!(certificate.verify(&electorate, VOTE, b"block 8").is_err());
/// let too_few = [vote(Party::new(0))].into(); // half of the stake
/// assert!(Certificate::assemble(&electorate, VOTE, b"block 7", &too_few).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate<V: Variant> {
    /// The parties that signed.
    pub signers: Signers,
    /// The sum of their signatures.
    pub signature: Signature<V>,
}

/// A message, and the parties that are said to have signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The message that was signed.
    pub message: &'a [u8],
    /// The parties that signed it.
    pub signers: &'a Signers,
}

/// One party's message and its signature on it.
///
/// Parties whose votes name different blocks, in one signature:
/// ```
/// use std::collections::BTreeMap;
///
/// use prefinal_crypto_core::access::Party;
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey};
/// use prefinal_crypto_core::certificate::{Elector, Electorate, Signers, Statement, Vote};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const TIMEOUT: Domain = Domain::new("example timeout");
/// let (alice, bob) = (SecretKey::random(&mut rng), SecretKey::random(&mut rng));
/// let mut electors = Vec::new();
/// for signer in [&alice, &bob] {
///     let key = signer.public_key().verify_possession(&signer.prove_possession())?;
///     electors.push(Elector { key, stake: 1 });
/// }
/// let electorate = Electorate::with_quorum(electors, 2)?;
/// let (a, b): (&[u8], &[u8]) = (b"highest block 6", b"highest block 7");
/// let [first, second] = [Party::new(0), Party::new(1)];
/// let mut votes = BTreeMap::from([
///     (first, Vote { message: a, signature: alice.sign(TIMEOUT, a) }),
///     (second, Vote { message: b, signature: bob.sign(TIMEOUT, b) }),
/// ]);
/// let sum = electorate.add_up(TIMEOUT, &votes)?;
/// let (left, right) = (Signers::new(2, [first])?, Signers::new(2, [second])?);
/// let both =
///     [Statement { message: a, signers: &left }, Statement { message: b, signers: &right }];
/// assert!(electorate.verify(TIMEOUT, &both, &sum).is_ok());
///
/// votes.get_mut(&second).unwrap().message = a; // not what the party signed
/// assert_eq!(electorate.culprits(TIMEOUT, &votes)?, [second].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote<'a, V: Variant> {
    /// The message of the party.
    pub message: &'a [u8],
    /// The party's signature on the message.
    pub signature: Signature<V>,
}

/// Why a certificate is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The bitmap has the wrong length, or a bit beyond the last party.
    #[error("bitmap of {got} bytes does not fit an electorate of {parties}")]
    Bitmap {
        /// Length of the bitmap in bytes.
        got: usize,
        /// Number of parties in the electorate.
        parties: usize,
    },
    /// A party signed two statements of one certificate.
    #[error("{party} signed twice")]
    SignedTwice {
        /// The party that is in two sets.
        party: Party,
    },
    /// The signers have too little stake for a quorum.
    #[error("signers hold {got} stake, a quorum is {need}")]
    BelowQuorum {
        /// Total stake of the signers.
        got: u128,
        /// The smallest stake that is a quorum.
        need: u128,
    },
    /// The aggregate signature does not match the signers and their messages.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl CertificateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Bitmap { .. } => "signers-bitmap",
            Self::SignedTwice { .. } => "signed-twice",
            Self::BelowQuorum { .. } => "below-quorum",
            Self::Signature(error) => error.code(),
        }
    }
}

/// Why votes could not be added up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VotesError {
    /// There are no votes.
    #[error("no votes")]
    NoVotes,
    /// The caller gave a vote of a party that is not in the electorate.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// Some votes are wrong. Try again without the culprits. To prove their fault to others, keep the
    /// messages in which the votes arrived.
    #[error("{} vote(s) are not signed as they should be", culprits.len())]
    Faulty {
        /// The parties whose votes are not valid, or whose keys sum to the identity. The latter is
        /// possible only if these parties work together.
        culprits: BTreeSet<Party>,
    },
}

impl VotesError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoVotes => "no-signers",
            Self::Stranger(error) => error.code(),
            Self::Faulty { .. } => "faulty",
        }
    }
}

/// Why votes could not be assembled into a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The votes have too little stake. Wait for more votes and try again.
    #[error("votes hold {got} stake, a quorum is {need}")]
    BelowQuorum {
        /// Total stake of the signers.
        got: u128,
        /// The smallest stake that is a quorum.
        need: u128,
    },
    /// The votes could not be added up, by a mistake of the caller or a fault of voters.
    #[error(transparent)]
    Votes(#[from] VotesError),
}

impl AssembleError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BelowQuorum { .. } => "below-quorum",
            Self::Votes(error) => error.code(),
        }
    }
}

impl<V: Variant> Certificate<V> {
    /// Adds up votes for one message. Only the sum is checked, with two pairings for any number of
    /// votes. If the sum is not valid, culprits are found by halving.
    ///
    /// # Errors
    /// [`AssembleError`] says whether to wait for more votes, to leave parties out, or to correct the
    /// call.
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
    /// See the example at [`Certificate`].
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
    /// Counts the stake of disjoint sets of signers, and returns it if it is a quorum. This uses no
    /// curve operation, so it is done first.
    ///
    /// # Errors
    /// If a bitmap does not fit, a set is empty, a party is in two sets, or all sets together are not
    /// a quorum.
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

    /// Checks that a quorum has signed, where each party signed one of the statements. Costs one
    /// pairing for each statement plus one, and additions of keys.
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

    /// Adds up votes with any stake and any messages, and checks the sum. The votes are checked one
    /// by one only if the sum is not valid.
    ///
    /// # Errors
    /// If there are no votes, a party is not in the electorate, or votes are not valid. The last
    /// error names the culprits.
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
            // Each of these votes may be valid. But keys sum to the identity only if their owners
            // work together: proving possession of the last key takes the secrets of all others.
            let cancel = |signers: &&Signers| self.sum(signers).is_err();
            let accomplices = sides.iter().map(|(_, signers)| signers).filter(cancel);
            culprits.extend(accomplices.flat_map(Signers::iter));
            Err(VotesError::Faulty { culprits })
        })
    }

    /// Checks each vote on its own and names the parties whose votes are not valid. If all votes are
    /// valid, this is one batch.
    ///
    /// # Errors
    /// If a party is not in the electorate.
    pub fn culprits(
        &self,
        domain: Domain,
        votes: &BTreeMap<Party, Vote<'_, V>>,
    ) -> Result<BTreeSet<Party>, VotesError> {
        let signed = votes.iter().map(|(&party, &Vote { message, signature })| {
            let elector = self.elector(party).ok_or(Stranger { party, parties: self.len() })?;
            Ok(SignedMessage { key: *elector.key.get(), message, signature })
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
