//! A server started for a test, and requests to it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::scratch::Scratch;

/// Longer than anything here takes on any machine.
const LONG: Duration = Duration::from_secs(60);

/// `epdb serve` as a process of its own, at a free port; it ends with the test.
pub(crate) struct Running {
    child: Child,
    /// Such as `http://127.0.0.1:34567`.
    pub(crate) base: String,
    log: Arc<Log>,
    reader: Option<JoinHandle<()>>,
}

/// Output so far; each line wakes the waiting thread.
#[derive(Default)]
struct Log {
    text: Mutex<String>,
    has_more: Condvar,
}

/// The answer.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Running {
    /// Starts it in a folder, with arguments after `epdb serve`.
    pub(crate) fn start(scratch: &Scratch, args: &[&str]) -> Running {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        Running::spawn(scratch, command)
    }

    /// The same by a command that runs it.
    pub(crate) fn spawn(scratch: &Scratch, command: Command) -> Running {
        Running::spawn_with(scratch, command, Stdio::null())
    }

    /// The same with a standard input.
    pub(crate) fn spawn_with(scratch: &Scratch, mut command: Command, input: Stdio) -> Running {
        command.current_dir(scratch.path(""));
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).stdin(input).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        let base = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {first}");
            first += &line;
            let address = line.split("listening at ").nth(1);
            if let Some(address) = address.and_then(|rest| rest.split([' ', '"']).next()) {
                break address.trim_end_matches('/').to_string();
            }
        };
        let log = Arc::new(Log { text: Mutex::new(first), ..Log::default() });
        let kept = Arc::clone(&log);
        let reader = thread::spawn(move || {
            lines.lines().map_while(Result::ok).for_each(|line| {
                *kept.text.lock().unwrap() += &(line + "\n");
                kept.has_more.notify_all();
            });
        });
        Running { child, base, log, reader: Some(reader) }
    }

    /// `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Of its process.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Output so far.
    pub(crate) fn log(&self) -> String {
        self.log.text.lock().unwrap().clone()
    }

    /// Waits until it says this.
    pub(crate) fn wait_for_log(&self, said: &str) {
        let Log { text, has_more } = &*self.log;
        let is_missing = |text: &mut String| !text.contains(said);
        let (text, waited) =
            has_more.wait_timeout_while(text.lock().unwrap(), LONG, is_missing).unwrap();
        assert!(!waited.timed_out(), "never {said}: {text}");
    }

    /// A question; `path` begins with a slash.
    pub(crate) fn get(&self, path: &str) -> Got {
        self.get_with(path, &[])
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Got {
        let mut request = agent().get(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Got::new(request.call().unwrap())
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Got {
        Got::new(agent().post(format!("{}{path}", self.base)).send(body).unwrap())
    }

    /// Tells it something as a user does.
    #[cfg(unix)]
    pub(crate) fn tell(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Ends it as a user does, and returns its status and output.
    #[cfg(unix)]
    pub(crate) fn stop(self) -> (std::process::ExitStatus, String) {
        self.tell(rustix::process::Signal::TERM);
        self.end()
    }

    /// Its status and output, when it has ended.
    pub(crate) fn end(mut self) -> (std::process::ExitStatus, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status, self.log())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

impl Got {
    fn new(mut response: ureq::http::Response<ureq::Body>) -> Got {
        let mut body = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut body).unwrap();
        Got { status: response.status().as_u16(), headers: response.headers().clone(), body }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
