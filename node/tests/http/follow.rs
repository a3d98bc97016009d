//! A committee that executes its blocks, and nodes that follow it: through peers that lie, and after a kill.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_execution::Height;
use prefinal_node::execution::Beginning;
use prefinal_sync::wire::{
    ANSWER_HEAD, Ask, BlockAsk, Compression, HeightRange, Payload, Request, RequestId, Summary,
};
use serde_json::Value;

use crate::client::{Reply, connect, get, json, say_on};
use crate::devnet::Devnet;

const PATIENCE: Duration = Duration::from_secs(60);

fn post(address: SocketAddr, path: &str, body: &[u8]) -> Reply {
    let mut stream = connect(address);
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: relay\r\nConnection: close");
    write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n").unwrap();
    stream.write_all(body).unwrap();
    say_on(stream, "")
}

fn ask(address: SocketAddr, ask: Ask) -> Vec<u8> {
    let request = Request { id: RequestId::new(1), accepts: Compression::None, ask };
    let reply = post(address, "/sync", &request.to_wire());
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.bytes
}

/// The heights whose blocks a node has.
fn heights(address: SocketAddr) -> Option<HeightRange> {
    Summary::from_wire(&ask(address, Ask::Summary)).unwrap().blocks
}

/// The state that the devnet has certified at this height.
fn state(address: SocketAddr, height: u64) -> String {
    let first = Height::new(height);
    let blocks = BlockAsk { first, count: 1, deltas: false, bytes: 1 << 20 };
    let bytes = ask(address, Ask::Blocks(blocks));
    let answer = Payload::<Certificate<MinSig>>::decode(&bytes[ANSWER_HEAD..]).unwrap();
    let Payload::Blocks(blocks) = answer else { panic!("{answer:?}") };
    hex::encode(blocks[0].roots.state)
}

/// A node that follows, in a process.
pub(crate) struct Follow {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Follow {
    pub(crate) fn start(urls: &str, home: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
        command.args(["follow", urls, "--home"]).arg(home).args(more);
        Self::spawn(command)
    }

    /// With a limit of the length of each file, as a disk that is full at this length.
    #[cfg(target_os = "linux")]
    fn confined(bytes: u64, url: &str, home: &Path) -> Self {
        let mut command = Command::new("sh");
        let blocks = bytes.div_ceil(512).to_string();
        let script = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
        command.args(["-c", script, &blocks, env!("CARGO_BIN_EXE_prefinal")]);
        command.args(["follow", url, "--home"]).arg(home);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines, said: Vec::new() }
    }

    /// Reads until a line has something.
    fn until<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> T {
        for line in self.lines.by_ref().map_while(Result::ok) {
            self.said.push(line.clone());
            if let Some(found) = find(&line) {
                return found;
            }
        }
        panic!("it ends: {:?}", self.said);
    }

    /// Reads to the end: exit code, and all that it said.
    fn end(mut self) -> (Option<i32>, String) {
        self.said.extend(self.lines.by_ref().map_while(Result::ok));
        let mut errors = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let code = self.process.wait().unwrap().code();
        (code, format!("{}\n{errors}", self.said.join("\n")))
    }

    /// Ends well, at a height and in the state that the devnet has there.
    pub(crate) fn arrives(self, devnet: SocketAddr) -> (u64, String) {
        let (code, said) = self.end();
        assert_eq!(code, Some(0), "{said}");
        let (height, root) = said.lines().find_map(verified).unwrap();
        assert_eq!(root, state(devnet, height), "{said}");
        (height, said)
    }

    fn fails(self) -> String {
        let (code, said) = self.end();
        assert_eq!(code, Some(1), "{said}");
        said
    }

    /// As a power cut does it.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// `height 7, verified: 90 transactions in 1.2s; state …`
fn verified(line: &str) -> Option<(u64, String)> {
    let (height, rest) = line.strip_prefix("height ")?.split_once(", verified: ")?;
    Some((height.parse().ok()?, rest.split_once("; state ")?.1.to_owned()))
}

/// `height 7, …`, once a second.
fn height(line: &str) -> Option<u64> {
    line.strip_prefix("height ")?.split_once(',')?.0.parse().ok()
}

/// `http://127.0.0.1:8788/ serves what it has, …`
fn served(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("http://")?.split_once("/ serves what it has")?.0.parse().ok()
}

/// `transfers: kept in …, from height 7 on`
fn resumed(line: &str) -> Option<u64> {
    line.split_once(", from height ")?.1.strip_suffix(" on")?.parse().ok()
}

/// One committee for all of it, for its key takes longest.
#[test]
fn nodes_follow_a_devnet_whatever_peers_say_and_whenever_they_die() {
    let devnet = Devnet::start(&["--execute", "transfers", "--load", "40"]);
    let address = devnet.address;
    let folder = tempfile::tempdir().unwrap();
    let home = |name: &str| folder.path().join(name);
    let url = format!("http://{address}");
    let waypoint = chain_begins(address);

    // Both are there before the chain has snapshots.
    let given = ["--waypoint", &waypoint, "--to", "6"];
    let execute =
        Follow::start(&url, &home("execute"), &[&given[..], &["--mode", "execute"]].concat());
    let deltas = Follow::start(&url, &home("deltas"), &["--mode", "deltas", "--to", "6"]);
    let (_, said) = execute.arrives(address);
    assert!(!said.contains("trusted"), "{said}");
    let (_, said) = deltas.arrives(address);
    assert!(said.contains(&format!(
        "the peer's waypoint is trusted, for there is no --waypoint: {waypoint}"
    )));

    questions_are_bounded(address);
    waypoints_are_not_taken_on_faith(&url, &waypoint, folder.path());
    a_liar_is_banned(address, folder.path());
    a_killed_node_goes_on(address, &home("killed"));
    a_damaged_state_is_refused(&url, &home("killed"));
    states_are_fetched_and_given_on(address, folder.path());
    #[cfg(target_os = "linux")]
    a_full_disk_is_said_and_gone_on_from(address, &home("full"));
    a_node_forgets_and_is_followed(address, folder.path());

    // The same committee begins again, and certifies other blocks.
    drop(devnet);
    let devnet = Devnet::start(&["--execute", "transfers"]);
    assert_eq!(chain_begins(devnet.address), waypoint);
    let url = format!("http://{}", devnet.address);
    let (code, said) = Follow::start(&url, &home("deltas"), &[]).end();
    assert!(code == Some(2) && said.contains("the committee has begun again"), "{said}");
}

/// The waypoint of the chain, when it has begun.
fn chain_begins(address: SocketAddr) -> String {
    let began = Instant::now();
    loop {
        let reply = get(address, "/genesis");
        if reply.status == 200 {
            let beginning: Beginning = borsh::from_slice(&reply.bytes).unwrap();
            assert_eq!(beginning.executor, "transfers");
            break;
        }
        assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{reply:?}");
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
    let told: Value = json(address, "/waypoint");
    told["waypoint"].as_str().unwrap().to_owned()
}

fn questions_are_bounded(address: SocketAddr) {
    assert_eq!(get(address, "/sync").status, 405);
    assert_eq!(post(address, "/sync", b"hello").status, 400);
    assert_eq!(post(address, "/sync", &[1; 259]).status, 413);
    assert_eq!(post(address, "/genesis", b"").status, 405);
    // Whatever is asked for, an answer has 4 MiB at most.
    let first = Height::new(1);
    let all = BlockAsk { first, count: u32::MAX, deltas: true, bytes: u32::MAX };
    assert!(ask(address, Ask::Blocks(all)).len() <= (4 << 20) + ANSWER_HEAD);
}

fn waypoints_are_not_taken_on_faith(url: &str, waypoint: &str, folder: &Path) {
    // Another committee; another chain of the same one.
    for (at, why) in [(81, "members refused"), (2, "first block refused")] {
        let mut other = hex::decode(waypoint).unwrap();
        other[at] ^= 1;
        let other = hex::encode(other);
        let said = Follow::start(url, &folder.join("none"), &["--waypoint", &other]).fails();
        assert!(said.contains("no peer shows the waypoint's chain"), "{said}");
        assert!(said.contains(why), "{said}");
    }
    // A home is of one chain.
    let mut other = hex::decode(waypoint).unwrap();
    other[2] ^= 1;
    let other = hex::encode(other);
    let (code, said) = Follow::start(url, &folder.join("deltas"), &["--waypoint", &other]).end();
    assert!(code == Some(2) && said.contains("name another --home"), "{said}");
}

/// The first peer lies, the second one does not exist, the third one is honest and far away.
fn a_liar_is_banned(address: SocketAddr, folder: &Path) {
    let liar = Relay { lies: |path| path == "/sync", delay: 0 }.start(address);
    let far = Relay { lies: |_| false, delay: 300 }.start(address);
    let urls = format!("http://{liar},http://127.0.0.1:1,http://{far}");
    for mode in ["execute", "deltas"] {
        let home = folder.join(format!("deceived-{mode}"));
        let (_, said) =
            Follow::start(&urls, &home, &["--mode", mode, "--to", "8"]).arrives(address);
        assert!(said.contains(&format!("http://{liar} is banned: ")), "{said}");
        assert!(!said.contains(&format!("http://{far} is banned")), "{said}");
    }
    let alone = Follow::start(&format!("http://{liar}"), &folder.join("alone"), &[]).fails();
    assert!(alone.contains("every peer is banned"), "{alone}");
    // What a chain begins with is verified too.
    let liar = Relay { lies: |path| path == "/genesis", delay: 0 }.start(address);
    let urls = format!("http://{liar},http://{address}");
    let (_, said) = Follow::start(&urls, &folder.join("begun"), &["--to", "1"]).arrives(address);
    assert!(said.contains(&format!("http://{liar}: genesis refused")), "{said}");
}

fn a_killed_node_goes_on(address: SocketAddr, home: &Path) {
    let url = format!("http://{address}");
    // While it catches up, and at the tip.
    let mut first = Follow::start(&url, home, &[]);
    first.until(resumed);
    first.kill();
    let mut second = Follow::start(&url, home, &[]);
    let before = second.until(|line| height(line).filter(|height| *height > 0));
    second.kill();
    let to = (before + 2).to_string();
    let mut third = Follow::start(&url, home, &["--to", &to]);
    let from = third.until(resumed);
    assert!(from >= before, "{from} is below {before}");
    let (height, _) = third.arrives(address);
    assert!(height >= before + 2);
}

fn a_damaged_state_is_refused(url: &str, home: &Path) {
    let file = home.join("state");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&file, bytes).unwrap();
    let (code, said) = Follow::start(url, home, &[]).end();
    assert!(code == Some(2) && said.contains("or begin again with another --home"), "{said}");
}

/// A node fetches a state whole and serves it, and another one follows that node.
fn states_are_fetched_and_given_on(address: SocketAddr, folder: &Path) {
    let began = Instant::now();
    while heights(address).is_none_or(|blocks| blocks.last < Height::new(12)) {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
    let (url, home) = (format!("http://{address}"), folder.join("snapshot"));
    let serve = ["--mode", "snapshot", "--http", "127.0.0.1:0"];
    let mut node = Follow::start(&url, &home, &serve);
    let served = node.until(served);
    node.until(|line| height(line).filter(|height| *height >= 12));
    // It has no block before that state, which may be the last one for a moment.
    let blocks = loop {
        match heights(served) {
            Some(blocks) => break blocks,
            None => assert!(began.elapsed() < PATIENCE),
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(blocks.first > Height::new(10), "{blocks:?}");
    let url = format!("http://{served}");
    let more = ["--mode", "snapshot", "--to", "12"];
    Follow::start(&url, &folder.join("second"), &more).arrives(address);
    let account = "07".repeat(32);
    assert!(json(served, &format!("/accounts/{account}"))["proof"].is_string());
    assert_eq!(post(served, "/transactions", b"hello").status, 403);
    let beginning = |address| get(address, "/genesis").bytes;
    assert_eq!(beginning(served), beginning(address));
    let _: Beginning = borsh::from_slice(&beginning(served)).unwrap();
    node.kill();
}

/// The disk is full when the file has to grow.
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_and_gone_on_from(address: SocketAddr, home: &Path) {
    let url = format!("http://{address}");
    Follow::start(&url, home, &["--to", "1"]).arrives(address);
    let full = std::fs::metadata(home.join("state")).unwrap().len();
    let (code, said) = Follow::confined(full, &url, home).end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no room for the store of the state"), "{said}");
    assert!(said.contains("what was durable stays: run it again when"), "{said}");
    let durable = said.lines().filter_map(height).next_back().unwrap_or(1);
    let to = (durable + 2).to_string();
    let mut node = Follow::start(&url, home, &["--to", &to]);
    let from = node.until(resumed);
    assert!(from >= durable, "{from} is below {durable}: {said}");
    node.arrives(address);
}

/// A node keeps the last blocks. Those that have no other peer fetch a state.
fn a_node_forgets_and_is_followed(address: SocketAddr, folder: &Path) {
    let (url, home) = (format!("http://{address}"), folder.join("forgets"));
    let (code, said) = Follow::start(&url, &home, &["--keep-blocks", "39"]).end();
    assert!(code == Some(2) && said.contains("39 is not in 40.."), "{said}");
    // With other limits it goes on: all blocks at first, then 40, then few bytes.
    let (_, said) = Follow::start(&url, &home, &["--to", "41"]).arrives(address);
    assert!(!said.contains("are kept"), "{said}");
    let keep = ["--keep-blocks", "40", "--http", "127.0.0.1:0"];
    let mut node = Follow::start(&url, &home, &keep);
    let served = node.until(served);
    let first = node
        .until(|line| line.split_once(", blocks from ")?.1.split_once(',')?.0.parse::<u64>().ok());
    let blocks = heights(served).unwrap();
    assert!(blocks.first >= Height::new(first) && first > 8, "{first}: {blocks:?}");
    let count = blocks.last.get() + 1 - blocks.first.get();
    assert!((32..=41).contains(&count), "{blocks:?}");

    let peer = format!("http://{served}");
    let mut alone = Follow::start(&peer, &folder.join("alone-with-it"), &["--mode", "deltas"]);
    alone.until(|line| {
        line.contains("no peer has block 1 (take --mode snapshot, or other peers)").then_some(())
    });
    alone.kill();
    let to = (blocks.last.get() + 1).to_string();
    let more = ["--mode", "snapshot", "--to", &to];
    Follow::start(&peer, &folder.join("by-snapshot"), &more).arrives(address);
    node.kill();

    let more = ["--keep-mb", "1", "--to", &(blocks.last.get() + 8).to_string()];
    let (_, said) = Follow::start(&url, &home, &more).arrives(address);
    let kept = said.lines().find_map(|line| {
        line.strip_prefix("blocks from ")?.split_once(" on are kept, ")?.0.parse::<u64>().ok()
    });
    assert!(kept > Some(blocks.first.get()), "{said}");
}

/// A peer that gives on what the devnet answers, with another bit for some paths; summaries are not altered.
#[derive(Clone, Copy)]
struct Relay {
    lies: fn(&str) -> bool,
    /// How long it takes to answer, in milliseconds.
    delay: u64,
}

impl Relay {
    fn start(self, devnet: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || drop(self.answer(stream, devnet)));
            }
        });
        address
    }

    fn answer(self, mut stream: TcpStream, devnet: SocketAddr) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let length = head.iter().find_map(|line| {
            let line = line.to_lowercase();
            line.strip_prefix("content-length: ")?.parse::<usize>().ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let Some(first) = head.first() else { return Ok(()) };
        let path = first.split(' ').nth(1).unwrap();
        let mut reply = match first.starts_with("POST") {
            true => post(devnet, path, &body),
            false => get(devnet, path),
        };
        let (is_summary, at) = (reply.bytes.get(1) == Some(&1), reply.bytes.len() / 4 * 3);
        if (self.lies)(path) && !is_summary {
            reply.bytes[at] ^= 1;
        }
        std::thread::sleep(Duration::from_millis(self.delay));
        let (status, length) = (reply.status, reply.bytes.len());
        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n");
        write!(stream, "{head}Connection: close\r\n\r\n")?;
        stream.write_all(&reply.bytes)
    }
}
