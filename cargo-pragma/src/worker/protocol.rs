//! What parent and worker say to each other: one JSON object a line, one reply a request.
//!
//! Owns the messages. Values of buffers never travel: both sides derive them from seeds, and outputs go into files.

use std::path::PathBuf;

use pragma_spec::Scalar;
use serde::{Deserialize, Serialize};

use super::cuda::protocol::{DeviceReply, DeviceRequest};
use crate::inputs::Values;

/// How a call may use an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Shared: mapped read-only during the call.
    Read,
    /// Exclusive, with meaningful old content.
    ReadWrite,
    /// Exclusive, old content is poison: the reference does not look at it.
    Write,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgSpec {
    /// Element type.
    #[serde(with = "scalar_name")]
    pub elem: Scalar,
    /// Number of elements; 1 for scalars.
    pub len: u64,
    /// How it may be used.
    pub access: Access,
    /// Its content, except under [`Access::Write`].
    pub values: Values,
    /// The seed of its content.
    pub seed: u64,
    /// Which argument's memory it is, as elements of another type: its content is written over that one's.
    #[serde(default)]
    pub view_of: Option<usize>,
}

impl ArgSpec {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.len * self.elem.bytes() as u64
    }

    /// Bytes of memory of its own.
    pub fn own_bytes(&self) -> u64 {
        match self.view_of {
            Some(_) => 0,
            None => self.bytes(),
        }
    }
}

/// Where buffers lie relative to the guard pages around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// The last element ends where the guard page begins.
    Right,
    /// The first element begins where the guard page ends.
    Left,
    /// As `Left`, one element further: aligned for the element and for nothing more.
    Odd,
}

/// What fills a buffer that nobody may read before writing it. Floats see NaNs. An element that still holds it after
/// the calls with either pattern was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Poison {
    /// The first pattern.
    A,
    /// The second; it differs from the first in every byte.
    B,
}

impl Poison {
    /// The bytes of one poisoned element, the low-order ones of the array in native order; see [`Poison::fill`].
    fn pattern(self) -> u64 {
        match self {
            Poison::A => 0x7ff5_a5a5_7fa5_a5a5,
            Poison::B => 0xfffa_5a5a_ffda_5a5a,
        }
    }

    /// Poisons `bytes`, a whole number of elements of type `elem`.
    pub fn fill(self, bytes: &mut [u8], elem: Scalar) {
        let pattern = self.pattern();
        match elem {
            Scalar::Bool => bytes.fill(u8::from(self == Poison::B)),
            Scalar::F16 | Scalar::Bf16 => repeat(bytes, &((pattern >> 16) as u16).to_ne_bytes()),
            _ => repeat(bytes, &pattern.to_ne_bytes()[..elem.bytes()]),
        }
    }
}

/// Fills `bytes` with copies of `unit`.
fn repeat(bytes: &mut [u8], unit: &[u8]) {
    let mut done = unit.len().min(bytes.len());
    bytes[..done].copy_from_slice(&unit[..done]);
    while done > 0 && done < bytes.len() {
        let more = done.min(bytes.len() - done);
        bytes.copy_within(..more, done);
        done += more;
    }
}

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Load a library and find its entry; reply [`Reply::Loaded`] with the number that later requests use.
    Load {
        /// The library.
        path: PathBuf,
        /// The entry's symbol.
        symbol: String,
    },
    /// Call an entry once and write what it produced to `outputs`; reply [`Reply::Called`].
    Call {
        /// Which library.
        library: usize,
        /// The arguments.
        args: Vec<ArgSpec>,
        /// Where buffers lie.
        layout: Layout,
        /// What poisoned buffers are filled with.
        poison: Poison,
        /// Threads the kernel may use; 0 leaves it alone.
        threads: usize,
        /// The file to write: mutable arguments in order, then returned values in order.
        outputs: PathBuf,
    },
    /// Time several entries on the same arguments, interleaved; reply [`Reply::Timed`].
    Time {
        /// The contenders.
        libraries: Vec<usize>,
        /// The arguments, one list per contender; equal but for the access of a return buffer.
        args: Vec<ArgSpec>,
        /// Threads the kernels may use; 0 leaves it alone.
        threads: usize,
        /// Nanoseconds this may take altogether.
        budget_ns: u64,
        /// Rounds after which it is enough.
        max_rounds: usize,
        /// Seed of the order inside each round.
        seed: u64,
    },
    /// For workers with a GPU; reply [`Reply::Device`] or [`Reply::Called`].
    Device(DeviceRequest),
}

/// A reply of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The worker is up; sent once, unasked.
    Ready {
        /// Its process id.
        pid: u32,
    },
    /// A library is loaded.
    Loaded {
        /// Its number.
        library: usize,
    },
    /// A call came back.
    Called {
        /// One of the ABI's status values.
        status: u32,
        /// Sizes in bytes of the pieces in the output file: mutable arguments, then returned values.
        pieces: Vec<u64>,
        /// Index of an argument around which bytes outside of its elements changed.
        overrun: Option<usize>,
    },
    /// Timing is done.
    Timed {
        /// `samples[round][contender]`, nanoseconds per call.
        samples: Vec<Vec<f64>>,
    },
    /// The answer of a worker with a GPU.
    Device(DeviceReply),
    /// The request could not be done; the worker goes on.
    Failed {
        /// Why.
        message: String,
    },
}

mod scalar_name {
    //! Scalars travel by name.

    use pragma_spec::Scalar;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(scalar: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(scalar.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poison_is_nan_and_differs() {
        let mut a = [0; 8];
        let mut b = [0; 8];
        for elem in Scalar::ALL {
            Poison::A.fill(&mut a, elem);
            Poison::B.fill(&mut b, elem);
            assert_ne!(a[..elem.bytes()], b[..elem.bytes()], "{elem}");
        }
        for poison in [Poison::A, Poison::B] {
            poison.fill(&mut a, Scalar::F64);
            assert!(f64::from_ne_bytes(a).is_nan());
            poison.fill(&mut a, Scalar::F32);
            assert!(f32::from_ne_bytes([a[0], a[1], a[2], a[3]]).is_nan());
            poison.fill(&mut a, Scalar::F16);
            let half = u16::from_ne_bytes([a[0], a[1]]);
            assert!(half::f16::from_bits(half).is_nan() && half::bf16::from_bits(half).is_nan());
        }
    }
}
