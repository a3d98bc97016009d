//! Our verifiable sharing of a group element, for those that share as well.
use std::hint::black_box;
use std::time::Duration;

use prefinal_fixture::Dealers;
use prefinal_pvss_dkg::{Dealing, verify};

use crate::contest::Contest;

/// Times and size of this project's dealings.
#[derive(Clone, Copy, Debug)]
pub struct SharingCosts {
    /// How long it takes to make one dealing.
    pub deal: Duration,
    /// Checking it, once it is read.
    pub verify: Duration,
    /// Reading it: every point decoded, and in its subgroup.
    pub decode: Duration,
    /// Size of a dealing on the wire.
    pub bytes: usize,
}

/// Among `n` parties with one share each, `t` of which suffice.
#[must_use]
pub fn ours(contest: &Contest, t: u32, n: u32) -> SharingCosts {
    let dealers = Dealers::new(&vec![1; usize::try_from(n).unwrap()], t, 0);
    let config = &dealers.config;
    let deal = contest.time(|| dealers.deal(0));
    let dealing = dealers.deal(0);
    let bytes = dealing.to_bytes();
    let decode = contest.time(|| Dealing::from_bytes(config, black_box(&bytes)).unwrap());
    let verify = contest.time_each(|| dealing.clone(), |dealing| verify(config, dealing).unwrap());
    SharingCosts { deal, verify, decode, bytes: bytes.len() }
}
