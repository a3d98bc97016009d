//! The configuration of a beacon: what the committee agreed on for an epoch, what belongs to this party
//! alone, and limits.
//!
//! There is one [`Sharing`] for each path: a committee with its threshold, and this party's secret in it. The
//! thresholds are weights. With `t` the faulty weight and `f_fin` the weight that makes a value final:
//!
//! | path  | secrecy                    | reconstruction                       |
//! |-------|----------------------------|--------------------------------------|
//! | slow  | above `t`                  | at most the weight of the honest     |
//! | fast  | at least `f_fin`           | at most the total weight             |
//! | tight | `f_fin`                    | the same                             |
//!
//! Weights for which the thresholds hold come from `prefinal_weighted_rounding`; rounded stake is hardly ever
//! tight. The thresholds are checked here in stake, against the quorum that the engine declares
//! ([`Finality`]). Also checked: both paths have the same parties, the fast threshold is not lower than the
//! slow one, the keys fit, and partials of one path say nothing about partials of the other.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;

use crate::config_error::ConfigError;
use crate::schemes::{Function, KeyError, LateKey, LateKeys, Scheme, Sharing};
use crate::switch::{Mode, Schedule};
use prefinal_contract::lost::Life;
use prefinal_contract::{Binding, Finality, Path};
use prefinal_protocol::Slot;

/// Everything a [`Beacon`](crate::Beacon) needs to know.
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
/// # use prefinal_beacon::*;
/// # use prefinal_weighted_rounding::Stake;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let me = Party::new(0);
/// # let (access, threshold) = (Access::new(&[1])?, Threshold::new(1, 1)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let sharing = || Sharing {
/// #     committee: committee.clone(),
/// #     secret: Some(KeyShares::new(me, f.shares(committee.points())).check(&committee).unwrap()),
/// # };
/// use prefinal_beacon::{Beacon, Binding, Config, Finality, Life, Limits, Paths, Quorum, Slot};
///
/// let config = |binding| Config::<Bls> {
///     context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) },
///     me,
///     paths: Paths::Tight(sharing()), // the committee's keys and this party's shares
///     binding,
///     fast_attempt: Some(0), // Jolteon, Tendermint: the first view of a slot
///     finality: Finality::exact(&[Stake::new(1)], Quorum::BYZANTINE).unwrap(),
///     first: Slot::new(1),
///     life: Life::First,
///     limits: Limits::default(),
/// };
/// assert!(Beacon::new(config(Binding::Slot), &[]).is_ok());
/// // The key is for rounds, so it certifies no values.
/// assert!(Beacon::new(config(Binding::Value), &[]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Config<S: Scheme> {
    /// Chain and epoch. They enter the input of all functions but one: a round of threshold BLS contains
    /// neither, because its key stands for the chain ([`guide::contract`](crate::guide::contract), rule 1).
    pub context: Context,
    /// This party's number in the committee.
    pub me: Party,
    /// The paths in use, with their committees and this party's secrets.
    pub paths: Paths<S>,
    /// What else enters the function: nothing, a round number, or the value.
    pub binding: Binding,
    /// The attempt at a slot whose prefinalize releases a partial. The engine declares it. `None` for an
    /// engine that cannot tell its views apart; it gets the slow path only (rules 2 and 7).
    pub fast_attempt: Option<u32>,
    /// The stake of each party, and how much stake makes a value final. The engine declares this too.
    pub finality: Finality,
    /// The first slot that gets an output.
    pub first: Slot,
    /// Whether the records are certain to be everything that this party ever said.
    pub life: Life,
    /// Limits on memory and traffic, and how often to ask for missing messages.
    pub limits: Limits,
}

/// The paths that lead to an output, with one sharing for each.
///
/// Of four parties any two suffice once the value is final, and three of them with their votes:
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
/// # use prefinal_weighted_rounding::Stake;
/// use prefinal_beacon::*;
/// use prefinal_protocol::{Instant, Machine};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let me = Party::new(0);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let mut deal = |t| -> Result<Sharing<Bls>, Box<dyn std::error::Error>> {
/// #     let (access, threshold) = (Access::new(&[1; 4])?, Threshold::new(t, 4)?);
/// #     let f = Polynomial::random(threshold.t(), &x, &mut rng);
/// #     let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// #     let setup = Setup { access: access.clone(), threshold, placement, purpose };
/// #     let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// #     let own = Secret::new(f.shares(committee.points()).expose()[access.range(me)].to_vec());
/// #     let secret = Some(KeyShares::new(me, own).check(&committee)?);
/// #     Ok(Sharing { committee, secret })
/// # };
///
/// // The key generation shares one secret twice, here with 2 of 4 and with 3 of 4.
/// let (slow, fast) = (deal(2)?, deal(3)?);
/// let mut beacon = Beacon::new(
///     Config::<Bls> {
///         context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) },
///         me,
///         paths: Paths::FastAndSlow { slow, fast, fast_from: Slot::new(0) },
///         binding: Binding::Slot,
///         fast_attempt: Some(0),
///         finality: Finality::exact(&[1; 4].map(Stake::new), Quorum::BYZANTINE)?,
///         first: Slot::new(1),
///         life: Life::First,
///         limits: Limits::default(),
///     },
///     &[],
/// )?;
/// let (slot, value) = (Slot::new(1), Value::new([9; 32]));
/// let vote = Input::Prefinalized { slot, view: View::new(slot, 0), value };
/// let mut left = Vec::new();
/// for input in [vote, Input::Finalized { slot, value: Some(value) }] {
///     beacon.handle(Instant::START, input);
///     while let Some(output) = beacon.poll() {
///         if let Some(Effect::Send { message: Message::Partial { path, .. }, .. }) = output.effect() {
///             left.push(path);
///         }
///     }
/// }
/// assert_eq!(left, [Path::Fast, Path::Slow]); // one with the vote, one on finality
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Paths<S: Scheme> {
    /// Algorithm 1: partials leave on finalize.
    Slow(Sharing<S>),
    /// Algorithm 2: one sharing. Both its thresholds are the weight that finalizes.
    Tight(Sharing<S>),
    /// Algorithm 3: one secret, shared twice with independent polynomials.
    FastAndSlow {
        /// The sharing with the lower thresholds.
        slow: Sharing<S>,
        /// The sharing with the higher thresholds.
        fast: Sharing<S>,
        /// The slot from which the fast path is on at first. A later [`Switch`](crate::Switch) overrides it.
        fast_from: Slot,
    },
}

/// Limits on memory and traffic.
///
/// However long a peer floods, and whatever it sends, a bounded amount is kept. For a party that holds `w`
/// shares on each path it is at most:
///
/// | kept                               | how many                       | size of each                |
/// |------------------------------------|--------------------------------|-----------------------------|
/// | partials of open slots             | `2·(backlog + window + 1)`     | `w` points, or one          |
/// | notes of when something was sent to it | `answers`                  | a slot and a time           |
/// | notes of when an output was shown to it | `outputs`                 | a slot and a time           |
/// | notes that it was caught, accused, asked, shown, answered | 13      | a word                      |
///
/// There are two partials of a slot, because there are two paths, or one tight path with a prefinalized and a
/// final value. All parties together have the same bounds, with the total weight in place of `w`. This party
/// also keeps:
///
/// | kept                               | how many                       | size of each                |
/// |------------------------------------|--------------------------------|-----------------------------|
/// | answers of finished slots          | `history`                      | a value, the own partial, an output and its proof |
/// | results that wait for their turn   | `backlog + window + 1`         | an output and its proof     |
/// | partials that were worked on ahead | once more those of the expected set, in slots that are kept | as above |
/// | values of final slots without output | as many as the engine is ahead | a value                   |
///
/// No peer adds to the last row: if the engine finalizes slots that the beacon cannot follow, these are slots
/// that this party has to report some day. Of the slots behind the backlog only the value is kept. When their
/// turn comes, their partials are asked for again, and peers that ask for this party's partials are answered.
/// [`Beacon::footprint`](crate::Beacon::footprint) counts what is kept, and
/// [`Beacon::most_of`](crate::Beacon::most_of) gives the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many slots after the first slot that is not final keep partials and may release early. It should
    /// be at least twice the number of slots that the engine has in flight. After a restart, this many slots
    /// take the slow path.
    pub window: u64,
    /// How many of the oldest slots without output keep partials, however far ahead the engine is.
    pub backlog: u64,
    /// How many finished slots still answer requests of peers.
    pub history: usize,
    /// For how many slots a peer is sent something again, in half of `retry`.
    pub answers: usize,
    /// How many outputs a peer is asked for at a time, and how many it is shown in half of `retry`. Also how
    /// many it may be shown a second time; after that, each further slot that becomes final allows one more.
    pub outputs: usize,
    /// How long a final slot may lack its output before its missing partials are asked for.
    pub retry: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let retry = Duration::from_millis(1000);
        Self { window: 64, backlog: 64, history: 256, answers: 64, outputs: 64, retry }
    }
}

/// The committees of all paths in use, with the public keys known so far.
#[derive(Clone, Debug)]
pub struct Keys<S: Function> {
    committees: BTreeMap<Path, S::Committee>,
}

impl<S: Scheme> Config<S> {
    /// Encodings of the public keys of all paths, without duplicates.
    pub(crate) fn public_keys(&self) -> BTreeSet<Vec<u8>> {
        match &self.paths {
            Paths::Slow(sharing) | Paths::Tight(sharing) => S::public_keys(&sharing.committee),
            Paths::FastAndSlow { slow, fast, .. } => {
                let mut keys = S::public_keys(&slow.committee);
                keys.extend(S::public_keys(&fast.committee));
                keys
            }
        }
    }
}

impl<S: Function> Keys<S> {
    /// Encodings of the public keys of all paths, without duplicates.
    pub(crate) fn public_keys(&self) -> BTreeSet<Vec<u8>> {
        self.committees.values().flat_map(S::public_keys).collect()
    }

    /// The committee of a path; `None` if the path is not in use.
    #[must_use]
    pub fn committee(&self, path: Path) -> Option<&S::Committee> {
        self.committees.get(&path)
    }

    /// Adds a key that came after the start.
    pub(crate) fn insert(&mut self, path: Path, key: LateKey<S>) -> Result<(), KeyError> {
        let others = self.committees.iter().filter(|(other, _)| **other != path);
        for (_, committee) in others {
            S::LateKeys::check_other(committee, &key)?;
        }
        match self.committees.get_mut(&path) {
            Some(committee) => S::admit(committee, key),
            None => Err(KeyError::UnusedPath { path }),
        }
    }

    /// Whether the party is in the committee. The answer is the same for all paths.
    pub(crate) fn has(&self, party: Party) -> bool {
        self.committees.values().any(|committee| party.index() < S::parties(committee))
    }

    /// The weight that a party holds on a path, also while its key is missing and it does not count yet.
    pub(crate) fn holding(&self, path: Path, party: Party) -> u128 {
        self.committee(path).map_or(0, |committee| S::holding(committee, party))
    }
}

/// This party's secrets by path.
pub(crate) type Secrets<S> = BTreeMap<Path, <S as Scheme>::Secret>;

/// Which paths release at which event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    Slow,
    Tight,
    FastAndSlow,
}

impl Plan {
    /// The path whose partial may leave on prefinalize.
    pub(crate) fn early(self) -> Option<Path> {
        match self {
            Self::Slow => None,
            Self::Tight => Some(Path::Tight),
            Self::FastAndSlow => Some(Path::Fast),
        }
    }

    /// The path whose partial leaves on finalize. A request asks for this partial.
    pub(crate) fn late(self) -> Path {
        match self {
            Self::Slow | Self::FastAndSlow => Path::Slow,
            Self::Tight => Path::Tight,
        }
    }

    /// Whether partials of this path count in this mode.
    pub(crate) fn counts(self, path: Path, mode: Mode) -> bool {
        match mode {
            Mode::Off => false,
            Mode::Late => path == self.late(),
            Mode::On => path == self.late() || self.early() == Some(path),
        }
    }
}

/// The paths of a configuration, split into their parts.
pub(crate) struct Split<S: Scheme> {
    pub(crate) plan: Plan,
    pub(crate) schedule: Schedule,
    pub(crate) keys: Keys<S>,
    pub(crate) secrets: Secrets<S>,
}

/// Checks the paths of a configuration and splits them into their parts.
pub(crate) fn split<S: Scheme>(
    paths: Paths<S>,
    me: Party,
    context: &Context,
    binding: Binding,
    finality: &Finality,
) -> Result<Split<S>, ConfigError> {
    let start = Slot::new(0);
    let (plan, early_from, sharings) = match paths {
        Paths::Slow(sharing) => (Plan::Slow, start, vec![(Path::Slow, sharing)]),
        Paths::Tight(sharing) => (Plan::Tight, start, vec![(Path::Tight, sharing)]),
        Paths::FastAndSlow { slow, fast, fast_from } => {
            let (slow, fast) = (slow.used_by(me), fast.used_by(me));
            check_pair(me, &slow, &fast, context)?;
            let sharings = vec![(Path::Slow, slow), (Path::Fast, fast)];
            (Plan::FastAndSlow, fast_from, sharings)
        }
    };
    let mut committees = BTreeMap::new();
    let mut secrets = BTreeMap::new();
    for (path, sharing) in sharings {
        let Sharing { committee, secret } = sharing.used_by(me);
        let members = S::parties(&committee);
        if me.index() >= members {
            return Err(ConfigError::NotMember { party: me, path, members });
        }
        S::check_binding(&committee, path, binding)?;
        check_stakes::<S>(finality, path, &committee)?;
        finality.check(path, S::threshold(&committee))?;
        if let Some(secret) = secret {
            S::check_secret(&committee, me, &secret, path, context)?;
            secrets.insert(path, secret);
        }
        committees.insert(path, committee);
    }
    Ok(Split { plan, schedule: Schedule::new(early_from), keys: Keys { committees }, secrets })
}

fn check_pair<S: Scheme>(
    me: Party,
    slow: &Sharing<S>,
    fast: &Sharing<S>,
    context: &Context,
) -> Result<(), ConfigError> {
    let members = (S::parties(&slow.committee), S::parties(&fast.committee));
    if members.0 != members.1 {
        return Err(ConfigError::Members { slow: members.0, fast: members.1 });
    }
    let takes = (S::threshold(&slow.committee), S::threshold(&fast.committee));
    if takes.1 < takes.0 {
        return Err(ConfigError::Thresholds { slow: takes.0, fast: takes.1 });
    }
    S::check_paths(me, slow, fast, context)
}

/// Checks that the committee of a path has the parties that the engine counts, each with the weight of its
/// stake.
fn check_stakes<S: Scheme>(
    finality: &Finality,
    path: Path,
    committee: &S::Committee,
) -> Result<(), ConfigError> {
    let (parties, stakes) = (S::parties(committee), finality.parties());
    if parties != stakes {
        return Err(ConfigError::Stakes { path, parties, stakes });
    }
    for party in crate::schemes::parties::<S>(committee) {
        let (got, expected) = (S::holding(committee, party), finality.weight(party));
        if got != expected {
            return Err(ConfigError::Weight { path, party, got, expected });
        }
    }
    Ok(())
}
