use link_model::{Cause, Fate};

use super::{Entry, PacketLog};

#[test]
fn a_line_for_every_fate() {
    let mut text = Vec::new();
    let mut log = PacketLog::begin(&mut text).expect("memory");
    let plain = Entry {
        arrived: 5,
        at: 25,
        bytes: 1500,
        direction: 1,
        number: 7,
        copy: false,
        fate: Fate::Delivered,
    };
    let entries = [
        plain,
        Entry { fate: Fate::Dropped(Cause::Chance), ..plain },
        Entry { fate: Fate::Dropped(Cause::Queue), ..plain },
        Entry { fate: Fate::Dropped(Cause::Aqm), ..plain },
        Entry { fate: Fate::Dropped(Cause::Down), ..plain },
        Entry { fate: Fate::Dropped(Cause::Nat), ..plain },
        Entry { copy: true, ..plain },
        Entry { copy: true, fate: Fate::Dropped(Cause::Queue), ..plain },
    ];
    for entry in entries {
        log.packet(entry).expect("memory");
    }
    log.finish().expect("memory");
    let expected = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n\
        5\t25\t1500\t1\t7\tdelivered\n5\t-\t1500\t1\t7\tlost\n5\t-\t1500\t1\t7\tqueue\n5\t-\t1500\t1\t7\taqm\n\
        5\t-\t1500\t1\t7\tdown\n5\t-\t1500\t1\t7\tnat\n5\t25\t1500\t1\t7\tcopy\n5\t-\t1500\t1\t7\tcopy\n";
    assert_eq!(String::from_utf8(text).expect("text"), expected);
}
