//! How long each task of the sandbox ran, and how long it was ready to run and had no CPU.
//!
//! # Theory of operation
//!
//! The kernel adds up these times for each task: the first two numbers of `/proc/PID/task/TID/schedstat`, in
//! nanoseconds (Documentation/scheduler/sched-stats.rst). The numbers disappear with their task, and no other task
//! inherits them. So this program reads the numbers of all tasks of its PID namespace again and again, and keeps the
//! last ones. Only a task's last moments, after the last reading, are lost.
//!
//! The pressure stall information of the machine counts waiting tasks of all trials alike. It cannot say whether
//! the tasks of *this* trial waited.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::memory::processes;

/// Time between two readings: a reading takes some microseconds for each task.
const LOOK: Duration = Duration::from_millis(50);

/// The times of one task, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskTimes {
    /// On a CPU.
    pub ran_ns: u64,
    /// Ready to run, without a CPU.
    pub waited_ns: u64,
}

/// The times of the sandbox's tasks since the beginning of the watch.
pub struct CpuWatch {
    tasks: BTreeMap<String, Counter>,
    /// Times of ended tasks whose number another task has now.
    replaced: Vec<TaskTimes>,
    next: Instant,
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
        let mut watch = Self { tasks: BTreeMap::new(), replaced: Vec::new(), next: Instant::now() };
        watch.read(|now| now);
        Ok(watch)
    }

    /// When to read the counters again.
    pub const fn next_look(&self) -> Instant {
        self.next
    }

    /// Read the counters if it is time.
    pub fn look(&mut self) {
        if Instant::now() >= self.next {
            self.read(|_| TaskTimes::default());
        }
    }

    /// End the watch and return the times of all tasks that were ready to run.
    pub fn end(mut self) -> Vec<TaskTimes> {
        self.read(|_| TaskTimes::default());
        let times = self.tasks.values().map(Counter::times).chain(self.replaced);
        times.filter(|times| *times != TaskTimes::default()).collect()
    }

    /// Read all counters; `first` says from which figures a task counts that was not seen before.
    fn read(&mut self, first: fn(TaskTimes) -> TaskTimes) {
        for (task, now) in counters() {
            self.note(task, now, first);
        }
        self.next = Instant::now() + LOOK;
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

/// The kernel's figures for all tasks of this PID namespace, by the path of the task.
fn counters() -> Vec<(String, TaskTimes)> {
    let tasks = processes().flat_map(|process| fs::read_dir(process.join("task")).into_iter().flatten().flatten());
    let counter = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        let times = TaskTimes { ran_ns: numbers.next()?.ok()?, waited_ns: numbers.next()?.ok()? };
        Some((task.path().to_string_lossy().into_owned(), times))
    };
    tasks.filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn empty() -> CpuWatch {
        CpuWatch { tasks: BTreeMap::new(), replaced: Vec::new(), next: Instant::now() }
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
    fn a_number_that_another_task_takes_over_counts_for_both() {
        let mut watch = empty();
        for now in [times(9, 100), times(2, 40), times(3, 45)] {
            watch.note("1".into(), now, |_| TaskTimes::default());
        }
        assert_eq!(watch.replaced, [times(9, 100)]);
        assert_eq!(watch.tasks["1"].times(), times(3, 45));
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
            let waited_ns: u64 = ended.iter().map(|task| task.waited_ns).sum();
            assert!(waited_ns > 1_000_000, "{ended:?}");
        });
    }
}
