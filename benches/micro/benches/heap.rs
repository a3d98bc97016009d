//! What operations on committees of a thousand take from the heap.
//!
//! ```text
//! operation,blocks,bytes,peak_bytes
//! ```
//!
//! Blocks and bytes are all that was allocated on the way, whether or not it was freed; the peak is the
//! most that was in use at once beyond what was there before. Nothing here is a time: the allocator
//! counts, and that is slow.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;

use bench::fixture::{DOMAIN, PURPOSE, Signing, Weighted, context, qualified};
use bench::suite::home;
use crypto_core::access::Party;
use crypto_core::context::Slot;
use crypto_core::polynomial::Placement;
use crypto_core::threshold::Message;
use crypto_core::wvuf::{Input, combine};
use dhat::{HeapStats, Profiler};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    // `cargo test` only wants to know that it runs.
    let n = if std::env::args().any(|argument| argument == "--test") { 30 } else { 1000 };
    let mut table = String::from("operation,blocks,bytes,peak_bytes\n");
    threshold(&mut table, n);
    wvuf(&mut table, n);
    println!("{table}");
    std::fs::create_dir_all(home()).unwrap();
    std::fs::write(home().join("heap.csv"), table).unwrap();
}

fn measure<O>(table: &mut String, operation: &str, run: impl FnOnce() -> O) {
    let profiler = Profiler::builder().testing().build();
    let before = HeapStats::get();
    let output = black_box(run());
    let after = HeapStats::get();
    drop(profiler);
    drop(output);
    let (blocks, bytes) =
        (after.total_blocks - before.total_blocks, after.total_bytes - before.total_bytes);
    let peak = after.max_bytes - before.curr_bytes;
    writeln!(table, "{operation},{blocks},{bytes},{peak}").unwrap();
}

fn threshold(table: &mut String, n: u32) {
    let t = n * 2 / 3 + 1;
    let label = format!("n={n} t={t}");
    let message = Message::new(DOMAIN, b"message");
    let weights = vec![1; usize::try_from(n).unwrap()];
    let dealt = Signing::deal(&weights, t, (Placement::RootsOfUnity, PURPOSE));
    let committee = &dealt.committee;
    let signer = dealt.signers.values().next().unwrap();
    measure(table, &format!("threshold::partial/{label}"), || {
        signer.partial(&Message::new(DOMAIN, b"message")).unwrap()
    });
    let mut partials = dealt.partials(committee.access().parties(), &message);
    measure(table, &format!("threshold::verify/{label}"), || {
        partials[&Party::new(0)].verify(committee, Party::new(0), &message).unwrap();
    });
    measure(table, &format!("threshold::check_all/{label}"), || {
        committee.check_all(&message, &partials).unwrap();
    });
    let quorum = committee.optimistic(&message, partials.clone()).unwrap();
    measure(table, &format!("threshold::combine/{label}"), || quorum.combine().unwrap());
    let other = Message::new(DOMAIN, b"other");
    let liar = Party::new(n / 2);
    partials.insert(liar, dealt.signers[&liar].partial(&other).unwrap());
    measure(table, &format!("threshold::culprit/{label}"), || {
        committee.check_all(&message, &partials).unwrap_err()
    });
}

fn wvuf(table: &mut String, n: u32) {
    let t = n * 2 / 3 + 1;
    let label = format!("n={n} t={t}");
    let dealt = Weighted::deal(&vec![1; usize::try_from(n).unwrap()], t);
    let committee = &dealt.committee;
    let input = Input::new(&context(), Slot::new(7), None);
    let key = dealt.keys.values().next().unwrap();
    measure(table, &format!("wvuf::partial/{label}"), || key.evaluate(&input));
    let set = qualified(committee.access(), committee.threshold());
    let partials: BTreeMap<_, _> =
        set.iter().map(|party| (*party, dealt.keys[party].evaluate(&input))).collect();
    measure(table, &format!("wvuf::check_all/{label}"), || {
        committee.check_all(&input, &partials).unwrap();
    });
    let quorum = committee.verify_all(&input, partials).unwrap();
    measure(table, &format!("wvuf::combine/{label}"), || combine(&quorum));
    let keys = dealt.blinded.clone();
    measure(table, &format!("wvuf::admit_all/{label}"), || committee.admit_all(keys));
}
