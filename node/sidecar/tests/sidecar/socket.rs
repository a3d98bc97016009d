//! Who may have the socket, and who may use it.
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use prefinal_sidecar::proto::sidecar_client::SidecarClient;
use prefinal_sidecar::proto::{OrderRequest, StatusRequest, ValuesRequest};
use prefinal_sidecar::{Endpoint, EndpointError, ListenError, Listener, Options, Sidecar};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tonic::Code;

use crate::codes;
use crate::committee::{Committee, WORLD, connect};

fn place() -> (TempDir, Endpoint, std::path::PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("engine.sock");
    (folder, Endpoint::Unix(path.clone()), path)
}

#[tokio::test]
async fn a_socket_is_this_users_and_one_process_has_it() {
    let (_folder, endpoint, path) = place();
    let listener = Listener::bind(&endpoint).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = Listener::bind(&endpoint).unwrap_err();
    assert!(matches!(second, ListenError::InUse(_)), "{second}");
    // The second did no harm to the first.
    assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
    drop(listener);
    assert!(!path.exists());
    Listener::bind(&endpoint).unwrap();
}

/// The first holds the lock although its socket was taken away.
#[tokio::test]
async fn a_second_process_is_refused_though_the_socket_is_gone() {
    let (_folder, endpoint, path) = place();
    let listener = Listener::bind(&endpoint).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Listener::bind(&endpoint), Err(ListenError::InUse(_))));
    // What stands in its place now is not the first one's to remove.
    let other = UnixListener::bind(&path).unwrap();
    drop(listener);
    assert!(path.exists());
    drop(other);
}

#[tokio::test]
async fn what_a_dead_process_left_is_replaced_and_nothing_else_is() {
    let (_folder, endpoint, path) = place();
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Listener::bind(&endpoint).unwrap());
    let alive = UnixListener::bind(&path).unwrap();
    let refused = Listener::bind(&endpoint).unwrap_err();
    assert!(matches!(refused, ListenError::InUse(_)), "{refused}");
    drop(alive);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "precious").unwrap();
    let refused = Listener::bind(&endpoint).unwrap_err();
    assert!(matches!(refused, ListenError::NotSocket(_)), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let nowhere = Endpoint::Unix(path.join("below/a/file"));
    assert!(matches!(Listener::bind(&nowhere), Err(ListenError::System { .. })));
}

#[tokio::test]
async fn only_the_loopback_is_listened_on() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let endpoint = Endpoint::Tcp(open.parse().unwrap());
        let refused = Listener::bind(&endpoint).unwrap_err();
        let is_open = matches!(refused, ListenError::Endpoint(EndpointError::NotLoopback(_)));
        assert!(is_open, "{refused}");
    }
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let second = Listener::bind(listener.endpoint()).unwrap_err();
    assert!(matches!(second, ListenError::InUse(_)), "{second}");
}

/// Over the loopback; then the process is told to stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sidecar_that_is_told_to_stop_ends_its_streams_and_frees_its_socket() {
    let committee = Committee::new();
    let driver = committee.nodes[0].driver.clone();
    let options = Options::new(&WORLD.setup, Some(0));
    let (sidecar, feed) = Sidecar::new(driver.clone(), &WORLD.setup, options).unwrap();
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let endpoint = listener.endpoint().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(sidecar.serve(listener, async { drop(stopped.await) }));
    let address = tonic::transport::Endpoint::try_from(format!("http://{endpoint}")).unwrap();
    let mut client = SidecarClient::new(address.connect().await.unwrap());
    let request = ValuesRequest { from_slot: None, limit: 0 };
    let mut values = client.values(request).await.unwrap().into_inner();
    assert_eq!(client.status(StatusRequest {}).await.unwrap().into_inner().next_final, 1);
    stop.send(()).unwrap();
    let why = values.message().await.unwrap_err();
    assert_eq!(codes(&why), (Code::Unavailable, "shut-down"));
    drop((values, client));
    serving.await.unwrap().unwrap();
    Listener::bind(&endpoint).unwrap();
    // The driver is the process's, and goes on.
    driver.figures().unwrap();
    drop(feed);
}

/// Of two connections where one may be, the second is served when the first has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_only_so_many_connections() {
    let committee = Committee::configured(|options| options.connections = NonZeroUsize::MIN);
    let mut first = committee.client(0).await;
    let orders = first.order(OrderRequest {}).await.unwrap();
    let socket = committee.socket(0);
    let second = tokio::spawn(async move {
        let mut second = connect(&socket).await;
        second.status(StatusRequest {}).await.unwrap();
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!second.is_finished(), "both are served");
    drop((orders, first));
    second.await.unwrap();
}
