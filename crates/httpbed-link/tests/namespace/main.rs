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

fn run_all() -> ExitCode {
    let names = scenarios::names();
    let total = names.len();
    let passed = names.filter(|name| run_apart(name)).count();
    let failed = total - passed;
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// Runs one scenario in its own namespaces, which disappear with it.
fn run_apart(name: &str) -> bool {
    let program = env::current_exe().expect("a program knows itself");
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"])
        .args(["--mount-proc", "--"])
        .arg(program)
        .args(["scenario", name])
        .status();
    let passed = status.is_ok_and(|status| status.success());
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}
