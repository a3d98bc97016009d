//! A committee of processes on this machine, as an operator would run it: homes made by `prefinal testnet`, each
//! validator started by `prefinal run`, and asked at its socket and by `prefinal export`.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use prefinal_home::{Config, Folder};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::relay::{self, Weather};

/// How long something may take that takes seconds on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(480);

/// The command under test; `PREFINAL_COMMAND` names another build of it, such as one for release.
pub(crate) fn prefinal() -> Command {
    let built = || env!("CARGO_BIN_EXE_prefinal").into();
    Command::new(std::env::var_os("PREFINAL_COMMAND").unwrap_or_else(built))
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    prefinal().args(arguments).output().unwrap()
}

/// Runs a command that must succeed on a home.
pub(crate) fn run_at(home: &Path, line: &[&str]) {
    let done = run(&[line, &["--home", home.to_str().unwrap()]].concat());
    let (out, error) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{line:?}: {out}{error}");
}

/// The name of a validator.
pub(crate) fn name(validator: usize) -> prefinal_home::Name {
    format!("validator-{validator}").parse().unwrap()
}

/// The address at which a process listens, as others dial it.
pub(crate) fn dialled(at: SocketAddr) -> prefinal_home::Address {
    prefinal_home::Address::new(&at.ip().to_string(), at.port()).unwrap()
}

/// The first of so many ports that are free, below those that the system gives to sockets by itself. A relay or a
/// connection could take one of these before its process starts.
pub(crate) fn ports(many: u16) -> u16 {
    const FIRST: u16 = 10_000;
    const LAST: u16 = 32_000;
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let begin = u16::try_from(std::process::id() % 200).unwrap() * 100;
    loop {
        let at = begin.wrapping_add(TAKEN.fetch_add(many, Ordering::Relaxed));
        let first = FIRST + at % (LAST - FIRST - many);
        let is_free = |port| {
            let any = (Ipv4Addr::LOCALHOST, port);
            UdpSocket::bind(any).is_ok() && TcpListener::bind(any).is_ok()
        };
        if (first..first + many).all(is_free) {
            return first;
        }
    }
}

/// Homes and the processes that run on them. Whatever still runs is killed at the end.
pub(crate) struct Net {
    folder: TempDir,
    processes: BTreeMap<usize, Child>,
    /// Those that were not there from the start, and have no earlier values.
    pub(crate) joined: BTreeSet<usize>,
}

impl Net {
    /// Homes of so many validators; `more` is what else `prefinal testnet` is asked for.
    pub(crate) fn make(validators: usize, more: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("pf").tempdir().unwrap();
        let (count, out) = (validators.to_string(), folder.path().join("net"));
        // Three for each, and for as many more as join.
        let base = ports(3 * (u16::try_from(validators).unwrap() + 3)).to_string();
        let line = ["testnet", "--validators", &count, "--out", out.to_str().unwrap()];
        let line = [&line[..], &["--base-port", &base]].concat();
        let made = run(&[&line, more].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { folder, processes: BTreeMap::new(), joined: BTreeSet::new() }
    }

    /// A file beside the homes.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn home(&self, validator: usize) -> PathBuf {
        self.folder.path().join("net").join(format!("validator-{validator}"))
    }

    pub(crate) fn config(&self, validator: usize) -> Config {
        Folder::new(self.home(validator)).read_config().unwrap()
    }

    pub(crate) fn set_config(&self, validator: usize, config: &Config) {
        fs::write(self.home(validator).join("config.toml"), config.to_text()).unwrap();
    }

    /// Lets all traffic between two validators pass through a relay with this weather. Before they start.
    pub(crate) async fn distance(&self, one: usize, other: usize, weather: &Arc<Weather>) {
        for (from, to) in [(one, other), (other, one)] {
            let (mut config, target) = (self.config(from), self.config(to));
            let links = relay::udp(target.links.listen, Arc::clone(weather)).await.unwrap();
            let engine = relay::tcp(target.engine.listen, Arc::clone(weather)).await.unwrap();
            config.links.peers.insert(name(to), dialled(links));
            config.engine.peers.insert(name(to), dialled(engine));
            self.set_config(from, &config);
        }
    }

    pub(crate) fn log(&self, validator: usize) -> PathBuf {
        self.home(validator).join("log")
    }

    /// Whether one line of a validator's log has all these words.
    pub(crate) fn logs(&self, validator: usize, words: &[&str]) -> bool {
        let log = fs::read_to_string(self.log(validator)).unwrap();
        log.lines().any(|line| words.iter().all(|word| line.contains(word)))
    }

    pub(crate) fn start(&mut self, validator: usize) {
        let child = self.spawn(prefinal(), validator);
        self.processes.insert(validator, child);
    }

    /// Runs a validator with a limit of the length of each file, as on a disk that is full at this length, until it ends.
    /// Says how, and what it has logged.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_confined(&self, validator: usize, bytes: u64) -> (ExitStatus, String) {
        let before = fs::metadata(self.log(validator)).unwrap().len();
        let mut command = Command::new("sh");
        let script = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
        let blocks = bytes.div_ceil(512).to_string();
        command.args(["-c", script, &blocks]).arg(prefinal().get_program());
        let ended = self.spawn(command, validator).wait().unwrap();
        let log = fs::read(self.log(validator)).unwrap();
        let said = &log[usize::try_from(before).unwrap()..];
        (ended, String::from_utf8_lossy(said).into_owned())
    }

    fn spawn(&self, mut command: Command, validator: usize) -> Child {
        let log = File::options().create(true).append(true).open(self.log(validator)).unwrap();
        let command = command.args(["run", "--home", self.home(validator).to_str().unwrap()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// As `kill -9`: nothing is written any more.
    pub(crate) fn kill(&mut self, validator: usize) {
        let mut child = self.processes.remove(&validator).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// As a service manager ends it.
    pub(crate) fn terminate(&mut self, validator: usize) -> ExitStatus {
        self.signal(validator, "-TERM");
        self.processes.remove(&validator).unwrap().wait().unwrap()
    }

    /// Lets a process read its configuration again, as an operator does.
    pub(crate) fn reload(&self, validator: usize) {
        self.signal(validator, "-HUP");
    }

    fn signal(&self, validator: usize, signal: &str) {
        let id = self.id(validator).to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// The process of a validator that runs.
    pub(crate) fn id(&self, validator: usize) -> u32 {
        self.processes[&validator].id()
    }

    pub(crate) fn running(&self) -> Vec<usize> {
        self.processes.keys().copied().collect()
    }

    /// Bytes of memory that a process has.
    pub(crate) fn memory(&self, validator: usize) -> u64 {
        let id = self.id(validator);
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// What `prefinal status --json` says; nothing if the validator does not answer. The validator is asked as that
    /// command does it, without a process for each question.
    pub(crate) fn status(&self, validator: usize) -> Option<Json> {
        let mut socket = UnixStream::connect(self.home(validator).join("operator.sock")).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let answer = asked(&mut socket, "/status").ok()?;
        let (_, report) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(report).ok()
    }

    /// Whether the committee's key is there.
    pub(crate) fn has_key(&self, validator: usize) -> bool {
        self.status(validator).is_some_and(|status| !status["key"].is_null())
    }

    /// The next slot to be revealed; zero before there are keys, or if the validator does not answer.
    pub(crate) fn head(&self, validator: usize) -> u64 {
        self.status(validator).and_then(|status| status["head"].as_u64()).unwrap_or(0)
    }

    /// What a validator answers over HTTP.
    pub(crate) fn http(&self, validator: usize, path: &str) -> String {
        let http = self.config(validator).http.listen.unwrap();
        asked(&mut TcpStream::connect(http).unwrap(), path).unwrap()
    }

    /// A figure among a validator's metrics, by its name with its labels; zero if it is not there (yet).
    pub(crate) fn metric(&self, validator: usize, name: &str) -> f64 {
        let metrics = self.http(validator, "/metrics");
        let figure = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        figure.map_or(0.0, |figure| figure.trim().parse().unwrap())
    }

    /// Waits until something holds; says what the validators have logged if it never does.
    pub(crate) fn wait(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            let ended = self
                .processes
                .iter_mut()
                .find_map(|(validator, child)| Some((*validator, child.try_wait().unwrap()?)));
            if let Some((validator, ended)) = ended {
                panic!(
                    "{what}: validator {validator} has ended, {ended}{}",
                    tail(&self.log(validator))
                );
            }
            if begun.elapsed() > PATIENCE {
                let logs = self.running().into_iter().map(|one| tail(&self.log(one)));
                panic!("{what}: not within {PATIENCE:?}{}", logs.collect::<String>());
            }
            sleep(Duration::from_millis(200));
        }
    }

    /// Waits until all of these have the key, and then values of this many slots beyond where the furthest of them is.
    pub(crate) fn advance(&mut self, validators: &[usize], slots: u64) {
        let what = format!("{validators:?} have the key");
        self.wait(&what, |net| validators.iter().all(|one| net.has_key(*one)));
        let now = validators.iter().map(|one| self.head(*one)).max().unwrap();
        let what = format!("{validators:?} reveal {slots} slots after {now}");
        self.wait(&what, |net| validators.iter().all(|one| net.head(*one) > now + slots));
    }

    /// A validator's values as its file has them, checked by `prefinal verify` under its own key.
    pub(crate) fn values(&self, validator: usize) -> (String, BTreeMap<u64, String>) {
        let file = self.folder.path().join(format!("values-{validator}.json"));
        let home = self.home(validator);
        let exported =
            ["export", "--home", home.to_str().unwrap(), "--out", file.to_str().unwrap()];
        let exported = run(&exported);
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        let verified = run(&["verify", file.to_str().unwrap()]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        let file: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let round = |entry: &Json| {
            (entry["round"].as_u64().unwrap(), entry["signature"].as_str().unwrap().to_owned())
        };
        let rounds = file["rounds"].as_array().unwrap().iter().map(round).collect();
        (file["public_key"].as_str().unwrap().to_owned(), rounds)
    }

    /// No round has two values, none is missing at anybody, and all have one key. Those that joined later have all
    /// from their first one on. Gives the key, and how many rounds all have. The first validator was there from the
    /// start.
    pub(crate) fn agree(&self, validators: &[usize]) -> (String, u64) {
        let all: Vec<_> = validators.iter().map(|one| self.values(*one)).collect();
        let (key, _) = &all[0];
        let last = all.iter().map(|(_, rounds)| *rounds.last_key_value().unwrap().0).min().unwrap();
        let first = &all[0].1;
        for ((other, rounds), validator) in all.iter().zip(validators) {
            assert_eq!(other, key, "validator {validator} has another key");
            let begins = match self.joined.contains(validator) {
                true => *rounds.first_key_value().unwrap().0,
                false => 1,
            };
            for round in begins..=last {
                let value = rounds.get(&round);
                assert!(value.is_some(), "validator {validator} lacks round {round}");
                assert_eq!(value, first.get(&round), "validator {validator}, round {round}");
            }
        }
        (key.clone(), last)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for child in self.processes.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Asks over HTTP, and reads the answer to its end.
fn asked(stream: &mut (impl Read + Write), path: &str) -> std::io::Result<String> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(15)..].join("\n");
    format!("\n--- {}\n{last}", log.display())
}
