//! Keeps early partials back until the vote that they belong to is on its way.
//!
//! A partial that leaves with a vote is safe because the vote locks. Its record is durable before the vote is:
//! after a crash in between, the participant gives the partial again, and the engine has not cast the vote. So an
//! early partial that does not travel in the vote itself waits here until the engine says that the vote has left, or
//! until the slot is final. If the engine gives the view up first, the partial never leaves.
use std::collections::BTreeMap;
use std::sync::Mutex;

use prefinal_beacon::stack::OneOf;
use prefinal_beacon::{Message as BeaconMessage, Path, Slot};

use super::links::Message;
use super::state::lock;

/// The early partials that wait.
#[derive(Default)]
pub(super) struct Gate(Mutex<State>);

#[derive(Default)]
struct State {
    /// The highest slot whose early partials may leave.
    open: Option<Slot>,
    /// The highest slot whose vote is never cast. What comes late for it must not wait for a later slot's vote.
    given_up: Option<Slot>,
    waiting: BTreeMap<Slot, Vec<Message>>,
}

impl Gate {
    /// Gives the message back if it may leave now.
    pub(super) fn pass(&self, message: Message) -> Option<Message> {
        let mut state = lock(&self.0);
        match early(&message) {
            Some(slot) if state.open.is_none_or(|open| slot > open) => {
                if Some(slot) > state.given_up {
                    state.waiting.entry(slot).or_default().push(message);
                }
                None
            }
            _ => Some(message),
        }
    }

    /// The vote for this slot has left, or the slot is final: what waits for it may leave.
    pub(super) fn open(&self, slot: Slot) -> Vec<Message> {
        let mut state = lock(&self.0);
        state.open = state.open.max(Some(slot));
        let later = state.waiting.split_off(&slot.next());
        std::mem::replace(&mut state.waiting, later).into_values().flatten().collect()
    }

    /// The vote for this slot is never cast: what waits for it never leaves.
    pub(super) fn give_up(&self, slot: Slot) {
        let mut state = lock(&self.0);
        state.given_up = state.given_up.max(Some(slot));
        state.waiting.remove(&slot);
    }
}

/// The slot of the early partial in an envelope, if there is one, of a value or of a state.
fn early(message: &Message) -> Option<Slot> {
    message.messages().iter().find_map(|message| match message {
        OneOf::First(BeaconMessage::Partial { path: Path::Fast | Path::Tight, slot, .. })
        | OneOf::Rest(OneOf::First(BeaconMessage::Partial {
            path: Path::Fast | Path::Tight,
            slot,
            ..
        })) => Some(*slot),
        _ => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_beacon::Value;
    use prefinal_crypto_core::bls::Domain;
    use prefinal_crypto_core::bls::min_sig::SecretKey;
    use prefinal_crypto_core::context::EpochId;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn slot(number: u64) -> Slot {
        Slot::new(number)
    }

    fn partial(path: Path, number: u64) -> Message {
        // One point: any signature is one.
        let point =
            SecretKey::random(&mut ChaCha20Rng::from_seed([1; 32])).sign(Domain::BASIC, b"");
        let bytes = [1_u32.to_le_bytes().as_slice(), &point.to_bytes()].concat();
        let partial = borsh::from_slice(&bytes).unwrap();
        let message = BeaconMessage::Partial { path, slot: slot(number), value: None, partial };
        Message::one(EpochId::new(0), OneOf::First(message))
    }

    /// A part in the certificate of a state.
    fn state(number: u64) -> Message {
        let partial =
            SecretKey::random(&mut ChaCha20Rng::from_seed([2; 32])).sign(Domain::BASIC, b"");
        let (path, slot, value) = (Path::Tight, slot(number), Some(Value::new([3; 32])));
        let message = BeaconMessage::Partial { path, slot, value, partial };
        Message::one(EpochId::new(0), OneOf::Rest(OneOf::First(message)))
    }

    #[test]
    fn an_early_partial_waits_for_its_vote() {
        let gate = Gate::default();
        let early = [partial(Path::Fast, 7), partial(Path::Tight, 7), state(7)];
        early.iter().for_each(|message| assert_eq!(gate.pass(message.clone()), None));
        // What follows finality does not wait, nor what is no partial.
        let request =
            Message::one(EpochId::new(0), OneOf::First(BeaconMessage::Request { slot: slot(9) }));
        for free in [partial(Path::Slow, 7), request] {
            assert_eq!(gate.pass(free.clone()), Some(free));
        }
        assert!(gate.open(slot(6)).is_empty());
        assert_eq!(gate.open(slot(7)), early);
        assert_eq!(gate.pass(early[0].clone()), Some(early[0].clone()));
    }

    #[test]
    fn a_vote_that_is_given_up_releases_nothing() {
        let gate = Gate::default();
        let [given_up, next] = [7, 8].map(|number| partial(Path::Fast, number));
        for message in [&given_up, &next] {
            assert_eq!(gate.pass(message.clone()), None);
        }
        gate.give_up(slot(7));
        assert_eq!(gate.pass(state(7)), None, "it comes too late");
        assert_eq!(gate.open(slot(8)), [next]);
    }
}
