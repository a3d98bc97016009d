//! The EVM: transfers, storage, and who may read the slot's value.
use std::collections::BTreeMap;

use prefinal_execution::{
    Block, Execution, Executor, Height, Part, Randomness, Store, Transaction,
};
use prefinal_protocol::ChainId;
use prefinal_state::evm::{
    Address, Bytes, Envelope, EnvelopeError, Evm, EvmAccount, EvmReceipt, EvmRejection, EvmRules,
    SignedEnvelope, Target, U256, account_key, address_of, evm_burnt_key, genesis_rows,
    storage_key,
};
use prefinal_state::transfers::Nonce;
use prefinal_state::{Genesis, StateStore, View};
use proptest::prelude::*;
use redb::Builder;
use redb::backends::InMemoryBackend;

use crate::chain::{CHAIN, Certificate, GENESIS, VALUE, header, key};

pub(crate) const RULES: EvmRules = EvmRules {
    chain: CHAIN,
    chain_number: 7,
    gas_price: 3,
    block_gas: 10_000_000,
    declared_gas: 200_000,
};
pub(crate) const EVM: Evm = Evm::new(RULES);
pub(crate) const RICH: u64 = 100_000_000;

/// Opcodes, by the names that the tests use.
mod op {
    pub(super) const ISZERO: u8 = 0x15;
    pub(super) const AND: u8 = 0x16;
    pub(super) const CALLER: u8 = 0x33;
    pub(super) const CALLDATALOAD: u8 = 0x35;
    pub(super) const CALLDATASIZE: u8 = 0x36;
    pub(super) const CODECOPY: u8 = 0x39;
    pub(super) const PREVRANDAO: u8 = 0x44;
    pub(super) const SELFBALANCE: u8 = 0x47;
    pub(super) const POP: u8 = 0x50;
    pub(super) const MLOAD: u8 = 0x51;
    pub(super) const MSTORE: u8 = 0x52;
    pub(super) const SSTORE: u8 = 0x55;
    pub(super) const JUMPI: u8 = 0x57;
    pub(super) const GAS: u8 = 0x5a;
    pub(super) const JUMPDEST: u8 = 0x5b;
    pub(super) const PUSH1: u8 = 0x60;
    pub(super) const PUSH20: u8 = 0x73;
    pub(super) const CALL: u8 = 0xf1;
    pub(super) const RETURN: u8 = 0xf3;
    pub(super) const DELEGATECALL: u8 = 0xf4;
    pub(super) const STATICCALL: u8 = 0xfa;
    pub(super) const REVERT: u8 = 0xfd;
    pub(super) const STOP: u8 = 0x00;
}

pub(crate) fn address(number: u64) -> Address {
    address_of(&key(number).verification_key().to_bytes())
}

fn genesis() -> Genesis {
    let balances: BTreeMap<Address, U256> =
        (0..6).map(|number| (address(number), U256::from(RICH))).collect();
    Genesis { block: GENESIS, rows: genesis_rows(&balances) }
}

fn store() -> StateStore<Evm, Certificate> {
    let database = Builder::new().create_with_backend(InMemoryBackend::new()).unwrap();
    StateStore::within(database, &genesis()).unwrap()
}

pub(crate) fn envelope(number: u64, nonce: u64, target: Target) -> Envelope {
    Envelope {
        declares: false,
        key: key(number).verification_key().to_bytes(),
        nonce: Nonce::new(nonce),
        expires: Height::new(100),
        gas_limit: 400_000,
        most_gas_price: 3,
        value: U256::ZERO,
        target,
        input: Bytes::new(),
    }
}

pub(crate) fn sign(number: u64, envelope: Envelope) -> SignedEnvelope {
    envelope.sign(CHAIN, &key(number)).unwrap()
}

fn call(number: u64, nonce: u64, to: Address) -> SignedEnvelope {
    sign(number, envelope(number, nonce, Target::Call(to)))
}

fn declared(number: u64, nonce: u64, to: Address) -> SignedEnvelope {
    sign(number, Envelope { declares: true, ..envelope(number, nonce, Target::Call(to)) })
}

/// Code that leaves this code as a contract's.
fn deploy(number: u64, nonce: u64, code: &[u8]) -> SignedEnvelope {
    let length = u8::try_from(code.len()).unwrap();
    // CODECOPY(0, 12, length), RETURN(0, length)
    let start = [op::PUSH1, length, op::PUSH1, 12, op::PUSH1, 0, op::CODECOPY, op::PUSH1, length];
    let input = [&start, [op::PUSH1, 0, op::RETURN].as_slice(), code].concat();
    let input = Bytes::from(input);
    sign(number, Envelope { input, ..envelope(number, nonce, Target::Create) })
}

/// Writes `PREVRANDAO` to slot 1, and 7 to slot 3.
fn draws() -> Vec<u8> {
    vec![op::PREVRANDAO, op::PUSH1, 1, op::SSTORE, op::PUSH1, 7, op::PUSH1, 3, op::SSTORE, op::STOP]
}

/// Calls an address with all gas, ignores whether that failed, and then does this.
fn calls(opcode: u8, to: Address, then: &[u8]) -> Vec<u8> {
    let mut code = Vec::new();
    let arguments = if opcode == op::CALL { 5 } else { 4 };
    for _ in 0..arguments {
        code.extend([op::PUSH1, 0]);
    }
    code.push(op::PUSH20);
    code.extend(to.0);
    code.extend([op::GAS, opcode]);
    code.extend(then);
    code
}

pub(crate) struct Run {
    view: View,
    receipts: Vec<EvmReceipt>,
    execution: Execution<Evm>,
}

pub(crate) struct Chain {
    pub(crate) view: View,
    height: u64,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Self { view: store().view().unwrap(), height: 0 }
    }

    pub(crate) fn block(&mut self, transactions: Vec<SignedEnvelope>) -> Run {
        self.block_with(transactions, VALUE)
    }

    fn block_with(&mut self, transactions: Vec<SignedEnvelope>, value: Randomness) -> Run {
        self.height += 1;
        let parent = self.view.block();
        let block = Block::new(header(self.height as u8, parent, self.height), transactions);
        let mut draft = EVM.head(&self.view, &block).unwrap();
        if block.part(Part::Tail).next().is_some() {
            draft = EVM.tail(draft, &block, value).unwrap();
        }
        let execution = EVM.seal(draft, &block).unwrap();
        let receipts = execution.delta.results().iter();
        let receipts = receipts.map(|one| borsh::from_slice(&one.receipt).unwrap()).collect();
        self.view = execution.view.clone();
        Run { view: self.view.clone(), receipts, execution }
    }

    /// Creates a contract with this code.
    fn contract(&mut self, number: u64, nonce: u64, code: &[u8]) -> Address {
        let run = self.block(vec![deploy(number, nonce, code)]);
        match &run.receipts[0] {
            EvmReceipt::Succeeded { created: Some(address), .. } => Address::new(*address),
            other => panic!("{other:?}"),
        }
    }

    fn stored(&self, contract: Address, slot: u64) -> U256 {
        let row = self.view.get(&storage_key(&contract, &U256::from(slot))).unwrap();
        row.map_or(U256::ZERO, |row| U256::from_be_bytes::<32>((*row).try_into().unwrap()))
    }

    fn account(&self, address: Address) -> EvmAccount {
        let row = self.view.get(&account_key(&address)).unwrap();
        EvmAccount::from_row(row.as_deref()).unwrap().unwrap()
    }

    fn burnt(&self) -> U256 {
        let row = self.view.get(&evm_burnt_key()).unwrap();
        row.map_or(U256::ZERO, |row| U256::from_be_bytes::<32>((*row).try_into().unwrap()))
    }
}

fn value() -> U256 {
    U256::from_be_bytes(VALUE.to_bytes())
}

#[test]
fn a_transfer_moves_its_value_and_burns_its_gas() {
    let mut chain = Chain::new();
    let to = Address::new([9; 20]);
    let pays = Envelope { value: U256::from(1000), ..envelope(0, 0, Target::Call(to)) };
    let run = chain.block(vec![sign(0, pays)]);
    assert!(matches!(run.receipts[0], EvmReceipt::Succeeded { gas: 21_000, .. }), "{run:?}");
    assert_eq!(chain.account(to).balance, U256::from(1000));
    assert_eq!(chain.account(address(0)).balance, U256::from(RICH - 1000 - 63_000));
    assert_eq!(chain.account(address(0)).nonce, 1);
    assert_eq!(chain.burnt(), U256::from(63_000));
}

#[test]
fn storage_is_in_the_state_and_zero_is_no_row() {
    let mut chain = Chain::new();
    // Slot 0 gets the first word of the input.
    let code = [op::PUSH1, 0, op::CALLDATALOAD, op::PUSH1, 0, op::SSTORE, op::STOP];
    let contract = chain.contract(0, 0, &code);
    let with = |nonce, word: u64| {
        let input = Bytes::from(U256::from(word).to_be_bytes::<32>());
        sign(0, Envelope { input, ..envelope(0, nonce, Target::Call(contract)) })
    };
    let run = chain.block(vec![with(1, 5), with(2, 6)]);
    assert_eq!(chain.stored(contract, 0), U256::from(6));
    let slot = storage_key(&contract, &U256::ZERO);
    let shown = run.view.prove(&slot).unwrap();
    let root = run.view.state_root();
    let six = U256::from(6).to_be_bytes::<32>();
    assert_eq!(shown.proof.verify(root, slot, Some(&six)), Ok(()));

    let run = chain.block(vec![with(3, 0)]);
    let shown = run.view.prove(&slot).unwrap();
    let root = run.view.state_root();
    assert_eq!(shown.proof.verify(root, slot, None), Ok(()));
}

#[test]
fn who_declares_reads_the_slots_value() {
    let mut chain = Chain::new();
    let contract = chain.contract(0, 0, &draws());
    let run = chain.block(vec![declared(1, 0, contract)]);
    assert!(matches!(run.receipts[0], EvmReceipt::Succeeded { .. }), "{run:?}");
    assert_eq!(chain.stored(contract, 1), value());
}

#[test]
fn who_does_not_declare_fails_as_a_whole_and_pays_all_gas() {
    let mut chain = Chain::new();
    let contract = chain.contract(0, 0, &draws());
    let with = Envelope { value: U256::from(9), ..envelope(1, 0, Target::Call(contract)) };
    let run = chain.block(vec![sign(1, with), call(1, 1, Address::new([9; 20]))]);
    assert_eq!(run.receipts[0], EvmReceipt::Forbidden { gas: 400_000 });
    assert!(matches!(run.receipts[1], EvmReceipt::Succeeded { .. }), "{run:?}");
    assert_eq!(chain.stored(contract, 1), U256::ZERO);
    assert_eq!(chain.stored(contract, 3), U256::ZERO);
    let paid = (400_000 + 21_000) * 3;
    assert_eq!(chain.account(address(1)).balance, U256::from(RICH - paid));
    assert_eq!(chain.account(address(1)).nonce, 2);
}

/// The caller wants to go on when the call fails, and to keep what it wrote. It cannot.
#[test]
fn a_failed_read_cannot_be_caught_by_a_caller() {
    for opcode in [op::CALL, op::DELEGATECALL, op::STATICCALL] {
        for declares in [false, true] {
            let mut chain = Chain::new();
            let reader = chain.contract(0, 0, &draws());
            let goes_on = [op::POP, op::PUSH1, 8, op::PUSH1, 4, op::SSTORE, op::STOP];
            let caller = chain.contract(0, 1, &calls(opcode, reader, &goes_on));
            let tries = if declares { declared(1, 0, caller) } else { call(1, 0, caller) };
            let run = chain.block(vec![tries]);
            let forbidden = EvmReceipt::Forbidden { gas: 400_000 };
            assert_eq!(run.receipts[0], forbidden, "{opcode:x}, {declares}");
            assert_eq!(chain.stored(caller, 4), U256::ZERO);
            assert_eq!(chain.stored(caller, 1), U256::ZERO);
        }
    }
}

/// Test and abort: call the lottery, look whether the value is odd, and revert if it is not.
#[test]
fn test_and_abort_learns_nothing_whatever_the_value() {
    for last in 0..4 {
        let mut bytes = VALUE.to_bytes();
        bytes[31] = last;
        let mut chain = Chain::new();
        // The lottery returns its value.
        let lottery =
            [op::PREVRANDAO, op::PUSH1, 0, op::MSTORE, op::PUSH1, 32, op::PUSH1, 0, op::RETURN];
        let lottery = chain.contract(0, 0, &lottery);
        // CALL(gas, lottery, 0, 0, 0, 0, 32); if the last bit of the word is 0, REVERT.
        let mut attack =
            vec![op::PUSH1, 32, op::PUSH1, 0, op::PUSH1, 0, op::PUSH1, 0, op::PUSH1, 0, op::PUSH20];
        attack.extend(lottery.0);
        attack.extend([op::GAS, op::CALL, op::POP, op::PUSH1, 0, op::MLOAD, op::PUSH1, 1, op::AND]);
        let target = u8::try_from(attack.len() + 8).unwrap();
        attack.extend([op::PUSH1, target, op::JUMPI, op::PUSH1, 0, op::PUSH1, 0, op::REVERT]);
        attack.extend([op::JUMPDEST, op::PUSH1, 1, op::PUSH1, 0, op::SSTORE, op::STOP]);
        let attack = chain.contract(0, 1, &attack);
        let run = chain.block_with(vec![declared(1, 0, attack)], Randomness::new(bytes));
        // The same receipt for odd and even: the attacker pays, and the lottery was not played.
        assert_eq!(run.receipts, [EvmReceipt::Forbidden { gas: 400_000 }]);
        assert_eq!(chain.stored(attack, 0), U256::ZERO);
    }
}

/// Test and abort with two transactions: the first gives all money away and gets it back after an odd value, so that
/// only then the second could be paid.
#[test]
fn the_value_does_not_decide_what_is_executed() {
    // If the last bit of the value is 0, STOP; else CALL(gas, caller, balance, 0, 0, 0, 0).
    let code = [op::PREVRANDAO, op::PUSH1, 1, op::AND, op::PUSH1, 8, op::JUMPI, op::STOP];
    let back = [op::JUMPDEST, op::PUSH1, 0, op::PUSH1, 0, op::PUSH1, 0, op::PUSH1, 0];
    let give = [op::SELFBALANCE, op::CALLER, op::GAS, op::CALL, op::STOP];
    let code = [&code[..], &back, &give].concat();
    let gas = U256::from(400_000 * RULES.gas_price);
    for last in 0..4 {
        let mut bytes = VALUE.to_bytes();
        bytes[31] = last;
        let value = Randomness::new(bytes);
        let mut chain = Chain::new();
        let purse = chain.contract(0, 0, &code);
        let lottery = chain.contract(0, 1, &draws());
        // What is left for the second is its gas, or a coin less.
        let mut play = |sender: u64, less: u64| {
            let kept = gas + gas - U256::from(less);
            let first = Envelope {
                declares: true,
                value: chain.account(address(sender)).balance - kept,
                ..envelope(sender, 0, Target::Call(purse))
            };
            let both = vec![sign(sender, first), declared(sender, 1, lottery)];
            chain.block_with(both, value).receipts
        };
        assert!(matches!(
            &play(1, 1)[..],
            [EvmReceipt::Succeeded { .. }, EvmReceipt::Rejected(EvmRejection::Funds)]
        ));
        assert!(matches!(
            &play(2, 0)[..],
            [EvmReceipt::Succeeded { .. }, EvmReceipt::Succeeded { .. }]
        ));
    }
}

/// A contract that gives control away, and reads when it is called back, does not get the value: the
/// contract in between could undo what follows.
#[test]
fn calling_back_does_not_read() {
    let mut chain = Chain::new();
    // Without input it reads, with input it calls the address that the input names.
    let mut code = vec![op::CALLDATASIZE, op::ISZERO, op::PUSH1, 21, op::JUMPI];
    code.extend([op::PUSH1, 0].repeat(6));
    code.extend([op::CALLDATALOAD, op::GAS, op::CALL, op::STOP, op::JUMPDEST]);
    code.extend(draws());
    let contract = chain.contract(0, 0, &code);
    let back = chain.contract(0, 1, &calls(op::CALL, contract, &[op::STOP]));
    let directly = chain.block(vec![declared(1, 0, contract)]);
    assert!(matches!(directly.receipts[0], EvmReceipt::Succeeded { .. }), "{directly:?}");
    let input = Bytes::from([[0; 12].as_slice(), &back.0[..]].concat());
    let around = envelope(1, 1, Target::Call(contract));
    let run = chain.block(vec![sign(1, Envelope { declares: true, input, ..around })]);
    assert_eq!(run.receipts, [EvmReceipt::Forbidden { gas: 400_000 }]);
}

#[test]
fn the_first_frame_may_revert_by_its_own_rule() {
    let mut chain = Chain::new();
    let code = [&[op::PREVRANDAO, op::POP], [op::PUSH1, 0, op::PUSH1, 0, op::REVERT].as_slice()];
    let contract = chain.contract(0, 0, &code.concat());
    let run = chain.block(vec![declared(1, 0, contract)]);
    assert!(matches!(run.receipts[0], EvmReceipt::Reverted { .. }), "{run:?}");
}

#[test]
fn a_declared_transaction_gives_enough_gas_for_every_outcome() {
    let mut chain = Chain::new();
    let contract = chain.contract(0, 0, &draws());
    let starved = Envelope {
        declares: true,
        gas_limit: RULES.declared_gas - 1,
        ..envelope(1, 0, Target::Call(contract))
    };
    let enough = Envelope { gas_limit: RULES.declared_gas, ..starved.clone() };
    let run = chain.block(vec![sign(1, starved), sign(1, enough)]);
    assert_eq!(run.receipts[0], EvmReceipt::Rejected(EvmRejection::DeclaredGas));
    assert!(matches!(run.receipts[1], EvmReceipt::Succeeded { .. }), "{run:?}");
}

#[test]
fn what_is_rejected_changes_nothing() {
    let good = || envelope(0, 0, Target::Call(address(1)));
    let by_another = good().sign(CHAIN, &key(1)).unwrap();
    let elsewhere = good().sign(ChainId::new([8; 32]), &key(0)).unwrap();
    let dear = Envelope { value: U256::from(RICH), ..good() };
    let late = Envelope { expires: Height::new(0), ..good() };
    let ahead = Envelope { nonce: Nonce::new(1), ..good() };
    let cheap = Envelope { most_gas_price: 2, ..good() };
    let tiny = Envelope { gas_limit: 20_999, ..good() };
    let huge = Envelope { gas_limit: RULES.block_gas + 1, ..good() };
    for (one, expected) in [
        (by_another, EvmRejection::Signature),
        (elsewhere, EvmRejection::Signature),
        (sign(0, dear), EvmRejection::Funds),
        (sign(0, late), EvmRejection::Expired),
        (sign(0, ahead), EvmRejection::Nonce { expected: 0 }),
        (sign(0, cheap), EvmRejection::GasPrice),
        (sign(0, tiny), EvmRejection::Unfit),
        (sign(0, huge), EvmRejection::BlockGas),
    ] {
        let mut chain = Chain::new();
        let before = chain.view.state_root();
        let run = chain.block(vec![one]);
        assert_eq!(run.receipts, [EvmReceipt::Rejected(expected)]);
        assert_eq!(chain.view.state_root(), before, "{expected:?}");
        assert!(run.execution.delta.changes().is_empty());
    }
}

#[test]
fn a_block_gives_no_more_gas_than_its_rules() {
    let mut chain = Chain::new();
    let half = |number| {
        let all = envelope(number, 0, Target::Call(address(5)));
        sign(number, Envelope { gas_limit: RULES.block_gas / 2, ..all })
    };
    let run = chain.block(vec![half(0), half(1), call(2, 0, address(5))]);
    assert!(matches!(run.receipts[1], EvmReceipt::Succeeded { .. }), "{run:?}");
    assert_eq!(run.receipts[2], EvmReceipt::Rejected(EvmRejection::BlockGas));
}

#[test]
fn there_is_one_encoding_of_a_transaction() {
    let one = deploy(0, 0, &draws());
    let again = SignedEnvelope::decode(one.bytes()).unwrap();
    assert_eq!(again, one);
    assert_eq!(again.part(), Part::Head);
    let mut bytes = one.bytes().to_vec();
    bytes[98] = 1;
    assert_eq!(SignedEnvelope::decode(&bytes), Err(EnvelopeError::Address));
    bytes[97] = 2;
    assert_eq!(SignedEnvelope::decode(&bytes), Err(EnvelopeError::Mark { at: 97, got: 2 }));
    bytes[97] = 1;
    bytes[0] = 9;
    assert_eq!(SignedEnvelope::decode(&bytes), Err(EnvelopeError::Mark { at: 0, got: 9 }));
    let short = SignedEnvelope::decode(&bytes[..181]);
    assert_eq!(short, Err(EnvelopeError::Length { got: 181 }));
    let long = SignedEnvelope::decode(&[0; (128 << 10) + 1]);
    assert_eq!(long, Err(EnvelopeError::Length { got: (128 << 10) + 1 }));
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.receipts.fmt(f)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: proptest::test_runner::RngSeed::Fixed(23),
        ..ProptestConfig::default()
    })]

    #[test]
    fn money_is_conserved(
        payments in prop::collection::vec((0..6_u64, 0..9_u64, 0..RICH, any::<bool>()), 1..20),
    ) {
        let mut chain = Chain::new();
        let mut nonces = [0; 6];
        let all = payments.iter().map(|(number, to, value, declares)| {
            let nonce = nonces[*number as usize];
            nonces[*number as usize] += u64::from(!declares);
            let value = U256::from(*value);
            let pays = envelope(*number, nonce, Target::Call(address(*to)));
            sign(*number, Envelope { value, declares: *declares, ..pays })
        });
        let all: Vec<SignedEnvelope> = all.collect();
        chain.block(all);
        let balances = (0..9).filter_map(|number| {
            let row = chain.view.get(&account_key(&address(number))).unwrap();
            EvmAccount::from_row(row.as_deref()).unwrap()
        });
        let total = balances.fold(chain.burnt(), |sum, account| sum + account.balance);
        prop_assert_eq!(total, U256::from(6 * RICH));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(one) = SignedEnvelope::decode(&bytes) {
            prop_assert_eq!(one.bytes(), bytes.as_slice());
        }
    }

    /// Whatever the code, the EVM answers, and money is conserved.
    #[test]
    fn any_code_is_executed(code in prop::collection::vec(any::<u8>(), 0..120), declares in any::<bool>()) {
        let mut chain = Chain::new();
        let contract = match &chain.block(vec![deploy(0, 0, &code)]).receipts[0] {
            EvmReceipt::Succeeded { created: Some(address), .. } => Address::new(*address),
            _ => return Ok(()),
        };
        let one = if declares { declared(1, 0, contract) } else { call(1, 0, contract) };
        let run = chain.block(vec![one]);
        prop_assert!(!matches!(run.receipts[0], EvmReceipt::Rejected(_)));
        let known = (0..6).map(address).chain([contract]);
        let balances = known.filter_map(|address| {
            let row = chain.view.get(&account_key(&address)).unwrap();
            EvmAccount::from_row(row.as_deref()).unwrap()
        });
        let total = balances.fold(chain.burnt(), |sum, account| sum + account.balance);
        prop_assert_eq!(total, U256::from(6 * RICH));
    }
}

#[test]
fn a_removed_row_is_found_removed_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let mut store = StateStore::<Evm, Certificate>::create(&path, &genesis()).unwrap();
    let mut chain = Chain { view: store.view().unwrap(), height: 0 };
    let code = [op::PUSH1, 0, op::CALLDATALOAD, op::PUSH1, 0, op::SSTORE, op::STOP];
    let mut write = |chain: &mut Chain, transaction: SignedEnvelope| {
        let parent = chain.view.block();
        let run = chain.block(vec![transaction.clone()]);
        let header = header(chain.height as u8, parent, chain.height);
        store.write_optimistic(&Block::new(header, vec![transaction]), &run.execution).unwrap();
        run
    };
    let run = write(&mut chain, deploy(0, 0, &code));
    let EvmReceipt::Succeeded { created: Some(contract), .. } = run.receipts[0] else {
        panic!("{run:?}")
    };
    let contract = Address::new(contract);
    for (nonce, word) in [(1, 5_u64), (2, 0)] {
        let input = Bytes::from(U256::from(word).to_be_bytes::<32>());
        let stores = envelope(0, nonce, Target::Call(contract));
        write(&mut chain, sign(0, Envelope { input, ..stores }));
    }
    let (last, root) = (chain.view.block(), chain.view.state_root());
    drop((store, chain, run));

    let mut store = StateStore::<Evm, Certificate>::open(&path, &genesis()).unwrap();
    let recovered = store.recover().unwrap();
    assert_eq!(recovered.optimistic.len(), 3);
    let found = recovered.optimistic.iter().find(|one| one.block.header.id == last).unwrap();
    let slot = storage_key(&contract, &U256::ZERO);
    assert_eq!(found.view.state_root(), root);
    assert_eq!(found.view.get(&slot).unwrap(), None);
    let shown = found.view.prove(&slot).unwrap();
    assert_eq!(shown.proof.verify(root, slot, None), Ok(()));
}
