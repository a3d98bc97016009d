//! What speaks against a transaction of the EVM before it is in a block: what no later block could change.
use prefinal_execution::Height;
use prefinal_protocol::ChainId;
use prefinal_state::evm::{Envelope, EvmRejection, Target, U256};
use prefinal_state::transfers::Nonce;

use crate::chain::{CHAIN, key};
use crate::evm;

#[test]
fn an_envelope_that_every_later_block_rejects_is_refused_at_once() {
    let mut chain = evm::Chain::new();
    let to = Target::Call(evm::address(1));
    chain.block(vec![evm::sign(0, evm::envelope(0, 0, to))]);
    let good = || evm::envelope(0, 1, to);
    let at = Height::new(2);
    let check = |one| evm::EVM.check(&chain.view, at, &one).unwrap();
    let of = |change: fn(&mut Envelope)| {
        let mut envelope = good();
        change(&mut envelope);
        check(evm::sign(0, envelope))
    };
    assert_eq!(of(|_| {}), None);

    let by_another = good().sign(CHAIN, &key(1)).unwrap();
    let elsewhere = good().sign(ChainId::new([8; 32]), &key(0)).unwrap();
    assert_eq!(check(by_another), Some(EvmRejection::Signature));
    assert_eq!(check(elsewhere), Some(EvmRejection::Signature));
    assert_eq!(of(|one| one.expires = Height::new(1)), Some(EvmRejection::Expired));
    assert_eq!(of(|one| one.expires = Height::new(2)), None);
    assert_eq!(of(|one| one.nonce = Nonce::new(0)), Some(EvmRejection::Nonce { expected: 1 }));
    assert_eq!(of(|one| one.nonce = Nonce::new(5)), None);
    assert_eq!(of(|one| one.most_gas_price = 2), Some(EvmRejection::GasPrice));
    let declared = |one: &mut Envelope, gas| (one.declares, one.gas_limit) = (true, gas);
    let starved = check({
        let mut one = good();
        declared(&mut one, evm::RULES.declared_gas - 1);
        evm::sign(0, one)
    });
    assert_eq!(starved, Some(EvmRejection::DeclaredGas));
    // Only those that read the value must give so much.
    assert_eq!(of(|one| one.gas_limit = evm::RULES.declared_gas - 1), None);
    assert_eq!(of(|one| one.gas_limit = evm::RULES.block_gas), None);
    let huge = of(|one| one.gas_limit = evm::RULES.block_gas + 1);
    assert_eq!(huge, Some(EvmRejection::BlockGas));
    // The gas alone it could pay.
    let dear = |one: &mut Envelope| one.value = U256::from(evm::RICH - 1_000_000);
    assert_eq!(of(dear), Some(EvmRejection::Funds));
    assert_eq!(of(|one| one.value = U256::MAX), Some(EvmRejection::Funds));
    let mut ahead = good();
    dear(&mut ahead);
    ahead.nonce = Nonce::new(2);
    assert_eq!(check(evm::sign(0, ahead)), None);
}
