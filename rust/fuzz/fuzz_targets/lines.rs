#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

#[path = "../../lines/tests/fuzzing/mod.rs"]
mod fuzzing;

fuzz_target!(|bytes: &[u8]| -> Corpus { if fuzzing::check(bytes) { Corpus::Keep } else { Corpus::Reject } });
