//! Time, size and memory of dealings and of an aggregate, by the clock.
//!
//! `cargo run --release -p prefinal-pvss-dkg --example figures -- 129 163 108 87` deals to 129 parties
//! 163 shares, of which 108 rebuild on the slow path, and checks 87 dealings and adds them up; then the
//! same with field elements (and at most 16 dealings). A fifth argument is the threshold of a fast path.
//! Shares are spread evenly. With `--features parallel`, as many threads as `RAYON_NUM_THREADS` says.

use std::error::Error;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "measures; no protocol runs here")]
use std::time::Instant;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::{
    Accepted, Aggregate, Config, Dealing, DecryptionKey, Member, Paths, Purpose, Session, Shape,
    deal, field, verify, verify_all,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

type Outcome<T> = Result<T, Box<dyn Error>>;

const REPEATS: u32 = 3;
/// The most dealings with field elements that are kept at once.
const MOST_FIELD: u32 = 16;

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

/// `shares` spread as evenly as can be.
fn weights(parties: u32, shares: u32) -> Vec<Weight> {
    let first = |party: u32| party * shares / parties.max(1);
    (0..parties).map(|party| Weight::new(first(party + 1) - first(party))).collect()
}

/// The most memory that the process has had so far; zero where nobody knows.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

struct Size {
    parties: u32,
    shares: u32,
    slow: u32,
    dealers: u32,
    fast: Option<u32>,
}

struct Committee {
    config: Config,
    signers: Vec<min_sig::SecretKey>,
    rng: ChaCha20Rng,
}

/// The party's decryption key, drawn again each time: opening uses it up.
fn key(party: u64) -> DecryptionKey {
    DecryptionKey::random(&mut ChaCha20Rng::seed_from_u64(1000 + party))
}

fn committee(size: &Size) -> Outcome<Committee> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let Size { parties, shares, .. } = *size;
    let thresholds = Paths { slow: Weight::new(size.slow), fast: size.fast.map(Weight::new) };
    let shape = Shape::new(&weights(parties, shares), thresholds)?;
    let signers: Vec<_> = (0..parties).map(|_| min_sig::SecretKey::random(&mut rng)).collect();
    let mut members = Vec::new();
    for (signer, key) in signers.iter().zip((0..).map(key)) {
        let public = signer.public_key();
        let encryption = key.register(signer, &mut rng).verify(&public)?;
        let signer = public.verify_possession(&signer.prove_possession())?;
        members.push(Member { stake: Stake::new(1), signer, encryption });
    }
    let context = Context { chain: ChainId::new([0; 32]), epoch: EpochId::new(0) };
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let config = Config::new(session, shape, members, Stake::new(1))?;
    Ok(Committee { config, signers, rng })
}

fn describe(size: &Size, what: &str) {
    let Size { parties, shares, slow, fast, .. } = size;
    let fast = fast.map_or(String::new(), |fast| format!(" and {fast}"));
    println!("\n{what}: {parties} parties, {slow}{fast} of {shares} shares");
}

fn measure(size: &Size) -> Outcome<()> {
    describe(size, "group elements");
    let Committee { config, signers, mut rng } = committee(size)?;
    let signer = signers.first().ok_or("no parties")?;
    let dealer = Party::new(0);
    let dealing = time("deal", || Ok(deal(&config, dealer, signer, &mut rng)?))?;
    let bytes = dealing.to_bytes();
    println!("bytes of a dealing           {:>9}", bytes.len());
    let dealing = time("decode, subgroups checked", || Ok(Dealing::from_bytes(&config, &bytes)?))?;
    time("verify", || Ok(verify(&config, dealing.clone())?))?;

    let mut many = Vec::new();
    for (dealer, signer) in (0..size.dealers).map(Party::new).zip(&signers) {
        many.push(deal(&config, dealer, signer, &mut rng)?);
    }
    let all: Vec<_> = time("verify all", || Ok(verify_all(&config, many.clone())))?;
    println!("dealings                     {:>9}", all.len());
    let dealings: Vec<Arc<Accepted<Dealing>>> =
        all.into_iter().map(|one| Ok(Arc::new(one?))).collect::<Outcome<_>>()?;
    let aggregate = time("add up", || Ok(Aggregate::sum(&config, &dealings)?))?;
    let bytes = aggregate.to_bytes();
    println!("bytes of the aggregate       {:>9}", bytes.len());
    let decode = || Ok(Aggregate::from_bytes(&config, &bytes)?);
    let read = time("decode the aggregate", decode)?;
    time("verify the aggregate", || Ok(read.clone().verify(&config)?))?;
    let shares = time("decrypt", || Ok(aggregate.decrypt(&config, dealer, key(0))?))?;
    println!("own shares on each path      {:>9}", shares.slow.len());
    println!("peak memory, KiB             {:>9}", peak());
    Ok(())
}

fn measure_field(size: &Size) -> Outcome<()> {
    describe(size, "field elements");
    let Committee { config, signers, mut rng } = committee(size)?;
    let signer = signers.first().ok_or("no parties")?;
    let dealer = Party::new(0);
    let dealing = time("deal", || Ok(field::deal(&config, dealer, signer, &mut rng)?))?;
    let bytes = dealing.to_bytes();
    println!("bytes of a dealing           {:>9}", bytes.len());
    let decode = || Ok(field::Dealing::from_bytes(&config, &bytes)?);
    let dealing = time("decode, subgroups checked", decode)?;
    let many = vec![dealing.clone(); usize::try_from(size.dealers.min(MOST_FIELD))?];
    let all = time("verify all", || Ok(field::verify_all(&config, many.clone())))?;
    println!("dealings                     {:>9}", all.len());
    let dealing = time("verify", || Ok(field::verify(&config, dealing.clone())?))?;
    let sum = field::Key::sum(&config, &[Arc::new(dealing)])?;
    let shares = time("decrypt", || Ok(sum.decrypt(&config, dealer, key(0))?))?.shares;
    println!("own shares on each path      {:>9}", shares.slow.expose().len());
    println!("peak memory, KiB             {:>9}", peak());
    Ok(())
}

fn main() -> Outcome<()> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (parties, shares, slow, dealers) = (next(129)?, next(163)?, next(108)?, next(87)?);
    let fast = numbers.next().transpose()?;
    let size = Size { parties, shares, slow, dealers, fast };
    measure(&size)?;
    measure_field(&size)
}
