//! The URL of a store: what the driver takes, and how many connections.

use std::str::FromStr;

use neap_store::{DatabaseFault, StoreError};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

const POOL_SIZE: &str = "pool_size";
const POOL_SIZE_DEFAULT: usize = 16;

#[derive(Debug)]
pub(crate) struct StoreUrl {
    pub(crate) config: Config,
    /// For messages: without user and password.
    pub(crate) name: String,
    pub(crate) pool_size: usize,
}

impl StoreUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let (rest, pool_size) = split_pool_size(url)?;
        // The driver's error does not quote the URL.
        let config = Config::from_str(&rest).map_err(|error| unfit(error.to_string()))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(unfit("sslmode=require: connections are not encrypted yet".to_owned()));
        }
        let name = name(&config);
        Ok(Self { config, name, pool_size })
    }
}

fn unfit(why: String) -> StoreError {
    StoreError::Database { server: "the store's URL".to_owned(), fault: DatabaseFault::Unfit(why) }
}

/// The driver refuses options that it does not know.
fn split_pool_size(url: &str) -> Result<(String, usize), StoreError> {
    let Some((start, query)) = url.split_once('?') else { return Ok((url.to_owned(), POOL_SIZE_DEFAULT)) };
    let (mut kept, mut size) = (Vec::new(), POOL_SIZE_DEFAULT);
    for part in query.split('&') {
        match part.split_once('=') {
            Some((POOL_SIZE, value)) => {
                size = value
                    .parse()
                    .ok()
                    .filter(|size| (1..=1_000).contains(size))
                    .ok_or_else(|| unfit(format!("{POOL_SIZE} is a number from 1 to 1000, not {value:?}")))?;
            }
            _ => kept.push(part),
        }
    }
    let rest = if kept.is_empty() { start.to_owned() } else { format!("{start}?{}", kept.join("&")) };
    Ok((rest, size))
}

fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let host = |(at, host): (usize, &Host)| {
        let host = match host {
            Host::Tcp(host) => host.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        format!("{host}:{port}")
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    format!("postgres://{}/{}", hosts.join(","), config.get_dbname().or(config.get_user()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_named_without_its_password() {
        let url = StoreUrl::parse("postgres://ann:pass@db.example:6000,other/team?pool_size=4&connect_timeout=3");
        let url = url.expect("it is a URL");
        assert_eq!((url.name.as_str(), url.pool_size), ("postgres://db.example:6000,other:5432/team", 4));
        assert_eq!(url.config.get_password(), Some(&b"pass"[..]));
        let plain = StoreUrl::parse("postgres://ann@localhost").expect("it is a URL");
        assert_eq!((plain.name.as_str(), plain.pool_size), ("postgres://localhost:5432/ann", POOL_SIZE_DEFAULT));
        for bad in [
            "postgres://a@b/c?pool_size=0",
            "postgres://a@b/c?pool_size=x",
            "postgres://a@b/c?no_such=1",
            "postgres://a@b/c?sslmode=require",
        ] {
            let error = StoreUrl::parse(bad).expect_err("it is none").to_string();
            assert!(!error.contains("a@b"), "{error}");
        }
    }
}
