//! Files that were planned while they grew: they may be longer by now, and rotation may have renamed them.

use std::fs::{self, File};
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
/// begin alike first.
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
    if let Some(file) = open_if_planned(path, planned)? {
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
    for (_, other) in others {
        let other = path.with_file_name(other);
        let is_file = fs::metadata(&other).is_ok_and(|found| found.is_file());
        if let Some(file) = is_file
            .then(|| open_if_planned(&other, planned))
            .transpose()?
            .flatten()
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn open_if_planned(path: &Path, planned: &str) -> io::Result<Option<LocalFile>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let size =
        size_of(planned).ok_or_else(|| io::Error::other(format!("no fingerprint: {planned}")))?;
    let is_planned = file.metadata()?.len() >= size && fingerprint(&file, size)? == planned;
    Ok(is_planned.then(|| LocalFile::from(file)))
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
    use super::*;

    const PLANNED: &str =
        "prefix-3-cf4ab791c62b8d2b2109c90275287816-cf4ab791c62b8d2b2109c90275287816"; // of "abc"

    #[test]
    fn a_file_is_found_by_how_it_begins() {
        let folder = std::env::temp_dir().join(format!("grown-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("app.log");
        let is_found = || open(&path, PLANNED).is_ok();
        for (content, is_planned) in [("abc", true), ("abcd", true), ("ab", false), ("abd", false)]
        {
            fs::write(&path, content).expect("a file");
            assert_eq!(is_found(), is_planned, "{content}");
        }
        fs::create_dir(folder.join("app.log.old")).expect("a folder");
        assert!(!is_found());
        fs::write(folder.join("other"), "abcde").expect("a file");
        assert!(is_found());
        fs::remove_file(&path).expect("it is there");
        assert!(is_found());
        fs::remove_dir_all(&folder).expect("it is there");
        assert!(open(&path, PLANNED).is_err());
    }
}
