//! Who may read the slot's value: the instruction `PREVRANDAO`, replaced.
use revm::bytecode::opcode;
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::context_interface::{ContextError, Database, JournalTr};
use revm::handler::instructions::EthInstructions;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    Instruction, InstructionContext, InstructionExecResult, InstructionResult,
};
use revm::primitives::U256;
use revm::{Journal, primitives::B256};

/// The frame that the transaction itself calls, as the journal counts them.
const FIRST_FRAME: usize = 1;

/// What `PREVRANDAO` always took.
const GAS: u16 = 2;

/// The value, for transactions that may read it, and whether one read it that may not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guard {
    value: Option<B256>,
    violated: bool,
}

pub(super) type GuardedContext<DB> = Context<BlockEnv, TxEnv, CfgEnv, DB, Journal<DB>, Guard>;

impl Guard {
    pub(super) const fn new(value: Option<B256>) -> Self {
        Self { value, violated: false }
    }

    pub(super) const fn is_violated(&self) -> bool {
        self.violated
    }

    fn read(&mut self, depth: usize) -> Option<B256> {
        let value = self.value.filter(|_| depth == FIRST_FRAME);
        self.violated |= value.is_none();
        value
    }
}

pub(super) fn install<DB: Database>(
    instructions: &mut EthInstructions<EthInterpreter, GuardedContext<DB>>,
) {
    instructions.insert_instruction(opcode::DIFFICULTY, Instruction::new(read_value::<DB>), GAS);
}

fn read_value<DB: Database>(
    context: InstructionContext<'_, GuardedContext<DB>, EthInterpreter>,
) -> InstructionExecResult {
    let depth = context.host.journaled_state.depth();
    let Some(value) = context.host.chain.read(depth) else {
        // Not a result that a caller could see: the error ends all frames at once.
        context.host.error = Err(ContextError::Custom("the value is not readable here".to_owned()));
        return Err(InstructionResult::FatalExternalError);
    };
    if context.interpreter.stack.push(U256::from_be_bytes(value.0)) {
        Ok(())
    } else {
        Err(InstructionResult::StackOverflow)
    }
}
