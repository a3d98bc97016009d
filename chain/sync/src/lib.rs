//! How a node that is no validator follows a chain and verifies everything, through peers that may lie.
//!
//! A follower catches up with one peer; the host carries messages and runs jobs, here one after the other:
//! ```
//! # use std::collections::{BTreeMap, VecDeque};
//! # use ed25519_consensus::SigningKey;
//! # use prefinal_crypto_core::bls::min_sig::SecretKey;
//! # use prefinal_crypto_core::certificate::StateStatement;
//! # use prefinal_execution::{Block, BlockId, Executor, Header, Height, Store};
//! # use prefinal_light::{CertifiedBlock, KeyVerifier};
//! # use prefinal_protocol::{ChainId, EpochId, Instant, Machine, Output, Slot, Value};
//! # use prefinal_state::transfers::{AccountId, Action, Amount, Nonce, Transfer, Transfers, genesis_rows};
//! # use prefinal_state::{Genesis, StateStore, StoredTransaction};
//! # use prefinal_sync::{Attestation, BlockNames};
//! # use redb::{Builder, backends::InMemoryBackend};
//! use prefinal_sync::{
//!     Config, Effect, Follower, HashedNames, Input, Past, PeerId, Replay, Server, StoreSource,
//!     Strategy,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # type Certified = Attestation<prefinal_crypto_core::bls::min_sig::Signature>;
//! # let chain = ChainId::new([7; 32]);
//! # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
//! # let (key, account) = (SecretKey::random(&mut rng), SigningKey::from([1; 32]));
//! # let sender = AccountId::new(account.verification_key().to_bytes());
//! # let rows = genesis_rows(&BTreeMap::from([(sender, Amount::new(1000))]))?;
//! # let genesis = Genesis { block: BlockId::new([0; 32]), rows };
//! # let open = || {
//! #     let database = Builder::new().create_with_backend(InMemoryBackend::new()).unwrap();
//! #     StateStore::<Transfers, Certified>::within(database, &genesis).unwrap()
//! # };
//! # let (executor, mut theirs, mut store) = (Transfers::new(chain), open(), open());
//! # for height in 1..=20 {
//! #     let parent = theirs.committed()?.block;
//! #     let to = AccountId::new([height as u8; 32]);
//! #     let (nonce, slot) = (Nonce::new(height - 1), Slot::new(height));
//! #     let [fee, amount] = [1, 2].map(Amount::new);
//! #     let (expires, action) = (Height::new(99), Action::Pay { to });
//! #     let transfer = Transfer { sender, nonce, expires, fee, amount, action }.sign(chain, &account);
//! #     let content = HashedNames.content(&[transfer.to_bytes()]);
//! #     let mut header = Header { id: parent, parent, height: Height::new(height), slot };
//! #     header.id = HashedNames.name(&header, &content);
//! #     let block = Block::new(header, vec![transfer]);
//! #     let done = executor.seal(executor.head(&theirs.view()?, &block)?, &block)?;
//! #     let (epoch, value) = (EpochId::new(0), Value::new(header.id.to_bytes()));
//! #     let unsigned = CertifiedBlock { epoch, slot, value, roots: done.roots, certificate: () };
//! #     let message = unsigned.statement(chain).to_bytes();
//! #     let certificate = key.sign(StateStatement::THRESHOLD.domain(), &message);
//! #     let attestation = Attestation { epoch, certificate, content, place: None, randomness: None };
//! #     theirs.write_certified(&block, &done, &attestation)?;
//! # }
//! # let (endings, group_key) = (BTreeMap::new(), key.public_key());
//! // The peer: what its store has.
//! let source = StoreSource { store: &theirs, endings: &endings, snapshot_every: 10, hops: 0 };
//! let mut server = Server::new(Default::default());
//!
//! // The follower: trusts the key of certificates, 96 bytes.
//! let config = Config { snapshot_beyond: Some(5), ..Config::new(Replay::Deltas, [1; 32]) };
//! let trust = KeyVerifier::new(chain, group_key);
//! let mut follower = Follower::new(config, trust, HashedNames, Past::of(&store)?);
//!
//! let peer = PeerId::new(1);
//! let mut inputs = VecDeque::from([Input::Connected(peer)]);
//! while let Some(input) = inputs.pop_front() {
//!     follower.handle(Instant::START, input);
//!     while let Some(output) = follower.poll() {
//!         let Output::Do(effect) = output else { continue };
//!         match effect {
//!             Effect::Send { peer, bytes } => {
//!                 let bytes = server.answer(&source, &bytes)?;
//!                 inputs.push_back(Input::Received { peer, bytes });
//!             }
//!             Effect::Check(job) => inputs.push_back(Input::Checked(job.run())),
//!             Effect::Execute(job) => inputs.push_back(Input::Executed(job.run(&executor))),
//!             Effect::Store(job) => inputs.push_back(Input::Stored(job.run(&mut store))),
//!             other => println!("{other:?}"),
//!         }
//!     }
//! }
//! assert_eq!(store.committed()?, theirs.committed()?);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it has |
//! |--------|-------------|
//! | (root) | [`Follower`], the machine, with its [`Config`], jobs and faults; [`Server`], which answers it; [`Trust`] and [`BlockNames`], which a chain chooses |
//! | [`wire`] | what they say to each other, as bytes |
//!
//! **Modes.** The state behind a block is reached by executing it, or by applying what it changes ([`Replay`]). A
//! follower that is far behind may fetch a state whole, and goes on from there (`Config::snapshot_beyond`).
//!
//! **Stages.** Answers are fetched ahead of need, verified as they come, executed or applied in order, and written.
//! All four happen at once: the expensive ones leave as jobs, and each bound in [`FollowerLimits`] is on one of them.
//! [`Strategy::Naive`] does one after the other, with a peer that is drawn, for experiments.
//!
//! **What is verified before it is stored.** For blocks, deltas and states, in this order, against:
//!
//! | what | against |
//! |------|---------|
//! | height, parent, transactions | the block's name, or its receipts' root ([`BlockNames`]) |
//! | name, slot, roots | the certificate, of the committee of its epoch or of the key ([`Trust`]) |
//! | results | the root of the receipts |
//! | changed rows | the root of the state, to which they must lead |
//! | the slot's value | the key of the beacon |
//! | rows of a state | its root, range by range, each on its own |
//! | a committee | the one before; it is adopted with the first block that it certifies |
//!
//! So a peer can withhold, but not deceive. One whose answer fails a check is banned, with the check as evidence
//! ([`Misconduct`]). One that is late or lacks what it said it had is left alone for a while, and what it was
//! asked for is asked of another. With one honest peer among any number the follower goes on. Certificates of more
//! than a third of lying stake are not in the power of peers: a follower that sees the signs of it stops
//! ([`StopReason`]).
//!
//! **Crashes.** The only record is an [`EpochEnding`](prefinal_light::EpochEnding), to be kept for ever. All else
//! is read from the store ([`Past`]), each of whose calls happens or does not. A half restored state is gone on with.
//!
//! **Memory.** What is asked for and what is held and not durable stays within `FollowerLimits::window_bytes` of
//! encoded bytes, and three answers beyond. The decoder refuses lists before it takes memory for them.
//!
//! **The past** is kept whole unless [`Keep`] has a limit, of blocks or of bytes. Then the oldest blocks are forgotten
//! between two writes, a few at a time; the last ones stay for peers that fetch the newest state and what follows. A
//! [`Server`] says in its summary what there is, and never offers more. A chain's validators keep everything: a party
//! that was away reads their blocks.
//!
//! **Left to others.** Links, and how much a peer may ask for, are the host's. That a chain's tip is the *latest* one
//! no proof shows.
#![forbid(unsafe_code)]

mod cache;
mod check;
mod config;
mod event;
mod fault;
mod fetch;
mod follower;
mod keep;
mod names;
mod peers;
mod persist;
mod process;
mod replay;
mod restore;
mod server;
mod size;
mod source;
mod trust;
pub mod wire;

pub use crate::cache::CacheCounts;
pub use crate::check::{CheckJob, CheckVerdict};
pub use crate::config::{Config, FollowerLimits, Past, Replay, Strategy};
pub use crate::event::{Effect, Input, Misconduct, Output};
pub use crate::fault::{Fault, StopReason};
pub use crate::follower::Follower;
pub use crate::keep::{Keep, Kept};
pub use crate::names::{BlockNames, CertifiedPlaces, HashedNames};
pub use crate::peers::{PeerId, PeerScore};
pub use crate::persist::{StoreJob, StoreVerdict};
pub use crate::process::{ExecuteJob, ExecuteVerdict};
pub use crate::server::{ServeError, Server, ServerLimits};
pub use crate::size::JobSize;
pub use crate::source::{Source, SourceAnchor, SourceBlock, StoreSource};
pub use crate::trust::{Attestation, Trust};
