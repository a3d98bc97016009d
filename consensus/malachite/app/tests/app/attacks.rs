//! Strangers, garbage, and parties that break the rules.
use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use malachitebft_app_channel::app::metrics::SharedRegistry;
use malachitebft_app_channel::app::types::Keypair;
use malachitebft_app_channel::app::types::codec::Codec as _;
use malachitebft_core_consensus::SignedConsensusMsg;
use malachitebft_core_types::{NilOrVal, Round, SignedMessage, VoteType};
use malachitebft_network::handle::{CtrlHandle, Handle};
use malachitebft_network::{
    Channel, ChannelNames, Config, DiscoveryConfig, Event, GossipSubConfig, NetworkIdentity,
    ProtocolNames, PubSubMaxSizePerTopic, PubSubProtocol, TransportProtocol,
};
use prefinal_malachite::{Address, Block, Height, Misbehavior, Proposal, Tendermint, Vote};
use prefinal_malachite_app::{App, Exit, StartError, WireCodec, WireLimits};
use prefinal_protocol::{ChainId, Party};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::host::{Death, Line, Plan, TestHost, finalized};
use crate::runs::{Node, options, ports, start, within};

/// Three honest parties of four; the fourth place is the attacker's.
async fn three(plan: &Plan, home: &TempDir, addresses: &[SocketAddr]) -> Vec<Node> {
    let mut nodes = Vec::new();
    for me in 0..3 {
        nodes.push(start(plan, me, &home.path().join(me.to_string()), addresses).await);
    }
    nodes
}

async fn stop(nodes: Vec<Node>) {
    let blocks: BTreeSet<_> = nodes.iter().flat_map(|node| finalized(&node.log.lines())).collect();
    let heights: BTreeSet<_> = blocks.iter().map(|(height, _)| *height).collect();
    assert_eq!(blocks.len(), heights.len(), "two blocks of one height");
    for node in &nodes {
        let lines = node.log.lines();
        let left = lines.iter().enumerate().filter_map(|(place, line)| match line {
            Line::Abandoned(height, 0) => Some((place, *height)),
            _ => None,
        });
        let left: Vec<_> = left.collect();
        // Each round that is the fourth party's to propose in.
        assert!(!left.is_empty());
        for (place, height) in left {
            let late = |line: &Line| matches!(line, Line::Prefinalized(at, _) if *at == height);
            assert!(!lines[place..].iter().any(late), "height {height}");
        }
    }
    for node in nodes {
        within(node.app.stop()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_not_counted_and_learns_nothing() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(5));
    let nodes = three(&plan, &home, &addresses[..4]).await;
    // Other keys, and another chain with the right keys.
    let keys = Plan { seed: 100, ..plan.clone() };
    let chain = Plan { chain: ChainId::new([8; 32]), ..plan.clone() };
    let mut addresses_of_chain = addresses.clone();
    addresses_of_chain.swap(3, 4);
    let keys = start(&keys, 3, &home.path().join("keys"), &addresses[..4]).await;
    let chain = start(&chain, 3, &home.path().join("chain"), &addresses_of_chain[..4]).await;
    within(nodes[0].log.reach(6)).await;
    for height in (1..=6).map(Height::new) {
        let decision = nodes[0].app.store().get(height).unwrap().unwrap();
        let mut signers = decision.certificate.commit_signatures.iter();
        assert!(signers.all(|one| one.address.party() != Party::new(3)), "{height}");
    }
    for stranger in [&keys, &chain] {
        assert_eq!(stranger.app.store().last().unwrap(), None);
        assert_eq!(stranger.log.lines(), []);
    }
    for node in &nodes {
        assert!(node.app.peers().await.iter().all(|peer| peer.party != Some(Party::new(3))));
    }
    // The other chain's party is disconnected as soon as it says what it is.
    assert!(chain.app.peers().await.is_empty());
    stop(nodes).await;
    within(keys.app.stop()).await.unwrap();
    within(chain.app.stop()).await.unwrap();
}

/// A second process with the keys of the last party. Started from a copy of its home it would have its name
/// on the network as well, and every node hears one peer of a name: a thief takes another name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_votes_twice_in_a_round_is_convicted() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    let nodes = three(&plan, &home, &addresses).await;
    let thief = Outsider::join(&plan, &addresses[..3]).await;
    let convicted = |line| match line {
        Line::Misbehaved(height, party, bytes) => Some((height, party, bytes)),
        _ => None,
    };
    let mut found = Vec::new();
    for last in 0..20 {
        // Its first words may come before the nodes listen, and a height may be over when they come.
        for height in (last + 1..last + 5).map(Height::new) {
            let block = Block::new(height, vec![vec![7].into()]);
            for value in [NilOrVal::Nil, NilOrVal::Val(block.id())] {
                let vote = Vote {
                    kind: VoteType::Prevote,
                    height,
                    round: Round::ZERO,
                    value,
                    voter: Address::new(Party::new(3)),
                    extension: None,
                };
                let signature = plan.key(3).sign_vote(&plan.validators(height), &vote);
                thief.say(&SignedConsensusMsg::Vote(SignedMessage::new(vote, signature))).await;
            }
        }
        within(nodes[0].log.reach(last + 1)).await;
        found = nodes[0].log.lines().into_iter().filter_map(convicted).collect();
        if !found.is_empty() {
            break;
        }
    }
    assert!(!found.is_empty());
    for (height, party, bytes) in found {
        assert_eq!(party, 3);
        let evidence: Misbehavior = borsh::from_slice(&bytes).unwrap();
        evidence.verify(&plan.validators(Height::new(height))).unwrap();
    }
    stop(nodes).await;
    thief.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_on_the_port_disturbs_nobody() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    let nodes = three(&plan, &home, &addresses).await;
    for round in 0..20_u8 {
        let Ok(mut stream) = TcpStream::connect(addresses[0]) else { continue };
        let garbage: Vec<u8> = (0..4096_u32).map(|byte| byte.to_le_bytes()[0] ^ round).collect();
        // The engine may hang up before all is written.
        let _ = stream.write_all(&garbage);
    }
    within(nodes[0].log.reach(5)).await;
    stop(nodes).await;
}

fn name(plan: &Plan, purpose: &str) -> String {
    let chain = Sha256::digest(plan.chain.as_bytes());
    let chain: String = chain.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("/prefinal/{chain}/{purpose}/1")
}

/// A peer with a name of no member: it speaks the protocols of the network, and says what it likes.
struct Outsider {
    network: CtrlHandle,
    draining: JoinHandle<()>,
}

impl Outsider {
    async fn join(plan: &Plan, addresses: &[SocketAddr]) -> Self {
        let mut network = peer(plan, addresses).await;
        while !matches!(within(network.recv()).await.unwrap(), Event::PeerConnected(_)) {}
        let (mut events, network) = network.split();
        let draining = tokio::spawn(async move { while events.recv().await.is_some() {} });
        Self { network, draining }
    }

    async fn say(&self, message: &SignedConsensusMsg<Tendermint>) {
        let codec =
            WireCodec::new(WireLimits { frame: 1 << 24, response: 1 << 24, block: 1 << 24 });
        self.network.publish(Channel::Consensus, codec.encode(message).unwrap()).await.unwrap();
    }

    async fn leave(self) {
        self.network.wait_shutdown().await.unwrap();
        self.draining.await.unwrap();
    }
}

async fn peer(plan: &Plan, addresses: &[SocketAddr]) -> Handle {
    let name = |purpose| name(plan, purpose);
    let multiaddr = |address: &SocketAddr| {
        format!("/ip4/{}/tcp/{}", address.ip(), address.port()).parse().unwrap()
    };
    let config = Config {
        listen_addr: "/ip4/127.0.0.1/tcp/0".parse().unwrap(),
        persistent_peers: addresses.iter().map(multiaddr).collect(),
        persistent_peers_only: false,
        discovery: DiscoveryConfig { enabled: false, ..DiscoveryConfig::default() },
        idle_connection_timeout: Duration::from_secs(60),
        transport: TransportProtocol::Tcp,
        gossipsub: GossipSubConfig::default(),
        pubsub_protocol: PubSubProtocol::GossipSub,
        channel_names: ChannelNames {
            consensus: name("votes"),
            proposal_parts: name("parts"),
            sync: name("status"),
            liveness: name("liveness"),
        },
        rpc_max_size: 1 << 26,
        pubsub_max_size: 1 << 24,
        pubsub_max_size_per_topic: PubSubMaxSizePerTopic::default(),
        sync_request_timeout: Duration::from_secs(5),
        sync_max_request_size: 1 << 20,
        sync_parallel_requests: 4,
        enable_consensus: true,
        enable_sync: true,
        protocol_names: ProtocolNames {
            consensus: name("consensus"),
            discovery_kad: name("kad"),
            discovery_regres: name("discovery"),
            sync: name("sync"),
            validator_proof: name("proof"),
        },
    };
    let identity = NetworkIdentity::new_validator(
        "attacker".to_owned(),
        Keypair::generate_ed25519(),
        Address::new(Party::new(3)).to_string(),
        vec![1, 2, 3].into(),
    );
    let registry = SharedRegistry::new(Default::default(), None);
    malachitebft_network::spawn(identity, config, registry).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbled_frames_and_blocks_that_are_too_large_disturb_nobody() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    let nodes = three(&plan, &home, &addresses).await;
    let attacker = Outsider::join(&plan, &addresses[..3]).await;
    // The key of the fourth party signs blocks of twice the limit, and of one byte more than it.
    for height in (1..40).map(Height::new) {
        let length = if height.get() % 2 == 0 { 1 << 21 } else { (1 << 20) - 3 };
        let block = Block::new(height, vec![Arc::from(vec![7; length])]);
        let proposal = Proposal {
            height,
            round: Round::ZERO,
            pol_round: Round::Nil,
            proposer: Address::new(Party::new(3)),
            block,
        };
        let signature = plan.key(3).sign_proposal(&plan.validators(height), &proposal);
        let message = SignedConsensusMsg::Proposal(SignedMessage::new(proposal, signature));
        attacker.say(&message).await;
    }
    for length in 0..64_usize {
        let garbage: Vec<u8> = (0..length).map(|byte| u8::try_from(byte).unwrap()).collect();
        for first in [0, 1, 255] {
            let mut garbage = garbage.clone();
            garbage.insert(0, first);
            for channel in [Channel::Consensus, Channel::Liveness, Channel::ProposalParts] {
                attacker.network.publish(channel, garbage.clone().into()).await.unwrap();
            }
            attacker.network.broadcast(Channel::Sync, garbage.into()).await.unwrap();
        }
    }
    let seen = nodes[0].app.store().last().unwrap().map_or(0, Height::get);
    within(nodes[0].log.reach(seen + 5)).await;
    for height in (1..=seen).map(Height::new) {
        let decision = nodes[0].app.store().get(height).unwrap().unwrap();
        assert!(decision.block.payload_bytes() < 1000, "{height}: an attacker's block");
    }
    stop(nodes).await;
    attacker.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_start_says_what_is_wrong() {
    let (plan, home, addresses) = (Plan::equal(1), TempDir::new().unwrap(), ports(1));
    let options = || options(&plan, 0, home.path(), &addresses);
    let host = || TestHost::new(0, &plan, home.path());

    let taken = std::net::TcpListener::bind(addresses[0]).unwrap();
    let error = App::start(options(), host()).await.unwrap_err();
    assert!(matches!(error, StartError::Listen { .. }), "{error}");
    drop(taken);

    let wrong = prefinal_malachite_app::Options { key: plan.key(9), ..options() };
    let app = App::start(wrong, host()).await.unwrap();
    assert!(matches!(within(app.exited()).await, Exit::Committee { .. }));
    assert!(matches!(within(app.stop()).await, Err(Exit::Committee { .. })));

    let dies = TestHost { dies: Some(Death::Panic(2)), ..host() };
    let app = App::start(options(), dies).await.unwrap();
    assert!(matches!(within(app.exited()).await, Exit::Host(_)));
    assert!(matches!(within(app.stop()).await, Err(Exit::Host(_))));

    // All is closed, so it can begin again.
    let host_again = host();
    let log = host_again.log.clone();
    let app = App::start(options(), host_again).await.unwrap();
    within(log.reach(3)).await;
    within(app.stop()).await.unwrap();
    std::fs::remove_file(home.path().join("decided.redb")).unwrap();
    let error = App::start(options(), host()).await.unwrap_err();
    assert!(matches!(error, StartError::Behind { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_log_of_votes_is_reported_and_nothing_is_signed() {
    let (plan, home, addresses) = (Plan::equal(4), TempDir::new().unwrap(), ports(4));
    // Alone, it can only vote in rounds that fail.
    let node = start(&plan, 0, home.path(), &addresses).await;
    let file = home.path().join("consensus.wal");
    let long = async {
        while std::fs::metadata(&file).map_or(0, |about| about.len()) < 60 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(long).await;
    within(node.app.stop()).await.unwrap();
    let mut log = std::fs::read(&file).unwrap();
    // In the first entry: behind the version, the height, and the entry's flag, length and checksum.
    log[4 + 8 + 1 + 8 + 4 + 1] ^= 1;
    std::fs::write(&file, log).unwrap();
    let node = start(&plan, 0, home.path(), &addresses).await;
    assert_eq!(within(node.app.exited()).await, Exit::Unsafe);
    assert_eq!(within(node.app.stop()).await, Err(Exit::Unsafe));
}
