//! What the processes say to each other: frames of Borsh over pipes, each behind its length.
use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal::dkg::KeyRegistration;
use prefinal::{Block, Bls, Message, Party, Registration, Slot};

/// The keys of a party: for the first committee, and for the second.
pub type Keys = (Registration, KeyRegistration);

/// A frame from a party to the leader.
#[derive(BorshSerialize, BorshDeserialize)]
pub enum FromParty {
    Keys(Box<Keys>),
    /// The party runs, and this slot is final there. It wants the blocks behind it.
    Ready(Option<Slot>),
    /// A vote for the proposal, with the partial that leaves with it.
    Vote(Slot, Option<Message<Bls>>),
    /// A message of the beacon, to one party or to all others.
    Send(Option<Party>, Message<Bls>),
    /// A transaction of the key generation.
    Submit(Vec<u8>),
    /// From this slot on, the votes of these stakes count.
    Committee(Slot, Vec<u128>),
    /// The first slot with a value, and the group key.
    Key(Slot, Vec<u8>),
    /// A slot's value: the path on which it came, and a signature under the group key.
    Value(Slot, String, Vec<u8>),
    /// A line for people.
    Say(String),
}

/// A frame from the leader to a party.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub enum ToParty {
    Genesis(Vec<Keys>),
    /// A block that the party may vote for.
    Proposal(Slot, Block),
    /// A block that is final.
    Final(Slot, Block),
    /// From a peer, with its vote or alone.
    Message(Party, Message<Bls>),
}

pub fn write(to: &mut impl Write, frame: &impl BorshSerialize) -> io::Result<()> {
    let bytes = borsh::to_vec(&borsh::to_vec(frame)?)?;
    to.write_all(&bytes)?;
    to.flush()
}

pub fn read<F: BorshDeserialize>(from: &mut impl Read) -> io::Result<F> {
    borsh::from_slice(&Vec::deserialize_reader(from)?)
}
