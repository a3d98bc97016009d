//! The work that leaves the machine, and its results.
//!
//! Jobs are pure, except for the secrets in [`Keys`] and the randomness of dealing, which the machine
//! does not hold. A driver may run them anywhere and take any time.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use rand_core::CryptoRng;

use super::collect::{Collect, OwnRecord, Place, RecoverError};
use super::envelope::{Statement, seal};
use super::epoch::EpochKey;
use super::fault::{Evidence, Fault, Misdeed};
use crate::accepted::Accepted;
use crate::aggregate::AggregateError;
use crate::field::{DecryptError, HandoverError};
use crate::key::{DecryptionKey, NotOpened};

/// The secrets of one party that jobs need.
pub struct Keys<'a, C: Collect> {
    /// Signs dealings and envelopes.
    pub signer: &'a min_sig::SecretKey,
    /// Opens what is dealt to the party, once. [`Job::Open`] takes it and wipes it, and puts it back if
    /// nothing was opened. Delete its copy on a disk when the shares are stored.
    pub decryption: &'a mut Option<DecryptionKey>,
    /// Its shares of the key before, if that key is handed over.
    pub held: &'a C::DealerInput,
}

/// Work for the driver. Each job can be repeated with the same result, except [`Job::Deal`] and
/// [`Job::Open`].
pub enum Job<C: Collect> {
    /// Make this party's dealings.
    Deal {
        /// The collector without dealings.
        blank: Arc<C>,
        /// The places to deal for; at least one.
        places: Vec<Place>,
    },
    /// Check claims and the dealings in them.
    Judge {
        /// The collector without dealings.
        blank: Arc<C>,
        /// The claims, of distinct places, in the finalized order.
        claims: Vec<Claim>,
    },
    /// Add up the dealings that count.
    Sum {
        /// The collector with the dealings that count.
        counted: Box<C>,
    },
    /// Decrypt this party's shares. This uses the decryption key up.
    Open {
        /// The collector without dealings.
        blank: Arc<C>,
        /// The dealings that count, added up.
        sum: Arc<C::Sum>,
        /// The party whose shares are decrypted.
        party: Party,
    },
    /// Check a peer's offer against the finalized key.
    Recover {
        /// The collector without dealings.
        blank: Arc<C>,
        /// The key that the chain finalized.
        key: Arc<EpochKey<C::Element>>,
        /// What the peer's [`Keygen::recovery`](super::Keygen::recovery) returned.
        offer: Arc<[u8]>,
    },
}

/// A signed statement and, if it may count, the dealing that it is about.
#[derive(Clone, Debug)]
pub struct Claim {
    pub(crate) statement: Statement,
    /// `None` if the statement alone shows that the dealing does not count.
    pub(crate) envelope: Option<Arc<[u8]>>,
    /// This party judged it before it crashed.
    pub(crate) known: bool,
}

/// The result of a job.
pub enum Verdict<C: Collect> {
    /// Result of [`Job::Deal`]: the envelopes.
    Dealt(Result<Vec<Vec<u8>>, HandoverError>),
    /// Result of [`Job::Judge`]: the verdicts in the order of the claims.
    Judged(Vec<ClaimVerdict<C::Dealing>>),
    /// Result of [`Job::Sum`]: the dealings that count, added up.
    Summed(Result<Arc<C::Sum>, AggregateError>),
    /// Result of [`Job::Open`]: this party's shares.
    Opened(Result<OpenedShares<C>, DecryptError>),
    /// Result of [`Job::Recover`]: the key that a peer offered, if it is the finalized one.
    Recovered(Result<RecoveredKey<C>, RecoverError>),
}

/// The result of opening a party's shares.
pub struct OpenedShares<C: Collect> {
    /// The party's own shares.
    pub shares: C::Shares,
    /// Accusations of dealers that made the opening slow, see [`Misdeed::LargeChunk`].
    pub accusations: Vec<Accusation>,
}

/// A party that did wrong, and the evidence.
pub struct Accusation {
    /// The party and its misdeed.
    pub fault: Fault,
    /// Evidence that convinces third parties.
    pub evidence: Arc<Evidence>,
}

/// The verdict on one claim.
pub enum ClaimVerdict<D> {
    /// The party that the claim names did not sign it.
    Forged,
    /// Signed, but the claim holds no dealing to judge.
    Signed,
    /// Signed, and the dealing is invalid. Says what its dealer did wrong.
    Faulty(Misdeed),
    /// Signed, and the dealing is valid.
    Good(Arc<Accepted<D>>),
    /// This party's own disk does not hold what was written to it.
    Unreadable,
}

impl<D> Clone for ClaimVerdict<D> {
    /// Dealings are shared: parties of a simulation may reuse what one of them has checked.
    fn clone(&self) -> Self {
        match self {
            Self::Forged => Self::Forged,
            Self::Signed => Self::Signed,
            Self::Faulty(misdeed) => Self::Faulty(misdeed.clone()),
            Self::Good(dealing) => Self::Good(Arc::clone(dealing)),
            Self::Unreadable => Self::Unreadable,
        }
    }
}

/// The finalized key, and the dealings behind it.
pub struct RecoveredKey<C: Collect> {
    pub(crate) key: Arc<EpochKey<C::Element>>,
    pub(crate) sum: Arc<C::Sum>,
    pub(crate) offer: Arc<[u8]>,
}

impl<C: Collect> Job<C> {
    /// Does the work. Only [`Job::Deal`] uses `rng`.
    #[must_use]
    pub fn run(&self, keys: &mut Keys<'_, C>, rng: &mut impl CryptoRng) -> Verdict<C> {
        match self {
            Self::Deal { blank, places } => Verdict::Dealt(deal(blank.as_ref(), places, keys, rng)),
            Self::Judge { blank, claims } => Verdict::Judged(judge(blank.as_ref(), claims)),
            Self::Sum { counted } => Verdict::Summed(counted.sum().map(Arc::new)),
            Self::Open { blank, sum, party } => {
                Verdict::Opened(open(blank.as_ref(), sum, *party, keys.decryption))
            }
            Self::Recover { blank, key, offer } => {
                Verdict::Recovered(recover(blank.as_ref(), key, offer))
            }
        }
    }
}

impl Claim {
    /// The dealer, and the share that it deals on, if any.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.statement.place
    }

    /// Names the statement and the dealing. The name is the same for every party that judges it.
    #[must_use]
    pub fn id(&self) -> Vec<u8> {
        self.statement.to_bytes()
    }

    /// Names the question that [`Self::judge`] answers, which includes this party's own past. Equal
    /// names have equal verdicts.
    #[must_use]
    pub fn question(&self) -> Vec<u8> {
        let mut name = self.id();
        name.extend([u8::from(self.envelope.is_some()), u8::from(self.known)]);
        // For a claim that was judged before, the hash in the statement is not checked again.
        name.extend_from_slice(self.payload().filter(|_| self.known).unwrap_or_default());
        name
    }

    /// Judges this claim alone.
    #[must_use]
    pub fn judge<C: Collect>(&self, blank: &C) -> ClaimVerdict<C::Dealing> {
        let mut judged = judge(blank, std::slice::from_ref(self));
        judged.pop().unwrap_or(ClaimVerdict::Forged)
    }

    /// Everything before the equations: the verdict, or the dealing whose equations must be checked.
    fn begin<C: Collect>(&self, blank: &C) -> Result<C::Dealing, ClaimVerdict<C::Dealing>> {
        if self.known {
            let dealing = blank.reread(self.payload().unwrap_or_default(), &OwnRecord::new());
            let good = dealing.map(|dealing| ClaimVerdict::Good(Arc::new(dealing)));
            return Err(good.unwrap_or(ClaimVerdict::Unreadable));
        }
        if !self.statement.is_signed(blank.config()) {
            return Err(ClaimVerdict::Forged);
        }
        let payload = self.payload().ok_or(ClaimVerdict::Signed)?;
        blank.decode(self.place(), payload).map_err(ClaimVerdict::Faulty)
    }

    pub(crate) fn payload(&self) -> Option<&[u8]> {
        self.envelope.as_ref()?.get(super::envelope_bytes(0)..)
    }
}

/// Judges claims together. Each verdict is the same as if the claim were judged alone; the equations of
/// all dealings are checked together.
#[must_use]
pub fn judge<C: Collect>(blank: &C, claims: &[Claim]) -> Vec<ClaimVerdict<C::Dealing>> {
    let (mut dealings, mut judged) = (Vec::new(), Vec::new());
    for claim in claims {
        match claim.begin(blank) {
            Ok(dealing) => {
                dealings.push(dealing);
                judged.push(None);
            }
            Err(verdict) => judged.push(Some(verdict)),
        }
    }
    let mut checked = blank.check(dealings).into_iter().map(|verdict| match verdict {
        Ok(dealing) => ClaimVerdict::Good(Arc::new(dealing)),
        Err(misdeed) => ClaimVerdict::Faulty(misdeed),
    });
    judged.into_iter().filter_map(|verdict| verdict.or_else(|| checked.next())).collect()
}

fn deal<C: Collect>(
    blank: &C,
    places: &[Place],
    keys: &Keys<'_, C>,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, HandoverError> {
    let mut envelopes = Vec::with_capacity(places.len());
    for place in places {
        let dealing = blank.deal(*place, keys.signer, keys.held, rng)?;
        envelopes.push(seal(blank.session(), *place, &dealing, keys.signer));
    }
    Ok(envelopes)
}

fn open<C: Collect>(
    blank: &C,
    sum: &C::Sum,
    party: Party,
    decryption: &mut Option<DecryptionKey>,
) -> Result<OpenedShares<C>, DecryptError> {
    let key = decryption.take().ok_or(DecryptError::UsedUp)?;
    blank.open(sum, party, key).map_err(|NotOpened { key, error }| {
        *decryption = Some(key);
        error
    })
}

fn recover<C: Collect>(
    blank: &C,
    key: &Arc<EpochKey<C::Element>>,
    offer: &Arc<[u8]>,
) -> Result<RecoveredKey<C>, RecoverError> {
    let sum = blank.recover(offer)?;
    if blank.epoch_key(&sum) != **key {
        return Err(RecoverError::OtherKey);
    }
    Ok(RecoveredKey { key: Arc::clone(key), sum: Arc::new(sum), offer: Arc::clone(offer) })
}
