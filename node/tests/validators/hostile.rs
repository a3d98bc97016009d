//! What strangers achieve at a validator's doors, and a hostile member inside: nothing.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::impostor::{BEACON, Impostor, STREAMS, TRANSACTIONS, VERSION};
use crate::net::{Net, dialled, name, run};

/// Memory that a validator may have in excess of what it had, whatever strangers do.
const MOST: u64 = 256 << 20;

/// A QUIC packet that asks for a new connection (RFC 9000, 17.2.2), with a body of noise.
fn initial(number: u32) -> Vec<u8> {
    let mut packet = vec![0xc3, 0, 0, 0, 1, 8];
    packet.extend(u64::from(number).to_be_bytes());
    packet.extend([8]);
    packet.extend((!u64::from(number)).to_be_bytes());
    packet.extend([0, 0x44, 0xb0]);
    packet.resize(1200, u8::try_from(number % 251).unwrap());
    packet
}

#[test]
fn floods_of_strangers_neither_stop_the_committee_nor_take_its_memory() {
    let mut net = Net::make(4, &["--pace", "250ms", "--round-timeout", "1s"]);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 3);
    let before = net.memory(0);
    let config = net.config(0);

    // Ten thousand connections over UDP that are never finished, and garbage of every length.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let links = config.links.listen;
    for number in 0..10_000 {
        let _ = socket.send_to(&initial(number), links);
        if number % 100 == 0 {
            let _ = socket.send_to(&vec![7; usize::try_from(number % 1400).unwrap()], links);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    // Connections to the engine that say nothing, or garbage, as many as it lets be.
    let mut silent = Vec::new();
    for number in 0..500_u32 {
        let Ok(mut stream) = TcpStream::connect(config.engine.listen) else { break };
        let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
        if number % 2 == 0 {
            let _ = stream.write_all(&vec![u8::try_from(number % 256).unwrap(); 4096]);
        }
        silent.push(stream);
    }
    // A follower over HTTP that never reads.
    let slow: Vec<_> = (0..4).map(|_| follower(config.http.listen.unwrap())).collect();
    net.advance(&[0, 1, 2, 3], 12);
    let after = net.memory(0);
    assert!(after < before + MOST, "{} MiB before, {} MiB after", before >> 20, after >> 20);
    drop((silent, slow));
    net.advance(&[0, 1, 2, 3], 2);
    net.agree(&[0, 1, 2, 3]);
}

fn follower(http: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// Two chains whose members have the same names and other keys, where one believes that the other's are its peers.
#[test]
fn traffic_of_another_chain_is_turned_away() {
    let (mut net, mut other) =
        (Net::make(4, &["--pace", "250ms"]), Net::make(4, &["--pace", "250ms"]));
    // A validator of the other chain dials the members of the first.
    let mut config = other.config(0);
    for validator in 1..4 {
        let target = net.config(validator);
        config.links.peers.insert(name(validator), dialled(target.links.listen));
        config.engine.peers.insert(name(validator), dialled(target.engine.listen));
    }
    other.set_config(0, &config);
    (0..4).for_each(|validator| net.start(validator));
    other.start(0);
    net.advance(&[0, 1, 2, 3], 10);
    net.agree(&[0, 1, 2, 3]);
    let lost = other.status(0).unwrap();
    assert_eq!(lost["links"][0], 0, "{lost}");
    assert_eq!(lost["last_final"], serde_json::Value::Null, "{lost}");
}

/// Validator 0 is not run: a program with its key says what it likes on every stream. The three others have more than
/// two thirds.
#[test]
fn a_member_that_sends_garbage_is_closed_and_reported_and_the_committee_keeps_its_pace() {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(4, &["--pace", "250ms", "--round-timeout", "1s"]);
    let honest = [1, 2, 3];
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 5);
    net.kill(0);
    net.advance(&honest, 3);
    let before: Vec<_> = honest.iter().map(|one| net.memory(*one)).collect();
    let accusations =
        |net: &Net, one| net.metric(one, "prefinal_accusations_total{peer=\"validator-0\"}");

    // Frames that decode and are false. The connection stays, and each party says whose fault it is.
    let _on_the_runtime = runtime.enter();
    let impostor = Impostor::of(&net, (0, VERSION), &honest, STREAMS);
    let head = net.head(1);
    let flood = runtime.spawn(async move {
        impostor.flood(head, Duration::from_secs(8)).await;
    });
    net.advance(&honest, 12);
    net.wait("false partials are reported", |net| {
        honest.iter().all(|one| accusations(net, *one) > 0.0)
    });
    runtime.block_on(flood).unwrap();
    let reported: Vec<_> = honest.iter().map(|one| accusations(&net, *one)).collect();

    // What no honest peer sends, something else to each.
    let one = |victim, streams| Impostor::of(&net, (0, VERSION), &[victim], streams);
    let mut impostors = [one(1, STREAMS), one(2, STREAMS), one(3, STREAMS + 1)];
    let said = [(BEACON, vec![0xff; 1000]), (TRANSACTIONS, vec![7; 8 << 20]), (BEACON, vec![0])];
    for (impostor, (stream, content)) in impostors.iter_mut().zip(&said) {
        (0..8).for_each(|_| impostor.say(*stream, content.clone()));
        runtime.block_on(impostor.closed());
    }
    let reasons = ["undecodable frame", "a frame of 8388608 bytes", "a stream with number 3"];
    net.wait("the logs say whose fault it is", |net| {
        honest
            .iter()
            .zip(reasons)
            .all(|(one, reason)| net.logs(*one, &["WARN", "link down", "validator-0", reason]))
    });
    net.wait("broken rules are reported", |net| {
        honest.iter().zip(&reported).all(|(one, before)| accusations(net, *one) > *before)
    });
    net.advance(&honest, 12);
    for (one, before) in honest.iter().zip(before) {
        let after = net.memory(*one);
        assert!(after < before + MOST, "{} MiB before, {} MiB after", before >> 20, after >> 20);
    }
    drop(impostors);

    // Its rightful owner is let in again.
    net.start(0);
    net.advance(&[0, 1, 2, 3], 3);
    net.agree(&[0, 1, 2, 3]);
}

#[test]
fn a_peer_of_another_version_is_told_so() {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(4, &["--pace", "250ms", "--round-timeout", "1s"]);
    let current = [1, 2, 3];
    current.iter().for_each(|validator| net.start(*validator));
    net.advance(&current, 3);
    let _on_the_runtime = runtime.enter();
    let mut newer = Impostor::of(&net, (0, VERSION + 1), &current, STREAMS);
    // It hears it from the other end, or sees it itself.
    let why = runtime.block_on(newer.closed());
    assert!(why.is_mismatch() && why.to_string().contains("needs an upgrade"), "{why}");
    net.wait("all three say it", |net| {
        current.iter().all(|one| net.logs(*one, &["WARN", "validator-0", "needs an upgrade"]))
    });
    let home = net.home(1);
    let peers = run(&["peers", "--json", "--home", home.to_str().unwrap()]);
    let peers = String::from_utf8(peers.stdout).unwrap();
    assert!(peers.contains("needs an upgrade"), "{peers}");
    net.advance(&current, 3);
    net.agree(&current);
}
