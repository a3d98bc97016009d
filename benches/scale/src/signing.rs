//! What one slot takes: partials checked and combined.
use std::collections::BTreeMap;

use prefinal_crypto_core::context::Slot;
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::threshold::Message;
use prefinal_crypto_core::wvuf::{Input, combine};
use prefinal_fixture::{BlsSharing, DOMAIN, PURPOSE, WvufSharing, context, qualified};

use crate::gauge::Gauge;

/// Four shares for each party.
fn committee(shares: u32) -> (Vec<u32>, u32, String) {
    let parties = shares / 4;
    let weights = vec![4; usize::try_from(parties).unwrap()];
    (weights, shares * 2 / 3 + 1, format!("W={shares}, n={parties}"))
}

/// The weighted VUF: a partial is one point, whatever its weight.
pub(crate) fn wvuf(gauge: &mut Gauge, shares: u32) {
    let (weights, t, case) = committee(shares);
    let (dealt, case) = (WvufSharing::deal(&weights, t), (case.as_str(), shares));
    let committee = &dealt.committee;
    gauge.measure("wvuf::admit_all", case, || committee.admit_all(dealt.blinded.clone()));
    let input = Input::new(&context(), Slot::new(7), None);
    let partials: BTreeMap<_, _> = qualified(committee.access(), committee.threshold())
        .into_iter()
        .filter_map(|party| Some((party, dealt.keys.get(&party)?.evaluate(&input))))
        .collect();
    let checked = gauge.measure("wvuf::verify_all", case, || {
        committee.verify_all(&input, partials.clone()).unwrap()
    });
    if let Some(quorum) = checked {
        gauge.measure("wvuf::combine", case, || combine(&quorum));
    }
}

/// Threshold BLS: a partial has a point for each share.
pub(crate) fn threshold(gauge: &mut Gauge, shares: u32) {
    let (weights, t, case) = committee(shares);
    let dealt = BlsSharing::deal(&weights, t, (Placement::RootsOfUnity, PURPOSE));
    let (committee, case) = (&dealt.committee, (case.as_str(), shares));
    let message = Message::new(DOMAIN, b"message");
    let set = qualified(committee.access(), committee.threshold());
    let partials = dealt.partials(set, &message);
    let checked = gauge.measure("threshold::verify_all", case, || {
        committee.verify_all(&message, partials.clone()).unwrap()
    });
    if let Some(quorum) = checked {
        gauge.measure("threshold::combine", case, || quorum.combine());
    }
}
