//! A participant behind callbacks ([`driver::Driver`]), for engines that run on threads or tasks.
//!
//! Its parties have one number in all epochs.
use std::collections::BTreeMap;
use std::sync::Arc;

use ::beacon::{Slot, Value, View, epochs};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use driver::{Driven, Summary};
use engine::Block;
use protocol::Recipient;

use crate::early;
use crate::participant::{Effect, Input, Job, Participant, Record, Verdict};
use crate::scheme::Keyed;
use crate::setup::Identity;

impl<S: Keyed> Driven for Participant<S> {
    type Message = epochs::Message<S>;
    type Job = (Arc<Identity>, Job<S>);
    type Verdict = Verdict<S>;
    type Block = Block;

    /// What was ordered says who the committees are, and is kept from the first slot on.
    const SUMMARY: Option<Summary<Self>> = None;

    fn start() -> Option<Input<S>> {
        Some(Input::Start)
    }

    fn prefinalized(slot: Slot, view: View, value: Value) -> Input<S> {
        Input::Prefinalized { slot, view, value }
    }

    fn finalized(slot: Slot, block: Option<Block>) -> Input<S> {
        Input::Finalized { slot, block }
    }

    fn abandoned(view: View) -> Input<S> {
        Input::Abandoned { view }
    }

    fn received(from: Party, message: epochs::Message<S>) -> Input<S> {
        Input::Received { from, message }
    }

    fn checked(verdict: Verdict<S>) -> Input<S> {
        Input::Checked(verdict)
    }

    fn tick() -> Input<S> {
        Input::Tick
    }

    fn job(&self, effect: Effect<S>) -> Result<Self::Job, Effect<S>> {
        match effect {
            Effect::Run(job) => Ok((Arc::clone(self.identity()), job)),
            other => Err(other),
        }
    }

    fn run((identity, job): &Self::Job) -> Verdict<S> {
        job.run(identity)
    }

    fn early(effect: Effect<S>, slot: Slot) -> Result<epochs::Message<S>, Effect<S>> {
        match effect {
            Effect::Send { to: Recipient::All, message } if message.message.is_early(slot) => {
                Ok(message)
            }
            other => Err(other),
        }
    }

    fn peers(&self) -> BTreeMap<(EpochId, Party), usize> {
        let parties = (0..).map(Party::new).take(self.parties());
        let newest = self.newest_beacon();
        let longest = |party| newest.map_or(early::BYTES, |beacon| beacon.longest_message(party));
        // The epoch is in front of each.
        parties.map(|party| ((EpochId::new(0), party), longest(party).saturating_add(8))).collect()
    }

    /// That of the last keys: with them the longest messages change.
    fn newest(&self) -> EpochId {
        self.awaited()
    }

    fn head(&self) -> Slot {
        self.head()
    }

    fn beacon_record(record: &mut Record) -> Option<(u8, &mut ::beacon::Record)> {
        match record {
            Record::Beacon(_, record) => Some((0, record)),
            Record::Keygen(..) | Record::Ordered { .. } => None,
        }
    }
}
