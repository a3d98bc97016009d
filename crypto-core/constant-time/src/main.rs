//! Constant time, tested: no jump and no address may depend on a secret.
//!
//! Each case runs one operation of `crypto_core` on secrets that valgrind's memcheck is told to
//! watch (`secrecy`), and is silent if nothing leaks. The control cases leak on purpose and *must*
//! be caught, or else silence would mean nothing. What may depend on a secret and why stands in
//! `public.supp`.
//!
//! ```sh
//! cargo build --release
//! valgrind --suppressions=public.supp target/release/prefinal-constant-time
//! ```
//!
//! Measured is the program that the release profile makes of blst's and of our code, on the machine
//! at hand. What memcheck cannot see: instructions whose own time depends on their operands.
#![forbid(unsafe_code)]

mod cases;
mod controls;
mod secrecy;

use std::process::ExitCode;

use crabgrind::RunMode;

use crate::secrecy::SecretRng;

/// One operation on secrets.
type Case = (&'static str, fn(&mut SecretRng));

fn main() -> ExitCode {
    if crabgrind::run_mode() != RunMode::Valgrind {
        eprintln!("run this under valgrind, see the head of main.rs");
        return ExitCode::FAILURE;
    }
    let caught = controls::ALL.iter().filter(|case| leaks(case) > 0).count();
    let leaking = cases::ALL.iter().filter(|case| leaks(case) > 0).count();
    let missed = controls::ALL.len() - caught;
    println!(
        "{} cases, {leaking} leak; {caught} controls caught, {missed} missed",
        cases::ALL.len()
    );
    if leaking + missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a case and counts what memcheck has to say.
fn leaks((name, run): &Case) -> usize {
    let before = crabgrind::count_errors();
    run(&mut SecretRng::new());
    let found = crabgrind::count_errors() - before;
    println!("{name:44} {found}");
    found
}
