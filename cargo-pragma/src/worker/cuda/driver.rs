//! The CUDA driver, loaded at run time: the little of it that trying and timing kernels needs.
//!
//! Owns the functions and the lifetime of what they make, as safe types. One context, the primary one of one device,
//! current on the thread that opened it: a GPU worker has one thread.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::rc::Rc;

type Status = c_int;
type Address = u64;
type Handle = *mut c_void;

/// The driver refuses something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// There is no driver.
    #[error("there is no NVIDIA driver on this machine: {0}")]
    Missing(String),
    /// There is no such device.
    #[error("the NVIDIA driver sees no device")]
    NoDevice,
    /// A call failed.
    #[error("{call}: {text} ({name})")]
    Failed {
        /// The function.
        call: &'static str,
        /// The driver's name for the error.
        name: String,
        /// What it says about it.
        text: String,
    },
}

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($arg:ty),*);)*) => {
        /// The functions in use.
        struct Functions {
            $($field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl Functions {
            fn load(library: &'static libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Functions {
                    // SAFETY: the types are those of cuda.h for the versions named; drivers keep old versions.
                    $($field: *unsafe { library.get($symbol) }?,)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit" (c_uint);
    driver_version = "cuDriverGetVersion" (*mut c_int);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_get = "cuDeviceGet" (*mut c_int, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_set = "cuCtxSetCurrent" (Handle);
    synchronize = "cuCtxSynchronize" ();
    reset_persisting_l2 = "cuCtxResetPersistingL2Cache" ();
    module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = "cuModuleUnload" (Handle);
    module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_attribute = "cuFuncGetAttribute" (*mut c_int, c_int, Handle);
    function_set_attribute = "cuFuncSetAttribute" (Handle, c_int, c_int);
    alloc = "cuMemAlloc_v2" (*mut Address, usize);
    free = "cuMemFree_v2" (Address);
    upload = "cuMemcpyHtoD_v2" (Address, *const c_void, usize);
    download = "cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    copy = "cuMemcpyDtoDAsync_v2" (Address, Address, usize, Handle);
    set8 = "cuMemsetD8Async" (Address, u8, usize, Handle);
    launch = "cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void
    );
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    event_destroy = "cuEventDestroy_v2" (Handle);
    event_record = "cuEventRecord" (Handle, Handle);
    event_synchronize = "cuEventSynchronize" (Handle);
    event_elapsed = "cuEventElapsedTime" (*mut f32, Handle, Handle);
    error_name = "cuGetErrorName" (Status, *mut *const c_char);
    error_text = "cuGetErrorString" (Status, *mut *const c_char);
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeviceFacts {
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of the L2 cache.
    pub l2_bytes: u64,
    /// Bytes of dynamic shared memory that one block may have.
    pub shared_per_block: u64,
    /// The newest version of CUDA that the driver supports, as 1000 * major + 10 * minor.
    pub driver: u32,
}

/// A device with its context.
pub struct Gpu {
    functions: Functions,
    facts: DeviceFacts,
    /// The context belongs to this thread.
    _local: PhantomData<*mut ()>,
}

/// What a function needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of memory that a thread uses for spilled registers and indexed arrays.
    pub local_bytes: u32,
}

impl Gpu {
    /// Opens a device by number.
    ///
    /// # Errors
    /// If there is no driver or no device.
    pub fn open(index: i32) -> Result<Rc<Self>, DriverError> {
        let missing = |error: libloading::Error| DriverError::Missing(error.to_string());
        // SAFETY: the driver's initialisers; loading it is what this process is for.
        let library = unsafe { libloading::Library::new("libcuda.so.1") }.map_err(missing)?;
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        let functions = Functions::load(library).map_err(missing)?;
        let mut gpu = Gpu {
            functions,
            facts: DeviceFacts {
                name: String::new(),
                capability: (0, 0),
                multiprocessors: 0,
                l2_bytes: 0,
                shared_per_block: 0,
                driver: 0,
            },
            _local: PhantomData,
        };
        let (mut count, mut device, mut version) = (0, 0, 0);
        let mut context: Handle = std::ptr::null_mut();
        let mut name = [0 as c_char; 128];
        let f = &gpu.functions;
        // SAFETY: initialisation comes first; every pointer is valid for writes of its type, the name for 128 bytes.
        unsafe {
            gpu.check("cuInit", (f.init)(0))?;
            gpu.check("cuDriverGetVersion", (f.driver_version)(&mut version))?;
            gpu.check("cuDeviceGetCount", (f.device_count)(&mut count))?;
            if index < 0 || index >= count {
                return Err(DriverError::NoDevice);
            }
            gpu.check("cuDeviceGet", (f.device_get)(&mut device, index))?;
            gpu.check(
                "cuDeviceGetName",
                (f.device_name)(name.as_mut_ptr(), 127, device),
            )?;
            gpu.check(
                "cuDevicePrimaryCtxRetain",
                (f.context_retain)(&mut context, device),
            )?;
            gpu.check("cuCtxSetCurrent", (f.context_set)(context))?;
        }
        // SAFETY: the last byte was never written, so the name ends.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        let attribute = |which: c_int| -> Result<u64, DriverError> {
            let mut value = 0;
            // SAFETY: the pointer is valid; unknown attributes are refused.
            let status = unsafe { (f.device_attribute)(&mut value, which, device) };
            gpu.check("cuDeviceGetAttribute", status)?;
            Ok(u64::try_from(value).unwrap_or(0))
        };
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let facts = DeviceFacts {
            name: name.to_string_lossy().into_owned(),
            capability: (small(attribute(75)?), small(attribute(76)?)),
            multiprocessors: small(attribute(16)?),
            l2_bytes: attribute(38)?,
            shared_per_block: attribute(97)?,
            driver: u32::try_from(version).unwrap_or(0),
        };
        gpu.facts = facts;
        Ok(Rc::new(gpu))
    }

    /// What the device is.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), DriverError> {
        if status == 0 {
            return Ok(());
        }
        let text = |get: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: the pointer is valid for writes; the driver gives a static string or nothing.
            let known = unsafe { get(status, &mut text) } == 0 && !text.is_null();
            if known {
                // SAFETY: a static string, as just checked.
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            } else {
                format!("status {status}")
            }
        };
        Err(DriverError::Failed {
            call,
            name: text(self.functions.error_name),
            text: text(self.functions.error_text),
        })
    }

    /// Waits for everything that was started.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the context is current.
        self.check("cuCtxSynchronize", unsafe {
            (self.functions.synchronize)()
        })
    }

    /// Makes lines in the L2 cache that were marked as persisting ordinary ones.
    pub fn reset_persisting_l2(&self) {
        // Devices before Ampere have none to reset and say so.
        // SAFETY: the context is current.
        let _ = unsafe { (self.functions.reset_persisting_l2)() };
    }

    /// Allocates device memory.
    ///
    /// # Errors
    /// If there is not enough.
    pub fn alloc(self: &Rc<Self>, bytes: usize) -> Result<Memory, DriverError> {
        let mut address = 0;
        // SAFETY: the pointer is valid; no allocation is empty.
        let status = unsafe { (self.functions.alloc)(&mut address, bytes.max(1)) };
        self.check("cuMemAlloc", status)?;
        Ok(Memory {
            gpu: Rc::clone(self),
            address,
            bytes,
        })
    }

    /// Loads machine code or assembly (which ends in a zero byte, or gets one).
    ///
    /// # Errors
    /// If the driver cannot use it on this device.
    pub fn load(self: &Rc<Self>, image: &[u8]) -> Result<Module, DriverError> {
        let mut image = image.to_vec();
        image.push(0);
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the image ends in a zero byte, which text needs and machine code ignores; there are no options.
        let status = unsafe {
            (self.functions.module_load)(
                &mut handle,
                image.as_ptr().cast(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.check("cuModuleLoadData", status)?;
        Ok(Module {
            gpu: Rc::clone(self),
            handle,
        })
    }

    /// Makes a point in time.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn event(self: &Rc<Self>) -> Result<Event, DriverError> {
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the pointer is valid.
        let status = unsafe { (self.functions.event_create)(&mut handle, 0) };
        self.check("cuEventCreate", status)?;
        Ok(Event {
            gpu: Rc::clone(self),
            handle,
        })
    }
}

/// Device memory, freed when dropped.
pub struct Memory {
    gpu: Rc<Gpu>,
    address: Address,
    bytes: usize,
}

impl Memory {
    /// Its device address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `data` to `offset`.
    ///
    /// # Errors
    /// If it does not fit, or an earlier launch went wrong.
    pub fn write(&mut self, offset: usize, data: &[u8]) -> Result<(), DriverError> {
        self.range(offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies inside of this allocation, as just checked.
        self.gpu.check("cuMemcpyHtoD", unsafe {
            (self.gpu.functions.upload)(
                self.address + offset as u64,
                data.as_ptr().cast(),
                data.len(),
            )
        })
    }

    /// The `count` bytes at `offset`.
    ///
    /// # Errors
    /// If there are fewer, or an earlier launch went wrong.
    pub fn read(&self, offset: usize, count: usize) -> Result<Vec<u8>, DriverError> {
        self.range(offset, count)?;
        let mut data = vec![0u8; count];
        if count > 0 {
            // SAFETY: the range lies inside of this allocation, and `data` has room for it.
            self.gpu.check("cuMemcpyDtoH", unsafe {
                (self.gpu.functions.download)(
                    data.as_mut_ptr().cast(),
                    self.address + offset as u64,
                    count,
                )
            })?;
        }
        Ok(data)
    }

    /// Sets every byte, in order with launches.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn fill(&mut self, value: u8) -> Result<(), DriverError> {
        // SAFETY: the range is this allocation.
        self.gpu.check("cuMemsetD8", unsafe {
            (self.gpu.functions.set8)(self.address, value, self.bytes, std::ptr::null_mut())
        })
    }

    /// Copies from the start of `other` as much as fits in both, in order with launches.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn copy_from(&mut self, other: &Memory) -> Result<(), DriverError> {
        let count = self.bytes.min(other.bytes);
        if count == 0 {
            return Ok(());
        }
        // SAFETY: both ranges lie inside of their allocations, which are distinct.
        self.gpu.check("cuMemcpyDtoD", unsafe {
            (self.gpu.functions.copy)(self.address, other.address, count, std::ptr::null_mut())
        })
    }

    fn range(&self, offset: usize, count: usize) -> Result<(), DriverError> {
        let fits = offset
            .checked_add(count)
            .is_some_and(|end| end <= self.bytes);
        if fits {
            Ok(())
        } else {
            Err(DriverError::Failed {
                call: "memory access",
                name: "RANGE".to_owned(),
                text: "outside of the allocation".to_owned(),
            })
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. After a fault the context is lost and so is the memory.
        let _ = unsafe { (self.gpu.functions.free)(self.address) };
    }
}

/// Loaded code, unloaded when dropped.
pub struct Module {
    gpu: Rc<Gpu>,
    handle: Handle,
}

impl Module {
    /// A function by name.
    ///
    /// # Errors
    /// If there is none.
    pub fn function(self: &Rc<Self>, name: &str) -> Result<Function, DriverError> {
        let text = CString::new(name).unwrap_or_default();
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends in a zero byte.
        let status = unsafe {
            (self.gpu.functions.module_function)(&mut handle, self.handle, text.as_ptr())
        };
        self.gpu.check("cuModuleGetFunction", status)?;
        Ok(Function {
            module: Rc::clone(self),
            handle,
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once; functions hold on to their module.
        let _ = unsafe { (self.gpu.functions.module_unload)(self.handle) };
    }
}

/// A kernel.
pub struct Function {
    module: Rc<Module>,
    handle: Handle,
}

/// The launch attribute numbers of `cuFuncGetAttribute`.
const SHARED_SIZE: c_int = 1;
const LOCAL_SIZE: c_int = 3;
const REGISTERS: c_int = 4;
const MAX_DYNAMIC_SHARED: c_int = 8;

impl Function {
    /// What it needs.
    pub fn facts(&self) -> FunctionFacts {
        let get = |which| {
            let mut value = 0;
            // SAFETY: the function is alive, the pointer valid.
            let _ = unsafe {
                (self.module.gpu.functions.function_attribute)(&mut value, which, self.handle)
            };
            u32::try_from(value).unwrap_or(0)
        };
        FunctionFacts {
            registers: get(REGISTERS),
            shared_bytes: get(SHARED_SIZE),
            local_bytes: get(LOCAL_SIZE),
        }
    }

    /// Allows blocks this much dynamic shared memory.
    ///
    /// # Errors
    /// If the device has less.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the function is alive.
        self.module.gpu.check("cuFuncSetAttribute", unsafe {
            (self.module.gpu.functions.function_set_attribute)(
                self.handle,
                MAX_DYNAMIC_SHARED,
                bytes,
            )
        })
    }

    /// Starts it. `args` are the bytes of each argument, in order.
    ///
    /// # Errors
    /// If the driver refuses; what goes wrong on the device shows when waiting.
    pub fn launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &[[u8; 8]],
    ) -> Result<(), DriverError> {
        let mut args: Vec<Aligned> = args.iter().map(|bytes| Aligned(*bytes)).collect();
        let mut pointers: Vec<*mut c_void> = args
            .iter_mut()
            .map(|arg| std::ptr::from_mut(arg).cast())
            .collect();
        // SAFETY: the driver copies as many bytes as each parameter has, at most 8, from aligned storage that lives until
        // the call returns. Whether the kernel stays inside of the memory behind the addresses is what is being
        // found out: a stray access ends this process's context and nothing else.
        let status = unsafe {
            (self.module.gpu.functions.launch)(
                self.handle,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                std::ptr::null_mut(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.module.gpu.check("cuLaunchKernel", status)
    }
}

/// An argument where every scalar type is aligned.
#[repr(C, align(8))]
struct Aligned([u8; 8]);

/// A point in time on the device.
pub struct Event {
    gpu: Rc<Gpu>,
    handle: Handle,
}

impl Event {
    /// Marks the time when everything before is done.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn record(&self) -> Result<(), DriverError> {
        // SAFETY: the event is alive; the stream is the default one.
        self.gpu.check("cuEventRecord", unsafe {
            (self.gpu.functions.event_record)(self.handle, std::ptr::null_mut())
        })
    }

    /// Waits for it.
    ///
    /// # Errors
    /// What went wrong before it.
    pub fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event is alive.
        self.gpu.check("cuEventSynchronize", unsafe {
            (self.gpu.functions.event_synchronize)(self.handle)
        })
    }

    /// Nanoseconds from `earlier` to this; both must have been waited for.
    ///
    /// # Errors
    /// If one was not recorded.
    pub fn since(&self, earlier: &Event) -> Result<f64, DriverError> {
        let mut milliseconds = 0f32;
        // SAFETY: both events are alive, the pointer valid.
        let status = unsafe {
            (self.gpu.functions.event_elapsed)(&mut milliseconds, earlier.handle, self.handle)
        };
        self.gpu.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        let _ = unsafe { (self.gpu.functions.event_destroy)(self.handle) };
    }
}
