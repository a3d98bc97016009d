//! `--csv FILE` and `--quick`, the same in every program; some also know their rows by name.
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::{ExitCode, exit};

/// What a program below `benches/` can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where the rows go besides the terminal; what was there is replaced.
    pub csv: Option<PathBuf>,
    /// Fewer samples and fewer cases.
    pub quick: bool,
}

/// How a program ends: with success, or with a failure that is printed.
pub fn exit_code(outcome: Result<(), impl Display>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "\
options:
  --csv FILE   write the rows to FILE, replacing it
  --quick      fewer samples, fewer cases";
const NAMES: &str = "
  NAME|NAME    only what has one of these in its name";

impl Options {
    /// From the command line; ends the program with a message if that says anything else.
    #[must_use]
    pub fn from_command_line() -> Self {
        end_or(Self::parse(std::env::args_os().skip(1)), "")
    }

    /// The same of a program that knows its rows by name, and the names if not all are asked for.
    #[must_use]
    pub fn and_names_from_command_line() -> (Self, Option<String>) {
        end_or(Self::parse_with_names(std::env::args_os().skip(1)), NAMES)
    }

    /// `None` if help is asked for.
    fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        match Self::parse_with_names(arguments)? {
            Some((_, Some(names))) => Err(format!("unknown option {names}")),
            parsed => Ok(parsed.map(|(options, _)| options)),
        }
    }

    fn parse_with_names(
        mut arguments: impl Iterator<Item = OsString>,
    ) -> Result<Option<(Self, Option<String>)>, String> {
        let (mut options, mut names) = (Self::default(), None);
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--csv") => {
                    let file = arguments.next().ok_or("--csv needs a file")?;
                    options.csv = Some(file.into());
                }
                Some("--quick") => options.quick = true,
                Some("--help" | "-h") => return Ok(None),
                // What `cargo bench` adds.
                Some("--bench") => {}
                Some(word) if !word.starts_with('-') && names.is_none() => {
                    names = Some(word.to_owned());
                }
                _ => return Err(format!("unknown option {}", argument.display())),
            }
        }
        Ok(Some((options, names)))
    }
}

/// Ends the program unless something was parsed.
fn end_or<T>(parsed: Result<Option<T>, String>, more: &str) -> T {
    match parsed {
        Ok(Some(parsed)) => parsed,
        Ok(None) => {
            println!("{USAGE}{more}");
            exit(0)
        }
        Err(fault) => {
            eprintln!("{fault}\n{USAGE}{more}");
            exit(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        line.split_whitespace().map(OsString::from)
    }

    fn parse(line: &str) -> Result<Option<Options>, String> {
        Options::parse(words(line))
    }

    #[test]
    fn both_options_and_what_cargo_adds() {
        let both = Options { csv: Some("out.csv".into()), quick: true };
        assert_eq!(parse("--quick --bench --csv out.csv"), Ok(Some(both)));
        assert_eq!(parse(""), Ok(Some(Options::default())));
        assert_eq!(parse("--help"), Ok(None));
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("--cvs out.csv").is_err());
        assert!(parse("combine").is_err());
        assert!(parse("--csv").is_err());
    }

    #[test]
    fn a_word_is_a_name_where_rows_have_names() {
        let parse = |line| Options::parse_with_names(words(line));
        let quick = Options { csv: None, quick: true };
        let names = Some("combine|limit".to_owned());
        assert_eq!(parse("--bench combine|limit --quick"), Ok(Some((quick, names))));
        let file = Options { csv: Some("combine".into()), quick: false };
        assert_eq!(parse("--csv combine"), Ok(Some((file, None))));
        assert!(parse("--cvs").is_err());
        assert!(parse("combine partial").is_err());
    }
}
