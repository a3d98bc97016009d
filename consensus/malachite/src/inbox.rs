//! What is done with messages.
//!
//! | height of the message | what is done                                                         |
//! |-----------------------|----------------------------------------------------------------------|
//! | the current one       | passed to Malachite                                                  |
//! | one of the next few   | kept, a few of each party, and passed on when that height begins      |
//! | a decided one         | dropped, except for the extension of a precommit of the decided block |
//!
//! A decision needs two thirds of the stake, and the fast path of a ramp needs more. So it waits for
//! the precommits that come after the decision. Signatures are in `effects`, decisions in `catch_up`.
use malachitebft_core_consensus as consensus;
use malachitebft_core_types::{NilOrVal, Round, ValidatorSet as _, VoteType};
use prefinal_protocol::Party;

use crate::context::{Height, Vote};
use crate::engine::{Effect, Malachite, Task};
use crate::message::{Message, ShapeError};
use crate::sign::Scope;

/// Number of later heights of which messages are kept.
const AHEAD_HEIGHTS: u64 = 4;
/// Number of messages of one party that are kept for each of them: proposal, votes, certificates of a
/// round or two.
const AHEAD_MESSAGES: usize = 6;

impl Malachite {
    pub(crate) fn receive(&mut self, from: Party, message: Message) {
        if from.index() >= self.committee.size() || from == self.config.me {
            return;
        }
        if let Err(error) = message.check(from, self.limits()) {
            return self.fault(from, &error);
        }
        if let Some(height) = message.height() {
            self.claim(from, height);
            if height > self.height {
                return self.keep_early(from, height, message);
            }
            if height < self.height {
                return self.take_late(message);
            }
        }
        self.take_message(from, message);
    }

    /// Passes early messages to Malachite.
    pub(crate) fn take_early(&mut self, height: Height) {
        let early = self.ahead.remove(&height).unwrap_or_default();
        self.ahead = self.ahead.split_off(&height);
        for (from, messages) in early {
            for message in messages {
                self.take_message(from, message);
            }
        }
    }

    fn take_message(&mut self, from: Party, message: Message) {
        let input = match message {
            Message::Vote(vote) => consensus::Input::Vote(vote),
            Message::Proposal(proposal) => consensus::Input::Proposal(proposal),
            Message::Polka(certificate) => consensus::Input::PolkaCertificate(certificate),
            Message::Round(certificate) => consensus::Input::RoundCertificate(certificate),
            Message::Request { height } => return self.answer(from, height),
            Message::Decided(decision) => return self.told(from, &decision),
        };
        self.tasks.push_back(Task::Feed(input));
    }

    fn keep_early(&mut self, from: Party, height: Height, message: Message) {
        if height.get() > self.height.get().saturating_add(AHEAD_HEIGHTS) {
            return;
        }
        let kept = self.ahead.entry(height).or_default().entry(from).or_default();
        // An honest party repeats itself while others do not answer.
        if kept.len() < AHEAD_MESSAGES {
            kept.push(message);
        }
    }

    /// Takes a vote that comes after the decision. Only its extension is of use.
    fn take_late(&mut self, message: Message) {
        let Message::Vote(signed) = message else { return };
        let Vote { kind, height, round, value, voter, extension } = signed.message;
        let (Some(extension), NilOrVal::Val(block)) = (extension, value) else { return };
        let decided = self.decided.get(&height);
        let of_decided = decided.is_some_and(|decision| decision.block.id() == block);
        if kind != VoteType::Precommit || round != Round::ZERO || !of_decided {
            return;
        }
        if !self.late.insert((height, voter.party())) {
            return;
        }
        let key = self.committee.validators().get_by_address(&voter).map(|member| member.key);
        let scope = Scope { height, round, block, voter };
        let taken = key.map(|key| self.take_extension(scope, &extension, &key));
        if let Some(Err(error)) = taken {
            let fault = error.to_string().to_lowercase();
            self.effect(Effect::Accuse { party: voter.party(), fault });
        }
    }

    pub(crate) fn fault(&mut self, party: Party, error: &ShapeError) {
        self.effect(Effect::Accuse { party, fault: error.to_string() });
    }
}
