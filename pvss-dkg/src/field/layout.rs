//! Which party holds which share, and under which randomness the share is encrypted.
//!
//! Shares are listed path by path, `W` each. A party's shares have the levels `0, 1, …` in that order,
//! so no two of them have the same level.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::G1Affine;

use crate::config::Config;
use crate::shape::SharePath;

/// A party with at least one share.
pub(crate) struct Holder {
    pub(crate) party: Party,
    /// `ekᵢ`.
    pub(crate) key: G1Affine,
    /// The places of its shares in the list of all shares.
    pub(crate) items: Vec<usize>,
}

/// The shares of a committee on all paths.
pub(crate) struct Layout {
    pub(crate) holders: Vec<Holder>,
    /// Number of levels, each with separate randomness.
    pub(crate) levels: usize,
    /// Number of shares on all paths together.
    pub(crate) items: usize,
}

impl Layout {
    pub(crate) fn new(config: &Config) -> Self {
        let shares = config.shares();
        let paths = config.shape().paths();
        let holders: Vec<Holder> = config
            .holders()
            .map(|(party, key, span)| {
                let on = |path: usize| span.clone().map(move |share| path * shares + share);
                Holder { party, key: *key.g1(), items: (0..paths).flat_map(on).collect() }
            })
            .collect();
        let levels = holders.iter().map(|holder| holder.items.len()).max().unwrap_or(0);
        Self { holders, levels, items: paths * shares }
    }

    /// Every share with its level and with its holder's place in the list of holders.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.holders.iter().enumerate().flat_map(|(holder, one)| {
            let items = one.items.iter().enumerate();
            items.map(move |(level, item)| Entry { item: *item, holder, level })
        })
    }

    /// The path of a share in the list of all, and its place on that path.
    pub(crate) fn place(config: &Config, item: usize) -> (SharePath, usize) {
        match item.checked_sub(config.shares()) {
            None => (SharePath::Slow, item),
            Some(share) => (SharePath::Fast, share),
        }
    }
}

/// One share.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) item: usize,
    pub(crate) holder: usize,
    pub(crate) level: usize,
}
