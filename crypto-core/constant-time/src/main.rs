//! Constant time, tested: no jump and no address may depend on a secret.
//!
//! Each case runs one operation of `prefinal_crypto_core` on secrets. Two checks run the same cases:
//!
//! | check    | how                                                | what it says                     |
//! |----------|----------------------------------------------------|----------------------------------|
//! | memcheck | valgrind follows each bit of a secret (`secrecy`)  | for any secrets, without AVX-512 |
//! | trace    | other secrets make the same instructions and       | for two choices of secrets, of   |
//! |          | addresses, run natively (`trace`, `plan`, `marks`) | all that this processor runs     |
//!
//! Valgrind knows no AVX-512, so what is computed eight at a time where the processor can is looked at
//! by the trace alone. The control cases leak on purpose and *must* be caught by both, or else silence
//! would mean nothing. What may depend on a secret and why stands in `public.supp`; for the trace there
//! is no such list, for nothing of it differs between the secrets that it chooses.
//!
//! ```sh
//! cargo build --release
//! valgrind --suppressions=public.supp target/release/prefinal-constant-time
//! target/release/prefinal-constant-time
//! ```
//!
//! Measured is the program that the release profile makes of blst's and of our code, on the machine
//! at hand. What neither sees: instructions whose own time depends on their operands, and a jump that
//! goes to the same place either way.
#![deny(unsafe_code)]

mod cases;
mod controls;
#[cfg(target_arch = "x86_64")]
mod extended;
mod marks;
#[cfg(target_arch = "x86_64")]
mod plan;
mod secrecy;
#[cfg(target_arch = "x86_64")]
mod trace;

use std::process::ExitCode;

use crabgrind::RunMode;

use crate::secrecy::{SecretRng, Secrets};

/// One operation on secrets.
type Case = (&'static str, fn(&mut SecretRng));

fn main() -> ExitCode {
    if crabgrind::run_mode() == RunMode::Valgrind {
        return judge(cases::ALL, |case| Ok(leaks(case)));
    }
    natively()
}

#[cfg(not(target_arch = "x86_64"))]
fn natively() -> ExitCode {
    eprintln!(
        "run this under valgrind, see the head of main.rs; what it has to say is all there is"
    );
    ExitCode::FAILURE
}

/// All cases, or, given `1/2` or `2/2`, every other: each keeps one processor busy.
#[cfg(target_arch = "x86_64")]
fn natively() -> ExitCode {
    let part = std::env::args().nth(1).unwrap_or("1/1".to_owned());
    let numbers = part.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    let Some((number @ 1.., parts @ 1..)) = numbers.filter(|(number, parts)| number <= parts)
    else {
        eprintln!("{part} is no part of the cases, 1/2 would be");
        return ExitCode::FAILURE;
    };
    let cases: Vec<Case> = cases::ALL.iter().skip(number - 1).step_by(parts).copied().collect();
    let mut tracer = match trace::Tracer::new(number) {
        Ok(tracer) => tracer,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = tracer.follow(&("nothing", |_| {})) {
        println!("nothing can be traced here, so what needs AVX-512 was not looked at: {error}");
        return ExitCode::SUCCESS;
    }
    let mut wide = 0;
    let verdict = judge(&cases, |case| {
        let mut trace = tracer.follow(case)?;
        if trace.difference.is_some() {
            // With the same secrets a leak is there again, a stop that came by accident is not.
            println!("{:44} {trace}; once more", case.0);
            trace = tracer.follow(case)?;
        }
        println!("{:44} {trace}", case.0);
        wide += usize::from(trace.wide && trace.difference.is_none());
        Ok(trace.difference.is_some())
    });
    match (cases::computes_wide(), wide) {
        (true, 0) => {
            println!("no case came through AVX-512 IFMA, which this processor has");
            ExitCode::FAILURE
        }
        (true, _) => verdict,
        (false, _) => {
            println!("this processor has no AVX-512 IFMA: what needs it was not looked at");
            verdict
        }
    }
}

/// What leaks and should not, and the other way round; nothing is assumed of what could not be run.
fn judge(cases: &[Case], mut leaks: impl FnMut(&Case) -> Result<bool, String>) -> ExitCode {
    let mut count = |cases: &[Case], expected| {
        let is_as_expected = |case: &&Case| match leaks(case) {
            Ok(leaks) => leaks == expected,
            Err(error) => {
                println!("{:44} {error}", case.0);
                false
            }
        };
        cases.iter().filter(is_as_expected).count()
    };
    let caught = count(controls::ALL, true);
    let leaking = cases.len() - count(cases, false);
    let missed = controls::ALL.len() - caught;
    println!("{} cases, {leaking} leak; {caught} controls caught, {missed} missed", cases.len());
    if leaking + missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a case and asks memcheck what it has to say.
fn leaks((name, run): &Case) -> bool {
    let before = crabgrind::count_errors();
    run(&mut SecretRng::new(Secrets::ALL[0]));
    let found = crabgrind::count_errors() - before;
    println!("{name:44} {found}");
    found > 0
}
