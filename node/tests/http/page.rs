//! Which page a devnet serves if none is named: a checkout's, built by one command where it is missing.
//!
//! The checkouts and the command are small stand-ins, because the question is only which of them is
//! asked, and when. That the command makes the page, and what the page shows of a devnet, is tested in
//! Chromium (`bindings/wasm/test`).
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::client::get;
use crate::devnet::Devnet;

const PAGE: &str = "bindings/wasm/demo";
/// The package that cargo runs, from the checkout's root.
const NODE: Option<&str> = Some("node");
const MADE: &str = "mkdir -p prefinal && cd prefinal && \
    echo made | tee index.js light-vuf_bg.wasm > verifier_bg.wasm";

/// A checkout, and a `cargo` that knows one task.
struct Checkout(TempDir);

impl Checkout {
    fn new(task: &str) -> Self {
        let root = TempDir::new().unwrap();
        let (page, programs) = (root.path().join(PAGE), root.path().join("programs"));
        fs::create_dir_all(&page).unwrap();
        fs::create_dir_all(root.path().join("node")).unwrap();
        fs::create_dir(&programs).unwrap();
        fs::write(page.join("index.html"), "<p>the page").unwrap();
        let script = format!(
            "#!/bin/sh\necho \"cargo $*\" >> asked\n[ \"$*\" = 'xtask page' ] || exit 9\ncd {PAGE} && {task}\n"
        );
        fs::write(programs.join("cargo"), script).unwrap();
        fs::set_permissions(programs.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        Self(root)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// A devnet that is started here by this program, and perhaps by cargo from this package.
    fn devnet(&self, here: &Path, package: Option<&str>, more: &[&str]) -> Devnet {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.root().join("programs").display());
        Devnet::prepared(|command| {
            command.env("PATH", path).env_remove("CARGO_MANIFEST_DIR").current_dir(here);
            command.envs(package.map(|package| ("CARGO_MANIFEST_DIR", self.root().join(package))));
            command.args(more)
        })
    }

    /// How often the task was run.
    fn asked(&self) -> usize {
        fs::read_to_string(self.root().join("asked")).unwrap_or_default().lines().count()
    }
}

fn shows_the_page(devnet: &Devnet) -> bool {
    let reply = get(devnet.address, "/");
    assert_eq!(reply.status, 200);
    let shows = reply.body == "<p>the page";
    assert!(shows || reply.body.starts_with("GET /chains\n"), "{}", reply.body);
    shows
}

fn said(devnet: &Devnet, words: &str) -> bool {
    devnet.said.iter().any(|line| line.contains(words))
}

#[test]
fn a_missing_page_is_built_once_and_that_is_said() {
    let (checkout, elsewhere) = (Checkout::new(MADE), TempDir::new().unwrap());
    let first = checkout.devnet(elsewhere.path(), NODE, &[]);
    assert!(said(&first, "the page is not built yet, which takes minutes: cargo xtask page"));
    assert!(shows_the_page(&first) && said(&first, "/ shows the slots"));
    assert_eq!(get(first.address, "/prefinal/verifier_bg.wasm").body, "made\n");
    let second = checkout.devnet(elsewhere.path(), NODE, &[]);
    assert!(shows_the_page(&second) && !said(&second, "xtask"));
    assert_eq!(checkout.asked(), 1);
    // One that was built before the page verified the weighted VUF is built again.
    fs::remove_file(checkout.root().join(PAGE).join("prefinal/light-vuf_bg.wasm")).unwrap();
    let third = checkout.devnet(elsewhere.path(), NODE, &[]);
    assert!(shows_the_page(&third) && said(&third, "xtask"));
    assert_eq!(checkout.asked(), 2);
}

/// What is in a folder must not run because somebody stands in it.
#[test]
fn a_program_that_is_not_run_by_cargo_builds_nothing() {
    let checkout = Checkout::new(MADE);
    let first = checkout.devnet(checkout.root(), None, &[]);
    assert!(said(&first, "without a page: it is not built yet: cargo xtask page"));
    assert!(!shows_the_page(&first));
    assert_eq!(checkout.asked(), 0);
    let builder = checkout.devnet(checkout.root(), NODE, &[]);
    assert!(shows_the_page(&builder));
    let second = checkout.devnet(checkout.root(), None, &[]);
    assert!(shows_the_page(&second));
    assert_eq!(checkout.asked(), 1);
}

#[test]
fn outside_of_a_checkout_the_values_are_served_alone() {
    let (checkout, elsewhere) = (Checkout::new(MADE), TempDir::new().unwrap());
    let below = checkout.root().join("node");
    for here in [elsewhere.path(), &below] {
        let devnet = checkout.devnet(here, None, &[]);
        let without: Vec<_> =
            devnet.said.iter().filter(|line| line.contains("without a page")).collect();
        assert_eq!(without.len(), 1, "{:?}", devnet.said);
        assert!(!shows_the_page(&devnet) && !said(&devnet, "shows the slots"));
    }
    let devnet = checkout.devnet(checkout.root(), NODE, &["--no-page"]);
    assert!(!shows_the_page(&devnet));
    assert_eq!(checkout.asked(), 0);
}

#[test]
fn values_are_served_though_the_page_cannot_be_built() {
    for (task, why) in [("exit 3", "exit status: 3"), ("true", "exit status: 0")] {
        let checkout = Checkout::new(task);
        let devnet = checkout.devnet(checkout.root(), NODE, &[]);
        assert!(said(&devnet, "without a page: cargo xtask page ended with"), "{:?}", devnet.said);
        assert!(said(&devnet, why) && !shows_the_page(&devnet));
    }
}
