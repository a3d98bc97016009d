//! What operations on committees of a thousand take from the heap.
//!
//! `blocks` and `allocated` are all that was allocated on the way, whether or not it was freed; `peak` is
//! the most that was in use at once beyond what was there before. Nothing here is a time: the allocator
//! counts, and that is slow. `--quick` has committees of a hundred.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::collections::BTreeMap;
use std::hint::black_box;

use dhat::{HeapStats, Profiler};
use prefinal_bench::fixture::{BlsSharing, DOMAIN, PURPOSE, WvufSharing, context, qualified};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Slot;
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::threshold::Message;
use prefinal_crypto_core::wvuf::{Input, combine};
use prefinal_rows::{OURS, Options, Sheet};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let options = Options::from_command_line();
    let n = if options.quick { 100 } else { 1000 };
    let mut sheet = Sheet::new("micro", "cargo bench -p prefinal-bench --bench heap");
    threshold(&mut sheet, n);
    wvuf(&mut sheet, n);
    sheet.finish(&options).unwrap();
}

fn measure<O>(sheet: &mut Sheet, (operation, case): (&str, &str), run: impl FnOnce() -> O) {
    let profiler = Profiler::builder().testing().build();
    let before = HeapStats::get();
    let output = black_box(run());
    let after = HeapStats::get();
    drop(profiler);
    drop(output);
    let blocks = after.total_blocks - before.total_blocks;
    let bytes = after.total_bytes - before.total_bytes;
    sheet
        .of(operation, case)
        .peak(OURS, (after.max_bytes - before.curr_bytes) as f64)
        .put(OURS, "allocated", bytes as f64, "bytes")
        .put(OURS, "blocks", blocks as f64, "blocks");
}

fn threshold(sheet: &mut Sheet, n: u32) {
    let t = n * 2 / 3 + 1;
    let label = format!("n={n} t={t}");
    let message = Message::new(DOMAIN, b"message");
    let weights = vec![1; usize::try_from(n).unwrap()];
    let dealt = BlsSharing::deal(&weights, t, (Placement::RootsOfUnity, PURPOSE));
    let committee = &dealt.committee;
    let signer = dealt.signers.values().next().unwrap();
    measure(sheet, ("threshold::partial", &label), || {
        signer.partial(&Message::new(DOMAIN, b"message")).unwrap()
    });
    let mut partials = dealt.partials(committee.access().parties(), &message);
    measure(sheet, ("threshold::verify", &label), || {
        partials[&Party::new(0)].verify(committee, Party::new(0), &message).unwrap();
    });
    measure(sheet, ("threshold::check_all", &label), || {
        committee.check_all(&message, &partials).unwrap();
    });
    let quorum = committee.optimistic(&message, partials.clone()).unwrap();
    measure(sheet, ("threshold::combine", &label), || quorum.combine().unwrap());
    let other = Message::new(DOMAIN, b"other");
    let liar = Party::new(n / 2);
    partials.insert(liar, dealt.signers[&liar].partial(&other).unwrap());
    measure(sheet, ("threshold::culprit", &label), || {
        committee.check_all(&message, &partials).unwrap_err()
    });
}

fn wvuf(sheet: &mut Sheet, n: u32) {
    let t = n * 2 / 3 + 1;
    let label = format!("n={n} t={t}");
    let dealt = WvufSharing::deal(&vec![1; usize::try_from(n).unwrap()], t);
    let committee = &dealt.committee;
    let input = Input::new(&context(), Slot::new(7), None);
    let key = dealt.keys.values().next().unwrap();
    measure(sheet, ("wvuf::partial", &label), || key.evaluate(&input));
    let set = qualified(committee.access(), committee.threshold());
    let partials: BTreeMap<_, _> =
        set.iter().map(|party| (*party, dealt.keys[party].evaluate(&input))).collect();
    measure(sheet, ("wvuf::check_all", &label), || {
        committee.check_all(&input, &partials).unwrap();
    });
    let quorum = committee.verify_all(&input, partials).unwrap();
    measure(sheet, ("wvuf::combine", &label), || combine(&quorum));
    let keys = dealt.blinded.clone();
    measure(sheet, ("wvuf::admit_all", &label), || committee.admit_all(keys));
}
