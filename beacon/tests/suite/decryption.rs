//! Slot decryption: what a block holds is opened when it is final, and by nobody before.
use std::collections::BTreeMap;

use prefinal_beacon::{
    Batch, BatchCommittee, Beacon, Binding, Bounds, Config, ConfigError, ContentError, Decryption,
    DecryptionShares, Effect, Fault, Finality, Function, Input, Life, Message, Output, Path, Paths,
    Record, Refusal, Scheme, ShapeError, Sharing, Slot, Unopened, Unusable, Value, Withheld,
};
use prefinal_crypto_core::access::{Access, Party};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::curve::{G1Affine, G2, Scalar};
use prefinal_crypto_core::elgamal::{DecryptionCommittee, DecryptionKey, EncryptionKey, Label};
use prefinal_crypto_core::polynomial::{Placement, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wire::Object;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::fixture::*;

const BLOCK: [u8; 32] = [0x5b; 32];
const BOUNDS: Bounds = Bounds { ciphertexts: 4, bytes: 300 };

/// Those of each party.
type Shares = Vec<Secret<Vec<Scalar>>>;

/// One decryption key, shared for every path.
pub(crate) struct Holders {
    paths: BTreeMap<Path, (DecryptionCommittee, Shares)>,
    finality: Finality,
}

impl Holders {
    pub(crate) fn new(seed: u64, weights: &[u32], thresholds: [u32; 3]) -> Self {
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = Scalar::random(&mut rng);
        Self::share(&secret, &mut rng, weights, thresholds)
    }

    /// Shares of a secret that has another use, which nobody should have.
    pub(crate) fn of(seed: u64, secret: &Scalar) -> Self {
        Self::share(secret, &mut ChaCha20Rng::seed_from_u64(seed), &[1, 1, 1, 1], [3, 4, 3])
    }

    fn share(
        secret: &Scalar,
        rng: &mut ChaCha20Rng,
        weights: &[u32],
        thresholds: [u32; 3],
    ) -> Self {
        let secret = Secret::new(*secret);
        let y = (G1Affine::generator() * secret.expose()).to_affine();
        let access = Access::new(weights).unwrap();
        let mut deal = |t: u32| {
            let polynomial = Polynomial::random(t.try_into().unwrap(), &secret, rng);
            let commitment: Commitment<G2> = Commitment::commit(&polynomial);
            let placement = Placement::Consecutive;
            let holders = DecryptionCommittee::new(y, &commitment, access.clone(), placement);
            let holders = holders.unwrap();
            let shares = polynomial.shares(holders.points());
            let own = |party| Secret::new(shares.expose()[access.range(party)].to_vec());
            (holders, access.parties().map(own).collect())
        };
        let paths = [Path::Slow, Path::Fast, Path::Tight].into_iter().zip(thresholds);
        let stakes: Vec<u128> = weights.iter().copied().map(u128::from).collect();
        let finality = finality(&stakes, thresholds[2].into());
        Self { paths: paths.map(|(path, t)| (path, deal(t))).collect(), finality }
    }

    /// Four equal parties, one of them faulty: three make a value final.
    pub(crate) fn four(seed: u64) -> Self {
        Self::new(seed, &[1, 1, 1, 1], [3, 4, 3])
    }

    pub(crate) fn committee(&self, path: Path) -> BatchCommittee {
        BatchCommittee::new(self.paths[&path].0.clone(), BOUNDS)
    }

    fn key(&self) -> &EncryptionKey {
        self.paths[&Path::Slow].0.key()
    }

    pub(crate) fn secret(&self, path: Path, party: Party) -> DecryptionKey {
        let (holders, shares) = &self.paths[&path];
        let own = Secret::new(shares[party.index()].expose().clone());
        DecryptionKey::new(holders, party, own).unwrap()
    }

    fn sharing(&self, path: Path, party: Party) -> Sharing<Decryption> {
        Sharing { committee: self.committee(path), secret: Some(self.secret(path, party)) }
    }

    pub(crate) fn config(&self, me: Party, algorithm: Algorithm) -> Config<Decryption> {
        let sharing = |path| self.sharing(path, me);
        let paths = match algorithm {
            Algorithm::Slow => Paths::Slow(sharing(Path::Slow)),
            Algorithm::Tight => Paths::Tight(sharing(Path::Tight)),
            Algorithm::FastAndSlow => Paths::FastAndSlow {
                slow: sharing(Path::Slow),
                fast: sharing(Path::Fast),
                fast_from: slot(0),
            },
        };
        Config {
            context: CONTEXT,
            me,
            paths,
            binding: Binding::Value,
            fast_attempt: Some(0),
            finality: self.finality.clone(),
            first: slot(1),
            life: Life::First,
            limits: TIGHT_VALUE.limits,
        }
    }

    fn beacon(&self, me: Party, algorithm: Algorithm) -> Beacon<Decryption> {
        Beacon::new(self.config(me, algorithm), &[]).unwrap()
    }

    fn encrypt(&self, context: &Context, at: Slot, plaintext: &[u8]) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(plaintext[0]));
        let label = Label::slot(context, at);
        self.key().encrypt(&label, plaintext, &mut rng).unwrap().to_wire()
    }

    fn batch(&self, at: u64, ciphertexts: &[Vec<u8>]) -> Batch {
        let committee = self.committee(Path::Slow);
        Batch::new(&committee, &CONTEXT, slot(at), BLOCK, ciphertexts)
    }

    /// Two transactions of slot `at`.
    pub(crate) fn two(&self, at: u64) -> Batch {
        let one = |plaintext: &[u8]| self.encrypt(&CONTEXT, slot(at), plaintext);
        self.batch(at, &[one(b"buy"), one(b"sell")])
    }

    fn shares(&self, party: Party, path: Path, batch: &Batch) -> DecryptionShares {
        Decryption::evaluate(&self.secret(path, party), batch).unwrap()
    }

    fn message(&self, party: Party, path: Path, batch: &Batch) -> Message<Decryption> {
        let partial = self.shares(party, path, batch);
        said(path, batch, partial)
    }
}

fn said(path: Path, batch: &Batch, partial: DecryptionShares) -> Message<Decryption> {
    Message::Partial { path, slot: batch.slot(), value: Some(batch.value()), partial }
}

fn content(batch: &Batch) -> Input<Decryption> {
    Input::Content(batch.clone())
}

/// Content, the engine's vote, finality.
fn follow(beacon: &mut Beacon<Decryption>, batch: &Batch) -> Vec<Output<Decryption>> {
    let at = batch.slot().get();
    let mut outputs = step(beacon, ms(0), content(batch));
    outputs.extend(step(beacon, ms(0), prefinalized(at, 0, batch.value())));
    outputs.extend(step(beacon, ms(0), finalized(at, Some(batch.value()))));
    outputs
}

fn refusals(outputs: &[Output<Decryption>]) -> Vec<Refusal> {
    let refusals = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Refused(refusal)) => Some(refusal.clone()),
        _ => None,
    });
    refusals.collect()
}

fn opened(output: &[Result<Vec<u8>, Unopened>]) -> Vec<Option<&[u8]>> {
    output.iter().map(|entry| entry.as_deref().ok()).collect()
}

#[test]
fn a_block_is_open_when_it_is_final_on_every_path() {
    let holders = Holders::new(1001, &[2, 1, 1, 1], [3, 5, 4]);
    let batch = holders.two(1);
    for (algorithm, path) in [
        (Algorithm::Slow, Path::Slow),
        (Algorithm::Tight, Path::Tight),
        (Algorithm::FastAndSlow, Path::Fast),
    ] {
        let mut beacon = holders.beacon(A, algorithm);
        step(&mut beacon, ms(0), content(&batch));
        let mut shown = step(&mut beacon, ms(0), prefinalized(1, 0, batch.value()));
        for peer in [B, C, D] {
            let message = holders.message(peer, path, &batch);
            shown.extend(step(&mut beacon, ms(0), received(peer, message)));
        }
        assert!(reveals(&shown).is_empty(), "not before it is final");
        let outputs = step(&mut beacon, ms(0), finalized(1, Some(batch.value())));
        let reveal = reveals(&outputs).remove(0);
        assert_eq!(reveal.path, path);
        assert_eq!(opened(&reveal.output), [Some(&b"buy"[..]), Some(&b"sell"[..])]);
        assert!(accused(&outputs).is_empty());
    }
}

/// The orphaned block: one party prefinalized it, its share and the adversary's are all there is.
#[test]
fn below_the_threshold_nothing_is_learnt() {
    let holders = Holders::four(1002);
    let batch = holders.two(1);
    for algorithm in [Algorithm::Tight, Algorithm::FastAndSlow] {
        let path = if algorithm == Algorithm::Tight { Path::Tight } else { Path::Fast };
        let mut released = BTreeMap::from([(D, holders.shares(D, path, &batch))]);
        for (party, votes) in [(A, true), (B, false), (C, false)] {
            let mut beacon = holders.beacon(party, algorithm);
            let mut outputs = step(&mut beacon, ms(0), content(&batch));
            if !votes {
                outputs.extend(step(&mut beacon, ms(0), abandoned(1, 0)));
            }
            outputs.extend(step(&mut beacon, ms(0), prefinalized(1, 0, batch.value())));
            // Another value becomes final; this one's content is no more use.
            outputs.extend(step(&mut beacon, ms(0), finalized(1, Some(W))));
            for message in sent(&outputs) {
                if let Message::Partial { value, partial, .. } = message {
                    assert_eq!(value, Some(batch.value()), "no content, no share");
                    released.insert(party, partial);
                }
            }
        }
        assert_eq!(released.keys().copied().collect::<Vec<_>>(), [A, D]);
        let committee = holders.committee(path);
        let leak = Decryption::combine(&committee, &batch, &released).map(|_| ());
        let need = Decryption::threshold(&committee);
        assert_eq!(leak, Err(prefinal_beacon::PartialsError::BelowThreshold { got: 2, need }));
        // With the shares that the contract held back it would be open.
        for party in [B, C] {
            released.insert(party, holders.shares(party, path, &batch));
        }
        let leak = Decryption::combine(&committee, &batch, &released).unwrap();
        assert_eq!(opened(&leak.output)[0], Some(&b"buy"[..]));
    }
}

/// Whatever a proposer puts in, the slot goes on, and nobody gives a share for what is not the slot's.
#[test]
fn what_is_not_of_this_slot_is_an_entry_without_plaintext() {
    let holders = Holders::four(1003);
    let other = Holders::four(1004);
    let good = holders.encrypt(&CONTEXT, slot(1), b"good");
    let mut tampered = good.clone();
    *tampered.last_mut().unwrap() ^= 1;
    let chain = Context { chain: ChainId::new([8; 32]), ..CONTEXT };
    let epoch = Context { epoch: EpochId::new(2), ..CONTEXT };
    let cases = [
        (tampered, Unusable::Invalid),
        (holders.encrypt(&CONTEXT, slot(2), b"later"), Unusable::Invalid),
        (holders.encrypt(&chain, slot(1), b"elsewhere"), Unusable::Invalid),
        (holders.encrypt(&epoch, slot(1), b"next"), Unusable::Invalid),
        (other.encrypt(&CONTEXT, slot(1), b"theirs"), Unusable::Invalid),
        (good[..good.len() - 1].to_vec(), Unusable::Undecodable),
        (b"not a ciphertext".to_vec(), Unusable::Undecodable),
        (vec![0; 301], Unusable::TooLong { got: 301, most: 300 }),
    ];
    for (bytes, expected) in cases {
        let batch = holders.batch(1, &[bytes, good.clone()]);
        let mut beacon = holders.beacon(A, Algorithm::Slow);
        let mut outputs = follow(&mut beacon, &batch);
        for peer in [B, C] {
            let message = holders.message(peer, Path::Slow, &batch);
            outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
        }
        let output = &reveals(&outputs)[0].output;
        assert_eq!(output[0], Err(expected.into()));
        assert_eq!(output[1].as_deref(), Ok(&b"good"[..]));
        // One share of one point: a count, and a count and 48 bytes.
        let own = holders.shares(A, Path::Slow, &batch);
        assert_eq!(borsh::to_vec(&own).unwrap().len(), 4 + 4 + 48);
    }
    let many = holders.batch(1, &vec![good; 6]);
    let entries: Vec<_> = many.entries().iter().map(|entry| entry.as_ref().err()).collect();
    let too_many = [4, 5].map(|position| Unusable::TooMany { position, most: 4 });
    assert_eq!(entries, [None, None, None, None, Some(&too_many[0]), Some(&too_many[1])]);
}

/// A block without anything to decrypt has its place in the order.
#[test]
fn an_empty_block_is_revealed_too() {
    let holders = Holders::four(1005);
    let batch = holders.batch(1, &[]);
    let mut beacon = holders.beacon(A, Algorithm::Slow);
    let mut outputs = follow(&mut beacon, &batch);
    for peer in [B, C] {
        let message = holders.message(peer, Path::Slow, &batch);
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    assert!(reveals(&outputs)[0].output.is_empty());
}

#[test]
fn content_that_is_not_the_values_is_refused() {
    let holders = Holders::four(1006);
    let (right, wrong) = (holders.two(1), holders.batch(1, &[]));
    assert_ne!(right.value(), wrong.value());
    let mut beacon = holders.beacon(A, Algorithm::Tight);
    let last = Some(right.value());
    assert!(
        sent(&step(&mut beacon, ms(0), finalized(1, last))).is_empty(),
        "nothing to decrypt yet"
    );
    let outputs = step(&mut beacon, ms(0), content(&wrong));
    let error = ContentError::OtherValue { slot: slot(1), last, got: wrong.value() };
    assert_eq!(refusals(&outputs), [Refusal::Content(error)]);
    assert!(sent(&outputs).is_empty());
    let outputs = step(&mut beacon, ms(0), content(&right));
    assert_eq!(sent(&outputs), [holders.message(A, Path::Tight, &right)]);
    assert!(step(&mut beacon, ms(0), content(&right)).is_empty(), "once");
    // The same ciphertexts in another block, or in another order, are another value.
    let ciphertexts = [vec![1], vec![2]];
    let digest = Batch::digest(&ciphertexts);
    let swapped = Batch::digest(&[vec![2], vec![1]]);
    let joined = Batch::digest(&[vec![1, 2]]);
    let values = [
        Batch::value_of(BLOCK, &digest),
        Batch::value_of([0; 32], &digest),
        Batch::value_of(BLOCK, &swapped),
        Batch::value_of(BLOCK, &joined),
    ];
    let distinct: std::collections::BTreeSet<_> = values.iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn content_of_elsewhere_is_refused() {
    let holders = Holders::four(1007);
    let mut beacon = holders.beacon(A, Algorithm::Slow);
    let epoch = Context { epoch: EpochId::new(2), ..CONTEXT };
    let committee = holders.committee(Path::Slow);
    let none: [Vec<u8>; 0] = [];
    let foreign = [
        Batch::new(&committee, &epoch, slot(1), BLOCK, &none),
        Holders::four(1008).batch(1, &[]),
        Batch::new(
            &BatchCommittee::new(committee.holders().clone(), Bounds { ciphertexts: 5, ..BOUNDS }),
            &CONTEXT,
            slot(1),
            BLOCK,
            &none,
        ),
    ];
    for batch in foreign {
        let outputs = step(&mut beacon, ms(0), content(&batch));
        let error = ContentError::Elsewhere { slot: slot(1) };
        assert_eq!(refusals(&outputs), [Refusal::Content(error)]);
    }
    let limit = slot(1).after(TIGHT_VALUE.limits.window);
    let far = holders.batch(limit.get() + 1, &[]);
    let error = ContentError::TooFar { slot: far.slot(), limit };
    let outputs = step(&mut beacon, ms(0), content(&far));
    assert_eq!(refusals(&outputs), [Refusal::Content(error)]);
    for byte in 0..5 {
        let batch = Batch::new(&committee, &CONTEXT, slot(1), [byte; 32], &none);
        let outputs = step(&mut beacon, ms(0), content(&batch));
        let error = ContentError::TooMany { slot: slot(1), most: 4 };
        let expected = if byte < 4 { vec![] } else { vec![Refusal::Content(error)] };
        assert_eq!(refusals(&outputs), expected, "what a proposer makes is not all kept");
    }
    let last = Batch::new(&committee, &CONTEXT, slot(1), [9; 32], &none);
    step(&mut beacon, ms(0), finalized(1, Some(last.value())));
    let outputs = step(&mut beacon, ms(0), content(&last));
    assert_eq!(sent(&outputs).len(), 1, "the final value's always is");
}

/// Without content there is nothing that could leave, and nothing to remember.
#[test]
fn a_vote_before_its_content_takes_the_slow_path() {
    let holders = Holders::four(1009);
    let batch = holders.two(1);
    let mut beacon = holders.beacon(A, Algorithm::FastAndSlow);
    let outputs = step(&mut beacon, ms(0), prefinalized(1, 0, batch.value()));
    let reason = Withheld::NoContent { slot: slot(1), value: batch.value() };
    assert_eq!(refusals(&outputs), [Refusal::Withheld(reason)]);
    assert!(records(&outputs).is_empty());
    step(&mut beacon, ms(0), content(&batch));
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(batch.value())));
    assert_eq!(sent(&outputs), [holders.message(A, Path::Slow, &batch)]);
}

#[test]
fn a_bad_share_is_found_among_good_ones() {
    let holders = Holders::four(1010);
    let batch = holders.two(1);
    let other = holders.batch(
        1,
        &[holders.encrypt(&CONTEXT, slot(1), b"buy"), holders.encrypt(&CONTEXT, slot(1), b"hold")],
    );
    // The first share is right, the second is of another ciphertext.
    let bad = holders.shares(B, Path::Slow, &other);
    let short = holders.shares(B, Path::Slow, &holders.batch(1, &[]));
    for wrong in [bad, short] {
        let mut beacon = holders.beacon(A, Algorithm::Slow);
        let mut outputs = follow(&mut beacon, &batch);
        let message = said(Path::Slow, &batch, wrong.clone());
        outputs.extend(step(&mut beacon, ms(0), received(B, message)));
        let message = holders.message(C, Path::Slow, &batch);
        outputs.extend(step(&mut beacon, ms(0), received(C, message)));
        let fault = Fault::FalsePartial {
            slot: slot(1),
            path: Path::Slow,
            value: Some(batch.value()),
            partial: Box::new(wrong),
        };
        assert_eq!(accused(&outputs), [(B, fault)]);
        assert!(reveals(&outputs).is_empty());
        let message = holders.message(D, Path::Slow, &batch);
        let outputs = step(&mut beacon, ms(0), received(D, message));
        assert_eq!(opened(&reveals(&outputs)[0].output)[1], Some(&b"sell"[..]));
        // A party that was caught is looked at alone from now on.
        let next = holders.two(2);
        follow(&mut beacon, &next);
        let message = holders.message(B, Path::Slow, &next);
        let outputs = step(&mut beacon, ms(0), received(B, message));
        assert_eq!(jobs(&outputs).len(), 1);
        assert!(accused(&outputs).is_empty());
    }
}

#[test]
fn more_than_a_slot_may_have_is_refused_on_arrival() {
    let holders = Holders::four(1011);
    let many: Vec<_> = (0..5_u8).map(|byte| holders.encrypt(&CONTEXT, slot(1), &[byte])).collect();
    let wide = BatchCommittee::new(
        holders.committee(Path::Slow).holders().clone(),
        Bounds { ciphertexts: 5, ..BOUNDS },
    );
    let wide = Batch::new(&wide, &CONTEXT, slot(1), BLOCK, &many);
    let partial = holders.shares(B, Path::Slow, &wide);
    let mut beacon = holders.beacon(A, Algorithm::Slow);
    let outputs = step(&mut beacon, ms(0), received(B, said(Path::Slow, &wide, partial)));
    let (path, error) = (Path::Slow, ShapeError::Ciphertexts { got: 5, most: 4 });
    assert_eq!(accused(&outputs), [(B, Fault::Shape { path, error })]);
    let heavy = Holders::new(1012, &[1, 2, 1, 1], [3, 5, 4]);
    let partial = heavy.shares(B, Path::Slow, &heavy.two(1));
    let outputs = step(&mut beacon, ms(0), received(B, said(Path::Slow, &holders.two(1), partial)));
    assert!(outputs.is_empty(), "accused once");
    let mut beacon = heavy.beacon(A, Algorithm::Slow);
    let partial = holders.shares(B, Path::Slow, &holders.two(1));
    let outputs = step(&mut beacon, ms(0), received(B, said(Path::Slow, &heavy.two(1), partial)));
    let error = ShapeError::Points { got: 1, need: 2 };
    assert_eq!(accused(&outputs), [(B, Fault::Shape { path, error })]);
}

/// Shares are the same after a crash, once the host has handed the content over again.
#[test]
fn a_restart_gives_the_same_shares_and_for_no_other_value() {
    let holders = Holders::four(1013);
    let (batch, other) = (holders.two(1), holders.batch(1, &[]));
    let mut beacon = holders.beacon(A, Algorithm::Tight);
    let mut outputs = step(&mut beacon, ms(0), content(&batch));
    outputs.extend(step(&mut beacon, ms(0), prefinalized(1, 0, batch.value())));
    let (log, first): (Vec<Record>, _) = (records(&outputs), sent(&outputs));
    assert_eq!(first.len(), 1);
    let config = Config { life: LIFE, ..holders.config(A, Algorithm::Tight) };
    let mut second = Beacon::new(config, &log).unwrap();
    assert!(sent(&drain(&mut second, ms(1))).is_empty(), "nothing to decrypt yet");
    for batch in [&batch, &other] {
        step(&mut second, ms(1), content(batch));
    }
    let outputs = step(&mut second, ms(1), prefinalized(1, 0, other.value()));
    let (released, value): (Value, Value) = (batch.value(), other.value());
    let reason = Withheld::OtherValue { slot: slot(1), released, value };
    assert_eq!(refusals(&outputs), [Refusal::Withheld(reason)]);
    let outputs = step(&mut second, ms(1), prefinalized(1, 0, batch.value()));
    assert_eq!(sent(&outputs), first);
}

/// What left on prefinalize is answered from memory: the content is gone with the slot.
#[test]
fn a_finished_slot_still_answers() {
    let holders = Holders::four(1014);
    let batch = holders.two(1);
    for algorithm in [Algorithm::Slow, Algorithm::Tight] {
        let path = if algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let mut beacon = holders.beacon(A, algorithm);
        let mut outputs = follow(&mut beacon, &batch);
        for peer in [B, C] {
            let message = holders.message(peer, path, &batch);
            outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
        }
        assert_eq!(reveals(&outputs).len(), 1);
        let request = Input::Received { from: D, message: Message::Request { slot: slot(1) } };
        let answer = sent(&step(&mut beacon, ms(1), request));
        assert!(answer.contains(&holders.message(A, path, &batch)), "{path}");
    }
}

#[test]
fn configurations_that_would_leak_are_refused() {
    let holders = Holders::four(1015);
    let refused = |change: &dyn Fn(&mut Config<Decryption>)| {
        let mut config = holders.config(A, Algorithm::FastAndSlow);
        change(&mut config);
        Beacon::new(config, &[]).map(|_| ()).unwrap_err()
    };
    let both = |slow, fast| Paths::FastAndSlow { slow, fast, fast_from: slot(0) };
    let slow = || holders.sharing(Path::Slow, A);
    assert_eq!(refused(&|config| config.binding = Binding::Slot), ConfigError::Unbound);
    let error = refused(&|config| config.paths = both(slow(), slow()));
    assert_eq!(error, ConfigError::SharedShare { party: A });
    let error = refused(&|config| {
        config.paths = both(slow(), Holders::four(1016).sharing(Path::Fast, A));
    });
    assert_eq!(error, ConfigError::GroupKeys);
    let crossed = || Sharing {
        secret: Some(holders.secret(Path::Slow, A)),
        ..holders.sharing(Path::Fast, A)
    };
    let error = refused(&|config| config.paths = both(slow(), crossed()));
    assert_eq!(error, ConfigError::WrongKey { path: Path::Fast });
    let theirs = || Sharing { secret: Some(holders.secret(Path::Slow, B)), ..slow() };
    let error = refused(&|config| config.paths = Paths::Slow(theirs()));
    assert_eq!(error, ConfigError::WrongKey { path: Path::Slow });
    let wide = || Sharing {
        committee: BatchCommittee::new(
            holders.committee(Path::Fast).holders().clone(),
            Bounds { ciphertexts: 5, ..BOUNDS },
        ),
        ..holders.sharing(Path::Fast, A)
    };
    let error = refused(&|config| config.paths = both(slow(), wide()));
    assert_eq!(error, ConfigError::Bounds);
}

/// A party that was absent opens the slot with 48 bytes for each ciphertext, and believes nobody.
#[test]
fn what_was_opened_is_shown_to_who_was_absent() {
    let holders = Holders::four(1017);
    let batch = holders.batch(
        1,
        &[
            holders.encrypt(&CONTEXT, slot(1), b"buy"),
            b"not a ciphertext".to_vec(),
            holders.encrypt(&CONTEXT, slot(1), b"sell"),
        ],
    );
    let committee = holders.committee(Path::Slow);
    let partials = [A, B, C].map(|party| (party, holders.shares(party, Path::Slow, &batch)));
    let combined = Decryption::combine(&committee, &batch, &partials.into()).unwrap();
    let shown = Decryption::show(&combined.output, &combined.proof);
    assert_eq!(Decryption::check_shown(&committee, &batch, &shown), Ok(combined.clone()));
    let bytes = borsh::to_vec(&shown).unwrap();
    assert_eq!(bytes.len(), 4 + 2 * 48);
    assert!(bytes.len() <= Decryption::shown_bytes(&committee));
    let swapped: Vec<_> = shown.iter().rev().copied().collect();
    for wrong in [swapped, shown[..1].to_vec(), vec![shown[0]; 3]] {
        let refused = Decryption::check_shown(&committee, &batch, &wrong);
        assert_eq!(refused, Err(prefinal_beacon::OutputError::False));
    }
    // Other quorums open the same.
    let others = [B, C, D].map(|party| (party, holders.shares(party, Path::Slow, &batch)));
    assert_eq!(Decryption::combine(&committee, &batch, &others.into()), Ok(combined));
}
