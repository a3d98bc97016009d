//! What the parts of a validator's process share, and what an operator sees of it.
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use prefinal_beacon::stack::OneOf;
use prefinal_beacon::{Message as BeaconMessage, Path, Slot, Switch};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::context::EpochId;
use prefinal_driver::{Driver, Figures, MessageError};
use prefinal_malachite::{Malachite, Validators};
use prefinal_net::{Links, State, Status};
use prefinal_protocol::Recipient;
use prefinal_pvss_dkg::SharePath;
use prefinal_registry::NamedEngine;
use prefinal_validator::change::{Application, Consent, Draft};
use prefinal_validator::participant::Input;
use prefinal_validator::setup::Setup;
use prefinal_weighted_rounding::Stake;
use tokio::sync::{Notify, watch};

use super::arrivals::Arrivals;
use super::committee::{ChangeRequest, DraftRequest, MemberReport};
use super::execution::{Execution, Running};
use super::gate::Gate;
use super::links::{self, Message};
use super::members::Members;
use super::mempool::{Mempool, MempoolError};
use super::metrics::{Metrics, Snapshot};
use super::operator::{PeerReport, StatusReport, SwitchRequest, ValuesReport};
use crate::archive::Archive;
use crate::http::Board;

/// Slots whose finality is remembered until their value comes.
const REMEMBERED: usize = 1024;

/// One validator's process.
pub(super) struct Validator {
    pub(super) driver: Driver<Running>,
    /// What executes the blocks, if the chain does.
    pub(super) execution: Option<Arc<Execution>>,
    pub(super) links: Links,
    pub(super) gate: Gate,
    pub(super) arrivals: Arrivals,
    pub(super) mempool: Mempool,
    pub(super) metrics: Metrics,
    pub(super) board: Arc<Board>,
    pub(super) archive: Archive,
    /// The chain's name.
    pub(super) chain: String,
    /// The first epoch's.
    pub(super) setup: Arc<Setup>,
    /// The committees that still have slots without a value, and the next one, each with its first slot.
    pub(super) committees: Mutex<VecDeque<(Slot, Arc<Setup>)>>,
    /// This validator's name.
    pub(super) name: String,
    pub(super) me: Party,
    /// Names and addresses of the validators, as far as they are known.
    pub(super) names: Mutex<BTreeMap<Party, String>>,
    pub(super) height: AtomicU64,
    pub(super) key: OnceLock<(PublicKey, Slot)>,
    pub(super) revealed: Mutex<BTreeMap<Path, u64>>,
    /// When slots became final here.
    pub(super) finals: Mutex<BTreeMap<Slot, Instant>>,
    /// Told when the configuration is to be read again, or the members have changed.
    pub(super) reload: Notify,
    /// Why the process ends; the first reason counts.
    pub(super) ended: watch::Sender<Option<String>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Validator {
    /// Ends the process, with a reason.
    pub(super) fn end(&self, why: impl ToString) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            if is_first {
                *ended = Some(why.to_string());
            }
            is_first
        });
    }

    /// The next committee and its first slot are known.
    pub(super) fn prepare(&self, setup: Arc<Setup>, first: Slot) {
        let mut committees = lock(&self.committees);
        if committees.iter().all(|(known, _)| *known < first) {
            committees.push_back((first, setup));
            self.reload.notify_one();
        }
    }

    /// Forgets committees all of whose slots have their values, and their states if blocks are executed: until then
    /// members of the next one may lack what those have.
    fn retire(&self, revealed: Slot) {
        let stored = self.execution.as_ref().map(|execution| execution.next_slot());
        let revealed = stored.map_or(revealed, |stored| stored.min(revealed));
        let mut committees = lock(&self.committees);
        while committees.get(1).is_some_and(|(first, _)| *first <= revealed) {
            committees.pop_front();
            self.reload.notify_one();
        }
    }

    /// Links to the members of all committees that count now, and to no others.
    pub(super) async fn set_members(&self, members: &Members) {
        let committees: Vec<_> =
            lock(&self.committees).iter().map(|(_, setup)| Arc::clone(setup)).collect();
        let peers = members.peers(committees.iter().map(|setup| &**setup)).await;
        if let Some(newest) = committees.last() {
            *lock(&self.names) = members.names(newest);
        }
        if let Err(why) = self.links.set_members(peers) {
            tracing::error!(%why, "members");
        }
    }

    /// The committee has its key.
    pub(super) fn open(&self, key: &PublicKey, first: Slot) {
        self.board.open(key, first);
        if self.key.set((*key, first)).is_ok() {
            // Those of earlier lives.
            for (slot, signature) in self.archive.take_past() {
                self.board.reveal(slot, signature);
            }
        }
    }

    /// Sends a message of the beacon; an early partial waits for its vote.
    pub(super) fn send(&self, to: Recipient<Party>, message: Message) {
        self.arrivals.note(self.me, &message);
        // Answers to single peers are of final slots.
        let passed = match to {
            Recipient::All => self.gate.pass(message),
            Recipient::One(_) => Some(message),
        };
        if let Some(message) = passed {
            links::send(&self.links, to, &message);
        }
    }

    /// The vote for this slot has left, or the slot is final.
    pub(super) fn open_gate(&self, slot: Slot) {
        for message in self.gate.open(slot) {
            links::send(&self.links, Recipient::All, &message);
        }
    }

    /// Hands a peer's message to the participant.
    pub(super) fn deliver(&self, from: Party, message: Message) {
        self.arrivals.note(from, &message);
        match self.driver.on_message(from, message) {
            Ok(()) => {}
            Err(MessageError::Stopped(why)) => self.end(why),
            Err(why) => tracing::debug!(peer = from.get(), %why, "message left out"),
        }
    }

    /// The committee that decides a slot behind the last final one; `None` as long as that is not known.
    pub(super) fn validators(&self, slot: Slot) -> Option<Validators> {
        let setup = self.driver.change(|participant| participant.setup_of(slot));
        let setup = setup.ok().flatten()?;
        match validators_of(&setup) {
            Ok(validators) => Some(validators),
            Err(why) => {
                self.end(why);
                None
            }
        }
    }

    /// Values that this validator has kept, for a peer that missed them.
    pub(super) fn archived(&self, epoch: EpochId, slots: &[Slot]) -> Vec<Message> {
        let kept = slots.iter().filter_map(|slot| Some((*slot, self.board.value(*slot)?)));
        let message = |(slot, bytes): (Slot, [u8; 48])| {
            let shown = Signature::from_bytes(&bytes).ok()?;
            let message = BeaconMessage::Output { slot, path: Path::Slow, shown };
            Some(Message::one(epoch, OneOf::First(message)))
        };
        kept.filter_map(message).collect()
    }

    /// The longest transaction.
    pub(super) fn max_block_bytes(&self) -> usize {
        self.setup.max_block_bytes
    }

    /// A slot became final here now.
    pub(super) fn is_final(&self, slot: Slot) {
        let mut finals = lock(&self.finals);
        finals.entry(slot).or_insert_with(Instant::now);
        while finals.len() > REMEMBERED {
            finals.pop_first();
        }
    }

    /// A slot's value is there. Gives how long it took after finality, if this process saw that.
    pub(super) fn is_revealed(&self, slot: Slot, path: Path) -> Option<Duration> {
        self.retire(slot);
        let wait = lock(&self.finals).remove(&slot).map(|then| then.elapsed());
        let mut revealed = lock(&self.revealed);
        let count = revealed.entry(path).or_default();
        *count = count.saturating_add(1);
        self.metrics.revealed(path, wait);
        wait
    }

    /// Notes how much weight had arrived for a slot that is revealed.
    pub(super) fn weigh(&self, slot: Slot, path: Path) {
        let arrived = self.arrivals.take(slot, path);
        let committees = lock(&self.committees);
        let of_slot = committees.iter().rfind(|(first, _)| *first <= slot);
        let setup = of_slot.map(|(_, setup)| Arc::clone(setup));
        drop(committees);
        let share = if path == Path::Fast { SharePath::Fast } else { SharePath::Slow };
        let Some(setup) = setup else { return };
        let shape = setup.keygen.shape();
        let Some(needed) = shape.threshold(share) else { return };
        let weight = |party: &Party| u64::from(shape.access().weight(*party));
        let arrived = arrived.iter().map(weight).sum();
        self.metrics.weight(path, arrived, needed.t().get().into());
    }

    /// The name of a party, or its number if it has none here.
    pub(super) fn name_of(&self, party: Party) -> String {
        lock(&self.names).get(&party).cloned().unwrap_or_else(|| party.to_string())
    }

    fn figures(&self) -> Option<Figures> {
        self.driver.figures().ok()
    }

    fn epoch(&self) -> u64 {
        self.driver.change(|participant| participant.epoch().get()).unwrap_or(0)
    }

    fn stopped(&self) -> Option<String> {
        self.ended
            .borrow()
            .clone()
            .or_else(|| self.driver.figures().err().map(|why| why.to_string()))
    }

    /// The state of the validator, for an operator.
    pub(super) fn status(&self) -> StatusReport {
        let figures = self.figures();
        let links = self.links.status();
        let up = links.values().filter(|status| is_up(status)).count();
        let revealed = lock(&self.revealed);
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            chain: (self.chain.clone(), hex::encode(self.setup.context.chain.as_bytes())),
            validator: (self.name.clone(), Some(self.me.get())),
            epoch: self.epoch(),
            height: self.height.load(Ordering::Relaxed),
            last_final: figures.and_then(|figures| figures.last_final).map(Slot::get),
            head: figures.map_or(0, |figures| figures.head.get()),
            key: self.key.get().map(|(key, first)| (hex::encode(key.to_bytes()), first.get())),
            revealed: revealed.iter().map(|(path, count)| (path.to_string(), *count)).collect(),
            links: (up, links.len()),
            states: self.execution.as_ref().map(|execution| execution.committed()),
            stopped: self.stopped(),
        }
    }

    /// The state of all links, for an operator.
    pub(super) fn peers(&self) -> Vec<PeerReport> {
        let members = self.links.members();
        let report = |(party, status): (Party, Status)| {
            let address = members.get(&party).and_then(|peer| peer.address);
            let state = match &status.state {
                State::Up { agent, .. } => format!("up, {agent}"),
                State::Down { why } => format!("down: {why}"),
                _ => "not connected yet".to_owned(),
            };
            PeerReport {
                peer: (self.name_of(party), party.get()),
                address: address.map(|address| address.to_string()),
                is_up: is_up(&status),
                state,
                bytes: (status.sent, status.received),
                waiting: (status.waiting, status.refused),
            }
        };
        self.links.status().into_iter().map(report).collect()
    }

    /// Values that are kept, from a slot on; `None` before there is a key.
    pub(super) fn values(&self, from: u64, most: usize) -> Option<ValuesReport> {
        let (key, first) = self.key.get()?;
        let values = self.board.values(Slot::new(from), most).into_iter();
        Some(ValuesReport {
            key: (hex::encode(key.to_bytes()), first.get()),
            values: values.map(|(slot, value)| (slot.get(), hex::encode(value))).collect(),
        })
    }

    /// Changes what leaves from a slot on.
    pub(super) fn switch(&self, request: SwitchRequest) -> Result<(), String> {
        let switch = Switch { from: Slot::new(request.slot), mode: request.mode.into() };
        self.driver.tell(Input::Switch(switch)).map_err(|why| why.to_string())
    }

    /// The set-up of the epoch that this validator is in.
    fn current(&self) -> Result<Arc<Setup>, String> {
        let next = |participant: &mut Running| participant.setup_of(participant.last());
        let setup = self.driver.change(next).map_err(|why| why.to_string())?;
        setup.ok_or_else(|| "the committee is changing: ask again in the next epoch".to_owned())
    }

    /// The parties of this epoch.
    pub(super) fn committee(&self) -> Vec<MemberReport> {
        let Ok(setup) = self.current() else { return Vec::new() };
        let parties = (0..).map(Party::new).zip(&setup.members);
        let report = |(party, member): (Party, &prefinal_engine::Member<_>)| MemberReport {
            party: party.get(),
            name: self.name_of(party),
            stake: member.stake.get(),
        };
        parties.map(report).collect()
    }

    /// The text of a draft of the next committee.
    pub(super) fn draft(&self, request: &DraftRequest) -> Result<String, String> {
        let read = |text: &String| Application::from_text(text).map_err(|error| error.to_string());
        let applications = request.applications.iter().map(read).collect::<Result<_, _>>()?;
        let stakes = request.stakes.iter().copied().map(Stake::new).collect();
        let draft = Draft::new(&*self.current()?, stakes, applications);
        draft.map(|draft| draft.to_text()).map_err(|error| error.to_string())
    }

    /// The text of this validator's consent to a draft.
    pub(super) fn approve(&self, draft: &str) -> Result<String, String> {
        let draft = Draft::from_text(draft).map_err(|error| error.to_string())?;
        draft.check(&*self.current()?).map_err(|error| error.to_string())?;
        let consent = self.driver.change(|participant| draft.approve(participant.identity()));
        consent.map(|consent| consent.to_text()).map_err(|why| why.to_string())
    }

    /// Merges consents, and has the change ordered.
    pub(super) fn change(&self, request: &ChangeRequest) -> Result<(), String> {
        let draft = Draft::from_text(&request.draft).map_err(|error| error.to_string())?;
        let read = |text: &String| Consent::from_text(text).map_err(|error| error.to_string());
        let consents = request.consents.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let change = draft.merge(&*self.current()?, consents).map_err(|error| error.to_string())?;
        self.submit(&change.to_transaction()).map_err(|error| error.to_string())
    }

    fn submit(&self, transaction: &[u8]) -> Result<(), MempoolError> {
        let transaction = Arc::from(transaction);
        self.mempool.submit(self.me, Arc::clone(&transaction))?;
        links::spread(&self.links, &transaction);
        Ok(())
    }

    /// All metrics as text.
    pub(super) fn metrics(&self) -> Result<String, std::fmt::Error> {
        let links: Vec<_> = self.links.status().into_iter().collect();
        let links: Vec<_> =
            links.into_iter().map(|(party, status)| (self.name_of(party), status)).collect();
        self.metrics.text(&Snapshot {
            figures: self.figures(),
            epoch: self.epoch(),
            height: self.height.load(Ordering::Relaxed),
            mempool_bytes: self.mempool.bytes(),
            links: &links,
        })
    }

    /// Whether the process does its work at all.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) fn health(&self) -> Result<(), String> {
        self.stopped().map_or(Ok(()), Err)
    }

    /// Whether it takes part: the key is there, links to more than two thirds of the stake are up, and values
    /// follow the final slots.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn readiness(&self) -> Result<(), String> {
        self.health()?;
        let figures = self.driver.figures().map_err(|why| why.to_string())?;
        if self.key.get().is_none() {
            return Err("the committee has no key yet".to_owned());
        }
        let status = self.links.status();
        let (mut reached, mut total) = (0_u128, 0_u128);
        let setup = lock(&self.committees).front().map(|(_, setup)| Arc::clone(setup));
        let members = setup.iter().flat_map(|setup| &setup.members);
        for (party, member) in (0..).map(Party::new).zip(members) {
            let stake = member.stake.get();
            total = total.saturating_add(stake);
            if party == self.me || status.get(&party).is_some_and(is_up) {
                reached = reached.saturating_add(stake);
            }
        }
        if reached.saturating_mul(3) <= total.saturating_mul(2) {
            return Err(format!(
                "links reach {reached} of the stake {total}, more than 2/3 are needed"
            ));
        }
        let last = figures.last_final.map_or(0, Slot::get);
        let behind = last.saturating_add(1).saturating_sub(figures.head.get());
        if behind > BEHIND {
            Err(format!("{behind} final slots have no value, or no certified state yet"))
        } else {
            Ok(())
        }
    }
}

/// Final slots that may lack their value while a validator counts as ready.
const BEHIND: u64 = 8;

/// The committee of a set-up, as the engine counts it.
pub(super) fn validators_of(setup: &Setup) -> Result<Validators, String> {
    let members = Malachite::members(setup).map_err(|error| error.to_string())?;
    Validators::new(&setup.context, &members).map_err(|error| error.to_string())
}

fn is_up(status: &Status) -> bool {
    matches!(status.state, State::Up { .. })
}
