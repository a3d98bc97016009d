//! The committee: keys from a seed, stakes, and what its replicas are set to.
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_engine::Pace;
use prefinal_net::{LinkKey, Options, PeerKey, StreamOptions};
use prefinal_protocol::Party;
use prefinal_trantor::{
    Config, Configuration, Replica, ReplicaRecord, Seat, Service, Settings, StakeCertifier,
    StartError,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::Outcome;
use crate::ledger::Ledger;

/// Replicas of the committee, each a task of this process.
pub(crate) const SIZE: u32 = 4;
/// Bytes of a transaction, beside its client's name and number.
pub(crate) const PAYLOAD: u16 = 512;
/// How long a transaction waits for others to fill its batch.
pub(crate) const BATCH_TIMEOUT: Duration = Duration::from_millis(20);

const SEED: u64 = 1;
/// Time from one proposal to the next, over all leaders. Signatures cost by the height, so a longer pause leaves
/// more of the processor to transactions.
const PAUSE: Duration = Duration::from_millis(20);
/// Of a view: generous, since nobody is faulty here and the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Epochs whose decisions and checkpoints are kept.
const RETAINED: u64 = 2;

const CHAIN: ChainId = ChainId::new(*b"the throughput of four replicas.");

/// What a reader must know of the runs.
pub(crate) fn parameters() -> String {
    format!(
        "{SIZE} replicas of equal stake, seed {SEED}: payload {PAYLOAD} bytes; batch timeout {} ms, \
         at most {} transactions a batch; {} ms between proposals; a checkpoint each {} heights",
        BATCH_TIMEOUT.as_millis(),
        config(Party::new(0)).max_transactions,
        PAUSE.as_millis(),
        u64::from(SIZE) * prefinal_trantor::SEGMENT,
    )
}

/// The parties of the committee, from the first on.
pub(crate) fn parties() -> impl DoubleEndedIterator<Item = Party> {
    (0..SIZE).map(Party::new)
}

/// Bytes for each transaction that no protocol saves: the payload, to each replica but the one that has it.
pub(crate) fn least_sent() -> f64 {
    f64::from(PAYLOAD) * f64::from(SIZE - 1)
}

fn generator(party: Party, purpose: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    rng.set_stream(2 * u64::from(party.get()) + purpose);
    rng
}

fn secret(party: Party) -> SecretKey {
    SecretKey::random(&mut generator(party, 0))
}

/// The key of a party's links.
pub(crate) fn link_key(party: Party) -> Outcome<LinkKey> {
    let mut seed = [0; 32];
    generator(party, 1).fill_bytes(&mut seed);
    let public = ed25519_consensus::SigningKey::from(seed).verification_key().to_bytes();
    Ok(LinkKey::new(&seed, PeerKey::new(public))?)
}

/// What a party's links are set to: one stream, and room for what four replicas may have on the way.
pub(crate) fn link_options(me: Party) -> Outcome<Options> {
    const FRAME: NonZeroU32 = NonZeroU32::new(16 << 20).unwrap();
    const RATE: NonZeroU32 = NonZeroU32::new(1 << 30).unwrap();
    const WINDOW: NonZeroU32 = NonZeroU32::new(4 << 20).unwrap();
    const ROOM: usize = 64 << 20;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Ok(Options {
        me,
        chain: CHAIN,
        version: 1,
        agent: format!("prefinal-throughput {}", prefinal_rows::VERSION),
        listen,
        window: WINDOW,
        streams: vec![StreamOptions::new("replicas", FRAME, RATE, 0).with_room(ROOM, ROOM)],
    })
}

fn config(me: Party) -> Config {
    let context = Context { chain: CHAIN, epoch: EpochId::new(0) };
    Config {
        pace: Pace { pause: PAUSE, ..Pace::NONE },
        timeout: TIMEOUT,
        batch_timeout: BATCH_TIMEOUT,
        ..Config::new(context, me, Vec::new())
    }
}

/// A replica that continues where `records` end.
pub(crate) fn replica(
    me: Party,
    records: Vec<ReplicaRecord>,
) -> Result<Replica<Ledger>, StartError> {
    let seat = |party| {
        let secret = secret(party);
        Seat { key: secret.public_key(), proof: secret.prove_possession(), stake: 1 }
    };
    let configuration = Configuration { seats: parties().map(seat).collect() };
    let settings = Settings { configuration, config_offset: 2, retained_epochs: RETAINED };
    let certifier = Arc::new(StakeCertifier::new(secret(me)));
    let service = Service { app: Ledger::default(), certifier, settings };
    Replica::new(config(me), secret(me), service, records)
}
