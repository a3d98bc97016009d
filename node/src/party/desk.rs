//! What a party answers to peers that were away, and how it listens while it catches up itself.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use prefinal_crypto_core::access::Party;
use prefinal_net::Frame;
use prefinal_sync::wire::Request;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, UnboundedSender};
use tokio::task::spawn_blocking;

use super::network::Incoming;
use crate::http::sync::Librarian;

/// Requests of one peer that are answered at a time, twice as many as a follower makes. Those on top are left out, and
/// the peer asks the next party.
const AT_ONCE: usize = 4;

/// So many times as long as an answer took, its thread rests: the store is for the party itself first.
const REST: u32 = 3;

/// Requests that are answered at a time for all peers: what answers them reads the store that the party itself waits
/// for, and has the threads on which it checks.
const THREADS: usize = 2;

/// The links on which parties that follow the chain ask, and are answered.
pub trait SyncLinks: Send + Sync + 'static {
    /// All other parties that may be asked, in their order.
    fn peers(&self) -> Vec<Party>;

    /// Sends what a follower asks, or its answer.
    fn send_sync(&self, to: Party, bytes: Vec<u8>);
}

/// Answers peers that follow the chain, each a few requests at a time.
pub struct Desk {
    librarian: Option<Arc<dyn Librarian>>,
    links: Arc<dyn SyncLinks>,
    open: BTreeMap<Party, Arc<Semaphore>>,
    threads: Arc<Semaphore>,
}

impl Desk {
    /// A desk in front of this librarian; without one, nothing is answered.
    #[must_use]
    pub fn new(librarian: Option<Arc<dyn Librarian>>, links: Arc<dyn SyncLinks>) -> Self {
        let threads = Arc::new(Semaphore::new(THREADS));
        Self { librarian, links, open: BTreeMap::new(), threads }
    }

    /// Answers a request, on a thread that may wait for a disk. Gives back what is none: an answer to this party.
    pub fn answer(&mut self, frame: Frame) -> Option<Frame> {
        if Request::from_wire(&frame.content).is_err() {
            return Some(frame);
        }
        let librarian = Arc::clone(self.librarian.as_ref()?);
        let open = self.open.entry(frame.from).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE)));
        let turn = Arc::clone(open).try_acquire_owned().ok()?;
        let (links, threads) = (Arc::clone(&self.links), Arc::clone(&self.threads));
        drop(tokio::spawn(async move {
            let Ok(thread) = threads.acquire_owned().await else { return };
            let begun = Instant::now();
            let answer = spawn_blocking(move || librarian.answer(&frame.content)).await;
            if let Ok(Ok(answer)) = answer {
                links.send_sync(frame.from, answer);
            }
            drop(turn);
            tokio::time::sleep(begun.elapsed().saturating_mul(REST)).await;
            drop(thread);
        }));
        None
    }
}

/// Listens for a party that is not running yet, until `done`: peers are answered, and what they answer goes to
/// `answers`. Nothing else is heard, as if the party were away.
pub async fn aside<T>(
    inbox: &mut Receiver<Incoming<T>>,
    desk: &mut Desk,
    answers: &UnboundedSender<Frame>,
    done: impl Future<Output = ()>,
) {
    tokio::pin!(done);
    loop {
        tokio::select! {
            () = &mut done => return,
            incoming = inbox.recv() => match incoming {
                // Nobody listens once the party is done.
                Some(Incoming::Sync(frame)) => drop(desk.answer(frame).map(|frame| answers.send(frame))),
                Some(_) => {}
                None => return,
            }
        }
    }
}
