//! The operations that are counted: what a validator does in every slot, and the dearest of what it
//! does in every epoch.
//!
//! Operations on the same inputs run in one process, for under valgrind making these takes longer than
//! what is counted.
use std::hint::black_box;

use crabgrind::callgrind;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Slot;
use prefinal_crypto_core::polynomial::{Placement, Points};
use prefinal_crypto_core::threshold::Message;
use prefinal_crypto_core::wvuf::{Input, combine};
use prefinal_fixture::{
    BlsSharing, DOMAIN, Dealers, PURPOSE, STAKES, WvufSharing, context, qualified, stakes, weights,
};
use prefinal_pvss_dkg::{Dealing, verify};
use prefinal_weighted_rounding::{Objective, Profile, Rounding};

/// Operations on the same inputs.
pub struct Group {
    /// The part of their names before `::`.
    pub name: &'static str,
    /// Makes the inputs and has the operations counted.
    pub run: fn(),
}

/// In the order of the table.
pub const GROUPS: [Group; 4] = [
    Group { name: "pvss", run: pvss },
    Group { name: "wvuf", run: wvuf },
    Group { name: "threshold", run: threshold },
    Group { name: "rounding", run: rounding },
];

/// Twice, for the first call builds tables. The second is all that is counted under this name: that of a row
/// of `benches/micro`, but for `rounding::solve`, of which there is the scan alone and for one pair.
fn count<O>(name: &str, mut operation: impl FnMut() -> O) {
    black_box(operation());
    callgrind::start_instrumentation();
    black_box(operation());
    callgrind::stop_instrumentation();
    callgrind::dump_stats(name);
}

fn pvss() {
    let dealers = Dealers::new(&weights(224), 132, 0);
    let config = &dealers.config;
    count("pvss::deal/n=129 W=224 paths=1", || dealers.deal(0));
    let dealing = dealers.deal(0);
    let bytes = dealing.to_bytes();
    count("pvss::decode/n=129 W=224 paths=1", || {
        Dealing::from_bytes(config, black_box(&bytes)).unwrap()
    });
    count("pvss::verify/n=129 W=224 paths=1", || {
        verify(config, black_box(&dealing).clone()).unwrap()
    });
}

fn wvuf() {
    let dealt = WvufSharing::deal(&weights(224), 132);
    let committee = &dealt.committee;
    let input = Input::new(&context(), Slot::new(7), None);
    let set = qualified(committee.access(), committee.threshold());
    let partials = set.iter().map(|party| (*party, dealt.keys[party].evaluate(&input))).collect();
    let quorum = committee.verify_all(&input, partials).unwrap();
    count("wvuf::combine/n=129 W=224", || combine(black_box(&quorum)));
    count("wvuf::admit_all/n=129 W=224", || {
        let admission = committee.admit_all(black_box(&dealt.blinded).clone());
        assert_eq!(admission.admitted.len(), dealt.blinded.len());
    });
}

fn threshold() {
    let dealt = BlsSharing::deal(&[1; 100], 67, (Placement::Consecutive, PURPOSE));
    let (committee, message) = (&dealt.committee, Message::new(DOMAIN, b"message"));
    let signer = &dealt.signers[&Party::new(0)];
    count("threshold::partial/n=100 t=67", || {
        signer.partial(&Message::new(DOMAIN, black_box(b"message"))).unwrap()
    });
    let partials = dealt.partials(committee.access().parties(), &message);
    count("threshold::check_all/n=100 t=67", || {
        committee.check_all(&message, black_box(&partials)).unwrap();
    });
    let set = qualified(committee.access(), committee.threshold());
    let quorum = committee.verify_all(&message, dealt.partials(set, &message)).unwrap();
    count("threshold::combine/n=100 t=67 scattered", || black_box(&quorum).combine());
    let points = Points::new(Placement::Consecutive, committee.points().count()).unwrap();
    count("threshold::share_keys/n=100 t=67", || {
        black_box(&dealt.commitment).evaluate_all(&points)
    });
}

fn rounding() {
    let (stakes, profile) = (stakes(STAKES), Profile::standard());
    count("rounding::solve/aptos_mainnet_129", || {
        Rounding::solve(black_box(&stakes), &profile, Objective::least_total()).unwrap()
    });
}
