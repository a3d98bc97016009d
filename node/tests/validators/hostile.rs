//! What strangers achieve at a validator's doors: nothing.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use crate::net::Net;

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
        let (name, target) = (format!("validator-{validator}"), net.config(validator));
        let address =
            |at: SocketAddr| prefinal_home::Address::new(&at.ip().to_string(), at.port()).unwrap();
        config.links.peers.insert(name.parse().unwrap(), address(target.links.listen));
        config.engine.peers.insert(name.parse().unwrap(), address(target.engine.listen));
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
