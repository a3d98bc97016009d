//! What a committee agreed on for an epoch, what is this party's own, and limits.
//!
//! One [`Scheme`] for each path: a committee with its threshold, and this party's key in it. The
//! thresholds, in weight, with `t` faulty and `f_fin` the weight that makes a value final:
//!
//! | path  | secrecy                    | reconstruction              |
//! |-------|----------------------------|-----------------------------|
//! | slow  | above `t`                  | at most what is honest      |
//! | fast  | at least `f_fin`           | at most everything          |
//! | tight | `f_fin`                    | the same                    |
//!
//! That they hold is decided where stake becomes weight (`weighted_rounding`); rounded stake is never
//! tight. The beacon checks what it can see: one set of parties, a fast threshold no lower than the
//! slow one, keys that fit, and two blindings for two paths.
use std::collections::BTreeMap;
use std::time::Duration;

use crypto_core::access::Party;
use crypto_core::context::Context;
use crypto_core::wvuf::{self, AdmittedKey, Committee, EvaluationKey, InsertError};

use crate::slot::Slot;
use crate::wire::Path;

/// Everything a [`Beacon`](crate::Beacon) needs to know.
#[derive(Debug)]
pub struct Config {
    /// Chain and epoch: with the slot, the input of the function.
    pub context: Context,
    /// This party.
    pub me: Party,
    /// Which paths are in use.
    pub paths: Paths,
    /// What else enters the function.
    pub binding: Binding,
    /// The attempt at a slot whose prefinalize releases a partial: the engine's declaration. `None`
    /// for an engine that cannot tell; it gets the slow path only (rules 2 and 7).
    pub fast_attempt: Option<u32>,
    /// The first slot with an output.
    pub first: Slot,
    /// How much to keep and how often to ask.
    pub limits: Limits,
}

/// Which paths lead to an output.
#[derive(Debug)]
pub enum Paths {
    /// Algorithm 1.
    Slow(Scheme),
    /// Algorithm 2: one sharing whose secrecy and reconstruction are both what finalizes.
    Tight(Scheme),
    /// Algorithm 3: one secret, shared twice.
    FastAndSlow {
        /// The lower thresholds.
        slow: Scheme,
        /// The higher thresholds.
        fast: Scheme,
        /// From which slot on the chain has switched the fast path on.
        fast_from: Slot,
    },
}

/// One path's committee and this party's key in it.
#[derive(Debug)]
pub struct Scheme {
    /// Who holds which shares, and the keys admitted so far.
    pub committee: Committee,
    /// `None` if this party holds no shares: it collects and reveals like all others.
    pub evaluation: Option<EvaluationKey>,
}

/// What the function is evaluated on, beside chain and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The slot alone: randomness, a key for ciphertexts to the slot.
    Slot,
    /// The slot and its value: a certificate.
    Value,
}

/// What bounds memory and traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How far ahead of the first slot that is not final partials are kept.
    pub window: u64,
    /// How many finished slots still answer requests.
    pub history: usize,
    /// How long a final slot may lack its output before missing partials are asked for.
    pub retry: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window: 64, history: 256, retry: Duration::from_millis(1000) }
    }
}

/// Why a configuration makes no beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The committee ends before this party.
    #[error("{party} is not among the {members} parties of the {path} path")]
    NotMember {
        /// This party.
        party: Party,
        /// Which committee.
        path: Path,
        /// How many parties it has.
        members: usize,
    },
    /// Both paths are of the same parties.
    #[error("slow path has {slow} parties, fast path {fast}")]
    Members {
        /// Of the slow path.
        slow: usize,
        /// Of the fast path.
        fast: usize,
    },
    /// What leaves earlier must need more.
    #[error("fast path takes {fast} shares, slow path {slow}")]
    Thresholds {
        /// Of the slow path.
        slow: u32,
        /// Of the fast path.
        fast: u32,
    },
    /// With one blinding the fast partial is the slow partial, and the slow threshold would hold at
    /// prefinalization.
    #[error("{party} uses one blinding for both paths")]
    SharedBlinding {
        /// This party.
        party: Party,
    },
    /// Partials under this key would fail everybody's check.
    #[error("evaluation key of the {path} path does not fit the admitted one")]
    WrongKey {
        /// Which path.
        path: Path,
    },
}

/// The committees of all paths in use.
#[derive(Clone, Debug)]
pub struct Keys {
    committees: BTreeMap<Path, Committee>,
}

impl Keys {
    /// The committee of a path; `None` if the path is not in use.
    #[must_use]
    pub fn committee(&self, path: Path) -> Option<&Committee> {
        self.committees.get(&path)
    }

    /// Enters a key that was admitted late.
    pub(crate) fn insert(&mut self, path: Path, key: AdmittedKey) -> Result<(), InsertError> {
        let party = key.party();
        match self.committees.get_mut(&path) {
            Some(committee) => committee.insert(key),
            None => Err(InsertError::OtherCommittee { party }),
        }
    }

    /// Whether the party is of the committee; the same for all paths.
    pub(crate) fn has(&self, party: Party) -> bool {
        self.committees.values().any(|committee| committee.access().contains(party))
    }

    /// Weight of a party under a path, with or without an admitted key.
    pub(crate) fn weight(&self, path: Path, party: Party) -> u32 {
        self.committee(path).map_or(0, |committee| committee.access().weight(party))
    }
}

/// This party's keys by path.
pub(crate) type Evaluation = BTreeMap<Path, EvaluationKey>;

/// Which path releases when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    Slow,
    Tight,
    FastAndSlow { fast_from: Slot },
}

impl Plan {
    /// What may leave on prefinalize.
    pub(crate) fn early(self, slot: Slot) -> Option<Path> {
        match self {
            Self::Slow => None,
            Self::Tight => Some(Path::Tight),
            Self::FastAndSlow { fast_from } => (slot >= fast_from).then_some(Path::Fast),
        }
    }

    /// What leaves on finalize, and what a request asks for.
    pub(crate) fn late(self) -> Path {
        match self {
            Self::Slow | Self::FastAndSlow { .. } => Path::Slow,
            Self::Tight => Path::Tight,
        }
    }

    /// Whether partials of this path count at this slot.
    pub(crate) fn in_use(self, path: Path, slot: Slot) -> bool {
        path == self.late() || self.early(slot) == Some(path)
    }
}

/// Takes a checked configuration apart.
pub(crate) fn split(
    paths: Paths,
    me: Party,
    context: &Context,
) -> Result<(Plan, Keys, Evaluation), ConfigError> {
    let (plan, schemes) = match paths {
        Paths::Slow(scheme) => (Plan::Slow, vec![(Path::Slow, scheme)]),
        Paths::Tight(scheme) => (Plan::Tight, vec![(Path::Tight, scheme)]),
        Paths::FastAndSlow { slow, fast, fast_from } => {
            check_pair(&slow.committee, &fast.committee, me)?;
            let schemes = vec![(Path::Slow, slow), (Path::Fast, fast)];
            (Plan::FastAndSlow { fast_from }, schemes)
        }
    };
    let mut committees = BTreeMap::new();
    let mut evaluation = BTreeMap::new();
    for (path, Scheme { committee, evaluation: key }) in schemes {
        let members = committee.access().len();
        if !committee.access().contains(me) {
            return Err(ConfigError::NotMember { party: me, path, members });
        }
        if let Some(key) = key.filter(|_| committee.access().weight(me) > 0) {
            check_key(&committee, me, &key, context)
                .map_err(|()| ConfigError::WrongKey { path })?;
            evaluation.insert(path, key);
        }
        committees.insert(path, committee);
    }
    Ok((plan, Keys { committees }, evaluation))
}

fn check_pair(slow: &Committee, fast: &Committee, me: Party) -> Result<(), ConfigError> {
    let members = (slow.access().len(), fast.access().len());
    if members.0 != members.1 {
        return Err(ConfigError::Members { slow: members.0, fast: members.1 });
    }
    let takes = (slow.threshold().t().get(), fast.threshold().t().get());
    if takes.1 < takes.0 {
        return Err(ConfigError::Thresholds { slow: takes.0, fast: takes.1 });
    }
    match (slow.keys().get(&me), fast.keys().get(&me)) {
        (Some(slow), Some(fast)) if slow.pi() == fast.pi() => {
            Err(ConfigError::SharedBlinding { party: me })
        }
        _ => Ok(()),
    }
}

/// Evaluates what no slot is, and checks it as others would, if they could already.
fn check_key(
    committee: &Committee,
    me: Party,
    key: &EvaluationKey,
    context: &Context,
) -> Result<(), ()> {
    if !committee.keys().contains_key(&me) {
        return Ok(());
    }
    let input = wvuf::Input::new(context, Slot::new(0), None);
    let partial = key.evaluate(&input);
    committee.verify(me, &input, &partial).map_err(|_| ())
}
