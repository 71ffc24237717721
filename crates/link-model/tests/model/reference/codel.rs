//! RFC 8289 section 5, with `first_above_time_ == 0` and all; marking as in Linux' `codel_impl.h`.

use std::collections::VecDeque;

use link_model::{CoDel, Nanos};

use super::{Aqm, Stamped};

pub struct Queue {
    settings: CoDel,
    pub packets: VecDeque<Stamped>,
    pub maxpacket: u64,
    first_above_time: Nanos,
    drop_next: Nanos,
    count: i64,
    lastcount: i64,
    dropping: bool,
}

struct DodequeueResult {
    p: Option<Stamped>,
    ok_to_drop: bool,
}

impl Queue {
    pub fn new(settings: CoDel) -> Self {
        Self {
            settings,
            packets: VecDeque::new(),
            maxpacket: 0,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| packet.bytes).sum()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "positive and small"
    )]
    fn control_law(&self, t: Nanos, count: i64) -> Nanos {
        t + (self.settings.interval as f64 / (count as f64).sqrt()) as u64
    }

    fn dodequeue(&mut self, now: Nanos) -> DodequeueResult {
        let mut r = DodequeueResult { p: self.packets.pop_front(), ok_to_drop: false };
        let Some(p) = r.p else {
            self.first_above_time = 0;
            return r;
        };
        let sojourn_time = now - p.tstamp;
        if sojourn_time < self.settings.target || self.bytes() <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.settings.interval;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    fn marks(&self, r: &mut DodequeueResult) -> bool {
        self.settings.ecn && r.p.as_mut().is_some_and(Stamped::mark)
    }
}

impl Aqm for Queue {
    fn enqueue(&mut self, _: Nanos, packet: Stamped) -> bool {
        self.maxpacket = self.maxpacket.max(packet.bytes);
        self.packets.push_back(packet);
        true
    }

    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Stamped>) -> Option<Stamped> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.marks(&mut r) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return r.p;
                }
                dropped.extend(r.p);
                r = self.dodequeue(now);
                if r.ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.ok_to_drop {
            if !self.marks(&mut r) {
                dropped.extend(r.p);
                r = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            let since = i128::from(now) - i128::from(self.drop_next);
            if delta > 1 && since < 16 * i128::from(self.settings.interval) {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p
    }

    fn waiting(&self) -> (u64, u64) {
        (self.packets.len() as u64, self.bytes())
    }
}
