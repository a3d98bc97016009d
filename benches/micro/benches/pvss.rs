//! Publicly verifiable sharing among the 129 validators of a stake table, on one thread.
//!
//! | row             | limit                                                                           |
//! |-----------------|---------------------------------------------------------------------------------|
//! | points          | as many points, each decoded and checked by itself                              |
//! | deal            | three multiplications in 𝔾₁ and one in 𝔾₂ for each share                          |
//! | decode          | two points of 𝔾₁ and one of 𝔾₂ for each share                                    |
//! | verify          | product of `n + 3` pairings, sums over the shares by 128 bits in 𝔾₁, 255 in 𝔾₂     |
//! | verify_all      | the same product, the sums over the shares of all dealings                       |
//! | aggregate       | as `verify`, and what `k` signatures of distinct dealers take                    |
//! | decrypt         | one multiplication in 𝔾₁ for each own share                                      |
//! | field::deal     | one multiplication in 𝔾₁ for each chunk and each ephemeral key, one in 𝔾₂ a share  |
//! | field::decode   | the points there are                                                            |
//! | field::verify   | sums over them by 255 bits                                                       |
//! | field::decrypt  | of each dealing, a multiplication in 𝔾₁ for each own chunk and in 𝔾₂ for each own share |
//!
//! `n` parties hold shares. Dealers multiply by tables where the limit multiplies plainly, so that a
//! ratio may be below one. What threads and larger committees take: `pvss-dkg/examples/figures.rs`.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::hint::black_box;
use std::sync::Arc;

use prefinal_bench::fixture::{Dealers, rng, weights};
use prefinal_bench::limit;
use prefinal_bench::suite::Suite;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{Affine, G1, G2, Group, Projective, Scalar};
use prefinal_pvss_dkg::{Accepted, Aggregate, Config, Dealing, field, verify, verify_all};
use prefinal_weighted_rounding::Stake;

/// Dealings that are checked together.
const BATCH: u32 = 16;
/// Dealings that are added up.
const DEALERS: u32 = 87;
/// Chunks of a share.
const CHUNKS: usize = 16;

fn main() {
    let mut suite = Suite::new("micro", "pvss");
    let (one_g1, one_g2) = (limit::decode_g1(&mut suite), limit::decode_g2(&mut suite));
    for count in [128, 1024, 4096] {
        points::<G1>(&mut suite, "g1", &one_g1, count);
    }
    for count in [224, 1024] {
        points::<G2>(&mut suite, "g2", &one_g2, count);
    }
    let full = !suite.is_quick();
    let sizes = [(224, 132, 0), (224, 132, 180), (414, 228, 0), (414, 228, 330)];
    for (total, slow, fast) in sizes.into_iter().take(if full { 4 } else { 1 }) {
        let dealers = Dealers::new(&weights(total), slow, fast);
        group(&mut suite, &dealers);
        aggregate(&mut suite, &dealers);
    }
    field(&mut suite, &Dealers::new(&weights(219), 129, 0));
    if full {
        field(&mut suite, &Dealers::new(&weights(219), 129, 176));
        field(&mut suite, &Dealers::new(&[1; 1024], 683, 0));
    }
    suite.finish();
}

/// From a few hundred on the subgroup is checked for all of them together.
fn points<G: Group>(suite: &mut Suite, name: &str, one: &str, count: usize) {
    let mut rng = rng();
    let points: Vec<_> =
        (0..count).map(|_| Affine::<G>::generator() * Scalar::random(&mut rng)).collect();
    let points = Projective::batch_to_affine(&points);
    let bytes: Vec<u8> = points.iter().flat_map(|it| it.to_bytes().as_ref().to_vec()).collect();
    let ours = suite.measure(&format!("pvss::points_{name}/{count}"), || {
        Affine::<G>::many_from_bytes(black_box(&bytes)).unwrap()
    });
    suite.row(&ours, &[(count as f64, one)], Some(1.0));
}

/// Of what was just made, beside the points that it cannot do without.
fn bytes_of(suite: &mut Suite, operation: &str, bytes: &[u8], points: usize) {
    suite.figure(operation, ("bytes", "bytes"), (bytes.len() as f64, Some(points as f64)));
}

fn group(suite: &mut Suite, dealers: &Dealers) {
    let Dealers { config, shares, holders, label, .. } = dealers;
    let times = *shares as f64;
    let ours = suite.measure(&format!("pvss::deal/{label}"), || dealers.deal(0));
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    suite.row(&ours, &[(3.0 * times, &g1), (times, &g2)], None);

    let bytes = dealers.deal(0).to_bytes();
    bytes_of(suite, &ours, &bytes, 192 * shares);
    let ours = suite.measure(&format!("pvss::decode/{label}"), || {
        Dealing::from_bytes(config, black_box(&bytes)).unwrap()
    });
    let (g1, g2) = (limit::decode_g1(suite), limit::decode_g2(suite));
    suite.row(&ours, &[(2.0 * times, &g1), (times, &g2)], None);

    let dealing = Dealing::from_bytes(config, &bytes).unwrap();
    let ours = suite.measure(&format!("pvss::verify/{label}"), || {
        verify(config, black_box(dealing.clone())).unwrap()
    });
    let pairs = limit::product(suite, holders + 3);
    let (g1, g2) = (limit::msm_g1(suite, 2 * shares, 128), limit::msm_g2(suite, *shares, 255));
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2)], Some(1.2));

    let dealings: Vec<Dealing> = (0..BATCH).map(|dealer| dealers.deal(dealer)).collect();
    let ours = suite.measure(&format!("pvss::verify_all/{label} dealings={BATCH}"), || {
        let verdicts = verify_all(config, black_box(dealings.clone()));
        assert!(verdicts.iter().all(Result::is_ok));
    });
    let all = dealings.len() * shares;
    let (g1, g2) = (limit::msm_g1(suite, 2 * all, 128), limit::msm_g2(suite, all, 255));
    let signatures = limit::product(suite, dealings.len() + 1);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2), (1.0, &signatures)], Some(1.2));
}

fn aggregate(suite: &mut Suite, dealers: &Dealers) {
    let Dealers { config, shares, holders, heaviest: (party, held), label, .. } = dealers;
    let dealings = (0..DEALERS).map(|dealer| dealers.deal(dealer)).collect();
    let dealings: Vec<Arc<Accepted<Dealing>>> =
        verify_all(config, dealings).into_iter().map(|one| Arc::new(one.unwrap())).collect();
    let label = format!("{label} dealers={DEALERS}");
    let ours = suite.measure(&format!("pvss::aggregate/{label}"), || {
        Aggregate::sum(config, black_box(&dealings)).unwrap()
    });
    suite.row(&ours, &[], None);
    let sum = Aggregate::sum(config, &dealings).unwrap();
    let bytes = sum.to_bytes();
    bytes_of(suite, &ours, &bytes, 192 * shares);
    let read = Aggregate::from_bytes(config, &bytes).unwrap();
    let ours = suite.measure(&format!("pvss::verify_aggregate/{label}"), || {
        black_box(read.clone()).verify(config).unwrap()
    });
    let pairs = limit::product(suite, holders + 3);
    let (g1, g2) = (limit::msm_g1(suite, 2 * shares, 128), limit::msm_g2(suite, *shares, 255));
    let signatures = limit::product(suite, dealings.len() + 1);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2), (1.0, &signatures)], Some(1.3));

    let ours = suite.measure(&format!("pvss::decrypt/{label} shares={held}"), || {
        sum.decrypt(config, *party, Dealers::key(*party)).unwrap()
    });
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    // That the key is the party's takes one in each group.
    suite.row(&ours, &[(*held as f64 + 1.0, &g1), (1.0, &g2)], Some(1.1));
}

fn field(suite: &mut Suite, dealers: &Dealers) {
    let Dealers { config, signers, shares, heaviest: (party, held), label, .. } = dealers;
    let dealer = Party::new(0);
    let dealt = || field::deal(config, dealer, &signers[0], &mut rng()).unwrap();
    let ours = suite.measure(&format!("pvss::field::deal/{label}"), dealt);
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    let points = CHUNKS * (shares + held);
    suite.row(&ours, &[(points as f64, &g1), (*shares as f64, &g2)], None);

    let bytes = dealt().to_bytes();
    bytes_of(suite, &ours, &bytes, 48 * points + 96 * shares);
    let ours = suite.measure(&format!("pvss::field::decode/{label}"), || {
        field::Dealing::from_bytes(config, black_box(&bytes)).unwrap()
    });
    let (decode_g1, decode_g2) = (limit::decode_g1(suite), limit::decode_g2(suite));
    suite.row(&ours, &[(points as f64, &decode_g1), (*shares as f64, &decode_g2)], None);

    let dealing = field::Dealing::from_bytes(config, &bytes).unwrap();
    let ours = suite.measure(&format!("pvss::field::verify/{label}"), || {
        field::verify(config, black_box(dealing.clone())).unwrap()
    });
    let two = limit::product(suite, 2);
    let (sum_g1, sum_g2) = (limit::msm_g1(suite, points, 255), limit::msm_g2(suite, *shares, 255));
    suite.row(&ours, &[(2.0, &two), (1.0, &sum_g1), (1.0, &sum_g2)], Some(1.2));

    let many = vec![dealing.clone(); 4];
    let ours = suite.measure(&format!("pvss::field::verify_all/{label} dealings=4"), || {
        let verdicts = field::verify_all(config, black_box(many.clone()));
        assert!(verdicts.iter().all(Result::is_ok));
    });
    suite.row(&ours, &[(1.5, &two), (4.0, &sum_g1), (4.0, &sum_g2)], Some(1.2));

    // More than one unit of stake must deal, so two parties do.
    let (shape, members) = (config.shape().clone(), config.members().to_vec());
    let few = Config::new(*config.session(), shape, members, Stake::new(1)).unwrap();
    let dealings = [0, 1].map(|dealer| {
        let signer = &signers[usize::try_from(dealer).unwrap()];
        let dealing = field::deal(&few, Party::new(dealer), signer, &mut rng()).unwrap();
        Arc::new(field::verify(&few, dealing).unwrap())
    });
    let key = field::Key::sum(&few, &dealings).unwrap();
    let ours = suite
        .measure(&format!("pvss::field::decrypt/{label} shares={held} dealings=2"), || {
            key.decrypt(&few, *party, Dealers::key(*party)).unwrap()
        });
    let opened = (dealings.len() * held) as f64;
    suite.row(&ours, &[(CHUNKS as f64 * opened, &g1), (opened + 1.0, &g2)], None);
}
