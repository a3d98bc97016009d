//! The places of an experiment's parties.
use std::fs;
use std::path::Path;

use prefinal_sim::{Geography, Placement};

use crate::failure::Failure;

/// Places parties in regions by name; `all` means all regions, `trantor`, `dispel-europe`, `dispel-world` and
/// `zaptos` those of a paper's evaluation, `none` no placement.
///
/// # Errors
/// If a region is unknown. The error lists the known regions.
pub fn place(regions: &[String], parties: usize, seed: u64) -> Result<Option<Placement>, Failure> {
    let names: Vec<&str> = regions.iter().map(String::as_str).collect();
    let names = match names.as_slice() {
        ["none"] => return Ok(None),
        ["all"] => prefinal_sim::GLOBAL.to_vec(),
        ["trantor"] => prefinal_sim::TRANTOR.to_vec(),
        ["dispel-europe"] => prefinal_sim::DISPEL_EUROPE.to_vec(),
        ["dispel-world"] => prefinal_sim::DISPEL_WORLD.to_vec(),
        ["zaptos"] => prefinal_sim::ZAPTOS.to_vec(),
        _ => names,
    };
    let geography = Geography::aws().map_err(Failure::bad_input)?;
    deal(&geography, &names, parties, seed).map(Some)
}

/// Places parties in some regions by name, or with `all` in all of this geography, `none` for no placement.
///
/// # Errors
/// If a region is not in it.
pub fn place_on(
    geography: &Geography,
    regions: &[String],
    parties: usize,
    seed: u64,
) -> Result<Option<Placement>, Failure> {
    let mut names: Vec<&str> = regions.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["none"] => return Ok(None),
        ["all"] => names = geography.names().collect(),
        _ => {}
    }
    deal(geography, &names, parties, seed).map(Some)
}

/// Places parties in the regions of a table of round trips, or in some of them by name; `all` means all of the table,
/// `none` no placement. A table is a CSV with the columns `from,to,p50_ms,p90_ms`.
///
/// # Errors
/// If the file cannot be read, or a line of it is no round trip, with its name and line; if a region is not in it.
pub fn place_in(
    table: &Path,
    regions: &[String],
    parties: usize,
    seed: u64,
) -> Result<Option<Placement>, Failure> {
    let file = table.display();
    let text = fs::read_to_string(table);
    let text = text.map_err(|error| Failure::bad_input(format_args!("{file}: {error}")))?;
    let geography = Geography::parse(&text);
    let geography =
        geography.map_err(|error| Failure::bad_input(format_args!("{file}: {error}")))?;
    place_on(&geography, regions, parties, seed)
}

fn deal(
    geography: &Geography,
    names: &[&str],
    parties: usize,
    seed: u64,
) -> Result<Placement, Failure> {
    let seats = u32::try_from(parties).map_err(Failure::bad_input)?;
    Placement::dealt(geography, seats, names, seed)
        .map_err(|error| Failure::bad_input(format_args!("--regions: {error}")))
}
