//! Names of the server. Requests to other names are refused. This prevents DNS rebinding, in which
//! the name of a foreign page resolves to this machine.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};

use super::answer::Refusal;
use epdb_chess::error::{Error, Result};

/// A name of the server, with or without a port.
///
/// ```
/// use epdb_server::HostName;
/// assert!("chess.example:8080".parse::<HostName>().is_ok());
/// assert!("http://chess.example".parse::<HostName>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostName {
    /// The host in lower case.
    host: String,
    port: Option<u16>,
}

impl FromStr for HostName {
    type Err = Error;

    fn from_str(text: &str) -> Result<HostName> {
        let authority = text.parse::<Authority>().ok().filter(|it| !it.as_str().contains('@'));
        let name = authority.and_then(|authority| {
            let host = authority.host().to_ascii_lowercase();
            let port = authority.port_u16();
            let has_port = authority.as_str().len() > host.len();
            let is_whole = is_name(&host) && has_port == port.is_some();
            is_whole.then_some(HostName { host, port })
        });
        name.ok_or_else(|| {
            Error::new(format!(
                "`{text}` is not a host name such as chess.example or chess.example:8080"
            ))
        })
    }
}

/// Whether a host is a name, or an address in the notation of URLs.
fn is_name(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(is_part)
}

impl HostName {
    /// The IP address, if the name is one.
    fn address(&self) -> Option<IpAddr> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host.parse().ok().map(|address: IpAddr| address.to_canonical())
    }

    fn is_allowed_by(&self, allowed: &HostName) -> bool {
        self.host == allowed.host && (allowed.port.is_none() || allowed.port == self.port)
    }
}

/// The name of the server in a request: from the request target, else from the header Host.
pub(super) fn called<'r>(uri: &'r Uri, host: &'r [u8]) -> &'r [u8] {
    uri.authority().map_or(host, |authority| authority.as_str().as_bytes())
}

#[derive(Debug)]
pub(super) struct Hosts {
    is_loopback: bool,
    allowed: Vec<HostName>,
}

impl Hosts {
    pub(super) fn new(listen: SocketAddr, allowed: &[HostName]) -> Hosts {
        Hosts { is_loopback: listen.ip().to_canonical().is_loopback(), allowed: allowed.to_vec() }
    }

    /// Refuses requests to other names.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal::bad_request("expected one header Host"));
        };
        let name: Option<HostName> =
            str::from_utf8(called(uri, host.as_bytes())).ok().and_then(|text| text.parse().ok());
        match name {
            None => Err(Refusal::bad_request("the header Host names no host")),
            Some(name) if self.answers_to(&name) => Ok(()),
            Some(HostName { host, .. }) => Err(Refusal {
                status: StatusCode::MISDIRECTED_REQUEST,
                text: format!("{host} is not a name of this server; --allow-host {host} adds it"),
            }),
        }
    }

    /// True if a name is one of this server. Addresses and `localhost` are accepted, because they
    /// cannot be the name of a foreign page.
    fn answers_to(&self, name: &HostName) -> bool {
        let is_own = match name.address() {
            Some(address) => !self.is_loopback || address.is_loopback(),
            None => name.host == "localhost",
        };
        is_own || self.allowed.iter().any(|allowed| name.is_allowed_by(allowed))
    }
}
