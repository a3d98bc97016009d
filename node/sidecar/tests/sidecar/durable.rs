//! Answers follow records: crashes behind every call, and disks that hang or break.
use std::time::Duration;

use prefinal_sidecar::proto::prefinalize_response::Outcome;
use prefinal_sidecar::proto::{AbandonRequest, StatusRequest, ValuesRequest};
use tonic::Code;

use crate::codes;
use crate::committee::{Committee, Disk};
use crate::engine::{Call, Crash, Engine, finalize, verify, vote};

/// How long an answer may take to come although it must not: nothing depends on it when all is well.
const A_WHILE: Duration = Duration::from_millis(300);

/// Orders slots with crashes and verifies what everybody has. Gives what leaves with the votes in the first
/// slots behind the keys.
async fn crashes(crashes: &[Crash]) -> Vec<Vec<Outcome>> {
    let mut engine = Engine::new().await;
    engine.crashes = crashes.to_vec();
    let first = engine.make_keys().await;
    let last = 14;
    let mut outcomes = Vec::new();
    for slot in 9..=last {
        outcomes.push(engine.order(slot, u32::from(slot == 10)).await);
    }
    assert!(engine.crashes.is_empty(), "{:?}", engine.crashes);
    let mut parties = Vec::new();
    for at in 0..engine.clients.len() {
        parties.push(engine.values(at, last).await);
    }
    verify(&parties, first, last);
    outcomes
}

/// The partial is the same again, and what was given up, received or final stays so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_behind_any_answer_changes_no_answer() {
    let calls = [Call::Prefinalize, Call::Abandon, Call::Receive, Call::Finalize];
    let due: Vec<_> = (9..).zip(calls).map(|(slot, call)| Crash { slot, call }).collect();
    let outcomes = crashes(&due).await;
    assert!(outcomes[0].iter().all(|outcome| matches!(outcome, Outcome::Partial(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_while_keys_are_made_changes_no_answer() {
    let calls = [Call::Finalize, Call::Finalize, Call::Prefinalize, Call::Finalize];
    let due: Vec<_> = (1..).zip(calls).map(|(slot, call)| Crash { slot, call }).collect();
    crashes(&due).await;
}

/// The journal's disk hangs: no vote may leave, and the partial is not known to anybody. Then it works again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_comes_before_its_record_is_on_the_disk() {
    let mut engine = Engine::new().await;
    engine.make_keys().await;
    let journal = engine.committee.nodes[1].journal.clone();
    let (before, client) = (journal.left().durable(), engine.clients[1].clone());
    for call in [Call::Prefinalize, Call::Abandon, Call::Finalize] {
        journal.set(Disk::Hangs);
        let mut client = client.clone();
        let answer = tokio::spawn(async move {
            match call {
                Call::Abandon => {
                    drop(client.abandon(AbandonRequest { slot: 10, attempt: 0 }).await)
                }
                Call::Finalize => drop(client.finalize(finalize(9)).await.unwrap()),
                _ => {
                    let answer = client.prefinalize(vote(9, 0)).await.unwrap().into_inner();
                    assert!(matches!(answer.outcome, Some(Outcome::Partial(_))), "{answer:?}");
                }
            }
        });
        let hanging = journal.clone();
        tokio::task::spawn_blocking(move || hanging.wait_for_a_call()).await.unwrap();
        tokio::time::sleep(A_WHILE).await;
        assert!(!answer.is_finished(), "{call:?} is answered before it is on record");
        journal.set(Disk::Works);
        answer.await.unwrap();
    }
    assert!(journal.left().durable() >= before + 3);
}

/// Nothing that was not on the disk is answered, nothing is taken any more, and everybody is told why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_disk_stops_the_sidecar() {
    let mut engine = Engine::new().await;
    engine.make_keys().await;
    let client = &mut engine.clients[1];
    let before = client.status(StatusRequest {}).await.unwrap().into_inner();
    let values = client.values(ValuesRequest { from_slot: None, limit: 0 }).await.unwrap();
    engine.committee.nodes[1].journal.set(Disk::Breaks);
    let refused = (Code::FailedPrecondition, "input-output");
    let lost = client.prefinalize(vote(9, 0)).await.unwrap_err();
    assert_eq!(codes(&lost), refused);
    assert!(lost.message().contains("the disk is gone"), "{lost}");
    engine.committee.nodes[1].journal.set(Disk::Works);
    for refusal in [
        client.prefinalize(vote(9, 0)).await.map(drop),
        client.finalize(finalize(9)).await.map(drop),
        client.abandon(AbandonRequest { slot: 9, attempt: 0 }).await.map(drop),
        client.receive(prefinal_sidecar::proto::ReceiveRequest::default()).await.map(drop),
        values.into_inner().message().await.map(drop),
    ] {
        assert_eq!(codes(&refusal.unwrap_err()), refused);
    }
    // A new stream ends as well, behind what is known.
    let from = ValuesRequest { from_slot: Some(0), limit: 0 };
    let mut again = client.values(from).await.unwrap().into_inner();
    let why = loop {
        match again.message().await {
            Ok(value) => assert!(value.is_some(), "it ends without a reason"),
            Err(why) => break why,
        }
    };
    assert_eq!(codes(&why), refused);
    let after = client.status(StatusRequest {}).await.unwrap().into_inner();
    assert_eq!(after.stopped.unwrap().code, "input-output");
    assert_eq!((after.last_final, after.head), (before.last_final, before.head));
}

/// An operator stops the process: clients may come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_was_shut_down_is_unavailable() {
    let committee = Committee::new();
    let mut client = committee.client(0).await;
    let orders = client.order(prefinal_sidecar::proto::OrderRequest {}).await.unwrap();
    committee.nodes[0].driver.shut_down().unwrap();
    let gone = client.finalize(finalize(1)).await.unwrap_err();
    assert_eq!(codes(&gone), (Code::Unavailable, "shut-down"));
    let mut orders = orders.into_inner();
    // Its dealing is still there to be read.
    assert!(orders.message().await.unwrap().is_some());
    assert_eq!(codes(&orders.message().await.unwrap_err()), (Code::Unavailable, "shut-down"));
}
