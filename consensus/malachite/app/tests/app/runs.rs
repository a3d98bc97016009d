//! Runs without faults, and what honest parties meet: restarts, new committees.
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use prefinal_malachite::{Height, MAX_EXTENSION};
use prefinal_malachite_app::{App, Options, State, verify};
use prefinal_protocol::Party;
use tempfile::TempDir;

use crate::host::{Line, Log, Plan, TestHost, extended, extension, finalized};

/// Far more than a run takes: a test that hangs must fail.
const PATIENCE: Duration = Duration::from_secs(100);

pub(crate) fn ports(count: usize) -> Vec<SocketAddr> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap()).collect()
}

pub(crate) fn options(plan: &Plan, me: u32, home: &Path, addresses: &[SocketAddr]) -> Options {
    let index = usize::try_from(me).unwrap();
    let mut options = Options::new(plan.chain, Party::new(me), plan.key(me), home.to_owned());
    options.listen = addresses[index];
    options.peers = addresses.iter().copied().filter(|one| *one != addresses[index]).collect();
    options
}

pub(crate) struct Node {
    pub(crate) app: App,
    pub(crate) log: Log,
}

/// What the engine logs, if `RUST_LOG` asks for it.
pub(crate) fn trace() {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer();
    // Another test may have begun before.
    let _ = log.try_init();
}

pub(crate) async fn start(plan: &Plan, me: u32, home: &Path, addresses: &[SocketAddr]) -> Node {
    trace();
    std::fs::create_dir_all(home).unwrap();
    let host = TestHost::new(me, plan, home);
    let log = host.log.clone();
    let app = App::start(options(plan, me, home, addresses), host).await.unwrap();
    Node { app, log }
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("too long")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_parties_agree_and_extensions_name_their_voters() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    let mut nodes = Vec::new();
    for me in 0..4 {
        nodes.push(start(&plan, me, &home.path().join(me.to_string()), &addresses).await);
    }
    for node in &nodes {
        within(node.log.reach(5)).await;
    }
    let blocks = finalized(&nodes[0].log.lines());
    for node in &nodes {
        let other = finalized(&node.log.lines());
        let both = blocks.iter().filter_map(|(height, one)| Some((one, other.get(height)?)));
        assert!(both.clone().count() >= 5);
        assert!(both.clone().all(|(one, other)| one == other));
        for height in (1..=5).map(Height::new) {
            let decision = node.app.store().get(height).unwrap().unwrap();
            verify(&plan.validators(height), &decision.certificate, &decision.block).unwrap();
        }
    }
    let mut seen = 0;
    for ((height, from), extensions) in extended(&nodes[0].log.lines()) {
        let decision = nodes[0].app.store().get(Height::new(height)).unwrap();
        let Some(decision) = decision else { continue };
        let block = decision.block;
        assert_ne!(from, 0);
        assert_eq!(extensions.len(), 1);
        assert!(extensions.contains(&extension(from, block.height(), block.id())));
        seen += 1;
    }
    assert!(seen >= 5, "{seen} extensions");
    for node in nodes {
        node.app.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_party_that_was_away_catches_up_and_goes_on() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    let place = |me: u32| home.path().join(me.to_string());
    let mut nodes = Vec::new();
    for me in 0..4 {
        nodes.push(start(&plan, me, &place(me), &addresses).await);
    }
    let last = nodes.pop().unwrap();
    within(last.log.reach(2)).await;
    within(last.app.stop()).await.unwrap();
    let missed = finalized(&last.log.lines()).keys().next_back().copied().unwrap();
    within(nodes[0].log.reach(missed + 8)).await;

    let again = start(&plan, 3, &place(3), &addresses).await;
    within(again.log.reach(missed + 8)).await;
    // It votes again, and others count it.
    let signed = async {
        for height in missed + 9.. {
            within(nodes[0].log.reach(height)).await;
            let decision = nodes[0].app.store().get(Height::new(height)).unwrap().unwrap();
            let mut signers = decision.certificate.commit_signatures.iter();
            if signers.any(|one| one.address.party() == Party::new(3)) {
                break;
            }
        }
    };
    within(signed).await;
    // Extensions come with decisions that are fetched.
    let known = extended(&again.log.lines());
    assert!(known.keys().any(|(height, _)| (missed + 2..missed + 8).contains(height)));
    let (ours, theirs) = (finalized(&again.log.lines()), finalized(&nodes[0].log.lines()));
    assert!(ours.iter().all(|(height, block)| theirs.get(height).is_none_or(|one| one == block)));
    assert!(ours.keys().copied().eq(1..=*ours.keys().next_back().unwrap()));
    for node in nodes.into_iter().chain([again]) {
        within(node.app.stop()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_joins_and_another_leaves_while_all_run() {
    let mut plan = Plan::equal(4);
    plan.committees.insert(6, vec![0, 1, 1, 1, 1]);
    let (home, addresses) = (TempDir::new().unwrap(), ports(5));
    let mut nodes = Vec::new();
    for me in 0..5 {
        nodes.push(start(&plan, me, &home.path().join(me.to_string()), &addresses).await);
    }
    for node in &nodes {
        within(node.log.reach(12)).await;
    }
    let blocks = finalized(&nodes[0].log.lines());
    let mut newcomer = 0;
    for height in (1..=12).map(Height::new) {
        let decision = nodes[4].app.store().get(height).unwrap().unwrap();
        assert_eq!(blocks[&height.get()], decision.block.id().to_string());
        verify(&plan.validators(height), &decision.certificate, &decision.block).unwrap();
        let mut signers = decision.certificate.commit_signatures.iter();
        newcomer += u32::from(signers.any(|one| one.address.party() == Party::new(4)));
        if height.get() >= 6 {
            let before = plan.validators(Height::new(1));
            verify(&before, &decision.certificate, &decision.block).unwrap_err();
        }
    }
    assert!(newcomer > 0, "the newcomer never signed");
    // It promised nothing before it was a member.
    let first = nodes[4].log.lines().iter().find_map(|line| match line {
        Line::Prefinalized(height, _) => Some(*height),
        _ => None,
    });
    assert!(first.is_some_and(|first| first >= 6), "{first:?}");
    assert_ne!(nodes[1].app.status().state, State::Following);
    for node in nodes {
        within(node.app.stop()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_height_takes_at_least_its_time_and_the_engine_tells_where_it_is() {
    let (plan, home, addresses) = (Plan::equal(1), TempDir::new().unwrap(), ports(1));
    let tasks = tokio::runtime::Handle::current().metrics();
    let before = tasks.num_alive_tasks();
    let host = TestHost::new(0, &plan, home.path());
    let log = host.log.clone();
    let mut options = options(&plan, 0, home.path(), &addresses);
    options.pace = Duration::from_millis(200);
    let begun = std::time::Instant::now();
    let app = App::start(options, host).await.unwrap();
    within(log.reach(4)).await;
    // Three whole heights lie between; how much longer they take depends on the machine.
    assert!(begun.elapsed() >= Duration::from_millis(600));
    assert!(app.status().height >= Some(Height::new(4)));
    assert_eq!(app.address(), addresses[0]);
    assert!(app.peers().await.is_empty());
    let metrics = App::metrics();
    assert!(metrics.contains("moniker=\"party 0\""), "{metrics}");
    let store = app.store().clone();
    within(app.stop()).await.unwrap();
    assert_eq!(store.last().unwrap_err().code(), "store-closed");
    // What was connected is told so first.
    let ended = async {
        while tasks.num_alive_tasks() > before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(ended).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_host_gives_beyond_the_limits_is_left_out() {
    let (plan, home, addresses) = (Plan::equal(1), TempDir::new().unwrap(), ports(1));
    let mut host = TestHost::new(0, &plan, home.path());
    (host.payload, host.padding) = (1000, MAX_EXTENSION);
    let log = host.log.clone();
    let mut options = options(&plan, 0, home.path(), &addresses);
    options.max_block_bytes = 1003;
    let app = App::start(options.clone(), host.clone()).await.unwrap();
    within(log.reach(2)).await;
    let decision = |app: &App, height| app.store().get(Height::new(height)).unwrap().unwrap();
    let decided = decision(&app, 2);
    assert!(decided.block.transactions().is_empty());
    assert!(decided.extensions.iter().all(|(_, extension)| extension.message.is_empty()));
    within(app.stop()).await.unwrap();

    // At the limits, both are taken.
    options.max_block_bytes = 1004;
    host.padding = 0;
    let last = log.lines().len();
    let app = App::start(options, host).await.unwrap();
    let height = u64::try_from(finalized(&log.lines()[..last]).len()).unwrap() + 1;
    within(log.reach(height)).await;
    let decided = decision(&app, height);
    assert_eq!(decided.block.payload_bytes(), 1000);
    assert!(decided.extensions.iter().all(|(_, extension)| !extension.message.is_empty()));
    within(app.stop()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_are_changed_while_it_runs() {
    let (plan, home, addresses) = (Plan::equal(2), TempDir::new().unwrap(), ports(2));
    let mut nodes = Vec::new();
    for me in 0..2 {
        let place = home.path().join(me.to_string());
        std::fs::create_dir_all(&place).unwrap();
        let host = TestHost::new(me, &plan, &place);
        let log = host.log.clone();
        let mut options = options(&plan, me, &place, &addresses);
        options.peers.clear();
        nodes.push(Node { app: App::start(options, host).await.unwrap(), log });
    }
    assert!(nodes[0].app.peers().await.is_empty());
    nodes[0].app.set_peers([addresses[1]]).await.unwrap();
    nodes[0].app.set_peers([addresses[1]]).await.unwrap();
    within(nodes[0].log.reach(2)).await;
    let peers = nodes[0].app.peers().await;
    assert_eq!(peers.len(), 1);
    assert_eq!(peers[0].party, Some(Party::new(1)), "{peers:?}");
    nodes[0].app.set_peers([]).await.unwrap();
    for node in nodes {
        within(node.app.stop()).await.unwrap();
    }
}
