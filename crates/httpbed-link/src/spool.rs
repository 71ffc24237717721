//! A file written by a separate thread, so that a slow disk does not delay the loop.
//!
//! The thread takes full buffers and returns them empty. If [`MAX_WAITING`] buffers wait, the loop waits for the
//! thread: the file is evidence and must be complete, and the wait appears as lateness. The thread starts before
//! the process can have a real-time class, so it does not compete with the loop.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const BUFFER_BYTES: usize = 64 << 10;

/// 64 MiB: half a second of 1 Gbit/s as a capture.
const MAX_WAITING: usize = 1024;

/// A file being written. [`Write::flush`] waits until all is written.
pub struct Spool {
    buffer: Vec<u8>,
    empty: Vec<Vec<u8>>,
    waiting: usize,
    to_write: Sender<Vec<u8>>,
    written: Receiver<io::Result<Vec<u8>>>,
}

impl Spool {
    /// Starts the thread.
    pub fn new(file: File) -> io::Result<Self> {
        let (to_write, orders) = channel();
        let (answers, written) = channel();
        thread::Builder::new().name("spool".to_owned()).spawn(move || write_all(file, &orders, &answers))?;
        Ok(Self {
            buffer: Vec::with_capacity(BUFFER_BYTES),
            empty: Vec::new(),
            waiting: 0,
            to_write,
            written,
        })
    }

    fn hand_over(&mut self) -> io::Result<()> {
        while let Ok(answer) = self.written.try_recv() {
            self.take(answer)?;
        }
        while self.waiting >= MAX_WAITING {
            self.wait()?;
        }
        let empty = self.empty.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES));
        let full = std::mem::replace(&mut self.buffer, empty);
        self.to_write.send(full).map_err(|_| ended())?;
        self.waiting += 1;
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        let answer = self.written.recv().map_err(|_| ended())?;
        self.take(answer)
    }

    fn take(&mut self, answer: io::Result<Vec<u8>>) -> io::Result<()> {
        self.waiting -= 1;
        self.empty.push(answer?);
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES && !self.buffer.is_empty() {
            self.hand_over()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.hand_over()?;
        }
        while self.waiting > 0 {
            self.wait()?;
        }
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Callers that need the result flush first.
        let _ = self.flush();
    }
}

fn write_all(mut file: File, orders: &Receiver<Vec<u8>>, answers: &Sender<io::Result<Vec<u8>>>) {
    for mut buffer in orders {
        let outcome = file.write_all(&buffer).map(|()| {
            buffer.clear();
            buffer
        });
        let failed = outcome.is_err();
        if answers.send(outcome).is_err() || failed {
            return;
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("its writer stopped after an error")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Write;

    use super::{BUFFER_BYTES, Spool};

    #[test]
    fn everything_is_written_in_order() {
        let path = std::env::temp_dir().join(format!("httpbed-spool-{}", std::process::id()));
        let mut spool =
            Spool::new(File::create(&path).expect("a writable temporary folder")).expect("a thread");
        let mut expected = Vec::new();
        for piece in 0..5000_u32 {
            let bytes = piece.to_be_bytes().repeat(20);
            spool.write_all(&bytes).expect("room");
            expected.extend(bytes);
        }
        assert!(expected.len() > 5 * BUFFER_BYTES);
        spool.flush().expect("room");
        assert_eq!(fs::read(&path).expect("written"), expected);
        fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn a_full_disk_is_reported() {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut spool = Spool::new(full).expect("a thread");
        spool.write_all(&[0; 100]).expect("it is only kept");
        assert!(spool.flush().is_err());
        assert!(spool.write_all(&vec![0; 2 * BUFFER_BYTES]).and_then(|()| spool.flush()).is_err());
    }
}
