//! The server's options.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use lexopt::{Arg, Parser};

use super::get::Keeping;
use super::{Command, Mistakes, values};
use crate::transport::{CongestionControl, Transport};

const HELP: &str = include_str!("serve.txt");
/// Limit of a client's paths, by their connection IDs: quiche receives nothing from further addresses, and a NAT
/// may create one every few seconds.
const MAX_PATHS: u64 = 64;

/// What to serve, and how.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// The folder; no file outside of it is served.
    pub root: PathBuf,
    /// The certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The file of the access log.
    pub access_log: Option<PathBuf>,
    /// Whether 0-RTT is accepted.
    pub early_data: bool,
    /// Transport settings.
    pub transport: Transport,
}

pub(super) fn read(parser: &mut Parser, mistakes: &mut Mistakes) -> Result<Command, lexopt::Error> {
    let mut options = Options {
        root: PathBuf::new(),
        certificate: PathBuf::new(),
        key: PathBuf::new(),
        listen: (Ipv4Addr::UNSPECIFIED, 443).into(),
        access_log: None,
        early_data: true,
        transport: Transport { connection_ids: MAX_PATHS, ..Transport::default() },
    };
    while let Some(argument) = parser.next()? {
        let name = match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help(HELP)),
            Arg::Long(name) => name.to_owned(),
            other => return Err(other.unexpected()),
        };
        take(&mut options, &name, parser, mistakes)?;
    }
    for (option, path) in [("root", &options.root), ("cert", &options.certificate), ("key", &options.key)] {
        if path.as_os_str().is_empty() {
            mistakes.add(format!("--{option} is missing"));
        }
    }
    let transport = &options.transport;
    if transport.bbr.0.is_some() && transport.congestion_control != CongestionControl::Bbr2 {
        mistakes.add("--bbr: has no effect without --congestion-control bbr");
    }
    Ok(Command::Serve(Box::new(options)))
}

fn take(
    options: &mut Options,
    name: &str,
    parser: &mut Parser,
    mistakes: &mut Mistakes,
) -> Result<(), lexopt::Error> {
    let mut path = || parser.value().map(PathBuf::from);
    match name {
        "root" => options.root = path()?,
        "cert" => options.certificate = path()?,
        "key" => options.key = path()?,
        "access-log" => options.access_log = Some(path()?),
        "no-early-data" => options.early_data = false,
        "no-migration" => options.transport.migration = false,
        _ => {
            let mut keep = Keeping { option: format!("--{name}"), parser, mistakes };
            if name != "listen" {
                return keep.sender(&mut options.transport, name);
            }
            keep.set(&mut options.listen, values::parsed);
        }
    }
    Ok(())
}
