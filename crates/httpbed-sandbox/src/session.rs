//! The loop of PID 1: takes requests, watches programs, and reaps ended processes.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

use crate::cpu_watch::{self, CpuWatch};
use crate::kernel_calls::{cpu_time, end_all, kill_all, wait4};
use crate::lines::{MAX_LINE_BYTES, complete_lines, read_some};
use crate::memory;
use crate::part::PartHandle;
use crate::ports::PortWatch;
use crate::program::{self, Surroundings};
use crate::protocol::{Event, Request, What};
use crate::untrusted_files;

/// Time between two checks whether a server listens.
const LOOK: Duration = Duration::from_micros(500);

/// A running program.
struct Running {
    pid: Pid,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    started: Instant,
    deadline: Option<Instant>,
    timed_out: bool,
    ended_for: Option<String>,
    partial_line: Vec<u8>,
}

/// A request to wait until a program listens.
struct Await {
    id: u64,
    to: u64,
    ports: PortWatch,
    deadline: Instant,
}

struct Session {
    around: Surroundings,
    parts: BTreeMap<String, PartHandle>,
    programs: BTreeMap<u64, Running>,
    awaits: Vec<Await>,
    input: Vec<u8>,
    memory_seen: Instant,
    cpu_watch: Option<CpuWatch>,
    /// CPU time of ended processes that no program had waited for; it counts for the next program that ends.
    orphans: Duration,
}

/// Serve requests until the orchestrator closes the pipe; `early` is what it already sent.
pub fn serve(
    early: &[u8],
    requests: BorrowedFd,
    around: Surroundings,
    parts: Vec<(String, PartHandle)>,
) -> io::Result<()> {
    let mut ended = SigSet::empty();
    ended.add(Signal::SIGCHLD);
    ended.thread_block()?;
    let children = SignalFd::with_flags(&ended, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let mut session = Session {
        around,
        parts: parts.into_iter().collect(),
        programs: BTreeMap::new(),
        awaits: Vec::new(),
        input: early.to_vec(),
        memory_seen: Instant::now(),
        cpu_watch: None,
        orphans: Duration::ZERO,
    };
    session.take_requests();
    while session.step(requests, &children)? {}
    Ok(())
}

impl Session {
    /// Wait for an event and handle it; false at the end of input.
    fn step(&mut self, requests: BorrowedFd, children: &SignalFd) -> io::Result<bool> {
        let (from_orchestrator, any_ended, programs_with_output, parts_with_events) =
            self.wait(requests, children)?;
        let mut open = true;
        if from_orchestrator {
            open = read_some(requests, &mut self.input)? > 0;
            self.take_requests();
        }
        for id in programs_with_output {
            self.forward_lines(id);
        }
        for name in parts_with_events {
            self.parts.get_mut(&name).map(PartHandle::forward);
        }
        if any_ended {
            while children.read_signal()?.is_some() {}
            self.reap();
        }
        self.enforce_deadlines();
        self.enforce_memory();
        if let Some(watch) = &mut self.cpu_watch {
            watch.look();
        }
        self.look_for_listeners();
        Ok(open)
    }

    /// Wait; return whether there are requests, whether a child ended, and which programs and parts have output.
    fn wait(
        &self,
        requests: BorrowedFd,
        children: &SignalFd,
    ) -> io::Result<(bool, bool, Vec<u64>, Vec<String>)> {
        let speaking: Vec<(u64, BorrowedFd)> = self
            .programs
            .iter()
            .filter_map(|(id, program)| Some((*id, program.stdout.as_ref()?.as_fd())))
            .collect();
        let mut fds = vec![requests, children.as_fd()];
        fds.extend(speaking.iter().map(|(_, fd)| *fd));
        fds.extend(self.parts.values().map(PartHandle::events));
        let mut fds: Vec<PollFd> = fds.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut fds, self.patience()) {
            Err(nix::errno::Errno::EINTR) => return Ok((false, false, Vec::new(), Vec::new())),
            result => result?,
        };
        let ready = |fd: &PollFd| fd.any().unwrap_or(false);
        let (programs, parts) = fds[2..].split_at(speaking.len());
        let programs_with_output =
            speaking.iter().zip(programs).filter(|(_, fd)| ready(fd)).map(|((id, _), _)| *id);
        let parts_with_events =
            self.parts.keys().zip(parts).filter(|(_, fd)| ready(fd)).map(|(name, _)| name.clone());
        Ok((ready(&fds[0]), ready(&fds[1]), programs_with_output.collect(), parts_with_events.collect()))
    }

    /// How long to sleep: until the next deadline, or the next check of a starting server.
    fn patience(&self) -> PollTimeout {
        if !self.awaits.is_empty() {
            return PollTimeout::from(u16::try_from(LOOK.as_millis().max(1)).unwrap_or(1));
        }
        let deadlines = self.programs.values().filter_map(|program| program.deadline);
        let looks =
            self.next_look_at_memory().into_iter().chain(self.cpu_watch.as_ref().map(CpuWatch::next_look));
        let Some(first) = deadlines.chain(looks).min() else {
            return PollTimeout::NONE;
        };
        let left = first.saturating_duration_since(Instant::now()).as_millis() + 1;
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    fn take_requests(&mut self) {
        for line in complete_lines(&mut self.input) {
            match serde_json::from_slice::<Request>(&line) {
                Ok(request) if request.part.is_some() && self.around.confinement.is_none() => {
                    self.pass_on(&request, &line);
                }
                Ok(request) => self.carry_out(request),
                Err(error) => Event::refused(0, &error.into()).send(),
            }
        }
    }

    /// Pass a request on to its part.
    fn pass_on(&mut self, request: &Request, line: &[u8]) {
        let part = request.part.as_ref().and_then(|name| self.parts.get_mut(name));
        let passed = part.ok_or_else(|| io::Error::other("no such part, or it has ended"));
        if let Err(error) = passed.and_then(|part| part.pass_on(request.id, line)) {
            Event::refused(request.id, &error).send();
        }
    }

    fn carry_out(&mut self, request: Request) {
        let id = request.id;
        let result = match request.what {
            What::Start(program) => self.start(id, &program).map(Some),
            What::Send { to, line } => self.send(to, &line).map(|()| Some(Event::Done { id })),
            What::Signal { to, signal } => self.signal(to, signal).map(|()| Some(Event::Done { id })),
            What::AwaitPorts { to, tcp, udp, timeout_s } => {
                let deadline = Instant::now() + Duration::from_secs_f64(timeout_s);
                self.awaits.push(Await { id, to, ports: PortWatch::new(tcp, udp), deadline });
                Ok(None)
            }
            What::WatchCpu => CpuWatch::begin().map(|watch| {
                self.cpu_watch = Some(watch);
                Some(Event::Done { id })
            }),
            What::ReadCpuWatch => {
                let watch = self.cpu_watch.as_ref().ok_or_else(cpu_watch::not_begun);
                watch.map(|watch| Some(Event::CpuTimes { id, times: watch.times() }))
            }
            What::EndCpuWatch => {
                let watch = self.cpu_watch.take().ok_or_else(cpu_watch::not_begun);
                watch.map(|watch| Some(Event::CpuTimes { id, times: watch.end() }))
            }
            What::Digest { path } => digest(id, &self.around.base, &path).map(Some),
            What::MakeFolder { path } => {
                untrusted_files::make_folder(&self.around.base, &path).map(|()| Some(Event::Done { id }))
            }
            What::Write { path, text } => {
                untrusted_files::write(&self.around.base, &path, &text).map(|()| Some(Event::Done { id }))
            }
        };
        match result {
            Ok(Some(event)) => event.send(),
            Ok(None) => {}
            Err(error) => Event::refused(id, &error).send(),
        }
    }

    fn start(&mut self, id: u64, wanted: &crate::protocol::Program) -> io::Result<Event> {
        let program::Started { pid, stdin, stdout } = program::start(wanted, &mut self.around)?;
        if let Some(stdout) = &stdout {
            fcntl(stdout, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let started = Instant::now();
        let deadline = wanted.timeout_s.map(|seconds| started + Duration::from_secs_f64(seconds));
        let partial_line = Vec::new();
        let running = Running {
            pid,
            stdin,
            stdout,
            started,
            deadline,
            timed_out: false,
            ended_for: None,
            partial_line,
        };
        self.programs.insert(id, running);
        Ok(Event::Started { id, pid: pid.as_raw() })
    }

    fn send(&mut self, to: u64, line: &str) -> io::Result<()> {
        let program = self.programs.get_mut(&to).ok_or_else(not_running)?;
        let input = program.stdin.as_mut().ok_or_else(not_running)?;
        input.write_all(format!("{line}\n").as_bytes())
    }

    fn signal(&self, to: u64, signal: i32) -> io::Result<()> {
        let program = self.programs.get(&to).ok_or_else(not_running)?;
        Ok(kill(program.pid, Signal::try_from(signal)?)?)
    }

    /// Forward what a program has written; true if there may be more.
    fn forward_lines(&mut self, id: u64) -> bool {
        let Some(program) = self.programs.get_mut(&id) else { return false };
        let Some(stdout) = program.stdout.as_ref() else { return false };
        // The pipe does not block: a grandchild may hold it open without writing.
        let before = program.partial_line.len();
        let read = read_some(stdout.as_fd(), &mut program.partial_line);
        let too_long = program.partial_line.len() > MAX_LINE_BYTES;
        if matches!(read, Ok(0)) || too_long {
            program.stdout = None;
        }
        if too_long {
            program.partial_line.clear(); // the program ends by SIGPIPE
            return false;
        }
        // Only what came now: the whole of a long line would be searched again at each read.
        if !program.partial_line[before..].contains(&b'\n') {
            return matches!(read, Ok(1..));
        }
        for line in complete_lines(&mut program.partial_line) {
            Event::Line { id, line: String::from_utf8_lossy(&line).into_owned() }.send();
        }
        matches!(read, Ok(1..))
    }

    /// Collect every ended process. Programs are reported; the CPU time of orphans is added to theirs.
    fn reap(&mut self) {
        while let Some((pid, status, usage)) = wait4(libc::WNOHANG) {
            self.part_ended(pid);
            let ended = self.programs.iter().find(|(_, program)| program.pid == pid);
            let Some(id) = ended.map(|(id, _)| *id) else {
                if self.around.confinement.is_some() {
                    self.orphans += cpu_time(&usage);
                }
                continue;
            };
            while self.forward_lines(id) {}
            let Some(program) = self.programs.remove(&id) else { continue };
            if self.around.confinement.is_some() && self.programs.is_empty() {
                self.orphans += end_all();
            }
            let cpu = cpu_time(&usage) + std::mem::take(&mut self.orphans);
            report_end(id, &program, status, cpu, usage.ru_maxrss);
        }
    }

    fn part_ended(&mut self, pid: Pid) {
        let name = self.parts.iter().find(|(_, part)| part.pid == pid).map(|(name, _)| name.clone());
        if let Some(part) = name.and_then(|name| self.parts.remove(&name)) {
            part.close();
        }
    }

    fn next_look_at_memory(&self) -> Option<Instant> {
        let looks = self.around.memory_bytes.is_some() && !self.programs.is_empty();
        looks.then(|| self.memory_seen + memory::LOOK)
    }

    /// End the programs if together they use too much memory.
    fn enforce_memory(&mut self) {
        let Some(most) = self.around.memory_bytes else { return };
        if self.next_look_at_memory().is_none_or(|next| Instant::now() < next) {
            return;
        }
        self.memory_seen = Instant::now();
        if !memory::exceeds(most) {
            return;
        }
        let reason = format!("used more than {} MB of memory", most / 1_000_000);
        for program in self.programs.values_mut() {
            program.ended_for = Some(reason.clone());
        }
        kill_all();
    }

    fn enforce_deadlines(&mut self) {
        let now = Instant::now();
        for program in self.programs.values_mut() {
            if program.deadline.is_some_and(|deadline| deadline <= now) {
                program.deadline = None;
                program.timed_out = kill(program.pid, Signal::SIGKILL).is_ok();
            }
        }
    }

    fn look_for_listeners(&mut self) {
        let programs = &self.programs;
        self.awaits.retain_mut(|wait| {
            let Some(program) = programs.get(&wait.to) else {
                let message = "the program ended before it listened".into();
                Event::Refused { id: wait.id, message, errno: None }.send();
                return false;
            };
            if wait.ports.are_open(program.pid.as_raw()) {
                Event::Done { id: wait.id }.send();
                return false;
            }
            if wait.deadline <= Instant::now() {
                let message = "the program did not listen in time".into();
                Event::Refused { id: wait.id, message, errno: None }.send();
                return false;
            }
            true
        });
    }
}

fn report_end(id: u64, program: &Running, status: i32, cpu: Duration, max_rss_kib: i64) {
    let signalled = libc::WIFSIGNALED(status);
    Event::Exited {
        id,
        status: (!signalled).then(|| libc::WEXITSTATUS(status)),
        signal: signalled.then(|| libc::WTERMSIG(status)),
        timed_out: program.timed_out,
        wall_s: program.started.elapsed().as_secs_f64(),
        cpu_s: cpu.as_secs_f64(),
        max_rss_kib,
        ended_for: program.ended_for.clone(),
    }
    .send();
}

/// Read no further than the file's first length, because its writer may never stop.
fn digest(id: u64, base: &Path, path: &Path) -> io::Result<Event> {
    let mut hash = Sha256::new();
    let file = untrusted_files::open_file(base, path, OFlag::O_RDONLY)?;
    let length = file.metadata()?.len();
    let bytes = io::copy(&mut file.take(length), &mut hash)?;
    let sha256 = format!("{:x}", hash.finalize());
    Ok(Event::Digest { id, bytes, sha256 })
}

fn not_running() -> io::Error {
    io::Error::other("no such program runs, or it takes no lines")
}
