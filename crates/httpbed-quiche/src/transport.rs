//! QUIC settings of both ends.

use std::str::FromStr;
use std::time::Duration;

use boring::ssl::SslContextBuilder;
use quiche::CongestionControlAlgorithm;

use crate::bbr::Constants;
use crate::failure::{Code, Failure};

/// A size that fits every path that QUIC may use without discovery (RFC 9000 section 14): Ethernet's 1500 less
/// headers, and some room for tunnels.
const PAYLOAD_BYTES: usize = 1350;
/// The largest datagram that is accepted.
const MAX_BYTES: usize = 65_527;
const MAX_STREAMS: u64 = 1000;
/// Limits for the other side's control and QPACK streams (RFC 9114 section 6.2).
const CONTROL_STREAMS: u64 = 16;
const CONTROL_BYTES: u64 = 1 << 20;

/// A sender's congestion control, by quiche's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// New Reno (RFC 9002 section 7).
    Reno,
    /// CUBIC (RFC 9438) with `HyStart++` (RFC 9406).
    Cubic,
    /// BBR version 2, ported from Google's QUIC.
    Bbr2,
}

impl FromStr for CongestionControl {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "reno" => Ok(Self::Reno),
            "cubic" => Ok(Self::Cubic),
            "bbr2_gcongestion" | "bbr" => Ok(Self::Bbr2),
            _ => Err(format!("{name:?} is none of reno, cubic, bbr2_gcongestion, bbr (the same)")),
        }
    }
}

impl From<CongestionControl> for CongestionControlAlgorithm {
    fn from(name: CongestionControl) -> Self {
        match name {
            CongestionControl::Reno => Self::Reno,
            CongestionControl::Cubic => Self::CUBIC,
            CongestionControl::Bbr2 => Self::Bbr2Gcongestion,
        }
    }
}

/// The settings; the defaults limit nothing below 1 Gbit/s at 100 ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Congestion control of this end.
    pub congestion_control: CongestionControl,
    /// Constants of BBR.
    pub bbr: Constants,
    /// Packets in the initial congestion window of this end.
    pub initial_window: usize,
    /// Bytes that the other end may send on the connection before the first update.
    pub max_data: u64,
    /// The limit of the connection's window.
    pub max_window: u64,
    /// Bytes that the other end may send on one stream before the first update.
    pub max_stream_data: u64,
    /// The limit of a stream's window.
    pub max_stream_window: u64,
    /// Silence after which the connection counts as lost.
    pub idle: Duration,
    /// Whether the other end may move to another address.
    pub migration: bool,
    /// Connection IDs that the other end may issue at once; quiche knows at most as many paths.
    pub connection_ids: u64,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::Cubic,
            bbr: Constants::default(),
            initial_window: 10,
            max_data: 16 << 20,
            max_window: 32 << 20,
            max_stream_data: 16 << 20,
            max_stream_window: 32 << 20,
            idle: Duration::from_secs(30),
            migration: true,
            connection_ids: 8,
        }
    }
}

impl Transport {
    /// quiche's configuration for HTTP/3 with a TLS context.
    ///
    /// # Errors
    /// When quiche rejects the context.
    pub fn configure(&self, tls: SslContextBuilder) -> Result<quiche::Config, Failure> {
        let refused = |error| Failure::new(Code::Tls, format!("TLS cannot be set up: {error}"));
        let mut config =
            quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls).map_err(refused)?;
        config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL).map_err(refused)?;
        config.set_cc_algorithm(self.congestion_control.into());
        if let Some(constants) = self.bbr.0 {
            config.set_custom_bbr_params(constants);
        }
        config.set_initial_congestion_window_packets(self.initial_window);
        config.set_max_idle_timeout(u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX));
        config.set_max_recv_udp_payload_size(MAX_BYTES);
        config.set_max_send_udp_payload_size(PAYLOAD_BYTES);
        self.open_windows(&mut config);
        config.set_disable_active_migration(!self.migration);
        config.set_active_connection_id_limit(self.connection_ids);
        Ok(config)
    }

    fn open_windows(&self, config: &mut quiche::Config) {
        config.set_initial_max_data(self.max_data);
        config.set_max_connection_window(self.max_window.max(self.max_data));
        config.set_initial_max_stream_data_bidi_local(self.max_stream_data);
        config.set_initial_max_stream_data_bidi_remote(self.max_stream_data);
        config.set_max_stream_window(self.max_stream_window.max(self.max_stream_data));
        config.set_initial_max_stream_data_uni(CONTROL_BYTES);
        config.set_initial_max_streams_bidi(MAX_STREAMS);
        config.set_initial_max_streams_uni(CONTROL_STREAMS);
    }
}
