//! What a committee agreed on for an epoch, what is this party's own, and limits.
//!
//! One [`Sharing`] for each path: a committee with its threshold, and this party's secret in it. The
//! thresholds, in weight, with `t` faulty and `f_fin` the weight that makes a value final:
//!
//! | path  | secrecy                    | reconstruction              |
//! |-------|----------------------------|-----------------------------|
//! | slow  | above `t`                  | at most what is honest      |
//! | fast  | at least `f_fin`           | at most everything          |
//! | tight | `f_fin`                    | the same                    |
//!
//! Weight that makes them hold comes from `weighted_rounding`; rounded stake is hardly ever tight. That
//! they do hold is checked here, in stake, against what the engine says of its quorum ([`Finality`]). So
//! are one set of parties, a fast threshold no lower than the slow one, keys that fit, and two paths whose
//! partials say nothing about each other.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crypto_core::access::Party;
use crypto_core::context::Context;

use crate::config_error::ConfigError;
use crate::schemes::{Function, KeyError, LateKey, LateKeys, Scheme, Sharing};
use crate::switch::{Mode, Schedule};
use contract::lost::Life;
use contract::{Binding, Finality, Path};
use protocol::Slot;

/// Everything a [`Beacon`](crate::Beacon) needs to know.
#[derive(Debug)]
pub struct Config<S: Scheme> {
    /// Chain and epoch: with the slot, the input of the function.
    pub context: Context,
    /// This party.
    pub me: Party,
    /// Which paths are in use.
    pub paths: Paths<S>,
    /// What else enters the function.
    pub binding: Binding,
    /// The attempt at a slot whose prefinalize releases a partial: the engine's declaration. `None`
    /// for an engine that cannot tell; it gets the slow path only (rules 2 and 7).
    pub fast_attempt: Option<u32>,
    /// Who holds which stake, and how much of it makes a value final: the engine's declaration too.
    pub finality: Finality,
    /// The first slot with an output.
    pub first: Slot,
    /// Whether the records are sure to be all that this party ever said.
    pub life: Life,
    /// How much to keep and how often to ask.
    pub limits: Limits,
}

/// Which paths lead to an output.
#[derive(Debug)]
pub enum Paths<S: Scheme> {
    /// Algorithm 1.
    Slow(Sharing<S>),
    /// Algorithm 2: one sharing whose secrecy and reconstruction are both what finalizes.
    Tight(Sharing<S>),
    /// Algorithm 3: one secret, shared twice.
    FastAndSlow {
        /// The lower thresholds.
        slow: Sharing<S>,
        /// The higher thresholds.
        fast: Sharing<S>,
        /// From which slot on the fast path is on at first. [`Switch`](crate::Switch) has the last word.
        fast_from: Slot,
    },
}

/// What bounds memory and traffic.
///
/// However long a peer floods, and with whatever: of a party that holds `w` shares on each path at most
///
/// | what                               | how many                       | of what size                |
/// |------------------------------------|--------------------------------|-----------------------------|
/// | partials of open slots             | `2·(backlog + window + 1)`     | `w` points, or one          |
/// | notes when what was sent to it     | `answers`                      | a slot and a time           |
/// | notes when an output was shown to it | `outputs`                    | a slot and a time           |
/// | notes that it was caught, accused, asked, shown, answered | 12      | a word                      |
///
/// are kept: two partials of a slot, for there are two paths, or one that is tight with a prefinalized
/// and a final value. In total the same over all parties, with the total weight in place of `w`, and own:
///
/// | what                               | how many                       | of what size                |
/// |------------------------------------|--------------------------------|-----------------------------|
/// | answers of finished slots          | `history`                      | a value, the own partial, an output and its proof |
/// | results that wait for their turn   | `backlog + window + 1`         | an output and its proof     |
/// | partials that were worked on ahead | once more those of the expected set, in slots that are kept | as above |
/// | values of final slots without output | as many as the engine is ahead | a value                   |
///
/// No peer adds to the last: an engine that finalizes what the beacon cannot follow is ahead by slots
/// that this party has to report one day. Of those behind the backlog nothing is kept but the value;
/// their partials are asked for again as their turn comes, and peers that ask for this party's are answered
/// then. [`Beacon::footprint`](crate::Beacon::footprint)
/// counts, [`Beacon::most_of`](crate::Beacon::most_of) says the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How far ahead of the first slot that is not final partials are kept, and leave early. At least
    /// twice what the engine has in flight: after a restart so many slots take the slow path.
    pub window: u64,
    /// How many of the oldest slots without output keep partials, however far the engine is ahead.
    pub backlog: u64,
    /// How many finished slots still answer requests.
    pub history: usize,
    /// How many slots a peer is sent something of again in half of `retry`.
    pub answers: usize,
    /// How many outputs a peer is asked for at a time, and shown in half of `retry`; how many it is
    /// shown a second time before it has to wait for further slots to become final, one for each.
    pub outputs: usize,
    /// How long a final slot may lack its output before missing partials are asked for.
    pub retry: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let retry = Duration::from_millis(1000);
        Self { window: 64, backlog: 64, history: 256, answers: 64, outputs: 64, retry }
    }
}

/// The committees of all paths in use.
#[derive(Clone, Debug)]
pub struct Keys<S: Function> {
    committees: BTreeMap<Path, S::Committee>,
}

impl<S: Scheme> Config<S> {
    /// Encodings of the public keys of all paths.
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
    /// Encodings of the public keys of all paths.
    pub(crate) fn public_keys(&self) -> BTreeSet<Vec<u8>> {
        self.committees.values().flat_map(S::public_keys).collect()
    }

    /// The committee of a path; `None` if the path is not in use.
    #[must_use]
    pub fn committee(&self, path: Path) -> Option<&S::Committee> {
        self.committees.get(&path)
    }

    /// Enters a key that came late.
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

    /// Whether the party is of the committee; the same for all paths.
    pub(crate) fn has(&self, party: Party) -> bool {
        self.committees.values().any(|committee| party.index() < S::parties(committee))
    }

    /// What a party holds under a path, whether it counts already or not.
    pub(crate) fn holding(&self, path: Path, party: Party) -> u128 {
        self.committee(path).map_or(0, |committee| S::holding(committee, party))
    }
}

/// This party's secrets by path.
pub(crate) type Secrets<S> = BTreeMap<Path, <S as Scheme>::Secret>;

/// Which path releases when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    Slow,
    Tight,
    FastAndSlow,
}

impl Plan {
    /// What may leave on prefinalize.
    pub(crate) fn early(self) -> Option<Path> {
        match self {
            Self::Slow => None,
            Self::Tight => Some(Path::Tight),
            Self::FastAndSlow => Some(Path::Fast),
        }
    }

    /// What leaves on finalize, and what a request asks for.
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

/// What a configuration says of the paths, taken apart.
pub(crate) struct Split<S: Scheme> {
    pub(crate) plan: Plan,
    pub(crate) schedule: Schedule,
    pub(crate) keys: Keys<S>,
    pub(crate) secrets: Secrets<S>,
}

/// Checks what a configuration's paths must be and takes them apart.
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

/// The committee of a path counts the parties that the engine counts, each with the weight of its stake.
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
