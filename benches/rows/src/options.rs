//! `--csv FILE` and `--quick`, the same in every program.
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::exit;

/// What a program below `benches/` can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where the rows go besides the terminal; what was there is replaced.
    pub csv: Option<PathBuf>,
    /// Fewer samples and fewer cases.
    pub quick: bool,
}

const USAGE: &str = "\
options:
  --csv FILE   write the rows to FILE, replacing it
  --quick      fewer samples, fewer cases";

impl Options {
    /// From the command line; ends the program with a message if that says anything else.
    #[must_use]
    pub fn from_command_line() -> Self {
        match Self::parse(std::env::args_os().skip(1)) {
            Ok(Some(options)) => options,
            Ok(None) => {
                println!("{USAGE}");
                exit(0)
            }
            Err(fault) => {
                eprintln!("{fault}\n{USAGE}");
                exit(2)
            }
        }
    }

    /// `None` if help is asked for.
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut options = Self::default();
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
                _ => return Err(format!("unknown option {}", argument.display())),
            }
        }
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, String> {
        Options::parse(line.split_whitespace().map(OsString::from))
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
}
