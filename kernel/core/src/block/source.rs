//! Where bytes come from.

use std::any::Any;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::error::{BlockError, Kind};

/// Why a source gives no bytes.
#[derive(Clone, Debug)]
pub enum HostError {
    /// What the system says.
    Said(String),
    /// What a callback of the host raised.
    Raised(Arc<dyn Any + Send + Sync>),
    /// A compressed file is damaged.
    Block(Box<BlockError>),
}

impl HostError {
    /// The error of a reader that wanted bytes from `offset` on.
    pub fn at(self, offset: u64) -> BlockError {
        let failed = BlockError::new(Kind::Source, "reader-failed", "a block could not be read")
            .at(offset)
            .fix("check that the file can be read");
        match self {
            HostError::Said(seen) => failed.seen(seen),
            HostError::Raised(raised) => BlockError {
                raised: Some(raised),
                ..failed
            },
            HostError::Block(error) => *error,
        }
    }
}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> HostError {
        HostError::Said(error.to_string())
    }
}

/// The content of one file, to be read at any offset.
pub trait ReadAt: Send {
    /// Fill `into` with the bytes from `offset` on.
    ///
    /// Returns how many there are: fewer than asked for only where the content ends.
    ///
    /// # Errors
    /// If the storage fails, or the host does.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError>;

    /// Length of content that is decompressed on the way, once its end was reached; `None` for all other files.
    fn content_end(&mut self) -> Option<u64> {
        None
    }

    /// Whether that content ends where it does because the file is damaged.
    fn is_damaged(&mut self) -> bool {
        false
    }
}

/// A regular file of a mounted file system, read by `pread`.
#[derive(Debug)]
pub struct LocalFile(File);

impl LocalFile {
    /// Open a file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<LocalFile> {
        File::open(path).map(LocalFile)
    }

    /// Open a file, if it is the version that was planned.
    ///
    /// # Errors
    /// If it is not there, cannot be opened, or is another version.
    pub fn open_planned(path: &Path, planned: &str) -> Result<LocalFile, BlockError> {
        let file = LocalFile::open(path).map_err(LocalFile::unreadable)?;
        let found = file.fingerprint().map_err(LocalFile::unreadable)?;
        if found != planned {
            let rule = "the file changed after it was planned (onFileChange=fail)";
            let error = BlockError::new(Kind::SourceChanged, "source-changed", rule);
            return Err(error
                .seen(format!("fingerprint {found}; planned {planned}"))
                .fix(
                    "plan again, or set option onFileChange=ignore to read whatever is there now",
                ));
        }
        Ok(file)
    }

    /// What is said where a file that was planned cannot be read.
    #[must_use]
    pub fn unreadable(error: io::Error) -> BlockError {
        let code = match error.kind() {
            io::ErrorKind::NotFound => "source-missing",
            _ => "source-error",
        };
        BlockError::new(Kind::Source, code, "a file that was planned cannot be read")
            .seen(error.to_string())
            .fix("see that it is there on every machine that runs tasks, and plan again")
    }

    /// The identity that the Python package gives this version of the file: size, and modification time.
    ///
    /// # Errors
    /// Those of the system.
    pub fn fingerprint(&self) -> io::Result<String> {
        let status = self.0.metadata()?;
        let modified_ns =
            i128::from(status.mtime()) * 1_000_000_000 + i128::from(status.mtime_nsec());
        Ok(format!("{}-{modified_ns}", status.size()))
    }
}

impl From<File> for LocalFile {
    fn from(file: File) -> LocalFile {
        LocalFile(file)
    }
}

impl ReadAt for LocalFile {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }
}

/// Bytes in memory.
impl ReadAt for Vec<u8> {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(from..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
        Ok(length)
    }
}
