//! Files that were planned while they grew: they may be longer by now, and rotation may have renamed them.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use blake2b_simd::Params;
use splitscan_kernel_core::block::{BlockError, Kind, LocalFile};

const HEAD_BYTES: u64 = 1024;
const TAIL_BYTES: u64 = 64;
const DIGEST_BYTES: usize = 16;

/// Whether a fingerprint is of the first part of a file.
pub fn is_of_a_part(fingerprint: &str) -> bool {
    fingerprint.starts_with("prefix-")
}

/// Open the file that begins with the part that was planned: by its name, or by another one of its folder, those that
/// begin alike first. Others that cannot be read matter only if no file is the one.
///
/// # Errors
/// If there is none, or the file or its folder cannot be read.
pub fn open(path: &Path, planned: &str) -> Result<LocalFile, BlockError> {
    let found = find(path, planned).map_err(LocalFile::unreadable)?;
    found.ok_or_else(|| {
        let rule =
            "the file is no longer the one that was planned: it was replaced, not appended to";
        BlockError::new(Kind::SourceChanged, "source-changed", rule)
            .seen(format!(
                "the first {} bytes are others now",
                size_of(planned).unwrap_or_default()
            ))
            .fix("put the file back as it was, or start with another checkpoint")
    })
}

fn find(path: &Path, planned: &str) -> io::Result<Option<LocalFile>> {
    let size =
        size_of(planned).ok_or_else(|| io::Error::other(format!("no fingerprint: {planned}")))?;
    if let Some(file) = open_if_planned(path, planned, size)? {
        return Ok(Some(file));
    }
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut others = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap_or(path))? {
        let entry = entry?.file_name();
        let is_other = !entry.as_encoded_bytes().starts_with(name);
        others.push((is_other, entry));
    }
    others.sort();
    let mut unread = None;
    for (_, name) in others {
        let other = path.with_file_name(&name);
        let is_long = |found: Metadata| found.is_file() && found.len() >= size;
        if !fs::metadata(&other).is_ok_and(is_long) {
            continue;
        }
        match open_if_planned(&other, planned, size) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(error) => {
                let said = || io::Error::new(error.kind(), format!("{}: {error}", name.display()));
                unread.get_or_insert_with(said);
            }
        }
    }
    unread.map_or(Ok(None), Err)
}

fn open_if_planned(path: &Path, planned: &str, size: u64) -> io::Result<Option<LocalFile>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if file.metadata()?.len() < size {
        return Ok(None);
    }
    match fingerprint(&file, size) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None), // it became shorter
        found => Ok((found? == planned).then(|| LocalFile::from(file))),
    }
}

fn size_of(planned: &str) -> Option<u64> {
    planned.split('-').nth(1)?.parse().ok()
}

/// The identity that the Python package gives the first bytes of a file, whatever follows them.
fn fingerprint(file: &File, size: u64) -> io::Result<String> {
    let hash = |start: u64, stop: u64| {
        let mut bytes = vec![0; (stop - start) as usize];
        file.read_exact_at(&mut bytes, start)?;
        let digest = Params::new().hash_length(DIGEST_BYTES).hash(&bytes);
        Ok::<_, io::Error>(digest.to_hex())
    };
    let head = hash(0, size.min(HEAD_BYTES))?;
    let tail = hash(size.saturating_sub(TAIL_BYTES), size)?;
    Ok(format!("prefix-{size}-{head}-{tail}"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const PLANNED: &str =
        "prefix-3-cf4ab791c62b8d2b2109c90275287816-cf4ab791c62b8d2b2109c90275287816"; // of "abc"

    /// A folder that is removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&folder).expect("a folder");
            Folder(folder)
        }

        fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, content).expect("a file");
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0); // a test may have done so
        }
    }

    #[test]
    fn a_file_is_found_by_how_it_begins() {
        let folder = Folder::new("grown");
        let path = folder.0.join("app.log");
        let is_found = || open(&path, PLANNED).is_ok();
        for (content, is_planned) in [("abc", true), ("abcd", true), ("ab", false), ("abd", false)]
        {
            folder.write("app.log", content);
            assert_eq!(is_found(), is_planned, "{content}");
        }
        fs::create_dir(folder.0.join("app.log.old")).expect("a folder");
        assert!(!is_found());
        folder.write("other", "abcde");
        assert!(is_found());
        fs::remove_file(&path).expect("it is there");
        assert!(is_found());
        fs::remove_dir_all(&folder.0).expect("it is there");
        assert!(open(&path, PLANNED).is_err());
    }

    #[test]
    fn others_that_cannot_be_read_are_told_only_if_no_file_fits() {
        let folder = Folder::new("grown-unread");
        let path = folder.0.join("app.log");
        let is_shut = |name: &str, content: &str| {
            let path = folder.write(name, content);
            fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("it is there");
            File::open(&path).is_err() // unless root asks
        };
        is_shut("app.log.1", "ab");
        let is_told = is_shut("app.log.2", "abd");
        let fitting = folder.write("z", "abcd");
        assert!(open(&path, PLANNED).is_ok());
        fs::remove_file(fitting).expect("it is there");
        let told = open(&path, PLANNED)
            .map(|_| ())
            .expect_err("none fits")
            .to_string();
        assert_eq!(told.contains("app.log.2: "), is_told, "{told}");
        assert!(!told.contains("app.log.1"), "{told}");
    }

    #[test]
    fn fingerprints_are_those_of_python() {
        // prefix_fingerprint(source, 2000)
        let planned =
            "prefix-2000-a7d65babc14aa89c183351a2eb2d4348-3fe635541934e15600f4266d942dfccf";
        let folder = Folder::new("grown-long");
        let content: Vec<u8> = (0..3000).map(|at| (at % 251) as u8).collect();
        let file = File::open(folder.write("app.log", content)).expect("it is there");
        assert_eq!(fingerprint(&file, 2000).expect("it is long"), planned);
        let short = fingerprint(&file, 3001).map_err(|error| error.kind());
        assert_eq!(short, Err(io::ErrorKind::UnexpectedEof));
    }
}
