//! drand's published client in front of a validator.
use std::process::Command;

use crate::net::Net;

/// Needs Go, which gets the modules of `node/tests/http/go` itself: `cargo xtask test http`.
#[test]
#[ignore = "needs modules of Go"]
fn drands_go_client_verifies_a_validators_chain() {
    let mut net = Net::make(4, &["--pace", "1s", "--round-timeout", "1s"]);
    (0..4).for_each(|validator| net.start(validator));
    net.wait("a key", |net| (0..4).all(|one| net.has_key(one)));
    for validator in [0, 3] {
        let http = net.config(validator).http.listen.unwrap();
        let mut go = Command::new("go");
        go.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/go"));
        let output = go.args(["run", ".", &format!("http://{http}")]).output().unwrap();
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "validator {validator}: {errors}");
        let is_content = said.lines().any(|line| line == "go-clients is content");
        assert!(is_content, "validator {validator}: {said}{errors}");
    }
    net.agree(&[0, 1, 2, 3]);
}
