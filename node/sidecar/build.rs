//! Makes Rust of the protocol's description. `protox` reads it, so no `protoc` has to be installed.

const PROTO: &str = "proto/prefinal/sidecar/v1/sidecar.proto";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    let files = protox::compile([PROTO], ["proto"])?;
    // Connections are the caller's: a generated one would know TCP and names only.
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
