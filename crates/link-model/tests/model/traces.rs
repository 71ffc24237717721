//! Reading traces: wrong files and their messages.

use link_model::{Mistake, Reason, Trace, TraceError};
use proptest::collection::vec;
use proptest::prelude::*;

fn refused(text: &[u8]) -> TraceError {
    Trace::parse(text).expect_err("a mistake")
}

fn only_mistake(text: &[u8]) -> Mistake {
    let error = refused(text);
    assert_eq!((error.mistakes.len(), error.more), (1, 0), "{error}");
    error.mistakes[0].clone()
}

#[test]
fn each_mistake_of_a_trace_is_reported_with_its_line() {
    let not_a_number = |text: &str| Reason::NotANumber { text: text.to_owned() };
    let cases: [(&[u8], usize, Reason); 14] = [
        (b"", 1, Reason::Empty),
        (b"\n", 1, Reason::Blank),
        (b"1\n\n2\n", 2, Reason::Blank),
        (b"1\n# comment\n", 2, not_a_number("# comment")),
        (b"1\r\n", 1, not_a_number("1\r")),
        (b"1\n-2\n", 2, not_a_number("-2")),
        (b"1\n+2\n", 2, not_a_number("+2")),
        (b"1.5\n", 1, not_a_number("1.5")),
        (b"5\n4\n6\n", 2, Reason::Unsorted { time: 4, before: 5 }),
        (b"0\n0\n", 2, Reason::OnlyZeros),
        (b"1\n2\n4294967296\n", 3, Reason::TooLate),
        (b"1\n99999999999999999999999999\n", 2, Reason::TooLate),
        (b"1\n\x00\n", 2, Reason::Binary),
        (b"\x7fELF\x02\x01", 1, Reason::Binary),
    ];
    for (text, line, reason) in cases {
        assert_eq!(only_mistake(text), Mistake { line, reason }, "{:?}", text.escape_ascii().to_string());
    }
}

#[test]
fn the_first_mistakes_are_reported_and_the_others_counted() {
    let error = refused(&b"x\n".repeat(1000));
    assert_eq!((error.mistakes.len(), error.more), (TraceError::SHOWN, 990));
    let message = refused(b"7\n3\n\n").to_string();
    assert_eq!(
        message,
        "line 2: 3 ms comes after 7 ms\nline 3: nothing on the line\n\
         a trace has one line for each 1504 bytes that can be delivered: the whole number of milliseconds \
         since its beginning, ascending (mahimahi's packet-delivery format)"
    );
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let large = vec![b'1'; Trace::MAX_BYTES + 1];
    assert_eq!(only_mistake(&large).reason, Reason::TooLarge { bytes: large.len() });
    let long = b"1\n".repeat(Trace::MAX_LINES + 1);
    assert_eq!(only_mistake(&long), Mistake { line: Trace::MAX_LINES + 1, reason: Reason::TooLong });
    Trace::parse(&long[2..]).expect("as long as a trace may be");
}

#[test]
fn the_mean_rate_is_that_of_one_period() {
    // 12 Mbit/s of packets of 1500 bytes.
    let trace = Trace::parse(b"1\n").expect("a trace");
    assert_eq!(trace.mean_bit_s(), 12_032_000);
    assert_eq!(Trace::parse(b"0\n1\n1\n2000").expect("no line feed at the end").mean_bit_s(), 24_064);
}

proptest! {
    #[test]
    fn any_bytes_are_a_trace_or_refused_by_line(bytes in vec(any::<u8>(), 0..300)) {
        check(&bytes)?;
    }

    /// Mostly digits and line feeds, so that parsing gets further.
    #[test]
    fn nearly_traces_are_too(bytes in "([0-9]{0,11}[\n\r #-]?){0,30}") {
        check(bytes.as_bytes())?;
    }

    #[test]
    fn ascending_times_are_a_trace(mut times in vec(0..=u32::MAX, 1..100)) {
        times.sort_unstable();
        *times.last_mut().expect("not empty") |= 1;
        let lines: Vec<String> = times.iter().map(u32::to_string).collect();
        let trace = Trace::parse(lines.join("\n").as_bytes()).expect("a trace");
        let bits = u128::from(Trace::OPPORTUNITY_BYTES) * 8 * times.len() as u128;
        let mean = bits * 1000 / u128::from(*times.last().expect("not empty"));
        prop_assert_eq!(u128::from(trace.mean_bit_s()), mean);
    }
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Err(error) = Trace::parse(bytes) {
        let lines = 1 + bytes.split(|byte| *byte == b'\n').count();
        prop_assert!(!error.mistakes.is_empty());
        prop_assert!(error.mistakes.is_sorted_by_key(|mistake| mistake.line));
        prop_assert!(error.mistakes.iter().all(|mistake| (1..=lines).contains(&mistake.line)));
        prop_assert!(error.to_string().starts_with("line "));
    }
    Ok(())
}
