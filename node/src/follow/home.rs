//! The folder of a node that follows.
//!
//! | file      | what is in it                                                         |
//! |-----------|-----------------------------------------------------------------------|
//! | `trust`   | waypoint and members, and how the chain begins; written once          |
//! | `endings` | what has led from epoch to epoch; kept for ever, for peers            |
//! | `state`   | blocks and states; locked as long as the node runs                    |
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_lab::Failure;
use prefinal_light::EpochEnding;

use super::begin::Trusted;
use crate::output::{self, Sink, named};

/// More bytes than a file here has.
const MOST: u64 = 256 << 20;

/// The folder in which one node keeps everything that outlives the process.
pub(super) struct Home(PathBuf);

impl Home {
    /// Makes the folder, if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        output::folder(path)?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The length of the file of blocks and states.
    pub(super) fn state_bytes(&self) -> Option<u64> {
        fs::metadata(self.state()).ok().map(|file| file.len())
    }

    /// Why the state cannot be read or written, and what to do.
    pub(super) fn failed(&self, error: impl Display) -> Failure {
        let what = "what was durable stays: run it again when the cause is gone, or begin again with another --home";
        named(&self.state(), format_args!("{error}; {what}"))
    }

    /// What an earlier life trusted.
    pub(super) fn trusted(&self) -> Result<Option<Trusted>, Failure> {
        self.read("trust")
    }

    pub(super) fn trust(&self, trusted: &Trusted) -> Result<(), Failure> {
        self.write("trust", trusted)
    }

    pub(super) fn endings(&self) -> Result<Vec<EpochEnding>, Failure> {
        Ok(self.read("endings")?.unwrap_or_default())
    }

    pub(super) fn keep(&self, endings: &Vec<EpochEnding>) -> Result<(), Failure> {
        self.write("endings", endings)
    }

    fn read<T: BorshDeserialize>(&self, name: &str) -> Result<Option<T>, Failure> {
        let file = self.0.join(name);
        let mut bytes = Vec::new();
        let read = File::open(&file).and_then(|open| open.take(MOST).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| named(&file, error))?,
        };
        T::try_from_slice(&bytes).map(Some).map_err(|error| {
            named(&file, format_args!("damaged ({error}); begin again with another --home"))
        })
    }

    /// The file appears when it is complete and durable.
    fn write(&self, name: &str, what: &impl BorshSerialize) -> Result<(), Failure> {
        let file = self.0.join(name);
        let bytes = borsh::to_vec(what).map_err(|error| named(&file, error))?;
        Sink::open(&file)?.write(&bytes)?;
        let synced = fs::File::open(&self.0).and_then(|folder| folder.sync_all());
        synced.map_err(|error| named(&self.0, error))
    }
}
