//! Real rounds of drand, and what must not pass for one.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use prefinal_crypto_core::bls::{SecretKey, SignatureError, min_pk, min_sig};
use prefinal_crypto_core::curve::{DecodeError, Scalar};
use prefinal_crypto_core::drand::{
    ChainInfo, Round, RoundError, RoundNumber, RoundsError, Schedule, Scheme, UnknownScheme,
};
use prefinal_crypto_core::secret::Secret;
use serde::Deserialize;

const MISMATCH: RoundError = RoundError::Signature(SignatureError::Mismatch);

#[derive(Deserialize)]
struct File {
    chains: Vec<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    name: String,
    scheme: String,
    key: String,
    period: NonZeroU32,
    genesis_time: u64,
    genesis_seed: String,
    beacon_id: String,
    hash: String,
    rounds: Vec<Published>,
}

#[derive(Deserialize)]
struct Published {
    number: u64,
    signature: String,
    previous: Option<String>,
    randomness: String,
}

impl Chain {
    fn info_under(&self, scheme: Scheme) -> Result<ChainInfo, DecodeError> {
        let schedule = Schedule { genesis_time: self.genesis_time, period: self.period };
        let seed = bytes(&self.genesis_seed).try_into().unwrap();
        ChainInfo::new(scheme, &bytes(&self.key), schedule, seed, &self.beacon_id)
    }

    fn info(&self) -> ChainInfo {
        self.info_under(self.scheme.parse().unwrap()).unwrap()
    }

    fn rounds(&self) -> Vec<Round> {
        let round = |one: &Published| Round {
            number: number(one.number),
            signature: bytes(&one.signature),
            previous: one.previous.as_deref().map(bytes),
            randomness: None,
        };
        self.rounds.iter().map(round).collect()
    }
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn number(number: u64) -> RoundNumber {
    RoundNumber::new(number).unwrap()
}

fn chains() -> Vec<Chain> {
    let file: File = serde_json::from_str(include_str!("../vectors/drand.json")).unwrap();
    assert_eq!(file.chains.len(), 4);
    file.chains
}

fn chain(scheme: Scheme) -> Chain {
    chains().into_iter().find(|chain| chain.scheme == scheme.id()).unwrap()
}

#[test]
fn real_rounds_of_all_schemes_verify_and_give_the_published_randomness() {
    for chain in chains() {
        let info = chain.info();
        assert_eq!(hex::encode(info.hash()), chain.hash, "{}", chain.name);
        let expected: Vec<_> = chain.rounds.iter().map(|one| one.randomness.clone()).collect();
        let shown = |randomness: prefinal_crypto_core::drand::Randomness| {
            hex::encode(randomness.as_bytes())
        };
        let single: Vec<_> =
            chain.rounds().iter().map(|round| shown(info.verify(round).unwrap())).collect();
        assert_eq!(single, expected, "{}", chain.name);
        let batched = info.verify_all(&chain.rounds()).unwrap().into_iter().map(shown);
        assert_eq!(batched.collect::<Vec<_>>(), expected, "{}", chain.name);
    }
}

#[test]
fn a_shifted_round_is_refused() {
    for chain in chains() {
        let info = chain.info();
        for mut round in chain.rounds() {
            let first = round.number == RoundNumber::FIRST && info.scheme().is_chained();
            // The seed is no signature that another round could follow.
            let expected = if first { RoundError::PreviousLength { got: 32 } } else { MISMATCH };
            for shifted in [round.number.get() + 1, u64::MAX] {
                round.number = number(shifted);
                assert_eq!(info.verify(&round), Err(expected), "{}", chain.name);
            }
        }
    }
    assert_eq!(RoundNumber::new(0), None);
}

#[test]
fn a_false_randomness_is_refused_beside_a_good_signature() {
    for chain in chains() {
        let info = chain.info();
        let good = info.verify_all(&chain.rounds()).unwrap();
        let with = |round: &Round, said: &[u8]| {
            let round = Round { randomness: Some(said.to_vec()), ..round.clone() };
            let alone = info.verify(&round);
            let among = info.verify_all(&[round]);
            assert_eq!(among.map(|all| all[0]).map_err(|error| error.faults[&0]), alone);
            alone
        };
        for (round, value) in chain.rounds().iter().zip(&good) {
            assert_eq!(with(round, value.as_bytes()), Ok(*value));
            let mut other = *value.as_bytes();
            other[31] ^= 1;
            for said in [&other[..], &[], &value.as_bytes()[..31], &round.signature] {
                assert_eq!(with(round, said), Err(RoundError::Randomness));
            }
            // What is wrong with the signature comes first.
            let moved = Round { signature: vec![], ..round.clone() };
            assert!(matches!(with(&moved, &other), Err(RoundError::Decode(_))));
        }
    }
}

#[test]
fn a_round_of_another_scheme_is_refused() {
    for chain in chains() {
        let own: Scheme = chain.scheme.parse().unwrap();
        for scheme in Scheme::ALL.into_iter().filter(|scheme| *scheme != own) {
            let Ok(info) = chain.info_under(scheme) else {
                // Keys of the other group do not even have the length.
                continue;
            };
            for round in chain.rounds() {
                let expected = match (own.is_chained(), scheme.is_chained()) {
                    (true, false) => RoundError::NotChained { scheme },
                    (false, true) => RoundError::NoPrevious { number: round.number },
                    _ => MISMATCH,
                };
                assert_eq!(info.verify(&round), Err(expected), "{} as {scheme}", chain.name);
                let bare = Round { previous: None, ..round.clone() };
                assert!(info.verify(&bare).is_err(), "{} as {scheme}", chain.name);
            }
        }
    }
}

#[test]
fn signatures_of_one_chain_are_nothing_on_another() {
    let (quicknet, fastnet) = (chain(Scheme::UnchainedG1Rfc9380), chain(Scheme::UnchainedOnG1));
    let foreign = Round { number: number(1), ..quicknet.rounds()[0].clone() };
    assert_eq!(fastnet.info().verify(&foreign), Err(MISMATCH));
    let chained = chain(Scheme::PedersenChained);
    let wrong_size = RoundError::Decode(DecodeError::Length { expected: 96, got: 48 });
    let foreign =
        Round { previous: Some(vec![1; 96]), number: number(2), ..quicknet.rounds()[0].clone() };
    assert_eq!(chained.info().verify(&foreign), Err(wrong_size));
}

#[test]
fn a_chained_round_needs_its_own_previous() {
    let chain = chain(Scheme::PedersenChained);
    let (info, rounds) = (chain.info(), chain.rounds());
    let (first, later) = (&rounds[0], &rounds[1]);
    let with = |round: &Round, previous: Option<Vec<u8>>| {
        info.verify(&Round { previous, ..round.clone() })
    };
    assert_eq!(with(later, None), Err(RoundError::NoPrevious { number: later.number }));
    assert_eq!(with(later, Some(first.signature.clone())), Err(MISMATCH));
    for got in [0, 32, 95, 97] {
        assert_eq!(with(later, Some(vec![0; got])), Err(RoundError::PreviousLength { got }));
    }
    assert_eq!(with(first, None), Err(RoundError::NoPrevious { number: first.number }));
    assert_eq!(with(first, Some(first.signature.clone())), Err(RoundError::Genesis));
    let mut other = chain;
    other.genesis_seed = "00".repeat(32);
    assert_eq!(other.info().verify(first), Err(RoundError::Genesis));
}

#[test]
fn a_previous_where_none_belongs_is_refused() {
    let chain = chain(Scheme::UnchainedG1Rfc9380);
    let round = Round { previous: Some(vec![]), ..chain.rounds()[0].clone() };
    let scheme = Scheme::UnchainedG1Rfc9380;
    assert_eq!(chain.info().verify(&round), Err(RoundError::NotChained { scheme }));
}

#[test]
fn a_batch_names_each_round_that_is_wrong_and_says_why() {
    let chain = chain(Scheme::UnchainedG1Rfc9380);
    let (info, mut rounds) = (chain.info(), chain.rounds());
    rounds[0].signature.push(0);
    rounds[1].previous = Some(vec![1; 48]);
    (rounds[2].number, rounds[3].number) = (rounds[3].number, rounds[2].number);
    let faults = BTreeMap::from([
        (0, RoundError::Decode(DecodeError::Length { expected: 48, got: 49 })),
        (1, RoundError::NotChained { scheme: info.scheme() }),
        (2, MISMATCH),
        (3, MISMATCH),
    ]);
    assert_eq!(info.verify_all(&rounds), Err(RoundsError { faults, of: 4 }));
    assert_eq!(info.verify_all(&[]), Ok(vec![]));
}

#[test]
fn bytes_that_are_no_signature_are_refused() {
    for chain in chains() {
        let info = chain.info();
        let round = &chain.rounds()[0];
        let with = |signature: Vec<u8>| info.verify(&Round { signature, ..round.clone() });
        let size = round.signature.len();
        for got in [0, size - 1, size + 1, 144 - size] {
            let expected = RoundError::Decode(DecodeError::Length { expected: size, got });
            assert_eq!(with(vec![0x80; got]), Err(expected));
        }
        let mut infinity = vec![0; size];
        infinity[0] = 0xc0;
        assert_eq!(with(infinity), Err(RoundError::Decode(DecodeError::Identity)));
        let mut negated = round.signature.clone();
        negated[0] ^= 0x20;
        assert_eq!(with(negated), Err(MISMATCH));
    }
}

#[test]
fn a_key_of_the_other_group_or_the_identity_is_refused() {
    let quicknet = chain(Scheme::UnchainedG1Rfc9380);
    let wrong = DecodeError::Length { expected: 48, got: 96 };
    assert_eq!(quicknet.info_under(Scheme::PedersenUnchained).unwrap_err(), wrong);
    let mut infinity = quicknet;
    infinity.key = format!("c0{}", "00".repeat(95));
    let refused = infinity.info_under(Scheme::UnchainedG1Rfc9380).unwrap_err();
    assert_eq!(refused, DecodeError::Identity);
}

#[test]
fn every_part_of_the_information_is_in_the_hash() {
    let change: [fn(&mut Chain); 5] = [
        |chain| chain.period = NonZeroU32::new(4).unwrap(),
        |chain| chain.genesis_time += 1,
        |chain| chain.genesis_seed.replace_range(0..2, "00"),
        |chain| chain.beacon_id.push('x'),
        |chain| chain.key = hex::encode(key_of(Scheme::UnchainedG1Rfc9380)),
    ];
    for change in change {
        let mut chain = chain(Scheme::UnchainedG1Rfc9380);
        change(&mut chain);
        assert_ne!(hex::encode(chain.info().hash()), chain.hash);
    }
}

#[test]
fn schemes_have_one_name_each() {
    for scheme in Scheme::ALL {
        assert_eq!(scheme.to_string().parse(), Ok(scheme));
    }
    for id in ["", "bls-bn254-unchained-on-g1", "Pedersen-bls-chained"] {
        assert_eq!(id.parse::<Scheme>(), Err(UnknownScheme { id: id.into() }));
    }
    assert_eq!(Scheme::default().id(), "bls-unchained-g1-rfc9380");
}

#[test]
fn rounds_are_due_as_scheduled() {
    let schedule = chain(Scheme::UnchainedG1Rfc9380).info().schedule();
    let genesis = schedule.genesis_time;
    assert_eq!(schedule.round_at(genesis - 1), None);
    assert_eq!(schedule.round_at(genesis), Some(RoundNumber::FIRST));
    assert_eq!(schedule.round_at(genesis + 2), Some(number(1)));
    assert_eq!(schedule.round_at(genesis + 3), Some(number(2)));
    assert_eq!(schedule.time_of(number(2)), Some(genesis + 3));
    assert_eq!(schedule.time_of(number(u64::MAX)), None);
    let each_second = Schedule { genesis_time: 0, period: NonZeroU32::MIN };
    assert_eq!(each_second.round_at(u64::MAX), None);
    assert_eq!(each_second.round_at(u64::MAX - 1), Some(number(u64::MAX)));
}

fn secret() -> SecretKey {
    SecretKey::from_secret_bytes(&Secret::new(Scalar::from_u64(0x5eed).to_bytes())).unwrap()
}

fn key_of(scheme: Scheme) -> Vec<u8> {
    match scheme {
        Scheme::PedersenChained | Scheme::PedersenUnchained => {
            let key: min_pk::PublicKey = secret().public_key();
            key.to_bytes().to_vec()
        }
        Scheme::UnchainedOnG1 | Scheme::UnchainedG1Rfc9380 => {
            let key: min_sig::PublicKey = secret().public_key();
            key.to_bytes().to_vec()
        }
    }
}

#[test]
fn rounds_that_we_sign_verify_under_their_scheme_alone() {
    for scheme in Scheme::ALL {
        let seed = [7; 32];
        let schedule = Schedule { genesis_time: 0, period: NonZeroU32::MIN };
        let info = ChainInfo::new(scheme, &key_of(scheme), schedule, seed, "ours").unwrap();
        let second = number(2);
        let previous = scheme.is_chained().then(|| vec![7; 96]);
        let message = second.chained_message(previous.as_deref().unwrap_or_default());
        let domain = scheme.domain();
        let signature = match scheme {
            Scheme::PedersenChained | Scheme::PedersenUnchained => {
                let signature: min_pk::Signature = secret().sign(domain, &message);
                signature.to_bytes().to_vec()
            }
            Scheme::UnchainedOnG1 | Scheme::UnchainedG1Rfc9380 => {
                let signature: min_sig::Signature = secret().sign(domain, &message);
                signature.to_bytes().to_vec()
            }
        };
        let round = Round { number: second, signature, previous, randomness: None };
        assert!(info.verify(&round).is_ok(), "{scheme}");
        for other in Scheme::ALL.into_iter().filter(|other| *other != scheme) {
            if let Ok(info) = ChainInfo::new(other, &key_of(scheme), schedule, seed, "ours") {
                assert!(info.verify(&round).is_err(), "{scheme} as {other}");
                for previous in [None, Some(vec![])] {
                    let moved = Round { previous, ..round.clone() };
                    assert!(info.verify(&moved).is_err(), "{scheme} as {other}");
                }
            }
        }
    }
}
