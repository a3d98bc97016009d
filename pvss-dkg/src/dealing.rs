//! The dealing of group elements: its parts and its bytes.
//!
//! | part              | what                                    | bytes               |
//! |-------------------|-----------------------------------------|---------------------|
//! | version, dealer   |                                         | 1 + 4               |
//! | `F`               | `g^f(0)`                                | 48                  |
//! | `T`, `z`          | proof of knowledge of `f(0)`            | 48 + 32             |
//! | signature         | of all the rest                         | 48                  |
//! | `T̂`, `ẑ`          | proof of knowledge of all shares        | 96 + 32             |
//! | `V̂₀`              | `ĝ^f(0)`, shared by both paths          | 96                  |
//! | `V̂₁ … V̂_W`        | `ĝ^f(ω^(k−1))`, for each path           | 96 · W              |
//! | `R₁ … R_W`        | `g^r_k`, for each path                  | 48 · W              |
//! | `C₁ … C_W`        | `h^f(ω^(k−1)) · ek^r_k`, for each path  | 48 · W              |
//!
//! So a dealing has exactly `405 + 192·W·p` bytes for `W` shares on `p` paths
//! ([`Config::dealing_bytes`]). Bytes of any other length are refused before a point is read. There are
//! no length fields: the configuration says what must be there.
//!
//! Each share on each path has a separate randomness `r_k`. Two shares encrypted under one key with one
//! `r` would reveal `C − C' = h^(f − f')` to everybody, for each party and between the paths.
//!
//! See also `deal` (how a dealing is made) and `verify` (what makes it valid).
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{G1Affine, G2Affine};

use crate::config::Config;
use crate::opening::Opening;
use crate::proof::Contribution;
use crate::shape::SharePath;
use crate::wire::{DecodeError, Reader, VERSION};

/// A dealing as it came from the wire. Its size is right; nothing else is checked yet.
///
/// See the example at [`deal`](crate::deal()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealing {
    pub(crate) contribution: Contribution,
    pub(crate) signature: min_sig::Signature,
    pub(crate) opening: Opening,
    pub(crate) body: Body,
}

/// One secret, shared once per path: of a single dealing, or of a sum of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// `V̂₀`.
    pub(crate) public_key: G2Affine,
    pub(crate) slow: Sharing,
    pub(crate) fast: Option<Sharing>,
}

/// One polynomial in the exponent, with its values encrypted. Each list has an entry per share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// `V̂ₖ`.
    pub(crate) commitments: Vec<G2Affine>,
    /// `Rₖ`.
    pub(crate) ephemerals: Vec<G1Affine>,
    /// `Cₖ`.
    pub(crate) ciphertexts: Vec<G1Affine>,
}

impl Config {
    /// The exact length of a dealing in bytes.
    #[must_use]
    pub const fn dealing_bytes(&self) -> usize {
        // Version, dealer, F, T, z, signature, opening.
        1 + 4 + 48 + 48 + 32 + 48 + Opening::BYTES + self.body_bytes()
    }

    /// The exact length in bytes of an aggregate of this number of dealings.
    #[must_use]
    pub const fn aggregate_bytes(&self, dealers: usize) -> usize {
        // Version, count, contributions, signature.
        1 + 4 + dealers * Contribution::BYTES + 48 + self.body_bytes()
    }

    const fn body_bytes(&self) -> usize {
        96 + self.shares() * self.shape().paths() * (96 + 48 + 48)
    }
}

impl Dealing {
    /// Reads a dealing made under `config`.
    ///
    /// # Errors
    /// If the length is not the one that `config` asks for (checked first), or an encoding is not canonical.
    pub fn from_bytes(config: &Config, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (got, expected) = (bytes.len(), config.dealing_bytes());
        if got != expected {
            return Err(DecodeError::Length { got, expected });
        }
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let dealer = reader.dealer(config.dealers().len())?;
        let (commitment, nonce, response) = (reader.g1()?, reader.g1()?, reader.scalar()?);
        let signature = reader.signature()?;
        let opening = Opening::read(&mut reader)?;
        let body = Body::read(config, &mut reader)?;
        reader.end()?;
        let seal = opening.seal(&body);
        let contribution = Contribution { dealer, commitment, body: seal, nonce, response };
        Ok(Self { contribution, signature, opening, body })
    }

    /// The encoding, as in the table of this module.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Contribution { dealer, commitment, nonce, response, .. } = &self.contribution;
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&dealer.get().to_be_bytes());
        bytes.extend_from_slice(&commitment.to_bytes());
        bytes.extend_from_slice(&nonce.to_bytes());
        bytes.extend_from_slice(&response.to_bytes());
        bytes.extend_from_slice(&self.signature.to_bytes());
        self.opening.write(&mut bytes);
        self.body.write(&mut bytes);
        bytes
    }

    /// The party that the dealing names as its dealer.
    #[must_use]
    pub const fn dealer(&self) -> Party {
        self.contribution.dealer
    }
}

impl Body {
    pub(crate) fn sharing(&self, path: SharePath) -> Option<&Sharing> {
        match path {
            SharePath::Slow => Some(&self.slow),
            SharePath::Fast => self.fast.as_ref(),
        }
    }

    /// The sharings of all paths, slow first.
    pub(crate) fn sharings(&self) -> impl Iterator<Item = (SharePath, &Sharing)> {
        [SharePath::Slow, SharePath::Fast]
            .into_iter()
            .filter_map(|path| self.sharing(path).map(|sharing| (path, sharing)))
    }

    /// The hash that all challenges about it are drawn from.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-BODY");
        transcript.append(b"body", &bytes);
        transcript.bytes(b"digest")
    }

    pub(crate) fn read(config: &Config, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let public_key = reader.g2()?;
        let slow = Sharing::read(config.shares(), reader)?;
        let fast = match config.shape().threshold(SharePath::Fast) {
            Some(_) => Some(Sharing::read(config.shares(), reader)?),
            None => None,
        };
        Ok(Self { public_key, slow, fast })
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.public_key.to_bytes());
        for (_, sharing) in self.sharings() {
            for point in &sharing.commitments {
                bytes.extend_from_slice(&point.to_bytes());
            }
            for point in sharing.ephemerals.iter().chain(&sharing.ciphertexts) {
                bytes.extend_from_slice(&point.to_bytes());
            }
        }
    }
}

impl Sharing {
    fn read(shares: usize, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let commitments = reader.g2s(shares)?;
        // Read together, because many points are cheaper to check.
        let mut ephemerals = reader.g1s(2 * shares)?;
        let ciphertexts = ephemerals.split_off(shares);
        Ok(Self { commitments, ephemerals, ciphertexts })
    }
}
