//! Which packets are lost.
//!
//! Every model answers for packet `n` from its parameters, its key and `n` alone, so that any other program can
//! recompute the losses. Gilbert-Elliott needs the state, which is a function of the draws of all numbers before;
//! numbers that nobody asked about (the link was down) are drawn for none the less.

use std::sync::Arc;

use crate::{Chance, GilbertElliott, LossModel, Stream};

/// A loss model with its state.
#[derive(Clone, Debug)]
pub struct Loss(Model);

#[derive(Clone, Debug)]
enum Model {
    Bernoulli { probability: f64, stream: Stream },
    GilbertElliott(Channel),
    Listed(Arc<[u64]>),
}

impl Loss {
    /// The model before packet 0.
    #[must_use]
    pub fn new(model: &LossModel) -> Self {
        Self(match model {
            LossModel::Bernoulli(Chance { probability, key }) => {
                Model::Bernoulli { probability: *probability, stream: Stream::new(*key) }
            }
            LossModel::GilbertElliott(parameters) => Model::GilbertElliott(Channel::new(*parameters)),
            LossModel::Listed(numbers) => Model::Listed(Arc::clone(numbers)),
        })
    }

    /// Whether packet `number` is lost. Numbers never decrease from call to call.
    pub fn loses(&mut self, number: u64) -> bool {
        match &mut self.0 {
            Model::Bernoulli { probability, stream } => stream.unit(number) < *probability,
            Model::GilbertElliott(channel) => channel.loses(number),
            Model::Listed(numbers) => numbers.binary_search(&number).is_ok(),
        }
    }

    /// From the next packet on each is lost with `probability`, by the draws that decided so far: draw `n`, or
    /// draw `2 n` after Gilbert-Elliott. A list has no draws; it is replaced by those of key 0.
    pub fn set_probability(&mut self, probability: f64) {
        match &mut self.0 {
            Model::Bernoulli { probability: current, .. } => *current = probability,
            Model::GilbertElliott(channel) => channel.lose_alike(probability),
            Model::Listed(_) => *self = Self::of_key_0(probability),
        }
    }

    /// Independent loss for a direction that was given no key.
    pub(crate) fn of_key_0(probability: f64) -> Self {
        Self(Model::Bernoulli { probability, stream: Stream::new(0) })
    }
}

/// The channel that [`GilbertElliott`] describes.
#[derive(Clone, Debug)]
struct Channel {
    parameters: GilbertElliott,
    stream: Stream,
    bad: bool,
    /// The number that the state belongs to.
    next: u64,
}

impl Channel {
    const fn new(parameters: GilbertElliott) -> Self {
        Self { parameters, stream: Stream::new(parameters.key), bad: false, next: 0 }
    }

    fn loses(&mut self, number: u64) -> bool {
        while self.next < number {
            self.step();
        }
        let GilbertElliott { loss_good, loss_bad, .. } = self.parameters;
        self.stream.unit(number.wrapping_mul(2)) < if self.bad { loss_bad } else { loss_good }
    }

    /// Moves on to the state of the next number.
    fn step(&mut self) {
        let leaves = if self.bad { self.parameters.to_good } else { self.parameters.to_bad };
        self.bad ^= self.stream.unit(self.next.wrapping_mul(2).wrapping_add(1)) < leaves;
        self.next += 1;
    }

    const fn lose_alike(&mut self, probability: f64) {
        self.parameters.loss_good = probability;
        self.parameters.loss_bad = probability;
    }
}
