//! Starts, runs and stops a server.

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn_blocking;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::services::ServeDir;

use super::answer::Refusal;
use super::app::App;
use super::guard::{Guard, no_method, no_path, pass_valid};
use super::observe::observe;
use super::page::assets::GZIP;
use super::settings::{ServerSettings, SourceSpec};
use super::signals::{Reloads, Stops};
use super::{api, app, chessdb, cors, explorer, listener, page};
use epdb_chess::error::{Error, Result, panic_text};

/// A server with its address bound and its sources open.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    /// Runs the connections.
    runtime: Runtime,
    /// Waits for signals.
    control: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stops: Stops,
    reloads: Reloads,
}

impl Server {
    /// Binds the address and opens all sources; `begins` is called before each source. From then
    /// on, signals are received; [`Server::run`] obeys them.
    ///
    /// # Errors
    /// The address is in use, a source cannot be opened, or signal handlers cannot be installed.
    pub fn open(settings: ServerSettings, begins: impl Fn(&SourceSpec)) -> Result<Server> {
        let listen = settings.listen;
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(failed("cannot start threads"))?;
        let control = Builder::new_current_thread().enable_all().build();
        let control = control.map_err(failed("cannot wait for signals"))?;
        let listener =
            runtime.block_on(TcpListener::bind(listen)).map_err(cannot_listen(listen))?;
        let address = listener.local_addr().map_err(failed("no address"))?;
        let threads = runtime.metrics().num_workers();
        let app = Arc::new(App::open(settings, threads, &begins)?);
        let stops = control.block_on(async { Stops::new() });
        let stops = stops.map_err(failed("cannot take signals"))?;
        let reloads = runtime.block_on(async { Reloads::new() });
        let reloads = reloads.map_err(failed("cannot take signals"))?;
        Ok(Server { app, runtime, control, listener, address, stops, reloads })
    }

    /// The address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until a stop signal (SIGINT, SIGTERM), and then lets open answers end; a
    /// second signal aborts them. SIGHUP reloads the settings and their sources; if that fails,
    /// nothing changes.
    ///
    /// # Errors
    /// Threads cannot be created.
    pub fn run(
        self,
        settings: impl Fn() -> Result<ServerSettings> + Send + Sync + 'static,
    ) -> Result<()> {
        let Server { app, runtime, control, listener, address, stops, reloads } = self;
        runtime.spawn(reload_when_told(reloads, Arc::clone(&app), Arc::new(settings)));
        let router = router(Arc::clone(&app), address);
        control.block_on(listener::serve(runtime.handle(), listener, router, app, stops));
        // Lookups still running have no client any more.
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
        let app = Arc::clone(&app);
        let settings = Arc::clone(&settings);
        spawn_blocking(move || reload(&app, settings())).await.unwrap_or(());
    }
}

/// Changes to the sources of new settings.
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

/// Minimum size of a body that is compressed.
const COMPRESSED_FROM: u64 = 1024;

/// The content type that Prometheus expects.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn metrics_routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(async || "ok\n")).route("/metrics", get(metrics))
}

async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS)], app.metrics.text(&app.sources.states()))
}

fn library_routes(app: &Arc<App>) -> Router<Arc<App>> {
    let questions =
        Router::new().merge(explorer::routes()).merge(chessdb::routes()).merge(api::routes());
    let keep = from_fn_with_state(Arc::clone(app), app::cache_answers);
    questions.layer(keep).merge(metrics_routes()).merge(page::routes())
}

pub(super) fn router(app: Arc<App>, listen: SocketAddr) -> Router {
    let settings = &app.settings;
    let routes = match &app.site {
        Some(folder) => {
            let files = Router::new().fallback_service(ServeDir::new(folder));
            settings.base_path.before(files)
        }
        None => settings
            .base_path
            .before(library_routes(&app))
            .method_not_allowed_fallback(no_method)
            .fallback(no_path),
    };
    let guard = Arc::new(Guard::new(settings, listen));
    // A stream of lines is flushed when no further line is ready.
    let compression = CompressionLayer::new()
        .gzip(true)
        .zstd(true)
        .compress_when(SizeAbove::new(COMPRESSED_FROM).and(NotForContentType::new(GZIP)));
    let cors = if settings.cors.is_empty() { None } else { Some(cors::layer(&settings.cors)) };
    // The last layer sees the request first.
    routes
        .with_state(Arc::clone(&app))
        .layer(compression)
        .layer(option_layer(cors))
        .layer(from_fn_with_state(guard, pass_valid))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app, observe))
}

/// The answer after a panic.
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    Refusal::failed(panic_text(&*panic)).into_response()
}
