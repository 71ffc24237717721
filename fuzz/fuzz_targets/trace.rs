//! Whatever the bytes: a trace that can be played, or a refusal that names its lines.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use link_model::{Bottleneck, Packet, Queue, Rate, Stage, Trace};

fuzz_target!(|bytes: &[u8]| match Trace::parse(bytes) {
    Ok(trace) => {
        let mut bottleneck = Bottleneck::new(Rate::Trace(Arc::new(trace)), Queue::default());
        for size in [1, 1500, 65_535] {
            bottleneck.push(0, Packet::new(size, ()));
        }
        assert!(std::iter::from_fn(|| bottleneck.pop(u64::MAX)).count() == 3);
    }
    Err(error) => {
        let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        assert!(!error.mistakes.is_empty());
        assert!(error.mistakes.iter().all(|mistake| (1..=lines + 1).contains(&mistake.line)));
        assert!(error.to_string().starts_with("line "));
    }
});
