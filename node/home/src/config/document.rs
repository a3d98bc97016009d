//! The file that explains itself: every key with what it is for, its unit and its range.
use toml::{Table, Value};

use super::Config;

/// A key of `config.toml` with its explanation.
#[derive(Clone, Copy, Debug)]
pub struct DocumentedKey {
    /// The section; empty for what stands before the first one.
    pub section: &'static str,
    /// The key in its section.
    pub key: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// A value, shown where none is set.
    pub example: &'static str,
}

const fn key(
    section: &'static str,
    key: &'static str,
    about: &'static str,
    example: &'static str,
) -> DocumentedKey {
    DocumentedKey { section, key, about, example }
}

/// The head of the file.
const HEAD: &str = "\
# How this validator's process runs. What all validators agree on is in
# genesis.json. Keys that do not exist are refused. Changes need a restart,
# except where a key says that it is reloaded.
";

/// Every key, in the order of the file. Tables come last in their section.
pub const KEYS: &[DocumentedKey] = &[
    key("", "moniker", "The name of this process in logs and to its peers.", "\"validator-0\""),
    key(
        "links",
        "listen",
        "IP:port where links to other validators arrive, over UDP. Open it in the\nfirewall.",
        "\"0.0.0.0:7000\"",
    ),
    key(
        "links",
        "window",
        "Bytes that may be on their way to or from one peer, 65536 to 67108864. On\n\
         a link with a round trip of t seconds, window / t bytes a second arrive.",
        "4194304",
    ),
    key(
        "links",
        "rate",
        "Bytes a second that one peer may send on average, 65536 to 1073741824.\n\
         What comes faster is read later.",
        "8388608",
    ),
    key(
        "links",
        "queue",
        "Bytes that may wait to be sent to one peer, 1048576 to 1073741824. What\n\
         comes on top is dropped and asked for again.",
        "16777216",
    ),
    key(
        "links",
        "inbox",
        "Bytes of one peer that may wait to be handled, 1048576 to 1073741824.",
        "16777216",
    ),
    key(
        "links",
        "peers",
        "Where peers are that are not where the genesis says, by their names:\n\
         name = \"host:port\". Reloaded while the process runs.",
        "",
    ),
    key(
        "engine",
        "listen",
        "IP:port where the consensus engine's connections arrive, over TCP. Open it\n\
         in the firewall.",
        "\"0.0.0.0:7001\"",
    ),
    key(
        "engine",
        "peers",
        "Where engines are that are not where the genesis says, by the validators'\n\
         names: name = \"host:port\". Reloaded while the process runs.",
        "",
    ),
    key(
        "http",
        "listen",
        "IP:port for clients: values as drand's nodes serve them, /health, /metrics.\n\
         Without it nothing is served.",
        "\"127.0.0.1:8080\"",
    ),
    key("http", "metrics", "Whether /metrics is served, for Prometheus.", "true"),
    key("http", "rate", "Requests a second that each address may make, 1 to 1000000.", "50"),
    key(
        "http",
        "burst",
        "Requests that each address may make at once, before its rate counts, 1 to\n1000000.",
        "200",
    ),
    key("http", "connections", "Connections at a time, 1 to 65536.", "256"),
    key("http", "connections_each", "Connections of each address at a time, 1 to 65536.", "32"),
    key("http", "followers", "Streams of /events at a time, 1 to 65536.", "32"),
    key("http", "followers_each", "Streams of /events of each address at a time, 1 to 65536.", "4"),
    key(
        "http",
        "strict_loopback",
        "Whether addresses of the loopback have the limits of all others. Behind a\n\
         reverse proxy on this machine that would be one limit for all clients.",
        "false",
    ),
    key(
        "sidecar",
        "listen",
        "Where a consensus engine in another process calls this one: unix:/path, or\n\
         an address of the loopback. Off without it: the engine runs in here.",
        "\"unix:/run/prefinal/sidecar.sock\"",
    ),
    key(
        "sidecar",
        "carry",
        "How partials travel that leave with a vote: vote, if the engine's votes\n\
         have room for them, or links, beside the vote.",
        "\"vote\"",
    ),
    key(
        "log",
        "filter",
        "off, error, warn, info, debug or trace; for parts of the program such as\n\
         info,prefinal_net=debug. arc_malachitebft is the engine.",
        "\"info\"",
    ),
    key("log", "format", "text for people, json for programs.", "\"text\""),
    key(
        "identity",
        "passphrase_file",
        "The file with the passphrase of an encrypted identity, of mode 0600, in\n\
         relation to this folder. Without it the terminal is asked.",
        "\"/run/secrets/prefinal-passphrase\"",
    ),
];

/// The text of a configuration with all explanations.
pub(super) fn write(config: &Config) -> String {
    // Only strings, numbers and tables with string keys, which TOML has.
    let values = Table::try_from(config).unwrap_or_default();
    let mut text = HEAD.to_owned();
    let mut section = "";
    for documented in KEYS {
        text.push('\n');
        if documented.section != section {
            section = documented.section;
            text += &format!("[{section}]\n");
        }
        let from = match section {
            "" => Some(&values),
            _ => values.get(section).and_then(Value::as_table),
        };
        for line in documented.about.lines() {
            text += &format!("# {line}\n");
        }
        let (name, example) = (documented.key, documented.example);
        match from.and_then(|table| table.get(name)) {
            Some(Value::Table(entries)) => {
                text += &format!("[{section}.{name}]\n");
                for (entry, value) in entries {
                    // A name may have a dot, which would separate tables.
                    text += &format!("\"{entry}\" = {value}\n");
                }
            }
            Some(value) => text += &format!("{name} = {value}\n"),
            None => text += &format!("# {name} = {example}\n"),
        }
    }
    text
}
