//! Decided blocks on a disk that lies, and what others may be shown of them.
use std::fs;
use std::path::Path;

use malachitebft_core_types::{CommitCertificate, NilOrVal, Round, SignedMessage, VoteType};
use prefinal_malachite::{Address, Block, Height, Validators, Vote};
use prefinal_malachite_app::{App, StartError, Store, StoreError, VerifyError, verify};
use prefinal_protocol::{ChainId, Party};
use redb::{Database, ReadableTable as _, TableDefinition};
use tempfile::TempDir;

use crate::host::{Plan, TestHost};
use crate::runs::{options, ports, within};

const DECIDED: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("decided");

/// A file with two decisions, of a party that is the whole committee.
async fn written(home: &Path) -> Plan {
    let plan = Plan::equal(1);
    let host = TestHost::new(0, &plan, home);
    let log = host.log.clone();
    let app = App::start(options(&plan, 0, home, &ports(1)), host).await.unwrap();
    within(log.reach(2)).await;
    within(app.stop()).await.unwrap();
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_or_foreign_file_is_refused() {
    let home = TempDir::new().unwrap();
    let plan = written(home.path()).await;
    let file = home.path().join("decided.redb");
    let store = Store::open(&file, plan.chain).unwrap();
    assert!(matches!(Store::open(&file, plan.chain), Err(StoreError::Busy)));
    let last = store.last().unwrap().unwrap();
    assert_eq!(store.first().unwrap(), Some(Height::new(1)));
    assert_eq!(store.range(Height::new(1)..=last, 2).unwrap().len(), 2);
    #[allow(clippy::reversed_empty_ranges, reason = "what a peer asks")]
    let none = store.range(last..=Height::new(1), 2).unwrap();
    assert!(none.is_empty());
    drop(store);

    let other = Store::open(&file, ChainId::new([9; 32]));
    assert!(matches!(other, Err(StoreError::Foreign)), "{other:?}");

    // One bit of a record.
    let change = |height: u64, change: &dyn Fn(&mut Vec<u8>)| {
        let database = Database::open(&file).unwrap();
        let transaction = database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(DECIDED).unwrap();
            let mut value = table.get(height).unwrap().unwrap().value().to_vec();
            change(&mut value);
            table.insert(height, &*value).unwrap();
        }
        transaction.commit().unwrap();
    };
    change(1, &|value| value[60] ^= 1);
    let store = Store::open(&file, plan.chain).unwrap();
    let record = |height| matches!(store.get(Height::new(height)), Err(StoreError::Record { .. }));
    assert!(record(1) && !record(2));
    assert!(store.range(Height::new(1)..=last, 9).is_err());
    drop(store);
    change(last.get(), &|value| value.truncate(31));
    let error = Store::open(&file, plan.chain).unwrap_err();
    assert!(matches!(error, StoreError::Record { height } if height == last), "{error}");

    for text in ["no store", &"x".repeat(1 << 16)] {
        fs::write(&file, text).unwrap();
        let host = TestHost::new(0, &plan, home.path());
        let error = App::start(options(&plan, 0, home.path(), &ports(1)), host).await.unwrap_err();
        assert!(
            matches!(error, StartError::Store(StoreError::Damaged { .. })),
            "{error} {:?}",
            std::error::Error::source(&error)
        );
    }
}

fn signed(
    plan: &Plan,
    block: &Block,
    voters: &[u32],
) -> CommitCertificate<prefinal_malachite::Tendermint> {
    let height = block.height();
    let votes = voters.iter().map(|voter| {
        let vote = Vote {
            kind: VoteType::Precommit,
            height,
            round: Round::ZERO,
            value: NilOrVal::Val(block.id()),
            voter: Address::new(Party::new(*voter)),
            extension: None,
        };
        let signature = plan.key(*voter).sign_vote(&plan.validators(height), &vote);
        SignedMessage::new(vote, signature)
    });
    CommitCertificate::new(height, Round::ZERO, block.id(), votes.collect())
}

#[test]
fn an_outsider_believes_a_quorum_and_nothing_less() {
    let plan = Plan::equal(4);
    let height = Height::new(3);
    let validators: Validators = plan.validators(height);
    let block = Block::new(height, vec![vec![1, 2, 3].into()]);
    let certificate = signed(&plan, &block, &[0, 2, 3]);
    verify(&validators, &certificate, &block).unwrap();

    let certificate_error =
        |result: &Result<(), _>| matches!(result, Err(VerifyError::Certificate(_)));
    assert!(certificate_error(&verify(&validators, &signed(&plan, &block, &[0, 2]), &block)));
    assert!(certificate_error(&verify(&validators, &signed(&plan, &block, &[0, 2, 2]), &block)));
    let mut forged = certificate.clone();
    forged.commit_signatures[0].signature = forged.commit_signatures[1].signature;
    assert!(certificate_error(&verify(&validators, &forged, &block)));
    let mut later = certificate.clone();
    later.round = Round::new(1);
    assert!(certificate_error(&verify(&validators, &later, &block)));

    let other = Block::new(height, vec![vec![1, 2, 4].into()]);
    assert_eq!(verify(&validators, &certificate, &other), Err(VerifyError::Block));
    let mut moved = certificate;
    moved.height = height.next();
    assert!(matches!(verify(&validators, &moved, &block), Err(VerifyError::Height { .. })));
    let others = Plan { chain: ChainId::new([8; 32]), ..plan.clone() };
    let foreign = signed(&others, &block, &[0, 1, 2, 3]);
    assert!(certificate_error(&verify(&validators, &foreign, &block)));
}
