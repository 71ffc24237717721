//! What waits for the rate: `{"discipline": NAME, "limit": LIMIT, ...}`.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use link_model::{CoDel, Discipline, FqCoDel, Pie, Queue, QueueLimit};

use super::LONGEST_NS;
use super::reading::{Field, Fields};

/// PIE counts its updates also while nobody sends; below this they are a mistake of unit.
const SHORTEST_UPDATE_NS: u64 = 1_000_000;
/// Bits of the hash that `FQ-CoDel`'s queues are chosen by, in any implementation known to us.
const MOST_FLOWS: u64 = 65536;
const QUANTUM_BYTES: RangeInclusive<u64> = 64..=1 << 20;

/// Reads a queue that has to hold at least one packet of `largest` bytes.
pub fn queue(field: &Field<'_>, largest: u64) -> Queue {
    let codel_fields = ["discipline", "limit", "target_ns", "interval_ns", "ecn"];
    let read = |known: &[&str]| field.fields(known);
    let (discipline, fields) = match field.choice("discipline", &["droptail", "codel", "fq_codel", "pie"]) {
        Some("droptail") => (Discipline::DropTail, read(&codel_fields[..2])),
        Some("codel") => {
            let fields = read(&codel_fields);
            (Discipline::CoDel(codel(&fields)), fields)
        }
        Some("fq_codel") => {
            let fields = read(&[&codel_fields[..], &["flows", "quantum_bytes"]].concat());
            (Discipline::FqCoDel(fq_codel(&fields)), fields)
        }
        Some(_) => {
            let fields = read(&["discipline", "limit", "target_ns", "update_ns", "ecn", "key"]);
            (Discipline::Pie(pie(&fields)), fields)
        }
        None => return Queue::default(),
    };
    let limit = fields.get("limit").given().map_or(QueueLimit::Unlimited, |field| limit(&field, largest));
    Queue { discipline, limit }
}

fn limit(field: &Field<'_>, largest: u64) -> QueueLimit {
    const UNITS: [&str; 3] = ["packets", "bytes", "ns"];
    let fields = field.fields(&UNITS);
    match fields.only(&UNITS) {
        Some("packets") => QueueLimit::Packets(fields.get("packets").whole(1..=u64::MAX)),
        Some("bytes") => QueueLimit::Bytes(bytes(&fields.get("bytes"), largest)),
        Some(_) => QueueLimit::Time(fields.get("ns").whole(1..=LONGEST_NS)),
        None => QueueLimit::Unlimited,
    }
}

fn bytes(field: &Field<'_>, largest: u64) -> u64 {
    let bytes = field.whole(1..=u64::MAX);
    if bytes < largest {
        field.wrong(format_args!(
            "{bytes} bytes hold no packet of the MTU: with its overhead it has {largest}"
        ));
    }
    bytes
}

fn codel(fields: &Fields<'_>) -> CoDel {
    CoDel {
        target: fields.get("target_ns").whole(1..=LONGEST_NS),
        interval: fields.get("interval_ns").whole(1..=LONGEST_NS),
        ecn: fields.get("ecn").flag(),
    }
}

fn fq_codel(fields: &Fields<'_>) -> FqCoDel {
    let positive = |name, range| {
        let number = u32::try_from(fields.get(name).whole(range)).ok();
        number.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
    };
    FqCoDel {
        codel: codel(fields),
        flows: positive("flows", 1..=MOST_FLOWS),
        quantum: positive("quantum_bytes", QUANTUM_BYTES),
    }
}

fn pie(fields: &Fields<'_>) -> Pie {
    Pie {
        target: fields.get("target_ns").whole(1..=LONGEST_NS),
        update: fields.get("update_ns").whole(SHORTEST_UPDATE_NS..=LONGEST_NS),
        ecn: fields.get("ecn").flag(),
        key: fields.get("key").key(),
    }
}
