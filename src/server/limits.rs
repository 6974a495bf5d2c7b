//! Limits on clients.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// Limits on clients: connections, memory and time.
///
/// ```
/// use epdb_server::ServerSettings;
/// use std::time::Duration;
/// let text = "[limits]\nconnections = 64\nhead-time = '5s'\n";
/// let limits = ServerSettings::from_toml("serve.toml", text)?.limits;
/// assert_eq!((limits.connections.get(), limits.head_time), (64, Duration::from_secs(5)));
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of connections. A further connection replaces the connection that is idle longest. If
    /// no connection is idle, it waits.
    pub connections: NonZeroUsize,
    /// Maximum size of a request head in bytes; the head may have at most 100 headers.
    pub head_size: usize,
    /// Maximum length of a request target in bytes.
    pub uri_size: usize,
    /// Time for the head of a request. It begins at the start of the connection or at the end of the previous
    /// answer. It is also the maximum idle time.
    #[serde(deserialize_with = "length_of_time")]
    pub head_time: Duration,
    /// Maximum number of request bodies in transfer. It should be below the number of connections,
    /// so that slow bodies cannot block everybody. A further body cancels the oldest one.
    pub bodies: NonZeroUsize,
    /// Maximum number of bodies in transfer from one address, or from one 64-bit network of IPv6;
    /// more are refused. A proxy that does not buffer requests counts as one address.
    pub bodies_of_address: NonZeroUsize,
    /// Maximum size of a request body in bytes.
    pub body_size: usize,
    /// Maximum number of lines of a batch.
    pub batch_lines: u64,
    /// Time allowed for the body of a request. Received bytes extend it, by a second for each
    /// `body_rate` bytes.
    #[serde(deserialize_with = "length_of_time")]
    pub body_time: Duration,
    /// Number of received bytes that extend the deadline of a body by a second. A transfer that
    /// takes longer than `body_time` needs at least this many bytes per second.
    pub body_rate: NonZeroU64,
    /// Time until an answer begins.
    #[serde(deserialize_with = "length_of_time")]
    pub answer_time: Duration,
    /// Maximum time in which a client reads nothing of its answer.
    #[serde(deserialize_with = "length_of_time")]
    pub write_time: Duration,
    /// Time for open answers to end when the server stops.
    #[serde(deserialize_with = "length_of_time")]
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: NonZeroUsize::MIN.saturating_add(511),
            head_size: 64 << 10,
            uri_size: 32 << 10,
            head_time: Duration::from_secs(30),
            bodies: NonZeroUsize::MIN.saturating_add(255),
            bodies_of_address: NonZeroUsize::MIN.saturating_add(63),
            body_size: 256 << 20,
            batch_lines: 1_000_000,
            body_time: Duration::from_secs(30),
            body_rate: NonZeroU64::MIN.saturating_add(1023),
            answer_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            stop_time: Duration::from_secs(10),
        }
    }
}

fn length_of_time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(|_| {
        de::Error::custom(format!("`{text}` is not a length of time such as 500ms, 5s or 2m"))
    })
}
