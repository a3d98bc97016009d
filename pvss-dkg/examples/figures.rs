//! Time and size of one dealing and of an aggregate, on one thread.
//!
//! `cargo run --release -p prefinal-pvss-dkg --example figures -- 129 163 87` deals to 129 parties
//! with 163 shares, slow and fast, and adds 87 dealings up; then the same with field elements. Every third party holds no share; the
//! thresholds are those of about one half and two thirds of the weight.

use std::error::Error;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "measures; no protocol runs here")]
use std::time::Instant;

use crypto_core::access::{Access, Party, Threshold};
use crypto_core::bls::min_sig;
use crypto_core::context::{ChainId, Context, EpochId};
use pvss_dkg::{
    Aggregate, Config, Dealing, DecryptionKey, Member, Session, Shape, Verified, deal, field,
    verify,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use weighted_rounding::Stake;

type Outcome<T> = Result<T, Box<dyn Error>>;

const REPEATS: u32 = 5;

/// Runs `work` a few times and prints the fastest run.
#[expect(clippy::disallowed_types, reason = "measures; no protocol runs here")]
fn time<T>(what: &str, mut work: impl FnMut() -> Outcome<T>) -> Outcome<T> {
    let mut best = f64::INFINITY;
    let mut run = || {
        let start = Instant::now();
        let result = work()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        Ok::<T, Box<dyn Error>>(result)
    };
    let mut result = run()?;
    for _ in 1..REPEATS {
        result = run()?;
    }
    println!("{what:<28} {best:>9.2} ms");
    Ok(result)
}

/// `shares` spread as evenly as can be over two of three parties.
fn weights(parties: u32, shares: u32) -> Vec<u32> {
    let holds = |party: &u32| party % 3 != 2;
    let holders = u32::try_from((0..parties).filter(holds).count()).unwrap_or(1).max(1);
    let mut place = 0;
    (0..parties)
        .map(|party| {
            if !holds(&party) {
                return 0;
            }
            place += 1;
            place * shares / holders - (place - 1) * shares / holders
        })
        .collect()
}

struct Committee {
    config: Config,
    signers: Vec<min_sig::SecretKey>,
    keys: Vec<DecryptionKey>,
    rng: ChaCha20Rng,
}

fn committee(parties: u32, shares: u32, double: bool) -> Outcome<Committee> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let access = Access::new(&weights(parties, shares))?;
    let slow = Threshold::new(shares * 3 / 5, shares)?;
    let fast = if double { Some(Threshold::new(shares * 3 / 4, shares)?) } else { None };
    let shape = Shape::new(access, slow, fast)?;
    let signers: Vec<_> = (0..parties).map(|_| min_sig::SecretKey::random(&mut rng)).collect();
    let keys: Vec<_> = (0..parties).map(|_| DecryptionKey::random(&mut rng)).collect();
    let mut members = Vec::new();
    for (signer, key) in signers.iter().zip(&keys) {
        let public = signer.public_key();
        let encryption = key.register(signer, &mut rng).verify(&public)?;
        let signer = public.verify_possession(&signer.prove_possession())?;
        members.push(Member { stake: Stake::new(1), signer, encryption });
    }
    let context = Context { chain: ChainId::new([0; 32]), epoch: EpochId::new(0) };
    let session = Session { context, attempt: 0 };
    let config = Config::new(session, shape, members, Stake::new(0))?;
    Ok(Committee { config, signers, keys, rng })
}

fn measure(parties: u32, shares: u32, dealers: u32, double: bool) -> Outcome<()> {
    let paths = if double { "slow and fast" } else { "slow only" };
    println!("\n{parties} parties, {shares} shares, {paths}");
    let Committee { config, signers, keys, mut rng } = committee(parties, shares, double)?;
    let holders = weights(parties, shares).iter().filter(|weight| **weight > 0).count();
    println!("parties that hold shares     {holders:>9}");
    let signer = signers.first().ok_or("no parties")?;
    let dealer = Party::new(0);
    let dealing = time("deal", || Ok(deal(&config, dealer, signer, &mut rng)?))?;
    let bytes = dealing.to_bytes();
    println!("bytes of a dealing           {:>9}", bytes.len());
    let dealing = time("decode, subgroups checked", || Ok(Dealing::from_bytes(&config, &bytes)?))?;
    let dealing = Arc::new(time("verify", || Ok(verify(&config, dealing.clone())?))?);

    let mut dealings: Vec<Arc<Verified<Dealing>>> = vec![dealing];
    for (dealer, signer) in (0..dealers).map(Party::new).zip(&signers).skip(1) {
        let dealing = deal(&config, dealer, signer, &mut rng)?;
        dealings.push(Arc::new(verify(&config, dealing)?));
    }
    println!("dealers                      {:>9}", dealings.len());
    let aggregate = time("add up", || Ok(Aggregate::sum(&config, &dealings)?))?;
    let bytes = aggregate.to_bytes();
    println!("bytes of the aggregate       {:>9}", bytes.len());
    let decode = || Ok(Aggregate::from_bytes(&config, &bytes)?);
    let read = time("decode the aggregate", decode)?;
    time("verify the aggregate", || Ok(read.clone().verify(&config)?))?;
    let key = keys.first().ok_or("no parties")?;
    let shares = time("decrypt", || Ok(aggregate.decrypt(&config, dealer, key)?))?;
    println!("own shares on each path      {:>9}", shares.slow.len());
    Ok(())
}

fn measure_field(parties: u32, shares: u32, double: bool) -> Outcome<()> {
    let paths = if double { "slow and fast" } else { "slow only" };
    println!("\n{parties} parties, {shares} shares, {paths}, field elements");
    let Committee { config, signers, keys, mut rng } = committee(parties, shares, double)?;
    let signer = signers.first().ok_or("no parties")?;
    let dealer = Party::new(0);
    let dealing = time("deal", || Ok(field::deal(&config, dealer, signer, &mut rng)?))?;
    let bytes = dealing.to_bytes();
    println!("bytes of a dealing           {:>9}", bytes.len());
    let decode = || Ok(field::Dealing::from_bytes(&config, &bytes)?);
    let dealing = time("decode, subgroups checked", decode)?;
    let dealing = time("verify", || Ok(field::verify(&config, dealing.clone())?))?;
    let key = keys.first().ok_or("no parties")?;
    let shares = time("decrypt", || Ok(dealing.decrypt(&config, dealer, key)?))?;
    println!("own shares on each path      {:>9}", shares.slow.expose().len());
    Ok(())
}

fn main() -> Outcome<()> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (parties, shares, dealers) = (next(129)?, next(163)?, next(87)?);
    measure(parties, shares, dealers, false)?;
    measure(parties, shares, dealers, true)?;
    measure_field(parties, shares, false)?;
    measure_field(parties, shares, true)
}
