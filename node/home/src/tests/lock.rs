//! One process for each home, seen from another process.
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::room;
use crate::lock::{Lock, LockError};

/// Set for a child: the lock that it takes.
const PATH: &str = "PREFINAL_TEST_LOCK";

/// Not a test by itself: what the child does.
#[test]
fn child_holds_the_lock() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let _lock = Lock::take(Path::new(&path)).unwrap();
    println!("locked");
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

fn child(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::lock::child_holds_the_lock", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The test runner may have begun the line.
    assert!(lines.map(Result::unwrap).any(|line| line.ends_with("locked")));
    child
}

#[test]
fn a_second_process_is_refused_until_the_first_is_gone() {
    let room = room();
    let path = room.path().join("lock");
    let mut first = child(&path);
    let error = Lock::take(&path).unwrap_err();
    assert!(matches!(error, LockError::Held { pid: Some(pid), .. } if pid == first.id()));
    assert!(error.to_string().contains(&format!("process {} runs on this home", first.id())));
    // SIGKILL: the process has no chance to clean up.
    first.kill().unwrap();
    first.wait().unwrap();
    let lock = Lock::take(&path).unwrap();
    let error = Lock::take(&path).unwrap_err();
    assert!(matches!(error, LockError::Held { pid: Some(pid), .. } if pid == std::process::id()));
    drop(lock);
    Lock::take(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn the_lock_does_not_lead_out_of_the_home() {
    let room = room();
    let (path, other) = (room.path().join("lock"), room.path().join("other"));
    std::fs::write(&other, "precious").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    assert!(matches!(Lock::take(&path), Err(LockError::File(_))));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
}
