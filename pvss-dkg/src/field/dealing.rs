//! The dealing of field elements: its parts and its bytes.
//!
//! | part              | what                                            | bytes                       |
//! |-------------------|-------------------------------------------------|-----------------------------|
//! | version, dealer   |                                                 | 1 + 4                       |
//! | share             | the share that is dealt on; 0 if a fresh secret  | 4                           |
//! | `F`, `T`, `z`     | `g^f(0)`, knowledge of `f(0)`                    | 48 + 48 + 32                |
//! | signature         | of all the rest                                 | 48                          |
//! | `V̂₀`              | `g₂^f(0)`                                       | 96                          |
//! | `V̂ₖ`              | `g₂^f(ω^k)`, for each path                      | 96 · W · p                  |
//! | `R_jl`            | for each level                                  | 768 · J                     |
//! | `C_kl`            | for each share                                  | 768 · W · p                 |
//! | proof             | see `proof`; `H` parties hold shares             | 3632 + 80 · (H + J)         |
//!
//! In total `3913 + 864·W·p + 848·J + 80·H` bytes for `W` shares on `p` paths, `H` parties that hold
//! any and `J = p·max w` levels ([`Config::field_dealing_bytes`]). Bytes of any other length are
//! refused before a point is read.
use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{G1Affine, G2Affine};

use super::chunk::CHUNKS;
use super::layout::Layout;
use super::proof::{Proof, write_points};
use crate::config::Config;
use crate::proof::Contribution;
use crate::shape::SharePath;
use crate::wire::{DecodeError, Reader, VERSION};

/// A dealing as it came from the wire. Its size is right; nothing else is checked yet.
///
/// See the example at [`deal`](crate::field::deal()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealing {
    /// The share of the key before that is dealt on, if that key is handed over.
    pub(crate) share: Option<ShareIndex>,
    pub(crate) contribution: Contribution,
    pub(crate) signature: min_sig::Signature,
    pub(crate) body: Body,
    pub(crate) proof: Proof,
}

/// One secret, shared once per path, with its encrypted chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// `V̂₀`
    pub(crate) public_key: G2Affine,
    /// `V̂ₖ`, path by path
    pub(crate) commitments: Vec<G2Affine>,
    /// `R_jl`, level by level
    pub(crate) ephemerals: Vec<G1Affine>,
    /// `C_kl`, share by share
    pub(crate) ciphertexts: Vec<G1Affine>,
}

impl Config {
    /// The exact length in bytes of a dealing with field elements.
    #[must_use]
    pub fn field_dealing_bytes(&self) -> usize {
        let layout = Layout::new(self);
        let head = 1 + 4 + 4 + 48 + 48 + 32 + 48;
        let body = 96 + 96 * layout.items + 48 * CHUNKS * (layout.levels + layout.items);
        head + body + Proof::bytes(layout.holders.len(), layout.levels)
    }
}

impl Dealing {
    /// Reads a dealing made under `config`.
    ///
    /// # Errors
    /// If the length is not the one that `config` asks for (checked first), or an encoding is not canonical.
    pub fn from_bytes(config: &Config, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (got, expected) = (bytes.len(), config.field_dealing_bytes());
        if got != expected {
            return Err(DecodeError::Length { got, expected });
        }
        let layout = Layout::new(config);
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let dealer = reader.dealer(config.dealers().len())?;
        let share = ShareIndex::new(reader.u32()?);
        let (commitment, nonce, response) = (reader.g1()?, reader.g1()?, reader.scalar()?);
        let signature = reader.signature()?;
        let body = Body::read(&layout, &mut reader)?;
        let proof = Proof::read(&layout, &mut reader)?;
        reader.end()?;
        let seal = seal(share, &body, &proof);
        let contribution = Contribution { dealer, commitment, body: seal, nonce, response };
        Ok(Self { share, contribution, signature, body, proof })
    }

    /// The encoding, as in the table of this module.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Contribution { dealer, commitment, nonce, response, .. } = &self.contribution;
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&dealer.get().to_be_bytes());
        let share = self.share.map_or(0, ShareIndex::get);
        bytes.extend_from_slice(&share.to_be_bytes());
        bytes.extend_from_slice(&commitment.to_bytes());
        bytes.extend_from_slice(&nonce.to_bytes());
        bytes.extend_from_slice(&response.to_bytes());
        bytes.extend_from_slice(&self.signature.to_bytes());
        self.body.write(&mut bytes);
        self.proof.write(&mut bytes);
        bytes
    }

    /// The party that the dealing names as its dealer.
    #[must_use]
    pub const fn dealer(&self) -> Party {
        self.contribution.dealer
    }
}

impl Body {
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-BODY");
        transcript.append(b"body", &bytes);
        transcript.bytes(b"digest")
    }

    /// `V̂ₖ` of one path.
    pub(crate) fn path(&self, config: &Config, path: SharePath) -> Option<&[G2Affine]> {
        let shares = config.shares();
        config.shape().threshold(path)?;
        let start = match path {
            SharePath::Slow => 0,
            SharePath::Fast => shares,
        };
        self.commitments.get(start..start + shares)
    }

    fn read(layout: &Layout, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let public_key = reader.g2()?;
        let commitments = reader.g2s(layout.items)?;
        // Read together, because many points are cheaper to check.
        let ephemerals = layout.levels * CHUNKS;
        let mut points = reader.g1s(ephemerals + layout.items * CHUNKS)?;
        let ciphertexts = points.split_off(ephemerals);
        Ok(Self { public_key, commitments, ephemerals: points, ciphertexts })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        write_points(bytes, &[self.public_key]);
        write_points(bytes, &self.commitments);
        write_points(bytes, &self.ephemerals);
        write_points(bytes, &self.ciphertexts);
    }
}

/// The hash of everything in a dealing that its contribution does not hold.
pub(crate) fn seal(share: Option<ShareIndex>, body: &Body, proof: &Proof) -> [u8; 32] {
    let mut bytes = Vec::new();
    proof.write(&mut bytes);
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-SEAL");
    transcript.append_u64(b"share", u64::from(share.map_or(0, ShareIndex::get)));
    transcript.append(b"body", &body.digest());
    transcript.append(b"proof", &bytes);
    transcript.bytes(b"seal")
}
