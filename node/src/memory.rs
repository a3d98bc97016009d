//! How much memory this process may still use, as Linux says.
//!
//! | who says                   | in                                                              | what is left          |
//! |----------------------------|-----------------------------------------------------------------|-----------------------|
//! | the machine                | `/proc/meminfo`                                                 | `MemAvailable`        |
//! | a control group, version 2 | `memory.max`, `memory.current`, `memory.stat`                   | limit − used + cached |
//! | a control group, version 1 | `memory.limit_in_bytes`, `memory.usage_in_bytes`, `memory.stat` | the same              |
//!
//! Cached is what was read from files some time ago: the system drops it when somebody needs memory. The groups are
//! those of `/proc/self/cgroup`, and all groups above them; the least counts.
use std::fs;
use std::path::Path;
use std::time::Duration;

use prefinal_engine::Engine;
use tokio::sync::watch;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(100);

/// The bytes that each of so many parties in this process may use besides those that it uses now: an equal part of what
/// is left. They change ten times a second, as long as somebody listens. Where the system does not say what is left,
/// they are as many as there are numbers for, and where the engine has no use for it nobody looks.
#[must_use]
pub(crate) fn shares<E: Engine>(parties: usize) -> watch::Receiver<u64> {
    if !E::BEGINS_WHEN_IDLE {
        return watch::channel(u64::MAX).1;
    }
    let parties = u64::try_from(parties).unwrap_or(u64::MAX).max(1);
    let share = move || Some(left(Path::new("/"))? / parties);
    let (tell, heard) = watch::channel(share().unwrap_or(u64::MAX));
    tokio::spawn(async move {
        let mut looks = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = tell.closed() => return,
            }
            let Some(bytes) = share() else { return };
            tell.send_replace(bytes);
        }
    });
    heard
}

/// The bytes that this process may use besides those that it uses now; `None` if the system does not say. `root` is
/// where its files are.
fn left(root: &Path) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo"));
    let machine = machine.ok().and_then(|text| field(&text, "MemAvailable:"));
    let machine = machine.map(|kib| kib.saturating_mul(1 << 10));
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = groups.lines().filter_map(|line| left_to_group(root, line)).min();
    machine.into_iter().chain(groups).min()
}

/// The files of a version of control groups.
struct Names {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: what was read from files and not for some time, so that it can be dropped.
    cached: &'static str,
}

const FIRST: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file",
};
const SECOND: Names =
    Names { limit: "memory.max", used: "memory.current", cached: "inactive_file" };

/// What a group of a line of `/proc/self/cgroup` and those above it leave; `None` if none of them has a limit.
fn left_to_group(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let (mount, names) = match controllers {
        "" => ("sys/fs/cgroup", SECOND),
        _ if controllers.split(',').any(|one| one == "memory") => ("sys/fs/cgroup/memory", FIRST),
        _ => return None,
    };
    let mount = root.join(mount);
    let groups = Path::new(group.trim_start_matches('/')).ancestors();
    groups.filter_map(|group| left_in(&mount.join(group), &names)).min()
}

fn left_in(group: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // Without a limit the second version says "max".
    let (limit, used) = (number(names.limit)?, number(names.used)?);
    let cached = read("memory.stat").and_then(|text| field(&text, names.cached)).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_registry::{Dispel, Jolteon};
    use tempfile::TempDir;

    use super::*;

    const MIB: u64 = 1 << 20;
    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal:  8388608 kB\nMemAvailable:  4194304 kB\n");

    fn left_with(files: &[(&str, &str)]) -> Option<u64> {
        let root = TempDir::new().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        left(root.path())
    }

    #[test]
    fn without_limits_it_is_what_the_machine_has() {
        assert_eq!(left_with(&[]), None);
        assert_eq!(left_with(&[MACHINE]), Some(4096 * MIB));
        let unlimited = [
            MACHINE,
            ("proc/self/cgroup", "0::/user/of\n"),
            ("sys/fs/cgroup/user/of/memory.max", "max\n"),
            ("sys/fs/cgroup/user/of/memory.current", "1\n"),
        ];
        assert_eq!(left_with(&unlimited), Some(4096 * MIB));
    }

    #[test]
    fn the_tightest_group_counts_and_what_can_be_dropped_is_free() {
        let used = (300 * MIB).to_string();
        let (tight, wide) = ((500 * MIB).to_string(), (900 * MIB).to_string());
        let stat = format!("anon 7\ninactive_file {}\n", 100 * MIB);
        let own = [
            MACHINE,
            ("proc/self/cgroup", "0::/user/of\n"),
            ("sys/fs/cgroup/user/of/memory.max", &wide),
            ("sys/fs/cgroup/user/of/memory.current", &used),
            ("sys/fs/cgroup/user/of/memory.stat", &stat),
        ];
        assert_eq!(left_with(&own), Some(700 * MIB));
        let above = [
            ("sys/fs/cgroup/user/memory.max", &*tight),
            ("sys/fs/cgroup/user/memory.current", &used),
        ];
        assert_eq!(left_with(&[&own[..], &above].concat()), Some(200 * MIB));
    }

    #[test]
    fn groups_of_the_first_version_count_too() {
        let (limit, used) = ((500 * MIB).to_string(), (600 * MIB).to_string());
        let stat = format!("inactive_file 1\ntotal_inactive_file {}\n", 200 * MIB);
        let files = [
            MACHINE,
            ("proc/self/cgroup", "8:pids:/\n4:cpu,memory:/one\n0::/\n"),
            ("sys/fs/cgroup/memory/one/memory.limit_in_bytes", &limit),
            ("sys/fs/cgroup/memory/one/memory.usage_in_bytes", &used),
            ("sys/fs/cgroup/memory/one/memory.stat", &stat),
        ];
        assert_eq!(left_with(&files), Some(100 * MIB));
        assert_eq!(left_with(&files[..4]), Some(0), "more is used than may be");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn this_machine_says_what_is_left_and_parties_share_it() {
        let whole = left(Path::new("/")).unwrap();
        assert!(whole > 0 && whole < 1 << 50, "{whole}");
        let mut heard = shares::<Dispel>(4);
        heard.changed().await.unwrap();
        let share = *heard.borrow();
        // Others use memory meanwhile.
        assert!(share > whole / 8 && share < whole / 2, "{share} of {whole}");
    }

    #[tokio::test]
    async fn for_an_engine_without_use_for_it_nobody_looks() {
        let mut heard = shares::<Jolteon>(4);
        assert_eq!(*heard.borrow(), u64::MAX);
        assert!(heard.changed().await.is_err(), "nobody is there to tell");
    }
}
