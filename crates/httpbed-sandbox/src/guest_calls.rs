//! The filter of system calls for the kernel of a guest, which is a program under test like any other.
//!
//! User Mode Linux runs each process of the guest as a process of its own, which passes this filter after the
//! kernel's own. So the calls that these processes make most come first, and all others are compared one by one.
//! What is not listed returns EPERM: no socket but a pair of UNIX sockets, no tracing, no other process's memory, no
//! namespace, mount, keyring, BPF or `io_uring`.

use std::io;
use std::mem::offset_of;

use nix::libc;
use seccompiler::{BpfProgram, sock_filter};

/// Of these, the first are those of the guest's processes.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_futex,
    libc::SYS_rt_sigreturn,
    libc::SYS_mmap,
    libc::SYS_close,
    libc::SYS_recvmsg,
    libc::SYS_munmap,
    libc::SYS_arch_prctl,
    // Files of the host, as the guest's file system reads and writes them.
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_copy_file_range,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_lseek,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_read,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_lchown,
    // Its processes and their memory.
    libc::SYS_brk,
    libc::SYS_close_range,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_kill,
    libc::SYS_madvise,
    libc::SYS_memfd_create,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_personality,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_setsid,
    libc::SYS_tgkill,
    libc::SYS_tkill,
    libc::SYS_wait4,
    libc::SYS_rseq,
    // Signals, timers and waiting.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_create,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd2,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_pause,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_sched_yield,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    // Descriptors, and what a C library asks.
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpgrp,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrlimit,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_ioctl,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_sched_getaffinity,
    libc::SYS_sendmsg,
    libc::SYS_setrlimit,
    libc::SYS_sysinfo,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_vfork,
];
/// Allowed unless an argument, by its index, has one of these bits.
const WITHOUT: &[(libc::c_long, u8, u32)] = &[
    (libc::SYS_clone, 0, NAMESPACES),
    (libc::SYS_openat, 3, SPECIAL),
    (libc::SYS_open, 2, SPECIAL),
    (libc::SYS_chmod, 1, SPECIAL),
    (libc::SYS_fchmod, 1, SPECIAL),
    (libc::SYS_fchmodat, 2, SPECIAL),
    (SYS_FCHMODAT2, 2, SPECIAL),
    (libc::SYS_mkdir, 1, SPECIAL),
    (libc::SYS_mkdirat, 2, SPECIAL),
    (libc::SYS_mknod, 1, SPECIAL),
    (libc::SYS_mknodat, 2, SPECIAL),
];
/// Allowed if an argument, by its index, is this number.
const ONLY: &[(libc::c_long, u8, u32)] =
    &[(libc::SYS_socketpair, 0, libc::AF_UNIX.unsigned_abs()), (libc::SYS_prlimit64, 0, 0)];
/// Missing, as on an older kernel: callers use another call, whose arguments a filter can read.
const ABSENT: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];
const SYS_FCHMODAT2: libc::c_long = 452;
const NAMESPACES: u32 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS)
    .unsigned_abs();
/// Bits of a file's mode with which it runs as its owner or group.
const SPECIAL: u32 = libc::S_ISUID | libc::S_ISGID;
/// `AUDIT_ARCH_X86_64`: guests run on no other processor.
const PROCESSOR: u32 = 0xC000_003E;

/// Write the filter.
pub fn filter() -> io::Result<BpfProgram> {
    let mut program = vec![
        load(offset_of!(libc::seccomp_data, arch)),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, PROCESSOR),
        end(libc::SECCOMP_RET_KILL_PROCESS),
        load(offset_of!(libc::seccomp_data, nr)),
    ];
    for call in ALLOWED {
        program.extend([skip_unless_equal(number(*call)?, 1), end(libc::SECCOMP_RET_ALLOW)]);
    }
    for (call, argument, bits) in WITHOUT {
        let refused = statement(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 1, 0, *bits);
        program.extend(conditional(number(*call)?, *argument, refused));
    }
    for (call, argument, value) in ONLY {
        program.extend(conditional(number(*call)?, *argument, skip_unless_equal(*value, 1)));
    }
    for call in ABSENT {
        program.extend([skip_unless_equal(number(*call)?, 1), refuse(libc::ENOSYS)]);
    }
    program.push(refuse(libc::EPERM));
    Ok(program)
}

/// For this call, allow if `check` goes on with the next instruction, and refuse if it skips one.
fn conditional(call: u32, argument: u8, check: sock_filter) -> [sock_filter; 5] {
    let place = offset_of!(libc::seccomp_data, args) + 8 * usize::from(argument);
    [skip_unless_equal(call, 4), load(place), check, end(libc::SECCOMP_RET_ALLOW), refuse(libc::EPERM)]
}

fn number(call: libc::c_long) -> io::Result<u32> {
    u32::try_from(call).map_err(io::Error::other)
}

fn load(place: usize) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, u32::try_from(place).unwrap_or_default())
}

fn skip_unless_equal(value: u32, count: u8) -> sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, count, value)
}

fn refuse(errno: i32) -> sock_filter {
    end(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
}

fn end(action: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, 0, 0, action)
}

fn statement(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}
