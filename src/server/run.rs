//! A server from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::app::App;
use super::settings::ServerSettings;
use super::{listener, router};
use crate::error::{Error, Result};

/// A server whose sources are open and whose address is taken.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens all sources and takes the address.
    ///
    /// # Errors
    /// A source cannot be opened, or the address is taken already.
    pub fn open(settings: ServerSettings) -> Result<Server> {
        let listen = settings.listen;
        let app = Arc::new(App::open(settings)?);
        let failed = |what: &str| {
            let what = what.to_string();
            move |error| Error::new(what).because(error)
        };
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(failed("cannot start threads"))?;
        let listener = runtime
            .block_on(TcpListener::bind(listen))
            .map_err(failed(&format!("cannot listen at {listen}")))?;
        let address = listener.local_addr().map_err(failed("no address"))?;
        Ok(Server { app, runtime, listener, address })
    }

    /// Where connections are awaited.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until the process is told to end, and lets open answers end then.
    ///
    /// # Errors
    /// Connections cannot be accepted any more.
    pub fn run(self) -> Result<()> {
        let Server { app, runtime, listener, .. } = self;
        let watch = app.sources.watch();
        watch.map_err(|error| Error::new("cannot start threads").because(error))?;
        let sources = Arc::clone(&app.sources);
        let stop = async {
            tokio::signal::ctrl_c().await.ok();
        };
        let served = runtime.block_on(listener::serve(listener, router::router(app), stop));
        sources.close();
        served.map_err(|error| Error::new("cannot accept connections").because(error))
    }
}
