//! A client that trusts one committee or one key, and verifies a chain's state, transactions and randomness.
//!
//! The committee of epoch 0 announces its successor; a client that trusts the genesis follows, and reads an account:
//! ```
//! # use std::collections::BTreeMap;
//! # use prefinal_crypto_core::access::Party;
//! # use prefinal_crypto_core::bls::min_sig::SecretKey;
//! # use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate, StateStatement};
//! # use prefinal_execution::{BlockId, Header, Height};
//! # use prefinal_protocol::{ChainId, Value};
//! # use prefinal_state::transfers::{Amount, Transfers, genesis_rows};
//! # use prefinal_state::{Genesis, StateStore};
//! # use prefinal_light::{AccountId, CertifiedBlock, Member};
//! use prefinal_light::{EpochEnding, EpochRow, LightObject, MemberList, StakeVerifier, Waypoint};
//! use prefinal_protocol::{EpochId, Slot};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
//! # let keys: Vec<SecretKey> = (0..4).map(|_| SecretKey::random(&mut rng)).collect();
//! # let member = |key: &SecretKey| Member { key: key.public_key(), possession: key.prove_possession(), stake: 10 };
//! # let list = |keys: &[SecretKey]| MemberList { members: keys.iter().map(member).collect() };
//! # let (members, next) = (list(&keys[..3]), list(&keys));
//! # let chain = ChainId::new([7; 32]);
//! # let alice = AccountId::new([1; 32]);
//! # let announced = EpochRow::new(EpochId::new(1), Slot::new(100), &next);
//! # let mut rows = genesis_rows(&BTreeMap::from([(alice, Amount::new(250))]))?;
//! # rows.insert(announced.key(), announced.to_row().as_slice().into());
//! # let folder = tempfile::tempdir()?;
//! # let genesis = Genesis { block: BlockId::new([0; 32]), rows };
//! # let store = StateStore::<Transfers, Vec<u8>>::create(&folder.path().join("state"), &genesis)?;
//! # let roots = prefinal_light::Roots {
//! #     state: *store.view()?.state_root().as_bytes(),
//! #     receipts: [0; 32],
//! # };
//! # let certified = |epoch, slot, keys: &[SecretKey]| {
//! #     let (epoch, slot, value) = (EpochId::new(epoch), Slot::new(slot), Value::new([5; 32]));
//! #     let unsigned = CertifiedBlock { epoch, slot, value, roots, certificate: () };
//! #     let message = unsigned.statement(chain).to_bytes();
//! #     let electors = keys.iter().map(|key| {
//! #         let proof = key.prove_possession();
//! #         Elector { key: key.public_key().verify_possession(&proof).unwrap(), stake: 10 }
//! #     });
//! #     let electorate = Electorate::more_than_two_thirds(electors.collect()).unwrap();
//! #     let votes = (0..).map(Party::new).zip(keys.iter().map(|key| key.sign(StateStatement::DOMAIN, &message)));
//! #     let votes = votes.collect();
//! #     let made = Certificate::assemble(&electorate, StateStatement::DOMAIN, &message, &votes);
//! #     CertifiedBlock { epoch, slot, value, roots, certificate: made.unwrap().into_inner() }
//! # };
//! # let shown = store.prove(&announced.key())?;
//! # let ending = EpochEnding {
//! #     block: certified(0, 90, &keys[..3]),
//! #     first: Slot::new(100),
//! #     changes: members.changes_to(&next).unwrap(),
//! #     proof: shown.proof,
//! # };
//! # let block = certified(1, 120, &keys);
//! # let account = store.prove(&alice.key())?;
//! # let (row, proof) = (account.value, account.proof);
//! # let (members, ending) = (members.to_wire(), ending.to_wire());
//! // Trust: 82 bytes, from the genesis or from somebody who has followed the chain.
//! # let (first, genesis) = (Slot::new(1), MemberList::from_wire(&members)?);
//! let waypoint = Waypoint { chain, epoch: EpochRow::new(EpochId::new(0), first, &genesis) };
//!
//! // From here on everything comes from anybody, over any network.
//! let mut client = StakeVerifier::new(&waypoint, &MemberList::from_wire(&members)?)?;
//! client.advance(&EpochEnding::from_wire(&ending)?)?;
//! assert_eq!(client.epoch(), EpochId::new(1));
//! let verified = client.verify(&block)?;
//! let account = verified.verify_account(alice, row.as_deref(), &proof)?;
//! assert_eq!(account.balance.get(), 250);
//! # Ok(())
//! # }
//! ```
//!
//! | trust | bytes | certificate | from epoch to epoch |
//! |---|---|---|---|
//! | [`Waypoint`] | 80 | multi-signature in exact stake | [`StakeVerifier::advance`], one [`EpochEnding`] each |
//! | key of certificates | 96 | threshold signature of 48 bytes ([`KeyVerifier`]) | nothing: the key is handed over |
//! | key of a beacon | 96 | the value's own signature ([`BeaconVerifier`]) | nothing: the key is handed over |
//! | epoch of a weighted VUF ([`vuf`]) | 32 | the partials of a slot ([`VufVerifier`]) | [`VufFollower::advance`], one [`VufHandover`] each |
//!
//! **What is certified.** A certificate says that the value of a slot leaves a state and receipts with these
//! [`Roots`]. So it is also one of the value, which is the block's hash. Under the roots [`VerifiedBlock`]
//! verifies rows of the state, that there is no such row, and transactions with their receipts.
//!
//! **Epoch endings.** A chain announces its next committee in a row of its state ([`EpochRow`]), as it keeps
//! everything that its blocks decide. Those who certify that state certify the next committee with it: nothing
//! else has to be signed, and the contract that holds back certificates of what is not final holds for both.
//! An ending is a certified block, what changes of the committee, and the path of the row. A new key comes with its
//! proof of possession; keys that stay were checked before.
//!
//! **What a client believes.** Up to a third of an epoch's stake may lie. More than that, and for the key as much as
//! its committee's rounding says, can certify anything. That a state is the *latest* is not shown by any proof: a
//! client has no clock, and asks several peers.
//!
//! [`wire`] has the formats. There is no `std`, no I/O and no randomness here, and no input makes it panic.
//! Costs are listed in [`verifier`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod epoch;
mod error;
mod members;
mod proof;
pub mod verifier;
pub mod vuf;
pub mod wire;

pub use prefinal_contract::Binding;
pub use prefinal_execution::Roots;
pub use prefinal_state::TransactionResult;
pub use prefinal_state::account::{Account, AccountError, AccountId};
pub use prefinal_state::proof::{ListProof, StateKey, StateProof};

pub use crate::block::{CertifiedBlock, Claim, VerifiedBlock};
pub use crate::epoch::{EpochEnding, EpochRow, Waypoint};
pub use crate::error::{
    AccountClaimError, BeaconError, BlockError, EndingError, LightProofError, LightWireError,
    MembersError, TrustError,
};
pub use crate::members::{Member, MemberChange, MemberChanges, MemberList};
pub use crate::proof::{KeyProof, StakeProof};
pub use crate::verifier::{BeaconVerifier, KeyVerifier, StakeVerifier};
pub use crate::vuf::{
    VufEpoch, VufFollower, VufHandover, VufKeys, VufKeysError, VufPath, VufPathKeys, VufProof,
    VufValueError, VufVerifier,
};
pub use crate::wire::LightObject;
