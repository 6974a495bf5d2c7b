//! Accepts, limits and closes connections.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;

use super::app::App;
use super::guard::Client;
use super::limits::Limits;
use super::signals::Stops;
use super::waiting::Waiting;

/// Pause after the system could not accept a connection. This is also the time between two signals that tell
/// idle connections to close.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until a stop signal. After the signal, answers in progress may finish, until
/// the time limit or another stop signal. `runtime` runs the connections.
// The caller runs this function on a runtime of its own. So signals and the time limit work even if
// all threads of `runtime` are blocked.
pub(super) async fn serve(
    runtime: &Handle,
    listener: TcpListener,
    router: Router,
    app: Arc<App>,
    mut stops: Stops,
) {
    let stop_time = app.settings.limits.stop_time;
    let stop = Arc::new(Notify::new());
    let mut serving =
        runtime.spawn(accept_until(listener, Connections::new(router, app), Arc::clone(&stop)));
    tokio::select! {
        _ = &mut serving => return tracing::error!("stopped: no connection can be accepted"),
        () = stops.next() => stop.notify_one(),
    }
    tokio::select! {
        done = timeout(stop_time, serving) => match done {
            Ok(_) => tracing::info!("stopped"),
            Err(_) => tracing::warn!("stopped; answers that did not end in time are cut off"),
        },
        () = stops.next() => tracing::warn!("stopped at once; open answers are cut off"),
    }
}

/// Accepts connections until `stop` is notified, and then waits for the end of all answers.
async fn accept_until(listener: TcpListener, connections: Connections, stop: Arc<Notify>) {
    tokio::select! {
        () = connections.accept_all(&listener) => {}
        () = stop.notified() => {}
    }
    drop(listener);
    let open = connections.graceful.count();
    tracing::info!(open, "stopping");
    connections.graceful.shutdown().await;
}

/// The open connections and their shared state.
struct Connections {
    app: Arc<App>,
    service: TowerToHyperService<Router>,
    http: http1::Builder,
    places: Arc<Semaphore>,
    waiting: Arc<Waiting>,
    graceful: GracefulShutdown,
}

impl Connections {
    fn new(router: Router, app: Arc<App>) -> Connections {
        let Limits { connections, head_size, head_time, .. } = app.settings.limits;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head_time).max_header_size(head_size);
        // A client may shut down its sending side and still read.
        http.half_close(true);
        Connections {
            app,
            service: TowerToHyperService::new(router),
            http,
            places: Arc::new(Semaphore::new(connections.get().min(Semaphore::MAX_PERMITS))),
            waiting: Arc::default(),
            graceful: GracefulShutdown::new(),
        }
    }

    /// Accepts connections. A failure is not fatal: accepting works again when the system has free files and
    /// memory.
    async fn accept_all(&self, listener: &TcpListener) {
        let mut is_failing = false;
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    is_failing = false;
                    let Some(place) = self.place().await else { return };
                    self.begin(stream, Client(address.ip()), place);
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    self.app.metrics.accept_failures.inc();
                    if !is_failing {
                        tracing::error!(%error, "no connection can be had");
                    }
                    is_failing = true;
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits for a place for a connection. While all places are taken, idle connections are closed,
    /// the longest idle first.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let mut place = pin!(Arc::clone(&self.places).acquire_owned());
        let make_room = async || {
            self.waiting.end_longest().await;
            sleep(PAUSE).await;
        };
        loop {
            tokio::select! {
                biased;
                place = &mut place => return place.ok(),
                () = make_room() => {}
            }
        }
    }

    fn begin(&self, stream: TcpStream, client: Client, place: OwnedSemaphorePermit) {
        stream.set_nodelay(true).ok();
        let (reader, writer) = stream.into_split();
        let mut writer = TimeoutWriter::new(writer);
        writer.set_timeout(Some(self.app.settings.limits.write_time));
        let (connected, reader) = self.waiting.connect(reader);
        let stream = TokioIo::new(tokio::io::join(reader, Box::pin(writer)));
        let connected = Arc::new(connected);
        let router = self.service.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Arc::new(connected.active_request()));
            request.extensions_mut().insert(client);
            router.call(request)
        });
        let connection = self.http.serve_connection(stream, service);
        let connection = self.graceful.watch(connection);
        let app = Arc::clone(&self.app);
        tokio::spawn(async move {
            app.metrics.connections.inc();
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            app.metrics.connections.dec();
            drop(place);
        });
    }
}

/// Whether the client gave up before it was accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::{net, thread};

    use axum::routing::get;
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::runtime::Builder;

    use super::*;
    use crate::settings::ServerSettings;

    /// A signal ends the server in time, even if all threads that answer are blocked.
    #[test]
    fn a_blocked_runtime_does_not_hold_up_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.epd");
        std::fs::write(&file, "8/8/8/4k3/8/1K6/8/8 b - -\n").unwrap();
        let mut settings = ServerSettings::default();
        settings.sources.push(file.to_str().unwrap().parse().unwrap());
        settings.limits.stop_time = Duration::from_millis(100);
        let app = Arc::new(App::open(settings, 1, &|_| {}).unwrap());

        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let control = Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (begun, has_begun) = channel();
        let (end, may_end) = channel::<()>();
        let may_end = Arc::new(Mutex::new(may_end));
        let block = async move || {
            begun.send(()).unwrap();
            may_end.lock().unwrap().recv().ok();
        };
        let router = Router::new().route("/block", get(block));
        let stops = control.block_on(async { Stops::new() }).unwrap();
        let asking = thread::spawn(move || {
            let mut stream = net::TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /block HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            has_begun.recv().unwrap();
            kill_process(getpid(), Signal::TERM).unwrap();
            stream
        });
        control.block_on(serve(runtime.handle(), listener, router, app, stops));
        drop((end, asking.join().unwrap()));
    }
}
