//! What happens in one direction; what is absent or `null` does nothing.

use std::sync::Arc;

use link_model::{Chance, GilbertElliott, Impairments, Jitter, JitterShape, LossModel, Rate, Reordering};

use super::LONGEST_NS;
use super::queue::queue;
use super::rate::{Traces, rate};
use super::reading::{Field, Fields};

/// Ethernet's header; with preamble, frame check sequence and gap between frames.
const OVERHEADS: [u64; 3] = [0, 14, 38];

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// What rate and queue count beyond the IP packet.
    pub overhead_bytes: u32,
    /// What it does to packets.
    pub impairments: Impairments,
}

impl Direction {
    /// Whether it has a rate, without which there is no utilisation.
    #[must_use]
    pub const fn has_rate(&self) -> bool {
        self.impairments.rate.is_some()
    }

    /// Its rate in bit/s over a long time; `None` without one.
    #[must_use]
    pub fn mean_bit_s(&self) -> Option<u64> {
        self.impairments.rate.as_ref().map(|rate| match rate {
            Rate::Constant(rate) | Rate::TokenBucket { rate, .. } => rate.get(),
            Rate::Trace(trace) => trace.mean_bit_s(),
        })
    }

    /// Whether a change of its rate would change anything.
    #[must_use]
    pub const fn has_changeable_rate(&self) -> bool {
        matches!(self.impairments.rate, Some(Rate::Constant(_) | Rate::TokenBucket { .. }))
    }

    /// Whether it has a loss with a random stream, which a change of the probability goes on with.
    #[must_use]
    pub const fn has_loss_stream(&self) -> bool {
        matches!(self.impairments.loss, Some(LossModel::Bernoulli(_) | LossModel::GilbertElliott(_)))
    }

    /// Reads a direction of a link for packets of up to `mtu` bytes.
    pub(super) fn read(field: &Field<'_>, mtu: u64, traces: &Traces<'_>) -> Self {
        let fields = field.fields(&[
            "overhead_bytes",
            "loss",
            "corruption",
            "duplication",
            "rate",
            "queue",
            "delay_ns",
            "jitter",
            "reordering",
        ]);
        let given = |name| fields.get(name).given();
        let overhead = given("overhead_bytes").map_or(0, |field| overhead(&field));
        let largest = mtu + overhead;
        Self {
            overhead_bytes: u32::try_from(overhead).unwrap_or(0),
            impairments: Impairments {
                loss: given("loss").and_then(|field| loss(&field)),
                corruption: given("corruption").map(|field| chance(&field)),
                duplication: given("duplication").map(|field| chance(&field)),
                rate: given("rate").and_then(|field| rate(&field, largest, traces)),
                queue: given("queue").map(|field| queue(&field, largest)).unwrap_or_default(),
                delay: given("delay_ns").map_or(0, |field| field.whole(0..=LONGEST_NS)),
                jitter: given("jitter").and_then(|field| jitter(&field)),
                reordering: given("reordering").map(|field| reordering(&field)),
            },
        }
    }
}

fn overhead(field: &Field<'_>) -> u64 {
    let bytes = field.whole(0..=u64::from(u32::MAX));
    if OVERHEADS.contains(&bytes) {
        return bytes;
    }
    field.wrong(format_args!("{bytes} is none of 0 (IP), 14 (Ethernet), 38 (Ethernet on the wire)"));
    0
}

fn chance(field: &Field<'_>) -> Chance {
    chance_of(&field.fields(&["probability", "key"]))
}

fn chance_of(fields: &Fields<'_>) -> Chance {
    Chance { probability: fields.get("probability").probability(), key: fields.get("key").key() }
}

fn loss(field: &Field<'_>) -> Option<LossModel> {
    match field.choice("model", &["bernoulli", "gilbert_elliott", "listed"])? {
        "bernoulli" => Some(LossModel::Bernoulli(chance_of(&field.fields(&["model", "probability", "key"])))),
        "gilbert_elliott" => Some(LossModel::GilbertElliott(gilbert_elliott(field))),
        _ => Some(LossModel::Listed(numbers(&field.fields(&["model", "numbers"]).get("numbers")))),
    }
}

fn gilbert_elliott(field: &Field<'_>) -> GilbertElliott {
    let fields = field.fields(&["model", "to_bad", "to_good", "loss_good", "loss_bad", "key"]);
    let probability = |name| fields.get(name).probability();
    GilbertElliott {
        to_bad: probability("to_bad"),
        to_good: probability("to_good"),
        loss_good: probability("loss_good"),
        loss_bad: probability("loss_bad"),
        key: fields.get("key").key(),
    }
}

fn numbers(field: &Field<'_>) -> Arc<[u64]> {
    let numbers: Vec<u64> = field.items().iter().map(|item| item.whole(0..=u64::MAX)).collect();
    if let Some(place) = (1..numbers.len()).find(|place| numbers[place - 1] >= numbers[*place]) {
        field.wrong(format_args!("{} at place {place} is not above the one before it", numbers[place]));
    }
    numbers.into()
}

fn jitter(field: &Field<'_>) -> Option<Jitter> {
    let (shape, fields) = match field.choice("distribution", &["uniform", "normal", "pareto", "table"])? {
        "table" => {
            let fields = field.fields(&["distribution", "samples_ns", "key"]);
            (JitterShape::Table(samples(&fields.get("samples_ns"))), fields)
        }
        shape => {
            let fields = field.fields(&["distribution", "spread_ns", "key"]);
            let spread = fields.get("spread_ns").whole(0..=LONGEST_NS);
            let shape = match shape {
                "uniform" => JitterShape::Uniform(spread),
                "normal" => JitterShape::Normal(spread),
                _ => JitterShape::Pareto(spread),
            };
            (shape, fields)
        }
    };
    Some(Jitter { shape, key: fields.get("key").key() })
}

fn samples(field: &Field<'_>) -> Arc<[i64]> {
    let most = i64::try_from(LONGEST_NS).unwrap_or(i64::MAX);
    let samples: Vec<i64> = field.items().iter().map(|item| item.signed(most)).collect();
    if samples.is_empty() {
        field.wrong("a table needs at least one sample");
    }
    samples.into()
}

fn reordering(field: &Field<'_>) -> Reordering {
    let fields = field.fields(&["probability", "hold_ns", "key"]);
    Reordering { chance: chance_of(&fields), hold: fields.get("hold_ns").whole(0..=LONGEST_NS) }
}
