//! The command line. Both verbs have all options; those of the other one have no effect.

use crate::Failure;
use lexopt::{Arg, Parser, ValueExt};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// What the command line says.
#[derive(Clone)]
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
    /// Folder for qlogs.
    pub qlog: Option<PathBuf>,
    /// How often all files are fetched.
    pub rounds: u32,
    /// Path and file of each request.
    pub requests: Vec<(String, PathBuf)>,
    /// Values of the stack's own options, by name.
    knobs: HashMap<&'static str, String>,
}

impl Options {
    /// Reads the words after the verb; `knobs` are the stack's own options and their defaults.
    pub fn read(
        words: impl IntoIterator<Item = OsString>,
        knobs: &[(&'static str, &str)],
    ) -> Result<Self, Failure> {
        let mut options = Self {
            address: SocketAddr::from(([0, 0, 0, 0], 443)),
            name: String::new(),
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            content: PathBuf::from("."),
            log: PathBuf::from("/dev/null"),
            qlog: None,
            rounds: 1,
            requests: Vec::new(),
            knobs: knobs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
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
                Arg::Long("qlog") => options.qlog = Some(parser.value()?.into()),
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("http") => match parser.value()?.string()?.as_str() {
                    "3" => {}
                    other => return Err(format!("HTTP/{other} is not HTTP/3").into()),
                },
                Arg::Long(name) => {
                    let Some((name, _)) = knobs.iter().find(|(known, _)| *known == name) else {
                        return Err(format!("no option --{name}").into());
                    };
                    options.knobs.insert(name, parser.value()?.string()?);
                }
                Arg::Value(word) => {
                    let word = word.string()?;
                    let (path, file) = word.split_once('=').ok_or("a request is /PATH=FILE")?;
                    options.requests.push((path.to_owned(), PathBuf::from(file)));
                }
                other @ Arg::Short(_) => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }

    /// Returns the value of one of the stack's own options.
    pub fn knob<T: FromStr>(&self, name: &str) -> Result<T, Failure> {
        let value = self.knobs.get(name).ok_or_else(|| format!("no option --{name}"))?;
        value.parse().map_err(|_| format!("--{name}: does not accept {value:?}").into())
    }

    /// Returns a new file for a connection's qlog, if one is wanted.
    #[cfg_attr(feature = "msquic", expect(dead_code, reason = "msquic writes no qlog"))]
    pub fn qlog_file(&self, connection: &str) -> Result<Option<File>, Failure> {
        let file = |folder: &PathBuf| File::create(folder.join(format!("{connection}.sqlog")));
        Ok(self.qlog.as_ref().map(file).transpose()?)
    }
}
