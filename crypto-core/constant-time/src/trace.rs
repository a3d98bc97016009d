//! The same instructions and the same addresses, whatever the secrets are.
//!
//! For what valgrind does not run: instructions of newer processors. Children that differ in their
//! secrets only go through a case side by side, natively, and are stopped where something can differ
//! ([`plan`](crate::plan)): there all must be at the same instruction, with the same values in all
//! registers from which the addresses up to the next stop are computed.
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::mem::offset_of;
use std::process::exit;
use std::ptr::without_provenance_mut;

use nix::libc::{c_long, user, user_regs_struct};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use crate::Case;
use crate::marks::{Marks, traced};
use crate::plan::{End, Plan, Registers};
use crate::secrecy::{SecretRng, Secrets};

/// What happened, side by side.
pub struct Trace {
    instructions: usize,
    stops: usize,
    /// Whether it came to AVX-512 IFMA.
    pub wide: bool,
    pub difference: Option<Difference>,
}

/// The first thing that depends on a secret.
#[derive(Clone, Copy)]
pub enum Difference {
    /// Where the instruction here goes on.
    Jump(u64),
    /// An address, from the instruction here on up to the next jump.
    Address(u64),
}

/// Returns that are followed without a stop. More make more plans for the same code.
const LEVELS: usize = 3;

/// Follows cases, and remembers the stretches of the program.
pub struct Tracer {
    /// By their starts and the places to which calls return then, up to [`LEVELS`].
    plans: BTreeMap<(u64, Vec<u64>), Plan>,
}

impl Tracer {
    /// On one processor, the first or a later one of those that are allowed: to go back and forth
    /// between two takes longer.
    pub fn new(number: usize) -> Result<Self, String> {
        let this = Pid::from_raw(0);
        let allowed = sched_getaffinity(this).map_err(failed("processors"))?;
        let allowed = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu) == Ok(true));
        let allowed: Vec<usize> = allowed.collect();
        let mut one = CpuSet::new();
        one.set(allowed[(number - 1) % allowed.len()]).map_err(failed("processors"))?;
        sched_setaffinity(this, &one).map_err(failed("processors"))?;
        Ok(Self { plans: BTreeMap::new() })
    }

    /// Runs a case. An error says why it could not be followed.
    pub fn follow(&mut self, (_, run): &Case) -> Result<Trace, String> {
        let marks = Marks::of_this_program();
        let children = Children::fork(*run)?;
        children.run_to([marks.begin; 2])?;
        let mut trace = Trace { instructions: 0, stops: 0, wide: false, difference: None };
        // Where the calls that were followed return to.
        let mut calls = Vec::new();
        let mut last = marks.begin;
        loop {
            let mut registers = children.registers()?;
            trace.stops += 1;
            if registers.iter().any(|one| one.rip != registers[0].rip) {
                trace.difference = Some(Difference::Jump(last));
                return Ok(trace);
            }
            if registers[0].rip == marks.end {
                return Ok(trace);
            }
            if registers[0].rip == marks.pause {
                children.run_to([marks.resume; 2])?;
                registers = children.registers()?;
                calls.clear();
            }
            let returns = calls.split_off(calls.len().saturating_sub(LEVELS));
            let plan = self.plan(registers[0].rip, returns, &children)?;
            if registers.iter().any(|one| !same(one, &registers[0], plan.inputs)) {
                trace.difference = Some(Difference::Address(registers[0].rip));
                return Ok(trace);
            }
            trace.instructions += plan.passes.len();
            trace.wide |= plan.wide;
            calls.extend(&plan.calls);
            last = plan.last;
            children.advance(plan, &mut calls)?;
        }
    }

    fn plan(
        &mut self,
        start: u64,
        returns: Vec<u64>,
        children: &Children,
    ) -> Result<&Plan, String> {
        Ok(match self.plans.entry((start, returns)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (_, returns) = entry.key();
                let Marks { pause, resume, end, .. } = Marks::of_this_program();
                let stops = [pause, resume, end];
                let plan = Plan::new(start, returns, &stops, |here| children.bytes_at(here))?;
                entry.insert(plan)
            }
        })
    }
}

/// Processes that differ in their secrets only, for they are copies of one.
struct Children([Pid; Secrets::ALL.len()]);

impl Children {
    /// All before the first runs and before anything else changes: what this process does then changes
    /// where its memory is.
    fn fork(run: fn(&mut SecretRng)) -> Result<Self, String> {
        let children = Self(Secrets::ALL.map(|secrets| child(run, secrets)));
        for child in children.0 {
            let status = waitpid(child, None).map_err(failed("fork"))?;
            if status != WaitStatus::Stopped(child, Signal::SIGSTOP) {
                return Err(format!("this machine does not allow to trace a process: {status:?}"));
            }
            ptrace::setoptions(child, Options::PTRACE_O_EXITKILL).map_err(failed("options"))?;
        }
        Ok(children)
    }

    fn registers(&self) -> Result<[user_regs_struct; Secrets::ALL.len()], String> {
        let mut registers = [ptrace::getregs(self.0[0]).map_err(failed("registers"))?; _];
        for (child, registers) in self.0.iter().zip(&mut registers).skip(1) {
            *registers = ptrace::getregs(*child).map_err(failed("registers"))?;
        }
        Ok(registers)
    }

    /// Up to where the plan ends; `calls` returns where it says.
    fn advance(&self, plan: &Plan, calls: &mut Vec<u64>) -> Result<(), String> {
        let (here, returns) = match plan.end {
            End::At(places) => return self.run_to(places),
            End::Return(here) => match calls.pop_if(|place| !plan.passes.contains(place)) {
                Some(place) => return self.run_to([place; 2]),
                None => (here, None),
            },
            End::Jump(here, returns) => (here, returns),
        };
        if here != plan.start {
            return self.run_to([here; 2]);
        }
        calls.extend(returns);
        self.step()
    }

    /// Up to one of these places, by the processor's breakpoints.
    fn run_to(&self, places: [u64; 2]) -> Result<(), String> {
        for child in self.0 {
            let set = |number: usize, value: u64| {
                let register = offset_of!(user, u_debugreg) + 8 * number;
                ptrace::write_user(child, without_provenance_mut(register), value as c_long)
                    .map_err(failed("breakpoints"))
            };
            set(0, places[0])?;
            set(1, places[1])?;
            // Both are on, for execution.
            set(7, 0b101)?;
            ptrace::cont(child, None).map_err(failed("continue"))?;
        }
        self.wait()
    }

    fn step(&self) -> Result<(), String> {
        for child in self.0 {
            ptrace::step(child, None).map_err(failed("step"))?;
        }
        self.wait()
    }

    fn wait(&self) -> Result<(), String> {
        for child in self.0 {
            let status = waitpid(child, None).map_err(failed("wait"))?;
            if status != WaitStatus::Stopped(child, Signal::SIGTRAP) {
                return Err(format!("the case ended by itself: {status:?}"));
            }
        }
        Ok(())
    }

    /// The program; what is not mapped is zero.
    fn bytes_at(&self, place: u64) -> [u8; 16] {
        let word = |place: u64| {
            let word = ptrace::read(self.0[0], without_provenance_mut(place as usize));
            word.unwrap_or_default() as u64
        };
        ((u128::from(word(place + 8)) << 64) | u128::from(word(place))).to_le_bytes()
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in self.0 {
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, None);
        }
    }
}

#[expect(unsafe_code, reason = "a copy of the process, with the same addresses")]
fn child(run: fn(&mut SecretRng), secrets: Secrets) -> Pid {
    // SAFETY: this process has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => return child,
        Ok(ForkResult::Child) => {}
        Err(error) => panic!("fork: {error}"),
    }
    if ptrace::traceme().and_then(|()| raise(Signal::SIGSTOP)).is_ok() {
        let mut rng = SecretRng::new(secrets);
        traced(|| run(&mut rng));
    }
    // Nobody traces it.
    exit(1);
}

/// Whether these registers have the same values.
fn same(one: &user_regs_struct, other: &user_regs_struct, which: Registers) -> bool {
    let differs = |(number, (one, other))| which >> number & 1 == 1 && one != other;
    !numbered(one).into_iter().zip(numbered(other)).enumerate().any(differs)
}

/// As instructions number them.
fn numbered(all: &user_regs_struct) -> [u64; 16] {
    [
        all.rax, all.rcx, all.rdx, all.rbx, all.rsp, all.rbp, all.rsi, all.rdi, all.r8, all.r9,
        all.r10, all.r11, all.r12, all.r13, all.r14, all.r15,
    ]
}

fn failed(what: &'static str) -> impl Fn(nix::Error) -> String {
    move |error| format!("{what}: {error}")
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.difference {
            None => {
                let wide = if self.wide { ", eight at a time" } else { "" };
                write!(f, "{} instructions, {} stops{wide}", self.instructions, self.stops)
            }
            Some(Difference::Jump(here)) => write!(f, "a jump depends on it: {}", place(here)),
            Some(Difference::Address(here)) => {
                write!(f, "an address depends on it: from {} on", place(here))
            }
        }
    }
}

/// As addr2line wants it: the file, and where in it.
fn place(address: u64) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut file = ("", 0);
    for line in maps.lines() {
        let number = |text| u64::from_str_radix(text, 16).unwrap_or_default();
        let (range, rest) = line.split_once(' ').unwrap_or_default();
        let (start, end) = range.split_once('-').map_or((0, 0), |(a, b)| (number(a), number(b)));
        let name = rest.split_whitespace().nth(4).unwrap_or_default();
        if name != file.0 {
            file = (name, start);
        }
        if (start..end).contains(&address) {
            return format!("{name} {:#x}", address - file.1);
        }
    }
    format!("{address:#x}")
}
