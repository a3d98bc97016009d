//! What certificates of states sign. Those of values alone are in `prefinal_beacon`.
use prefinal_crypto_core::bls::{SecretKey, min_sig};
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::secret::Secret;
use prefinal_protocol::Value;
use serde::Deserialize;

use super::{array, bytes, load};

#[derive(Deserialize)]
struct File {
    secret: String,
    key: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    chain: String,
    epoch: String,
    slot: String,
    value: String,
    root: Option<String>,
    message: String,
    signature: String,
    #[serde(rename = "threshold signature")]
    threshold_signature: String,
}

#[test]
fn statements_of_states_are_what_the_model_signs() {
    let file: File = load(include_str!("../../vectors/model/statements.json"));
    let key = SecretKey::from_secret_bytes(&Secret::new(array(&file.secret))).unwrap();
    let case = file.cases.iter().find(|case| case.root.is_some()).unwrap();
    let root = array(case.root.as_deref().unwrap());
    let context = Context {
        chain: ChainId::new(array(&case.chain)),
        epoch: EpochId::new(case.epoch.parse().unwrap()),
    };
    let (slot, value) = (Slot::new(case.slot.parse().unwrap()), Value::new(array(&case.value)));
    let statement = StateStatement { context, slot, value, root };
    assert_eq!(hex::encode(statement.to_bytes()), case.message);
    let vote: min_sig::Signature = key.sign(StateStatement::DOMAIN, &statement.to_bytes());
    assert_eq!(hex::encode(vote.to_bytes()), case.signature);
    let group = min_sig::PublicKey::from_bytes(&bytes(&file.key)).unwrap();
    let together = min_sig::Signature::from_bytes(&bytes(&case.threshold_signature)).unwrap();
    assert_eq!(statement.verify_threshold(&group, &together), Ok(()));
    assert!(statement.verify_threshold(&group, &vote).is_err());
}
