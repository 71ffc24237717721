//! stub
use crate::command::Serve;
use crate::failure::Failure;
/// stub
pub fn run(_: &Serve) -> Result<(), Failure> {
    Ok(())
}
