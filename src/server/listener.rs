//! Connections: accepted, limited, and ended.

use std::future::Future;
use std::io;

use axum::Router;
use tokio::net::TcpListener;

/// Serves connections until `stop` is ready, then lets open answers end.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
