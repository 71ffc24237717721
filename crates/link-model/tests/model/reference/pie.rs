//! RFC 8033 appendix A, with a timer, time stamps and marking (section 5.1).

use std::collections::VecDeque;

use link_model::{Nanos, Pie, Stream};

use super::{Aqm, Stamped};

pub struct Queue {
    settings: Pie,
    packets: VecDeque<Stamped>,
    maxpacket: u64,
    timer: Option<Nanos>,
    drop_prob: f64,
    burst_allowance: Nanos,
    current_qdelay: Nanos,
    qdelay_old: Nanos,
    /// Dequeues that the timer has not overtaken: time and delay.
    dequeues: VecDeque<(Nanos, Nanos)>,
}

#[expect(clippy::cast_precision_loss, reason = "small")]
fn s(time: Nanos) -> f64 {
    time as f64 / 1e9
}

impl Queue {
    pub fn new(settings: Pie) -> Self {
        Self {
            settings,
            packets: VecDeque::new(),
            maxpacket: 0,
            timer: None,
            drop_prob: 0.0,
            burst_allowance: 150_000_000,
            current_qdelay: 0,
            qdelay_old: 0,
            dequeues: VecDeque::new(),
        }
    }

    /// The timer's interrupts and the dequeues before `now`, in the order of time.
    fn catch_up(&mut self, now: Nanos) {
        while let Some(timer) = self.timer.filter(|timer| *timer <= now) {
            self.replay(timer);
            self.status_update();
            self.timer = Some(timer + self.settings.update);
        }
        self.replay(now);
    }

    fn replay(&mut self, until: Nanos) {
        while let Some((_, delay)) = self.dequeues.pop_front_if_at(until) {
            self.current_qdelay = delay;
        }
    }

    fn status_update(&mut self) {
        let mut p = 0.125 * (s(self.current_qdelay) - s(self.settings.target))
            + 1.25 * (s(self.current_qdelay) - s(self.qdelay_old));
        p /= match self.drop_prob {
            prob if prob < 0.000_001 => 2048.0,
            prob if prob < 0.000_01 => 512.0,
            prob if prob < 0.000_1 => 128.0,
            prob if prob < 0.001 => 32.0,
            prob if prob < 0.01 => 8.0,
            prob if prob < 0.1 => 2.0,
            _ => 1.0,
        };
        self.drop_prob += p;
        if self.current_qdelay == 0 && self.qdelay_old == 0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.settings.update);
    }

    fn drop_early(&self, packet: &Stamped) -> bool {
        if self.qdelay_old < self.settings.target / 2 && self.drop_prob < 0.2 {
            return false;
        }
        if self.waiting().1 <= 2 * self.maxpacket {
            return false;
        }
        Stream::new(self.settings.key).unit(2 * packet.number) < self.drop_prob
    }
}

trait PopFrontIfAt {
    fn pop_front_if_at(&mut self, until: Nanos) -> Option<(Nanos, Nanos)>;
}

impl PopFrontIfAt for VecDeque<(Nanos, Nanos)> {
    fn pop_front_if_at(&mut self, until: Nanos) -> Option<(Nanos, Nanos)> {
        self.front().filter(|(at, _)| *at <= until)?;
        self.pop_front()
    }
}

impl Aqm for Queue {
    fn enqueue(&mut self, now: Nanos, mut packet: Stamped) -> bool {
        self.maxpacket = self.maxpacket.max(packet.bytes);
        self.timer.get_or_insert(now + self.settings.update);
        self.catch_up(now);
        let half = self.settings.target / 2;
        if self.drop_prob <= 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = 150_000_000;
        }
        let drop = self.burst_allowance == 0 && self.drop_early(&packet);
        if drop && !(self.settings.ecn && self.drop_prob <= 0.1 && packet.mark()) {
            return false;
        }
        self.packets.push_back(packet);
        true
    }

    fn dequeue(&mut self, now: Nanos, _: &mut Vec<Stamped>) -> Option<Stamped> {
        let packet = self.packets.pop_front()?;
        let delay = if self.packets.is_empty() { 0 } else { now - packet.tstamp };
        self.dequeues.push_back((now, delay));
        Some(packet)
    }

    fn waiting(&self) -> (u64, u64) {
        (self.packets.len() as u64, self.packets.iter().map(|packet| packet.bytes).sum())
    }
}
