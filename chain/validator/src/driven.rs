//! A participant behind callbacks ([`prefinal_driver::Driver`]), for engines that run on threads or tasks.
//!
//! A party has the same number in all epochs, so one list of peers is enough. It grows when a committee with
//! newcomers is named.
use std::collections::BTreeMap;
use std::sync::Arc;

use ::prefinal_beacon::stack::{Channel, Envelope};
use ::prefinal_beacon::{Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_driver::{DrivenMachine, Summary};
use prefinal_engine::Block;
use prefinal_protocol::Recipient;

use crate::extra::ExtraChannels;
use crate::participant::{Effect, Input, Job, Participant, Record, Verdict};
use crate::scheme::KeyedScheme;
use crate::setup::Identity;

impl<S: KeyedScheme, L: ExtraChannels> DrivenMachine for Participant<S, L> {
    type Message = Envelope<(S, L)>;
    type Job = (Arc<Identity>, Job<S, L>);
    type Verdict = Verdict<S, L>;
    type Block = Block;

    /// There is no summary: what was ordered says which committees follow, so records are kept from the
    /// first slot on.
    const SUMMARY: Option<Summary<Self>> = None;

    fn start() -> Option<Input<S, L>> {
        Some(Input::Start)
    }

    fn prefinalized(slot: Slot, view: View, value: Value) -> Input<S, L> {
        Input::Prefinalized { slot, view, value }
    }

    fn finalized(slot: Slot, block: Option<Block>) -> Input<S, L> {
        Input::Finalized { slot, block }
    }

    fn abandoned(view: View) -> Input<S, L> {
        Input::Abandoned { view }
    }

    fn received(from: Party, envelope: Envelope<(S, L)>) -> Input<S, L> {
        Input::Received { from, envelope }
    }

    fn checked(verdict: Verdict<S, L>) -> Input<S, L> {
        Input::Checked(verdict)
    }

    fn tick() -> Input<S, L> {
        Input::Tick
    }

    fn job(&self, effect: Effect<S, L>) -> Result<Self::Job, Effect<S, L>> {
        match effect {
            Effect::Run(job) => Ok((Arc::clone(self.identity()), job)),
            other => Err(other),
        }
    }

    fn run((identity, job): &Self::Job) -> Verdict<S, L> {
        job.run(identity)
    }

    fn early(effect: Effect<S, L>, slot: Slot) -> Result<Envelope<(S, L)>, Effect<S, L>> {
        match effect {
            Effect::Send { to: Recipient::All, envelope } if envelope.is_early(slot) => {
                Ok(envelope)
            }
            other => Err(other),
        }
    }

    fn to_all(envelope: Envelope<(S, L)>) -> Effect<S, L> {
        Effect::Send { to: Recipient::All, envelope }
    }

    fn peers(&self) -> BTreeMap<(EpochId, Party), usize> {
        let parties = (0..).map(Party::new).take(self.parties());
        let longest = self.longest_messages();
        let room = |party| longest.get(&party).copied().unwrap_or(0);
        parties.map(|party| ((EpochId::new(0), party), room(party))).collect()
    }

    fn senders(&self) -> usize {
        self.parties()
    }

    /// The next epoch to be made: with each epoch the longest messages change.
    fn newest(&self) -> EpochId {
        self.awaited()
    }

    fn head(&self) -> Slot {
        self.head()
    }

    fn last_final(&self) -> Option<Slot> {
        self.last_final()
    }

    /// Nothing may be dropped: the journal is kept whole.
    fn first(&self, _: Channel) -> Option<Slot> {
        None
    }

    fn halted(&self) -> Option<String> {
        self.halted().map(ToString::to_string)
    }

    fn beacon_record(record: &mut Record) -> Option<(Channel, &mut ::prefinal_beacon::Record)> {
        match record {
            Record::Beacon(channel, _, record) => Some((*channel, record)),
            Record::Keygen(..) | Record::Abandoned(_) | Record::Ordered { .. } => None,
        }
    }
}
