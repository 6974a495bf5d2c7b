//! A web server in the process of the test, which fails on demand. It also takes requests for S3 and for datasets.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

/// The server. Its thread ends with the process.
pub(crate) struct WebServer {
    /// Such as `http://127.0.0.1:34567`.
    pub(crate) base: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    /// What happens to the next requests for a path, in order.
    faults: VecDeque<(String, Fault)>,
    requests: Vec<Request>,
    /// Parts of objects that are not complete yet, by path and number.
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// The server that has all other objects.
    upstream: Option<String>,
    /// Connections that never get an answer.
    held: Vec<TcpStream>,
    /// Contents that objects get before they are written next.
    before_puts: Vec<(String, String)>,
    /// True if answers have no ETag.
    is_without_tags: bool,
    /// True if ranges are ignored.
    is_without_ranges: bool,
    framing: Framing,
    /// The header `Last-Modified`, if it is not the default.
    modified: Option<String>,
}

/// How an answer shows where its content ends.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) enum Framing {
    /// By the header `Content-Length`.
    #[default]
    Length,
    /// By an empty chunk.
    Chunks,
    /// By the end of the connection.
    End,
}

#[derive(Clone)]
enum Object {
    Bytes { bytes: Arc<[u8]>, tag: String },
    Redirect(String),
}

/// A failure of one request.
pub(crate) enum Fault {
    /// An answer with this status and no content.
    Status(u16),
    /// The connection breaks after this number of bytes of the content.
    Cut(usize),
    /// No answer.
    Silence,
    /// The object gets another content before the answer.
    Replace(Vec<u8>),
    /// The answer that it would have been.
    None,
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) path: String,
    /// The headers, with names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// Number of bytes of content in the answer.
    pub(crate) sent: usize,
}

impl WebServer {
    pub(crate) fn start() -> WebServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that closes the connection is no fault of the server.
                thread::spawn(move || answer(stream, &shared).ok());
            }
        });
        WebServer { base, state }
    }

    /// A proxy before a server: it passes on all requests except for its own objects.
    pub(crate) fn before(upstream: &str) -> WebServer {
        let server = WebServer::start();
        server.state.lock().unwrap().upstream = Some(upstream.into());
        server
    }

    /// The address of a path, which begins with `/`.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sets the content of an object.
    pub(crate) fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.state.lock().unwrap().put(path, bytes.into());
    }

    /// The content of an object.
    pub(crate) fn get(&self, path: &str) -> Option<Vec<u8>> {
        match self.state.lock().unwrap().objects.get(path)? {
            Object::Bytes { bytes, .. } => Some(bytes.to_vec()),
            Object::Redirect(_) => None,
        }
    }

    /// Number of objects that are not complete.
    pub(crate) fn uploads(&self) -> usize {
        self.state.lock().unwrap().uploads.len()
    }

    /// Removes an object.
    pub(crate) fn remove(&self, path: &str) {
        self.state.lock().unwrap().objects.remove(path);
    }

    /// The paths of all objects.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }

    /// Redirects a path to an address.
    pub(crate) fn redirect(&self, path: &str, to: &str) {
        let mut state = self.state.lock().unwrap();
        state.objects.insert(path.into(), Object::Redirect(to.into()));
    }

    /// Adds a failure of a request for a path. Failures of earlier calls come first.
    pub(crate) fn fail(&self, path: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push_back((path.into(), fault));
    }

    /// Gives an object another content before it is written next.
    pub(crate) fn replace_before_put(&self, path: &str, content: &str) {
        self.state.lock().unwrap().before_puts.push((path.into(), content.into()));
    }

    /// From now on, answers have no ETag.
    pub(crate) fn without_tags(&self) {
        self.state.lock().unwrap().is_without_tags = true;
    }

    /// From now on, requests for ranges get the whole content.
    pub(crate) fn without_ranges(&self) {
        self.state.lock().unwrap().is_without_ranges = true;
    }

    /// From now on, the end of the content is shown in this way.
    pub(crate) fn frame_by(&self, framing: Framing) {
        self.state.lock().unwrap().framing = framing;
    }

    /// From now on, answers have this date.
    pub(crate) fn modified(&self, date: &str) {
        self.state.lock().unwrap().modified = Some(date.into());
    }

    /// Waits until this number of connections get no answer.
    pub(crate) fn wait_for_held(&self, count: usize) {
        while self.state.lock().unwrap().held.len() < count {
            thread::yield_now();
        }
    }

    /// The requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

impl State {
    fn put(&mut self, path: &str, bytes: Vec<u8>) {
        let tag = format!("\"{}\"", blake3::hash(&bytes).to_hex());
        self.objects.insert(path.into(), Object::Bytes { bytes: bytes.into(), tag });
    }

    fn take_fault(&mut self, path: &str) -> Option<Fault> {
        let place = self.faults.iter().position(|(of, _)| of == path)?;
        self.faults.remove(place).map(|(_, fault)| fault)
    }
}

/// An answer, of which `sent` bytes of content are sent.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    content: Vec<u8>,
    sent: usize,
}

impl Answer {
    fn new(status: u16, headers: Vec<(&'static str, String)>, content: Vec<u8>) -> Answer {
        Answer { status, headers, sent: content.len(), content }
    }

    fn empty(status: u16) -> Answer {
        Answer::new(status, Vec::new(), Vec::new())
    }
}

fn answer(mut stream: TcpStream, shared: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some((mut request, body)) = read_request(&mut reader)? else { return Ok(()) };
    let framing;
    let answer = {
        let mut state = shared.lock().unwrap();
        framing = state.framing;
        let answer = state.answer(&request, body);
        request.sent = answer.as_ref().map_or(0, |answer| answer.sent);
        state.requests.push(request.clone());
        if answer.is_none() {
            state.held.push(stream.try_clone()?);
        }
        answer
    };
    let Some(Answer { status, headers, content, sent }) = answer else { return Ok(()) };
    let mut head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\n");
    match framing {
        Framing::Length => head += &format!("Content-Length: {}\r\n", content.len()),
        Framing::Chunks => head += "Transfer-Encoding: chunked\r\n",
        Framing::End => {}
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if request.method == "HEAD" {
        return Ok(());
    }
    if framing != Framing::Chunks {
        return stream.write_all(&content[..sent]);
    }
    for chunk in content[..sent].chunks(50_000) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
        stream.write_all(chunk)?;
        stream.write_all(b"\r\n")?;
    }
    // Without the empty chunk, the content is incomplete.
    if sent == content.len() { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<(Request, Vec<u8>)>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (method, path) = (method.to_string(), path.to_string());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    let len = headers.get("content-length").map_or(0, |len| len.parse().unwrap());
    let mut body = Vec::new();
    reader.take(len).read_to_end(&mut body)?;
    Ok(Some((Request { method, path, headers, sent: 0 }, body)))
}

impl State {
    /// The answer to a request; `None` for silence.
    fn answer(&mut self, request: &Request, body: Vec<u8>) -> Option<Answer> {
        let path = request.path.split('?').next().unwrap_or_default();
        let mut cut = None;
        match self.take_fault(path) {
            Some(Fault::Status(status)) => return Some(Answer::empty(status)),
            Some(Fault::Silence) => return None,
            Some(Fault::Cut(len)) => cut = Some(len),
            Some(Fault::Replace(bytes)) => self.put(path, bytes),
            Some(Fault::None) | None => {}
        }
        let upstream = self.upstream.as_ref().filter(|_| !self.objects.contains_key(path));
        let mut answer = match request.method.as_str() {
            _ if upstream.is_some() => forward(&format!("{}{}", upstream?, request.path), request),
            "POST" | "DELETE" | "PUT" if request.path.contains('?') => {
                self.write_in_parts(request, path, body)
            }
            "PUT" => self.write(request, path, body),
            _ => self.read(request, path),
        };
        answer.sent = answer.sent.min(cut.unwrap_or(usize::MAX));
        Some(answer)
    }

    fn read(&self, request: &Request, path: &str) -> Answer {
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        if query.contains("list-type=2") {
            return self.list_bucket(path.trim_end_matches('/'), query);
        }
        if let Some(tree) = path.strip_prefix("/api/datasets/") {
            let (dataset, folder) = tree.split_once("/tree/main").unwrap();
            return self.list_dataset(dataset, folder, query, &request.headers["host"]);
        }
        let (bytes, tag) = match self.objects.get(path) {
            None => return Answer::empty(404),
            Some(Object::Redirect(to)) => {
                return Answer::new(302, vec![("Location", to.clone())], Vec::new());
            }
            Some(Object::Bytes { bytes, tag }) => (bytes, tag),
        };
        if request.headers.get("if-match").is_some_and(|wanted| wanted != tag) {
            return Answer::empty(412);
        }
        let modified = self.modified.as_deref().unwrap_or("Fri, 27 Nov 2026 00:00:00 GMT");
        let mut headers = vec![("Last-Modified", modified.to_string())];
        if !self.is_without_tags {
            headers.push(("ETag", tag.clone()));
        }
        let range = request.headers.get("range").filter(|_| !self.is_without_ranges);
        match range.map(|range| range_of(range, bytes.len())) {
            None => Answer::new(200, headers, bytes.to_vec()),
            Some(range) if range.is_empty() => Answer::empty(416),
            Some(range) => {
                let Range { start, end } = range;
                let place = format!("bytes {start}-{}/{}", end - 1, bytes.len());
                headers.push(("Content-Range", place));
                Answer::new(206, headers, bytes[range].to_vec())
            }
        }
    }

    /// The page of a list that a query asks for, and the number of the next page. A page has two entries.
    fn page<'e>(
        entries: &'e [String],
        query: &str,
        parameter: &str,
    ) -> (&'e [String], Option<usize>) {
        let number = query.split('&').find_map(|it| it.strip_prefix(parameter));
        let number: usize = number.map_or(0, |number| number.parse().unwrap());
        let pages: Vec<&[String]> = entries.chunks(2).collect();
        let next = (number + 1 < pages.len()).then_some(number + 1);
        (pages.get(number).copied().unwrap_or_default(), next)
    }

    /// The keys of a bucket in the XML of S3.
    fn list_bucket(&self, bucket: &str, query: &str) -> Answer {
        let prefix = query.split('&').find_map(|it| it.strip_prefix("prefix="));
        let start = format!("{bucket}/{}", prefix.unwrap_or_default().replace("%2F", "/"));
        let paths = self.objects.keys().filter(|path| path.starts_with(&start));
        let entries = paths.map(|path| {
            format!(
                "<Contents><Key>{}</Key><LastModified>2026-11-27T00:00:00.000Z</LastModified>\
                 <Size>1</Size></Contents>",
                &path[bucket.len() + 1..]
            )
        });
        let entries: Vec<String> = entries.collect();
        let (page, next) = State::page(&entries, query, "continuation-token=");
        let next = next.map_or_else(String::new, |number| {
            format!("<NextContinuationToken>{number}</NextContinuationToken>")
        });
        let text = format!("<ListBucketResult>{}{next}</ListBucketResult>", page.concat());
        Answer::new(200, Vec::new(), text.into())
    }

    /// The files of a dataset in the JSON of Hugging Face.
    fn list_dataset(&self, dataset: &str, folder: &str, query: &str, host: &str) -> Answer {
        let root = format!("/datasets/{dataset}/resolve/main");
        let start = format!("{root}{folder}/");
        let paths = self.objects.keys().filter(|path| path.starts_with(&start));
        let files = paths.map(|path| {
            format!("{{\"type\":\"file\",\"path\":\"{}\",\"size\":1}}", &path[root.len() + 1..])
        });
        let above = r#"{"type":"directory","path":"x","size":0}"#.to_string();
        let entries: Vec<String> = [above].into_iter().chain(files).collect();
        let (page, next) = State::page(&entries, query, "cursor=");
        let link = next.map(|number| {
            let address = format!("http://{host}/api/datasets/{dataset}/tree/main{folder}");
            ("Link", format!("<{address}?recursive=true&cursor={number}>; rel=\"next\""))
        });
        Answer::new(200, link.into_iter().collect(), format!("[{}]", page.join(",")).into())
    }

    /// Begins, continues, completes or aborts an object that is written in parts.
    fn write_in_parts(&mut self, request: &Request, path: &str, body: Vec<u8>) -> Answer {
        let query = request.path.split('?').nth(1).unwrap_or_default();
        let part = query.split('&').find_map(|part| part.strip_prefix("partNumber="));
        match (request.method.as_str(), part) {
            ("PUT", Some(number)) => {
                let Some(parts) = self.uploads.get_mut(path) else { return Answer::empty(404) };
                let tag = format!("\"{number}\"");
                parts.insert(number.parse().unwrap(), body);
                Answer::new(200, vec![("ETag", tag)], Vec::new())
            }
            ("DELETE", _) => {
                self.uploads.remove(path);
                Answer::empty(204)
            }
            ("POST", _) if query.starts_with("uploads") => {
                self.uploads.insert(path.into(), BTreeMap::new());
                let id = "<InitiateMultipartUploadResult><UploadId>1</UploadId>\
                          </InitiateMultipartUploadResult>";
                Answer::new(200, Vec::new(), id.into())
            }
            _ => {
                let Some(parts) = self.uploads.remove(path) else { return Answer::empty(404) };
                self.put(path, parts.into_values().flatten().collect());
                let tag = "<CompleteMultipartUploadResult><ETag>\"1\"</ETag>\
                           </CompleteMultipartUploadResult>";
                Answer::new(200, Vec::new(), tag.into())
            }
        }
    }

    fn write(&mut self, request: &Request, path: &str, body: Vec<u8>) -> Answer {
        if let Some(place) = self.before_puts.iter().position(|(of, _)| of == path) {
            let (path, content) = self.before_puts.remove(place);
            self.put(&path, content.into());
        }
        let there = match self.objects.get(path) {
            Some(Object::Bytes { tag, .. }) => Some(tag.clone()),
            _ => None,
        };
        let has = |name: &str| request.headers.get(name).cloned();
        let is_other = has("if-match").is_some_and(|wanted| there.as_ref() != Some(&wanted));
        if is_other || has("if-none-match").is_some() && there.is_some() {
            return Answer::empty(412);
        }
        self.put(path, body);
        match self.objects.get(path) {
            Some(Object::Bytes { tag, .. }) => {
                Answer::new(200, vec![("ETag", tag.clone())], Vec::new())
            }
            _ => Answer::empty(500),
        }
    }
}

/// The answer of another server to a request without content.
fn forward(address: &str, request: &Request) -> Answer {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut passed = ureq::http::Request::builder().method(&*request.method).uri(address);
    for (name, value) in &request.headers {
        if name != "host" && name != "connection" && name != "accept-encoding" {
            passed = passed.header(name, value);
        }
    }
    let mut answer = agent.run(passed.body(()).unwrap()).unwrap();
    let header = |name: &'static str| {
        let value = answer.headers().get(name)?.to_str().unwrap();
        Some((name, value.to_string()))
    };
    let headers = ["ETag", "Last-Modified", "Content-Range"].into_iter().filter_map(header);
    let (status, headers) = (answer.status().as_u16(), headers.collect());
    let content = match request.method.as_str() {
        "HEAD" => vec![0; header("Content-Length").map_or(0, |(_, len)| len.parse().unwrap())],
        _ => answer.body_mut().read_to_vec().unwrap(),
    };
    Answer::new(status, headers, content)
}

/// The bytes that a `Range` header names: `bytes=A-B`, `bytes=A-` or `bytes=-N`.
fn range_of(header: &str, len: usize) -> Range<usize> {
    let (start, end) = header.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(end)) => start.min(len)..(end + 1).min(len),
        (Ok(start), Err(_)) => start.min(len)..len,
        (Err(_), Ok(count)) => len - count.min(len)..len,
        (Err(_), Err(_)) => 0..0,
    }
}
