//! What the host of a task does for it: whether the task was killed, and files that are not on mounted file systems.

use std::sync::Arc;

use jni::objects::{Global, JClass, JObject, JString, JValue, JValueOwned};
use jni::{Env, JavaVM, jni_sig, jni_str};
use splitscan_kernel_core::block::{HostError, LocalFile, ReadAt};

use crate::Fault;

const LOCALS: usize = 8; // references of a call

/// The Java that runs a task: every call is made on the thread of the task.
pub struct Java {
    java: JavaVM,
    class: Global<JClass<'static>>,
    files: Global<JObject<'static>>,
}

/// A file that is not on a mounted file system, as a plan names it.
pub struct Remote<'a> {
    /// As Python spells it.
    pub path: &'a str,
    /// The same in messages.
    pub shown: &'a str,
    /// Bytes that were there when it was planned.
    pub size: u64,
    /// When it was modified, in microseconds.
    pub modified: i64,
    /// Which version was planned.
    pub fingerprint: &'a str,
}

/// What a task asks of its host.
pub trait Host: Send + Sync {
    /// Whether the task was killed.
    fn is_interrupted(&self) -> bool;

    /// Open a file in place of the one before, if it is the one that was planned.
    ///
    /// # Errors
    /// What people read, or that the task was killed.
    fn open(&self, file: &Remote<'_>) -> Result<(), Fault>;

    /// Fill with the bytes of the open file from an offset on.
    ///
    /// # Errors
    /// As of `open`.
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Fault>;
}

impl Java {
    /// Keep what a task calls: the class `Kernel`, and its `HadoopFiles` or null.
    ///
    /// # Errors
    /// Those of JNI.
    pub fn of(env: &mut Env<'_>, class: JClass<'_>, files: JObject<'_>) -> Result<Java, Fault> {
        Ok(Java {
            java: env.get_java_vm()?,
            class: env.new_global_ref(class)?,
            files: env.new_global_ref(files)?,
        })
    }

    /// Call a method of `HadoopFiles`, which answers what went wrong. If an exception is pending, the task ends with that.
    fn call(
        &self,
        call: impl for<'local> FnOnce(
            &mut Env<'local>,
            &JObject<'_>,
        ) -> jni::errors::Result<JValueOwned<'local>>,
    ) -> Result<(), Fault> {
        let said = self.java.with_local_frame(LOCALS, |env| {
            let said = call(env, self.files.as_ref())?.l()?;
            let said = (!said.is_null()).then(|| env.cast_local::<JString>(said));
            said.map(|said| said?.try_to_string(env)).transpose()
        });
        match said {
            Ok(None) => Ok(()),
            _ if self.is_interrupted() => Err(Fault::Interrupted),
            Ok(Some(text)) => Err(Fault::Said(text)),
            Err(error) => Err(Fault::from(error)),
        }
    }
}

impl Host for Java {
    fn is_interrupted(&self) -> bool {
        let asked = self.java.with_local_frame(LOCALS, |env| {
            let (name, kind) = (jni_str!("isInterrupted"), jni_sig!("()Z"));
            env.call_static_method(&self.class, name, kind, &[])?.z()
        });
        asked.unwrap_or(true) // an exception is pending: the task ends with it
    }

    fn open(&self, file: &Remote<'_>) -> Result<(), Fault> {
        self.call(|env, files| {
            let texts = [file.path, file.shown, file.fingerprint];
            let [path, shown, fingerprint] = texts.map(|text| env.new_string(text));
            let (path, shown, fingerprint) = (path?, shown?, fingerprint?);
            let arguments = [
                JValue::Object(&path),
                JValue::Object(&shown),
                JValue::Long(file.size as i64),
                JValue::Long(file.modified),
                JValue::Object(&fingerprint),
            ];
            let kind = jni_sig!(
                "(Ljava/lang/String;Ljava/lang/String;JJLjava/lang/String;)Ljava/lang/String;"
            );
            env.call_method(files, jni_str!("open"), kind, &arguments)
        })
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.call(|env, files| {
            // SAFETY: the buffer is borrowed until the call returns, and Java does not keep it.
            let buffer = unsafe { env.new_direct_byte_buffer(into.as_mut_ptr(), into.len()) }?;
            let arguments = [JValue::Long(offset as i64), JValue::Object(&buffer)];
            let kind = jni_sig!("(JLjava/nio/ByteBuffer;)Ljava/lang/String;");
            env.call_method(files, jni_str!("read"), kind, &arguments)
        })
    }
}

/// A file of a task; its bytes end where the task is killed.
pub struct TaskFile {
    /// Who says whether it was killed, and has the file open where that is not local.
    pub host: Arc<dyn Host>,
    /// The file where the kernel reads it itself.
    pub local: Option<LocalFile>,
    /// Bytes that were there when it was planned; of a local file as many are read as there are.
    pub size: u64,
}

impl ReadAt for TaskFile {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        if self.host.is_interrupted() {
            return Err(HostError::Raised(Arc::new(Fault::Interrupted)));
        }
        if let Some(file) = &mut self.local {
            return file.read_at(offset, into);
        }
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = left.min(into.len());
        let into = into.get_mut(..wanted).unwrap_or_default();
        if !into.is_empty() {
            let read = self.host.read(offset, into);
            read.map_err(|fault| HostError::Raised(Arc::new(fault)))?;
        }
        Ok(wanted)
    }
}
