//! The paper's security games, played against every scheme.
//!
//! A scheme is `(Setup, ShareGen, Eval, PEval, PVer, Comb)` with a secrecy threshold `t` and a reconstruction
//! threshold `r ≥ t` (Definition 6). Counts are weights here.
//!
//! | step                  | Game 3.1, robustness              | Game 3.2, unpredictability               |
//! |-----------------------|-----------------------------------|------------------------------------------|
//! | set-up, before keys   | `A` names corrupt parties `C`, `|C| ≤ f` | `A` names `C`, and honest `Q` with `|C ∪ Q| < t` |
//! | share generation      | all public keys, and the secrets of `C` | the same                           |
//! | evaluation            | `(i, m) ↦ PEval(skᵢ, m)` for honest `i`, as often as `A` likes | the same    |
//! | `A` wins with         | an honest partial that `PVer` refuses, or `r` partials that `PVer` accepts and whose `Comb` is not `Eval(s, m)` | `Eval(s, m)` for an `m` on which it asked nobody outside `Q` |
//!
//! Definitions 8 and 9 say that no efficient `A` wins but with negligible probability. No test shows that. What is
//! shown: each adversary here has one idea, has all that the rules give, and never wins against our code; and the
//! same adversary, by the same rules, wins every time once the thing that stops it is broken.
//!
//! | adversary    | its idea                                    | wins if                                          |
//! |--------------|---------------------------------------------|--------------------------------------------------|
//! | `Combiner`   | all partials that it may have, combined     | the threshold is too low; rounding gives it too much weight |
//! | `Replayer`   | the output of another chain, epoch, slot or value | the thing in which the two differ is not in the input |
//! | `Fabricator` | an output of another committee              | what is shown is not verified                    |
//! | `PathMixer`  | fast partials taken for slow ones           | one sharing serves both paths                    |
//! | `Framer`     | an honest partial that is refused           | shares were not checked when they came           |
//! | `Poisoner`   | other partials instead of those that it owes | partials are not verified                        |
//! | `Rusher`     | partials of a value that is only proposed   | partials leave on the proposal (Definition 11)   |
//!
//! With one secret on two paths there is one `Q` and one threshold for each path (section 6.2). Everybody knows
//! the outputs of multi-signatures and of certificates of states, so there the game is played for what shows
//! them. For outputs that look random, and for ciphertexts, there is a game of telling two apart as well, as the
//! paper says of secrecy before Game 3.2. Its win rate must stay within five deviations of one half.
//!
//! Not covered: adversaries that corrupt after they have seen something (the paper's are static), and keys that
//! the parties generate themselves, whose dealings are attacked in `prefinal_pvss_dkg`.
mod adversaries;
mod challenger;
mod sharings;

use std::collections::{BTreeMap, BTreeSet};

use prefinal_beacon::{Binding, Bls, MultiSig, Path, Random, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_weighted_rounding::{Objective, Profile as Pairs, Rounding, Stake};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use self::adversaries::{
    Adversary, Combiner, Fabricator, Framer, PathMixer, Poisoner, Replayer, Rusher, neighbours,
};
use self::challenger::{
    Challenger, Claim, Corruption, Illegal, Message, Part, REAL, Release, Rules, Sharings, TARGET,
    Terms,
};
use self::sharings::{Plain, Running, Slots, States, Torn};
use crate::fixture::*;

const EQUAL: [u32; 4] = [1; 4];
/// Two of four are needed on the slow path, all four on the fast one, three on the tight one.
const THRESHOLDS: [u32; 3] = [2, 4, 3];
const UNVERIFIED: Rules = Rules { verified: false, ..REAL };

/// Four equal parties of which one is faulty, with these thresholds promised.
fn terms(paths: &[Path]) -> Terms {
    let promised = [(Path::Slow, 2), (Path::Fast, 4), (Path::Tight, 3)];
    let secrecy = promised.into_iter().filter(|(path, _)| paths.contains(path)).collect();
    Terms { stakes: vec![1; 4], faulty: 1, secrecy }
}

fn forges<D: Sharings>(
    sharings: &D,
    (terms, rules): (&Terms, Rules),
    adversary: &impl Adversary<D>,
) -> Result<bool, Illegal> {
    let corruption = adversary.corrupt(terms, sharings);
    let mut game = Challenger::unpredictability(sharings, terms, rules, corruption)?;
    let claim = adversary.play(&mut game)?;
    game.is_forged(claim)
}

fn disturbs<D: Sharings>(
    sharings: &D,
    (terms, rules): (&Terms, Rules),
    adversary: &impl Adversary<D>,
) -> Result<bool, Illegal> {
    let corruption = adversary.corrupt(terms, sharings);
    let mut game = Challenger::robustness(sharings, terms, rules, corruption)?;
    let claim = adversary.play(&mut game)?;
    game.breaks_robustness(claim)
}

/// Both games on every path, by all adversaries of the scheme: against what is real, and against `low`, which
/// opens with one share less, and `other`, which has another secret.
fn play<D: Sharings>([real, low, other]: [D; 3], paths: &[Path], neighbours: &[(Part, Message)]) {
    for path in paths.iter().copied() {
        let terms = terms(&[path]);
        assert_eq!(forges(&real, (&terms, REAL), &Combiner(path)), Ok(false), "{path}");
        assert_eq!(forges(&low, (&terms, REAL), &Combiner(path)), Ok(true), "{path}");
        for (part, neighbour) in neighbours {
            let replayer = Replayer(path, *neighbour);
            assert_eq!(forges(&real, (&terms, REAL), &replayer), Ok(false), "{path} {part:?}");
            let without = Rules { without: Some(*part), ..REAL };
            assert_eq!(forges(&real, (&terms, without), &replayer), Ok(true), "{path} {part:?}");
        }
        let fabricator = Fabricator(path, &other);
        assert_eq!(forges(&real, (&terms, REAL), &fabricator), Ok(false), "{path}");
        assert_eq!(forges(&real, (&terms, UNVERIFIED), &fabricator), Ok(true), "{path}");
        // The paper's remark: robustness holds even if everybody is corrupt.
        for faulty in [1, 4] {
            let terms = Terms { faulty, ..terms.clone() };
            assert_eq!(disturbs(&real, (&terms, REAL), &Poisoner(path)), Ok(false), "{path}");
        }
        assert_eq!(disturbs(&real, (&terms, REAL), &Framer(path)), Ok(false), "{path}");
        assert_eq!(disturbs(&real, (&terms, UNVERIFIED), &Poisoner(path)), Ok(true), "{path}");
    }
    let torn = Torn(real);
    assert_eq!(disturbs(&torn, (&terms(&[]), REAL), &Framer(paths[0])), Ok(true));
}

const ALL_PATHS: [Path; 3] = [Path::Slow, Path::Fast, Path::Tight];

fn plain<S: Instance>(seed: u64, thresholds: [u32; 3], binding: Binding) -> Plain<S> {
    Plain::new(seed, &EQUAL, thresholds, binding)
}

/// What opens with one share less than it promises.
const LOW: [u32; 3] = [1, 3, 2];

#[test]
fn nobody_wins_against_threshold_bls() {
    let all = |binding| {
        [
            plain::<Bls>(1301, THRESHOLDS, binding),
            plain(1301, LOW, binding),
            plain(1302, THRESHOLDS, binding),
        ]
    };
    play(all(Binding::Value), &ALL_PATHS, &neighbours());
    // A round of drand is its number alone. Chain and epoch are told by the key.
    play(all(Binding::Slot), &[Path::Slow], &neighbours()[2..3]);
}

#[test]
fn nobody_wins_against_the_weighted_vuf() {
    let [one, low, other] = [(1303, THRESHOLDS), (1303, LOW), (1304, THRESHOLDS)]
        .map(|(seed, thresholds)| plain::<Wvuf>(seed, thresholds, Binding::Value));
    play([one, low, other], &ALL_PATHS, &neighbours());
}

#[test]
fn nobody_wins_against_multi_signatures() {
    let [one, low, other] = [(1305, THRESHOLDS), (1305, LOW), (1306, THRESHOLDS)]
        .map(|(seed, thresholds)| plain::<MultiSig>(seed, thresholds, Binding::Value));
    play([one, low, other], &[Path::Tight], &neighbours());
    let [one, low, other] = [(1305, THRESHOLDS), (1305, LOW), (1306, THRESHOLDS)]
        .map(|(seed, thresholds)| States(plain(seed, thresholds, Binding::Value)));
    play([one, low, other], &[Path::Tight], &neighbours());
}

#[test]
fn nobody_wins_against_slot_decryption() {
    let [one, low, other] = [(1307, THRESHOLDS), (1307, LOW), (1308, THRESHOLDS)]
        .map(|(seed, thresholds)| Slots::new(seed, &EQUAL, thresholds, b"buy"));
    play([one, low, other], &[Path::Slow, Path::Fast], &neighbours());
}

/// Up to three fast partials may be out before a value is final, and two slow ones open it.
#[test]
fn fast_partials_are_no_slow_ones() {
    fn mixes<S: Instance>(seed: u64) {
        let both = terms(&[Path::Fast]);
        let two = plain::<S>(seed, THRESHOLDS, Binding::Value);
        assert_eq!(forges(&two, (&both, REAL), &PathMixer), Ok(false));
        let one = two.one_sharing(plain(seed, THRESHOLDS, Binding::Value));
        assert_eq!(forges(&one, (&both, REAL), &PathMixer), Ok(true));
    }
    mixes::<Bls>(1309);
    mixes::<Wvuf>(1310);
}

/// The adversary is limited in stake, and partials count in weight.
#[test]
fn a_rounding_gives_nobody_more_than_its_stake() {
    let stakes = [50, 9, 9, 9, 9, 7, 7];
    let parties = || stakes.iter().copied();
    let table: Vec<Stake> = parties().map(Stake::new).collect();
    let rounding = Rounding::solve(&table, &Pairs::standard(), Objective::least_total()).unwrap();
    let weights: Vec<u32> = rounding.weights().iter().map(|weight| weight.get()).collect();
    let [slow, fast] = [rounding.slow(), rounding.fast()].map(|one| one.unwrap().threshold().get());
    let real = Plain::<Wvuf>::new(1311, &weights, [slow, fast, fast], Binding::Slot);
    // Half of the stake, and two thirds, say nothing.
    let secrecy = BTreeMap::from([(Path::Slow, 51), (Path::Fast, 67)]);
    for path in [Path::Slow, Path::Fast] {
        let secrecy = BTreeMap::from([(path, secrecy[&path])]);
        let terms = Terms { stakes: stakes.to_vec(), faulty: 33, secrecy };
        assert_eq!(forges(&real, (&terms, REAL), &Combiner(path)), Ok(false), "{path}");
        // One share for each tenth of the stake that was begun: six small ones with half of the stake hold
        // six of eleven, and the heavy one with two small ones holds seven.
        let up: Vec<u32> =
            parties().map(|stake| u32::try_from(stake.div_ceil(10)).unwrap()).collect();
        let naive = Plain::<Wvuf>::new(1311, &up, [6, 7, 7], Binding::Slot);
        assert_eq!(forges(&naive, (&terms, REAL), &Combiner(path)), Ok(true), "{path}");
    }
}

/// Of 36 fair coins 18 are right, with a deviation of three.
const COINS: u64 = 36;

fn is_a_coin(wins: usize) -> bool {
    (3..=33).contains(&wins)
}

/// How often an adversary tells the slot's randomness from other random bytes.
fn real_or_random<S: Instance + Random>(thresholds: [u32; 3], coins: u64) -> usize {
    let path = Path::Slow;
    let tells = |seed: &u64| {
        let (sharings, terms) = (plain::<S>(*seed, thresholds, Binding::Slot), terms(&[path]));
        let mut rng = ChaCha20Rng::seed_from_u64(seed ^ 0xc0);
        let mut shown = [0; 32];
        rng.fill_bytes(&mut shown);
        let real = rng.next_u32() % 2 == 0;
        if real {
            shown = S::randomness(&sharings.eval(&TARGET));
        }
        let corruption = Combiner(path).corrupt(&terms, &sharings);
        let mut game = Challenger::unpredictability(&sharings, &terms, REAL, corruption).unwrap();
        let output = Combiner(path).output(&mut game).unwrap();
        let guess = match output {
            Some(found) => S::randomness(&found.output) == shown,
            None => shown[0] % 2 == 0,
        };
        guess == real
    };
    (0..coins).filter(tells).count()
}

#[test]
fn randomness_looks_random_below_the_threshold() {
    let wins = real_or_random::<Bls>(THRESHOLDS, COINS);
    assert!(is_a_coin(wins), "{wins} of {COINS}");
    assert_eq!(real_or_random::<Bls>(LOW, 8), 8);
    let wins = real_or_random::<Wvuf>(THRESHOLDS, COINS);
    assert!(is_a_coin(wins), "{wins} of {COINS}");
    assert_eq!(real_or_random::<Wvuf>(LOW, 8), 8);
}

/// How often an adversary tells which of its two plaintexts a ciphertext holds.
fn left_or_right(thresholds: [u32; 3], coins: u64) -> usize {
    let path = Path::Slow;
    let tells = |seed: &u64| {
        let left = ChaCha20Rng::seed_from_u64(seed ^ 0xc0).next_u32() % 2 == 0;
        let plaintext: &[u8] = if left { b"left " } else { b"right" };
        let sharings = Slots::new(*seed, &EQUAL, thresholds, plaintext);
        let terms = terms(&[path]);
        let corruption = Combiner(path).corrupt(&terms, &sharings);
        let mut game = Challenger::unpredictability(&sharings, &terms, REAL, corruption).unwrap();
        let output = Combiner(path).output(&mut game).unwrap();
        let guess = match output {
            Some(found) => found.output.first() == Some(&Ok(b"left ".to_vec())),
            // Whatever the last byte of a ciphertext says.
            None => sharings.ciphertext(&TARGET).last().unwrap().is_multiple_of(2),
        };
        guess == left
    };
    (0..coins).filter(tells).count()
}

#[test]
fn a_ciphertext_says_nothing_below_the_threshold() {
    let wins = left_or_right(THRESHOLDS, COINS);
    assert!(is_a_coin(wins), "{wins} of {COINS}");
    assert_eq!(left_or_right(LOW, 8), 8);
}

#[test]
fn a_proposal_gives_nothing_away() {
    fn rushes<S: Instance>(thresholds: [u32; 3], path: Path, profile: Profile) {
        let sharings = Running(plain::<S>(1312, thresholds, profile.binding), profile);
        // The least that makes a value final.
        let terms = Terms { secrecy: BTreeMap::from([(path, 3)]), ..terms(&[]) };
        assert_eq!(forges(&sharings, (&terms, REAL), &Rusher(path)), Ok(false), "{path}");
        let early = Rules { release: Release::Proposal, ..REAL };
        assert_eq!(forges(&sharings, (&terms, early), &Rusher(path)), Ok(true), "{path}");
    }
    rushes::<Bls>([2, 3, 3], Path::Fast, BOTH);
    rushes::<Bls>(THRESHOLDS, Path::Tight, TIGHT);
    rushes::<Bls>(THRESHOLDS, Path::Tight, TIGHT_VALUE);
    rushes::<Wvuf>([2, 3, 3], Path::Fast, BOTH);
    rushes::<MultiSig>(THRESHOLDS, Path::Tight, TIGHT_VALUE);
}

/// The harness refuses what would be no win.
#[test]
fn trivial_wins_are_refused() {
    let (sharings, path) = (plain::<Bls>(1313, THRESHOLDS, Binding::Value), Path::Tight);
    let terms = terms(&[path]);
    let set = |parties: &[Party]| parties.iter().copied().collect::<BTreeSet<_>>();
    let corruption = |corrupt: &[Party], queried: &[Party]| Corruption {
        corrupt: set(corrupt),
        queried: BTreeMap::from([(path, set(queried))]),
    };
    let start = |corruption| Challenger::unpredictability(&sharings, &terms, REAL, corruption);
    let refused = |corruption| start(corruption).err();
    assert_eq!(refused(corruption(&[A], &[B, C])), Some(Illegal::TooMuch { got: 3, limit: 3 }));
    assert_eq!(refused(corruption(&[A], &[A])), Some(Illegal::Party(A)));
    let too_much = Challenger::robustness(&sharings, &terms, REAL, corruption(&[A, B], &[])).err();
    assert_eq!(too_much, Some(Illegal::TooMuch { got: 2, limit: 2 }));
    let mut game = start(corruption(&[A], &[B])).unwrap();
    assert_eq!(game.secret(path, B).map(drop), Err(Illegal::Honest(B)));
    assert_eq!(game.partial(path, A, &TARGET).map(drop), Err(Illegal::Corrupt(A)));
    let claim = || Claim::Output { message: TARGET, output: sharings.eval(&TARGET) };
    game.partial(path, B, &TARGET).unwrap();
    assert_eq!(game.is_forged(claim()), Ok(true), "a right guess wins");
    assert_eq!(game.breaks_robustness(claim()), Err(Illegal::OtherGame));
    // On the fast path B is not named, nor is C anywhere.
    game.partial(Path::Fast, B, &TARGET).unwrap();
    assert_eq!(game.is_forged(claim()), Err(Illegal::Asked(B)));
    let mut game = start(corruption(&[A], &[B])).unwrap();
    game.partial(path, C, &TARGET).unwrap();
    assert_eq!(game.is_forged(claim()), Err(Illegal::Asked(C)));
    let few = BTreeMap::new();
    let few = Claim::Combined { path, message: TARGET, partials: few };
    assert_eq!(game.breaks_robustness(few), Err(Illegal::Unusable));
    let known = plain::<MultiSig>(1314, THRESHOLDS, Binding::Value);
    let game = Challenger::unpredictability(&known, &terms, REAL, corruption(&[A], &[])).unwrap();
    let claim = Claim::Output { message: TARGET, output: known.eval(&TARGET) };
    assert_eq!(game.is_forged(claim), Err(Illegal::Predictable));
}
