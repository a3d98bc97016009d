//! Publicly verifiable secret sharing and distributed key generation for weighted committees.
//!
//! ```
//! # use std::sync::Arc;
//! # use prefinal_crypto_core::{access::Party, bls::min_sig};
//! # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
//! # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
//! # use prefinal_weighted_rounding::{Ratio, Stake};
//! # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
//! # let stakes = [4, 3, 2, 1].map(Stake::new);
//! # let shape = Shape::tight(&stakes, Ratio::HALF)?;
//! # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
//! # for stake in stakes {
//! #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
//! #     let public = signer.public_key();
//! #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
//! #     let signer_key = public.verify_possession(&signer.prove_possession())?;
//! #     members.push(Member { stake, encryption, signer: signer_key });
//! #     signers.push(signer);
//! #     keys.push(key);
//! # }
//! # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
//! # let session = Session { context, attempt: 0, purpose: Purpose::Certificates };
//! # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
//! # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
//! use prefinal_pvss_dkg::{Dkg, Progress, field};
//!
//! // Parties deal; the chain orders the bytes, and everybody checks and counts them.
//! let mut dkg = Dkg::new(config.clone());
//! for (party, signer) in (0..).map(Party::new).zip(&signers) {
//!     let bytes = field::deal(&config, party, signer, &mut rng)?.to_bytes();
//!     let dealing = field::verify(&config, field::Dealing::from_bytes(&config, &bytes)?)?;
//!     if dkg.add(Arc::new(dealing))? == Progress::Qualified {
//!         break;
//!     }
//! }
//! let key = dkg.key()?; // the public part; nobody knows the secret
//! let opened = key.decrypt(&config, Party::new(0), keys.remove(0))?; // a party's own shares
//! assert_eq!(opened.shares.slow.expose().len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No party ever knows the secret `h^f(0)`. Every party deals a random polynomial and encrypts its
//! shares to the committee, share by share. Anybody can check a dealing from public data alone. Checked
//! dealings add up to the epoch's key. The secret stays unknown as long as one of their dealers was
//! honest, so the dealers must hold more stake than the adversary can hold. One dealing shares its
//! constant term twice: once for the slow path and once for the fast path.
//!
//! | module      | what it holds                                                              |
//! |-------------|----------------------------------------------------------------------------|
//! | `shape`     | [`Shape`]: stake or a rounding of it becomes shares and thresholds          |
//! | `config`    | [`Config`]: session, committee, stake, weights, thresholds, and their digest |
//! | `purpose`   | [`Purpose`]: the one use that a key is made for                             |
//! | `key`       | [`EncryptionKey`] and the proof that its owner knows the secret half        |
//! | `dealing`   | [`Dealing`], its bytes and its size                                         |
//! | `deal`      | [`deal`]: the dealer's side                                                 |
//! | `proof`     | the dealer's signature and proof of knowledge of `f(0)`                     |
//! | `opening`   | the dealer's proof that it knows every share                                |
//! | `verify`    | [`verify`], [`verify_all`]: what is checked, and the differences from the papers |
//! | `batch`     | checking many dealings at once, and naming the bad ones                     |
//! | `equations` | the equations and their soundness                                          |
//! | `aggregate` | [`Aggregate`]: the sum, checked by anybody, decrypted by each party         |
//! | [`field`]   | dealings whose shares are field elements                                    |
//! | `dkg`       | [`Dkg`]: which dealings count, in the order that the engine finalized       |
//! | [`protocol`] | all of it as one machine: messages, evidence, restarts, recovery, the key  |
//! | [`guide`]   | what a chain provides, what parties store, what anybody can check           |
//!
//! The crate has functions and values only: no clock and no threads. See also: how stake becomes weight
//! (`prefinal_weighted_rounding`), and what the shares are used for (`prefinal_crypto_core::wvuf`,
//! `prefinal_crypto_core::threshold`). The order of the dealings comes from the consensus engine.
#![forbid(unsafe_code)]

mod aggregate;
#[cfg(test)]
mod attacks;
mod batch;
mod config;
mod deal;
mod dealing;
mod dkg;
mod equations;
pub mod field;
#[cfg(test)]
mod fixture;
#[doc = include_str!("guide.md")]
pub mod guide {}
mod accepted;
mod key;
mod low_degree;
mod opening;
mod proof;
pub mod protocol;
mod purpose;
mod shape;
mod verify;
mod wire;

pub use accepted::Accepted;
pub use aggregate::{Aggregate, AggregateError, DecryptError, Shares};
pub use config::{Config, ConfigError, Dealer, Member, Session};
pub use deal::{DealError, deal};
pub use dealing::Dealing;
pub use dkg::{AnyDealing, Dkg, DkgError, Progress};
pub use key::{DecryptionKey, EncryptionKey, KeyError, KeyRegistration, NotOpened};
pub use proof::ProofError;
pub use purpose::{OtherPurpose, Purpose, PurposeError};
pub use shape::{Paths, Shape, ShapeError, SharePath};
pub use verify::{DealingError, SharingError, verify, verify_all};
pub use wire::DecodeError;
