//! One replica as a task: messages, verdicts and deadlines in, outputs carried out in their order.
//!
//! As in a validator, jobs run on the runtime's blocking threads, and an effect leaves when the records before it
//! are durable. What has arrived meanwhile is handled together, so that one write serves several messages.
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prefinal_journal::{Journal, Journaled, Memory, Redb};
use prefinal_net::Links;
use prefinal_protocol::{Instant, Party};
use prefinal_trantor::{
    Effect, Replica, ReplicaEffect, ReplicaInput, ReplicaVerdict, SubmitError, WindowError,
};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant as Clock;

use crate::Outcome;
use crate::clients::Clients;
use crate::committee;
use crate::ledger::{Delivered, Ledger};
use crate::measure::{Meters, Part};
use crate::network::{self, Received};

/// Messages and verdicts that are handled together with the first ones, at most.
const TOGETHER: usize = 64;

/// Where a replica's records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// Into memory: what a replica costs without a disk.
    Memory,
    /// Into a file, on the disk before what depends on them is said.
    File,
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "records in memory",
            Self::File => "records on disk",
        })
    }
}

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They submit, and nothing is counted yet.
    WarmUp,
    /// They submit, and their waits count.
    Count,
    /// They submit nothing new.
    Rest,
    /// The replicas end their tasks.
    Stop,
}

/// What all replicas of a run share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) started: Clock,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) meters: Arc<Meters>,
}

/// What a replica leaves behind when it stops.
pub(crate) struct Remains {
    pub(crate) delivered: Delivered,
    /// Waits of its clients that ended while they counted.
    pub(crate) waits: Vec<Duration>,
    pub(crate) skipped: u64,
    pub(crate) checkpoints: u64,
    /// Open until all have stopped: a link that nobody reads any more is down for its peer.
    _inbox: Receiver<Outcome<Received>>,
}

type Machine = Journaled<Replica<Ledger>, Box<dyn Journal + Send>>;

/// A replica with its clients and its links.
pub(crate) struct Task {
    shared: Shared,
    machine: Machine,
    links: Links,
    clients: Clients,
    verdicts: UnboundedSender<ReplicaVerdict>,
    done: UnboundedReceiver<ReplicaVerdict>,
    waits: Vec<Duration>,
    skipped: u64,
    checkpoints: u64,
    /// Transactions of its clients that are on the way, for others to read.
    open: Arc<AtomicU64>,
    /// Whether the transaction that was submitted last was not taken.
    busy: bool,
}

/// A journal in memory, or in a file of this folder.
fn journal(me: Party, records: Records, folder: &Path) -> Outcome<Box<dyn Journal + Send>> {
    Ok(match records {
        Records::Memory => Box::new(Memory::new()),
        Records::File => {
            let owner = format!("replica {}", me.get());
            Box::new(Redb::create(&folder.join(format!("{}.redb", me.get())), &owner)?)
        }
    })
}

impl Task {
    /// A replica that has not started yet.
    pub(crate) fn new(
        shared: Shared,
        (me, links): (Party, Links),
        clients: u32,
        (records, folder): (Records, &Path),
    ) -> Outcome<Self> {
        let journal = journal(me, records, folder)?;
        let machine = Journaled::open(journal, |records| committee::replica(me, records))?;
        let (verdicts, done) = unbounded_channel();
        Ok(Self {
            shared,
            machine,
            links,
            clients: Clients::new(me, clients),
            verdicts,
            done,
            waits: Vec::new(),
            skipped: 0,
            checkpoints: 0,
            open: Arc::default(),
            busy: false,
        })
    }

    /// The ledger of the replica.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.machine.machine().app()
    }

    /// The number of its clients' transactions on the way; it goes on while the replica runs.
    pub(crate) fn open(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.open)
    }

    /// Runs the replica until it is told to stop.
    ///
    /// # Errors
    /// If its journal or a link fails, if a peer breaks the rules, or if it falls behind: none of that is to
    /// happen where all are honest.
    pub(crate) async fn run(mut self, mut inbox: Receiver<Outcome<Received>>) -> Outcome<Remains> {
        let meters = Arc::clone(&self.shared.meters);
        let mut phase = self.shared.phase.clone();
        meters.charge(Part::Replicas, || self.start())?;
        loop {
            let deadline = self.deadline();
            let (mut first, mut verdict) = (None, None);
            tokio::select! {
                received = inbox.recv() => {
                    first = Some(received.ok_or("the links have ended")??);
                }
                done = self.done.recv() => verdict = done,
                () = tokio::time::sleep_until(deadline) => {}
                changed = phase.changed() => {
                    changed?;
                    if *phase.borrow_and_update() == Phase::Stop {
                        return Ok(self.stop(inbox));
                    }
                    continue;
                }
            }
            meters.charge(Part::Replicas, || self.step(first, verdict, &mut inbox))?;
        }
    }

    fn start(&mut self) -> Outcome<()> {
        self.tell(ReplicaInput::Start)?;
        self.carry_out()?;
        self.submit_all(self.clients.all())
    }

    fn stop(self, inbox: Receiver<Outcome<Received>>) -> Remains {
        Remains {
            delivered: self.machine.machine().app().result(),
            waits: self.waits,
            skipped: self.skipped,
            checkpoints: self.checkpoints,
            _inbox: inbox,
        }
    }

    /// Takes what has arrived, and carries out what follows.
    fn step(
        &mut self,
        next: Option<Received>,
        verdict: Option<ReplicaVerdict>,
        inbox: &mut Receiver<Outcome<Received>>,
    ) -> Outcome<()> {
        let is_tick = next.is_none() && verdict.is_none();
        self.take(next, verdict)?;
        for _ in 0..TOGETHER {
            let verdict = self.done.try_recv().ok();
            let next = inbox.try_recv().ok().transpose()?;
            if next.is_none() && verdict.is_none() {
                break;
            }
            self.take(next, verdict)?;
        }
        if is_tick {
            self.tell(ReplicaInput::Tick)?;
        }
        self.carry_out()?;
        let mut clients = self.served();
        clients.extend(self.clients.ask_again(Clock::now()));
        self.submit_all(clients)
    }

    fn take(&mut self, next: Option<Received>, verdict: Option<ReplicaVerdict>) -> Outcome<()> {
        if let Some(verdict) = verdict {
            self.tell(ReplicaInput::Checked(verdict))?;
        }
        if let Some(Received { from, message, .. }) = next {
            self.tell(ReplicaInput::Received { from, message })?;
        }
        Ok(())
    }

    fn tell(&mut self, input: ReplicaInput) -> Outcome<()> {
        let now = Instant::at(self.shared.started.elapsed());
        Ok(self.machine.handle(now, input)?)
    }

    fn deadline(&self) -> Clock {
        const FAR: Duration = Duration::from_secs(3600);
        let wakes = self.machine.wake_at().map(|at| self.shared.started + at.since_start());
        let earliest = [wakes, self.clients.asks_at()].into_iter().flatten().min();
        earliest.unwrap_or_else(|| Clock::now() + FAR)
    }

    /// Clients whose transactions were delivered.
    fn served(&mut self) -> Vec<u32> {
        let (fresh, now) = (self.ledger().take_fresh(), Clock::now());
        let counts = *self.shared.phase.borrow() == Phase::Count;
        let mut clients = Vec::new();
        for header in fresh {
            let Some((client, wait)) = self.clients.deliver(now, &header) else { continue };
            clients.push(client);
            if counts {
                self.waits.push(wait);
            }
        }
        clients
    }

    /// Lets these clients submit. At rest only those do that were turned away with a transaction.
    fn submit_all(&mut self, clients: Vec<u32>) -> Outcome<()> {
        let rest = *self.shared.phase.borrow() == Phase::Rest;
        for client in clients {
            if rest && !self.clients.waits(client) {
                continue;
            }
            let Some(transaction) = self.clients.transaction(Clock::now(), client) else {
                continue;
            };
            self.tell(ReplicaInput::Submit(transaction))?;
            self.busy = false;
            self.carry_out()?;
            if self.busy {
                self.clients.turn_away(Clock::now(), client);
            }
        }
        self.open.store(self.clients.open(), Ordering::Relaxed);
        Ok(())
    }

    /// In order; an effect comes out when the records before it are durable.
    fn carry_out(&mut self) -> Outcome<()> {
        while let Some(effect) = self.machine.poll()? {
            match effect {
                ReplicaEffect::Send { to, message } => network::send(&self.links, to, &message)?,
                ReplicaEffect::Run(job) => {
                    let (verdicts, meters) =
                        (self.verdicts.clone(), Arc::clone(&self.shared.meters));
                    tokio::task::spawn_blocking(move || {
                        // The task may have stopped; then nobody needs the verdict.
                        drop(verdicts.send(meters.charge(Part::Checks, || job.run())));
                    });
                }
                ReplicaEffect::Applied { value: None, .. } => self.skipped += 1,
                ReplicaEffect::Stable(_) => self.checkpoints += 1,
                ReplicaEffect::Order(Effect::Refused(
                    SubmitError::Busy { .. } | SubmitError::Window(WindowError::Ahead { .. }),
                )) => self.busy = true,
                ReplicaEffect::Order(Effect::Refused(error)) => return Err(error.into()),
                ReplicaEffect::Applied { .. } | ReplicaEffect::Order(_) => {}
                ReplicaEffect::Accuse { party, fault } => {
                    return Err(format!("{party} is accused: {fault}").into());
                }
                ReplicaEffect::Restored(_) => {
                    return Err("a replica fell behind and took the state of others".into());
                }
                ReplicaEffect::NotRestored(error) => return Err(error.into()),
                ReplicaEffect::ConfigurationRefused(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
