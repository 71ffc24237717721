//! Independent random loss.

use crate::{Cause, Dropped, Nanos, Packet, Stage, Stream};

/// Loses packet `n` when draw `n` of its stream is below the probability; passes the others at once.
/// Packets without a number are not drawn for.
#[derive(Debug)]
pub struct Loss<B> {
    probability: f64,
    stream: Stream,
    passing: Option<(Nanos, Packet<B>)>,
}

impl<B> Loss<B> {
    /// Loss with `probability` in `[0, 1]`.
    #[must_use]
    pub const fn new(probability: f64, stream: Stream) -> Self {
        Self { probability, stream, passing: None }
    }

    fn loses(&self, packet: &Packet<B>) -> bool {
        packet.number.is_some_and(|n| self.stream.unit(n) < self.probability)
    }
}

impl<B> Stage<B> for Loss<B> {
    /// # Panics
    /// When the packet pushed before has not been popped: this stage holds one packet, for no time.
    fn push(&mut self, now: Nanos, packet: Packet<B>) -> Result<(), Dropped<B>> {
        assert!(self.passing.is_none(), "a packet passes the loss stage at once");
        if self.loses(&packet) {
            return Err(Dropped { cause: Cause::Chance, packet });
        }
        self.passing = Some((now, packet));
        Ok(())
    }

    fn pop(&mut self, now: Nanos) -> Option<Packet<B>> {
        self.passing.take_if(|(due, _)| *due <= now).map(|(_, packet)| packet)
    }

    fn next_due(&self) -> Option<Nanos> {
        self.passing.as_ref().map(|(due, _)| *due)
    }
}
