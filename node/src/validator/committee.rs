//! `prefinal committee`: how a running chain changes its committee.
//!
//! ```text
//!  newcomer    apply  ── application ──► a member   draft ── draft ──► every member   approve ── consent ──┐
//!  newcomer    join   ◄─────────────────────────────── draft                                               │
//!  any member  submit ◄────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//! Files are text, and nothing in them is secret. What makes a change count says
//! [`prefinal_validator::change`]; a running validator checks it in each step, for it knows the committee.
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_home::{Folder, Home};
use prefinal_validator::change::{Application, Draft};
use serde::{Deserialize, Serialize};

use super::home;
use super::operator::Client;
use crate::output::{Sink, named};
use crate::table::table;
use prefinal_lab::Failure;

/// The longest text of a draft or a consent.
const MAX_TEXT: u64 = 4 << 20;

/// The steps of a change.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Newcomer: write an application for an epoch of the chain in the home's genesis
    Apply(ApplyOptions),
    /// Member: write a draft of the next committee
    Draft(DraftOptions),
    /// Newcomer: take the number that a draft gives, before the first `prefinal run`
    Join(JoinOptions),
    /// Member: look at a draft, and write this validator's consent to it
    Approve(ApproveOptions),
    /// Member: merge the consents and have the change ordered
    Submit(SubmitOptions),
}

/// Who applies for which epoch.
#[derive(Args, Debug)]
pub struct ApplyOptions {
    /// The newcomer's home folder, with keys and the chain's genesis
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// The epoch that it is to join, one more than `prefinal status` of a member says
    #[arg(long, value_name = "N")]
    epoch: u64,
    /// Where the application goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What the next committee is.
#[derive(Args, Debug)]
pub struct DraftOptions {
    /// The home folder of a running member
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// A party's new stake, by its name or number; 0 removes it. The others keep theirs
    #[arg(long, value_name = "PARTY=STAKE")]
    stake: Vec<Share>,
    /// A newcomer's application, and its stake
    #[arg(long, value_name = "FILE=STAKE")]
    newcomer: Vec<Share>,
    /// Where the draft goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// The draft from which a newcomer takes its number.
#[derive(Args, Debug)]
pub struct JoinOptions {
    /// The newcomer's home folder
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// The draft that has its application
    draft: PathBuf,
}

/// Who consents to which draft.
#[derive(Args, Debug)]
pub struct ApproveOptions {
    /// The home folder of a running member
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// The draft
    draft: PathBuf,
    /// Where the consent goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What is merged and submitted.
#[derive(Args, Debug)]
pub struct SubmitOptions {
    /// The home folder of a running member
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// The draft
    draft: PathBuf,
    /// The consents, of members with more than two thirds of the stake and of all that stay
    #[arg(required = true)]
    consents: Vec<PathBuf>,
}

/// A name with a stake.
#[derive(Clone, Debug)]
struct Share {
    name: String,
    stake: u128,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, stake) = text.rsplit_once('=').ok_or("expected NAME=STAKE")?;
        let stake = stake.parse().map_err(|error| format!("stake {stake}: {error}"))?;
        Ok(Self { name: name.to_owned(), stake })
    }
}

/// A party of the committee, as a running validator knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MemberReport {
    pub(super) party: u32,
    pub(super) name: String,
    pub(super) stake: u128,
}

/// What a draft is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DraftRequest {
    pub(super) stakes: Vec<u128>,
    pub(super) applications: Vec<String>,
}

/// A draft with the consents to it, all as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChangeRequest {
    pub(super) draft: String,
    pub(super) consents: Vec<String>,
}

/// Runs one of the steps.
///
/// # Errors
/// What the step says.
pub(super) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Apply(options) => apply(options),
        Command::Draft(options) => draft(options),
        Command::Join(options) => join(options),
        Command::Approve(options) => approve(options),
        Command::Submit(options) => submit(options),
    }
}

fn apply(options: &ApplyOptions) -> Result<(), Failure> {
    let out = Sink::open(&options.out)?;
    let home = Home::open(&options.home).map_err(Failure::bad_input)?;
    // An application does not depend on the number that the newcomer gets.
    let identity = home.identity(Party::new(0));
    let application = Application::new(&identity, home.chain(), EpochId::new(options.epoch));
    out.write(application.to_text().as_bytes())?;
    say!("Send {} and the home's registration.json to a member.", options.out.display());
    Ok(())
}

fn draft(options: &DraftOptions) -> Result<(), Failure> {
    let out = Sink::open(&options.out)?;
    let socket = options.home.join(super::SOCKET);
    let client = Client::new(&socket);
    let members: Vec<MemberReport> = client.get("/committee")?;
    let mut wanted: BTreeMap<&str, u128> =
        options.stake.iter().map(|share| (share.name.as_str(), share.stake)).collect();
    let mut stakes: Vec<u128> = Vec::new();
    for member in &members {
        let number = member.party.to_string();
        let by_number = wanted.remove(number.as_str());
        let stake = wanted.remove(member.name.as_str()).or(by_number);
        stakes.push(stake.unwrap_or(member.stake));
    }
    if let Some(unknown) = wanted.keys().next() {
        return Err(Failure::bad_input(format_args!(
            "--stake {unknown}: no party has this name or number"
        )));
    }
    let mut applications = Vec::new();
    for Share { name, stake } in &options.newcomer {
        applications.push(text(Path::new(name))?);
        stakes.push(*stake);
    }
    let request = DraftRequest { stakes, applications };
    let draft: String = client.ask_for("/committee/draft", &request)?;
    show(&members, &draft)?;
    out.write(draft.as_bytes())
}

fn join(options: &JoinOptions) -> Result<(), Failure> {
    let folder = Folder::new(&options.home);
    let draft = text(&options.draft)?;
    let parsed = Draft::from_text(&draft).map_err(|error| named(&options.draft, error))?;
    let candidate = folder.read_registration().map_err(Failure::bad_input)?;
    let number = parsed.number_of(candidate.registration.0.signer());
    let number =
        number.ok_or_else(|| named(&options.draft, "this validator is not among its newcomers"))?;
    Sink::open(&home::draft(&folder))?.write(draft.as_bytes())?;
    say!(
        "This validator becomes {number} in {}. Start it: prefinal run --home {}",
        parsed.epoch(),
        options.home.display()
    );
    Ok(())
}

fn approve(options: &ApproveOptions) -> Result<(), Failure> {
    let out = Sink::open(&options.out)?;
    let draft = text(&options.draft)?;
    let socket = options.home.join(super::SOCKET);
    let client = Client::new(&socket);
    show(&client.get::<Vec<MemberReport>>("/committee")?, &draft)?;
    let consent: String = client.ask_for("/committee/approve", &draft)?;
    out.write(consent.as_bytes())?;
    say!("This validator consents: {}", options.out.display());
    Ok(())
}

fn submit(options: &SubmitOptions) -> Result<(), Failure> {
    let draft = text(&options.draft)?;
    let consents = options.consents.iter().map(|file| text(file)).collect::<Result<_, _>>()?;
    let socket = options.home.join(super::SOCKET);
    let request = ChangeRequest { draft, consents };
    let () = Client::new(&socket).ask_for("/committee/submit", &request)?;
    say!("The change waits for a block.");
    Ok(())
}

/// Shows what a draft changes.
fn show(members: &[MemberReport], draft: &str) -> Result<(), Failure> {
    let draft = Draft::from_text(draft).map_err(Failure::bad_input)?;
    let stakes = draft.stakes();
    let rows = stakes.iter().enumerate().map(|(at, stake)| {
        let (name, before) = match members.get(at) {
            Some(member) => (member.name.clone(), member.stake.to_string()),
            None => ("newcomer".to_owned(), "-".to_owned()),
        };
        [format!("{name} ({at})"), before, stake.get().to_string()]
    });
    say!(
        "committee of {}, draft {}",
        draft.epoch(),
        hex::encode(draft.digest().get(..8).unwrap_or_default())
    );
    say!("{}", table(&["party", "stake now", "stake then"], rows));
    Ok(())
}

fn text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|opened| opened.take(MAX_TEXT).read_to_string(&mut text));
    read.map_err(|error| named(file, error))?;
    Ok(text)
}
