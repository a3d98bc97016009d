//! A chunk that is larger than honest ones, shown to everybody.
//!
//! The proof of chunking is approximate (`chunking`): a dealer can pass it with chunks that take a
//! recipient long to find (`logarithm`). The recipient finds them all the same, and then accuses:
//!
//! | step   | equation                                                     | by whom       |
//! |--------|--------------------------------------------------------------|---------------|
//! | reveal | `M = R_jl^dk`, of the one chunk                               | recipient `i` |
//! | check  | `e(M, ĝ) = e(R_jl, êkᵢ)`, so `M = ekᵢ^r_jl`                   | anyone        |
//! | judge  | `C_kl − M = g^s` for no `s` with `0 ≤ s < 2¹⁶`               | anyone        |
//!
//! The pairing takes the place of a proof of equal logarithms: `êkᵢ = ĝ^dk` was checked when the key was
//! registered, so there is one `M` that passes, and no challenge to guess. Nothing false can be shown of
//! an honest dealer, whatever recipients do: with that `M` its chunk is below 2¹⁶.
//!
//! **What `M` tells.** One chunk of one share of that dealing, which its dealer knows as well; the sum of
//! all dealings stays as secret as the honest ones among them. And nothing of `dk`: whoever passes the
//! proof of chunking knows `r_jl`, so it could have computed `ekᵢ^r_jl` itself. Without that proof `M`
//! would be an answer to any question about `dk`, another dealer's `R_jl` among them; so masks are
//! revealed of verified dealings alone.
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::curve::hazmat::check_pairing_product;
use crypto_core::curve::{G1Affine, G1Projective};
use crypto_core::generators::g_hat;
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

/// A chunk of a dealing that is too large, with what shows it.
#[derive(Clone, Debug)]
pub struct LargeChunk {
    dealing: Arc<Accepted<Dealing>>,
    mask: RevealedMask,
}

/// Where a chunk stands: its share in the list of all, and its place in the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPlace {
    pub(crate) item: usize,
    pub(crate) chunk: usize,
}

/// What hides one chunk, revealed by its recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevealedMask {
    item: u32,
    chunk: u32,
    /// `M`
    mask: G1Affine,
}

/// Which chunk is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("chunk {chunk} of share {share} of {recipient} on the {path} path is not below 65536")]
pub struct TooLarge {
    /// Whose share.
    pub recipient: Party,
    /// On which path.
    pub path: SharePath,
    /// Its place on the path, from zero.
    pub share: usize,
    /// Its place in the share, the least significant one first.
    pub chunk: usize,
}

/// Why a revealed mask shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LargeChunkError {
    /// The dealing has less of them.
    #[error("no chunk {chunk} of share {item} in the list of all")]
    Place {
        /// Which share.
        item: u32,
        /// Which chunk.
        chunk: u32,
    },
    /// Somebody made it up.
    #[error("mask is not what the recipient's key makes of the ephemeral key")]
    Mask,
    /// As honest dealers make them.
    #[error("chunk is below 65536")]
    Honest,
}

impl LargeChunk {
    pub(crate) const fn new(dealing: Arc<Accepted<Dealing>>, mask: RevealedMask) -> Self {
        Self { dealing, mask }
    }

    /// The dealing it is in.
    #[must_use]
    pub const fn dealing(&self) -> &Arc<Accepted<Dealing>> {
        &self.dealing
    }

    pub(crate) const fn mask(&self) -> &RevealedMask {
        &self.mask
    }

    /// Checks it as anybody would.
    ///
    /// # Errors
    /// If it shows nothing.
    pub fn verify(&self, config: &Config) -> Result<TooLarge, LargeChunkError> {
        self.mask.check(config, &self.dealing)
    }
}

impl RevealedMask {
    /// Encoded: share, chunk, `M`.
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

    /// Which chunk of the dealing it shows to be too large.
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

/// Whose share it is, and `êkᵢ`.
fn recipient<'a>(
    config: &'a Config,
    layout: &Layout,
    item: usize,
) -> Option<(Party, &'a crypto_core::curve::G2Affine)> {
    let party = layout.holders.iter().find(|holder| holder.items.contains(&item))?.party;
    Some((party, config.member(party)?.encryption.g2()))
}
