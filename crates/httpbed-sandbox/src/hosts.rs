//! Hosts: network namespaces, kept alive by files under `/run/netns` as `ip netns` does.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::failure::{Failure, Step};

/// The namespaces of the hosts, by name.
pub type Hosts = BTreeMap<String, Arc<File>>;

const OWN_NETWORK: &str = "/proc/self/ns/net";
const NO_PATH: Option<&Path> = None;

/// Set sysctls in the network of the caller.
pub fn set_sysctls(sysctls: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (key, value) in sysctls {
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        fs::write(file, value).step(format!("set sysctl {key}"))?;
    }
    Ok(())
}

/// Create the hosts, each with its sysctls set, and return to the sandbox's own network.
///
/// `base` is the path of the sandbox's root.
pub fn create(wanted: &BTreeMap<String, BTreeMap<String, String>>, base: &Path) -> Result<Hosts, Failure> {
    if wanted.is_empty() {
        return Ok(Hosts::new()); // a sandbox that kept the network of its caller could not return to it
    }
    let own = File::open(OWN_NETWORK).step("open the sandbox's network namespace")?;
    let names = base.join("run/netns");
    fs::create_dir_all(&names).step("create /run/netns")?;
    let mut hosts = Hosts::new();
    for (name, sysctls) in wanted {
        unshare(CloneFlags::CLONE_NEWNET).step(format!("unshare the network of host {name}"))?;
        set_sysctls(sysctls)?;
        let file = name_namespace(&names.join(name)).step(format!("name host {name}"))?;
        hosts.insert(name.clone(), Arc::new(file));
    }
    setns(&own, CloneFlags::CLONE_NEWNET).step("return to the sandbox's network")?;
    Ok(hosts)
}

fn name_namespace(file: &Path) -> io::Result<File> {
    File::create(file)?;
    mount(Some(OWN_NETWORK), file, NO_PATH, MsFlags::MS_BIND, NO_PATH)?;
    File::open(OWN_NETWORK)
}
