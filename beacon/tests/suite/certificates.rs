//! State certificates: exact stake, what an outsider checks, and what is refused.
use prefinal_beacon::{
    Beacon, Binding, Config, ConfigError, Fault, Life, MultiSig, Paths, Sharing, Statement,
};
use prefinal_beacon::{Finding, Function, Message, Path, ProvenOutput, Work};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::certificate::{CertificateError, Elector, Electorate};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::fixture::*;

/// Beyond any number of shares, and with nothing to round.
const STAKES: [u128; 4] = [1 << 100, (1 << 100) + 1, 1 << 99, 3];

/// What A and B hold together.
const BOTH_LARGEST: u128 = (1 << 101) + 1;

fn keys(seed: u64) -> Vec<min_sig::SecretKey> {
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    STAKES.iter().map(|_| min_sig::SecretKey::random(&mut rng)).collect()
}

fn electorate(seed: u64, quorum: u128) -> Electorate<MinSig> {
    let elector = |(key, stake): (&min_sig::SecretKey, u128)| Elector {
        key: key.public_key().verify_possession(&key.prove_possession()).unwrap(),
        stake,
    };
    let electors = keys(seed).iter().zip(STAKES).map(elector).collect();
    Electorate::with_quorum(electors, quorum).unwrap()
}

fn config(seed: u64, me: Party, quorum: u128) -> Config<MultiSig> {
    let secret = keys(seed).swap_remove(me.index());
    let sharing = Sharing { committee: electorate(seed, quorum), secret: Some(secret) };
    Config {
        context: CONTEXT,
        me,
        paths: Paths::Tight(sharing),
        binding: Binding::Value,
        fast_attempt: Some(0),
        finality: finality(&STAKES, quorum),
        first: slot(1),
        life: Life::First,
        limits: TIGHT_VALUE.limits,
    }
}

fn refused(change: impl FnOnce(&mut Config<MultiSig>)) -> ConfigError {
    let mut config = config(801, A, BOTH_LARGEST);
    change(&mut config);
    Beacon::new(config, &[]).map(|_| ()).unwrap_err()
}

fn said(seed: u64, party: Party) -> Message<MultiSig> {
    let statement = Statement { context: CONTEXT, slot: slot(1), value: V };
    let key = &keys(seed)[party.index()];
    let partial = key.sign(MultiSig::DOMAIN, &statement.to_bytes());
    Message::Partial { path: Path::Tight, slot: slot(1), value: Some(V), partial }
}

/// One unit of stake decides, in numbers that no weight and no float could tell apart.
#[test]
fn stake_is_counted_to_the_last_unit() {
    let both = STAKES[0] + STAKES[1];
    for (quorum, suffices) in [(both, true), (both + 1, false)] {
        let mut beacon = Beacon::new(config(801, A, quorum), &[]).unwrap();
        step(&mut beacon, ms(0), prefinalized(1, 0, V));
        step(&mut beacon, ms(0), finalized(1, Some(V)));
        let outputs = step(&mut beacon, ms(0), received(B, said(801, B)));
        assert_eq!(reveals(&outputs).len(), usize::from(suffices), "{quorum}");
        assert_eq!(jobs(&outputs).len(), usize::from(suffices), "nothing is checked too early");
        if !suffices {
            let outputs = step(&mut beacon, ms(0), received(D, said(801, D)));
            assert_eq!(reveals(&outputs).len(), 1, "three more are enough");
        }
    }
}

#[test]
fn a_certificate_convinces_who_has_the_electorate_and_says_one_thing() {
    let quorum = STAKES[0] + STAKES[1];
    let mut beacon = Beacon::new(config(802, A, quorum), &[]).unwrap();
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let reveal = reveals(&step(&mut beacon, ms(0), received(B, said(802, B)))).remove(0);
    let statement = Statement { context: CONTEXT, slot: slot(1), value: V };
    assert_eq!(reveal.output, statement);
    let certificate = &reveal.proof;
    assert_eq!(certificate.signers.iter().collect::<Vec<_>>(), [A, B]);
    assert_eq!(statement.verify(&electorate(802, quorum), certificate), Ok(()));
    let elsewhere = Context { chain: ChainId::new([8; 32]), ..CONTEXT };
    let later = Context { epoch: EpochId::new(2), ..CONTEXT };
    for other in [
        Statement { value: W, ..statement },
        Statement { slot: slot(2), ..statement },
        Statement { context: elsewhere, ..statement },
        Statement { context: later, ..statement },
    ] {
        assert!(other.verify(&electorate(802, quorum), certificate).is_err());
    }
    assert!(statement.verify(&electorate(803, quorum), certificate).is_err(), "other keys");
    let need = quorum + 1;
    let short = CertificateError::BelowQuorum { got: quorum, need };
    assert_eq!(statement.verify(&electorate(802, need), certificate), Err(short));
}

/// A vote of the engine, or a threshold certificate, under the same key: neither counts here.
#[test]
fn a_signature_for_another_purpose_is_none() {
    let statement = Statement { context: CONTEXT, slot: slot(1), value: V };
    for domain in ["jolteon order vote", "beacon certificate", "threshold certificate"] {
        let domain = prefinal_crypto_core::bls::Domain::new(domain);
        let mut beacon = Beacon::new(config(804, A, STAKES[0] + STAKES[1]), &[]).unwrap();
        step(&mut beacon, ms(0), finalized(1, Some(V)));
        let partial = keys(804)[B.index()].sign(domain, &statement.to_bytes());
        let message =
            Message::Partial { path: Path::Tight, slot: slot(1), value: Some(V), partial };
        let outputs = step(&mut beacon, ms(0), received(B, message));
        assert!(reveals(&outputs).is_empty());
        assert!(matches!(accused(&outputs)[..], [(B, Fault::FalsePartial { .. })]));
        let rest = [C, D].map(|party| step(&mut beacon, ms(0), received(party, said(804, party))));
        assert!(rest.iter().all(|outputs| reveals(outputs).is_empty()), "too little without B");
    }
}

#[test]
fn configurations_that_make_no_certificates_are_refused() {
    assert_eq!(refused(|config| config.binding = Binding::Slot), ConfigError::Unbound);
    let sharing = |quorum| Sharing { committee: electorate(801, quorum), secret: None };
    let both = Paths::FastAndSlow {
        slow: sharing(BOTH_LARGEST),
        fast: sharing(BOTH_LARGEST + 1),
        fast_from: slot(0),
    };
    assert_eq!(refused(|config| config.paths = both), ConfigError::OnePath);
    let wrong = Sharing { secret: keys(801).pop(), ..sharing(BOTH_LARGEST) };
    let error = ConfigError::WrongKey { path: Path::Tight };
    assert_eq!(refused(|config| config.paths = Paths::Tight(wrong)), error);
    let stranger = ConfigError::NotMember { party: Party::new(4), path: Path::Tight, members: 4 };
    assert_eq!(refused(|config| config.me = Party::new(4)), stranger);
}

/// A driver that has checked these signatures before adds them up and checks nothing; each certificate
/// names its own signers.
#[test]
fn a_driver_that_has_checked_signatures_gives_the_same_certificates() {
    for peer in [B, C, B] {
        let mut beacon = Beacon::new(config(805, A, STAKES[0] + STAKES[2]), &[]).unwrap();
        raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
        let outputs = raw_step(&mut beacon, ms(0), received(peer, said(805, peer)));
        let job = &jobs(&outputs)[0];
        let (Work::Combine(partials), Some(committee)) = (job.work(), job.committee()) else {
            panic!("{job:?}");
        };
        let proof = MultiSig::prove(committee, job.input(), partials).unwrap();
        let combined = ProvenOutput { output: *job.input(), proof };
        assert_eq!(job.verdict(Finding::Combined(Ok(Box::new(combined)))), job.run());
    }
}

/// The bindings write these statements themselves, and are held against the same vectors.
#[test]
fn statements_are_what_the_model_signs() {
    let text = include_str!("../../../crypto-core/tests/vectors/model/statements.json");
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\": \"")).unwrap();
        rest.split('"').next().unwrap()
    };
    let bytes = |name: &str| -> Vec<u8> {
        let digits = field(name).as_bytes().chunks(2);
        digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    };
    let hash = |name: &str| <[u8; 32]>::try_from(bytes(name)).unwrap();
    let number = |name: &str| field(name).parse().unwrap();
    // The first case has no root.
    let context =
        Context { chain: ChainId::new(hash("chain")), epoch: EpochId::new(number("epoch")) };
    let value = prefinal_beacon::Value::new(hash("value"));
    let statement = Statement { context, slot: slot(number("slot")), value };
    assert_eq!(statement.to_bytes(), bytes("message"));
    let key = min_sig::PublicKey::from_bytes(&bytes("key")).unwrap();
    let group = prefinal_beacon::Bls::CERTIFICATES.domain();
    for (name, domain) in [("signature", MultiSig::DOMAIN), ("threshold signature", group)] {
        let signature = min_sig::Signature::from_bytes(&bytes(name)).unwrap();
        assert!(signature.verify(&key, domain, &statement.to_bytes()).is_ok(), "{name}");
    }
}
