//! The places of an experiment's parties.
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
    let seats = u32::try_from(parties).map_err(Failure::bad_input)?;
    Placement::dealt(&geography, seats, &names, seed)
        .map(Some)
        .map_err(|error| Failure::bad_input(format_args!("--regions: {error}")))
}
