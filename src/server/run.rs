//! A server from its start to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;

use super::app::App;
use super::settings::{ServerSettings, SourceSpec};
use super::signals::{Reloads, Stops};
use super::{listener, router};
use crate::error::{Error, Result};

/// A server whose address is taken and whose sources are open.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stops: Stops,
    reloads: Reloads,
}

impl Server {
    /// Takes the address, opens all sources, having told `begins` of each, and from then on takes the signals
    /// that [`Server::run`] obeys.
    ///
    /// # Errors
    /// The address is taken already, a source cannot be opened, or the system grants no handler of signals.
    pub fn open(settings: ServerSettings, begins: impl Fn(&SourceSpec)) -> Result<Server> {
        let listen = settings.listen;
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(failed("cannot start threads"))?;
        let listener =
            runtime.block_on(TcpListener::bind(listen)).map_err(cannot_listen(listen))?;
        let address = listener.local_addr().map_err(failed("no address"))?;
        let app = Arc::new(App::open(settings, &begins)?);
        let signals = runtime.block_on(async { Ok((Stops::new()?, Reloads::new()?)) });
        let (stops, reloads) = signals.map_err(failed("cannot take signals"))?;
        Ok(Server { app, runtime, listener, address, stops, reloads })
    }

    /// Where connections are awaited.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until the process is told to end (SIGINT, SIGTERM), and lets open answers end then; told
    /// once more, it cuts them off. On SIGHUP it reads the settings anew and serves their sources, or goes on as
    /// before where that fails.
    ///
    /// # Errors
    /// The system grants no threads.
    pub fn run(
        self,
        settings: impl Fn() -> Result<ServerSettings> + Send + Sync + 'static,
    ) -> Result<()> {
        let Server { app, runtime, listener, address, stops, reloads } = self;
        runtime.spawn(reload_when_told(reloads, Arc::clone(&app), Arc::new(settings)));
        let router = router::router(Arc::clone(&app), address);
        runtime.block_on(listener::serve(listener, router, app, stops));
        // What threads still look up is for nobody.
        runtime.shutdown_background();
        Ok(())
    }
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    |error| Error::new(what).because(error)
}

fn cannot_listen(listen: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => {
                "; --listen takes another port"
            }
            _ => "",
        };
        Error::new(format!("cannot listen at {listen}: {error}{advice}"))
    }
}

async fn reload_when_told<F>(mut reloads: Reloads, app: Arc<App>, settings: Arc<F>)
where
    F: Fn() -> Result<ServerSettings> + Send + Sync + 'static,
{
    loop {
        reloads.next().await;
        let (app, settings) = (Arc::clone(&app), Arc::clone(&settings));
        spawn_blocking(move || reload(&app, settings())).await.unwrap_or(());
    }
}

/// Serves the sources of other settings.
fn reload(app: &App, settings: Result<ServerSettings>) {
    let done = settings.and_then(|settings| {
        app.sources.reload(&settings.sources, &|_| {})?;
        let sources = app.settings.sources.clone();
        Ok(ServerSettings { sources, ..settings } == app.settings)
    });
    app.metrics.reloaded(done.is_ok());
    match done {
        Ok(true) => tracing::info!("reloaded"),
        Ok(false) => {
            tracing::warn!("reloaded the sources; other settings are taken at the next start")
        }
        Err(error) => tracing::error!(%error, "not reloaded: all is served as before"),
    }
}
