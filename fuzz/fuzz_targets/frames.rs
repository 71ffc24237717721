//! Whatever the frames: the emulator accounts for each, and its observations stay within what it delivered.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| httpbed_link::exercise::play(bytes));
