use super::{Command, Get, read};
use crate::failure::{Code, Failure};
use crate::migration::Policy;
use crate::transport::CongestionControl;

fn parse(line: &str) -> Result<Command, Failure> {
    read(line.split_whitespace().map(Into::into))
}

fn get(line: &str) -> Get {
    match parse(line) {
        Ok(Command::Get(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn mistakes(line: &str) -> (Code, String) {
    let failure = parse(line).unwrap_err();
    (failure.code, failure.message)
}

#[test]
fn options_and_urls_may_be_mixed() {
    let options = get("https://a/1 -o one --rounds 3 --max-time=1.5 https://a/2 -4 --congestion-control bbr");
    assert_eq!(options.urls.len(), 2);
    assert_eq!(options.outputs, [std::path::PathBuf::from("one")]);
    assert_eq!(options.rounds, 3);
    assert_eq!(options.max_time.unwrap().as_millis(), 1500);
    assert_eq!(options.transport.congestion_control, CongestionControl::Bbr2);
}

#[test]
fn sizes_are_powers_of_1024() {
    let transport = get("https://a/ --max-data 64k --max-stream-data 16M --max-window 7").transport;
    assert_eq!((transport.max_data, transport.max_stream_data, transport.max_window), (65_536, 16 << 20, 7));
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let (code, message) =
        mistakes("https://a/ https://b/ --rounds 0 --max-data 1x --early-data --max-time -1 -o");
    assert_eq!(code, Code::Usage);
    assert!(
        message.contains("argument for option '-o'") || message.contains("missing argument"),
        "{message}"
    );
    let (_, message) = mistakes("https://a/ https://b/ --rounds 0 --max-data 1x --early-data --max-time=-1");
    for part in ["--rounds", "--max-data", "--max-time", "another host", "--session"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn another_host_or_no_url_at_all_is_refused() {
    assert_eq!(mistakes("https://a/ https://b/").0, Code::Url);
    assert_eq!(mistakes("http://a/").0, Code::Url);
    assert_eq!(mistakes("").0, Code::Usage);
    assert_eq!(mistakes("https://a/ -o x -o y").0, Code::Usage);
    assert!(mistakes("https://a/ --nonsense").1.contains("nonsense"));
    assert!(mistakes("https://a/ --congestion-control vegas").1.contains("cubic"));
}

#[test]
fn the_server_reports_missing_options() {
    let (code, message) = mistakes("serve --root /x --congestion-control bbr3");
    assert_eq!(code, Code::Usage);
    for part in ["--cert is missing", "--key is missing", "bbr3"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(matches!(parse("serve --help"), Ok(Command::Help(_))));
    assert!(matches!(parse("-h"), Ok(Command::Help(_))));
}

#[test]
fn migration_has_policies_and_can_be_forbidden() {
    assert_eq!(get("https://a/").migration, Policy::Probe);
    assert_eq!(get("https://a/ --migration rebind").migration, Policy::Rebind);
    assert!(mistakes("https://a/ --migration often").1.contains("probe, immediate, rebind, none"));
    let Ok(Command::Serve(options)) = parse("serve --root /x --cert c --key k --no-migration") else {
        panic!("rejected");
    };
    assert!(!options.transport.migration);
}
