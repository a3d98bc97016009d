//! Evidence for a chunk that is larger than an honest one.
//!
//! The proof of chunking is approximate (`chunking`): a dealer can pass it with chunks that a recipient
//! finds only after a long search (`logarithm`). The recipient still finds them, and then accuses the dealer:
//!
//! | step   | equation                                                     | by whom       |
//! |--------|--------------------------------------------------------------|---------------|
//! | reveal | `M = R_jl^dk`, of the one chunk                               | recipient `i` |
//! | check  | `e(M, ĝ) = e(R_jl, êkᵢ)`, so `M = ekᵢ^r_jl`                   | anyone        |
//! | judge  | `C_kl − M = g^s` for no `s` with `0 ≤ s < 2¹⁶`               | anyone        |
//!
//! The pairing replaces a proof of equal logarithms. `êkᵢ = ĝ^dk` was checked when the key was
//! registered, so only one `M` passes, and there is no challenge to guess. Recipients cannot show
//! anything false about an honest dealer: with that `M` its chunk is below 2¹⁶.
//!
//! **What `M` reveals.** It reveals one chunk of one share of that dealing, which its dealer knows too.
//! The sum of all dealings stays as secret as the honest ones among them. It reveals nothing about
//! `dk`: a dealer that passes the proof of chunking knows `r_jl`, so it could have computed `ekᵢ^r_jl`
//! itself. Without that proof `M` would answer any question about `dk`, also for an `R_jl` that another
//! dealer made. So masks are revealed for verified dealings only.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::hazmat::check_pairing_product;
use prefinal_crypto_core::curve::{G1Affine, G1Projective};
use prefinal_crypto_core::generators::g_hat;
use thiserror::Error;

use super::chunk::CHUNKS;
use super::dealing::{Body, Dealing};
use super::layout::Layout;
use super::logarithm::is_honest_power;
use crate::accepted::Accepted;
use crate::config::Config;
use crate::key::DecryptionKey;
use crate::shape::SharePath;
use crate::wire::{DecodeError, Reader};

/// A chunk of a dealing that is too large, with the mask that shows it.
///
/// A chunk that is too large costs its recipient time: it is found by search, not in a table. The recipient
/// can show everybody which dealer did this:
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [2, 1].map(Stake::new);
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
/// use prefinal_pvss_dkg::field;
///
/// let mut dealings = Vec::new();
/// for (dealer, signer) in (0..).map(Party::new).zip(&signers) {
///     let dealing = field::deal(&config, dealer, signer, &mut rng)?;
///     dealings.push(Arc::new(field::verify(&config, dealing)?));
/// }
/// let key = field::Key::sum(&config, &dealings)?;
/// let opened = key.decrypt(&config, Party::new(0), keys.remove(0))?;
/// for chunk in &opened.large {
///     // Anybody who has the dealing can check this.
///     println!("{} dealt falsely: {}", chunk.dealing().dealer(), chunk.verify(&config)?);
/// }
/// assert!(opened.large.is_empty()); // these dealers are honest
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LargeChunk {
    dealing: Arc<Accepted<Dealing>>,
    mask: RevealedMask,
}

/// The position of a chunk: its share in the list of all shares, and its place in that share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPlace {
    pub(crate) item: usize,
    pub(crate) chunk: usize,
}

/// The mask that hides one chunk, revealed by its recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevealedMask {
    item: u32,
    chunk: u32,
    /// `M`
    mask: G1Affine,
}

/// The position of a chunk that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("chunk {chunk} of share {share} of {recipient} on the {path} path is not below 65536")]
pub struct TooLarge {
    /// The party whose share it is in.
    pub recipient: Party,
    /// The path of the share.
    pub path: SharePath,
    /// The share's place on the path, from zero.
    pub share: usize,
    /// The chunk's place in the share, the least significant one first.
    pub chunk: usize,
}

impl TooLarge {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "chunk-too-large"
    }
}

/// Why a revealed mask does not show a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LargeChunkError {
    /// The dealing has no such chunk.
    #[error("no chunk {chunk} of share {item} in the list of all")]
    Place {
        /// The share's place in the list of all shares.
        item: u32,
        /// The chunk's place in the share.
        chunk: u32,
    },
    /// The mask is false: it is not what the recipient's key gives.
    #[error("mask is not what the recipient's key makes of the ephemeral key")]
    Mask,
    /// The chunk is small, as honest dealers make them.
    #[error("chunk is below 65536")]
    Honest,
}

impl LargeChunkError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Place { .. } => "invalid-value",
            Self::Mask => "payload-mismatch",
            Self::Honest => "no-fault",
        }
    }
}

impl LargeChunk {
    pub(crate) const fn new(dealing: Arc<Accepted<Dealing>>, mask: RevealedMask) -> Self {
        Self { dealing, mask }
    }

    /// The dealing that holds the chunk.
    #[must_use]
    pub const fn dealing(&self) -> &Arc<Accepted<Dealing>> {
        &self.dealing
    }

    pub(crate) const fn mask(&self) -> &RevealedMask {
        &self.mask
    }

    /// Checks the mask, as anybody can, and returns the chunk that it shows to be too large.
    ///
    /// # Errors
    /// If it shows no fault.
    pub fn verify(&self, config: &Config) -> Result<TooLarge, LargeChunkError> {
        self.mask.check(config, &self.dealing)
    }
}

impl RevealedMask {
    /// Length of the encoding: share, chunk, `M`.
    pub(crate) const BYTES: usize = 4 + 4 + 48;

    pub(crate) fn new(
        layout: &Layout,
        body: &Body,
        place: ChunkPlace,
        key: &DecryptionKey,
    ) -> Option<Self> {
        let ephemeral = ephemeral(layout, body, place)?;
        let (item, chunk) = (u32::try_from(place.item).ok()?, u32::try_from(place.chunk).ok()?);
        Some(Self { item, chunk, mask: key.mask(ephemeral).into() })
    }

    /// The chunk of the dealing that the mask shows to be too large.
    pub(crate) fn check(
        &self,
        config: &Config,
        dealing: &Dealing,
    ) -> Result<TooLarge, LargeChunkError> {
        let layout = Layout::new(config);
        let absent = LargeChunkError::Place { item: self.item, chunk: self.chunk };
        let place = self.place().ok_or(absent)?;
        let ephemeral = ephemeral(&layout, &dealing.body, place).ok_or(absent)?;
        let at = place.item * CHUNKS + place.chunk;
        let ciphertext = dealing.body.ciphertexts.get(at).ok_or(absent)?;
        let (recipient, key) = recipient(config, &layout, place.item).ok_or(absent)?;
        check_pairing_product([(self.mask, g_hat()), (-*ephemeral, *key)])
            .map_err(|_| LargeChunkError::Mask)?;
        if is_honest_power(&(G1Projective::from(*ciphertext) - self.mask).into()) {
            return Err(LargeChunkError::Honest);
        }
        let (path, share) = Layout::place(config, place.item);
        Ok(TooLarge { recipient, path, share, chunk: place.chunk })
    }

    fn place(&self) -> Option<ChunkPlace> {
        let (item, chunk) = (usize::try_from(self.item).ok()?, usize::try_from(self.chunk).ok()?);
        (chunk < CHUNKS).then_some(ChunkPlace { item, chunk })
    }

    #[cfg(test)]
    pub(crate) const fn move_to(&mut self, item: u32, chunk: u32) {
        (self.item, self.chunk) = (item, chunk);
    }

    #[cfg(test)]
    pub(crate) const fn replace(&mut self, mask: G1Affine) {
        self.mask = mask;
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { item: reader.u32()?, chunk: reader.u32()?, mask: reader.g1()? })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.item.to_be_bytes(), self.chunk.to_be_bytes()].concat();
        [numbers, self.mask.to_bytes().to_vec()].concat()
    }
}

/// `R_jl` of a chunk.
fn ephemeral<'a>(layout: &Layout, body: &'a Body, place: ChunkPlace) -> Option<&'a G1Affine> {
    let level = layout.entries().find(|entry| entry.item == place.item)?.level;
    body.ephemerals.get(level * CHUNKS + place.chunk)
}

/// The party whose share it is, and its `êkᵢ`.
fn recipient<'a>(
    config: &'a Config,
    layout: &Layout,
    item: usize,
) -> Option<(Party, &'a prefinal_crypto_core::curve::G2Affine)> {
    let party = layout.holders.iter().find(|holder| holder.items.contains(&item))?.party;
    Some((party, config.member(party)?.encryption.g2()))
}
