//! Malachite's actors: started in the order of its own builder, and stopped so that nothing is cut off.
//!
//! The published builder gives no way to stop the consensus before the network and the log. So its steps
//! are repeated here, with the same published functions.
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use malachitebft_app_channel::app::config::{ConsensusConfig, ValueSyncConfig};
use malachitebft_app_channel::app::engine::consensus::ConsensusRef;
use malachitebft_app_channel::app::engine::host::HostRef;
use malachitebft_app_channel::app::engine::network::NetworkRef;
use malachitebft_app_channel::app::engine::node::NodeRef;
use malachitebft_app_channel::app::engine::sync::SyncRef;
use malachitebft_app_channel::app::engine::util::events::TxEvent;
use malachitebft_app_channel::app::engine::util::output_port::{
    OutputPort, OutputPortSubscriberTrait as _,
};
use malachitebft_app_channel::app::engine::wal::WalRef;
use malachitebft_app_channel::app::metrics::{Metrics, SharedRegistry};
use malachitebft_app_channel::app::spawn as actors;
use malachitebft_app_channel::spawn::spawn_host_actor;
use malachitebft_app_channel::{AppMsg, NetworkIdentity};
use prefinal_malachite::{Address, Tendermint};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::codec::{LogCodec, WireCodec};
use crate::keys::{Checks, Keys};

/// How long an actor may take to stop before it is cut off.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stops an actor, and cuts it off if it does not end.
macro_rules! end {
    ($actor:expr) => {
        $actor.stop(None);
        if $actor.wait(Some(PATIENCE)).await.is_err() {
            tracing::warn!("a part of Malachite does not stop and is cut off");
            $actor.kill();
        }
    };
}

/// What Malachite is started with.
pub(crate) struct Parts<'a> {
    pub(crate) me: Address,
    pub(crate) identity: NetworkIdentity,
    pub(crate) keys: Keys,
    pub(crate) codec: WireCodec,
    pub(crate) log: &'a Path,
    pub(crate) consensus: ConsensusConfig,
    pub(crate) sync: ValueSyncConfig,
}

/// Malachite's actors.
pub(crate) struct Engine {
    node: NodeRef,
    supervisor: JoinHandle<()>,
    pub(crate) consensus: ConsensusRef<Tendermint>,
    pub(crate) network: NetworkRef<Tendermint>,
    connector: HostRef<Tendermint>,
    wal: WalRef<Tendermint>,
    sync: Option<SyncRef<Tendermint>>,
}

impl Engine {
    /// Starts Malachite. What it asks comes out of the receiver.
    ///
    /// # Errors
    /// What Malachite says, as a text.
    pub(crate) async fn start(
        parts: Parts<'_>,
    ) -> Result<(Self, mpsc::Receiver<AppMsg<Tendermint>>), String> {
        let registry = SharedRegistry::global().with_moniker(&parts.identity.moniker);
        let metrics = Metrics::register(&registry);
        let (node, supervisor) = actors::spawn_node_actor(metrics.clone()).await.map_err(said)?;
        match Self::start_under(&node, supervisor, parts, (&registry, metrics)).await {
            Ok(started) => Ok(started),
            Err(error) => {
                node.get_cell().stop_children(None);
                node.stop(None);
                Err(error)
            }
        }
    }

    async fn start_under(
        node: &NodeRef,
        supervisor: JoinHandle<()>,
        parts: Parts<'_>,
        (registry, metrics): (&SharedRegistry, Metrics),
    ) -> Result<(Self, mpsc::Receiver<AppMsg<Tendermint>>), String> {
        let Parts { me, identity, keys, codec, log, consensus: config, sync: sync_config } = parts;
        let (committees, proposals) = (keys.committees.clone(), keys.proposals.clone());
        let checks = Checks { committees, proposals };
        let network = actors::spawn_network_actor::<Tendermint, _>(
            &config,
            &sync_config,
            identity,
            registry,
            codec.clone(),
        );
        let network = network.await.map_err(said)?;
        network.link(node.get_cell());
        let wal = actors::spawn_wal_actor(&Tendermint, LogCodec, log, registry, node.clone());
        let wal = wal.await.map_err(said)?;
        wal.link(node.get_cell());
        let (connector, inbox) = spawn_host_actor(metrics.clone()).await.map_err(said)?;
        connector.link(node.get_cell());
        let port = Arc::new(OutputPort::new());
        let consensus = actors::spawn_consensus_actor(
            Tendermint,
            me,
            config,
            Box::new(checks),
            Some(Box::new(keys)),
            network.clone(),
            connector.clone(),
            wal.clone(),
            Arc::clone(&port),
            metrics,
            TxEvent::new(),
            node.clone(),
        );
        let consensus = consensus.await.map_err(said)?;
        consensus.link(node.get_cell());
        let sync = actors::spawn_sync_actor(
            Tendermint,
            network.clone(),
            connector.clone(),
            consensus.clone(),
            codec,
            &sync_config,
            registry,
        );
        let sync = sync.await.map_err(said)?;
        if let Some(sync) = &sync {
            sync.link(node.get_cell());
            sync.subscribe_to_port(&port);
        }
        let node = node.clone();
        let engine = Self { node, supervisor, consensus, network, connector, wal, sync };
        Ok((engine, inbox))
    }

    /// Waits until Malachite has ended by itself. It does not end when it refuses to sign.
    pub(crate) async fn ended(&mut self) {
        // The supervisor's task ends with the supervisor, whatever the reason.
        let _ = (&mut self.supervisor).await;
    }

    /// Stops the consensus first, so that its last question is still answered and its last vote still
    /// leaves, and the log last.
    pub(crate) async fn stop(self) {
        let Self { node, supervisor, consensus, network, connector, wal, sync } = self;
        // The supervisor would cut off all others when the first one ends.
        for cell in [consensus.get_cell(), network.get_cell(), connector.get_cell(), wal.get_cell()]
        {
            cell.unlink(node.get_cell());
        }
        if let Some(sync) = sync {
            sync.unlink(node.get_cell());
            end!(consensus);
            end!(sync);
        } else {
            end!(consensus);
        }
        end!(connector);
        end!(network);
        end!(wal);
        end!(node);
        supervisor.abort();
    }
}

fn said(error: impl std::fmt::Display) -> String {
    // Reports of `eyre` name their causes in the alternate form.
    format!("{error:#}")
}
