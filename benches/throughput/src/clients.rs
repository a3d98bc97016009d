//! The clients beside one replica, in a closed loop.
//!
//! Each client has one transaction on the way and submits the next one when its replica has delivered it. A client
//! that is told that the replica is busy asks again after the batch timeout. A transaction gives a value to the
//! client's own key.
use std::collections::VecDeque;
use std::time::Duration;

use prefinal_protocol::Party;
use prefinal_trantor::{Client, ClientHeader, Command, Transaction};
use tokio::time::Instant;

use crate::committee::{BATCH_TIMEOUT, PAYLOAD};

/// What a command takes beside its key and value.
const AROUND: usize = 9;

/// A client's next number, and when it was submitted first if it is on the way.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    number: u64,
    since: Option<Instant>,
}

/// The clients beside one replica.
#[derive(Debug)]
pub(crate) struct Clients {
    me: Party,
    turns: Vec<Turn>,
    /// How many of their transactions are on the way.
    open: u64,
    /// Clients that were told that the replica is busy, and when each asks again.
    turned_away: VecDeque<(Instant, u32)>,
}

impl Clients {
    /// So many clients, none of which has submitted anything.
    pub(crate) fn new(me: Party, count: u32) -> Self {
        Self {
            me,
            turns: (0..count).map(|_| Turn::default()).collect(),
            open: 0,
            turned_away: VecDeque::new(),
        }
    }

    /// The clients of this replica, by their places.
    pub(crate) fn all(&self) -> Vec<u32> {
        (0..).zip(&self.turns).map(|(client, _)| client).collect()
    }

    fn turn(&mut self, client: u32) -> Option<&mut Turn> {
        self.turns.get_mut(usize::try_from(client).ok()?)
    }

    /// The client's next transaction, or the same one again if it was turned away.
    pub(crate) fn transaction(&mut self, now: Instant, client: u32) -> Option<Transaction> {
        let name = name(self.me, client);
        let key = format!("{}/{client}", self.me.get());
        let turn = self.turn(client)?;
        let is_new = turn.since.replace(turn.since.unwrap_or(now)).is_none();
        let bytes = usize::from(PAYLOAD).saturating_sub(AROUND + key.len());
        let value = turn.number.to_be_bytes().into_iter().cycle().take(bytes).collect();
        let header = ClientHeader { client: name, number: turn.number };
        self.open += u64::from(is_new);
        Some(Command::Put { key, value }.transaction(header))
    }

    /// The client was told that the replica is busy.
    pub(crate) fn turn_away(&mut self, now: Instant, client: u32) {
        self.turned_away.push_back((now + BATCH_TIMEOUT, client));
    }

    /// When a client asks again that was turned away.
    pub(crate) fn asks_at(&self) -> Option<Instant> {
        self.turned_away.front().map(|(again, _)| *again)
    }

    /// The clients whose time has come to ask again.
    pub(crate) fn ask_again(&mut self, now: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some((_, client)) = self.turned_away.pop_front_if(|(again, _)| *again <= now) {
            due.push(client);
        }
        due
    }

    /// A transaction was delivered: the client and its wait, if it is one of these clients.
    pub(crate) fn deliver(
        &mut self,
        now: Instant,
        header: &ClientHeader,
    ) -> Option<(u32, Duration)> {
        let client = place(self.me, header.client)?;
        let turn = self.turn(client).filter(|turn| turn.number == header.number)?;
        let since = turn.since.take()?;
        turn.number = turn.number.saturating_add(1);
        self.open = self.open.saturating_sub(1);
        Some((client, now.saturating_duration_since(since)))
    }

    /// Whether a transaction of this client is on the way, or was turned away.
    pub(crate) fn waits(&self, client: u32) -> bool {
        let turn = usize::try_from(client).ok().and_then(|client| self.turns.get(client));
        turn.is_some_and(|turn| turn.since.is_some())
    }

    /// How many of their transactions are on the way, or were turned away.
    pub(crate) const fn open(&self) -> u64 {
        self.open
    }
}

/// The name of a client: the replica that it is beside, and its place there.
fn name(me: Party, client: u32) -> Client {
    let mut name = [0; 32];
    if let Some(bytes) = name.first_chunk_mut() {
        *bytes = me.get().to_be_bytes();
    }
    if let Some(bytes) = name.last_chunk_mut() {
        *bytes = client.to_be_bytes();
    }
    Client::new(name)
}

/// The place of a client beside this replica; `None` if it is beside another one.
fn place(me: Party, name: Client) -> Option<u32> {
    let bytes = name.to_bytes();
    let client = u32::from_be_bytes(*bytes.last_chunk()?);
    bytes.starts_with(&me.get().to_be_bytes()).then_some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Party = Party::new(2);

    fn header(transaction: &Transaction) -> ClientHeader {
        let (header, body) = ClientHeader::split(transaction.bytes()).unwrap();
        assert_eq!(body.len(), usize::from(PAYLOAD));
        header
    }

    #[test]
    fn a_client_submits_the_next_when_the_last_is_delivered() {
        let (mut clients, now) = (Clients::new(ME, 3), Instant::now());
        assert_eq!(clients.open(), 0);
        assert_eq!(clients.all(), [0, 1, 2]);
        let first = header(&clients.transaction(now, 1).unwrap());
        assert!(clients.open() == 1 && clients.waits(1) && !clients.waits(0));
        let later = now + Duration::from_millis(7);
        // Turned away, it asks with the same one again, and has waited since the first time.
        clients.turn_away(now, 1);
        assert_eq!(
            (clients.ask_again(later), clients.asks_at()),
            (vec![], Some(now + BATCH_TIMEOUT))
        );
        assert_eq!(clients.ask_again(now + BATCH_TIMEOUT), [1]);
        assert_eq!(header(&clients.transaction(later, 1).unwrap()), first);
        assert_eq!(clients.deliver(later, &first), Some((1, Duration::from_millis(7))));
        assert_eq!(clients.deliver(later, &first), None, "once");
        assert_eq!(clients.open(), 0);
        assert_eq!(header(&clients.transaction(later, 1).unwrap()).number, first.number + 1);
        assert!(clients.transaction(now, 3).is_none(), "there is no such client");
    }

    #[test]
    fn clients_of_other_replicas_are_not_served() {
        let (mut clients, now) = (Clients::new(ME, 2), Instant::now());
        let own = header(&clients.transaction(now, 1).unwrap());
        let foreign = ClientHeader { client: name(Party::new(1), 1), ..own };
        assert_eq!(clients.deliver(now, &foreign), None);
        assert!(clients.deliver(now, &own).is_some());
    }
}
