//! The links of all replicas: messages become frames and come out as messages, each decoded by its receiver.
//!
//! A broadcast is encoded once. A frame counts against its sender's room until the replica has handled it.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prefinal_net::{Frame, Inbox, Incoming, Links, Peer, State, Status, StreamId};
use prefinal_protocol::{Party, Recipient};
use prefinal_trantor::ReplicaMessage;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep};

use crate::Outcome;
use crate::committee::{link_key, link_options, parties};
use crate::measure::{Meters, Part, Traffic};

const STREAM: StreamId = StreamId::new(0);
/// Messages that are decoded and wait for the replica.
const QUEUE: usize = 1024;
/// How long the links may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message of a peer.
pub(crate) struct Received {
    pub(crate) from: Party,
    pub(crate) message: ReplicaMessage,
    _frame: Frame,
}

/// Starts the links of all parties on the loopback, and waits until all are up.
///
/// # Errors
/// If a socket is not to be had, or a link does not come up.
pub(crate) async fn connect_all() -> Outcome<Vec<(Links, Inbox)>> {
    let (mut members, mut ends) = (BTreeMap::new(), Vec::new());
    for party in parties() {
        members.insert(party, Peer { key: link_key(party)?.public(), address: None });
    }
    // Of two parties the one with the smaller number dials, so the other one has to be there first.
    for party in parties().rev() {
        let (links, inbox) = Links::start(link_key(party)?, link_options(party)?, members.clone())?;
        let address = Some(links.address()?);
        members.entry(party).and_modify(|peer| peer.address = address);
        ends.push((links, inbox));
    }
    ends.reverse();
    let deadline = Instant::now() + PATIENCE;
    let is_up = |status: &Status| matches!(status.state, State::Up { .. });
    while !ends.iter().all(|(links, _)| links.status().values().all(is_up)) {
        if Instant::now() > deadline {
            return Err("the links did not come up".into());
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(ends)
}

/// What these links have sent since they began.
pub(crate) fn traffic(links: &[Links]) -> Traffic {
    let mut traffic = Traffic::default();
    for status in links.iter().flat_map(|links| links.status().into_values()) {
        traffic.frames += status.sent;
        traffic.datagrams += status.datagrams;
    }
    traffic
}

/// Frames that did not find room in a queue of these links.
pub(crate) fn left_out(links: &[Links]) -> u64 {
    links.iter().flat_map(|links| links.status().into_values()).map(|status| status.refused).sum()
}

/// Sends a message. What finds no room is counted by the links, and the protocol asks again for what it misses.
pub(crate) fn send(links: &Links, to: Recipient<Party>, message: &ReplicaMessage) -> Outcome<()> {
    let frame = Bytes::from(borsh::to_vec(message)?);
    match links.send(to, STREAM, &frame) {
        Ok(()) | Err(prefinal_net::SendError::Full { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Decodes what arrives, until the links end.
pub(crate) fn read(inbox: Inbox, meters: Arc<Meters>) -> Receiver<Outcome<Received>> {
    let (messages, received) = channel(QUEUE);
    tokio::spawn(decode(inbox, meters, messages));
    received
}

/// What each link brings is decoded in its order, that of several links on several cores.
async fn decode(mut inbox: Inbox, meters: Arc<Meters>, messages: Sender<Outcome<Received>>) {
    let mut readers: BTreeMap<Party, Sender<Frame>> = BTreeMap::new();
    while let Some(incoming) = inbox.recv().await {
        let sent = match incoming {
            Incoming::Frame(frame) => {
                let reader = readers.entry(frame.from).or_insert_with(|| {
                    let (frames, waiting) = channel(QUEUE);
                    tokio::spawn(decode_link(waiting, Arc::clone(&meters), messages.clone()));
                    frames
                });
                reader.send(frame).await.is_ok()
            }
            Incoming::Down { peer, why } => {
                let error = format!("the link to {peer} is down: {why}");
                messages.send(Err(error.into())).await.is_ok()
            }
            // Up, as it was when the run began.
            _ => continue,
        };
        if !sent {
            return;
        }
    }
}

async fn decode_link(
    mut frames: Receiver<Frame>,
    meters: Arc<Meters>,
    messages: Sender<Outcome<Received>>,
) {
    while let Some(frame) = frames.recv().await {
        let message = meters.charge(Part::Decoding, || borsh::from_slice(&frame.content));
        let received = |message| Received { from: frame.from, message, _frame: frame };
        if messages.send(message.map(received).map_err(Into::into)).await.is_err() {
            return;
        }
    }
}
