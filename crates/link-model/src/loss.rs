//! Which packets are lost.
//!
//! Every model decides about packet `n` from its parameters, its key and `n`, so any other program can recompute
//! the losses. Gilbert-Elliott also needs its state, which follows from the draws of all numbers before. It uses
//! the draws of every number, even if the link was down for that packet.

use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::bounds::{key, probability};
use crate::{Arrival, ArrivalStage, Cause, Chance, Change, Stream, Verdict};

/// Which packets are lost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum LossModel {
    /// Each packet independently: packet `n` when draw `n` is below the probability.
    Bernoulli(Chance),
    /// Two states, each with its own probability of loss.
    GilbertElliott(GilbertElliott),
    /// The packets with these numbers, ascending: explicit ones, or the losses of an earlier run.
    #[serde(deserialize_with = "ascending")]
    Listed(Arc<[u64]>),
}

/// The channel of Gilbert (1960) and Elliott (1963) with the four parameters that netem has.
///
/// It is in the good state before packet 0. Packet `n` is lost when draw `2 n` is below the probability of
/// the state; then the state changes when draw `2 n + 1` is below `to_bad` or `to_good`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability to change from good to bad (p).
    #[serde(deserialize_with = "probability")]
    pub to_bad: f64,
    /// Probability to change from bad to good (r); a stay in the bad state has mean length 1 / r.
    #[serde(deserialize_with = "probability")]
    pub to_good: f64,
    /// Probability of loss in the good state (1 - k).
    #[serde(deserialize_with = "probability")]
    pub loss_good: f64,
    /// Probability of loss in the bad state (1 - h).
    #[serde(deserialize_with = "probability")]
    pub loss_bad: f64,
    /// Of its random stream.
    #[serde(deserialize_with = "key")]
    pub key: u64,
}

fn ascending<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u64]>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        numbers: Vec<u64>,
    }
    let Fields { numbers } = Fields::deserialize(deserializer)?;
    match numbers.windows(2).position(|pair| pair[0] >= pair[1]) {
        None => Ok(numbers.into()),
        Some(place) => Err(D::Error::custom(format_args!(
            "numbers[{}] is {}, which is not above the number before it",
            place + 1,
            numbers[place + 1]
        ))),
    }
}

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
            Model::Bernoulli { probability, stream } => {
                *probability > 0.0 && stream.unit(number) < *probability
            }
            Model::GilbertElliott(channel) => channel.loses(number),
            Model::Listed(numbers) => numbers.binary_search(&number).is_ok(),
        }
    }

    /// Loses each further packet with `probability`. The draws are those used so far: draw `n`, or draw `2 n` after
    /// Gilbert-Elliott. A list has no draws; the draws of key 0 replace it.
    pub fn set_probability(&mut self, probability: f64) {
        match &mut self.0 {
            Model::Bernoulli { probability: current, .. } => *current = probability,
            Model::GilbertElliott(channel) => channel.lose_alike(probability),
            Model::Listed(_) => *self = Self(Model::Bernoulli { probability, stream: Stream::new(0) }),
        }
    }

    /// No loss until a change sets a probability; the draws are then those of key 0.
    pub(crate) const fn none() -> Self {
        Self(Model::Bernoulli { probability: 0.0, stream: Stream::new(0) })
    }
}

impl ArrivalStage for Loss {
    fn judge(&mut self, arrival: Arrival) -> Verdict {
        if self.loses(arrival.number) { Verdict::Drop(Cause::Chance) } else { Verdict::Pass }
    }

    fn change(&mut self, change: Change) {
        if let Change::Loss(probability) = change {
            self.set_probability(probability);
        }
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
