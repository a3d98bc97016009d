//! The validator's own links: beacon messages and transactions between all parties, over QUIC.
//!
//! | stream       | what travels on it                                                   | sends first |
//! |--------------|----------------------------------------------------------------------|-------------|
//! | beacon       | late partials, early ones that a vote had no room for, missed values | yes         |
//! | transactions | key generation, for the party that proposes next                     | no          |
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

use super::mempool::Mempool;
use super::metrics::Metrics;

/// The version of what is said on the streams. It changes with every encoding of a message.
pub(super) const VERSION: u16 = 1;

/// The program, as peers see it.
pub(super) const AGENT: &str = concat!("prefinal ", env!("CARGO_PKG_VERSION"));

const BEACON: StreamId = StreamId::new(0);
const TRANSACTIONS: StreamId = StreamId::new(1);

/// A message between the beacons of two validators.
pub(super) type Message = Envelope<(Bls, ())>;

/// The streams by their numbers. A beacon's frame is one envelope; a transaction is at most a block long.
pub(super) fn streams(max_block_bytes: usize, config: &LinksConfig) -> Vec<StreamOptions> {
    const BEACON_FRAME: NonZeroU32 = NonZeroU32::new(1 << 20).unwrap();
    let block = u32::try_from(max_block_bytes).ok().and_then(NonZeroU32::new);
    let rate = NonZeroU32::new(config.rate).unwrap_or(NonZeroU32::MIN);
    let room = |bytes, frame: NonZeroU32| {
        usize::try_from(frame.get().saturating_mul(2).max(bytes)).unwrap_or(usize::MAX)
    };
    let stream = |name, max_frame: NonZeroU32, priority| StreamOptions {
        name,
        max_frame,
        queue: room(config.queue, max_frame),
        inbox: room(config.inbox, max_frame),
        rate,
        priority,
    };
    vec![
        stream("beacon", BEACON_FRAME, 1),
        stream("transactions", block.unwrap_or(BEACON_FRAME), 0),
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

/// A peer that is away or does not read misses frames, and asks again when it is back.
fn sent(result: Result<(), SendError>) {
    match result {
        Ok(()) => {}
        Err(why @ SendError::Full { .. }) => tracing::debug!(%why, "frame left out"),
        Err(why) => tracing::warn!(%why, "frame left out"),
    }
}

/// Reads what arrives until the links end, and hands messages to `deliver`.
pub(super) async fn read(
    links: Links,
    mut inbox: Inbox,
    mempool: Mempool,
    metrics: Metrics,
    deliver: impl Fn(Party, Message),
) {
    while let Some(incoming) = inbox.recv().await {
        match incoming {
            Incoming::Frame(frame) if frame.stream == BEACON => {
                match borsh::from_slice(&frame.content) {
                    Ok(message) => deliver(frame.from, message),
                    Err(error) => {
                        metrics.undecodable.inc();
                        let why = LinkError::Rejected(format!("undecodable frame: {error}"));
                        tracing::warn!(peer = frame.from.get(), %why, "link closed");
                        links.reject(frame.from, &why);
                    }
                }
            }
            Incoming::Frame(frame) => {
                let transaction = frame.content.to_vec().into();
                if let Err(why) = mempool.submit(frame.from, transaction) {
                    tracing::debug!(peer = frame.from.get(), %why, "transaction left out");
                }
            }
            Incoming::Up { peer, agent } => tracing::info!(peer = peer.get(), agent, "link up"),
            Incoming::Down { peer, why } if why.is_hostile() => {
                metrics.accused(peer.to_string());
                tracing::warn!(peer = peer.get(), %why, "link down");
            }
            Incoming::Down { peer, why } => tracing::info!(peer = peer.get(), %why, "link down"),
            // What later releases of the links may say.
            _ => {}
        }
    }
}
