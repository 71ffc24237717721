//! A small HTTP/3 file server: an origin with selectable congestion control.
//!
//! One thread, one socket, and a table of all connections by each of their connection IDs. A turn waits until a
//! datagram arrives or something is due, takes a batch of datagrams, lets each changed connection answer, and sends
//! what each may send now. A packet that quiche wants to send later (pacing) waits in its connection's
//! [`outgoing::Outgoing`].

mod connection;
mod files;
mod log;
mod outgoing;
mod salvage;
mod table;

use std::io::{self, ErrorKind, IoSliceMut, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use quiche::RecvInfo;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use serde_json::json;

use crate::command::Serve;
use crate::failure::{Code, Failure};
use crate::tls;
use files::Root;
use log::Log;
use outgoing::Outlet;
use table::Table;

/// The largest datagram, or several that the kernel has merged.
const BUFFER_BYTES: usize = 65_535;
/// Requested size of the socket's buffers; the machine's limit may make them smaller.
const SOCKET_BYTES: usize = 4 << 20;

/// Serves until the process ends.
///
/// # Errors
/// When a file or the address is unusable.
pub fn run(options: &Serve) -> Result<(), Failure> {
    let mut config = configure(options)?;
    let root = Root::open(&options.root)?;
    let mut log = Log::open(options.access_log.as_deref())?;
    let outlet = listen(options.listen)?;
    let mut table = Table::new(outlet.local);
    announce(outlet.local)
        .and_then(|()| serve(&outlet, &mut table, &mut config, &root, &mut log))
        .map_err(|error| Failure::new(Code::Connect, format!("{}: {error}", outlet.local)))
}

fn configure(options: &Serve) -> Result<quiche::Config, Failure> {
    let unusable = |file: &Path, error: &boring::error::ErrorStack| {
        let message =
            format!("{}: {}; expected a certificate and its key in PEM", file.display(), tls::reason(error));
        Failure::new(Code::Tls, message)
    };
    for file in [&options.certificate, &options.key] {
        std::fs::File::open(file)
            .map_err(|error| Failure::new(Code::Read, format!("{}: {error}", file.display())))?;
    }
    let mut context =
        SslContextBuilder::new(SslMethod::tls()).map_err(|error| unusable(&options.key, &error))?;
    context
        .set_certificate_chain_file(&options.certificate)
        .map_err(|error| unusable(&options.certificate, &error))?;
    context
        .set_private_key_file(&options.key, SslFiletype::PEM)
        .map_err(|error| unusable(&options.key, &error))?;
    let mut config = options.transport.configure(context)?;
    if options.early_data {
        config.enable_early_data();
    }
    Ok(config)
}

fn listen(address: SocketAddr) -> Result<Outlet, Failure> {
    let open = || {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        state.set_recv_buffer_size((&socket).into(), SOCKET_BYTES)?;
        state.set_send_buffer_size((&socket).into(), SOCKET_BYTES)?;
        Ok(Outlet { local: socket.local_addr()?, socket, state })
    };
    open().map_err(|error: io::Error| {
        let message =
            format!("{address}: {error}; check that no other server uses this port and that this user may");
        Failure::new(Code::Connect, message)
    })
}

fn announce(local: SocketAddr) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", json!({"event": "ready", "listen": local}))?;
    stdout.flush()
}

fn serve(
    outlet: &Outlet,
    table: &mut Table,
    config: &mut quiche::Config,
    root: &Root,
    log: &mut Log,
) -> io::Result<()> {
    let mut buffers = vec![vec![0; BUFFER_BYTES]; BATCH_SIZE];
    loop {
        let due = table.turn(outlet, root, log);
        if wait(outlet, due)? {
            receive(outlet, &mut buffers, |datagram, info| {
                if let Some(reply) = table.receive(datagram, info, config) {
                    // The client repeats its packet if this is lost.
                    let _ = outlet.send(&reply, None, info.to, info.from);
                }
            })?;
        }
    }
}

fn wait(outlet: &Outlet, due: Option<Instant>) -> io::Result<bool> {
    let most = due.map(|due| due.saturating_duration_since(Instant::now()));
    let mut file = [PollFd::new(outlet.socket.as_fd(), PollFlags::POLLIN)];
    match ppoll(&mut file, most.map(TimeSpec::from), None) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn receive(
    outlet: &Outlet,
    buffers: &mut [Vec<u8>],
    mut take: impl FnMut(&mut [u8], RecvInfo),
) -> io::Result<()> {
    let mut metadata = [RecvMeta::default(); BATCH_SIZE];
    let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
    let count = match outlet.state.recv((&outlet.socket).into(), &mut slices, &mut metadata) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    for (metadata, buffer) in metadata[..count].iter().zip(buffers) {
        let to = SocketAddr::new(metadata.dst_ip.unwrap_or(outlet.local.ip()), outlet.local.port());
        let info = RecvInfo { from: metadata.addr, to };
        buffer[..metadata.len].chunks_mut(metadata.stride.max(1)).for_each(|datagram| take(datagram, info));
    }
    Ok(())
}
