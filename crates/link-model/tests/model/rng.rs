//! The random stream against values computed by another program, and against the published sequence.

use link_model::Stream;

/// Lines of key, index and word. The Python side checks the same file.
const GOLDEN: &str = include_str!("golden/splitmix64.txt");

#[test]
fn draws_match_the_golden_file() {
    for line in GOLDEN.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [key, n, word] = fields[..] else { panic!("three fields: {line:?}") };
        let stream = Stream::new(key.parse().expect("key"));
        let expected = u64::from_str_radix(word, 16).expect("word");
        assert_eq!(stream.word(n.parse().expect("index")), expected, "{line}");
    }
}

/// The first outputs of `SplitMix64` seeded with 1234567, as published with the reference code.
#[test]
fn draws_match_the_published_sequence() {
    let published: [u64; 5] = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    let stream = Stream::new(1_234_567);
    assert_eq!(published, std::array::from_fn(|n| stream.word(n as u64)));
}

#[test]
#[expect(clippy::float_cmp, reason = "the values are exact")]
fn units_are_the_upper_53_bits() {
    let stream = Stream::new(1);
    let unit = stream.unit(0);
    let scaled = unit * 9_007_199_254_740_992.0;
    assert_eq!(scaled, scaled.trunc());
    assert!((0..100_000).all(|n| (0.0..1.0).contains(&stream.unit(n))));
}
