//! Restrictions on the system calls of a program under test.
//!
//! Three layers, each for what the others do not cover:
//!
//! 1. **No capability.** None is in any of its sets, and none can return, because the bounding set is empty and
//!    `no_new_privs` is set. Low ports work because of `net.ipv4.ip_unprivileged_port_start`.
//! 2. **A filter of system calls** rejects what needs no capability but reaches beyond a program that speaks HTTP:
//!    tracing, other processes' memory and limits, new namespaces and mounts, keyrings, BPF, perf, `userfaultfd`,
//!    `io_uring` (whose requests no filter sees), setuid files, and sockets of families other than UNIX, IPv4, IPv6
//!    and netlink, such as those to the host of a virtual machine (`AF_VSOCK`). Of IPv4 and IPv6 only TCP and UDP
//!    are left: the emulator reads no other protocol, and MPTCP is not what a label means by TCP.
//! 3. **Its namespaces** ([`crate::part`]), which contain nothing else.
//!
//! A rejected call returns EPERM, as in a container. `clone3` and `openat2` return ENOSYS, because a filter cannot
//! read their flags from memory. C libraries then use `clone` and `openat`, whose arguments it can read.

use std::collections::BTreeMap;
use std::io;

use caps::CapSet;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

const REFUSED: [libc::c_long; 32] = [
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Keyrings, which no namespace separates.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_reboot,
];
/// Missing, as on an older kernel: callers use another call.
const ABSENT: [libc::c_long; 5] = [
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];
/// Calls that set a file's mode, with the index of the argument that is the mode.
const MODES: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];
/// Calls that may create a file, with the indexes of flags and mode. The mode counts with some flags only.
const OPENINGS: &[(libc::c_long, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];
const SYS_FCHMODAT2: libc::c_long = 452;
/// Bits of a mode with which a file runs as its owner or group.
const SPECIAL: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Flags with which a call creates a file; the second is the bit that only `O_TMPFILE` has.
const MAKING: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
const NAMESPACES: i32 = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// In the caller's network, abstract UNIX sockets lead to programs of the user, and netlink shows the machine's network.
const FAMILIES_IN_THE_CALLERS_NETWORK: [i32; 2] = [libc::AF_INET, libc::AF_INET6];
/// Of IPv4 and IPv6 sockets; 0 is that of the socket's type.
const PROTOCOLS: [i32; 3] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
const ALL_CAPABILITY_SETS: [CapSet; 5] =
    [CapSet::Ambient, CapSet::Bounding, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted];
/// System calls of the x32 ABI have this bit; the filter does not match their numbers.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// The compiled filters; a process applies them before it becomes the program.
#[derive(Clone, Debug)]
pub struct Confinement {
    filters: Vec<BpfProgram>,
}

impl Confinement {
    /// Compile the filters for this processor.
    pub fn new() -> io::Result<Self> {
        Self::with_sockets_of(&FAMILIES)
    }

    /// Compile the filters for a program in the network in which the sandbox was created.
    pub fn in_the_callers_network() -> io::Result<Self> {
        Self::with_sockets_of(&FAMILIES_IN_THE_CALLERS_NETWORK)
    }

    fn with_sockets_of(families: &[i32]) -> io::Result<Self> {
        let mut refused: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
        for flag in (0..31).map(|bit| 1 << bit).filter(|flag| NAMESPACES & flag != 0) {
            let rule = masked(0, flag)?;
            refused.entry(libc::SYS_clone).or_default().push(rule);
        }
        // The limits of another process of the same user, above all the part's first process.
        refused.insert(libc::SYS_prlimit64, vec![rule(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
        refuse_special_modes(&mut refused)?;
        let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
        let foreign = Rules::from([(libc::SYS_socket, vec![none_of(families)?])]);
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
        let mut filters = vec![
            compiled(refused, libc::EPERM)?,
            compiled(absent, libc::ENOSYS)?,
            compiled(foreign, libc::EAFNOSUPPORT)?,
            compiled(foreign_protocols()?, libc::EPROTONOSUPPORT)?,
        ];
        #[cfg(target_arch = "x86_64")]
        filters.push(without_x32());
        Ok(Self { filters })
    }

    /// Take the filter of the kernel of a guest in place of that of programs.
    #[cfg(target_arch = "x86_64")]
    pub fn of_a_guest() -> io::Result<Self> {
        Ok(Self { filters: vec![crate::guest_calls::filter()?] })
    }

    /// Refuse: guests need another processor.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn of_a_guest() -> io::Result<Self> {
        Err(io::Error::other("guests need an x86-64 processor"))
    }

    /// Give up every capability and apply the filters.
    pub fn apply(&self) -> io::Result<()> {
        for set in ALL_CAPABILITY_SETS {
            caps::clear(None, set).map_err(io::Error::other)?;
        }
        for filter in &self.filters {
            apply_filter(filter).map_err(io::Error::other)?; // which sets no_new_privs
        }
        Ok(())
    }
}

fn compiled(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, action, machine).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

/// Match where an argument has this flag.
fn masked(argument: u8, flag: i32) -> io::Result<SeccompRule> {
    rule(vec![has(argument, flag.unsigned_abs())?])
}

fn has(argument: u8, flag: u32) -> io::Result<SeccompCondition> {
    let flag = u64::from(flag);
    condition(argument, SeccompCmpOp::MaskedEq(flag), flag)
}

/// Reject files that run as their owner, though no program of the host sees a part's folder.
fn refuse_special_modes(refused: &mut Rules) -> io::Result<()> {
    for bit in SPECIAL {
        for (call, mode) in MODES {
            refused.entry(*call).or_default().push(rule(vec![has(*mode, bit)?])?);
        }
        for (call, flags, mode) in OPENINGS {
            for making in MAKING {
                let conditions = vec![has(*flags, making.unsigned_abs())?, has(*mode, bit)?];
                refused.entry(*call).or_default().push(rule(conditions)?);
            }
        }
    }
    Ok(())
}

/// Match sockets of IPv4 and IPv6 that are neither TCP nor UDP. Protocol 0 means that of the type, so the type counts,
/// too. Its upper bits are flags (`SOCK_CLOEXEC`).
fn foreign_protocols() -> io::Result<Rules> {
    const TYPE_BITS: u64 = 0xF;
    let ordinary = [libc::SOCK_STREAM, libc::SOCK_DGRAM].map(|kind| u64::from(kind.unsigned_abs()));
    let mut rules = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let of_family = || condition(0, SeccompCmpOp::Eq, u64::from(family.unsigned_abs()));
        let others = PROTOCOLS.map(|one| condition(2, SeccompCmpOp::Ne, u64::from(one.unsigned_abs())));
        let mut conditions = vec![of_family()?];
        conditions.extend(others.into_iter().collect::<io::Result<Vec<_>>>()?);
        rules.push(rule(conditions)?);
        for kind in (0..=TYPE_BITS).filter(|kind| !ordinary.contains(kind)) {
            let of_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_BITS), kind)?;
            rules.push(rule(vec![of_family()?, of_kind])?);
        }
    }
    Ok(Rules::from([(libc::SYS_socket, rules)]))
}

/// Match if the first argument is not in this list.
fn none_of(values: &[i32]) -> io::Result<SeccompRule> {
    let others = values.iter().map(|value| condition(0, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())));
    rule(others.collect::<io::Result<_>>()?)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// Reject the calls of the x32 ABI, which seccompiler cannot express: `if number >= X32 { ENOSYS } else { allow }`.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    let statement = |code: u32, jump_true, k| seccompiler::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt: jump_true,
        jf: 0,
        k,
    };
    vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0), // seccomp_data.nr
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_fit_the_kernel() {
        let mut filters = Confinement::new().unwrap().filters;
        filters.extend(Confinement::in_the_callers_network().unwrap().filters);
        if cfg!(target_arch = "x86_64") {
            filters.extend(Confinement::of_a_guest().unwrap().filters);
        }
        for filter in filters {
            assert!((2..4096).contains(&filter.len()));
        }
    }
}
