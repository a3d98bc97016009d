//! Processes that end without warning, at each point of a vote's way, and begin again.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prefinal_malachite_app::App;
use tempfile::TempDir;

use crate::host::{Death, Line, Plan, TestHost, extended, finalized, read};
use crate::runs::{options, ports};

const PARTIES: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(100);

/// What a process is told by its environment.
const HOME: &str = "MALACHITE_APP_HOME";

/// Not a test: a party in a separate process, for the tests below.
#[test]
#[ignore = "started by the tests of this file"]
fn party() {
    let Ok(home) = std::env::var(HOME) else { return };
    let home = PathBuf::from(home);
    let told = std::fs::read_to_string(home.join("told")).unwrap();
    let mut words = told.split(' ');
    let me: u32 = words.next().unwrap().parse().unwrap();
    let dies = death(words.next().unwrap());
    let addresses: Vec<SocketAddr> = words.map(|word| word.parse().unwrap()).collect();
    let plan = Plan::equal(4);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let host = TestHost { dies, ..TestHost::new(me, &plan, &home) };
        let app = App::start(options(&plan, me, &home, &addresses), host).await.unwrap();
        panic!("{}", app.exited().await);
    });
}

fn death(word: &str) -> Option<Death> {
    let (point, height) = word.split_once(':')?;
    let height = height.parse().unwrap();
    Some(match point {
        "before-record" => Death::BeforeRecord(height),
        "after-record" => Death::AfterRecord(height),
        "after-vote" => Death::AfterVote(height),
        "before-finalized" => Death::BeforeFinalized(height),
        "after-finalized" => Death::AfterFinalized(height),
        _ => panic!("{point}"),
    })
}

/// Parties in separate processes.
struct Parties {
    home: TempDir,
    addresses: Vec<SocketAddr>,
    children: Vec<Child>,
}

impl Parties {
    fn new() -> Self {
        let (home, addresses) = (TempDir::new().unwrap(), ports(4));
        Self { home, addresses, children: Vec::new() }
    }

    fn home(&self, me: u32) -> PathBuf {
        self.home.path().join(me.to_string())
    }

    fn lines(&self, me: u32) -> Vec<Line> {
        read(&TestHost::path(&self.home(me)))
    }

    fn start(&mut self, dies: &str) {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        for me in 0..PARTIES {
            let home = self.home(me);
            std::fs::create_dir_all(&home).unwrap();
            let told = format!("{me} {dies} {}", addresses.join(" "));
            std::fs::write(home.join("told"), told).unwrap();
            let said = std::fs::File::create(home.join("said")).unwrap();
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crashes::party", "--ignored", "--nocapture"])
                .env(HOME, &home)
                .stdout(Stdio::null())
                .stderr(said)
                .spawn();
            self.children.push(child.unwrap());
        }
    }

    /// Waits until all parties have finalized a height.
    fn reach(&self, height: u64) {
        let until = Instant::now() + PATIENCE;
        let last = |me| finalized(&self.lines(me)).keys().next_back().copied().unwrap_or(0);
        while (0..PARTIES).any(|me| last(me) < height) {
            assert!(Instant::now() < until, "{:?}", (0..PARTIES).map(last).collect::<Vec<_>>());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until two have ended by themselves. Then nothing can be decided any more: the others are
    /// killed, wherever they are.
    fn wait(&mut self) {
        let until = Instant::now() + PATIENCE;
        let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        while self.children.iter_mut().filter_map(|child| ended(child).then_some(())).count() < 2 {
            assert!(Instant::now() < until, "does not die");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }

    fn kill(&mut self) {
        for child in &mut self.children {
            child.kill().unwrap();
        }
        for mut child in self.children.drain(..) {
            child.wait().unwrap();
        }
    }

    /// What must hold whatever has happened.
    fn check(&self) {
        let lines: Vec<_> = (0..PARTIES).map(|me| self.lines(me)).collect();
        let all: Vec<_> = lines.iter().map(|lines| finalized(lines)).collect();
        for (height, block) in all.iter().flatten() {
            for other in all.iter().filter_map(|blocks| blocks.get(height)) {
                assert_eq!(other, block, "height {height}");
            }
        }
        for lines in &lines {
            for ((height, party), extensions) in extended(lines) {
                assert_eq!(extensions.len(), 1, "party {party} at height {height}: {extensions:?}");
            }
            for (place, line) in lines.iter().enumerate() {
                if let Line::Voted(height, block) = line {
                    let before = &lines[..place];
                    // What leaves was recorded, and nothing was given up before.
                    assert!(before.contains(&Line::Prefinalized(*height, block.clone())));
                    let again = before.contains(line);
                    let left = |line: &Line| matches!(line, Line::Abandoned(at, _) if at == height);
                    assert!(again || !before.iter().any(left), "height {height}");
                }
            }
        }
    }
}

impl Drop for Parties {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn times(lines: &[Line], height: u64, what: fn(&Line) -> Option<u64>) -> usize {
    lines.iter().filter(|line| what(line) == Some(height)).count()
}

fn prefinalized(line: &Line) -> Option<u64> {
    if let Line::Prefinalized(height, _) = line { Some(*height) } else { None }
}

fn voted(line: &Line) -> Option<u64> {
    if let Line::Voted(height, _) = line { Some(*height) } else { None }
}

/// Parties end at one point of height 2, and begin again. Also returns what was recorded in between.
fn die_at(point: &str) -> (Parties, Vec<Vec<Line>>) {
    let mut parties = Parties::new();
    parties.start(&format!("{point}:2"));
    parties.wait();
    let between = (0..PARTIES).map(|me| parties.lines(me)).collect();
    parties.start("-");
    parties.reach(4);
    parties.kill();
    parties.check();
    (parties, between)
}

#[test]
fn a_record_without_a_vote_is_asked_for_again_and_is_the_same() {
    let (parties, between) = die_at("after-record");
    let mut again = 0;
    for (me, before) in (0..).zip(&between) {
        assert_eq!(times(before, 2, voted), 0, "party {me} died before its vote");
        let lines = parties.lines(me);
        let recorded: Vec<_> = lines.iter().filter(|line| prefinalized(line) == Some(2)).collect();
        assert!(recorded.iter().all(|line| *line == recorded[0]), "{recorded:?}");
        again += usize::from(recorded.len() == 2);
    }
    let dead = between.iter().filter(|lines| times(lines, 2, prefinalized) == 1).count();
    // Three votes are needed, and nobody had voted.
    assert!(dead >= 2 && again + (4 - dead) >= 3, "{dead} died, {again} voted again");
}

#[test]
fn a_vote_in_the_log_is_repeated_and_nothing_asked_again() {
    let (parties, between) = die_at("after-vote");
    let mut seen = 0;
    for (me, before) in (0..).zip(&between) {
        let lines = parties.lines(me);
        if times(before, 2, voted) == 0 {
            continue;
        }
        assert_eq!(times(&lines, 2, prefinalized), 1, "party {me}");
        // It is sent again, unless others have decided before.
        seen += usize::from(times(&lines, 2, voted) >= 2);
    }
    assert!(seen >= 1, "nobody repeated its vote");
}

#[test]
fn a_block_that_the_host_lost_is_repeated() {
    let (parties, _) = die_at("before-finalized");
    for me in 0..PARTIES {
        let blocks = finalized(&parties.lines(me));
        assert!(blocks.keys().copied().eq(1..=u64::try_from(blocks.len()).unwrap()));
    }
    let (parties, _) = die_at("after-finalized");
    let count = |lines: &[Line], height| {
        lines.iter().filter(|line| matches!(line, Line::Finalized(at, _) if *at == height)).count()
    };
    assert!((0..PARTIES).all(|me| count(&parties.lines(me), 2) == 1));
}

#[test]
fn killing_all_parties_again_and_again_changes_no_decision() {
    let mut parties = Parties::new();
    for life in 1..=3 {
        parties.start("-");
        // Never at the same place of a height: processes start and run as fast as they can.
        parties.reach(life * 3);
        parties.kill();
        parties.check();
    }
}

#[test]
fn a_death_before_the_record_leaves_nothing() {
    let (parties, between) = die_at("before-record");
    assert!(between.iter().all(|lines| times(lines, 2, prefinalized) == 0));
    assert!((0..PARTIES).all(|me| times(&parties.lines(me), 2, prefinalized) <= 1));
}
