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
//! | field::decrypt  | one multiplication in 𝔾₁ for each own chunk, one in 𝔾₂ for each own share         |
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

use bench::fixture::{context, rng, weights};
use bench::limit;
use bench::suite::Suite;
use crypto_core::access::{Access, Party, Threshold};
use crypto_core::bls::min_sig;
use crypto_core::curve::{Affine, G1, G2, Group, Projective, Scalar};
use pvss_dkg::{
    Aggregate, Config, Dealing, DecryptionKey, Member, Session, Shape, Verified, deal, field,
    verify, verify_all,
};
use weighted_rounding::Stake;

/// Dealings that are checked together.
const BATCH: u32 = 16;
/// Dealings that are added up.
const DEALERS: u32 = 87;
/// Chunks of a share.
const CHUNKS: usize = 16;

struct Committee {
    config: Config,
    signers: Vec<min_sig::SecretKey>,
    keys: Vec<DecryptionKey>,
    /// Shares on all paths.
    shares: usize,
    /// Parties that hold any.
    holders: usize,
    /// The heaviest, and what it holds on all paths.
    heaviest: (Party, usize),
    label: String,
}

fn main() {
    let mut suite = Suite::new("pvss");
    let (one_g1, one_g2) = (limit::decode_g1(&mut suite), limit::decode_g2(&mut suite));
    for count in [128, 256, 512, 1024, 4096, 16384] {
        points::<G1>(&mut suite, "g1", &one_g1, count);
    }
    for count in [224, 448, 1024] {
        points::<G2>(&mut suite, "g2", &one_g2, count);
    }
    for (total, slow, fast) in [(224, 132, 0), (224, 132, 180), (414, 228, 0), (414, 228, 330)] {
        let committee = Committee::new(total, slow, fast);
        group(&mut suite, &committee);
        aggregate(&mut suite, &committee);
    }
    for (total, slow, fast) in [(219, 129, 0), (219, 129, 176)] {
        field(&mut suite, &Committee::new(total, slow, fast));
    }
    suite.finish();
}

impl Committee {
    /// One path if `fast` is zero.
    fn new(total: u32, slow: u32, fast: u32) -> Self {
        let mut rng = rng();
        let weights = weights(total);
        let access = Access::new(&weights).unwrap();
        let slow = Threshold::new(slow, total).unwrap();
        let fast = Threshold::new(fast, total).ok();
        let paths = if fast.is_some() { 2 } else { 1 };
        let shape = Shape::new(access, slow, fast).unwrap();
        let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
        for _ in &weights {
            let (signer, key) =
                (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
            let public = signer.public_key();
            members.push(Member {
                stake: Stake::new(1),
                encryption: key.register(&signer, &mut rng).verify(&public).unwrap(),
                signer: public.verify_possession(&signer.prove_possession()).unwrap(),
            });
            signers.push(signer);
            keys.push(key);
        }
        let session = Session { context: context(), attempt: 0 };
        let config = Config::new(session, shape, members, Stake::new(0)).unwrap();
        let heaviest = (0..weights.len()).max_by_key(|at| weights[*at]).unwrap();
        let held = paths * usize::try_from(weights[heaviest]).unwrap();
        Self {
            config,
            signers,
            keys,
            shares: paths * usize::try_from(total).unwrap(),
            holders: weights.iter().filter(|weight| **weight > 0).count(),
            heaviest: (Party::new(u32::try_from(heaviest).unwrap()), held),
            label: format!("n=129 W={total} paths={paths}"),
        }
    }

    fn deal(&self, dealer: u32) -> Dealing {
        let party = Party::new(dealer);
        deal(&self.config, party, &self.signers[party.index()], &mut rng()).unwrap()
    }
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

fn group(suite: &mut Suite, committee: &Committee) {
    let Committee { config, shares, holders, label, .. } = committee;
    let times = *shares as f64;
    let ours = suite.measure(&format!("pvss::deal/{label}"), || committee.deal(0));
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    suite.row(&ours, &[(3.0 * times, &g1), (times, &g2)], None);

    let bytes = committee.deal(0).to_bytes();
    println!("{label}: {} bytes", bytes.len());
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

    let dealings: Vec<Dealing> = (0..BATCH).map(|dealer| committee.deal(dealer)).collect();
    let ours = suite.measure(&format!("pvss::verify_all/{label} dealings={BATCH}"), || {
        let verdicts = verify_all(config, black_box(dealings.clone()));
        assert!(verdicts.iter().all(Result::is_ok));
    });
    let all = dealings.len() * shares;
    let (g1, g2) = (limit::msm_g1(suite, 2 * all, 128), limit::msm_g2(suite, all, 255));
    let signatures = limit::product(suite, dealings.len() + 1);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2), (1.0, &signatures)], Some(1.2));
}

fn aggregate(suite: &mut Suite, committee: &Committee) {
    let Committee { config, shares, holders, heaviest: (party, held), label, .. } = committee;
    let dealings = (0..DEALERS).map(|dealer| committee.deal(dealer)).collect();
    let dealings: Vec<Arc<Verified<Dealing>>> =
        verify_all(config, dealings).into_iter().map(|one| Arc::new(one.unwrap())).collect();
    let label = format!("{label} dealers={DEALERS}");
    suite.measure(&format!("pvss::aggregate/{label}"), || {
        Aggregate::sum(config, black_box(&dealings)).unwrap()
    });
    let sum = Aggregate::sum(config, &dealings).unwrap();
    let bytes = sum.to_bytes();
    println!("{label}: {} bytes", bytes.len());
    let read = Aggregate::from_bytes(config, &bytes).unwrap();
    let ours = suite.measure(&format!("pvss::verify_aggregate/{label}"), || {
        black_box(read.clone()).verify(config).unwrap()
    });
    let pairs = limit::product(suite, holders + 3);
    let (g1, g2) = (limit::msm_g1(suite, 2 * shares, 128), limit::msm_g2(suite, *shares, 255));
    let signatures = limit::product(suite, dealings.len() + 1);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2), (1.0, &signatures)], Some(1.3));

    let key = &committee.keys[party.index()];
    let ours = suite.measure(&format!("pvss::decrypt/{label} shares={held}"), || {
        sum.decrypt(config, *party, key).unwrap()
    });
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    // That the key is the party's takes one in each group.
    suite.row(&ours, &[(*held as f64 + 1.0, &g1), (1.0, &g2)], Some(1.1));
}

fn field(suite: &mut Suite, committee: &Committee) {
    let Committee { config, signers, shares, heaviest: (party, held), label, .. } = committee;
    let dealer = Party::new(0);
    let dealt = || field::deal(config, dealer, &signers[0], &mut rng()).unwrap();
    let ours = suite.measure(&format!("pvss::field::deal/{label}"), dealt);
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    let points = CHUNKS * (shares + held);
    suite.row(&ours, &[(points as f64, &g1), (*shares as f64, &g2)], None);

    let bytes = dealt().to_bytes();
    println!("{label}: {} bytes", bytes.len());
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

    let dealing = field::verify(config, dealing).unwrap();
    let key = &committee.keys[party.index()];
    let ours = suite.measure(&format!("pvss::field::decrypt/{label} shares={held}"), || {
        dealing.decrypt(config, *party, key).unwrap()
    });
    let chunks = (CHUNKS * held) as f64;
    suite.row(&ours, &[(chunks, &g1), (*held as f64 + 1.0, &g2)], None);
}
