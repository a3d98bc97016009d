//! One pipeline with its disk and its journal. A test says when jobs end, and when the process dies.
use std::collections::VecDeque;

use prefinal_execution::{
    BlockId, Certified, Committed, Config, Effect, ExecuteJob, Height, Input, Limits, Past,
    Pipeline, Record, Refusal, Role, Roots, Stop, Store, StoreJob, Switches, Vote,
};
use prefinal_journal::{Journaled, Memory};
use prefinal_protocol::{Instant, Slot, View};

use crate::ledger::{Disk, Entry, Ledger, Signers};

pub(crate) type Machine = Pipeline<Ledger, Signers>;
pub(crate) type Said = Effect<Ledger, Signers>;
pub(crate) type Given = Input<Ledger, Signers>;
pub(crate) type Block = prefinal_execution::Block<Entry>;

pub(crate) enum Job {
    Execute(ExecuteJob<Ledger>),
    Store(StoreJob<Ledger, Signers>),
}

pub(crate) struct Bench {
    pub(crate) config: Config,
    pub(crate) disk: Disk,
    pub(crate) ledger: Ledger,
    pipeline: Journaled<Machine, Memory>,
    pub(crate) jobs: VecDeque<Job>,
    /// What came out, except for jobs.
    pub(crate) said: Vec<Said>,
    /// How many more outputs the process lives for, if it is to die between two of them.
    pub(crate) life: Option<usize>,
}

pub(crate) const fn validator(switches: Switches) -> Config {
    let limits = Limits { forks: 2, proposals: 8, bytes: 10_000, window: 16 };
    Config { role: Role::Validator, switches, limits }
}

/// All eight combinations of the three switches.
pub(crate) fn all_switches() -> impl Iterator<Item = Switches> {
    (0..8_u8).map(|bits| Switches {
        opt_execute: bits & 1 != 0,
        opt_commit: bits & 2 != 0,
        piggyback: bits & 4 != 0,
    })
}

fn open(config: Config, mut disk: Disk, journal: Memory) -> Journaled<Machine, Memory> {
    let recovered = disk.recover().unwrap();
    let build = |records| Machine::new(config, Past { recovered, records });
    Journaled::open(journal, build).unwrap().shortened(3, Machine::snapshot)
}

impl Bench {
    pub(crate) fn new(config: Config) -> Self {
        Self::with(config, Ledger::default())
    }

    pub(crate) fn with(config: Config, ledger: Ledger) -> Self {
        let disk = Disk::new();
        let pipeline = open(config, disk.clone(), Memory::new());
        let mut bench = Self {
            config,
            disk,
            ledger,
            pipeline,
            jobs: VecDeque::new(),
            said: Vec::new(),
            life: None,
        };
        bench.collect();
        bench
    }

    /// The process dies: jobs and whatever is not durable are gone.
    pub(crate) fn restart(self) -> Self {
        let journal = self.pipeline.journal().after_crash(0);
        self.restart_on(journal)
    }

    fn restart_on(self, journal: Memory) -> Self {
        let pipeline = open(self.config, self.disk.clone(), journal);
        let (jobs, said) = (VecDeque::new(), Vec::new());
        let mut bench = Self { pipeline, jobs, said, life: None, ..self };
        bench.collect();
        bench
    }

    /// Whether a process with these records would start again.
    pub(crate) fn would_start(&self) -> Result<(), prefinal_execution::StartError> {
        let mut journal = self.pipeline.journal().after_crash(0);
        let records = prefinal_journal::Journal::replay(&mut journal).unwrap();
        let records: Vec<Record<Signers>> =
            records.iter().map(|bytes| borsh::from_slice(bytes).unwrap()).collect();
        let recovered = self.disk.clone().recover().unwrap();
        Machine::new(self.config, Past { recovered, records }).map(|_| ())
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.life == Some(0)
    }

    /// Gives an input; jobs wait.
    pub(crate) fn hold(&mut self, input: Given) {
        if self.is_dead() {
            return;
        }
        self.pipeline.handle(Instant::START, input).unwrap();
        self.collect();
    }

    /// Gives an input and runs all jobs that follow, oldest first.
    pub(crate) fn give(&mut self, input: Given) {
        self.hold(input);
        while self.work() {}
    }

    /// Runs the oldest job; `false` if there is none.
    pub(crate) fn work(&mut self) -> bool {
        let Some(job) = self.jobs.pop_front() else { return false };
        let done = match job {
            Job::Execute(job) => Input::Executed(job.run(&self.ledger)),
            Job::Store(job) => Input::Stored(job.run(&mut self.disk)),
        };
        self.hold(done);
        true
    }

    fn collect(&mut self) {
        while !self.is_dead() {
            let Some(effect) = self.pipeline.poll().unwrap() else { break };
            self.life = self.life.map(|left| left - 1);
            match effect {
                Effect::Execute(job) => self.jobs.push_back(Job::Execute(job)),
                Effect::Store(job) => self.jobs.push_back(Job::Store(job)),
                other => self.said.push(other),
            }
        }
    }

    pub(crate) fn committed(&self) -> Vec<Committed> {
        self.said
            .iter()
            .filter_map(|said| match said {
                Effect::Committed(committed) => Some(*committed),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn votes(&self) -> Vec<Vote> {
        self.said
            .iter()
            .filter_map(|said| match said {
                Effect::Vote(vote) => Some(*vote),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.said
            .iter()
            .filter_map(|said| match said {
                Effect::Refused(refusal) => Some(refusal.clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn stop(&self) -> Option<&Stop<Signers>> {
        match self.said.last() {
            Some(Effect::Stopped(stop)) => Some(stop),
            _ => None,
        }
    }
}

pub(crate) fn prefinalized(block: &Block) -> Given {
    let header = block.header;
    let view = View::new(header.slot, 0);
    Input::Prefinalized { height: header.height, block: header.id, view }
}

pub(crate) fn certified(block: &Block, roots: Roots) -> Given {
    Input::Certified(certificate(block.header.height, block.header.id, roots))
}

pub(crate) fn certificate(height: Height, block: BlockId, roots: Roots) -> Certified<Signers> {
    Certified { height, block, digest: roots.digest(), certificate: vec![0, 1, 2] }
}

pub(crate) const fn value(slot: u64, byte: u8) -> Given {
    let value = prefinal_execution::Randomness::new([byte; 32]);
    Input::Value { slot: Slot::new(slot), value }
}
