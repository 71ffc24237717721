//! Destinations: URLs, and the addresses that replace their hosts.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::failure::{Code, Failure};

/// The port of HTTPS, if a URL has none.
const PORT: u16 = 443;

/// A host as URLs write it (an IPv6 address without its brackets), and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A name or an address.
    pub host: String,
    /// A port of UDP.
    pub port: u16,
}

/// An absolute `https` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The host and port that it names.
    pub origin: Origin,
    /// The authority as it was written.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// All of it, as it was written.
    pub text: String,
}

/// "Connect to this host and port instead of that"; an empty part before the colon matches any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    from: (Option<String>, Option<u16>),
    to: (Option<String>, Option<u16>),
}

/// The accepted address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Only IPv4.
    Four,
    /// Only IPv6.
    Six,
}

impl Origin {
    /// The address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// The first address of the requested family that the resolver returns, after the first `--connect-to` that
    /// matches.
    ///
    /// # Errors
    /// When there is no such address.
    pub fn resolve(&self, instead: &[ConnectTo], family: Option<Family>) -> Result<SocketAddr, Failure> {
        let to = instead.iter().find_map(|rule| rule.apply(self)).unwrap_or_else(|| self.clone());
        let found = (to.host.as_str(), to.port).to_socket_addrs().map_err(|error| {
            let message = format!("{}: no address found ({error}); check the name", to.host);
            Failure::new(Code::Resolve, message)
        })?;
        let wanted =
            |address: &SocketAddr| family.is_none_or(|family| address.is_ipv4() == (family == Family::Four));
        found.into_iter().find(wanted).ok_or_else(|| {
            let (digit, option) = if family == Some(Family::Four) { (4, "-4") } else { (6, "-6") };
            let message = format!("{}: no IPv{digit} address; try without {option}", to.host);
            Failure::new(Code::Resolve, message)
        })
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = |reason: &str| Err(format!("{text:?}: {reason}"));
        let Some(rest) = text.strip_prefix("https://") else {
            return fail("HTTP/3 needs a URL that begins with https://");
        };
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return fail("a URL has no spaces, control characters or letters beyond ASCII; write %XX");
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        if authority.contains('@') {
            return fail("user and password are not supported");
        }
        let (host, port) = split(authority).ok_or(format!("{text:?}: {authority:?} is no host and port"))?;
        let Some(host) = host else { return fail("the host is missing") };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let origin = Origin { host, port: port.unwrap_or(PORT) };
        Ok(Self { origin, authority: authority.to_owned(), path, text: text.to_owned() })
    }
}

impl ConnectTo {
    fn apply(&self, requested: &Origin) -> Option<Origin> {
        let fits = self.from.0.as_ref().is_none_or(|host| host.eq_ignore_ascii_case(&requested.host))
            && self.from.1.is_none_or(|port| port == requested.port);
        let host = self.to.0.as_ref().unwrap_or(&requested.host).clone();
        fits.then(|| Origin { host, port: self.to.1.unwrap_or(requested.port) })
    }
}

impl FromStr for ConnectTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = fields(text);
        let [from, from_port, to, to_port] = parts[..] else {
            return Err(format!("{text:?} is not HOST1:PORT1:HOST2:PORT2"));
        };
        let read = |host, port| split(&format!("{host}:{port}"));
        match (read(from, from_port), read(to, to_port)) {
            (Some(from), Some(to)) => Ok(Self { from, to }),
            _ => Err(format!("{text:?}: a port is a number up to 65535, an IPv6 address has brackets")),
        }
    }
}

/// The fields between colons outside brackets.
fn fields(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|character| {
        inside = (inside || character == '[') && character != ']';
        character == ':' && !inside
    })
    .collect()
}

/// `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`, where both may be empty.
fn split(authority: &str) -> Option<(Option<String>, Option<u16>)> {
    let (host, port) = match fields(authority)[..] {
        [host] => (host, ""),
        [host, port] => (host, port),
        _ => return None,
    };
    let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
    let host = match host.strip_prefix('[') {
        Some(rest) => {
            let address = rest.strip_suffix(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            address
        }
        None => host,
    };
    Some(((!host.is_empty()).then(|| host.to_owned()), port))
}

#[cfg(test)]
mod tests {
    use super::{ConnectTo, Family, Origin, Url};
    use crate::failure::Code;

    fn origin(host: &str, port: u16) -> Origin {
        Origin { host: host.to_owned(), port }
    }

    #[test]
    fn a_url_is_split_into_its_parts() {
        let url: Url = "https://a.test:8443/b?c#d".parse().unwrap();
        assert_eq!(url.origin, origin("a.test", 8443));
        assert_eq!((url.authority.as_str(), url.path.as_str()), ("a.test:8443", "/b?c"));
        let url: Url = "https://[::1]?q".parse().unwrap();
        assert_eq!((url.origin, url.path.as_str()), (origin("::1", 443), "/?q"));
        assert_eq!("https://a".parse::<Url>().unwrap().path, "/");
    }

    #[test]
    fn a_wrong_url_is_refused() {
        for text in
            ["http://a/", "a", "https://", "https:///x", "https://u@a/", "https://a:x/", "https://a b/"]
        {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
        assert!("https://[a]/".parse::<Url>().is_err());
        assert!("https://a:65536/".parse::<Url>().is_err());
    }

    #[test]
    fn the_first_matching_rule_decides_the_destination() {
        let rules: Vec<ConnectTo> =
            ["b.test::127.0.0.9:1", "A.test:443:[::1]:8443", ":::1"].map(|text| text.parse().unwrap()).into();
        let to = |host: &str, port| origin(host, port).resolve(&rules, None).unwrap().to_string();
        assert_eq!(to("a.test", 443), "[::1]:8443");
        assert_eq!(to("b.test", 443), "127.0.0.9:1");
        assert_eq!(to("127.0.0.1", 443), "127.0.0.1:1");
        assert!("a:1:b".parse::<ConnectTo>().is_err());
        assert!("a:1:::1:2".parse::<ConnectTo>().is_err());
    }

    #[test]
    fn only_the_requested_address_family_is_used() {
        let failure = origin("127.0.0.1", 443).resolve(&[], Some(Family::Six)).unwrap_err();
        assert_eq!(failure.code, Code::Resolve);
        assert!(failure.message.contains("no IPv6 address"), "{failure}");
    }
}
