//! How much of the server its clients may take.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// How much of the server its clients may take: of its connections, its memory and its time.
///
/// ```
/// use epdb::server::ServerSettings;
/// use std::time::Duration;
/// let text = "[limits]\nconnections = 64\nhead-time = '5s'\n";
/// let limits = ServerSettings::from_toml("serve.toml", text)?.limits;
/// assert_eq!((limits.connections.get(), limits.head_time), (64, Duration::from_secs(5)));
/// # Ok::<(), epdb::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once. One more takes the place of the one that waits longest for a question, and waits
    /// itself where all are asked.
    pub connections: NonZeroUsize,
    /// Bytes of the head of a request, which has at most 100 headers.
    pub head_size: usize,
    /// Bytes of the address that a request asks for.
    pub uri_size: usize,
    /// Time for the head of a request, from the beginning of the connection or the end of the answer
    /// before: so long a connection may also be idle.
    #[serde(deserialize_with = "length_of_time")]
    pub head_time: Duration,
    /// Bodies of requests that are coming at once: fewer than connections, so that slow ones keep nobody else
    /// out. For one more the body that began first is given up.
    pub bodies: NonZeroUsize,
    /// How many of them come from one address, or from one network of 64 bits in IPv6; more are refused. A
    /// proxy that hands bodies on as they come is one address.
    pub bodies_of_address: NonZeroUsize,
    /// Bytes of the body of a request.
    pub body_size: usize,
    /// Lines of a batch.
    pub batch_lines: u64,
    /// How long the body of a request is waited for; what comes of it makes up for that by `body_rate`.
    #[serde(deserialize_with = "length_of_time")]
    pub body_time: Duration,
    /// Bytes of a body that make up for a second of `body_time`: how many must come in a second where it takes
    /// longer.
    pub body_rate: NonZeroU64,
    /// Time until an answer begins.
    #[serde(deserialize_with = "length_of_time")]
    pub answer_time: Duration,
    /// The longest pause in which a client takes nothing of its answer.
    #[serde(deserialize_with = "length_of_time")]
    pub write_time: Duration,
    /// Time for open answers to end when the server is stopped.
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
        de::Error::custom(format!("`{text}` is no length of time such as 500ms, 5s or 2m"))
    })
}
