//! The native methods of `splitscan.connector.Kernel`: a thin shell around the core crate.
//!
//! Every one runs on the thread of a Spark task, and returns what it has to say. Errors and panics become exceptions of
//! Java. There is no global state but the number of
//! bytes that are held: a reader is an address that Java holds.

mod grown;
mod host;
mod lend;
mod memory;
mod tasks;

use std::any::Any;
use std::sync::Arc;

use jni::errors::ErrorPolicy;
use jni::objects::{JClass, JLongArray, JObject, JString};
use jni::strings::JNIString;
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_str};

use host::Java;
use memory::Call;
use tasks::TaskReader;

/// What `Kernel.next` returns in place of a number of rows.
const END: jint = -1;
const INTERRUPTED: jint = -2;

/// Open a reader: `Kernel.open`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_splitscan_connector_Kernel_openNative<'local>(
    mut env: EnvUnowned<'local>,
    class: JClass<'local>,
    spec: JString<'local>,
    blocks: JString<'local>,
    wanted: JString<'local>,
    limit: jlong,
    files: JObject<'local>,
) -> jlong {
    let call = Call::begin();
    env.with_env(|env| -> Result<jlong, Fault> {
        let (spec, blocks) = (spec.try_to_string(env)?, blocks.try_to_string(env)?);
        let wanted = wanted.try_to_string(env)?;
        let host = Arc::new(Java::of(env, class, files)?);
        let mut reader =
            TaskReader::open(&spec, &blocks, &wanted, u64::try_from(limit).ok(), host)?;
        drop((spec, blocks, wanted));
        reader.memory.add(call.bytes());
        Ok(Box::into_raw(Box::new(reader)) as jlong)
    })
    .resolve::<Throw>()
}

/// Read the next batch: `Kernel.next`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_splitscan_connector_Kernel_next<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    reader: jlong,
    places: JLongArray<'local>,
) -> jint {
    let call = Call::begin();
    env.with_env(|env| -> Result<jint, Fault> {
        // SAFETY: Java hands over what `open` gave it, until `close`, by one thread at a time.
        let reader = unsafe { &mut *(reader as *mut TaskReader) };
        let batch = reader.next_batch();
        reader.memory.add(call.bytes());
        let rows = match batch {
            Ok(Some(rows)) => jint::try_from(rows).map_err(|_| bug("a batch has too many rows"))?,
            Ok(None) => END,
            Err(Fault::Interrupted) => INTERRUPTED,
            Err(fault) => return Err(fault),
        };
        let numbers = reader.numbers();
        if rows >= 0 && numbers.len() != places.len(env)? {
            return Err(bug("the kernel has other columns than Spark asks for"));
        }
        places.set_region(env, 0, numbers)?;
        Ok(rows)
    })
    .resolve::<Throw>()
}

/// Free a reader, and say which records are no rows: `Kernel.close`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_splitscan_connector_Kernel_closeNative<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    reader: jlong,
) -> JString<'local> {
    let _call = Call::begin();
    env.with_env(|env| -> Result<JString<'local>, Fault> {
        // SAFETY: as in `next`, and Java forgets the address before it calls.
        let mut reader = unsafe { Box::from_raw(reader as *mut TaskReader) };
        match reader.losses() {
            Some(text) => Ok(env.new_string(text)?),
            None => Ok(JString::null()),
        }
    })
    .resolve::<Throw>()
}

/// Bytes of native memory of all readers: `Kernel.heldBytes`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_splitscan_connector_Kernel_heldBytes(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
) -> jlong {
    memory::held()
}

fn bug(text: &str) -> Fault {
    Fault::Said(format!("{text} [kernel-bug]"))
}

/// Why there is no batch.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A fault as people read it.
    Said(String),
    /// The task was killed.
    Interrupted,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Fault::Said(text) => text,
            Fault::Interrupted => "the task was killed",
        })
    }
}

impl std::error::Error for Fault {}

impl From<jni::errors::Error> for Fault {
    fn from(error: jni::errors::Error) -> Self {
        Self::Said(format!(
            "Java and the kernel misunderstand each other [kernel-bug]\n  seen:  {error}"
        ))
    }
}

/// Throws a `ScanException` for an error and for a panic.
struct Throw;

impl<T: Default> ErrorPolicy<T, Fault> for Throw {
    type Captures<'unowned_env_local: 'native_method, 'native_method> = ();

    fn on_error<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _captures: &mut (),
        error: Fault,
    ) -> jni::errors::Result<T> {
        if !env.exception_check() {
            throw(env, &error.to_string());
        }
        Ok(T::default())
    }

    fn on_panic<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _captures: &mut (),
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("a panic");
        let seen = format!("{said}, splitscan-kernel {}", env!("CARGO_PKG_VERSION"));
        throw(
            env,
            &format!(
                "the native engine is wrong, not the data [kernel-bug]\n  seen:  {seen}\n  fix:   report it, and set \
                 spark.splitscan.connector=false in the session until it is mended"
            ),
        );
        Ok(T::default())
    }
}

fn throw(env: &mut Env<'_>, text: &str) {
    // It answers that an exception is pending, which is what it was asked for.
    let _ = env.throw_new(
        jni_str!("splitscan/connector/ScanException"),
        JNIString::from(text),
    );
}
