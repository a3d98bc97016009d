//! Links between the parties of one process: bytes in, the same bytes out some time later.
//!
//! A frame is what one step of a party sends to one peer, encoded once for all recipients. It waits
//! for half of the round trip between the two regions, as the simulator's model has it, and is
//! decoded by who receives it. Nothing else connects the parties.
//!
//! Elsewhere: distances (`sim`), what a frame says ([`crate::validator`]).

use std::sync::Arc;
use std::time::Duration;

use crypto_core::access::Party;
use sim::{Placement, Seat};
use tokio::sync::mpsc::UnboundedSender;

use crate::scheme::Keyed;
use crate::validator::{Message, Recipient};

/// No honest step sends more: a block and its certificates, or an answer to a party that lags.
const MAX_FRAME: usize = 80 << 20;

/// Bytes of a peer; the link knows whose.
pub(super) struct Frame {
    pub(super) from: Party,
    pub(super) bytes: Arc<[u8]>,
}

/// Everybody's inbox, and how far it is.
pub(super) struct Network {
    inboxes: Vec<UnboundedSender<Frame>>,
    /// `None`: everybody sits in one room.
    placement: Option<Placement>,
}

/// Why a frame was not understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("frame of {got} bytes, at most {MAX_FRAME} are taken")]
    TooLarge { got: usize },
    #[error("undecodable frame: {0}")]
    Undecodable(#[from] std::io::Error),
}

impl Frame {
    /// The messages of a frame.
    pub(super) fn decode<S: Keyed>(&self) -> Result<Vec<Message<S>>, FrameError> {
        if self.bytes.len() > MAX_FRAME {
            return Err(FrameError::TooLarge { got: self.bytes.len() });
        }
        Ok(borsh::from_slice(&self.bytes)?)
    }
}

impl Network {
    pub(super) fn new(inboxes: Vec<UnboundedSender<Frame>>, placement: Option<Placement>) -> Self {
        Self { inboxes, placement }
    }

    /// Sends what one step of `from` had to send: one frame for everybody, one for each who gets
    /// more than that.
    pub(super) fn deliver<S: Keyed>(&self, from: Party, letters: Vec<(Recipient, Message<S>)>) {
        if letters.is_empty() {
            return;
        }
        let broadcast = encode(letters.iter().filter(|(to, _)| *to == Recipient::All));
        let everybody = (0..).map(Party::new).take(self.inboxes.len());
        for to in everybody.filter(|to| *to != from) {
            let own = Recipient::One(to);
            let bytes = if letters.iter().any(|(to, _)| *to == own) {
                encode(letters.iter().filter(|(to, _)| *to == own || *to == Recipient::All))
            } else {
                broadcast.clone()
            };
            if let Some(bytes) = bytes {
                self.post(to, Frame { from, bytes });
            }
        }
    }

    fn post(&self, to: Party, frame: Frame) {
        let Some(inbox) = self.inboxes.get(to.index()).cloned() else { return };
        let delay = self.delay(frame.from, to);
        // A closed inbox is a party that has stopped, at the end of the run.
        if delay.is_zero() {
            drop(inbox.send(frame));
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            drop(inbox.send(frame));
        });
    }

    fn delay(&self, from: Party, to: Party) -> Duration {
        let seat = |party: Party| Seat::new(party.get());
        let trip = self.placement.as_ref().and_then(|at| at.round_trip(seat(from), seat(to)));
        trip.map_or(Duration::ZERO, |trip| trip.p50 / 2)
    }
}

fn encode<'a, S: Keyed>(
    letters: impl Iterator<Item = &'a (Recipient, Message<S>)>,
) -> Option<Arc<[u8]>> {
    let messages: Vec<&Message<S>> = letters.map(|(_, message)| message).collect();
    if messages.is_empty() {
        return None;
    }
    // Writing into memory does not fail.
    borsh::to_vec(&messages).ok().map(Arc::from)
}
