//! RFC 8290 sections 4.1 and 4.2, with lists of queue numbers.

use link_model::{FqCoDel, Nanos, Stream};

use super::{Aqm, Stamped, codel};

#[derive(Clone, Copy, PartialEq)]
enum List {
    New,
    Old,
}

pub struct Queue {
    settings: FqCoDel,
    queues: Vec<codel::Queue>,
    credits: Vec<i64>,
    /// Both lists in one, each in its order.
    active: Vec<(List, usize)>,
    maxpacket: u64,
}

impl Queue {
    pub fn new(settings: FqCoDel) -> Self {
        let flows = settings.flows.get() as usize;
        let queues = (0..flows).map(|_| codel::Queue::new(settings.codel)).collect();
        Self { settings, queues, credits: vec![0; flows], active: Vec::new(), maxpacket: 0 }
    }

    fn quantum(&self) -> i64 {
        self.settings.quantum.get().into()
    }
}

impl Aqm for Queue {
    fn enqueue(&mut self, now: Nanos, packet: Stamped) -> bool {
        // The hash itself is the model's choice.
        let hash = Stream::new(packet.flow).word(0) % self.queues.len() as u64;
        let queue = usize::try_from(hash).expect("small");
        self.maxpacket = self.maxpacket.max(packet.bytes);
        if !self.active.iter().any(|(_, active)| *active == queue) {
            self.credits[queue] = self.quantum();
            self.active.push((List::New, queue));
        }
        self.queues[queue].enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Nanos, dropped: &mut Vec<Stamped>) -> Option<Stamped> {
        loop {
            let first = |list| self.active.iter().position(|(other, _)| *other == list);
            let place = first(List::New).or(first(List::Old))?;
            let (list, queue) = self.active[place];
            if self.credits[queue] <= 0 {
                self.credits[queue] += self.quantum();
                self.active.remove(place);
                self.active.push((List::Old, queue));
                continue;
            }
            self.queues[queue].maxpacket = self.maxpacket;
            if let Some(packet) = self.queues[queue].dequeue(now, dropped) {
                self.credits[queue] -= i64::try_from(packet.bytes).expect("small");
                return Some(packet);
            }
            self.active.remove(place);
            if list == List::New {
                self.active.push((List::Old, queue));
            }
        }
    }

    fn makes_room(&self) -> bool {
        true
    }

    /// Half of the largest queue, from its head, 64 packets at most.
    fn make_room(&mut self) -> Vec<Stamped> {
        let largest = self.queues.iter().map(codel::Queue::bytes).max().expect("not empty");
        let fattest = self.queues.iter_mut().find(|queue| queue.bytes() == largest).expect("it has");
        let mut batch: Vec<Stamped> = Vec::new();
        let gone = |batch: &[Stamped]| batch.iter().map(|packet| packet.bytes).sum::<u64>();
        while largest > 0 && (batch.is_empty() || (gone(&batch) < largest / 2 && batch.len() < 64)) {
            batch.extend(fattest.packets.pop_front());
        }
        batch
    }

    fn waiting(&self) -> (u64, u64) {
        let each = || self.queues.iter().map(Aqm::waiting);
        (each().map(|(packets, _)| packets).sum(), each().map(|(_, bytes)| bytes).sum())
    }
}
