//! `neap serve` as a process, and a client that speaks to it byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::rig::Neap;
use crate::wait::comes_true;

/// A proxy that runs.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: String,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    // Lives as long as the process.
    pub(crate) neap: Neap,
}

/// An answer, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body's end came.
    pub(crate) is_whole: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Proxy {
    pub(crate) fn start(upstream: &str) -> Self {
        Self::with(&["--upstream", upstream], &[])
    }

    pub(crate) fn with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::over(Neap::new(), args, variables)
    }

    /// Over data that are there already.
    pub(crate) fn over(neap: Neap, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::started("127.0.0.1:0", neap, args, variables)
    }

    /// One that listens there.
    pub(crate) fn at(listen: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::started(listen, Neap::new(), args, variables)
    }

    fn started(listen: &str, neap: Neap, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = neap.command(&[&["serve", "--listen", listen], args].concat());
        let command = command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let log: Arc<Mutex<String>> = Arc::default();
        let address = loop {
            let line = lines.next().expect("it says where it listens").expect("text");
            let told =
                line.strip_prefix("listening at http://").or_else(|| line.strip_prefix("listening at https://"));
            if let Some(address) = told {
                break address.to_owned();
            }
            log.lock().expect("a log").push_str(&line);
        };
        let kept = log.clone();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("a log").push_str(&(line + "\n"));
            }
        });
        Self { child, address, log, reader: Some(reader), neap }
    }

    /// Asks, and takes the whole answer.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        answer(self.open(method, path, headers, body))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], body.as_bytes())
    }

    /// Asks, and leaves the answer to be read.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut connection = TcpStream::connect(&self.address).expect("a proxy");
        connection.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        if !headers.iter().any(|(name, _)| *name == "content-length") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        connection.write_all(head.as_bytes()).expect("it takes the head");
        connection.write_all(b"\r\n").expect("it takes the head");
        connection.write_all(body).expect("it takes the body, though it may refuse it");
        connection
    }

    /// What brings the token of that name, which the proxy made.
    pub(crate) fn bearer(&self, name: &str) -> String {
        let token = std::fs::read_to_string(self.neap.data().join(format!("keys/{name}.token")));
        format!("Bearer {}", token.expect("a token was made").trim())
    }

    /// The figures, by name.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let text = self.ask("GET", "/metrics", &[("authorization", &self.bearer("api-read"))], b"").text();
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// Waits until a figure is what it is to be.
    pub(crate) fn wait_for(&self, name: &str, want: u64) {
        let is_so = comes_true(|| self.metric(name) == Some(want));
        assert!(is_so, "{name} is {:?}, not {want}: {}", self.metric(name), self.log());
    }

    /// Waits until something is logged, which is read a moment after it is written; gives all that was.
    pub(crate) fn wait_for_log(&self, what: &str) -> String {
        assert!(comes_true(|| self.log().contains(what)), "'{what}' is not logged: {}", self.log());
        self.log()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("a log").clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let ran = Command::new("kill").args([name, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(ran.success());
    }

    /// Ends it at once, as a lost process ends. Its data stay.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it is dead");
    }

    /// Kills it, and starts another one over its data.
    pub(crate) fn restarted(mut self, args: &[&str], variables: &[(&str, &str)]) -> Self {
        self.kill();
        let neap = std::mem::replace(&mut self.neap, Neap::new());
        Self::over(neap, args, variables)
    }

    /// Waits for the end, and gives all that was logged.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it ends");
        self.reader.take().expect("a reader").join().expect("it reads");
        (status, self.log())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an answer to the end of the connection.
pub(crate) fn answer(mut connection: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // One that breaks off gives what came.
    let _ = connection.read_to_end(&mut bytes);
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
        panic!("no head: {}", String::from_utf8_lossy(&bytes));
    });
    let head = String::from_utf8(bytes[..at].to_vec()).expect("a head");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: Vec::new(), is_whole: false };
    let rest = &bytes[at + 4..];
    match answer.header("content-length").map(|length| length.parse::<usize>().expect("a length")) {
        Some(length) => {
            answer.is_whole = rest.len() == length;
            answer.body = rest.to_vec();
        }
        None => (answer.body, answer.is_whole) = unchunked(rest),
    }
    answer
}

/// What came in chunks so far, and whether the last of them did.
pub(crate) fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("a chunk's size");
        if size == 0 {
            return (body, true);
        }
        let data = &rest[end + 2..];
        body.extend_from_slice(&data[..size.min(data.len())]);
        if data.len() < size + 2 {
            break;
        }
        rest = &data[size + 2..];
    }
    (body, false)
}
