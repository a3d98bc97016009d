//! One replica under load: Trantor's ordering, and the clients beside it.
//!
//! The clients are a closed loop: each has one transaction on the way, and submits the next one when this replica
//! reports it. One that is told that the replica is busy asks again after the batch timeout. Some clients share a
//! name, for a chain knows so many names and no more.
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Output, Recipient};
use prefinal_trantor::{
    Block, Client, ClientHeader, Effect as OrderEffect, Input as OrderInput, Job, Message,
    SubmitError, Transaction, Trantor, Verdict, WindowError,
};

/// What a replica is told.
pub(super) enum Input {
    Start,
    Received { from: Party, message: Message },
    Checked(Verdict),
    Tick,
}

/// What a replica wants done.
pub(super) enum Effect {
    Send {
        to: Recipient<Party>,
        message: Message,
    },
    Check(Job),
    /// A height was reported with so many transactions, of which those of the own clients waited so long.
    Ordered {
        transactions: u64,
        waits: Vec<Duration>,
    },
    /// A height was left empty.
    Skipped,
    /// A party did wrong.
    Accused(Party),
    /// Something happened that must not.
    Wrong(String),
}

/// Clients with one name. Their transactions are in flight together, so they are fewer than the numbers of a
/// window.
const NAMESAKES: usize = 16;

/// A client's transaction: its number, and when it was submitted first.
#[derive(Clone, Copy)]
struct OpenTransaction {
    number: u64,
    since: Instant,
}

/// The clients beside each replica.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    /// Number of clients beside a replica.
    pub(super) clients: usize,
    /// Bytes of a transaction, without the client's name and number.
    pub(super) bytes: usize,
    /// How long a client waits that was told that the replica is busy.
    pub(super) patience: Duration,
}

/// The clients beside one replica.
struct Clients {
    me: Party,
    demand: Demand,
    /// The transactions on the way of each name, by client, and the number of the next.
    names: Vec<(BTreeMap<usize, OpenTransaction>, u64)>,
    /// Clients that were told that the replica is busy, and when each asks again.
    turned_away: VecDeque<(Instant, usize)>,
}

impl Clients {
    fn name(&self, place: usize) -> Client {
        let mut name = [0; 32];
        if let Some(seat) = name.first_chunk_mut() {
            *seat = self.me.get().to_be_bytes();
        }
        if let Some(rest) = name.last_chunk_mut() {
            *rest = u64::try_from(place).unwrap_or(u64::MAX).to_be_bytes();
        }
        Client::new(name)
    }

    /// The place of a name of this replica.
    fn find(&self, name: Client) -> Option<usize> {
        let bytes = name.to_bytes();
        let place = u64::from_be_bytes(*bytes.last_chunk()?);
        let mine = bytes.starts_with(&self.me.get().to_be_bytes());
        usize::try_from(place).ok().filter(|_| mine)
    }

    /// The client's next transaction, or the same one again if it was turned away.
    fn transaction(&mut self, now: Instant, client: usize) -> Option<Transaction> {
        let place = client / NAMESAKES;
        let name = self.name(place);
        let (sent, next) = self.names.get_mut(place)?;
        let sent = sent.entry(client).or_insert_with(|| {
            *next = next.saturating_add(1);
            OpenTransaction { number: next.saturating_sub(1), since: now }
        });
        let header = ClientHeader { client: name, number: sent.number };
        Some(header.transaction(&vec![0; self.demand.bytes]))
    }

    /// Ends the waits of clients whose transactions are in the block. Returns those clients.
    fn deliver(&mut self, now: Instant, block: &Block, waits: &mut Vec<Duration>) -> Vec<usize> {
        let mut served = Vec::new();
        for transaction in &block.transactions {
            let Some((header, _)) = ClientHeader::split(transaction) else { continue };
            let Some(place) = self.find(header.client) else { continue };
            let Some((sent, _)) = self.names.get_mut(place) else { continue };
            let client = sent.iter().find(|(_, sent)| sent.number == header.number);
            let Some((client, since)) = client.map(|(client, sent)| (*client, sent.since)) else {
                continue;
            };
            sent.remove(&client);
            waits.push(now.since(since));
            served.push(client);
        }
        served
    }
}

/// A replica with its clients.
pub(super) struct Replica {
    engine: Trantor,
    clients: Clients,
    now: Instant,
    effects: VecDeque<Effect>,
}

impl Replica {
    /// A replica with its clients.
    pub(super) fn new(engine: Trantor, me: Party, demand: Demand) -> Self {
        let names = vec![Default::default(); demand.clients.div_ceil(NAMESAKES)];
        let clients = Clients { me, demand, names, turned_away: VecDeque::new() };
        Self { engine, clients, now: Instant::START, effects: VecDeque::new() }
    }

    fn tell(&mut self, input: OrderInput) {
        self.engine.handle(self.now, input);
    }

    fn submit(&mut self, client: usize) {
        let Some(transaction) = self.clients.transaction(self.now, client) else { return };
        self.tell(OrderInput::Submit(transaction));
        let mut busy = false;
        self.drain(&mut busy);
        if busy {
            let again = self.now + self.clients.demand.patience;
            self.clients.turned_away.push_back((again, client));
        }
    }

    /// Takes what the engine has to say. What it says of busy is about the transaction that came last.
    fn drain(&mut self, busy: &mut bool) -> Vec<usize> {
        let mut served = Vec::new();
        while let Some(output) = Machine::poll(&mut self.engine) {
            // No crash is played, so nothing is read again.
            let Output::Do(effect) = output else { continue };
            let effect = match effect {
                OrderEffect::Send { to, message } => Effect::Send { to, message },
                OrderEffect::Check(job) => Effect::Check(job),
                OrderEffect::Finalized { block: Some(block), .. } => {
                    let mut waits = Vec::new();
                    served.extend(self.clients.deliver(self.now, &block, &mut waits));
                    let transactions = u64::try_from(block.transactions.len()).unwrap_or(u64::MAX);
                    Effect::Ordered { transactions, waits }
                }
                OrderEffect::Finalized { block: None, .. } => Effect::Skipped,
                // Ahead of the window is a namesake of one that was turned away.
                OrderEffect::Refused(
                    SubmitError::Busy { .. } | SubmitError::Window(WindowError::Ahead { .. }),
                ) => {
                    *busy = true;
                    continue;
                }
                OrderEffect::Refused(error) => Effect::Wrong(error.to_string()),
                OrderEffect::Accuse { party, .. } => Effect::Accused(party),
                _ => continue,
            };
            self.effects.push_back(effect);
        }
        served
    }

    fn serve(&mut self) {
        let mut busy = false;
        let mut served = self.drain(&mut busy);
        while let Some((_, client)) =
            self.clients.turned_away.pop_front_if(|(again, _)| *again <= self.now)
        {
            served.push(client);
        }
        served.into_iter().for_each(|client| self.submit(client));
    }
}

impl Machine for Replica {
    type Input = Input;
    type Record = ();
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        self.now = now;
        match input {
            Input::Start => {
                self.tell(OrderInput::Start);
                (0..self.clients.demand.clients).for_each(|client| self.submit(client));
            }
            Input::Received { from, message } => {
                self.tell(OrderInput::Received { from, message });
            }
            Input::Checked(verdict) => self.tell(OrderInput::Checked(verdict)),
            Input::Tick => self.tell(OrderInput::Tick),
        }
        self.serve();
    }

    fn poll(&mut self) -> Option<Output<(), Effect>> {
        self.effects.pop_front().map(Output::Do)
    }

    fn wake_at(&self) -> Option<Instant> {
        let again = self.clients.turned_away.front().map(|(again, _)| *again);
        [Machine::wake_at(&self.engine), again].into_iter().flatten().min()
    }
}
