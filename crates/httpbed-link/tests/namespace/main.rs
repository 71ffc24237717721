//! The executable between two real hosts: network namespaces, veth interfaces, sockets.
//!
//! Every scenario runs in its own user and network namespaces, without any privilege over the machine. Where the
//! machine does not allow them the test fails, because an untested emulator cannot be trusted.
//!
//! The program plays all roles itself: without a role it runs all scenarios, each through `unshare`, and `nsenter`
//! starts it again in the hosts' namespaces for the hosts' programs.

mod bed;
mod hosts;
mod interfaces;
mod live;
mod nat;
mod scenarios;

use std::env;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["scenario", name] => scenarios::run(name),
        ["host", role, ref rest @ ..] => hosts::play(role, rest),
        _ => return run_all(),
    }
    ExitCode::SUCCESS
}

enum Ended {
    Passed,
    Failed,
    /// With the reason for which this machine cannot run the scenario.
    Ignored(String),
}

fn run_all() -> ExitCode {
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for name in scenarios::names() {
        let (count, said) = match run_apart(name) {
            Ended::Passed => (&mut passed, "ok".to_owned()),
            Ended::Failed => (&mut failed, "FAILED".to_owned()),
            Ended::Ignored(reason) => (&mut ignored, format!("ignored, {reason}")),
        };
        *count += 1;
        println!("test {name} ... {said}");
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out\n"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// Runs one scenario in its own namespaces, which disappear with it. Where everything is required, as in CI, none is
/// ignored.
fn run_apart(name: &str) -> Ended {
    if env::var_os("HTTPBED_REQUIRE_NAMESPACES").is_none_or(|value| value != "1") {
        if let Some(reason) = scenarios::obstacle(name) {
            return Ended::Ignored(reason);
        }
    }
    let program = env::current_exe().expect("a program knows itself");
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"])
        .args(["--mount-proc", "--"])
        .arg(program)
        .args(["scenario", name])
        .status();
    if status.is_ok_and(|status| status.success()) { Ended::Passed } else { Ended::Failed }
}
