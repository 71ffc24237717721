//! The command line. Both verbs have all options; those of the other one have no effect.

use crate::Failure;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the command line says.
pub struct Options {
    /// Address to connect to, or to listen on.
    pub address: SocketAddr,
    /// Name in the server's certificate.
    pub name: String,
    /// Authority, or the server's certificate, as PEM.
    pub certificate: PathBuf,
    /// Key of the certificate.
    pub key: PathBuf,
    /// Folder that is served.
    pub content: PathBuf,
    /// Access log.
    pub log: PathBuf,
    /// `reno`, `cubic` or `bbr`.
    pub congestion_control: String,
    /// Flow-control window of a stream, in bytes.
    pub stream_receive_window: u32,
    /// Flow-control window of the connection, in bytes; none: without limit.
    pub receive_window: Option<u32>,
    /// Bytes that are kept until they are acknowledged.
    pub send_window: u64,
    /// Size of the first packets in bytes.
    pub initial_mtu: u16,
    /// Folder for qlogs.
    pub qlog: Option<PathBuf>,
    /// HTTP version; only 3 is known.
    pub http_version: String,
    /// How often all files are fetched.
    pub rounds: u32,
    /// Path and file of each request.
    pub requests: Vec<(String, PathBuf)>,
}

impl Options {
    /// Reads the words after the verb.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        let mut options = Self {
            address: SocketAddr::from(([0, 0, 0, 0], 443)),
            name: String::new(),
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            content: PathBuf::from("."),
            log: PathBuf::from("/dev/null"),
            congestion_control: String::from("cubic"),
            stream_receive_window: 1_250_000,
            receive_window: None,
            send_window: 10_000_000,
            initial_mtu: 1200,
            qlog: None,
            http_version: String::from("3"),
            rounds: 1,
            requests: Vec::new(),
        };
        let mut parser = Parser::from_args(words);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("server" | "address") => options.address = parser.value()?.parse()?,
                Arg::Long("server-name") => options.name = parser.value()?.string()?,
                Arg::Long("ca" | "certificate") => options.certificate = parser.value()?.into(),
                Arg::Long("key") => options.key = parser.value()?.into(),
                Arg::Long("content") => options.content = parser.value()?.into(),
                Arg::Long("log") => options.log = parser.value()?.into(),
                Arg::Long("congestion-control") => {
                    options.congestion_control = parser.value()?.string()?;
                }
                Arg::Long("stream-receive-window") => {
                    options.stream_receive_window = parser.value()?.parse()?;
                }
                Arg::Long("receive-window") => {
                    let window = parser.value()?.string()?;
                    options.receive_window = if window == "unlimited" { None } else { Some(window.parse()?) };
                }
                Arg::Long("send-window") => options.send_window = parser.value()?.parse()?,
                Arg::Long("initial-mtu") => options.initial_mtu = parser.value()?.parse()?,
                Arg::Long("qlog") => options.qlog = Some(parser.value()?.into()),
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("http") => options.http_version = parser.value()?.string()?,
                Arg::Value(word) => {
                    let word = word.string()?;
                    let (path, file) = word.split_once('=').ok_or("a request is /PATH=FILE")?;
                    options.requests.push((path.to_owned(), PathBuf::from(file)));
                }
                other => return Err(other.unexpected().into()),
            }
        }
        if options.http_version != "3" {
            return Err(format!("HTTP/{} is not HTTP/3", options.http_version).into());
        }
        Ok(options)
    }
}
