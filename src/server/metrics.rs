//! Metrics of the running server, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use epdb_explorer::Served;

pub(super) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    sent: Counter,
    cut: Counter,
    records: Family<SourceLabels, Gauge>,
    current: Family<SourceLabels, Gauge>,
    pub(super) connections: Gauge,
    pub(super) accept_failures: Counter,
    reloads: Family<ReloadLabels, Counter>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabels {
    route: Arc<str>,
    status: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RouteLabels {
    route: Arc<str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct SourceLabels {
    source: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ReloadLabels {
    result: &'static str,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(super) fn new() -> Metrics {
        // The buckets reach from a tenth of a millisecond to a minute and a half.
        let histogram = || Histogram::new(exponential_buckets(0.0001, 2.5, 16));
        let mut metrics = Metrics {
            registry: Registry::with_prefix("epdb"),
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            sent: Counter::default(),
            cut: Counter::default(),
            records: Family::default(),
            current: Family::default(),
            connections: Gauge::default(),
            accept_failures: Counter::default(),
            reloads: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("requests", "Requests, by route and status", self.requests.clone());
        registry.register("request_seconds", "Time to the end of the answer", self.seconds.clone());
        registry.register("sent_bytes", "Bytes of bodies that were sent", self.sent.clone());
        registry.register("cut_answers", "Answers that did not reach their end", self.cut.clone());
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register(
            "accept_failures",
            "Connections that the system did not give",
            self.accept_failures.clone(),
        );
        registry.register("reloads", "Reloads on SIGHUP, by result", self.reloads.clone());
        registry.register("source_records", "Records of a source", self.records.clone());
        registry.register(
            "source_current",
            "1 if the last check of a source found the files that are served",
            self.current.clone(),
        );
    }

    pub(super) fn answered(&self, route: &Arc<str>, status: u16, time: Duration, bytes: u64) {
        let route = Arc::clone(route);
        self.requests.get_or_create(&RequestLabels { route: Arc::clone(&route), status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(time.as_secs_f64());
        self.sent.inc_by(bytes);
    }

    /// Counts an aborted answer.
    pub(super) fn cut(&self) {
        self.cut.inc();
    }

    pub(super) fn reloaded(&self, is_done: bool) {
        let result = if is_done { "done" } else { "failed" };
        self.reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    pub(super) fn text(&self, sources: &[(Arc<Served>, bool)]) -> String {
        self.records.clear();
        self.current.clear();
        for (served, is_current) in sources {
            let labels = SourceLabels { source: served.name().to_string() };
            let records = i64::try_from(served.lookup().len()).unwrap_or(i64::MAX);
            self.records.get_or_create(&labels).set(records);
            self.current.get_or_create(&labels).set(i64::from(*is_current));
        }
        let mut text = String::new();
        // Writing into a string does not fail.
        encode(&mut text, &self.registry).unwrap_or(());
        text
    }
}
