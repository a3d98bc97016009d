//! Streams whose readers are slow, too many, or come back.
use std::num::NonZeroUsize;

use prefinal_beacon::Slot;
use prefinal_crypto_core::context::EpochId;
use prefinal_sidecar::proto::{CommitteesRequest, OrderRequest, ValuesRequest, ValuesResponse};
use tonic::{Code, Status, Streaming};

use crate::committee::{Client, Committee, WORLD};
use crate::engine::{Engine, finalize};
use crate::{codes, first_slot};

/// What the ring of values has room for.
const ROOM: u64 = 8;

fn small() -> Committee {
    Committee::configured(|options| {
        options.values = NonZeroUsize::new(usize::try_from(ROOM).unwrap()).unwrap();
        options.streams = NonZeroUsize::new(3).unwrap();
    })
}

async fn values(client: &mut Client, from_slot: Option<u64>) -> Streaming<ValuesResponse> {
    let request = ValuesRequest { from_slot, limit: 0 };
    client.values(request).await.unwrap().into_inner()
}

async fn slot(stream: &mut Streaming<ValuesResponse>) -> Result<u64, Status> {
    Ok(stream.message().await?.expect("streams end with a reason").slot)
}

/// So many slots that what a connection holds is full long before the end: the reader does not read, and
/// everybody else goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_ended_and_holds_nobody_up() {
    let committee = small();
    let mut client = committee.client(0).await;
    let feed = &committee.nodes[0].feed;
    let mut slow = values(&mut client, Some(1)).await;
    feed.skipped(Slot::new(1));
    assert_eq!(slot(&mut slow).await.unwrap(), 1);
    let last = 400_000;
    (2..=last).for_each(|slot| feed.skipped(Slot::new(slot)));
    let mut quick = values(&mut client, Some(last)).await;
    assert_eq!(slot(&mut quick).await.unwrap(), last);
    let mut next = 2;
    let why = loop {
        match slot(&mut slow).await {
            Ok(slot) => assert_eq!(slot, next, "no slot is left out without a word"),
            Err(why) => break why,
        }
        next += 1;
    };
    assert!(next < last, "it was slow");
    assert_eq!(codes(&why), (Code::OutOfRange, "slots-forgotten"));
    // It fell behind while slots came in, so it asks twice.
    assert!(first_slot(&why) > next);
    let behind = values(&mut client, Some(first_slot(&why))).await.message().await;
    let first = behind.map_or_else(|why| first_slot(&why), |value| value.unwrap().slot);
    let mut again = values(&mut client, Some(first)).await;
    for next in first..=last {
        assert_eq!(slot(&mut again).await.unwrap(), next);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_begins_where_it_is_asked_to() {
    let committee = small();
    let mut client = committee.client(0).await;
    let feed = &committee.nodes[0].feed;
    let mut waits = values(&mut client, Some(14)).await;
    let mut new = values(&mut client, None).await;
    let mut left = values(&mut client, None).await;
    feed.skipped(Slot::new(5));
    assert_eq!(slot(&mut new).await.unwrap(), 5);
    (6..=15).for_each(|slot| feed.skipped(Slot::new(slot)));
    assert_eq!(slot(&mut waits).await.unwrap(), 14);
    drop(new);
    // A reader that was to have the next one has it, or hears that it is gone.
    match slot(&mut left).await {
        Ok(slot) => assert_eq!(slot, 5),
        Err(why) => assert_eq!(codes(&why), (Code::OutOfRange, "slots-forgotten")),
    }
    drop(left);
    let old = values(&mut client, Some(7)).await.message().await.unwrap_err();
    assert_eq!((codes(&old), first_slot(&old)), ((Code::OutOfRange, "slots-forgotten"), 8));
    assert_eq!(slot(&mut values(&mut client, Some(8)).await).await.unwrap(), 8);
    let request = ValuesRequest { from_slot: Some(14), limit: 2 };
    let mut two = client.values(request).await.unwrap().into_inner();
    assert_eq!((slot(&mut two).await.unwrap(), slot(&mut two).await.unwrap()), (14, 15));
    assert_eq!(two.message().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_only_so_many_streams_and_a_closed_one_makes_room() {
    let committee = small();
    let mut client = committee.client(0).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(values(&mut client, None).await);
    }
    let refused = client.order(OrderRequest {}).await.unwrap_err();
    assert_eq!(codes(&refused), (Code::ResourceExhausted, "too-many-streams"));
    drop(open);
    let room = async {
        while client.order(OrderRequest {}).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    room.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_come_again_until_they_are_ordered() {
    let mut engine = Engine::new().await;
    let feed = engine.committee.nodes[0].feed.clone();
    let mut client = engine.committee.client(0).await;
    let mut orders = client.order(OrderRequest {}).await.unwrap().into_inner();
    let dealing = orders.message().await.unwrap().unwrap();
    feed.submit(EpochId::new(0), b"one more").unwrap();
    assert_eq!(orders.message().await.unwrap().unwrap().transaction, b"one more");
    // Both are there for a reader that asks later.
    let mut again = client.order(OrderRequest {}).await.unwrap().into_inner();
    assert_eq!(again.message().await.unwrap().unwrap(), dealing);
    assert_eq!(again.message().await.unwrap().unwrap().transaction, b"one more");
    let mut request = finalize(1);
    if let Some(block) = &mut request.block {
        block.transactions = vec![b"the chain's own".to_vec(), dealing.transaction];
    }
    engine.clients[0].finalize(request).await.unwrap();
    let mut left = client.order(OrderRequest {}).await.unwrap().into_inner();
    assert_eq!(left.message().await.unwrap().unwrap().transaction, b"one more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committees_are_told_with_their_first_slots() {
    let committee = Committee::new();
    let mut client = committee.client(0).await;
    let all = CommitteesRequest { from_slot: None };
    let mut told = client.committees(all).await.unwrap().into_inner();
    let first = told.message().await.unwrap().unwrap();
    assert_eq!((first.epoch, first.first_slot, first.members.len()), (0, 1, 4));
    let members = first.members.iter().zip(&WORLD.setup.members).zip(&WORLD.setup.ed25519);
    for ((told, member), ed25519) in members {
        assert_eq!(told.stake, member.stake.get().to_string());
        assert_eq!(
            (&told.bls[..], &told.ed25519[..]),
            (&member.key.get().to_bytes()[..], &ed25519[..])
        );
    }
    // The next one is told ahead of its first slot, and may be asked for by any slot of it.
    let mut next = (*WORLD.setup).clone();
    next.context.epoch = EpochId::new(1);
    committee.nodes[0].feed.prepare(&next, Slot::new(50));
    let second = told.message().await.unwrap().unwrap();
    assert_eq!((second.epoch, second.first_slot), (1, 50));
    for (slot, epoch) in [(49, 0), (50, 1), (1000, 1)] {
        let from = CommitteesRequest { from_slot: Some(slot) };
        let mut told = client.committees(from).await.unwrap().into_inner();
        assert_eq!(told.message().await.unwrap().unwrap().epoch, epoch, "slot {slot}");
    }
}
