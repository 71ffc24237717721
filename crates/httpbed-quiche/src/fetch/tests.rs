use boring::sha::sha256;

use crate::failure::Code;
use crate::fetch::Fetch;
use crate::test_server::{Answer, Identity, NAME, Server, connect, fetch, run};
use crate::tls;
use crate::transfer::hexadecimal;

fn body(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| u8::try_from(place % 251).unwrap()).collect()
}

fn digest(bytes: usize) -> String {
    hexadecimal(&sha256(&body(bytes)))
}

fn failures(fetch: &Fetch) -> Vec<Option<Code>> {
    fetch.transfers().iter().map(|one| one.failure.as_ref().map(|failure| failure.code)).collect()
}

/// A finished fetch from a server with these answers.
fn fetched<const N: usize>(answers: [(&str, Answer); N], paths: &[&str], parallel: usize) -> (Fetch, Server) {
    let identity = Identity::new();
    let mut server = Server::new(&mut identity.server(), answers);
    let mut fetch = fetch(connect(&mut identity.client(), NAME), paths, 1, parallel);
    run(&mut fetch, &mut server);
    (fetch, server)
}

#[test]
fn bodies_of_any_size_come_whole() {
    let answers =
        [("/0", Answer::Body(body(0))), ("/1", Answer::Body(body(1))), ("/m", Answer::Body(body(1 << 20)))];
    let (mut fetch, _) = fetched(answers, &["/0", "/1", "/m"], 100);
    assert_eq!(fetch.failure(), None);
    assert_eq!(failures(&fetch), [None, None, None]);
    for transfer in fetch.transfers() {
        let bytes = [0, 1, 1 << 20][transfer.place];
        assert_eq!(
            (transfer.bytes, transfer.sha256.as_deref()),
            (bytes as u64, Some(digest(bytes).as_str()))
        );
        assert_eq!(transfer.status, Some(200));
        assert!(transfer.began < transfer.first_byte.unwrap() && transfer.first_byte <= transfer.ended);
    }
    let agreed = tls::agreed(fetch.quic());
    assert_eq!((agreed.version.as_str(), agreed.resumed), ("TLSv1.3", false));
    assert!(agreed.cipher.starts_with("TLS_"), "{agreed:?}");
}

#[test]
fn no_more_requests_are_open_than_allowed() {
    let paths = ["/a", "/b", "/c", "/d", "/e"];
    let answers = paths.map(|path| (path, Answer::Body(body(100_000))));
    let (fetch, server) = fetched(answers, &paths, 2);
    assert_eq!(server.requests.len(), 5);
    for transfer in fetch.transfers() {
        let during = |one: &&crate::transfer::Transfer| {
            one.began <= transfer.began && one.ended.unwrap() > transfer.began
        };
        assert!(fetch.transfers().iter().filter(during).count() <= 2);
    }
}

#[test]
fn a_round_begins_when_the_one_before_is_over() {
    let identity = Identity::new();
    let answers = [("/a", Answer::Body(body(50_000))), ("/b", Answer::Body(body(10)))];
    let mut server = Server::new(&mut identity.server(), answers);
    let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a", "/b"], 3, 100);
    run(&mut fetch, &mut server);
    assert_eq!(failures(&fetch), [None; 6]);
    let rounds: Vec<usize> = fetch.transfers().iter().map(|one| one.round).collect();
    assert_eq!(rounds, [0, 0, 1, 1, 2, 2]);
    for transfer in fetch.transfers().iter().filter(|one| one.round > 0) {
        let before = fetch.transfers().iter().filter(|one| one.round == transfer.round - 1);
        assert!(before.map(|one| one.ended.unwrap()).max().unwrap() <= transfer.began);
    }
}

#[test]
fn a_body_that_ends_early_is_partial() {
    let answers = [("/a", Answer::Announcing(20, body(10))), ("/b", Answer::Body(body(10)))];
    let (fetch, _) = fetched(answers, &["/a", "/b"], 1);
    assert_eq!(failures(&fetch), [Some(Code::Partial), None]);
    assert_eq!(fetch.failure(), None);
    assert!(fetch.transfers()[0].failure.as_ref().unwrap().message.contains("10 of 20 bytes"));
}

#[test]
fn a_reset_stream_ends_only_itself() {
    let answers = [("/a", Answer::Reset(body(10), 0x102)), ("/b", Answer::Body(body(10)))];
    let (fetch, _) = fetched(answers, &["/a", "/b"], 1);
    assert_eq!(failures(&fetch)[1], None);
    let failure = fetch.transfers()[0].failure.clone().unwrap();
    assert!(
        matches!(failure.code, Code::Http3 | Code::Partial) && failure.message.contains("0x102"),
        "{failure}"
    );
}

#[test]
fn a_closed_connection_ends_every_request() {
    let answers = [("/a", Answer::Body(body(10))), ("/b", Answer::Close(0x10c)), ("/c", Answer::Silence)];
    let (fetch, _) = fetched(answers, &["/a", "/b", "/c"], 1);
    assert_eq!(failures(&fetch), [None, Some(Code::Http3), Some(Code::Http3)]);
    let failure = fetch.failure().unwrap();
    assert!(failure.message.contains("0x10c") && failure.message.contains("enough"), "{failure}");
}

#[test]
fn after_goaway_no_request_is_sent() {
    let answers = [("/a", Answer::GoAway(body(10))), ("/b", Answer::Silence)];
    let (fetch, server) = fetched(answers, &["/a", "/b"], 1);
    assert_eq!(server.requests.len(), 1);
    let mut of_b = fetch.transfers().iter().filter(|one| one.place == 1);
    assert!(of_b.next().unwrap().failure.as_ref().unwrap().message.contains("GOAWAY"));
    assert!(fetch.transfers().iter().find(|one| one.place == 0).unwrap().failure.is_none());
}

#[test]
fn an_untrusted_server_gets_no_request() {
    let (identity, other) = (Identity::new(), Identity::new());
    for (trusted, name, part) in [(&other, NAME, "--cacert"), (&identity, "other.test", "name")] {
        let mut server = Server::new(&mut identity.server(), [("/a", Answer::Silence)]);
        let mut fetch = fetch(connect(&mut trusted.client(), name), &["/a"], 1, 1);
        run(&mut fetch, &mut server);
        assert_eq!(failures(&fetch), [Some(Code::Certificate)], "{name}");
        assert!(fetch.failure().unwrap().message.contains(part), "{:?}", fetch.failure());
        assert!(server.requests.is_empty());
    }
}

#[test]
fn a_server_without_http3_is_reported_as_such() {
    let identity = Identity::new();
    let mut config = identity.server();
    config.set_application_protos(&[b"other"]).unwrap();
    let mut server = Server::new(&mut config, [("/a", Answer::Silence)]);
    let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a"], 1, 1);
    run(&mut fetch, &mut server);
    assert_eq!(failures(&fetch), [Some(Code::Tls)]);
    assert!(fetch.failure().unwrap().message.contains("does not speak HTTP/3"), "{:?}", fetch.failure());
}

#[test]
fn a_ticket_resumes_and_lets_requests_go_early() {
    let identity = Identity::new();
    let (mut servers, mut clients) = (identity.server(), identity.client());
    let answers = || [("/a", Answer::Body(body(1000)))];
    let mut first = fetch(connect(&mut clients, NAME), &["/a"], 1, 1);
    run(&mut first, &mut Server::new(&mut servers, answers()));
    assert!(!first.asked_early());
    let ticket = first.quic().session().unwrap().to_vec();

    let mut quic = connect(&mut clients, NAME);
    quic.set_session(&ticket).unwrap();
    let mut second = fetch(quic, &["/a"], 1, 1);
    let mut server = Server::new(&mut servers, answers());
    run(&mut second, &mut server);
    assert_eq!(server.requests, [("/a".to_owned(), true)]);
    let agreed = tls::agreed(second.quic());
    assert!(second.asked_early() && agreed.resumed && agreed.early_data, "{agreed:?}");
    assert_eq!(failures(&second), [None]);
}

#[test]
fn rejected_early_data_is_sent_again() {
    let identity = Identity::new();
    let (mut servers, mut clients) = (identity.server(), identity.client());
    let mut first = fetch(connect(&mut clients, NAME), &["/a"], 1, 1);
    run(&mut first, &mut Server::new(&mut servers, [("/a", Answer::Body(body(10)))]));
    let ticket = first.quic().session().unwrap().to_vec();

    // Another server of the same name does not know the ticket.
    let mut quic = connect(&mut clients, NAME);
    quic.set_session(&ticket).unwrap();
    let mut second = fetch(quic, &["/a"], 1, 1);
    run(&mut second, &mut Server::new(&mut identity.server(), [("/a", Answer::Body(body(10)))]));
    let agreed = tls::agreed(second.quic());
    assert!(second.asked_early() && !agreed.resumed && !agreed.early_data, "{agreed:?}");
    assert_eq!(failures(&second), [None]);
}

#[test]
fn a_time_limit_ends_every_request() {
    let identity = Identity::new();
    let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a", "/b"], 1, 1);
    let failure = crate::failure::Failure::new(Code::Time, "too slow");
    fetch.give_up(failure.clone(), std::time::Duration::from_secs(1));
    assert!(fetch.is_over());
    assert_eq!(fetch.failure(), Some(&failure));
    assert_eq!(failures(&fetch), [Some(Code::Time); 2]);
}
