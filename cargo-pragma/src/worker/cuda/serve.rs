//! The GPU worker's end: reads requests, runs kernels on a device, writes replies.
//!
//! Owns the order of a call (poison, guards, launch, wait, compare, read back) and of a measurement. Judges nothing.
//! Of the code that runs here only kernels are not trusted: they cannot make system calls, and their memory is that of
//! this process's context alone. So it is a process of its own with a watchdog in its parent, without a file sandbox.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::arena::DeviceBuffer;
use super::driver::{DriverError, Gpu};
use super::program::{Prepared, Program, Refusal, Value};
use super::protocol::{DeviceCall, DeviceCeilings, DeviceReply, DeviceRequest, DeviceTimes};
use crate::inputs::{Rng, fill};
use crate::worker::abi;
use crate::worker::protocol::{Access, ArgSpec, Layout, Poison, Reply, Request};

/// Runs until standard input ends. `args` are what follows `__gpu_worker` on the command line: the device's number.
///
/// Returns the exit code of the process.
pub fn serve(args: &[OsString]) -> u8 {
    let index = args.first().and_then(|text| text.to_str()?.parse().ok());
    let run = || -> io::Result<()> {
        let mut replies = BufWriter::new(io::stdout());
        let mut send = |reply: &Reply| -> io::Result<()> {
            serde_json::to_writer(&mut replies, reply)?;
            replies.write_all(b"\n")?;
            replies.flush()
        };
        send(&Reply::Ready {
            pid: std::process::id(),
        })?;
        let mut session: Option<Session> = None;
        for line in io::stdin().lock().lines() {
            let reply = match serde_json::from_str(&line?) {
                Ok(Request::Device(request)) => answer(&mut session, index, request),
                Ok(_) => Err("this worker runs kernels on a GPU only".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            send(&reply.unwrap_or_else(|message| Reply::Failed { message }))?;
        }
        Ok(())
    };
    match run() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("GPU worker: {error}");
            70
        }
    }
}

/// Ends this process over an error that a kernel caused: the context is lost, and the parent judges the death.
fn lost(error: &DriverError) -> ! {
    eprintln!("{error}");
    std::process::exit(EXIT_DEVICE_FAULT)
}

/// The exit code of a worker whose kernel faulted.
const EXIT_DEVICE_FAULT: i32 = 13;

fn answer(
    session: &mut Option<Session>,
    index: Option<i32>,
    request: DeviceRequest,
) -> Result<Reply, String> {
    let session = match session {
        Some(session) => session,
        None => {
            let gpu = Gpu::open(index.unwrap_or(0)).map_err(|error| error.to_string())?;
            session.insert(Session {
                gpu,
                programs: Vec::new(),
                arena: None,
                rng: Rng::new(u64::from(std::process::id())),
            })
        }
    };
    session.answer(request)
}

/// Buffers that are used again by the next call of the same sizes: new data then lies at old addresses.
struct Arena {
    layout: Layout,
    sizes: Vec<(u64, usize)>,
    buffers: Vec<Option<DeviceBuffer>>,
}

struct Session {
    gpu: Rc<Gpu>,
    programs: Vec<Program>,
    arena: Option<Arena>,
    rng: Rng,
}

impl Session {
    fn answer(&mut self, request: DeviceRequest) -> Result<Reply, String> {
        let text = |error: DriverError| error.to_string();
        match request {
            DeviceRequest::Facts => Ok(Reply::Device(DeviceReply::Facts(self.gpu.facts().clone()))),
            DeviceRequest::Load {
                image,
                plan,
                params,
            } => {
                let image = std::fs::read(image).map_err(|error| error.to_string())?;
                let plan = plan
                    .parse()
                    .map_err(|error| format!("the launch plan cannot be read: {error}"))?;
                let program = Program::load(&self.gpu, &image, plan, params).map_err(text)?;
                let kernels = program.facts();
                self.programs.push(program);
                Ok(Reply::Device(DeviceReply::Loaded {
                    program: self.programs.len() - 1,
                    kernels,
                }))
            }
            DeviceRequest::Call {
                call,
                layout,
                poison,
                outputs,
            } => self.call(&call, layout, poison, &outputs),
            DeviceRequest::Time {
                call,
                budget_ns,
                max_samples,
            } => self.time(&call, Duration::from_nanos(budget_ns), max_samples),
            DeviceRequest::Ceilings { image } => {
                self.arena = None;
                ceilings(&self.gpu, &image).map(|found| Reply::Device(DeviceReply::Ceilings(found)))
            }
        }
    }

    /// Buffers for these arguments; those of the last call if they fit.
    fn buffers(&mut self, call: &DeviceCall, layout: Layout) -> Result<Arena, DriverError> {
        let sizes: Vec<(u64, usize)> = call
            .args
            .iter()
            .map(|arg| (arg.bytes(), arg.elem.bytes()))
            .collect();
        if let Some(arena) = self.arena.take()
            && arena.layout == layout
            && arena.sizes == sizes
        {
            return Ok(arena);
        }
        let buffers = call
            .args
            .iter()
            .enumerate()
            .map(|(at, arg)| match call.scalars.get(at) {
                Some(true) => Ok(None),
                _ => {
                    let bytes = usize::try_from(arg.bytes()).unwrap_or(usize::MAX / 2);
                    DeviceBuffer::new(&self.gpu, bytes, arg.elem.bytes(), layout).map(Some)
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Arena {
            layout,
            sizes,
            buffers,
        })
    }

    fn call(
        &mut self,
        call: &DeviceCall,
        layout: Layout,
        poison: Poison,
        outputs: &Path,
    ) -> Result<Reply, String> {
        let text = |error: DriverError| error.to_string();
        let mut arena = self.buffers(call, layout).map_err(text)?;
        let contents = contents(&call.args, poison);
        for (buffer, content) in arena.buffers.iter_mut().zip(&contents) {
            if let Some(buffer) = buffer {
                buffer.guard(&mut self.rng).map_err(text)?;
                buffer.write(content).map_err(text)?;
            }
        }
        let program = self.programs.get(call.program).ok_or("no such program")?;
        let refused = |status| {
            Ok(Reply::Called {
                status,
                pieces: Vec::new(),
                overrun: None,
            })
        };
        let values = values(&arena.buffers, &contents);
        let mut prepared = match program.prepare(&self.gpu, &call.dims, &values) {
            Ok(prepared) => prepared,
            Err(Refusal::Guard) => {
                self.arena = Some(arena);
                return refused(abi::STATUS_GUARD);
            }
            Err(Refusal::Plan(message)) => return Err(message),
            Err(Refusal::Driver(error)) => return Err(text(error)),
        };
        let byte = if poison == Poison::A { 0xa5 } else { 0x5a };
        prepared.poison(byte).map_err(text)?;
        let run = program
            .start(&mut prepared)
            .and_then(|()| self.gpu.synchronize());
        if let Err(error) = run {
            lost(&error);
        }
        let status = if prepared.faulted().map_err(text)? {
            abi::STATUS_PANIC
        } else {
            abi::STATUS_OK
        };
        let mut overrun = None;
        let mut pieces = Vec::new();
        for (at, arg) in call.args.iter().enumerate() {
            let Some(buffer) = &arena.buffers[at] else {
                continue;
            };
            let after = buffer.read().map_err(text)?;
            let strayed = !buffer.intact().map_err(text)?;
            if strayed || (arg.access == Access::Read && after != contents[at]) {
                overrun = overrun.or(Some(at));
            }
            if arg.access != Access::Read {
                pieces.push(after);
            }
        }
        let slots = prepared.results().map_err(text)?;
        for (slot, scalar) in slots.chunks_exact(8).zip(program.results()) {
            pieces.push(slot[..scalar.bytes()].to_vec());
        }
        write(outputs, &pieces).map_err(|error| error.to_string())?;
        self.arena = Some(arena);
        Ok(Reply::Called {
            status,
            pieces: pieces.iter().map(|piece| piece.len() as u64).collect(),
            overrun,
        })
    }

    fn time(
        &mut self,
        call: &DeviceCall,
        budget: Duration,
        max_samples: usize,
    ) -> Result<Reply, String> {
        let text = |error: DriverError| error.to_string();
        self.arena = None;
        let mut arena = self.buffers(call, Layout::Left).map_err(text)?;
        let contents = contents(&call.args, Poison::A);
        for (buffer, content) in arena.buffers.iter_mut().zip(&contents) {
            if let Some(buffer) = buffer {
                buffer.write(content).map_err(text)?;
            }
        }
        let program = self.programs.get(call.program).ok_or("no such program")?;
        let values = values(&arena.buffers, &contents);
        let prepared = match program.prepare(&self.gpu, &call.dims, &values) {
            Ok(prepared) => prepared,
            Err(Refusal::Guard) => return Err("its conditions do not hold at this size".to_owned()),
            Err(Refusal::Plan(message)) => return Err(message),
            Err(Refusal::Driver(error)) => return Err(text(error)),
        };
        // Old content that kernels build on would grow from call to call.
        let restore = call.args.iter().zip(&contents).enumerate();
        let restore: Vec<(usize, &Vec<u8>)> = restore
            .filter(|(_, (arg, _))| arg.access == Access::ReadWrite)
            .map(|(at, (_, content))| (at, content))
            .collect();
        match measure(
            &self.gpu,
            program,
            prepared,
            &mut arena.buffers,
            &restore,
            budget,
            max_samples,
        ) {
            Ok(times) => Ok(Reply::Device(DeviceReply::Timed(times))),
            Err(error) => lost(&error),
        }
    }
}

/// What every argument holds before the call.
fn contents(args: &[ArgSpec], poison: Poison) -> Vec<Vec<u8>> {
    args.iter()
        .map(|arg| {
            let mut bytes = vec![0; usize::try_from(arg.bytes()).unwrap_or(0)];
            match arg.access {
                Access::Write => poison.fill(&mut bytes, arg.elem),
                Access::Read | Access::ReadWrite => {
                    fill(&mut bytes, arg.elem, &arg.values, arg.seed);
                }
            }
            bytes
        })
        .collect()
}

fn values(buffers: &[Option<DeviceBuffer>], contents: &[Vec<u8>]) -> Vec<Value> {
    let pairs = buffers.iter().zip(contents);
    pairs
        .map(|(buffer, content)| match buffer {
            Some(buffer) => Value::Address(buffer.address()),
            None => {
                let mut bytes = [0; 8];
                let count = content.len().min(8);
                bytes[..count].copy_from_slice(&content[..count]);
                Value::Scalar(bytes)
            }
        })
        .collect()
}

fn write(path: &Path, pieces: &[Vec<u8>]) -> io::Result<()> {
    let mut file = File::create(path)?;
    pieces.iter().try_for_each(|piece| file.write_all(piece))
}

/// Fewer samples than this prove nothing; they are taken whatever they cost.
const MIN_SAMPLES: usize = 7;
/// A batch lasts about this long.
const BATCH_NS: f64 = 2e7;

fn measure(
    gpu: &Rc<Gpu>,
    program: &Program,
    mut prepared: Prepared,
    buffers: &mut [Option<DeviceBuffer>],
    restore: &[(usize, &Vec<u8>)],
    budget: Duration,
    max_samples: usize,
) -> Result<DeviceTimes, DriverError> {
    let mut flush = gpu.alloc(usize::try_from(2 * gpu.facts().l2_bytes).unwrap_or(64 << 20))?;
    let (start, end) = (gpu.event()?, gpu.event()?);
    let put_back = |buffers: &mut [Option<DeviceBuffer>]| -> Result<(), DriverError> {
        for (at, content) in restore {
            if let Some(buffer) = &mut buffers[*at] {
                buffer.write(content)?;
            }
        }
        Ok(())
    };
    for _ in 0..3 {
        put_back(buffers)?;
        program.start(&mut prepared)?;
    }
    gpu.synchronize()?;
    let mut times = DeviceTimes::default();
    let begun = Instant::now();
    while times.cold.len() < max_samples
        && (times.cold.len() < MIN_SAMPLES || begun.elapsed() < budget)
    {
        put_back(buffers)?;
        gpu.reset_persisting_l2();
        flush.fill(u8::try_from(times.cold.len() % 251).unwrap_or(0))?;
        start.record()?;
        program.start(&mut prepared)?;
        end.record()?;
        end.wait()?;
        times.cold.push(end.since(&start)?);
    }
    // Kernels that build on old content would see other data in every call of a batch; NaN takes no longer.
    let one = times.cold.iter().copied().fold(f64::INFINITY, f64::min);
    let batch = ((BATCH_NS / one.max(1000.0)) as usize).clamp(1, 1000);
    gpu.synchronize()?;
    let clock = Instant::now();
    start.record()?;
    for _ in 0..batch {
        program.start(&mut prepared)?;
    }
    let submitted = clock.elapsed();
    end.record()?;
    end.wait()?;
    let host = clock.elapsed();
    let per_call = |elapsed: Duration| elapsed.as_nanos() as f64 / batch as f64;
    times.batch_event = end.since(&start)? / batch as f64;
    times.batch_host = per_call(host);
    times.batch_submit = per_call(submitted);
    Ok(times)
}

/// Fused multiply-adds of one thread of the probe per unit of its argument.
const PROBE_FMAS: f64 = 64.0;
const PROBE_THREADS: u32 = 256;

fn ceilings(gpu: &Rc<Gpu>, image: &Path) -> Result<DeviceCeilings, String> {
    let image = std::fs::read(image).map_err(|error| error.to_string())?;
    measure_ceilings(gpu, &image).map_err(|error| error.to_string())
}

fn measure_ceilings(gpu: &Rc<Gpu>, image: &[u8]) -> Result<DeviceCeilings, DriverError> {
    let (start, end) = (gpu.event()?, gpu.event()?);
    let bytes = 1usize << 30;
    let mut from = gpu.alloc(bytes)?;
    let mut to = gpu.alloc(bytes)?;
    from.fill(1)?;
    let mut copy = 0f64;
    for _ in 0..8 {
        start.record()?;
        to.copy_from(&from)?;
        end.record()?;
        end.wait()?;
        copy = copy.max(2.0 * bytes as f64 / (end.since(&start)? * 1e-9));
    }
    let module = Rc::new(gpu.load(image)?);
    let probe = module.function(super::PROBE)?;
    let rounds = 4096u64;
    let blocks = gpu.facts().multiprocessors * 8;
    let mut flops = 0f64;
    for _ in 0..5 {
        start.record()?;
        probe.launch(
            [blocks, 1, 1],
            [PROBE_THREADS, 1, 1],
            0,
            &[to.address().to_ne_bytes(), rounds.to_ne_bytes()],
        )?;
        end.record()?;
        end.wait()?;
        let threads = f64::from(blocks) * f64::from(PROBE_THREADS);
        let operations = 2.0 * PROBE_FMAS * rounds as f64 * threads;
        flops = flops.max(operations / (end.since(&start)? * 1e-9));
    }
    Ok(DeviceCeilings { copy, flops })
}
