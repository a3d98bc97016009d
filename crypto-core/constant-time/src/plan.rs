//! Where a program must be looked at: where memory or a condition decides how it goes on.
//!
//! Stepping through each instruction would take too long. From a place on, the program goes only one
//! way up to its next branch; and up to there each address is computed from registers, so that equal
//! registers at the start make equal addresses, until one depends on what was read from memory. A
//! [`Plan`] is such a stretch: the general registers from which its addresses are computed, and where
//! it ends. Registers are followed by name, not by value: what is computed from registers alone depends
//! on them, anything else (memory, flags, vectors) makes a register *unknown*, and an address by an
//! unknown register starts a new stretch, as does an instruction with an address for each lane of a
//! vector (compilers make such of loads that are apart). That errs on one side only, for too much is compared.
use std::collections::BTreeSet;

use iced_x86::{
    CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo,
    InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedMemory,
};

/// The general registers, one bit each, as they are numbered in instructions.
pub type Registers = u16;

/// A stretch of instructions without a choice.
pub struct Plan {
    pub start: u64,
    /// Its last instruction, in the order of execution.
    pub last: u64,
    /// What its addresses are computed from.
    pub inputs: Registers,
    /// If its first instruction has an address for each lane: the vector that they are computed from, and
    /// the mask of the lanes.
    pub lanes: Option<(Register, Register)>,
    /// Where the calls in it return to, of those that are not back when it ends.
    pub calls: Vec<u64>,
    pub end: End,
    /// Whether it multiplies eight numbers at once.
    pub wide: bool,
    /// The addresses of all instructions that it passes.
    pub passes: BTreeSet<u64>,
}

/// How a stretch ends.
pub enum End {
    /// At one of these places.
    At([u64; 2]),
    /// The instruction here returns from a call that was made before.
    Return(u64),
    /// The instruction here jumps, or calls and then returns to the other place, who knows where.
    Jump(u64, Option<u64>),
}

impl Plan {
    /// The stretch that begins here and ends at one of the stops at the latest. An error is an
    /// instruction that this does not know to follow.
    pub fn new(
        start: u64,
        returns: &[u64],
        stops: &[u64],
        bytes_at: impl Fn(u64) -> [u8; 16],
    ) -> Result<Self, String> {
        let mut factory = InstructionInfoFactory::new();
        let mut known = Provenance::all();
        let end = End::At([start; 2]);
        let mut plan = Self {
            start,
            last: start,
            inputs: 0,
            lanes: None,
            calls: returns.to_vec(),
            end,
            wide: false,
            passes: BTreeSet::new(),
        };
        let mut here = start;
        while here == start || !stops.contains(&here) {
            let instruction =
                Decoder::with_ip(64, &bytes_at(here), here, DecoderOptions::NONE).decode();
            let info = factory.info(&instruction);
            let refused = |why| format!("{:?} at {here:#x} {why}", instruction.code());
            let index = info.used_memory().iter().map(UsedMemory::index);
            if let Some(index) = index.into_iter().find(|index| index.is_vector_register()) {
                plan.lanes = match instruction.op_mask() {
                    _ if here != start => return Ok(plan.ending(End::At([here; 2]))),
                    Register::None => return Err(refused("has a mask of another kind")),
                    mask => Some((index, mask)),
                };
            }
            match known.addresses(&instruction, info).map_err(refused)? {
                Some(inputs) => plan.inputs |= inputs,
                None if here == start => return Err(refused("has an address of another kind")),
                None => return Ok(plan.ending(End::At([here; 2]))),
            }
            known.follow(&instruction, info);
            plan.passes.insert(here);
            plan.last = here;
            plan.wide |= instruction.cpuid_features().contains(&CpuidFeature::AVX512_IFMA);
            match plan.go_on(&instruction).map_err(refused)? {
                Ok(next) => here = next,
                Err(end) => return Ok(plan.ending(end)),
            }
        }
        Ok(plan.ending(End::At([here; 2])))
    }

    fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// The next instruction, or the end.
    fn go_on(&mut self, instruction: &Instruction) -> Result<Result<u64, End>, &'static str> {
        let (here, behind) = (instruction.ip(), instruction.next_ip());
        // A place on the way would stop the program too early: then this instruction is the end, and
        // the start of what follows.
        let places = match instruction.flow_control() {
            FlowControl::Next => [behind; 2],
            FlowControl::Call if instruction.mnemonic() == Mnemonic::Syscall => [behind; 2],
            FlowControl::Call | FlowControl::UnconditionalBranch => {
                [instruction.near_branch_target(); 2]
            }
            FlowControl::ConditionalBranch => [behind, instruction.near_branch_target()],
            FlowControl::Return => match self.calls.last() {
                Some(place) => [*place; 2],
                None => return Ok(Err(End::Return(here))),
            },
            FlowControl::IndirectBranch => return Ok(Err(End::Jump(here, None))),
            FlowControl::IndirectCall => return Ok(Err(End::Jump(here, Some(behind)))),
            _ => return Err("is not followed"),
        };
        let [first, second] = places;
        if places.iter().any(|place| *place != self.start && self.passes.contains(place)) {
            return Ok(Err(End::At([here; 2])));
        }
        if instruction.is_call_near() {
            self.calls.push(behind);
        } else if instruction.flow_control() == FlowControl::Return {
            self.calls.pop();
        }
        Ok(if first == second && first != self.start { Ok(first) } else { Err(End::At(places)) })
    }
}

/// For each general register, from which of those at the start it is computed; `None` if from other
/// things as well.
struct Provenance([Option<Registers>; 16]);

impl Provenance {
    fn all() -> Self {
        Self(std::array::from_fn(|number| Some(1 << number)))
    }

    fn of(&self, register: Register) -> Option<Registers> {
        match number(register) {
            Some(number) => self.0[number],
            None => matches!(register, Register::None | Register::RIP).then_some(0),
        }
    }

    /// What the instruction's addresses are computed from; `None` if one is unknown.
    fn addresses(
        &self,
        instruction: &Instruction,
        info: &InstructionInfo,
    ) -> Result<Option<Registers>, &'static str> {
        let mut inputs = Some(0);
        let mut needs = |register| {
            inputs = inputs.zip(self.of(register)).map(|(one, other)| one | other);
        };
        // A prefetch counts as if it read.
        let computes = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        for memory in info.used_memory().iter().filter(|_| !computes) {
            needs(memory.base());
            // A vector is looked at apart from these.
            if !memory.index().is_vector_register() {
                needs(memory.index());
            }
        }
        // Repeated, its time depends on how often.
        if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
            match instruction.mnemonic() {
                Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq => {}
                Mnemonic::Stosb | Mnemonic::Stosw | Mnemonic::Stosd | Mnemonic::Stosq => {}
                // On others this prefix means nothing, or the branch predictor is told something.
                _ if !instruction.is_string_instruction() => return Ok(inputs),
                _ => return Err("ends when it finds something"),
            }
            needs(Register::RCX);
        }
        Ok(inputs)
    }

    /// What is known behind the instruction.
    fn follow(&mut self, instruction: &Instruction, info: &InstructionInfo) {
        let mut inputs = (instruction.rflags_read() == 0).then_some(0);
        if info.used_memory().iter().any(|memory| reads(memory.access())) {
            inputs = None;
        }
        for used in info.used_registers().iter().filter(|used| reads(used.access())) {
            inputs = inputs.zip(self.of(used.register())).map(|(one, other)| one | other);
        }
        for used in info.used_registers().iter().filter(|used| used.access() != OpAccess::Read) {
            let Some(number) = number(used.register()) else { continue };
            let is_stack = used.register() == Register::RSP;
            if is_stack && instruction.stack_pointer_increment() != 0 {
                continue; // by a constant
            }
            // A part or maybe nothing is written: the rest is what it was.
            let whole = used.access() == OpAccess::Write || used.access() == OpAccess::ReadWrite;
            let rest = if whole && used.register().size() >= 4 { Some(0) } else { self.0[number] };
            self.0[number] = inputs.zip(rest).map(|(one, other)| one | other);
        }
        if matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::Cpuid | Mnemonic::Xgetbv)
        {
            for register in
                [Register::RAX, Register::RBX, Register::RCX, Register::RDX, Register::R11]
            {
                number(register).into_iter().for_each(|number| self.0[number] = None);
            }
        }
    }
}

fn number(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

fn reads(access: OpAccess) -> bool {
    !matches!(
        access,
        OpAccess::None | OpAccess::NoMemAccess | OpAccess::Write | OpAccess::CondWrite
    )
}
