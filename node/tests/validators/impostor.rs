//! A hostile program that has the key of a member: it speaks TLS and greets as a validator does, and then says what
//! it likes.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use prefinal_beacon::stack::{Envelope, OneOf};
use prefinal_beacon::{Bls, Message as BeaconMessage, Path, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::Domain;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::context::EpochId;
use prefinal_home::Home;
use prefinal_net::{
    Inbox, Incoming, LinkError, LinkKey, Links, Options, Peer, PeerKey, StreamId, StreamOptions,
};
use prefinal_protocol::Recipient;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use tokio::time::timeout;

use crate::net::{Net, PATIENCE};

/// What this release speaks on the links.
pub(crate) const VERSION: u16 = 3;

pub(crate) const BEACON: StreamId = StreamId::new(0);
pub(crate) const TRANSACTIONS: StreamId = StreamId::new(1);
/// How many streams there are.
pub(crate) const STREAMS: u8 = 3;

/// The links of a member whose process does not run.
pub(crate) struct Impostor {
    links: Links,
    inbox: Inbox,
}

impl Impostor {
    /// With the key of a validator, links to these others. It has so many streams, [`STREAMS`] of which the others know.
    pub(crate) fn of(
        net: &Net,
        (validator, version): (usize, u16),
        victims: &[usize],
        streams: u8,
    ) -> Self {
        /// Longer than any frame that they take.
        const LONGEST: NonZeroU32 = NonZeroU32::new(64 << 20).unwrap();
        let home = Home::open(net.home(validator)).unwrap();
        let me = home.party().unwrap();
        let key = |party: Party| PeerKey::new(home.setup().ed25519[party.index()]);
        let secret = LinkKey::new(home.identity(me).ed25519().expose(), key(me)).unwrap();
        let stream = StreamOptions::new("hostile", LONGEST, LONGEST, 0);
        let options = Options {
            me,
            chain: home.chain(),
            version,
            agent: "impostor".to_owned(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            window: NonZeroU32::new(4 << 20).unwrap(),
            streams: vec![stream; streams.into()],
        };
        let peer = |victim: &usize| {
            let party = Party::new(u32::try_from(*victim).unwrap());
            let address = Some(net.config(*victim).links.listen);
            (party, Peer { key: key(party), address })
        };
        let peers: BTreeMap<_, _> = victims.iter().map(peer).collect();
        let (links, inbox) = Links::start(secret, options, peers).unwrap();
        Self { links, inbox }
    }

    /// Says something to all its victims. What finds no room is left out.
    pub(crate) fn say(&self, stream: StreamId, content: impl Into<Bytes>) {
        let _ = self.links.send(Recipient::All, stream, &content.into());
    }

    /// Waits until one of its victims closes the connection: why.
    pub(crate) async fn closed(&mut self) -> LinkError {
        loop {
            let next = timeout(PATIENCE, self.inbox.recv()).await;
            if let Incoming::Down { why, .. } = next.unwrap().unwrap() {
                return why;
            }
        }
    }

    /// For a while, without a pause: partials of coming slots that are points and nothing more, requests for every
    /// slot that there was, and transactions that nobody understands.
    pub(crate) async fn flood(&self, head: u64, span: Duration) {
        let begun = tokio::time::Instant::now();
        let mut number = 0_u64;
        while begun.elapsed() < span {
            let slot = Slot::new(head + number % 16);
            for path in [Path::Fast, Path::Slow] {
                self.say(BEACON, borsh::to_vec(&false_partial(path, slot)).unwrap());
            }
            let past = BeaconMessage::Request { slot: Slot::new(1 + number % head) };
            let past: Envelope<(Bls, ())> = Envelope::one(EpochId::new(0), OneOf::First(past));
            self.say(BEACON, borsh::to_vec(&past).unwrap());
            let mut transaction = vec![u8::try_from(number % 251).unwrap(); 32 << 10];
            transaction[..8].copy_from_slice(&number.to_be_bytes());
            self.say(TRANSACTIONS, transaction);
            number += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A signature by some other key.
fn false_partial(path: Path, slot: Slot) -> Envelope<(Bls, ())> {
    let other = SecretKey::random(&mut ChaCha20Rng::from_seed([1; 32]));
    let point = other.sign(Domain::BASIC, &slot.get().to_be_bytes()).to_bytes();
    let partial = borsh::from_slice(&[1_u32.to_le_bytes().as_slice(), &point].concat()).unwrap();
    let message = BeaconMessage::Partial { path, slot, value: None, partial };
    Envelope::one(EpochId::new(0), OneOf::First(message))
}
