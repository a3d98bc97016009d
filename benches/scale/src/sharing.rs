//! Dealing and its verification, two paths, four shares for each party.
use prefinal_crypto_core::access::Party;
use prefinal_fixture::{Dealers, rng};
use prefinal_pvss_dkg::{Dealing, field, verify};

use crate::gauge::Gauge;

/// Of all shares, three fifths rebuild on the slow and four on the fast path.
pub(crate) fn both(gauge: &mut Gauge, shares: u32) {
    let parties = shares / 4;
    let weights = vec![4; usize::try_from(parties).unwrap()];
    let dealers = Dealers::new(&weights, shares * 3 / 5, shares * 4 / 5);
    let case = format!("W={shares}, n={parties}");
    group(gauge, &dealers, (&case, shares));
    field(gauge, &dealers, (&case, shares));
}

/// Shares are group elements.
fn group(gauge: &mut Gauge, dealers: &Dealers, case: (&str, u32)) {
    let config = &dealers.config;
    let Some(dealt) = gauge.measure("pvss::deal", case, || dealers.deal(0)) else {
        return ["pvss::decode", "pvss::verify"]
            .iter()
            .for_each(|next| gauge.leave_out(next, case));
    };
    let bytes = dealt.to_bytes();
    gauge.bytes("pvss::dealing", case.0, bytes.len());
    let read = gauge.measure("pvss::decode", case, || Dealing::from_bytes(config, &bytes).unwrap());
    if let Some(dealing) = read {
        gauge.measure("pvss::verify", case, || verify(config, dealing.clone()).unwrap());
    }
}

/// Shares are field elements.
fn field(gauge: &mut Gauge, dealers: &Dealers, case: (&str, u32)) {
    let config = &dealers.config;
    let signer = dealers.signers.first().unwrap();
    let dealt = gauge.measure("pvss::field::deal", case, || {
        field::deal(config, Party::new(0), signer, &mut rng()).unwrap()
    });
    let Some(dealt) = dealt else {
        let next = ["pvss::field::decode", "pvss::field::verify"];
        return next.iter().for_each(|next| gauge.leave_out(next, case));
    };
    let bytes = dealt.to_bytes();
    gauge.bytes("pvss::field::dealing", case.0, bytes.len());
    let read = gauge.measure("pvss::field::decode", case, || {
        field::Dealing::from_bytes(config, &bytes).unwrap()
    });
    if let Some(dealing) = read {
        gauge.measure("pvss::field::verify", case, || {
            field::verify(config, dealing.clone()).unwrap()
        });
    }
}
