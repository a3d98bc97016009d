//! The public result of a key generation: the epoch's key and the public keys of its shares.
//!
//! | part             | what                                               | bytes        |
//! |------------------|----------------------------------------------------|--------------|
//! | version, element | 1; 1 if shares are `h^f(k)`, 2 if they are `f(k)`   | 1 + 1        |
//! | purpose          | 1 randomness, 2 certificates, 3 decryption         | 1            |
//! | name             | digest of the dealings that were added up          | 32           |
//! | configuration    | its digest                                         | 32           |
//! | weights          | how many, then each                                | 4 + 4 · n    |
//! | thresholds       | slow, then fast; 0 if there is none                | 4 + 4        |
//! | recipients       | names of the encryption keys it was dealt to       | 32 · n       |
//! | `F`, `V̂₀`        | `g^f(0)`, `ĝ^f(0)`                                 | 48 + 96      |
//! | `V̂₁ … V̂_W`       | `ĝ^f(ω^(k−1))`, for each path                      | 96 · W · p   |
//!
//! The length is `223 + 36·n + 96·W·p` bytes for `n` parties and `W` shares on `p` paths. It is checked
//! before a point is read. With field elements `ĝ` is the group's own generator `g₂`.
//!
//! A chain that stores this key needs nothing else from the key generation. Verifiers take the
//! committees from it, the next committee takes from it what is handed over, and an absent party
//! compares peers' offers with it. Code that reads a key from another source must compare its
//! [digest](EpochKey::digest) with the one that the chain finalized. The bytes alone show that lengths
//! and shapes are right, not that the key is the committee's.
use std::fmt;
use std::marker::PhantomData;

use prefinal_crypto_core::access::{Access, Threshold};
use prefinal_crypto_core::bls::{MinSig, PublicKey};
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::{elgamal, threshold, wvuf};
use prefinal_weighted_rounding::Weight;
use thiserror::Error;

use crate::accepted::Accepted;
use crate::aggregate::Aggregate;
use crate::config::Config;
use crate::field::{self, Predecessor};
use crate::purpose::{Purpose, PurposeError};
use crate::shape::{Paths, Shape, ShapeError, SharePath};
use crate::wire::{DecodeError, Reader, VERSION};

/// The kind of the shares of a key: [`Group`] or [`Field`].
pub trait Element: sealed::Sealed + Copy + fmt::Debug + Eq + Send + Sync + 'static {
    #[doc(hidden)]
    const TAG: u8;
}

/// Shares `h^f(k)`, for the weighted VUF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group;

/// Shares `f(k)`, for threshold signatures and decryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Group {}
    impl Sealed for super::Field {}
}

impl Element for Group {
    const TAG: u8 = 1;
}

impl Element for Field {
    const TAG: u8 = 2;
}

/// The public part of an epoch's key.
///
/// A key of one kind cannot be used as the other:
/// ```compile_fail,E0599
/// use prefinal_pvss_dkg::protocol::{EpochKey, Group};
/// fn sign(key: &EpochKey<Group>) {
///     let _ = key.decryption();
/// }
/// ```
///
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [4, 3, 2, 1].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Certificates };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_pvss_dkg::protocol::{EpochKey, Field};
/// use prefinal_pvss_dkg::field;
///
/// # let dealing = field::deal(&config, Party::new(0), &signers[0], &mut rng)?;
/// # let key = field::Key::sum(&config, &[Arc::new(field::verify(&config, dealing)?)])?;
/// let bytes = key.epoch(&config)?.to_bytes(); // the chain finalizes its digest
/// let epoch = EpochKey::<Field>::from_bytes(&bytes)?;
/// assert_eq!(epoch.public_key(), key.public_key());
/// assert!(epoch.decryption().is_err()); // this key is for certificates
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EpochKey<E> {
    name: [u8; 32],
    config: [u8; 32],
    purpose: Purpose,
    shape: Shape,
    recipients: Vec<[u8; 32]>,
    commitment: G1Affine,
    public_key: G2Affine,
    shares: Paths<Vec<G2Affine>>,
    element: PhantomData<E>,
}

/// Why bytes are not an epoch's key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpochKeyError {
    /// A length or an element is wrong.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The shares are of another kind.
    #[error("key of kind {got}, expected {expected}")]
    Element {
        /// The kind in the bytes.
        got: u8,
        /// The kind that was asked for.
        expected: u8,
    },
    /// Weights and thresholds do not fit together.
    #[error("no committee: {0}")]
    Shape(#[from] ShapeError),
}

impl EpochKeyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Element { .. } => "wrong-kind",
            Self::Shape(error) => error.code(),
        }
    }
}

impl<E: Element> EpochKey<E> {
    /// Reads a key. Checks its format, not whether the chain finalized it.
    ///
    /// # Errors
    /// If the length is not the one that weights and thresholds ask for (checked before a point is
    /// read), if weights and thresholds do not fit together, or if an encoding is not canonical.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EpochKeyError> {
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let [got] = reader.array()?;
        if got != E::TAG {
            return Err(EpochKeyError::Element { got, expected: E::TAG });
        }
        let purpose = Purpose::read(&mut reader)?;
        let (name, config) = (reader.hash()?, reader.hash()?);
        let shape = read_shape(&mut reader)?;
        let shares = usize::try_from(shape.access().total()).unwrap_or(usize::MAX);
        let (got, expected) = (bytes.len(), size(&shape));
        if got != expected {
            return Err(DecodeError::Length { got, expected }.into());
        }
        let parties = shape.access().len();
        let recipients = (0..parties).map(|_| reader.hash()).collect::<Result<_, _>>()?;
        let (commitment, public_key) = (reader.g1()?, reader.g2()?);
        let slow = reader.g2s(shares)?;
        let fast = shape.threshold(SharePath::Fast).map(|_| reader.g2s(shares)).transpose()?;
        reader.end()?;
        let (shares, element) = (Paths { slow, fast }, PhantomData);
        Ok(Self {
            name,
            config,
            purpose,
            shape,
            recipients,
            commitment,
            public_key,
            shares,
            element,
        })
    }

    /// The encoding, as in the table of this module.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, E::TAG, self.purpose.tag()];
        bytes.extend_from_slice(&self.name);
        bytes.extend_from_slice(&self.config);
        let weights = self.shape.access().weights();
        bytes.extend_from_slice(&u32::try_from(weights.len()).unwrap_or(u32::MAX).to_be_bytes());
        weights.iter().for_each(|weight| bytes.extend_from_slice(&weight.to_be_bytes()));
        for path in [SharePath::Slow, SharePath::Fast] {
            // No threshold is zero, so zero says that the path is missing.
            let t = self.shape.threshold(path).map_or(0, |threshold| threshold.t().get());
            bytes.extend_from_slice(&t.to_be_bytes());
        }
        self.recipients.iter().for_each(|name| bytes.extend_from_slice(name));
        bytes.extend_from_slice(&self.commitment.to_bytes());
        let shares = self.shares.each().flatten();
        for point in [&self.public_key].into_iter().chain(shares) {
            bytes.extend_from_slice(&point.to_bytes());
        }
        bytes
    }

    /// The digest of key, committee and the public keys of all shares. This is what a chain finalizes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-EPOCH-KEY");
        transcript.append(b"key", &self.to_bytes());
        transcript.bytes(b"digest")
    }

    /// The digest of the sum: [`Accepted::<Aggregate>::digest`] or [`field::Key::digest`].
    #[must_use]
    pub const fn name(&self) -> &[u8; 32] {
        &self.name
    }

    /// The digest of the [`Config`] that it was dealt under.
    #[must_use]
    pub const fn config(&self) -> &[u8; 32] {
        &self.config
    }

    /// The purpose of the key. It serves no other one.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// How shares are distributed over the parties, and how many are needed.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The [names](crate::EncryptionKey::name) of the encryption keys that it was dealt to, in the
    /// order of the parties. These keys are used up: nothing may be dealt to them again.
    #[must_use]
    pub fn recipients(&self) -> &[[u8; 32]] {
        &self.recipients
    }

    /// The commitment to the secret, `g^f(0)`.
    #[must_use]
    pub const fn commitment(&self) -> &G1Affine {
        &self.commitment
    }

    /// The public key, `ĝ^f(0)`.
    #[must_use]
    pub const fn public_key(&self) -> &G2Affine {
        &self.public_key
    }

    /// The public keys of the shares on that path, `ĝ^f(ω^(k−1))` for all share indices in order.
    #[must_use]
    pub fn public_shares(&self, path: SharePath) -> Option<&[G2Affine]> {
        self.shares.get(path).map(Vec::as_slice)
    }

    fn on_paths<T, Error>(
        &self,
        committee: impl Fn(Access, Threshold, Vec<G2Affine>) -> Result<T, Error>,
    ) -> Result<Paths<T>, Error> {
        let access = self.shape.access();
        let fast = self.shape.threshold(SharePath::Fast).zip(self.shares.fast.clone());
        Ok(Paths {
            slow: committee(access.clone(), self.shape.slow(), self.shares.slow.clone())?,
            fast: fast.map(|(t, shares)| committee(access.clone(), t, shares)).transpose()?,
        })
    }
}

impl<E: Element> PartialEq for EpochKey<E> {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl<E: Element> Eq for EpochKey<E> {}

impl EpochKey<Group> {
    pub(super) fn of_aggregate(config: &Config, sum: &Accepted<Aggregate>) -> Self {
        let shares = |path| sum.public_shares(path).map(<[G2Affine]>::to_vec);
        let commitments = sum.contributions.iter().map(|one| one.commitment);
        Self {
            name: sum.digest(),
            config: *config.digest(),
            purpose: config.session().purpose,
            shape: config.shape().clone(),
            recipients: config.recipients(),
            commitment: commitments.sum::<G1Projective>().into(),
            public_key: *sum.public_key(),
            shares: Paths {
                slow: shares(SharePath::Slow).unwrap_or_default(),
                fast: shares(SharePath::Fast),
            },
            element: PhantomData,
        }
    }

    /// The committees that evaluate the VUF, one for each path. No blinded key is admitted yet.
    ///
    /// # Errors
    /// If the key has another purpose, or if it was read from bytes and its parts do not fit together.
    pub fn evaluation(&self) -> Result<Paths<wvuf::VufCommittee>, PurposeError> {
        self.purpose.check(Purpose::Randomness)?;
        Ok(self.on_paths(wvuf::VufCommittee::new)?)
    }
}

impl EpochKey<Field> {
    pub(crate) fn of_key(config: &Config, key: &field::Key) -> Self {
        let shares = |path| key.public_shares(path).map(<[G2Affine]>::to_vec);
        Self {
            name: key.digest(),
            config: *config.digest(),
            purpose: config.session().purpose,
            shape: config.shape().clone(),
            recipients: config.recipients(),
            commitment: *key.commitment(),
            public_key: *key.public_key(),
            shares: Paths {
                slow: shares(SharePath::Slow).unwrap_or_default(),
                fast: shares(SharePath::Fast),
            },
            element: PhantomData,
        }
    }

    /// The signing committees, one for each path. Costs a sum of products over all share keys for each path.
    ///
    /// # Errors
    /// If the key has another purpose, or if it was read from bytes and its parts do not fit together.
    pub fn signing(
        &self,
        purpose: threshold::Purpose,
    ) -> Result<Paths<threshold::SigningCommittee<MinSig>>, PurposeError> {
        self.purpose.check(Purpose::of_signing(purpose))?;
        let group = PublicKey::from_bytes(&self.public_key.to_bytes())
            .map_err(|_| threshold::CommitteeError::GroupIdentity)?;
        let committees = self.on_paths(|access, threshold, shares| {
            let placement = Placement::RootsOfUnity;
            let setup = threshold::Setup { access, threshold, placement, purpose };
            threshold::SigningCommittee::from_share_keys(setup, &group, shares)
        });
        Ok(committees?)
    }

    /// The decryption committees, one for each path. Costs the same, and two pairings more.
    ///
    /// # Errors
    /// If the key has another purpose, or if it was read from bytes and its parts do not fit together.
    pub fn decryption(&self) -> Result<Paths<elgamal::DecryptionCommittee>, PurposeError> {
        self.purpose.check(Purpose::Decryption)?;
        let key = elgamal::EncryptionKey::new(self.commitment, self.public_key)
            .map_err(elgamal::CommitteeError::from)?;
        let committees = self.on_paths(|access, threshold, shares| {
            let place = (Placement::RootsOfUnity, threshold);
            elgamal::DecryptionCommittee::from_share_keys(key, shares, access, place)
        });
        Ok(committees?)
    }

    /// What a handover to the next committee needs to know of this key.
    #[must_use]
    pub fn predecessor(&self) -> Predecessor {
        Predecessor::of_epoch(self)
    }
}

/// The exact length in bytes for the shape.
fn size(shape: &Shape) -> usize {
    let shares = usize::try_from(shape.access().total()).unwrap_or(usize::MAX);
    let points = shares.saturating_mul(96 * shape.paths());
    points.saturating_add((4 + 32) * shape.access().len()).saturating_add(223)
}

fn read_shape(reader: &mut Reader<'_>) -> Result<Shape, EpochKeyError> {
    let parties = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
    // One by one: the number of weights is not trusted before that many are there.
    let mut weights = Vec::new();
    for _ in 0..parties {
        weights.push(Weight::new(reader.u32()?));
    }
    let (slow, fast) = (Weight::new(reader.u32()?), Weight::new(reader.u32()?));
    let fast = Some(fast).filter(|fast| *fast != Weight::ZERO);
    Ok(Shape::new(&weights, Paths { slow, fast })?)
}
