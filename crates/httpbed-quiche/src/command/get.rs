//! The client's options.

use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser};

use super::{Command, Mistakes, values};
use crate::failure::Code;
use crate::migration::Policy;
use crate::origin::{ConnectTo, Family, Url};
use crate::transport::Transport;

const HELP: &str = include_str!("help.txt");
const MAX_PARALLEL: usize = 100;

/// What to fetch, and how.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    /// URLs of one origin.
    pub urls: Vec<Url>,
    /// Files of their bodies, in the same order; further bodies are discarded.
    pub outputs: Vec<PathBuf>,
    /// Addresses that replace others.
    pub connect_to: Vec<ConnectTo>,
    /// The accepted address family.
    pub family: Option<Family>,
    /// Certificates to trust instead of the machine's.
    pub authorities: Option<PathBuf>,
    /// Trust any certificate.
    pub insecure: bool,
    /// Transport settings.
    pub transport: Transport,
    /// The policy for changes of the network.
    pub migration: Policy,
    /// How often all URLs are fetched.
    pub rounds: usize,
    /// Requests at once.
    pub max_parallel: usize,
    /// File of session tickets.
    pub session: Option<PathBuf>,
    /// Use 0-RTT.
    pub early_data: bool,
    /// File of the connection's events.
    pub qlog: Option<PathBuf>,
    /// File of the TLS secrets.
    pub keylog: Option<PathBuf>,
    /// Time limit.
    pub max_time: Option<Duration>,
    /// Whether a status of 400 or more is a failure.
    pub fail: bool,
}

pub(super) fn read(parser: &mut Parser, mistakes: &mut Mistakes) -> Result<Command, lexopt::Error> {
    let mut options = Options { rounds: 1, max_parallel: MAX_PARALLEL, ..Options::default() };
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help(HELP)),
            Arg::Short('V') | Arg::Long("version") => return Ok(Command::Version),
            Arg::Value(word) => add_url(&mut options, &word.to_string_lossy(), mistakes),
            Arg::Short(letter) => {
                let Some(name) = long(letter) else { return Err(Arg::Short(letter).unexpected()) };
                take(&mut options, name, parser, mistakes)?;
            }
            Arg::Long(name) => {
                let name = name.to_owned();
                take(&mut options, &name, parser, mistakes)?;
            }
        }
    }
    check(&options, mistakes);
    Ok(Command::Get(Box::new(options)))
}

fn long(letter: char) -> Option<&'static str> {
    Some(match letter {
        '4' => "ipv4",
        '6' => "ipv6",
        'o' => "output",
        'f' => "fail",
        'm' => "max-time",
        'k' => "insecure",
        _ => return None,
    })
}

fn take(
    options: &mut Options,
    name: &str,
    parser: &mut Parser,
    mistakes: &mut Mistakes,
) -> Result<(), lexopt::Error> {
    let mut path = || parser.value().map(PathBuf::from);
    match name {
        "ipv4" => options.family = Some(Family::Four),
        "ipv6" => options.family = Some(Family::Six),
        "fail" => options.fail = true,
        "insecure" => options.insecure = true,
        "early-data" => options.early_data = true,
        "output" => options.outputs.push(path()?),
        "cacert" => options.authorities = Some(path()?),
        "session" => options.session = Some(path()?),
        "qlog" => options.qlog = Some(path()?),
        "keylog" => options.keylog = Some(path()?),
        _ => return take_value(options, name, parser, mistakes),
    }
    Ok(())
}

fn take_value(
    options: &mut Options,
    name: &str,
    parser: &mut Parser,
    mistakes: &mut Mistakes,
) -> Result<(), lexopt::Error> {
    let mut keep = Keeping { option: format!("--{name}"), parser, mistakes };
    match name {
        "migration" => keep.set(&mut options.migration, values::parsed),
        "connect-to" => keep.push(&mut options.connect_to),
        "rounds" => keep.set(&mut options.rounds, values::count),
        "max-parallel" => keep.set(&mut options.max_parallel, values::count),
        "max-time" => {
            let mut limit = Duration::ZERO;
            keep.set(&mut limit, values::seconds);
            options.max_time = Some(limit);
        }
        _ => return take_transport(&mut options.transport, name, keep),
    }
    Ok(())
}

fn take_transport(transport: &mut Transport, name: &str, mut keep: Keeping<'_>) -> Result<(), lexopt::Error> {
    match name {
        "max-data" => keep.set(&mut transport.max_data, values::bytes),
        "max-window" => keep.set(&mut transport.max_window, values::bytes),
        "max-stream-data" => keep.set(&mut transport.max_stream_data, values::bytes),
        "max-stream-window" => keep.set(&mut transport.max_stream_window, values::bytes),
        _ => return keep.sender(transport, name),
    }
    Ok(())
}

/// The value of an option: where it is read, and where its mistakes go.
pub(super) struct Keeping<'a> {
    pub option: String,
    pub parser: &'a mut Parser,
    pub mistakes: &'a mut Mistakes,
}

impl Keeping<'_> {
    pub fn set<T>(&mut self, place: &mut T, read: fn(&mut Parser) -> Result<T, String>) {
        if let Some(value) = self.mistakes.keep(&self.option, read(self.parser)) {
            *place = value;
        }
    }

    fn push(&mut self, places: &mut Vec<ConnectTo>) {
        places.extend(self.mistakes.keep(&self.option, values::parsed(self.parser)));
    }

    /// The options that client and server share.
    pub fn sender(&mut self, transport: &mut Transport, name: &str) -> Result<(), lexopt::Error> {
        match name {
            "congestion-control" => self.set(&mut transport.congestion_control, values::parsed),
            "bbr" => self.set(&mut transport.bbr, values::parsed),
            "initial-window" => self.set(&mut transport.initial_window, values::count),
            "idle-timeout" => self.set(&mut transport.idle, values::seconds),
            _ => return Err(lexopt::Error::UnexpectedOption(self.option.clone())),
        }
        Ok(())
    }
}

fn add_url(options: &mut Options, word: &str, mistakes: &mut Mistakes) {
    match word.parse() {
        Ok(url) => options.urls.push(url),
        Err(message) => mistakes.0.push((Code::Url, message)),
    }
}

fn check(options: &Options, mistakes: &mut Mistakes) {
    let Some(first) = options.urls.first() else {
        if mistakes.0.is_empty() {
            mistakes.add("no URL: give at least one, such as https://localhost/");
        }
        return;
    };
    for url in options.urls.iter().filter(|url| url.origin != first.origin) {
        let message = format!("{}: another host than {}; use one host per run", url.text, first.text);
        mistakes.0.push((Code::Url, message));
    }
    if options.outputs.len() > options.urls.len() {
        let (outputs, urls) = (options.outputs.len(), options.urls.len());
        mistakes.add(format!("--output: {outputs} files for {urls} URLs; give at most one for each URL"));
    }
    if options.early_data && options.session.is_none() {
        mistakes.add("--early-data: needs the ticket of an earlier connection; add --session FILE");
    }
}
