//! Executing a validator's blocks, if the chain's genesis says so.
//!
//! ```text
//!  effects of the driver ──► pipeline behind its own journal ──► contents of states ──► driver
//!                              ▲    │                       └──► states, served to full nodes and wallets
//!                              └────┴─ jobs, on the pool
//! ```
//! The pipeline lives on one thread beside the participant, for it needs nothing of it but its effects, in their
//! order. So a slow disk or executor makes states late, and no vote and no value.
//!
//! **After a crash.** The participant repeats all blocks from its journal, the archive has the values, and the driver
//! gives again the certificates of slots that the store has not committed yet. What this journal alone has is what the
//! party voted for. Of committed blocks nothing is kept here: each start begins behind the last of them. If both files
//! are removed, all states are fetched again.
//!
//! **Who lacks states follows** its peers as a full node does, into its own store, and executes behind them (`worker`): at
//! a start far behind them, when many blocks wait, and as one that joins later, which has no certificates of states before
//! its first slot. Blocks come from the engine, and single certificates that were missed are asked for as values are; peers
//! answer from their stores.
//!
//! **If states stand still** because too much stake signs none, blocks and values go on, and what is to be executed waits,
//! in memory and in the journal. From [`LAG`] waiting blocks on validators with Malachite's engine put no transactions of
//! clients into their proposals, so that little waits. What engines in other processes propose is theirs to say.
mod files;
mod held;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use prefinal_beacon::stack::{Channels, OneOf};
use prefinal_beacon::{Bls, Random as _, Slot, StateSig, Value, View, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Block;
use prefinal_execution::{Header, Height};
use prefinal_home::{ExecutorName, Home};
use prefinal_lab::Failure;
use prefinal_net::{Frame, Links};
use prefinal_state::Genesis;
use prefinal_state::transfers::{AccountId, Amount, Transfers, genesis_rows};
use prefinal_validator::adopt;
use prefinal_validator::application::{Input, Judged};
use prefinal_validator::execution::{PipelineHost, Workers};
use prefinal_validator::participant::{self, Participant};
use prefinal_validator::setup::{FIRST, Setup};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::files::{Files, last};
pub(super) use self::worker::Worker;
use super::links;
use super::state::{Validator, lock};
use crate::execution::{
    Announcements, AttestedStore, BeaconKey, Door, Endings, Library, NamedExecutor, Prover,
    SlotValues, waypoint,
};
use crate::http::{sync, transactions};
use crate::output::named;
use crate::party::{Desk, Time};

/// The channel beside the values: certificates of states. Chains that execute nothing do not use it.
pub(super) type Beside = (StateSig, ());

/// What a validator's process runs.
pub(super) type Running = Participant<Bls, Beside>;

type Store = AttestedStore<Transfers>;
type Pipeline = PipelineHost<Store>;

/// A message of the channels beside the values.
type BesideMessage = <Beside as Channels>::Message;

/// What they want done, and tell.
type BesideEffect = <Beside as Channels>::Effect;

/// What they are told.
type BesideInput = <Beside as Channels>::Input;

/// How often is asked how far the participant has judged, if nothing happens.
pub(super) const ASK: Duration = Duration::from_millis(100);

/// Questions of peers for certificates that may wait for the store. Those on top are left out, and the peer asks again.
const QUESTIONS: usize = 256;

/// From so many blocks that wait for their states on, no more transactions are taken.
const LAG: usize = 256;

/// The participant is asked after so many effects, if there is no pause between them.
const OFTEN: usize = 64;

/// What the thread of the pipeline is told.
enum Note {
    /// An input of the pipeline.
    Input(Box<Input<Pipeline>>),
    /// Nothing, but wake up: the process ends.
    Stop,
}

/// What a process that executes has beside its participant, as its other parts see it.
pub(super) struct Execution {
    notes: UnboundedSender<Note>,
    values: Arc<SlotValues>,
    door: Arc<Door<Transfers>>,
    library: Arc<Library<Transfers, Store>>,
    /// The last committed height, and its slot.
    committed: AtomicU64,
    slot: AtomicU64,
    /// How many questions of peers wait.
    questions: AtomicUsize,
    /// How many blocks wait for their states.
    waiting: AtomicUsize,
    /// Where answers of peers go while this party follows them.
    answers: Mutex<Option<UnboundedSender<Frame>>>,
    /// Whether the process ends.
    ending: AtomicBool,
}

/// The pipeline, and what it has for the other parts.
pub(super) struct Opened {
    pub(super) execution: Arc<Execution>,
    pub(super) pending: Pending,
    /// What clients submit, for the mempool.
    pub(super) submitted: UnboundedReceiver<Vec<u8>>,
    /// The last committed block; `None` before the first.
    last: Option<Header>,
}

impl Opened {
    /// The last slot whose state is committed.
    pub(super) fn last(&self) -> Slot {
        self.last.map_or(Slot::new(0), |header| header.slot)
    }

    /// The records of the participant by which it is finished with the certificates that the store has.
    pub(super) fn passed_over(
        &self,
        setup: &Setup,
        records: &[participant::Record],
    ) -> Vec<participant::Record> {
        let store = lock(&self.pending.workers.store);
        self.last.map_or_else(Vec::new, |last| adopt::certified(setup, records, last, &*store))
    }
}

/// The pipeline before its thread runs.
pub(super) struct Pending {
    files: Files,
    /// The first slot that a committee with this party certifies, if it is known.
    first: Option<Slot>,
    notes: UnboundedReceiver<Note>,
    workers: Workers<Store>,
    announcements: Announcements,
}

/// Opens what a chain that executes has; `None` if this one does not.
///
/// # Errors
/// If a file is not to be had, is another chain's, or does not fit to the other.
pub(super) fn open(home: &Home, setup: &Arc<Setup>) -> Result<Option<Opened>, Failure> {
    let Some(genesis) = genesis(home)? else { return Ok(None) };
    let values = Arc::<SlotValues>::default();
    let files = Files::new(home, setup, genesis.block);
    let store = files.states(&genesis, Arc::clone(&values))?;
    let header = last(&store).map_err(|error| files.failed(&error))?;
    let store = Arc::new(Mutex::new(store));
    files.check(header)?;
    let executor = Arc::new(<Transfers as NamedExecutor>::new(setup.context.chain));
    let endings = Endings::default();
    let prover = Prover { chain: setup.context.chain, endings: endings.clone() };
    let door = Door::new(prover, Arc::clone(&executor), Arc::clone(&store))?;
    let (own, submitted) = unbounded_channel();
    let time = Time { started: tokio::time::Instant::now(), before: Duration::ZERO };
    door.connect(time, vec![own]);
    if header.is_some() {
        door.open();
    }
    let library = Library::of_party(Arc::clone(&store), genesis, endings.clone());
    let (send, notes) = unbounded_channel();
    let execution = Execution {
        notes: send,
        values,
        door: Arc::new(door),
        library: Arc::new(library),
        committed: AtomicU64::new(header.map_or(0, |header| header.height.get())),
        slot: AtomicU64::new(header.map_or(0, |header| header.slot.get())),
        questions: AtomicUsize::new(0),
        waiting: AtomicUsize::new(0),
        answers: Mutex::default(),
        ending: AtomicBool::new(false),
    };
    let announcements = Announcements::new(Arc::clone(setup), endings);
    Ok(Some(Opened {
        execution: Arc::new(execution),
        pending: Pending {
            files,
            first: home.party().map(|_| Slot::new(0)),
            notes,
            workers: Workers { executor, store },
            announcements,
        },
        submitted,
        last: header,
    }))
}

/// Has the transactions ordered that clients submit.
pub(super) async fn submit(validator: Arc<Validator>, mut submitted: UnboundedReceiver<Vec<u8>>) {
    while let Some(transaction) = submitted.recv().await {
        let transaction = Arc::from(transaction);
        match validator.mempool.submit_for_client(Arc::clone(&transaction)) {
            Ok(()) => links::spread(&validator.links, &transaction),
            // The door forgets it after a while, and the client submits it again.
            Err(why) => tracing::debug!(%why, "transaction of a client left out"),
        }
    }
}

/// The state that the chain begins with, if it executes its blocks.
fn genesis(home: &Home) -> Result<Option<Genesis>, Failure> {
    let Some(execution) = &home.genesis().execution else { return Ok(None) };
    let ExecutorName::Transfers = execution.executor else {
        let file = home.folder().genesis();
        return Err(named(&file, "this release does not have its executor"));
    };
    let balances = execution.accounts.iter();
    let balances = balances.map(|one| (AccountId::new(one.key), Amount::new(one.balance)));
    let rows = genesis_rows(&balances.collect());
    Ok(Some(Genesis::of(rows.map_err(|error| named(&home.folder().genesis(), error))?)))
}

impl Execution {
    /// Tells the pipeline of something.
    fn tell(&self, input: Input<Pipeline>) {
        // If its thread has ended, the process ends too.
        drop(self.notes.send(Note::Input(Box::new(input))));
    }

    /// A block is proposed behind this one. If it is not known to be final before, it is executed before it is.
    pub(super) fn propose(&self, slot: Slot, parent: Value, block: Block) {
        self.tell(Input::Proposed { slot, parent: Some(parent), block });
    }

    /// This party votes for a block in the first view of its slot, and its part in the certificate of the state leaves
    /// behind the vote, if the block is executed by then. The vote does not wait for it.
    pub(super) fn prefinalize(&self, slot: Slot, value: Value) {
        self.tell(Input::Prefinalized { slot, view: View::new(slot, 0), value });
    }

    /// Tells the pipeline of an effect of the participant, in their order.
    pub(super) fn take(&self, effect: &participant::Effect<Bls, Beside>) {
        use prefinal_validator::Event;
        match effect {
            participant::Effect::Prepare { setup, first } if setup.context.epoch > FIRST => {
                self.tell(Input::Follows { setup: Arc::clone(setup), first: *first });
            }
            participant::Effect::Ordered { slot, block: Some(block) } => {
                self.tell(Input::Ordered { slot: *slot, block: block.clone() });
            }
            participant::Effect::Beside(effect) => {
                let is_too_much = look_up_of(effect).is_some()
                    && self.questions.fetch_add(1, Ordering::Relaxed) >= QUESTIONS;
                match is_too_much {
                    true => drop(self.questions.fetch_sub(1, Ordering::Relaxed)),
                    false => self.tell(Input::Beside(effect.clone())),
                }
            }
            participant::Effect::Tell(Event::Ready { epoch, first_slot, committees }) => {
                if *epoch == FIRST {
                    let key = BeaconKey { key: committees.slow.group_key(), first: *first_slot };
                    self.library.set_beacon(key);
                }
                self.tell(Input::Began { epoch: *epoch, first: *first_slot });
            }
            participant::Effect::Tell(Event::Revealed(reveal)) => {
                self.value(reveal.slot, reveal.output);
            }
            _ => {}
        }
    }

    /// Tells the values of earlier lives for blocks that are not committed yet: the driver does not show them again.
    /// `last` is the slot of the last one that is.
    pub(super) fn tell_past(&self, past: &[(Slot, Signature)], last: Slot) {
        let wanted = past.iter().filter(|(slot, _)| *slot > last);
        wanted.for_each(|(slot, signature)| self.value(*slot, *signature));
    }

    fn value(&self, slot: Slot, signature: Signature) {
        self.values.insert(slot, signature);
        self.tell(Input::Value { slot, value: Bls::randomness(&signature) });
    }

    /// What answers peers that follow.
    pub(super) fn desk(&self, links: &Links) -> Desk {
        let librarian: Arc<dyn sync::Librarian> = Arc::<Library<_, _>>::clone(&self.library);
        let links = links::SyncPeers { links: links.clone(), peers: Vec::new() };
        Desk::new(Some(librarian), Arc::new(links))
    }

    /// A peer has answered.
    pub(super) fn hear(&self, answer: Frame) {
        if let Some(answers) = &*lock(&self.answers) {
            // If nobody listens any more, it comes too late.
            drop(answers.send(answer));
        }
    }

    /// Whether so many blocks wait for their states that no more transactions are taken.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= LAG
    }

    /// The last committed height.
    pub(super) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// The slot behind the last one whose state is committed.
    pub(super) fn next_slot(&self) -> Slot {
        Slot::new(self.slot.load(Ordering::Relaxed)).next()
    }

    fn commit(&self, height: Height, slot: Slot) {
        self.committed.store(height.get(), Ordering::Relaxed);
        self.slot.store(slot.get(), Ordering::Relaxed);
    }

    /// What is served to wallets and to nodes that follow.
    pub(super) fn routes(&self, setup: &Setup) -> Router {
        let door: Arc<dyn transactions::Ledger> = Arc::<Door<Transfers>>::clone(&self.door);
        let library: Arc<dyn sync::Librarian> = Arc::<Library<_, _>>::clone(&self.library);
        transactions::routes(door, waypoint(setup)).merge(sync::routes(library))
    }

    /// Ends the thread of the pipeline.
    pub(super) fn stop(&self) {
        self.ending.store(true, Ordering::Relaxed);
        // It may wait for a note.
        drop(self.notes.send(Note::Stop));
    }
}

/// Tells the pipeline how far the participant has judged what blocks say of committees, behind all effects that came
/// before.
#[derive(Default)]
pub(super) struct Judging {
    told: Option<Judged>,
    /// What is to be told next, and how many effects come before.
    next: Option<(usize, Judged)>,
    /// Effects since it was asked.
    unasked: usize,
}

impl Judging {
    /// Asks the participant and tells the pipeline. `carried` says that an effect was carried out just now, `unread` how
    /// many are to come.
    pub(super) fn tell(
        &mut self,
        validator: &Validator,
        carried: bool,
        unread: impl Fn() -> usize,
    ) {
        let Some(execution) = &validator.execution else { return };
        match &mut self.next {
            Some((before, _)) => *before = before.saturating_sub(usize::from(carried)),
            None if self.unasked >= OFTEN || unread() == 0 => {
                self.unasked = 0;
                // If the driver has stopped, so does the process.
                let judged = validator.driver.change(|running| running.judged()).ok();
                let news = judged.filter(|judged| self.told != Some(*judged));
                self.next = news.map(|judged| (unread(), judged));
            }
            None => self.unasked = self.unasked.saturating_add(1),
        }
        if let Some((_, judged)) = self.next.take_if(|(before, _)| *before == 0) {
            execution.tell(Input::Judged(judged));
            self.told = Some(judged);
        }
    }
}

/// What a peer asks for that missed certificates.
struct Question<'a> {
    epoch: EpochId,
    from: Party,
    slots: &'a [Slot],
}

/// The question in an effect of the channels beside the values, if it is one.
fn look_up_of(effect: &BesideEffect) -> Option<Question<'_>> {
    match effect {
        OneOf::First(epochs::Effect::Of {
            epoch,
            effect: prefinal_beacon::Effect::Lookup { to, slots },
        }) => Some(Question { epoch: *epoch, from: *to, slots }),
        _ => None,
    }
}
