//! Finds a model that a server on this machine offers: Ollama, LM Studio or llama.cpp, each at its usual port.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use neap_model::client::BaseUrl;
use serde::Deserialize;

use crate::out::Failure;

/// Servers and their usual ports, in the order in which they are asked.
const SERVERS: [(&str, u16); 3] = [("Ollama", 11_434), ("LM Studio", 1_234), ("llama.cpp", 8_080)];
const CONNECT_LIMIT: Duration = Duration::from_millis(300);
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: u64 = 256 * 1_024;

#[derive(Debug, PartialEq)]
pub(crate) struct LocalModel {
    pub(crate) name: String,
    pub(crate) base_url: String,
}

/// The first model of the first server that answers; `at` asks only the server there.
pub(crate) fn find(at: Option<&str>) -> Result<LocalModel, Failure> {
    let usual = SERVERS.iter().map(|(_, port)| format!("http://127.0.0.1:{port}/v1")).collect();
    let places: Vec<String> = at.map_or(usual, |url| vec![url.to_owned()]);
    let found =
        places.iter().find_map(|place| Some(LocalModel { name: first_model(place)?, base_url: place.clone() }));
    found.ok_or_else(|| match at {
        Some(url) => Failure::new(format!("no server at {url} offers a model"))
            .hint("start it, or name the model with --model; https needs a name"),
        None => Failure::new("no model server answers on this machine").hint(
            "start Ollama (port 11434), LM Studio (1234) or llama.cpp's server (8080) with a model, or give --base-url",
        ),
    })
}

/// The first model that can chat; `None` if nothing answers there.
fn first_model(base_url: &str) -> Option<String> {
    let rest = base_url.strip_prefix("http://").filter(|_| BaseUrl::parse(base_url).is_ok())?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let address = address.to_socket_addrs().ok()?.next()?;
    let mut server = TcpStream::connect_timeout(&address, CONNECT_LIMIT).ok()?;
    server.set_read_timeout(Some(ANSWER_LIMIT)).ok()?;
    let path = path.trim_end_matches('/');
    // HTTP/1.0: the answer ends with the connection and has no chunks.
    write!(server, "GET /{path}/models HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n").ok()?;
    let mut answer = String::new();
    server.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).ok()?;
    models_in(&answer).into_iter().find(|name| !name.to_lowercase().contains("embed"))
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

fn models_in(answer: &str) -> Vec<String> {
    let Some((head, body)) = answer.split_once("\r\n\r\n").filter(|(head, _)| head.contains(" 200 ")) else {
        return Vec::new();
    };
    // A server that answers in chunks all the same puts a length before the list.
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { body.split_once("\r\n").map_or(body, |(_, rest)| rest) } else { body };
    let mut lists = serde_json::Deserializer::from_str(body).into_iter::<ModelList>();
    let list = lists.next().and_then(Result::ok);
    list.map_or_else(Vec::new, |list| list.data.into_iter().map(|model| model.id).collect())
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;
    use std::net::TcpListener;

    use super::*;

    const LIST: &str = r#"{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen2.5:1.5b"}]}"#;

    /// A server that answers one request.
    fn serve(answer: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a request");
            let mut lines = std::io::BufReader::new(client.try_clone().expect("a socket")).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            assert_eq!(first, "GET /v1/models HTTP/1.0");
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            client.write_all(answer.as_bytes()).expect("an answer");
        });
        format!("http://127.0.0.1:{port}/v1")
    }

    #[test]
    fn the_first_model_that_chats_is_found() {
        let url = serve(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{LIST}"));
        let found = find(Some(&url)).expect("a model");
        assert_eq!(found, LocalModel { name: "qwen2.5:1.5b".to_owned(), base_url: url });
        let chunks = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n0\r\n\r\n",
            LIST.len()
        );
        assert_eq!(models_in(&chunks).len(), 2);
    }

    #[test]
    fn what_is_no_model_server_is_passed_over() {
        let url = serve("HTTP/1.1 404 Not Found\r\n\r\n{}".to_owned());
        assert!(find(Some(&url)).is_err());
        assert!(find(Some("https://127.0.0.1:1/v1")).is_err());
    }
}
