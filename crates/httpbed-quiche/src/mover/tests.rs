use std::net::IpAddr;

use super::*;
use crate::test_server::{Answer, CLIENT, Identity, NAME, SERVER, Server, address, connect, fetch, run_with};

/// The client's second address, from those for documentation (RFC 5737).
const OTHER: &str = "198.51.100.1:2000";
const BODY_BYTES: usize = 4 << 20;
/// The time of the change: the handshake is complete and the body is being sent.
const CHANGE: Duration = Duration::from_millis(5);

/// Sockets that exist in no kernel.
struct Imagined {
    preferred: IpAddr,
    opened: Vec<SocketAddr>,
}

impl Sockets for Imagined {
    fn open(&mut self, remote: SocketAddr) -> io::Result<SocketAddr> {
        let known = self.opened.iter().rev().find(|local| local.ip() == self.preferred).copied();
        known.map_or_else(|| self.add(remote), Ok)
    }

    fn add(&mut self, _: SocketAddr) -> io::Result<SocketAddr> {
        let port = 2000 + u16::try_from(self.opened.len()).unwrap();
        self.opened.push(SocketAddr::new(self.preferred, port));
        Ok(SocketAddr::new(self.preferred, port))
    }

    fn exchange(&mut self, name: SocketAddr, _: SocketAddr) -> io::Result<SocketAddr> {
        Ok(name)
    }
}

/// Fetches a body while the client's address changes at each of these times to the other one and back.
fn moved(policy: Policy, changes: &[Duration]) -> (Migration, Server, bool) {
    let identity = Identity::new();
    let answers = [("/a", Answer::Body(vec![7; BODY_BYTES]))];
    let mut server = Server::new(&mut identity.server(), answers);
    let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a"], 1, 1);
    let mut mover = Mover::new(policy, address(CLIENT), address(SERVER));
    let home = address(CLIENT);
    let mut sockets = Imagined { preferred: home.ip(), opened: vec![home] };
    run_with(&mut fetch, &mut server, |quic, now| {
        let past = changes.iter().filter(|change| **change <= now).count();
        let preferred = address([CLIENT, OTHER][past % 2]).ip();
        let is_news = std::mem::replace(&mut sockets.preferred, preferred) != preferred;
        mover.turn(quic, &mut sockets, is_news, |local| sight(preferred, local), now);
        preferred
    });
    let whole = fetch.transfers()[0].bytes == BODY_BYTES as u64 && fetch.failure().is_none();
    (mover.migration, server, whole)
}

fn sight(preferred: IpAddr, local: SocketAddr) -> Sight {
    Sight { preferred: Ok(preferred), present: preferred == local.ip() }
}

#[test]
fn a_body_goes_on_from_another_address() {
    for policy in [Policy::Probe, Policy::Immediate] {
        let (migration, server, whole) = moved(policy, &[CHANGE]);
        assert!(whole, "{:?}", migration.events());
        assert_eq!(server.seen.len(), 2);
        let counts = migration.counts();
        assert_eq!((counts.tried, counts.succeeded, counts.failed), (1, 1, 0), "{:?}", migration.events());
        assert_eq!(migration.local().ip(), address(OTHER).ip());
    }
}

#[test]
fn the_client_follows_every_change_of_the_network() {
    let changes: Vec<Duration> = (1..20).map(|number| CHANGE * number).collect();
    let (migration, _, whole) = moved(Policy::Probe, &changes);
    assert!(whole, "{:?}", migration.events());
    assert!(migration.counts().succeeded >= 2, "{:?}", migration.events());
}

#[test]
fn the_clients_challenge_goes_with_the_answer_to_the_servers() {
    let identity = Identity::new();
    let answers = [("/a", Answer::Body(vec![7; BODY_BYTES]))];
    let mut server = Server::new(&mut identity.server(), answers);
    let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a"], 1, 1);
    let mut mover = Mover::new(Policy::Immediate, address(CLIENT), address(SERVER));
    let mut sockets = Imagined { preferred: address(CLIENT).ip(), opened: vec![address(CLIENT)] };
    let mut seen = Vec::new();
    run_with(&mut fetch, &mut server, |quic, now| {
        let preferred = address(if now < CHANGE { CLIENT } else { OTHER }).ip();
        let is_news = std::mem::replace(&mut sockets.preferred, preferred) != preferred;
        mover.turn(quic, &mut sockets, is_news, |local| sight(preferred, local), now);
        let heard = quic.stats().path_challenge_rx_count;
        let path = quic.path_stats().find(|path| path.local_addr.ip() == address(OTHER).ip());
        seen.extend(path.map(|path| (heard, format!("{:?}", path.validation_state))));
        // At first nothing arrives, so the server cannot send its challenge.
        if (CHANGE..2 * CHANGE).contains(&now) { address(SERVER).ip() } else { preferred }
    });
    let early = seen.iter().filter(|(heard, _)| *heard == 0);
    assert!(early.clone().count() >= 5);
    assert!(early.into_iter().all(|(_, state)| state == "Unknown"), "{seen:?}");
    assert_eq!(seen.last().unwrap().1, "Validated");
}

/// A queue holds packets that the server sent to the old address before it knew of the move.
#[test]
fn a_late_packet_is_no_answer() {
    let ms = Duration::from_millis;
    let before = (ms(50), ms(10), Some(ms(70)));
    let mut heard = ReceivedUntil { packets: 7, until: ms(45), round_trips: Some(before) };
    assert!(!heard.is_answer(9, before, ms(20)));
    for late in [46, 300, 1200] {
        assert!(!heard.is_answer(10, before, ms(late)), "nothing has been acknowledged after {late} ms");
    }
    let since = (ms(51), ms(11), Some(ms(70)));
    assert!(!heard.is_answer(9, since, ms(50)), "nothing has come on this path");
    assert!(heard.is_answer(10, since, ms(50)));
    let mut elsewhere = ReceivedUntil { packets: 7, until: ms(45), round_trips: None };
    assert!(elsewhere.is_answer(8, before, ms(46)), "nothing was on its way to a new address");
}
