//! Two hosts with a link between them, and the emulator on it.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The emulator's interfaces and the hosts' addresses, first host first.
const INTERFACES: [&str; 2] = ["l0a", "l0b"];
pub const ADDRESSES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];
const HARDWARE: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// Two hosts, whose network namespaces live as long as their keepers.
pub struct Hosts {
    keepers: [Program; 2],
}

impl Hosts {
    /// Hosts with `mtu` bytes between them and the emulator's namespace, which is this one.
    pub fn new(mtu: u32) -> Self {
        let hosts = Self::unconnected();
        for side in 0..2 {
            hosts.connect(side, mtu);
        }
        (0..2).for_each(|side| hosts.await_carrier(side));
        hosts
    }

    /// Sets the emulator's interface towards a host down.
    pub fn take_down(side: usize) {
        check(Command::new("ip").args(["link", "set", "dev", INTERFACES[side], "down"]));
    }

    /// Sets it up again, and waits until frames pass.
    pub fn bring_up(&self, side: usize) {
        check(Command::new("ip").args(["link", "set", "dev", INTERFACES[side], "up"]));
        self.await_carrier(side);
    }

    fn await_carrier(&self, side: usize) {
        await_up(Command::new("ip").args(["link", "show", "dev", INTERFACES[side]]));
        await_up(self.command(side, "ip".as_ref()).args(["link", "show", "dev", "eth0"]));
    }

    /// Hosts without interfaces.
    pub fn unconnected() -> Self {
        Self { keepers: [0, 1].map(|_| keeper()) }
    }

    /// Gives the hosts the interfaces that an emulator has created.
    pub fn take_interfaces(&self) {
        for side in 0..2 {
            let pid = self.keepers[side].child.id().to_string();
            let (name, hardware) = (INTERFACES[side], HARDWARE[side]);
            let queue = ["txqueuelen", "8192"];
            check(Command::new("ip").args(["link", "set", "dev", name, "address", hardware]).args(queue));
            check(Command::new("ip").args(["link", "set", "dev", name, "netns", &pid, "name", "eth0"]));
            self.set_up(side);
        }
    }

    /// Starts a role of `hosts::play` on a host.
    pub fn start(&self, side: usize, role: &[&str]) -> Program {
        let mut command = self.command(side, &env::current_exe().expect("a program knows itself"));
        command.arg("host").args(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        Program::start(command)
    }

    fn connect(&self, side: usize, mtu: u32) {
        let (mtu, pid) = (mtu.to_string(), self.keepers[side].child.id().to_string());
        let link = ["link", "add", "name", INTERFACES[side], "mtu", &mtu, "type", "veth"];
        let peer = ["peer", "name", "eth0", "address", HARDWARE[side], "mtu", &mtu, "netns", &pid];
        check(Command::new("ip").args(link).args(peer));
        // Without an IPv6 address the emulator's namespace sends nothing by itself.
        let switch = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", INTERFACES[side]);
        fs::write(&switch, "1").unwrap_or_else(|error| panic!("{switch}: {error}"));
        check(Command::new("ip").args(["link", "set", "dev", INTERFACES[side], "up"]));
        check(self.command(side, "ethtool".as_ref()).args(["-K", "eth0", "tx", "off", "gro", "off"]));
        self.set_up(side);
    }

    fn set_up(&self, side: usize) {
        let address = format!("{}/24", ADDRESSES[side]);
        let (peer, hardware) = (ADDRESSES[1 - side], HARDWARE[1 - side]);
        let sysctl = "echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6";
        check(self.command(side, "sh".as_ref()).args(["-c", sysctl]));
        let ip = |arguments: &[&str]| check(self.command(side, "ip".as_ref()).args(arguments));
        ip(&["address", "add", &address, "dev", "eth0"]);
        ip(&["link", "set", "dev", "eth0", "up"]);
        ip(&["neigh", "replace", peer, "lladdr", hardware, "nud", "permanent", "dev", "eth0"]);
    }

    fn command(&self, side: usize, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.keepers[side].child.id().to_string(), "--"]).arg(program);
        command
    }
}

fn keeper() -> Program {
    let program = env::current_exe().expect("a program knows itself");
    let mut command = Command::new("unshare");
    command.args(["--net", "--"]).arg(program).args(["host", "keep"]);
    let mut program = Program::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(program.line(), "kept");
    program
}

/// Waits until the kernel has noticed that an interface has a carrier, which may take a second. Until then it
/// silently drops packets to that interface.
fn await_up(show: &mut Command) {
    loop {
        let output = show.stdin(Stdio::null()).output().expect("ip runs");
        assert!(output.status.success(), "{show:?}");
        if String::from_utf8_lossy(&output.stdout).contains(" state UP ") {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn check(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A running program whose stdout is read line by line.
pub struct Program {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(mut command: impl std::borrow::BorrowMut<Command>) -> Self {
        let mut child = command.borrow_mut().spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, stdin, stdout }
    }

    /// The next line, empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    /// Writes a line to its stdin.
    pub fn write_line(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().expect("open"), "{line}").expect("it listens");
    }

    /// All remaining output, as numbers.
    pub fn numbers(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.line().parse().ok()).collect()
    }
}

/// The emulator on the link of [`Hosts`].
pub struct Emulator(Program);

impl Emulator {
    /// With the two directions given, as the configuration has them.
    pub fn new(directions: [&Value; 2]) -> Self {
        Self::with(directions, &json!({}), &json!({}))
    }

    /// The same, with more fields of the link and of the configuration.
    pub fn with(directions: [&Value; 2], of_link: &Value, of_whole: &Value) -> Self {
        let mut link = json!({
            "name": "wire", "hosts": ["client", "server"], "interfaces": INTERFACES, "directions": directions,
        });
        add(&mut link, of_link);
        let mut config = json!({"schema": 2, "mtu": 1500, "spin_us": 50, "links": [link]});
        add(&mut config, of_whole);
        let mut emulator = Self::with_config(&config.to_string());
        let event = emulator.event();
        assert_eq!(event["event"], "ready", "{event}");
        emulator
    }

    /// With any text as its configuration.
    pub fn with_config(config: &str) -> Self {
        Self::run(Command::new(env!("CARGO_BIN_EXE_httpbed-link")), config)
    }

    /// The same without a capability (named without its prefix).
    pub fn without(capability: &str, config: &str) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", &format!("-{capability}"), "--"]);
        command.arg(env!("CARGO_BIN_EXE_httpbed-link"));
        Self::run(command, config)
    }

    fn run(mut command: Command, config: &str) -> Self {
        let file = temporary("config.json");
        fs::write(&file, config).expect("a writable temporary folder");
        command.arg(&file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut emulator = Self(Program::start(command));
        // Its first line shows that it has read the file.
        let seen = emulator.0.stdout.fill_buf().is_ok();
        fs::remove_file(&file).expect("it was written");
        assert!(seen);
        emulator
    }

    /// The next event of this kind; earlier events of other kinds are skipped.
    pub fn await_event(&mut self, kind: &str) -> Value {
        loop {
            let event = self.event();
            assert_ne!(event["event"], "error", "{event}");
            if event["event"] == kind {
                return event;
            }
        }
    }

    pub fn event(&mut self) -> Value {
        serde_json::from_str(&self.0.line()).expect("JSON")
    }

    pub fn start(&mut self) {
        self.write_line("{\"do\":\"start\"}");
        assert_eq!(self.event()["event"], "started");
    }

    /// The result, and the events that came before it.
    pub fn stop(&mut self) -> (Value, Vec<Value>) {
        self.write_line("{\"do\":\"stop\"}");
        let mut events: Vec<Value> = Vec::new();
        loop {
            let event = self.event();
            if event["event"] == "result" {
                assert_eq!(self.exit_code(), Some(0));
                return (event, events);
            }
            events.push(event);
        }
    }

    pub fn write_line(&mut self, line: &str) {
        self.0.write_line(line);
    }

    /// Memory that it shares with the kernel for packet sockets, in bytes.
    pub fn ring_bytes(&self) -> u64 {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.0.child.id())).expect("it runs");
        let rings = maps.lines().filter(|line| line.contains("socket:"));
        let place = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
        let bytes = |line: &str| {
            let (begin, end) =
                line.split_once(' ').and_then(|(range, _)| range.split_once('-')).expect("a range");
            place(end) - place(begin)
        };
        rings.map(bytes).sum()
    }

    /// CPU time that it has used.
    pub fn cpu_time(&self) -> Duration {
        const TICKS_PER_SECOND: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.child.id())).expect("it runs");
        // The name, in brackets, may hold anything; utime and stime are the 14th and 15th field.
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().expect("ticks"));
        Duration::from_secs_f64(ticks.sum::<f64>() / TICKS_PER_SECOND)
    }

    pub fn hang_up(&mut self) {
        self.0.stdin = None;
    }

    pub fn exit_code(&mut self) -> Option<i32> {
        self.0.child.wait().expect("our child").code()
    }
}

fn add(object: &mut Value, more: &Value) {
    for (key, value) in more.as_object().expect("an object") {
        object[key] = value.clone();
    }
}

/// A path that no other test run uses. The scenario has PID 1 in its PID namespace, so the path contains the number
/// of its network namespace, which is unique.
pub fn temporary(name: &str) -> PathBuf {
    let namespace = fs::metadata("/proc/self/ns/net").expect("/proc").ino();
    env::temp_dir().join(format!("httpbed-link-test-{namespace}-{name}"))
}
