//! Whatever the text: links, or a refusal in one line that names its places. What follows a NUL is the content of
//! every trace that the configuration names.

#![no_main]

use httpbed_link::config::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let trace = parts.next().unwrap_or_default();
    if let Err(message) = Config::parse(&text, &|_| Ok(trace.to_vec())) {
        assert!(message.contains(": ") && !message.contains('\n'));
    }
});
