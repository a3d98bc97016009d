//! The validator's own links: beacon messages and transactions between all parties, over QUIC.
//!
//! | stream       | what travels on it                                                   | sends first |
//! |--------------|----------------------------------------------------------------------|-------------|
//! | beacon       | late partials, early ones that a vote had no room for, missed values; the same of states | yes |
//! | transactions | key generation, for the party that proposes next                     | no          |
//! | sync         | what a validator asks that lacks states, and its answers, as [`prefinal_sync`] has them | last |
//!
//! The engine has its own network, which this does not touch. What the links promise, and what strangers
//! and liars get, says [`prefinal_net`].
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use prefinal_beacon::Bls;
use prefinal_beacon::stack::Envelope;
use prefinal_crypto_core::access::Party;
use prefinal_home::config::LinksConfig;
use prefinal_net::{Inbox, Incoming, LinkError, Links, SendError, StreamId, StreamOptions};
use prefinal_protocol::Recipient;

use super::execution::Beside;
use super::state::Validator;
use crate::party::SyncLinks;

/// The version of what is said on the streams. It changes with every encoding of a message.
pub(super) const VERSION: u16 = 3;

/// The program, as peers see it.
pub(super) const AGENT: &str = concat!("prefinal ", env!("CARGO_PKG_VERSION"));

const BEACON: StreamId = StreamId::new(0);
const TRANSACTIONS: StreamId = StreamId::new(1);
const SYNC: StreamId = StreamId::new(2);

/// A message between the beacons of two validators.
pub(super) type Message = Envelope<(Bls, Beside)>;

/// The streams by their numbers. A beacon's frame is one envelope; a transaction is at most a block long.
pub(super) fn streams(max_block_bytes: usize, config: &LinksConfig) -> Vec<StreamOptions> {
    const BEACON_FRAME: NonZeroU32 = NonZeroU32::new(1 << 20).unwrap();
    /// The longest answer to a follower, and a little more.
    const SYNC_FRAME: NonZeroU32 = NonZeroU32::new(8 << 20).unwrap();
    let block = u32::try_from(max_block_bytes).ok().and_then(NonZeroU32::new);
    let rate = NonZeroU32::new(config.rate).unwrap_or(NonZeroU32::MIN);
    let [queue, inbox] =
        [config.queue, config.inbox].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let stream = |name, longest, priority| {
        StreamOptions::new(name, longest, rate, priority).with_room(queue, inbox)
    };
    vec![
        stream("beacon", BEACON_FRAME, 1),
        stream("transactions", block.unwrap_or(BEACON_FRAME), 0),
        // A longest frame a second.
        StreamOptions::new("sync", SYNC_FRAME, SYNC_FRAME, -1),
    ]
}

/// Sends a beacon's message.
pub(super) fn send(links: &Links, to: Recipient<Party>, message: &Message) {
    // Writing into memory does not fail.
    if let Ok(frame) = borsh::to_vec(message) {
        sent(links.send(to, BEACON, &Bytes::from(frame)));
    }
}

/// Sends a transaction to all, so that the next proposer has it.
pub(super) fn spread(links: &Links, transaction: &Arc<[u8]>) {
    sent(links.send(Recipient::All, TRANSACTIONS, &Bytes::copy_from_slice(transaction)));
}

/// The links as those have them that follow.
pub(super) struct SyncPeers {
    pub(super) links: Links,
    /// Who may be asked.
    pub(super) peers: Vec<Party>,
}

impl SyncLinks for SyncPeers {
    fn peers(&self) -> Vec<Party> {
        self.peers.clone()
    }

    fn send_sync(&self, to: Party, bytes: Vec<u8>) {
        if let Err(why) = self.links.send(Recipient::One(to), SYNC, &bytes.into()) {
            tracing::debug!(%why, "frame left out");
        }
    }
}

/// A peer that is away or does not read misses frames, and asks again when it is back.
fn sent(result: Result<(), SendError>) {
    match result {
        Ok(()) => {}
        Err(why @ SendError::Full { .. }) => tracing::debug!(%why, "frame left out"),
        Err(why) => tracing::warn!(%why, "frame left out"),
    }
}

/// Reads what arrives until the links end.
pub(super) async fn read(validator: Arc<Validator>, mut inbox: Inbox) {
    let mut desk = validator.execution.as_ref().map(|execution| execution.desk(&validator.links));
    while let Some(incoming) = inbox.recv().await {
        match incoming {
            Incoming::Frame(frame) if frame.stream == BEACON => {
                match borsh::from_slice(&frame.content) {
                    Ok(message) => validator.deliver(frame.from, message),
                    Err(error) => {
                        validator.metrics.undecodable.inc();
                        let why = LinkError::Rejected(format!("undecodable frame: {error}"));
                        validator.links.reject(frame.from, &why);
                    }
                }
            }
            Incoming::Frame(frame) if frame.stream == SYNC => {
                let answer = desk.as_mut().and_then(|desk| desk.answer(frame));
                if let (Some(answer), Some(execution)) = (answer, &validator.execution) {
                    execution.hear(answer);
                }
            }
            Incoming::Frame(frame) => {
                let transaction = frame.content.to_vec().into();
                if let Err(why) = validator.mempool.submit(frame.from, transaction) {
                    tracing::debug!(peer = frame.from.get(), %why, "transaction left out");
                }
            }
            Incoming::Up { peer, agent } => {
                let name = validator.name_of(peer);
                tracing::info!(peer = peer.get(), name, agent, "link up");
            }
            Incoming::Down { peer, why } => down(&validator, peer, &why),
            // What later releases of the links may say.
            _ => {}
        }
    }
}

/// Says that a link is down, and counts it against a peer that broke the rules.
fn down(validator: &Validator, peer: Party, why: &LinkError) {
    let (party, name) = (peer.get(), validator.name_of(peer));
    if why.is_hostile() {
        tracing::warn!(peer = party, name, %why, "link down");
        validator.metrics.accused(name);
    } else if why.is_mismatch() {
        tracing::warn!(peer = party, name, %why, "link down");
    } else {
        tracing::info!(peer = party, name, %why, "link down");
    }
}
