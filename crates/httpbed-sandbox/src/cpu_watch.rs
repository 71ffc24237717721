//! How long each task of the sandbox ran, and how long it was ready to run and had no CPU.
//!
//! # Theory of operation
//!
//! The kernel adds up these times for each task: the first two numbers of `/proc/PID/task/TID/schedstat`, in
//! nanoseconds (Documentation/scheduler/sched-stats.rst). The numbers disappear with their task, and no other task
//! inherits them. So this program reads the numbers of all tasks of its PID namespace again and again, and keeps the
//! last ones. A task's last moments, after the last reading, are lost, and so is a task that lives between two
//! readings. The time between two readings is a twentieth of the watch so far, within bounds: the share of such losses
//! stays small, and the longest time stays short beside the life of a browser's helper process.
//!
//! A program may begin one short-lived process after the other, and no reading sees most of them. But whoever waits for
//! a process inherits its CPU time, and so the first process of its part does, if nobody else waits: `cutime` and
//! `cstime` of `/proc/PID/stat`. So the times of all processes and of those they waited for, together, lack nothing but
//! what a program discards by ignoring SIGCHLD. They count in clock ticks, and only where they exceed what the readings
//! of tasks have seen by more than ticks explain.
//!
//! The machine's busy time (`/proc/stat`, proc(5)) is read at the same moments, so that both can be compared. The
//! result is that of the last reading before the watch ends: a program that has just ended is in it.
//!
//! The pressure stall information of the machine counts waiting tasks of all trials alike. It cannot say whether
//! the tasks of *this* trial waited.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;

use crate::kernel_calls::is_niced;
use crate::memory::processes;

/// Shortest and longest time between two readings. A reading takes some ten microseconds for each task.
const LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_millis(200);
/// Part of the watch so far after which the next reading is due, within these bounds.
const SHARE: u32 = 20;
/// Figures of a process that are rounded to ticks.
const ROUNDED_FIELDS: usize = 4;
/// Ticks by which the rounding of a process may change the sum.
const ROUNDED: u64 = ROUNDED_FIELDS as u64;

/// The times of one task, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskTimes {
    /// On a CPU.
    pub ran_ns: u64,
    /// Ready to run, without a CPU.
    pub waited_ns: u64,
}

/// What the watch saw.
#[derive(Debug, Serialize)]
pub struct CpuTimes {
    /// The time from the first to the last reading.
    pub over_ns: u64,
    /// The time in which all CPUs of the machine together were not idle, steal included, niced programs not.
    pub busy_ns: u64,
    /// The times of each task that ran or waited, in no order.
    pub tasks: Vec<TaskTimes>,
    /// The time on a CPU of tasks that began and ended between two readings.
    pub unseen_ns: u64,
}

/// The times of the sandbox's tasks since the beginning of the watch.
pub struct CpuWatch {
    tasks: BTreeMap<String, Counter>,
    /// Times of ended tasks whose number another task has now.
    replaced: Vec<TaskTimes>,
    begun: Instant,
    read: Instant,
    first_busy_ns: u64,
    last_busy_ns: u64,
    first_of_all: OfAll,
    last_of_all: OfAll,
}

/// The CPU time of all processes that there are, and of those for which they waited.
#[derive(Clone, Copy, Default)]
struct OfAll {
    ran_ns: u64,
    processes: u64,
}

/// The kernel's figures for one task: those from which its times count, and the last ones.
struct Counter {
    first: TaskTimes,
    last: TaskTimes,
}

impl Counter {
    const fn times(&self) -> TaskTimes {
        TaskTimes {
            ran_ns: self.last.ran_ns - self.first.ran_ns,
            waited_ns: self.last.waited_ns - self.first.waited_ns,
        }
    }
}

impl CpuWatch {
    /// Begin the watch.
    ///
    /// # Errors
    /// When this kernel does not count these times.
    pub fn begin() -> io::Result<Self> {
        fs::read_to_string("/proc/thread-self/schedstat")?;
        let (begun, busy_ns) = (Instant::now(), busy_ns());
        let mut watch = Self {
            tasks: BTreeMap::new(),
            replaced: Vec::new(),
            begun,
            read: begun,
            first_busy_ns: busy_ns,
            last_busy_ns: busy_ns,
            first_of_all: OfAll::default(),
            last_of_all: OfAll::default(),
        };
        watch.read(|now| now);
        watch.first_of_all = watch.last_of_all;
        watch.read = begun;
        Ok(watch)
    }

    /// When to read the counters again.
    pub fn next_look(&self) -> Instant {
        self.read + ((self.read - self.begun) / SHARE).clamp(LOOK, LONGEST_LOOK)
    }

    /// Read the counters if it is time.
    pub fn look(&mut self) {
        if Instant::now() >= self.next_look() {
            self.read(|_| TaskTimes::default());
        }
    }

    /// End the watch. If there was no time for a second reading, this is it.
    pub fn end(mut self) -> CpuTimes {
        if self.read == self.begun {
            self.read(|_| TaskTimes::default());
        }
        self.times()
    }

    /// What the watch saw up to the last reading.
    pub fn times(&self) -> CpuTimes {
        let times = self.tasks.values().map(Counter::times).chain(self.replaced.iter().copied());
        let tasks: Vec<TaskTimes> = times.filter(|times| *times != TaskTimes::default()).collect();
        let seen_ns = tasks.iter().map(|task| task.ran_ns).sum();
        CpuTimes {
            unseen_ns: self.unseen_ns(seen_ns),
            over_ns: u64::try_from((self.read - self.begun).as_nanos()).unwrap_or(u64::MAX),
            busy_ns: self.last_busy_ns - self.first_busy_ns,
            tasks,
        }
    }

    /// What all processes ran besides the tasks that were seen; 0 if the rounding of each may explain it.
    fn unseen_ns(&self, seen_ns: u64) -> u64 {
        let (first, last) = (self.first_of_all, self.last_of_all);
        let unseen_ns = last.ran_ns.saturating_sub(first.ran_ns).saturating_sub(seen_ns);
        let rounding_ns = ROUNDED * first.processes.max(last.processes) * ns_per_tick();
        if unseen_ns > rounding_ns { unseen_ns } else { 0 }
    }

    /// Read all counters; `first` says from which figures a task counts that was not seen before.
    fn read(&mut self, first: fn(TaskTimes) -> TaskTimes) {
        for (task, now) in counters() {
            self.note(task, now, first);
        }
        self.last_of_all = of_all();
        self.last_busy_ns = busy_ns().max(self.last_busy_ns);
        self.read = Instant::now();
    }

    fn note(&mut self, task: String, now: TaskTimes, first: fn(TaskTimes) -> TaskTimes) {
        let counter = self.tasks.entry(task).or_insert_with(|| Counter { first: first(now), last: now });
        if now.ran_ns < counter.last.ran_ns || now.waited_ns < counter.last.waited_ns {
            self.replaced.push(counter.times());
            *counter = Counter { first: TaskTimes::default(), last: now };
        }
        counter.last = now;
    }
}

/// The error where no watch has begun.
pub fn not_begun() -> io::Error {
    io::Error::other("no watch has begun")
}

/// The kernel's figures for all tasks of this PID namespace, by the path of the task.
fn counters() -> Vec<(String, TaskTimes)> {
    let tasks =
        processes().flat_map(|process| fs::read_dir(process.join("task")).into_iter().flatten().flatten());
    let counter = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        let times = TaskTimes { ran_ns: numbers.next()?.ok()?, waited_ns: numbers.next()?.ok()? };
        Some((task.path().to_string_lossy().into_owned(), times))
    };
    tasks.filter_map(counter).collect()
}

/// The CPU time of all processes of this PID namespace and of those they waited for.
fn of_all() -> OfAll {
    let mut all = OfAll::default();
    for process in processes() {
        let text = fs::read_to_string(process.join("stat")).unwrap_or_default();
        all.ran_ns += ticks_of(&text) * ns_per_tick();
        all.processes += 1;
    }
    all
}

/// Sum utime, stime, cutime and cstime of `/proc/PID/stat`; the second field, a name, may contain anything.
fn ticks_of(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name
        .split_whitespace()
        .skip(11)
        .take(ROUNDED_FIELDS)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum()
}

fn ns_per_tick() -> u64 {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    1_000_000_000 / per_second.and_then(|count| u64::try_from(count).ok()).unwrap_or(100).max(1)
}

/// The time since boot in which all CPUs together were not idle; 0 if it is unknown.
fn busy_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
    let ticks: Vec<u64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    // Niced processes give way to a trial, unless it is niced itself.
    let places: &[usize] = if is_niced() { &[0, 1, 2, 5, 6, 7] } else { &[0, 2, 5, 6, 7] };
    let busy: u64 = places.iter().filter_map(|place| ticks.get(*place)).sum();
    busy * ns_per_tick()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn empty() -> CpuWatch {
        let now = Instant::now();
        let (tasks, replaced) = (BTreeMap::new(), Vec::new());
        let of_all = OfAll { ran_ns: 0, processes: 1 };
        CpuWatch {
            tasks,
            replaced,
            begun: now,
            read: now,
            first_busy_ns: 0,
            last_busy_ns: 0,
            first_of_all: of_all,
            last_of_all: of_all,
        }
    }

    const fn times(ran_ns: u64, waited_ns: u64) -> TaskTimes {
        TaskTimes { ran_ns, waited_ns }
    }

    #[test]
    fn a_task_counts_from_the_beginning_of_the_watch_or_of_its_life() {
        let mut watch = empty();
        watch.note("old".into(), times(500, 100), |now| now);
        watch.note("old".into(), times(501, 130), |_| TaskTimes::default());
        watch.note("new".into(), times(3, 7), |_| TaskTimes::default());
        let counted: Vec<TaskTimes> = watch.tasks.values().map(Counter::times).collect();
        assert_eq!(counted, [times(3, 7), times(1, 30)]);
    }

    #[test]
    fn readings_become_rarer() {
        let mut watch = empty();
        let mut after = |read: Duration| {
            watch.read = watch.begun + read;
            watch.next_look() - watch.read
        };
        assert_eq!(after(Duration::ZERO), LOOK);
        assert_eq!(after(Duration::from_secs(1)), LOOK);
        assert_eq!(after(Duration::from_secs(3)), Duration::from_millis(150));
        assert_eq!(after(Duration::from_secs(60)), LONGEST_LOOK);
    }

    #[test]
    fn the_times_so_far_do_not_end_the_watch() {
        let mut watch = empty();
        watch.note("1".into(), times(9, 100), |_| TaskTimes::default());
        assert_eq!(watch.times().tasks, [times(9, 100)]);
        watch.note("1".into(), times(12, 130), |_| TaskTimes::default());
        assert_eq!(watch.times().tasks, [times(12, 130)]);
    }

    #[test]
    fn a_number_that_another_task_takes_over_counts_for_both() {
        let mut watch = empty();
        for now in [times(9, 100), times(2, 40), times(3, 45)] {
            watch.note("1".into(), now, |_| TaskTimes::default());
        }
        assert_eq!(watch.replaced, [times(9, 100)]);
        assert_eq!(watch.tasks["1"].times(), times(3, 45));
    }

    #[test]
    fn what_no_reading_saw_counts_beyond_the_rounding() {
        let mut watch = empty();
        watch.note("1".into(), times(500_000_000, 0), |_| TaskTimes::default());
        watch.last_of_all.ran_ns = 530_000_000;
        assert_eq!(watch.times().unseen_ns, 0);
        watch.last_of_all.ran_ns = 900_000_000;
        assert_eq!(watch.times().unseen_ns, 400_000_000);
        watch.last_of_all.ran_ns = 100_000_000;
        assert_eq!(watch.times().unseen_ns, 0);
    }

    #[test]
    fn the_times_of_a_process_are_found_behind_any_name() {
        let stat = "7 (a) b 9 (c) S 1 7 7 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 5 6";
        assert_eq!(ticks_of(stat), 110);
        assert_eq!(ticks_of(""), 0);
    }

    #[test]
    fn tasks_that_share_a_cpu_wait() {
        let watch = CpuWatch::begin().expect("this kernel counts the times");
        let busy = thread::available_parallelism().map_or(1, usize::from) * 2;
        thread::scope(|scope| {
            for _ in 0..busy {
                scope.spawn(|| {
                    let begun = Instant::now();
                    while begun.elapsed() < 4 * LOOK {}
                });
            }
            thread::sleep(3 * LOOK);
            let ended = watch.end();
            let waited_ns: u64 = ended.tasks.iter().map(|task| task.waited_ns).sum();
            assert!(waited_ns > 1_000_000, "{ended:?}");
            assert!(ended.busy_ns > 0, "{ended:?}");
            assert!(ended.over_ns > 3_000_000 * 50 - 1, "{ended:?}");
        });
    }
}
