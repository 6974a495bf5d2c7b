//! The address for clients.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::input::{Input, Queue};
use epdb_chess::error::{Error, Result};

/// Pause before the next attempt to accept a connection or to bind an address.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum time of attempts to bind the earlier address while it is still in use.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// An address at which connections are accepted until this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Address {
    socket: Option<SocketAddr>,
    is_over: Arc<AtomicBool>,
}

impl Address {
    /// Host and port for clients on this machine.
    pub(super) fn local(&self) -> Option<SocketAddr> {
        self.socket.map(|mut socket| {
            if socket.ip().is_unspecified() {
                socket.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            socket
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.map_or(Ok(()), |socket| socket.fmt(f))
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(socket) = self.local() {
            // This connection wakes the accepting thread, which then ends.
            TcpStream::connect(socket).ok();
        }
    }
}

/// Binds an address. If the port is 0, the address of the earlier referee is bound again if
/// possible, because clients know this address already.
pub(super) fn bind(wanted: &str, before: Option<&str>) -> Result<TcpListener> {
    let is_any_port = wanted.ends_with(":0");
    if is_any_port && let Some(listener) = before.and_then(bind_again) {
        return Ok(listener);
    }
    TcpListener::bind(wanted).map_err(|error| {
        Error::new(format!("cannot await clients at {wanted} (HOST:PORT)")).because(error)
    })
}

/// Binds the address of an earlier referee. That referee may not have ended yet.
fn bind_again(before: &str) -> Option<TcpListener> {
    let until = Instant::now() + GONE_WITHIN;
    loop {
        match TcpListener::bind(before) {
            Ok(listener) => return Some(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(PAUSE);
            }
            Err(_) => return None,
        }
    }
}

/// Starts a thread that accepts connections.
pub(super) fn listen(listener: TcpListener, queue: Queue) -> Result<Address> {
    let is_over = Arc::new(AtomicBool::new(false));
    let address = Address { socket: Some(listener.local_addr()?), is_over: is_over.clone() };
    thread::spawn(move || {
        loop {
            let stream: io::Result<_> = listener.accept();
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            match stream {
                Ok((stream, _)) => queue.send(Input::Accepted(stream)).unwrap_or(()),
                // Too many files are open, for example.
                Err(_) => thread::sleep(PAUSE),
            }
        }
    });
    Ok(address)
}
