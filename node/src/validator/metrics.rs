//! What an operator watches, in the text format that Prometheus reads.
//!
//! Names begin with `prefinal_`; those of Malachite's engine, which stand below ours, with `malachitebft_` and
//! `libp2p_`. Counters only grow while the process runs. The book's chapter on operating says which of
//! them should raise an alarm.
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prefinal_beacon::Path;
use prefinal_driver::Figures;
use prefinal_malachite_app::App;
use prefinal_net::{State, Status};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The last line of a text of metrics.
const END: &str = "# EOF\n";

/// The path by which a value came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PathLabel {
    path: String,
}

/// The validator at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PeerLabel {
    peer: String,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counters of the whole process, and the registry that writes them. Clones share them.
#[derive(Clone)]
pub(super) struct Metrics {
    registry: Arc<Registry>,
    wait: Histograms<PathLabel>,
    values: Family<PathLabel, Counter>,
    weight_in: Family<PathLabel, Gauge>,
    weight_needed: Family<PathLabel, Gauge>,
    pub(super) skipped: Counter,
    pub(super) executed_early: Counter,
    pub(super) refusals: Counter,
    accusations: Family<PeerLabel, Counter>,
    pub(super) undecodable: Counter,
    pub(super) journal: JournalMetrics,
    state: Gauges,
    links: LinkGauges,
}

/// What writing the journal costs.
#[derive(Clone)]
pub(super) struct JournalMetrics {
    pub(super) records: Counter,
    pub(super) bytes: Counter,
    pub(super) sync: Histogram,
}

/// The state of the driver, read when somebody asks.
#[derive(Clone, Default)]
struct Gauges {
    head: Gauge,
    last_final: Gauge,
    epoch: Gauge,
    height: Gauge,
    inbox_messages: Gauge,
    inbox_bytes: Gauge,
    dropped: Gauge<u64, AtomicU64>,
    jobs: Gauge,
    repeated: Gauge<u64, AtomicU64>,
    unread: Gauge,
    mempool_bytes: Gauge,
}

/// The state of each link, read when somebody asks.
#[derive(Clone, Default)]
struct LinkGauges {
    up: Family<PeerLabel, Gauge>,
    sent: Family<PeerLabel, Gauge<u64, AtomicU64>>,
    received: Family<PeerLabel, Gauge<u64, AtomicU64>>,
    waiting: Family<PeerLabel, Gauge>,
    refused: Family<PeerLabel, Gauge<u64, AtomicU64>>,
}

/// What is read from the parts of the process when somebody asks for the metrics.
pub(super) struct Snapshot<'a> {
    /// The driver's figures; `None` once it has stopped.
    pub(super) figures: Option<Figures>,
    /// The epoch that the validator is in.
    pub(super) epoch: u64,
    /// The height that the engine works on.
    pub(super) height: u64,
    /// Bytes of transactions that wait for a block.
    pub(super) mempool_bytes: usize,
    /// Each link by its peer's name.
    pub(super) links: &'a [(String, Status)],
}

impl Metrics {
    /// All counters at zero.
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("prefinal");
        let wait: Histograms<PathLabel> = Family::new_with_constructor(seconds);
        registry.register(
            "wait_seconds",
            "From finality of a slot to its value, by path, and to the certificate of its state",
            wait.clone(),
        );
        let values = Family::default();
        registry.register("values", "Values revealed, by path", values.clone());
        let (weight_in, weight_needed) = (Family::default(), Family::default());
        let about =
            "Weight of the partials that had arrived when the last value was revealed, by path";
        registry.register("weight_in", about, weight_in.clone());
        registry.register(
            "weight_needed",
            "Weight that reveals a value, by path",
            weight_needed.clone(),
        );
        let [skipped, executed_early, refusals, undecodable] = [(); 4].map(|()| Counter::default());
        registry.register("skipped", "Slots without a value", skipped.clone());
        let about = "States voted for before their blocks were known to be final";
        registry.register("executed_early", about, executed_early.clone());
        registry.register(
            "refusals",
            "Reports of the engine that released nothing",
            refusals.clone(),
        );
        let about = "Frames and vote extensions that do not decode";
        registry.register("undecodable", about, undecodable.clone());
        let accusations = Family::default();
        registry.register(
            "accusations",
            "Faults of a peer, each with its evidence in the log",
            accusations.clone(),
        );
        let journal = JournalMetrics::register(&mut registry);
        let state = Gauges::register(&mut registry);
        let links = LinkGauges::register(&mut registry);
        Self {
            registry: Arc::new(registry),
            wait,
            values,
            weight_in,
            weight_needed,
            skipped,
            executed_early,
            refusals,
            accusations,
            undecodable,
            journal,
            state,
            links,
        }
    }

    /// A slot's value is there, so long after the slot was final; `None` if this process did not see it become so.
    /// A state is certified, so long after its block was final.
    pub(super) fn certified(&self, wait: Duration) {
        let label = PathLabel { path: "state".to_owned() };
        self.wait.get_or_create(&label).observe(wait.as_secs_f64());
    }

    pub(super) fn revealed(&self, path: Path, wait: Option<Duration>) {
        let label = PathLabel { path: path.to_string() };
        self.values.get_or_create(&label).inc();
        if let Some(wait) = wait {
            self.wait.get_or_create(&label).observe(wait.as_secs_f64());
        }
    }

    /// The weight that had arrived for a slot when it was revealed, and how much was needed.
    pub(super) fn weight(&self, path: Path, arrived: u64, needed: u64) {
        let label = PathLabel { path: path.to_string() };
        self.weight_in.get_or_create(&label).set(signed(arrived));
        self.weight_needed.get_or_create(&label).set(signed(needed));
    }

    /// A peer did wrong.
    pub(super) fn accused(&self, peer: String) {
        self.accusations.get_or_create(&PeerLabel { peer }).inc();
    }

    /// Everything as text, the engine's own figures behind ours.
    pub(super) fn text(&self, snapshot: &Snapshot<'_>) -> Result<String, fmt::Error> {
        self.state.set(snapshot);
        for (peer, status) in snapshot.links {
            self.links.set(peer, status);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        // The mark of the end stands once, behind both.
        let ours = text.strip_suffix(END).unwrap_or(&text);
        Ok(format!("{ours}{}", App::metrics()))
    }
}

/// From a millisecond to half a minute.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn counted(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl JournalMetrics {
    fn register(registry: &mut Registry) -> Self {
        let journal =
            Self { records: Counter::default(), bytes: Counter::default(), sync: seconds() };
        registry.register("journal_records", "Records written", journal.records.clone());
        registry.register("journal_bytes", "Bytes of the records written", journal.bytes.clone());
        registry.register(
            "journal_sync_seconds",
            "Time until records are durable",
            journal.sync.clone(),
        );
        journal
    }
}

impl Gauges {
    fn register(registry: &mut Registry) -> Self {
        let gauges = Self::default();
        let (one, two) = (&gauges, |gauge: &Gauge| gauge.clone());
        registry.register("head_slot", "The next slot to be revealed", two(&one.head));
        registry.register("final_slot", "The highest final slot", two(&one.last_final));
        registry.register("epoch", "The epoch that this validator is in", two(&one.epoch));
        registry.register("height", "The height that the engine works on", two(&one.height));
        registry.register(
            "inbox_messages",
            "Messages of peers that wait",
            two(&one.inbox_messages),
        );
        registry.register("inbox_bytes", "Bytes of these messages", two(&one.inbox_bytes));
        let about = "Messages dropped, because their sender's places were taken";
        registry.register("inbox_dropped", about, one.dropped.clone());
        registry.register("jobs", "Jobs on the pool", two(&one.jobs));
        registry.register("jobs_repeated", "Jobs handed out again", one.repeated.clone());
        registry.register(
            "effects_unread",
            "Effects that wait to be carried out",
            two(&one.unread),
        );
        let about = "Bytes of transactions that wait for a block";
        registry.register("mempool_bytes", about, two(&one.mempool_bytes));
        gauges
    }

    fn set(&self, snapshot: &Snapshot<'_>) {
        self.epoch.set(signed(snapshot.epoch));
        self.height.set(signed(snapshot.height));
        self.mempool_bytes.set(counted(snapshot.mempool_bytes));
        let Some(figures) = snapshot.figures else { return };
        self.head.set(signed(figures.head.get()));
        self.last_final.set(signed(figures.last_final.map_or(0, |slot| slot.get())));
        self.inbox_messages.set(counted(figures.waiting));
        self.inbox_bytes.set(counted(figures.bytes));
        self.dropped.set(figures.dropped);
        self.jobs.set(counted(figures.jobs));
        self.repeated.set(figures.repeated);
        self.unread.set(counted(figures.unread));
    }
}

impl LinkGauges {
    fn register(registry: &mut Registry) -> Self {
        let links = Self::default();
        registry.register("link_up", "Whether the link to a peer is up", links.up.clone());
        registry.register("link_sent_bytes", "Bytes sent to a peer", links.sent.clone());
        registry.register(
            "link_received_bytes",
            "Bytes received from a peer",
            links.received.clone(),
        );
        registry.register(
            "link_waiting_bytes",
            "Bytes that wait for a peer",
            links.waiting.clone(),
        );
        let about = "Frames for a peer that were refused, because too much waited";
        registry.register("link_refused_frames", about, links.refused.clone());
        links
    }

    fn set(&self, peer: &str, status: &Status) {
        let label = PeerLabel { peer: peer.to_owned() };
        let is_up = matches!(status.state, State::Up { .. });
        self.up.get_or_create(&label).set(is_up.into());
        self.sent.get_or_create(&label).set(status.sent);
        self.received.get_or_create(&label).set(status.received);
        self.waiting.get_or_create(&label).set(counted(status.waiting));
        self.refused.get_or_create(&label).set(status.refused);
    }
}
