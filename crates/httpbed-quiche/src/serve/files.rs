//! The files that may be served.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Code, Failure};

/// A folder; no file outside of it is served.
pub struct Root(PathBuf);

/// An open file and its length.
#[derive(Debug)]
pub struct Found {
    /// The file, read at offsets.
    pub file: File,
    /// In bytes.
    pub length: u64,
}

impl Root {
    /// Takes a folder.
    ///
    /// # Errors
    /// When no such folder exists.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(Code::Read, format!("{}: {error}", folder.display()));
        let folder = fs::canonicalize(folder).map_err(failed)?;
        fs::read_dir(&folder).map_err(failed)?;
        Ok(Self(folder))
    }

    /// The file that a request's `:path` names, or the status of the error.
    ///
    /// Symbolic links are followed first; the target decides.
    pub fn find(&self, path: &str) -> Result<Found, u16> {
        let relative = decode(path.split('?').next().unwrap_or(path)).ok_or(400_u16)?;
        let joined = self.0.join(relative.trim_start_matches('/'));
        let real = fs::canonicalize(joined).map_err(|error| refusal(&error))?;
        if !real.starts_with(&self.0) {
            return Err(403);
        }
        let file = File::open(real).map_err(|error| refusal(&error))?;
        match file.metadata() {
            Ok(facts) if facts.is_file() => Ok(Found { file, length: facts.len() }),
            _ => Err(404),
        }
    }
}

fn refusal(error: &io::Error) -> u16 {
    if error.kind() == io::ErrorKind::PermissionDenied { 403 } else { 404 }
}

/// Decodes `%XX`; `None` if the result is no text or no path.
fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (decoded.starts_with('/') && !decoded.contains('\0')).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Root, decode};

    #[test]
    fn no_file_outside_the_folder_is_served() {
        let folder = std::env::temp_dir().join(format!("httpbed-quiche-{}", std::process::id()));
        fs::create_dir_all(folder.join("root/sub")).unwrap();
        fs::write(folder.join("secret"), "no").unwrap();
        fs::write(folder.join("root/sub/a b"), "yes").unwrap();
        symlink("../secret", folder.join("root/out")).unwrap();
        symlink("sub/a b", folder.join("root/in")).unwrap();
        let root = Root::open(&folder.join("root")).unwrap();
        for path in ["/sub/a%20b", "/sub/../sub/a%20b?x=1", "/in", "//in"] {
            assert_eq!(root.find(path).unwrap().length, 3, "{path}");
        }
        for (path, status) in [
            ("/../secret", 403),
            ("/%2e%2e/secret", 403),
            ("/out", 403),
            ("/none", 404),
            ("/sub", 404),
            ("/%zz", 400),
            ("/%00", 400),
            ("in", 400),
            ("*", 400),
        ] {
            assert_eq!(root.find(path).unwrap_err(), status, "{path}");
        }
        fs::remove_dir_all(folder).unwrap();
        assert!(Root::open(&std::env::temp_dir().join("httpbed-quiche-none")).is_err());
    }

    #[test]
    fn percent_escapes_are_decoded_or_rejected() {
        assert_eq!(decode("/%41").as_deref(), Some("/A"));
        assert_eq!(decode("/%4"), None);
        assert_eq!(decode("/%ff"), None);
    }
}
