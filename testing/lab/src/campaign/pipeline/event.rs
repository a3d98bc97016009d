//! What happens to a party, what it wants done, and what is noted of it.
use std::sync::Arc;

use ::prefinal_beacon::{Path, Slot, StateSig, StateStatement, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_execution::{
    Block, BlockId, Certified, Committed, ExecuteJob, Header, Input, Randomness, Record, Roots,
    Stop, StoreJob, Vote,
};
use prefinal_jolteon as jolteon;
use prefinal_protocol::Recipient;
use prefinal_state::transfers::SignedTransfer;

use super::super::ideal::Ideal;
use super::ledger::{Ledger, Proof};
use crate::legible::Act;

/// What parties send each other.
#[derive(Clone)]
pub(super) enum Post {
    Engine(jolteon::Message),
    Random(::prefinal_beacon::Message<Ideal>),
    State(::prefinal_beacon::Message<StateSig>),
}

/// What is on a disk beside the store.
#[derive(Clone)]
pub(super) enum Kept {
    Engine(jolteon::Record),
    Random(::prefinal_beacon::Record),
    State(::prefinal_beacon::Record),
    Pipeline(Record<Proof>),
    /// The engine may not say again what is ordered.
    Ordered(Block<SignedTransfer>),
    Value(Slot, Randomness),
    Certified(Slot, Certified<Proof>),
}

pub(super) enum Happens {
    Start,
    Received(Party, Arc<Post>),
    Engine(jolteon::Verdict),
    Random(::prefinal_beacon::Verdict<Ideal>),
    State(::prefinal_beacon::Verdict<StateSig>),
    Pipeline(Box<Input<Ledger, Proof>>),
    Submit(Vec<u8>),
    Tick,
}

pub(super) enum Job {
    Engine(jolteon::Job),
    Random(::prefinal_beacon::Job<Ideal>),
    State(::prefinal_beacon::Job<StateSig>),
    Execute(ExecuteJob<Ledger>),
    Store(StoreJob<Ledger, Proof>),
}

pub(super) enum Wants {
    Send(Recipient<Party>, Post),
    Run(Box<Job>),
    Note(Observation),
}

/// What is noted of a run.
#[derive(Clone, Debug)]
pub(super) enum Observation {
    Act(Act),
    /// A life begins, with what the store holds.
    Started(Committed, Vec<(Header, Roots)>),
    /// The pipeline does not start.
    NotStarted(&'static str),
    /// The engine calls a slot final.
    Finalized(Slot, Option<Value>),
    /// The order is given to the pipeline.
    Ordered(Header),
    /// The party is about to cast its order vote.
    Prefinalized(BlockId, View),
    /// The pipeline votes for a state.
    Voted(Vote),
    /// A signature on a state leaves.
    Signed(StateStatement),
    /// A certificate is assembled.
    Certified(StateStatement),
    /// A partial of a slot's value has left.
    Released(Path, Slot),
    /// A slot's value is known, by a path.
    Valued(Path),
    /// The state of the block of this slot is certified and durable.
    Committed(Slot, Committed),
    Stopped(Box<Stop<Proof>>),
    Accused(Party, String),
    /// The host and the pipeline do not agree on what comes next.
    Broken(String),
    /// Something reaches the pipeline late.
    Late,
    /// A signature that the party owes to nobody.
    Eager,
}

/// What the engine tells both beacons.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Prefinalized(Slot, View, Value),
    Finalized(Slot, Option<Value>),
    Abandoned(View),
}

impl Event {
    pub(super) const fn input<S: ::prefinal_beacon::Function>(self) -> ::prefinal_beacon::Input<S> {
        match self {
            Self::Prefinalized(slot, view, value) => {
                ::prefinal_beacon::Input::Prefinalized { slot, view, value }
            }
            Self::Finalized(slot, value) => ::prefinal_beacon::Input::Finalized { slot, value },
            Self::Abandoned(view) => ::prefinal_beacon::Input::Abandoned { view },
        }
    }
}
