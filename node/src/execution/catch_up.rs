//! How a party that was away comes back to its peers, before it runs.
//!
//! ```text
//!  peers ── what they have ──► far behind? ──► Follower ──► its own store, durable ──► near the tip
//!                                  │ no                                                   │
//!                                  ▼                                                      ▼
//!                       its engine asks for the rest ◄──── goes on behind the last block (`prefinal_validator::adopt`)
//! ```
//! Its peers' engines keep the last blocks only, and their beacons the last values. A party that is more than
//! [`FAR`] blocks behind therefore follows the chain as a full node does: what blocks change is fetched from peers,
//! over the links that parties have, verified, and applied (`following`, which validators in processes of their own have
//! too). So it executes nothing that it missed. It trusts the committee of its own set-up, and no peer: how far the chain
//! is, it believes more stake than may be faulty.
//!
//! Whatever peers say, the party starts: if nothing more comes for [`PATIENCE`], from where it is by then. If its disk is
//! slower than the chain, it follows for ever, as its engine would. Blocks that it has from peers carry no signed values
//! for others that follow it; those ask its peers.
mod following;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::Quorum;
use prefinal_execution::{Height, Store};
use prefinal_sync::wire::{Ask, Compression, Request, RequestId, Summary};
use prefinal_validator::setup::Setup;
use tokio::time::{Instant as Clock, MissedTickBehavior, interval};

use self::following::tip_of;
pub use self::following::{Ended, Following, Line, Shelf, Witnesses};
use super::executor::NamedExecutor;
use super::store::lock;

/// A party that is behind by more blocks than this follows. So many Jolteon fetches in one message, and beacons have the
/// values of their slots.
const FAR: u64 = 64;

/// It follows until it is so near.
const NEAR: u64 = 8;

/// How long peers are waited for that do not say what they have, and between two questions.
const SURVEY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// A party that may have been away.
pub(super) struct CatchUp<X: NamedExecutor> {
    pub(super) me: Party,
    pub(super) setup: Arc<Setup>,
    pub(super) quorum: Quorum,
    pub(super) shelf: Shelf<X>,
}

impl<X: NamedExecutor> CatchUp<X> {
    /// Comes near the peers, if they are far ahead. Says what it did.
    pub(super) async fn run(self, mut line: Line) {
        let me = self.me;
        let witnesses = Witnesses { setup: Arc::clone(&self.setup), quorum: self.quorum };
        let Some(tip) = survey(&witnesses, &mut line).await else { return };
        let Ok(before) = lock(&self.shelf.store).committed() else { return };
        let behind = tip.get().saturating_sub(before.height.get());
        if behind <= FAR {
            return;
        }
        say!("{me}: {behind} blocks behind its peers, follows them");
        let told = match self.follow(line, tip).await {
            Ok(told) => told,
            Err(why) => format!("cannot follow its peers: {why}"),
        };
        say!("{me}: {told}");
    }

    /// Follows until it is near the peers, or no nearer for too long. Says what it did.
    async fn follow(self, line: Line, tip: Height) -> Result<String, String> {
        let Self { me, setup, quorum, shelf } = self;
        let witnesses = Witnesses { setup: Arc::clone(&setup), quorum };
        let mut following = Following::start(&setup, vec![witnesses], shelf, line)?;
        let from = following.committed().height;
        loop {
            let tip = following.tip().unwrap_or(tip).max(tip);
            if following.committed().height.after(NEAR) >= tip || following.ended().is_some() {
                break;
            }
            following.step().await;
            for misconduct in following.bans() {
                let peer = misconduct.peer.get();
                say!("{me}: party {peer} is not asked any more: {}", misconduct.fault);
            }
        }
        following.finish().await;
        let to = following.committed().height;
        let blocks = to.get().saturating_sub(from.get());
        let (bytes, taken) = following.spent();
        let why = following.ended().map_or_else(String::new, |why| format!("; then {why}"));
        let taken = taken.as_millis();
        Ok(format!(
            "stored {blocks} blocks of its peers up to {to}: {bytes} bytes, {taken} ms{why}"
        ))
    }
}

/// Asks the peers what they have. They may come up later than this party.
async fn survey(witnesses: &Witnesses, line: &mut Line) -> Option<Height> {
    let ask = Ask::Summary;
    let ask = Request { id: RequestId::new(0), accepts: Compression::None, ask }.to_wire();
    let (mut tips, end) = (BTreeMap::new(), Clock::now() + SURVEY);
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let peers = line.links.peers();
    while tips.len() < peers.len() && Clock::now() < end {
        tokio::select! {
            _ = ticks.tick() => {
                let silent = peers.iter().filter(|peer| !tips.contains_key(*peer));
                silent.for_each(|peer| line.links.send_sync(*peer, ask.clone()));
            }
            Some(frame) = line.answers.recv() => {
                if let Ok(summary) = Summary::from_wire(&frame.content) {
                    tips.insert(frame.from, tip_of(&summary));
                }
            }
        }
    }
    witnesses.believed(&tips)
}
