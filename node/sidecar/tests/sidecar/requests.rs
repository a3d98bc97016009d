//! Votes without partials, and requests that are out of order, too long, garbled, or left alone.
use prefinal_sidecar::proto::prefinalize_response::Outcome;
use prefinal_sidecar::proto::{
    AbandonRequest, Block, FinalizeRequest, Path, PrefinalizeRequest, ReceiveRequest,
    StatusRequest, StatusResponse, Withheld,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use crate::codes;
use crate::committee::{Client, Committee, Disk, WORLD};
use crate::engine::{Engine, VALUE, finalize, verify, vote};

/// First attempts release early, second attempts do not; the values are there all the same, and right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_committee_whose_engine_knows_sidecars_only_has_values_on_both_paths() {
    let mut engine = Engine::new().await;
    let first = engine.make_keys().await;
    let (second, last) = ([11, 14], 16);
    for slot in 9..=last {
        let is_second = second.contains(&slot);
        let outcomes = engine.order(slot, u32::from(is_second)).await;
        for outcome in outcomes {
            match outcome {
                Outcome::Partial(_) => assert!(!is_second, "slot {slot}"),
                Outcome::Withheld(why) => assert_eq!((is_second, &*why.code), (true, "other-view")),
                Outcome::Sent(_) => panic!("partials travel in votes"),
            }
        }
    }
    let mut parties = Vec::new();
    for at in 0..engine.clients.len() {
        parties.push(engine.values(at, last).await);
    }
    verify(&parties, first, last);
    for (slot, shown) in parties.iter().flatten().filter(|(slot, _)| **slot > 9) {
        let path = if second.contains(slot) { Path::Slow } else { Path::Fast };
        assert_eq!((slot, shown.path), (slot, path));
    }
}

/// The partials go over the links, and the engine hears that its vote may leave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_carry_the_partials_itself() {
    use std::sync::Mutex;
    static SENT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    let committee = Committee::configured(|options| {
        let send = |message| SENT.lock().unwrap().push(borsh::to_vec(&message).unwrap());
        options.carry = prefinal_sidecar::PartialCarrier::Links(std::sync::Arc::new(send));
    });
    let mut engine = Engine::around(committee).await;
    engine.make_keys().await;
    SENT.lock().unwrap().clear();
    let outcomes = engine.order(9, 0).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Sent(_))), "{outcomes:?}");
    let sent = std::mem::take(&mut *SENT.lock().unwrap());
    assert_eq!(sent.len(), 4);
    let peer = ReceiveRequest { from: 0, partial: sent[0].clone() };
    assert_eq!(engine.clients[1].receive(peer).await.unwrap().into_inner().dropped, None);
}

async fn withheld(client: &mut Client, vote: PrefinalizeRequest) -> String {
    match client.prefinalize(vote).await.unwrap().into_inner().outcome {
        Some(Outcome::Withheld(why)) => why.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vote_that_the_contract_objects_to_leaves_without_a_partial() {
    let mut engine = Engine::new().await;
    let client = &mut engine.clients[0];
    assert_eq!(withheld(client, vote(1, 0)).await, "no-keys-yet");
    engine.make_keys().await;
    let client = &mut engine.clients[0];
    assert_eq!(withheld(client, vote(8, 0)).await, "slot-finished");
    assert_eq!(withheld(client, vote(9, 1)).await, "other-view");
    let implied = PrefinalizeRequest { view_slot: Some(10), ..vote(9, 0) };
    assert_eq!(withheld(client, implied).await, "implicit-vote");
    let released = client.prefinalize(vote(9, 0)).await.unwrap().into_inner();
    assert!(matches!(released.outcome, Some(Outcome::Partial(_))), "{released:?}");
    let other = PrefinalizeRequest { value: vec![8; 32], ..vote(9, 0) };
    assert_eq!(withheld(client, other).await, "released-otherwise");
    client.abandon(AbandonRequest { slot: 12, attempt: 0 }).await.unwrap();
    assert_eq!(withheld(client, vote(12, 0)).await, "view-given-up");
    let later = client.prefinalize(vote(13, 0)).await.unwrap().into_inner();
    assert!(matches!(later.outcome, Some(Outcome::Partial(_))), "{later:?}");
}

async fn refused(client: &mut Client, request: FinalizeRequest) -> (Code, String) {
    let status = client.finalize(request).await.unwrap_err();
    let (status, code) = codes(&status);
    (status, code.to_owned())
}

/// A participant that heard of a gap would stop for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_come_in_order_and_once() {
    let mut engine = Engine::new().await;
    let client = &mut engine.clients[0];
    let gap = (Code::FailedPrecondition, "slot-gap".to_owned());
    assert_eq!(refused(client, finalize(2)).await, gap);
    assert_eq!(refused(client, finalize(u64::MAX)).await, gap);
    client.finalize(finalize(1)).await.unwrap();
    client.finalize(finalize(1)).await.unwrap();
    assert_eq!(refused(client, finalize(3)).await, gap);
    let second = (Code::FailedPrecondition, "final-twice".to_owned());
    let other = FinalizeRequest { slot: 1, block: None };
    assert_eq!(refused(client, other).await, second);
    client.finalize(FinalizeRequest { slot: 2, block: None }).await.unwrap();
    client.finalize(FinalizeRequest { slot: 2, block: None }).await.unwrap();
    assert_eq!(refused(client, finalize(2)).await, second);
    let status = client.status(StatusRequest {}).await.unwrap().into_inner();
    assert_eq!((status.last_final, status.next_final, status.party), (Some(2), 3, 0));
    assert_eq!((&*status.chain, status.parties), (&WORLD.setup.context.chain.as_bytes()[..], 4));
    assert_eq!(status.stopped, None);
}

/// After a restart the beacon's records are what a second report is compared with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_value_is_noticed_after_a_restart() {
    let mut engine = Engine::new().await;
    engine.make_keys().await;
    engine.committee.crash(1).await;
    let mut client = engine.committee.client(1).await;
    client.finalize(finalize(8)).await.unwrap();
    let second = (Code::FailedPrecondition, "final-twice".to_owned());
    assert_eq!(refused(&mut client, FinalizeRequest { slot: 8, block: None }).await, second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_malformed_is_refused_and_harms_nobody() {
    let committee = Committee::configured(|options| options.max_block_bytes = 1000);
    let mut client = committee.client(0).await;
    let wrong = (Code::InvalidArgument, "wrong-length");
    for length in [0, 31, 33] {
        let short = PrefinalizeRequest { value: vec![1; length], ..vote(1, 0) };
        assert_eq!(codes(&client.prefinalize(short).await.unwrap_err()), wrong);
        let block = Block { value: vec![1; length], transactions: Vec::new() };
        let short = FinalizeRequest { slot: 1, block: Some(block) };
        assert_eq!(codes(&client.finalize(short).await.unwrap_err()), wrong);
    }
    let block = |each: usize| {
        let transactions = vec![vec![0; each]; 2];
        FinalizeRequest { slot: 1, block: Some(Block { value: VALUE.to_vec(), transactions }) }
    };
    let long = client.finalize(block(501)).await.unwrap_err();
    assert_eq!(codes(&long), (Code::InvalidArgument, "too-long"));
    // It is not even read.
    let long = client.finalize(block(1 << 20)).await.unwrap_err();
    assert_eq!(codes(&long), (Code::OutOfRange, ""), "{long}");
    client.finalize(block(500)).await.unwrap();
}

/// Bytes of a peer: the engine's call is right, whatever they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_peer_sends_is_its_own_fault() {
    let mut engine = Engine::new().await;
    engine.make_keys().await;
    let outcome = engine.clients[0].prefinalize(vote(9, 0)).await.unwrap().into_inner().outcome;
    let Some(Outcome::Partial(partial)) = outcome else { panic!("{outcome:?}") };
    let client = &mut engine.clients[1];
    let long = [&partial[..], &[0]].concat();
    let cut = partial[..partial.len() - 1].to_vec();
    for garbled in [Vec::new(), vec![0xff; 100], long, cut] {
        let answer = client.receive(ReceiveRequest { from: 0, partial: garbled }).await.unwrap();
        let dropped = answer.into_inner().dropped.unwrap();
        assert_eq!((&*dropped.code, dropped.peer_fault), ("malformed-message", true));
    }
    let stranger = ReceiveRequest { from: 4, partial: partial.clone() };
    let dropped = client.receive(stranger).await.unwrap().into_inner().dropped.unwrap();
    assert_eq!((&*dropped.code, dropped.peer_fault), ("not-a-member", true));
    let right = ReceiveRequest { from: 0, partial };
    assert_eq!(client.receive(right).await.unwrap().into_inner().dropped, None);
}

/// Another message under the name of a call, as a client with another description would send it.
async fn send<M: prost::Message + Default + 'static>(
    committee: &Committee,
    call: &'static str,
    message: M,
) -> Result<StatusResponse, Status> {
    let endpoint = format!("unix:{}", committee.socket(0).display());
    let channel = tonic::transport::Endpoint::try_from(endpoint).unwrap().connect().await.unwrap();
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let codec = ProstCodec::<M, StatusResponse>::default();
    let path = PathAndQuery::from_static(call);
    Ok(grpc.unary(Request::new(message), path, codec).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbled_requests_end_alone() {
    let committee = Committee::new();
    let mut client = committee.client(0).await;
    // A text where a slot's number is.
    let garbled = Withheld { code: "x".to_owned(), reason: "y".to_owned() };
    let call = "/prefinal.sidecar.v1.Sidecar/Prefinalize";
    let refused = send(&committee, call, garbled.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Internal, "{refused}");
    let unknown = send(&committee, "/prefinal.sidecar.v1.Sidecar/Vote", garbled.clone()).await;
    assert_eq!(unknown.unwrap_err().code(), Code::Unimplemented);
    let version = send(&committee, "/prefinal.sidecar.v2.Sidecar/Status", garbled.clone()).await;
    assert_eq!(version.unwrap_err().code(), Code::Unimplemented);
    // Fields of a later release are ignored.
    send(&committee, "/prefinal.sidecar.v1.Sidecar/Status", garbled).await.unwrap();
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096]] {
        let mut raw = UnixStream::connect(committee.socket(0)).await.unwrap();
        raw.write_all(nonsense).await.unwrap();
        // It says why, or not; the connection is closed.
        drop(raw.read_to_end(&mut Vec::new()).await);
    }
    assert_eq!(client.status(StatusRequest {}).await.unwrap().into_inner().next_final, 1);
}

/// Clients go away while their calls hang at the disk. What they asked for is done, and no place stays taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_vanishes_takes_nothing_with_it() {
    let one = |options: &mut prefinal_sidecar::Options<_>| {
        options.calls = std::num::NonZeroUsize::MIN;
        options.connections = std::num::NonZeroUsize::new(3).unwrap();
    };
    let mut engine = Engine::around(Committee::configured(one)).await;
    engine.make_keys().await;
    let journal = engine.committee.nodes[0].journal.clone();
    for slot in 9..=11 {
        journal.set(Disk::Hangs);
        let mut client = engine.committee.client(0).await;
        let call = tokio::spawn(async move { client.prefinalize(vote(slot, 0)).await });
        let hanging = journal.clone();
        tokio::task::spawn_blocking(move || hanging.wait_for_a_call()).await.unwrap();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        journal.set(Disk::Works);
        let writing = journal.clone();
        tokio::task::spawn_blocking(move || writing.wait_for_rest()).await.unwrap();
    }
    for slot in 9..=11 {
        // The first answer stands, though nobody has read it.
        let other = PrefinalizeRequest { value: vec![8; 32], ..vote(slot, 0) };
        assert_eq!(withheld(&mut engine.clients[0], other).await, "released-otherwise");
        let mut client = engine.committee.client(0).await;
        let again = client.prefinalize(vote(slot, 0)).await.unwrap().into_inner();
        assert!(matches!(again.outcome, Some(Outcome::Partial(_))), "{again:?}");
    }
}
