//! Validators whose engine runs in another process: this one, which calls the sidecars of all four.
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_home::config::{SidecarAddress, SidecarCarry};
use prefinal_sidecar::proto::prefinalize_response::Outcome;
use prefinal_sidecar::proto::sidecar_client::SidecarClient;
use prefinal_sidecar::proto::{
    Block, FinalizeRequest, OrderRequest, PrefinalizeRequest, ReceiveRequest, StatusRequest,
    StatusResponse, ValuesRequest, values_response,
};
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

use crate::net::Net;

type Client = SidecarClient<Channel>;

/// An engine that makes every block final in its first attempt.
struct Engine {
    clients: Vec<Client>,
    waiting: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    last: u64,
}

/// Connects to a sidecar as soon as it is there, and listens to what it wants to be ordered.
async fn join(socket: &Path, waiting: &Arc<Mutex<BTreeSet<Vec<u8>>>>) -> Client {
    let endpoint = Endpoint::try_from(format!("unix:{}", socket.display())).unwrap();
    let mut client = loop {
        match endpoint.connect().await {
            Ok(channel) => break SidecarClient::new(channel),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let mut orders = client.order(OrderRequest {}).await.unwrap().into_inner();
    let waiting = Arc::clone(waiting);
    tokio::spawn(async move {
        while let Ok(Some(order)) = orders.message().await {
            waiting.lock().unwrap().insert(order.transaction);
        }
    });
    client
}

impl Engine {
    /// The next slot: each casts its vote with what its sidecar gives, all get all votes, and the block is final.
    async fn slot(&mut self) {
        self.last += 1;
        let (slot, value) = (self.last, vec![7; 32]);
        for at in 0..self.clients.len() {
            let vote =
                PrefinalizeRequest { slot, attempt: 0, view_slot: None, value: value.clone() };
            let outcome = self.clients[at].prefinalize(vote).await.unwrap().into_inner().outcome;
            let Some(Outcome::Partial(partial)) = outcome else { continue };
            let carried = ReceiveRequest { from: u32::try_from(at).unwrap(), partial };
            for other in (0..self.clients.len()).filter(|other| *other != at) {
                let taken = self.clients[other].receive(carried.clone()).await.unwrap();
                assert_eq!(taken.into_inner().dropped, None);
            }
        }
        let transactions = std::mem::take(&mut *self.waiting.lock().unwrap());
        let block = Block { value, transactions: transactions.into_iter().collect() };
        let request = FinalizeRequest { slot, block: Some(block) };
        for client in &mut self.clients {
            client.finalize(request.clone()).await.unwrap();
        }
    }

    async fn status(&mut self, at: usize) -> StatusResponse {
        self.clients[at].status(StatusRequest {}).await.unwrap().into_inner()
    }

    /// So many values of a party from a slot on: round and signature.
    async fn values(&mut self, at: usize, from: u64, limit: u64) -> Vec<(u64, String)> {
        let request = ValuesRequest { from_slot: Some(from), limit };
        let mut stream = self.clients[at].values(request).await.unwrap().into_inner();
        let mut values = Vec::new();
        while let Some(value) = stream.message().await.unwrap() {
            assert_eq!(value.slot, from + u64::try_from(values.len()).unwrap());
            let Some(values_response::Outcome::Revealed(shown)) = value.outcome else {
                panic!("slot {} has no value", value.slot)
            };
            values.push((shown.round.unwrap(), hex::encode(shown.signature)));
        }
        values
    }
}

#[test]
fn an_engine_in_another_process_gets_values_from_sidecars_also_after_a_crash() {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(4, &["--pace", "200ms"]);
    let socket = |net: &Net, one| net.home(one).join("engine.sock");
    for one in 0..4 {
        let mut config = net.config(one);
        config.sidecar.listen = Some(SidecarAddress::Unix(socket(&net, one)));
        // Both ways on which partials travel, in one committee.
        config.sidecar.carry = if one < 2 { SidecarCarry::Vote } else { SidecarCarry::Links };
        net.set_config(one, &config);
        net.start(one);
    }
    let waiting = Arc::default();
    let sockets: Vec<_> = (0..4).map(|one| socket(&net, one)).collect();
    let mut engine = runtime.block_on(async {
        let mut clients = Vec::new();
        for socket in &sockets {
            clients.push(join(socket, &waiting).await);
        }
        Engine { clients, waiting: Arc::clone(&waiting), last: 0 }
    });
    let status = runtime.block_on(engine.status(1));
    assert_eq!(
        (status.party, status.parties, status.last_final, status.next_final),
        (1, 4, None, 1)
    );
    // The engine's blocks are as fast as the dealings come.
    while !(0..4).all(|one| net.has_key(one)) {
        runtime.block_on(engine.slot());
        std::thread::sleep(Duration::from_millis(200));
    }
    let first = net.status(0).unwrap()["key"][1].as_u64().unwrap();
    while engine.last < first + 9 {
        runtime.block_on(engine.slot());
    }
    let shown: Vec<_> = (0..4).map(|one| runtime.block_on(engine.values(one, first, 10))).collect();
    assert_eq!(shown[0].len(), 10);
    assert!(shown.iter().all(|values| *values == shown[0]), "{shown:?}");

    // One of the four is killed; its engine connects again and goes on where it was.
    net.kill(2);
    net.start(2);
    engine.clients[2] = runtime.block_on(join(&sockets[2], &waiting));
    let status = runtime.block_on(engine.status(2));
    assert_eq!((status.next_final, status.stopped), (engine.last + 1, None));
    (0..3).for_each(|_| runtime.block_on(engine.slot()));
    assert_eq!(runtime.block_on(engine.values(2, first + 10, 3)).len(), 3);
    net.wait("all have the last value", |net| (0..4).all(|one| net.head(one) > engine.last));
    // What `prefinal export` says, and `prefinal verify` checks, is what the engine was told.
    let (_, rounds) = net.agree(&[0, 1, 2, 3]);
    assert!(rounds >= 13, "{rounds}");
    let (_, exported) = net.values(2);
    for (round, signature) in &shown[0] {
        assert_eq!(exported.get(round), Some(signature));
    }
}
