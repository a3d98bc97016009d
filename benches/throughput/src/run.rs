//! One load: replicas come up, clients submit, counters are read, and in the end all have delivered the same.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prefinal_net::Links;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::Outcome;
use crate::committee::{SIZE, parties};
use crate::ledger::agree;
use crate::measure::{Meters, Point, Sample};
use crate::network;
use crate::replica::{Phase, Records, Remains, Shared, Task};

/// How long what is on the way may take in the end, and how long tasks may take to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked of the replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Clients beside each replica.
    pub(crate) clients: u32,
    /// Whether replicas write to a disk.
    pub(crate) records: Records,
    /// Time before counting begins.
    pub(crate) warm_up: Duration,
    /// Time that is counted.
    pub(crate) counted: Duration,
}

/// A committee at work.
struct Committee {
    phase: watch::Sender<Phase>,
    links: Vec<Links>,
    /// Transactions that each replica has delivered, and those of its clients that are on the way.
    counts: Vec<Arc<AtomicU64>>,
    open: Vec<Arc<AtomicU64>>,
    meters: Arc<Meters>,
    tasks: JoinSet<Outcome<Remains>>,
}

impl Load {
    /// Lets the clients submit, and counts.
    ///
    /// # Errors
    /// If a replica fails, if they differ, or if nothing is delivered.
    pub(crate) fn run(&self) -> Outcome<Point> {
        let folder = tempfile::tempdir()?;
        let runtime = runtime()?;
        let point = runtime.block_on(async {
            let mut committee = Committee::start(self, folder.path()).await?;
            let counted = committee.count(self).await?;
            committee.end(counted).await
        });
        runtime.shutdown_timeout(PATIENCE);
        point
    }
}

/// Blocking threads for jobs, one for each core. A replica that waits for its disk holds its thread, so there is
/// one more for each.
fn runtime() -> Outcome<Runtime> {
    let cores = cores();
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(cores + usize::try_from(SIZE)?).max_blocking_threads(cores);
    Ok(builder.enable_all().build()?)
}

/// The machine's cores, which all replicas share.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Committee {
    async fn start(load: &Load, folder: &std::path::Path) -> Outcome<Self> {
        let (phase, watched) = watch::channel(Phase::WarmUp);
        let meters = Arc::<Meters>::default();
        let ends = network::connect_all().await?;
        let started = Instant::now();
        let (mut links, mut tasks) = (Vec::new(), JoinSet::new());
        let (mut counts, mut open) = (Vec::new(), Vec::new());
        for (me, (own, inbox)) in parties().zip(ends) {
            let shared = Shared { started, phase: watched.clone(), meters: Arc::clone(&meters) };
            let of = (load.records, folder);
            let task = Task::new(shared, (me, own.clone()), load.clients, of)?;
            counts.push(task.ledger().count());
            open.push(task.open());
            tasks.spawn(task.run(network::read(inbox, Arc::clone(&meters))));
            links.push(own);
        }
        Ok(Self { phase, links, counts, open, meters, tasks })
    }

    /// Lets time pass; an error if a replica does not live through it.
    async fn pass(&mut self, span: Duration) -> Outcome<()> {
        tokio::select! {
            () = sleep(span) => Ok(()),
            ended = self.tasks.join_next() => match ended {
                Some(Ok(Err(why))) => Err(why),
                Some(Err(why)) => Err(why.into()),
                Some(Ok(Ok(_))) | None => Err("a replica has stopped".into()),
            },
        }
    }

    fn sample(&self) -> Sample {
        // The order is one, so what the last has delivered, all have.
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        Sample {
            at: Instant::now(),
            delivered: counts.min().unwrap_or_default(),
            traffic: network::traffic(&self.links),
            costs: self.meters.costs(),
        }
    }

    async fn count(&mut self, load: &Load) -> Outcome<(Sample, Sample)> {
        self.pass(load.warm_up).await?;
        self.phase.send(Phase::Count)?;
        let before = self.sample();
        self.pass(load.counted).await?;
        let after = self.sample();
        self.phase.send(Phase::Rest)?;
        Ok((before, after))
    }

    /// Waits until nothing is on the way, stops the replicas and compares them.
    async fn end(mut self, (before, after): (Sample, Sample)) -> Outcome<Point> {
        let left_out = network::left_out(&self.links);
        self.settle().await?;
        self.phase.send(Phase::Stop)?;
        let remains = timeout(PATIENCE, self.tasks.join_all()).await?;
        for links in &self.links {
            links.close().await;
        }
        let remains = remains.into_iter().collect::<Outcome<Vec<_>>>()?;
        let (mut delivered, mut waits, mut counts) = (Vec::new(), Vec::new(), (0, 0));
        for one in remains {
            waits.extend(one.waits);
            delivered.push(one.delivered);
            counts = (counts.0.max(one.skipped), counts.1.max(one.checkpoints));
        }
        let all = agree(&delivered)?;
        let mut point = Point::new(&before, &after, waits.into_iter().collect());
        (point.skipped, point.checkpoints) = counts;
        point.left_out = left_out;
        if point.is_empty() {
            return Err(format!("nothing was delivered while it was counted, {all} in all").into());
        }
        Ok(point)
    }

    /// Waits until no transaction is on the way, and all replicas have delivered as many.
    async fn settle(&mut self) -> Outcome<()> {
        const PAUSE: Duration = Duration::from_millis(20);
        let deadline = Instant::now() + PATIENCE;
        let read = |all: &[Arc<AtomicU64>]| -> Vec<u64> {
            all.iter().map(|count| count.load(Ordering::Relaxed)).collect()
        };
        loop {
            self.pass(PAUSE).await?;
            let (open, counts) = (read(&self.open), read(&self.counts));
            let is_settled = open.iter().all(|open| *open == 0);
            if is_settled && counts.iter().all(|count| Some(count) == counts.first()) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let why =
                    format!("no rest: {counts:?} transactions delivered, {open:?} on the way");
                return Err(why.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_over_sockets_deliver_the_same() {
        for records in [Records::Memory, Records::File] {
            let (warm_up, counted) = (Duration::from_millis(300), Duration::from_secs(2));
            let point = Load { clients: 8, records, warm_up, counted }.run().unwrap();
            let least = crate::committee::least_sent();
            assert!(point.frames_each() > least, "each payload goes to three replicas: {point}");
            assert!(point.datagrams_each() > point.frames_each(), "{point}");
            let costs = point.costs_each();
            assert!(costs.process >= costs.checks + costs.decoding + costs.replicas, "{costs:?}");
            assert!(!costs.checks.is_zero() && !costs.decoding.is_zero(), "{costs:?}");
        }
    }
}
