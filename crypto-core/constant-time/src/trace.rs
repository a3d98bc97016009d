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

use iced_x86::Register;
use nix::libc::{c_long, user, user_regs_struct};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use crate::Case;
use crate::extended::vectors;
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
        let mut children = Children::fork(*run)?;
        children.run_to([marks.begin; 2])?;
        let mut trace = Trace { instructions: 0, stops: 0, wide: false, difference: None };
        // Where the calls that were followed return to.
        let mut calls = Vec::new();
        let mut last = marks.begin;
        loop {
            trace.stops += 1;
            let Some(mut here) = children.place() else {
                trace.difference = Some(Difference::Jump(last));
                return Ok(trace);
            };
            if here == marks.end {
                return Ok(trace);
            }
            if here == marks.pause {
                children.run_to([marks.resume; 2])?;
                here = marks.resume;
                calls.clear();
            }
            let returns = calls.split_off(calls.len().saturating_sub(LEVELS));
            let plan = self.plan(here, returns, &children)?;
            if !children.agree_on(plan.inputs) || !children.agree_on_lanes(plan.lanes)? {
                trace.difference = Some(Difference::Address(here));
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
struct Children([Child; Secrets::ALL.len()]);

struct Child {
    pid: Pid,
    /// Where it stopped.
    registers: user_regs_struct,
}

impl Children {
    /// All before the first runs and before anything else changes: what this process does then changes
    /// where its memory is.
    fn fork(run: fn(&mut SecretRng)) -> Result<Self, String> {
        let [first, second] = Secrets::ALL.map(|secrets| child(run, secrets));
        Ok(Self([Child::take(first)?, Child::take(second)?]))
    }

    /// The next instruction, if it is the same.
    fn place(&self) -> Option<u64> {
        let [first, second] = &self.0;
        (first.registers.rip == second.registers.rip).then_some(first.registers.rip)
    }

    fn agree_on(&self, which: Registers) -> bool {
        let [first, second] = &self.0;
        same(&first.registers, &second.registers, which)
    }

    fn agree_on_lanes(&self, lanes: Option<(Register, Register)>) -> Result<bool, String> {
        let Some((index, mask)) = lanes else { return Ok(true) };
        let [first, second] = &self.0;
        let [first, second] = [vectors(first.pid)?, vectors(second.pid)?];
        let is_same = |one| first.get(one).is_some_and(|value| Some(value) == second.get(one));
        Ok([index, mask].into_iter().all(is_same))
    }

    /// Up to where the plan ends; `calls` returns where it says.
    fn advance(&mut self, plan: &Plan, calls: &mut Vec<u64>) -> Result<(), String> {
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
    fn run_to(&mut self, places: [u64; 2]) -> Result<(), String> {
        for child in &self.0 {
            child.set(0, places[0])?;
            child.set(1, places[1])?;
            // Both are on, for execution.
            child.set(7, 0b101)?;
        }
        self.go(|pid| ptrace::cont(pid, None))
    }

    fn step(&mut self) -> Result<(), String> {
        self.go(|pid| ptrace::step(pid, None))
    }

    fn go(&mut self, how: impl Fn(Pid) -> nix::Result<()>) -> Result<(), String> {
        for child in &self.0 {
            how(child.pid).map_err(failed("to go on"))?;
        }
        self.0.iter_mut().try_for_each(|child| child.wait(&how))
    }

    /// The program; what is not mapped is zero.
    fn bytes_at(&self, place: u64) -> [u8; 16] {
        let word = |place: u64| {
            let word = ptrace::read(self.0[0].pid, without_provenance_mut(place as usize));
            word.unwrap_or_default() as u64
        };
        ((u128::from(word(place + 8)) << 64) | u128::from(word(place))).to_le_bytes()
    }
}

impl Child {
    /// It waits to be traced.
    fn take(pid: Pid) -> Result<Self, String> {
        let status = waitpid(pid, None).map_err(failed("waiting"))?;
        if status != WaitStatus::Stopped(pid, Signal::SIGSTOP) {
            return Err(format!("this machine does not allow to trace a process: {status:?}"));
        }
        let registers = ptrace::getregs(pid).map_err(failed("registers"))?;
        let child = Self { pid, registers };
        ptrace::setoptions(pid, Options::PTRACE_O_EXITKILL).map_err(failed("options"))?;
        Ok(child)
    }

    /// A register of the processor's that has to do with breakpoints.
    fn set(&self, number: usize, value: u64) -> Result<(), String> {
        let register = offset_of!(user, u_debugreg) + 8 * number;
        ptrace::write_user(self.pid, without_provenance_mut(register), value as c_long)
            .map_err(failed("breakpoints"))
    }

    /// Until it stopped elsewhere. Who goes on from a breakpoint and is interrupted at once may stop
    /// there again, with nothing done.
    fn wait(&mut self, again: impl Fn(Pid) -> nix::Result<()>) -> Result<(), String> {
        loop {
            let status = waitpid(self.pid, None).map_err(failed("waiting"))?;
            if status != WaitStatus::Stopped(self.pid, Signal::SIGTRAP) {
                return Err(format!("the case ended by itself: {status:?}"));
            }
            let now = ptrace::getregs(self.pid).map_err(failed("registers"))?;
            if now.rip != self.registers.rip || !same(&now, &self.registers, Registers::MAX) {
                self.registers = now;
                return Ok(());
            }
            again(self.pid).map_err(failed("to go on"))?;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill(self.pid, Signal::SIGKILL);
        let _ = waitpid(self.pid, None);
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
