//! Constants of quiche's BBR, to be changed one by one.
//!
//! A test of congestion control needs senders that break one rule of an algorithm and keep the others. quiche lets
//! a program set the constants that those rules consist of.

use std::str::FromStr;

use quiche::BbrParams;

const NAMES: &str = "startup_cwnd_gain, startup_pacing_gain, startup_full_bw_rounds, startup_full_loss_count, \
    drain_pacing_gain, probe_bw_probe_up_pacing_gain, probe_bw_up_cwnd_gain, loss_threshold, min_cwnd_packets";

/// Constants that differ from quiche's own; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constants(pub Option<BbrParams>);

impl FromStr for Constants {
    type Err = String;

    /// Reads `NAME=VALUE,...`, or `default` for none.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::default());
        }
        let mut constants = BbrParams::default();
        for assignment in text.split(',') {
            let (name, value) = assignment
                .split_once('=')
                .ok_or_else(|| format!("{assignment:?} is not NAME=VALUE, such as drain_pacing_gain=1"))?;
            set(&mut constants, name, value)?;
        }
        Ok(Self(Some(constants)))
    }
}

fn set(constants: &mut BbrParams, name: &str, value: &str) -> Result<(), String> {
    let share = || {
        let number = value.parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| format!("{name}: {value:?} is not a number of at least 0"))
    };
    let count = || {
        let number = value.parse().ok().filter(|number| *number > 0);
        number.map(Some).ok_or_else(|| format!("{name}: {value:?} is not a number of at least 1"))
    };
    match name {
        "startup_cwnd_gain" => constants.startup_cwnd_gain = share()?,
        "startup_pacing_gain" => constants.startup_pacing_gain = share()?,
        "startup_full_bw_rounds" => constants.startup_full_bw_rounds = count()?,
        "startup_full_loss_count" => constants.startup_full_loss_count = count()?,
        "drain_pacing_gain" => constants.drain_pacing_gain = share()?,
        "probe_bw_probe_up_pacing_gain" => constants.probe_bw_probe_up_pacing_gain = share()?,
        "probe_bw_up_cwnd_gain" => constants.probe_bw_up_cwnd_gain = share()?,
        "loss_threshold" => constants.loss_threshold = share()?,
        "min_cwnd_packets" => constants.min_cwnd_packets = count()?,
        _ => return Err(format!("{name:?} is none of {NAMES}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Constants;

    #[test]
    fn constants_are_set_by_name() {
        let constants: Constants = "drain_pacing_gain=1,min_cwnd_packets=2".parse().unwrap();
        let set = constants.0.unwrap();
        assert_eq!(set.drain_pacing_gain, Some(1.0));
        assert_eq!(set.min_cwnd_packets, Some(2));
        assert_eq!(set.loss_threshold, None);
        assert_eq!("default".parse(), Ok(Constants::default()));
    }

    #[test]
    fn mistakes_are_refused_with_the_reason() {
        for text in ["", "drain_pacing_gain", "drain_pacing_gain=nan", "min_cwnd_packets=0", "no_such=1"] {
            assert!(text.parse::<Constants>().is_err(), "{text}");
        }
    }
}
