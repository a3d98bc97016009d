//! Attacks on the key generation: dealings that are none or too many, keys that are somebody else's.
//! In the scheme whose key generation has more stages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_protocol::Instant;
use borsh::BorshDeserialize;
use prefinal_beacon::Wvuf;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::wvuf::{self, BlindedKey};
use prefinal_pvss_dkg::protocol::{self, Collect, Keys, Verdict as Dealings};
use prefinal_pvss_dkg::{Dealing, Dkg};
use prefinal_sim::Seat;
use prefinal_sim::rule::{self, Letter};
use prefinal_validator::keygen::{Job, Verdict};
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::{self, Algorithm, FIRST, Identity};
use prefinal_validator::transaction::{self, SignedKeys};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::committee::{self, Ground, Lab, Observation, Scene, plan, seats};
use crate::faults::{SEEDS, SOME, ms, seat};

type Change = fn(&mut Vec<u8>);
type Message = committee::MessageOf<Wvuf>;
type Run = committee::Run<Wvuf>;
type Tamper = committee::Tamper<Wvuf>;

#[test]
fn a_corrupted_dealing_does_not_count() {
    let changes: [(&str, Change); 5] = [
        ("shorter", |dealing| dealing.truncate(dealing.len() - 1)),
        ("longer", |dealing| dealing.push(0)),
        ("of another dealer", |envelope| envelope[36] ^= 2),
        ("with another ciphertext", |dealing| {
            let end = dealing.len();
            let (low, high) = dealing.split_at_mut(end - 48);
            low[end - 96..].swap_with_slice(high);
        }),
        ("of nothing", |dealing| *dealing = vec![0]),
    ];
    let mut refused = 0;
    for ((name, change), seed) in changes.into_iter().zip(1..) {
        let mut run = Scene::new(format!("a dealing {name}"), seed).faulty(SOME).stage::<Wvuf>();
        for one in SOME {
            run.simulation.host_mut().tampers.insert(
                seat(one),
                Box::new(move |_, verdict| match verdict {
                    Verdict::Dealings(Dealings::Dealt(Ok(mut envelopes))) => {
                        envelopes.iter_mut().for_each(change);
                        Verdict::Dealings(Dealings::Dealt(Ok(envelopes)))
                    }
                    other => other,
                }),
            );
        }
        run.finish();
        assert_eq!(run.accusations(), BTreeSet::new(), "{}", run.label);
        for seat in run.honest() {
            let machine = run.simulation.machine(seat).unwrap();
            let dealers: BTreeSet<Party> = machine.key().unwrap().sum.dealers().collect();
            let bad = SOME.into_iter().map(Party::new).find(|one| dealers.contains(one));
            assert_eq!(bad, None, "{}", run.label);
        }
        refused += usize::from(!run.refusals().is_empty());
    }
    assert!(refused >= 3, "only {refused} times a bad dealing came before the key was complete");
}

/// The earlier one in the order counts, the same at everybody; which one it is does not matter.
#[test]
fn a_dealer_of_two_dealings_is_counted_once() {
    for seed in SEEDS {
        let twice = seat(0);
        let mut run = Scene::new("two dealings", seed).faulty([0]).stage::<Wvuf>();
        let ground = Wvuf::ground(Algorithm::Fast);
        let identity = &ground.identities()[0];
        let mut rng = identity.rng(b"another dealing", ground.setup().keygen.digest());
        let blank = Arc::new(Dkg::<Dealing>::new(Arc::clone(&ground.setup().keygen)));
        let deal = protocol::Job::Deal { places: blank.owed(identity.me), blank };
        // Dealing needs none.
        let (signer, decryption) = (&identity.signer, &mut None);
        let dealt = deal.run(&mut Keys { signer, decryption, held: &() }, &mut rng);
        let Dealings::Dealt(Ok(other)) = dealt else { panic!("dealing gives a dealing") };
        let other = prefinal_jolteon::Transaction::new(transaction::dealing(FIRST, &other[0]));
        let message =
            Arc::new(Message::Engine(FIRST, prefinal_jolteon::Message::Transactions(vec![other])));
        let letters = seats().filter(|to| *to != twice).map(|to| Letter {
            to,
            message: Arc::clone(&message),
            delay: Duration::ZERO,
        });
        let injected = rule::inject(Instant::at(ms(1)), letters.collect());
        run.simulation.rule(twice, injected).unwrap();
        run.finish();
        let sums: BTreeSet<Vec<u8>> = run
            .honest()
            .map(|seat| run.simulation.machine(seat).unwrap().key().unwrap().sum.to_bytes())
            .collect();
        assert_eq!(sums.len(), 1, "{}", run.label);
        let key = run.simulation.machine(seat(1)).unwrap().key().unwrap();
        let dealers: Vec<Party> = key.sum.dealers().collect();
        let distinct: BTreeSet<&Party> = dealers.iter().collect();
        assert_eq!(dealers.len(), distinct.len(), "{}", run.label);
    }
}

/// What a thief makes of another's blinded key: the same key under another factor, with the proof that
/// is there.
fn blinded_again(key: &BlindedKey) -> BlindedKey {
    let factor = Scalar::from_u64(5);
    let pi = (key.pi() * factor).to_affine();
    let rho: Vec<_> = key.rho().iter().map(|share| (*share * factor).to_affine()).collect();
    let proof: [u8; 80] = borsh::to_vec(key).unwrap()[48..128].try_into().unwrap();
    borsh::from_slice(&borsh::to_vec(&(pi, proof, rho)).unwrap()).unwrap()
}

/// What a thief publishes instead of its own keys: the victim's, blinded again, signed by `forger`.
fn stealing(ground: Arc<Ground<Wvuf>>, victim: usize, forger: Identity) -> Tamper {
    Box::new(move |job, verdict| match verdict {
        Verdict::Opened(Ok(mut own)) => {
            let Verdict::Opened(Ok(robbed)) = job.run(ground.setup(), &ground.identities()[victim])
            else {
                panic!("the victim opens its shares")
            };
            let stolen = SignedKeys::try_from_slice(&robbed.transaction.unwrap()[9..]).unwrap();
            let (slow, fast) = (&stolen.slow, stolen.fast.as_ref());
            let (slow, fast) = (blinded_again(slow), fast.map(blinded_again));
            let forged = SignedKeys::new(ground.setup(), &forger, slow, fast);
            own.transaction = Some(transaction::keys(FIRST, &forged));
            Verdict::Opened(Ok(own))
        }
        other => other,
    })
}

/// What a party publishes that blinds both paths with one factor.
fn sharing_a_factor(ground: Arc<Ground<Wvuf>>, at: usize) -> Tamper {
    Box::new(move |job, verdict| match (job, verdict) {
        (Job::Open { key }, Verdict::Opened(Ok(mut own))) => {
            let (setup, identity) = (ground.setup(), &ground.identities()[at]);
            let shares = Wvuf::decrypt(setup, identity, key).unwrap();
            let blind = |committee, shares| {
                let mut rng = ChaCha20Rng::seed_from_u64(1);
                wvuf::blind(committee, identity.me, shares, &mut rng).1
            };
            let slow = blind(&key.committees.slow, &shares.slow);
            let fast = key.committees.fast.as_ref().zip(shares.fast.as_ref());
            let fast = fast.map(|(committee, shares)| blind(committee, shares));
            assert_eq!(Some(slow.pi()), fast.as_ref().map(BlindedKey::pi));
            let signed = SignedKeys::new(setup, identity, slow, fast);
            own.transaction = Some(transaction::keys(FIRST, &signed));
            Verdict::Opened(Ok(own))
        }
        (_, other) => other,
    })
}

/// Its fast partials would be its slow ones, for everybody to count under the lower threshold.
#[test]
fn a_party_that_blinds_both_paths_with_one_factor_is_not_admitted() {
    let guilty = Party::new(4);
    let ground = Wvuf::ground(Algorithm::Fast);
    let name = "one factor for both paths".to_owned();
    let mut run = Scene::new(name, 5).faulty([guilty.get()]).stage::<Wvuf>();
    let shares = sharing_a_factor(ground, guilty.index());
    run.simulation.host_mut().tampers.insert(seat(guilty.get()), shares);
    run.finish();
    let refusals = run.refusals();
    let why = "party 4 blinds its shares of both paths with one factor";
    assert!(refusals.iter().any(|one| one.contains(why)), "{}: {refusals:?}", run.label);
    for at in run.honest() {
        assert!(is_admitted(&run, at, Party::new(2)), "{}: not at {at}", run.label);
        assert!(!is_admitted(&run, at, guilty), "{}: at {at}", run.label);
    }
}

/// Whether a party's keys for both paths count at a seat.
fn is_admitted(run: &Run, at: Seat, party: Party) -> bool {
    let has = |one: &wvuf::VufCommittee| one.keys().contains_key(&party);
    run.notes().filter(|note| note.seat == at).any(|note| match &note.event {
        Observation::Ready { committees, .. } => {
            has(&committees.slow) && committees.fast.as_ref().is_some_and(has)
        }
        Observation::Admitted(_, keys) => keys.party == party,
        _ => false,
    })
}

#[test]
fn nobody_is_pushed_out_by_who_publishes_its_keys_as_its_own_or_for_it() {
    let (thief, victim) = (Party::new(4), Party::new(2));
    let ground = Wvuf::ground(Algorithm::Fast);
    for (named, seed) in [(thief, 1), (victim, 2), (thief, 3), (victim, 4)] {
        let name = format!("keys of {victim} are published for {named}");
        let mut run = Scene::new(name, seed).faulty([thief.get()]).stage::<Wvuf>();
        let (_, mut identities) = setup::found(&plan(Algorithm::Fast), 1).unwrap();
        let mut forger = identities.swap_remove(thief.index());
        forger.me = named;
        let steals = stealing(Arc::clone(&ground), victim.index(), forger);
        run.simulation.host_mut().tampers.insert(seat(thief.get()), steals);
        // The thief is first.
        let late = rule::delay_when(ms(700), |_, letter: &Letter<Arc<Message>>| {
            matches!(
                *letter.message,
                Message::Engine(_, prefinal_jolteon::Message::Transactions(_))
            )
        });
        run.simulation.rule(seat(victim.get()), late).unwrap();
        run.finish();
        let why = if named == thief { "keys of party 4" } else { "is not party 2's" };
        let refusals = run.refusals();
        assert!(refusals.iter().any(|one| one.contains(why)), "{}: {refusals:?}", run.label);
        for at in run.honest() {
            assert!(is_admitted(&run, at, victim), "{}: not at {at}", run.label);
            assert!(!is_admitted(&run, at, thief), "{}: the thief at {at}", run.label);
        }
    }
}
