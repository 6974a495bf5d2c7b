//! Signals during service: stop (SIGINT, SIGTERM), and reload the settings (SIGHUP).

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug)]
pub(super) struct Stops {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

#[derive(Debug)]
pub(super) struct Reloads {
    #[cfg(unix)]
    hang_up: Signal,
}

#[cfg(unix)]
impl Stops {
    /// Starts listening.
    pub(super) fn new() -> io::Result<Stops> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Stops { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(unix)]
impl Reloads {
    /// Starts listening.
    pub(super) fn new() -> io::Result<Reloads> {
        Ok(Reloads { hang_up: signal(SignalKind::hangup())? })
    }

    pub(super) async fn next(&mut self) {
        self.hang_up.recv().await;
    }
}

#[cfg(not(unix))]
impl Stops {
    /// Starts listening.
    pub(super) fn new() -> io::Result<Stops> {
        Ok(Stops {})
    }

    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
impl Reloads {
    /// The system has no such signal.
    pub(super) fn new() -> io::Result<Reloads> {
        Ok(Reloads {})
    }

    /// Waits for ever.
    pub(super) async fn next(&mut self) {
        std::future::pending().await
    }
}
