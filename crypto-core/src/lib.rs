//! Secret sharing, threshold signatures and encryption, and the weighted verifiable unpredictable function.
//!
//! A committee shares a key and signs a round of a beacon with it, where `rng` is a generator of random
//! numbers ([`entropy`] says which):
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use prefinal_crypto_core::access::{Access, Party, Threshold};
//! # use prefinal_crypto_core::bls::{Domain, MinSig};
//! # use prefinal_crypto_core::commitment::Commitment;
//! # use prefinal_crypto_core::curve::Scalar;
//! # use prefinal_crypto_core::drand::RoundNumber;
//! # use prefinal_crypto_core::polynomial::{Placement::Consecutive, Polynomial};
//! # use prefinal_crypto_core::secret::Secret;
//! use prefinal_crypto_core::threshold::{KeyShares, Message, Purpose, Setup, SigningCommittee};
//!
//! # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
//! let access = Access::new(&[2, 1, 1])?; // three parties, the first holds two of four shares
//! let threshold = Threshold::new(3, access.total())?;
//! let key = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
//! let setup = Setup { access, threshold, placement: Consecutive, purpose: Purpose::Rounds };
//! let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&key))?;
//! let shares = key.shares(committee.points());
//! let mut partials = BTreeMap::new();
//! for party in [Party::new(0), Party::new(2)] {
//!     let own = Secret::new(shares.expose()[committee.access().range(party)].to_vec());
//!     let signer = KeyShares::new(party, own).check(&committee)?;
//!     partials.insert(party, signer.partial(&Message::round(RoundNumber::FIRST))?);
//! }
//! let signature =
//!     committee.optimistic(&Message::round(RoundNumber::FIRST), partials)?.combine()?;
//! signature.verify(&committee.group_key(), Domain::BASIC, &RoundNumber::FIRST.message())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module         | what                                                               |
//! |----------------|--------------------------------------------------------------------|
//! | [`curve`]      | scalars, points, pairings, hash to curve: the crate `prefinal_bls12_381`    |
//! | [`generators`] | `h`, `ĝ` and `ḡ`, hashed to the curve                              |
//! | [`hedge`]      | random draws that do not repeat even if the generator does         |
//! | [`secret`]     | values that are wiped and never printed                            |
//! | [`entropy`]    | seeds for generators, refused if the source is visibly broken      |
//! | [`verified`]   | values that passed a check                                         |
//! | [`access`]     | parties, the share indices that they hold, thresholds              |
//! | [`context`]    | chain, epoch, committee: all messages but drand's rounds contain them |
//! | [`challenge`]  | Fiat–Shamir challenges from a transcript                           |
//! | [`polynomial`] | evaluation and interpolation, where shares sit                     |
//! | [`commitment`] | Feldman: a polynomial in the exponent                              |
//! | [`sharing`]    | one secret, shared with one polynomial or with two                 |
//! | [`bls`]        | signatures: single, aggregate, in batches, in both variants        |
//! | [`certificate`] | a quorum, counted in exact stake, in one aggregate signature      |
//! | [`draw`]       | random numbers for transactions, from the random value of a slot   |
//! | [`drand`]      | rounds of drand's beacons and of Prefinal's beacons                |
//! | [`threshold`]  | BLS signatures by a committee whose key nobody holds               |
//! | [`wvuf`]       | the weighted verifiable unpredictable function, and its audit      |
//! | [`elgamal`]    | encryption to a committee, opened by its decryption shares         |
//! | [`quorum`]     | the error type that `threshold`, `wvuf` and `elgamal` share        |
//! | [`timelock`]   | encryption to a round or slot, opened by its signature             |
//! | [`bisect`]     | finds which equations of a batch do not hold                       |
//! | [`wire`]       | versioned, canonical encodings of all of these                     |
//! | [`tags`]       | the domain tag of every hash                                       |
//!
//! This crate counts shares. Only certificates count stake; the crate `prefinal_weighted_rounding` turns stake
//! into shares. The crate `prefinal_pvss_dkg` deals the shares out. Nothing here uses a network.
#![no_std]

extern crate alloc;

#[cfg(feature = "std")]
extern crate std;

#[doc(inline)]
pub use prefinal_bls12_381 as curve;
/// The traits of random generators, in the version that functions here take. [`entropy`] says which generator
/// to use.
pub use rand_core;

pub mod access;
pub mod bisect;
pub mod bls;
pub mod certificate;
pub mod challenge;
pub mod commitment;
pub mod context;
pub mod drand;
pub mod draw;
pub mod elgamal;
pub mod entropy;
mod equations;
pub mod generators;
pub mod hedge;
pub mod polynomial;
pub mod quorum;
pub mod secret;
pub mod sharing;
#[doc = include_str!("tags.md")]
pub mod tags {}
pub mod threshold;
pub mod timelock;
pub mod verified;
pub mod wire;
pub mod wvuf;
