//! A host whose promises are lines in a file, which a test can read after a crash.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prefinal_malachite::{Block, BlockId, Height, Member, Misbehavior, SecretKey, Validators};
use prefinal_malachite_app::Host;
use prefinal_protocol::{ChainId, Context, EpochId, Party};
use prefinal_weighted_rounding::Stake;
use tokio::sync::watch;

/// The committees of a chain: from which height on which stakes count.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) chain: ChainId,
    /// Adds to the seeds of keys, so that a stranger has others.
    pub(crate) seed: u8,
    pub(crate) committees: BTreeMap<u64, Vec<u128>>,
}

impl Plan {
    pub(crate) fn equal(members: usize) -> Self {
        let committees = BTreeMap::from([(1, vec![1; members])]);
        Self { chain: ChainId::new([7; 32]), seed: 1, committees }
    }

    pub(crate) fn key(&self, party: u32) -> SecretKey {
        SecretKey::from_seed([u8::try_from(party).unwrap() + self.seed; 32])
    }

    pub(crate) fn validators(&self, height: Height) -> Validators {
        let (first, stakes) = self.committees.range(..=height.get()).next_back().unwrap();
        let context = Context { chain: self.chain, epoch: EpochId::new(*first) };
        let members = (0..).zip(stakes).map(|(party, stake)| Member {
            key: self.key(party).public_key(),
            stake: Stake::new(*stake),
        });
        Validators::new(&context, &members.collect::<Vec<_>>()).unwrap()
    }
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    Prefinalized(u64, String),
    Voted(u64, String),
    Abandoned(u64, u32),
    Finalized(u64, String),
    /// Height, party, and the bytes.
    Extended(u64, u32, Vec<u8>),
    /// Height, party, and the evidence.
    Misbehaved(u64, u32, Vec<u8>),
}

/// What a host was told, in this life and in earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Mutex<(File, Vec<Line>)>>, watch::Sender<u64>);

impl Log {
    pub(crate) fn open(path: &Path) -> Self {
        let lines = read(path);
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        let last = finalized(&lines).keys().next_back().copied().unwrap_or(0);
        Self(Arc::new(Mutex::new((file, lines))), watch::channel(last).0)
    }

    fn add(&self, line: Line) {
        let mut log = self.0.lock().unwrap();
        let text = match &line {
            Line::Prefinalized(height, block) => format!("P {height} {block}\n"),
            Line::Voted(height, block) => format!("V {height} {block}\n"),
            Line::Abandoned(height, round) => format!("A {height} {round}\n"),
            Line::Finalized(height, block) => format!("F {height} {block}\n"),
            Line::Extended(height, party, bytes) => format!("E {height} {party} {}\n", hex(bytes)),
            Line::Misbehaved(height, party, bytes) => {
                format!("M {height} {party} {}\n", hex(bytes))
            }
        };
        // One write: a crash leaves whole lines.
        log.0.write_all(text.as_bytes()).unwrap();
        log.1.push(line);
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().1.clone()
    }

    /// Waits until this height is finalized.
    pub(crate) async fn reach(&self, height: u64) {
        self.1.subscribe().wait_for(|last| *last >= height).await.unwrap();
    }
}

pub(crate) fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap().to_owned();
        let (kind, height) = (word(), word().parse().unwrap());
        match &*kind {
            "P" => Line::Prefinalized(height, word()),
            "V" => Line::Voted(height, word()),
            "A" => Line::Abandoned(height, word().parse().unwrap()),
            "F" => Line::Finalized(height, word()),
            "E" => Line::Extended(height, word().parse().unwrap(), unhex(&word())),
            "M" => Line::Misbehaved(height, word().parse().unwrap(), unhex(&word())),
            _ => panic!("{kind}"),
        }
    };
    text.lines().map(line).collect()
}

pub(crate) fn finalized(lines: &[Line]) -> BTreeMap<u64, String> {
    let mut blocks = BTreeMap::new();
    for line in lines {
        if let Line::Finalized(height, block) = line {
            let before = blocks.insert(*height, block.clone());
            assert!(before.is_none_or(|before| before == *block), "height {height} decided twice");
        }
    }
    blocks
}

/// The extensions of others by height and party.
pub(crate) fn extended(lines: &[Line]) -> BTreeMap<(u64, u32), BTreeSet<Vec<u8>>> {
    let mut extensions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in lines {
        if let Line::Extended(height, party, bytes) = line {
            extensions.entry((*height, *party)).or_default().insert(bytes.clone());
        }
    }
    extensions
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

pub(crate) fn extension(party: u32, height: Height, block: BlockId) -> Vec<u8> {
    format!("{party} {height} {block}").into_bytes()
}

#[derive(Clone, Debug)]
pub(crate) struct TestHost {
    pub(crate) me: u32,
    pub(crate) plan: Plan,
    pub(crate) log: Log,
    /// Bytes of each transaction that is proposed.
    pub(crate) payload: usize,
    /// Bytes that its extensions have more than others'.
    pub(crate) padding: usize,
    /// Dies where the crash tests want it.
    pub(crate) dies: Option<Death>,
}

/// Where a process of the crash tests ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    BeforeRecord(u64),
    AfterRecord(u64),
    AfterVote(u64),
    BeforeFinalized(u64),
    AfterFinalized(u64),
    /// A panic in place of an end without warning.
    Panic(u64),
}

impl TestHost {
    pub(crate) fn new(me: u32, plan: &Plan, home: &Path) -> Self {
        let log = Log::open(&Self::path(home));
        Self { me, plan: plan.clone(), log, payload: 32, padding: 0, dies: None }
    }

    pub(crate) fn path(home: &Path) -> PathBuf {
        home.join("host.log")
    }

    fn die(&self, here: Death) {
        if self.dies == Some(here) {
            // As a kill from outside would end it: nothing is dropped or flushed.
            std::process::abort();
        }
    }
}

impl Host for TestHost {
    fn last(&self) -> Option<Height> {
        finalized(&self.log.lines()).keys().next_back().map(|height| Height::new(*height))
    }

    async fn validators(&self, height: Height) -> Validators {
        self.plan.validators(height)
    }

    async fn prefinalized(&self, height: Height, block: BlockId) -> Vec<u8> {
        self.die(Death::BeforeRecord(height.get()));
        self.log.add(Line::Prefinalized(height.get(), block.to_string()));
        self.die(Death::AfterRecord(height.get()));
        let mut bytes = extension(self.me, height, block);
        bytes.resize(bytes.len() + self.padding, 0);
        bytes
    }

    fn voted(&self, height: Height, block: BlockId) {
        self.log.add(Line::Voted(height.get(), block.to_string()));
        self.die(Death::AfterVote(height.get()));
    }

    async fn abandoned(&self, height: Height, round: u32) {
        self.log.add(Line::Abandoned(height.get(), round));
    }

    fn extended(&self, height: Height, _: BlockId, from: Party, bytes: &[u8]) {
        let line = Line::Extended(height.get(), from.get(), bytes.to_vec());
        if !self.log.lines().contains(&line) {
            self.log.add(line);
        }
    }

    fn transactions(&self, height: Height, _: usize) -> Vec<Arc<[u8]>> {
        // Not a function of the height alone: proposals of different parties and lives differ.
        let mut bytes =
            format!("{} {height} {:?} ", self.me, std::time::Instant::now()).into_bytes();
        bytes.resize(self.payload.max(bytes.len()), 0);
        vec![bytes.into()]
    }

    fn misbehaved(&self, evidence: &Misbehavior) {
        let (height, party) = (evidence.height().get(), evidence.party().get());
        let bytes = borsh::to_vec(evidence).unwrap();
        self.log.add(Line::Misbehaved(height, party, bytes));
    }

    async fn finalized(&self, block: &Block) {
        let height = block.height().get();
        self.die(Death::BeforeFinalized(height));
        assert_ne!(self.dies, Some(Death::Panic(height)), "as the test wants it");
        self.log.add(Line::Finalized(height, block.id().to_string()));
        self.log.1.send_replace(height);
        self.die(Death::AfterFinalized(height));
    }
}
