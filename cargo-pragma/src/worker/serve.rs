//! The worker's end: reads requests, runs kernels, writes replies.
//!
//! Owns the limits that the process puts on itself and the arenas that arguments live in. Judges nothing.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufWriter, Write};
use std::time::{Duration, Instant};

use super::abi;
use super::loader::Kernel;
use super::memory::Region;
use super::protocol::{Access, ArgSpec, Layout, Poison, Reply, Request};
use crate::inputs::{Rng, fill};
use crate::process::confine::{ConfineError, EXIT_UNCONFINED, Policy};

/// Runs until standard input ends. `args` are what follows `__worker` on the command line: the limit of address space
/// in bytes, of processor time in seconds, and the policy that confines this process, unless that was waived.
///
/// Returns the exit code of the process.
pub fn serve(args: &[OsString]) -> u8 {
    match try_serve(args) {
        Ok(()) => 0,
        Err(error)
            if error
                .get_ref()
                .is_some_and(|error| error.is::<ConfineError>()) =>
        {
            eprintln!("sandbox: {error}");
            EXIT_UNCONFINED
        }
        Err(error) => {
            eprintln!("worker: {error}");
            70
        }
    }
}

fn try_serve(args: &[OsString]) -> io::Result<()> {
    limit_self(args)?;
    // Before the first library is loaded, and while this is the only thread.
    if let Some((policy, _)) = args.get(2..).and_then(Policy::parse) {
        policy.apply().map_err(io::Error::other)?;
    } else if args.len() > 2 {
        return Err(io::Error::other("the policy cannot be read"));
    }
    // Whatever a kernel prints must not mix with replies: they go to a copy of standard output, and standard output
    // itself becomes standard error.
    let replies = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let mut replies = BufWriter::new(File::from(replies));
    send(
        &mut replies,
        &Reply::Ready {
            pid: std::process::id(),
        },
    )?;
    let mut session = Session::default();
    for line in io::stdin().lock().lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(request) => session
                .answer(request)
                .unwrap_or_else(|message| Reply::Failed { message }),
            Err(error) => Reply::Failed {
                message: error.to_string(),
            },
        };
        send(&mut replies, &reply)?;
    }
    Ok(())
}

fn send(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reply)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn limit_self(args: &[OsString]) -> io::Result<()> {
    let number = |i: usize| {
        args.get(i)
            .and_then(|text| text.to_str()?.parse::<u64>().ok())
    };
    let (Some(memory), Some(seconds)) = (number(0), number(1)) else {
        return Err(io::Error::other("expected a memory limit and a time limit"));
    };
    rlimit::setrlimit(rlimit::Resource::CORE, 0, 0)?;
    rlimit::setrlimit(rlimit::Resource::AS, memory, memory)?;
    rlimit::setrlimit(rlimit::Resource::CPU, seconds, seconds)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// What a worker keeps between requests.
#[derive(Default)]
struct Session {
    kernels: Vec<Kernel>,
    /// The regions of the last call in each layout, reused by the next one of the same sizes: new data then lies at
    /// old addresses.
    arenas: Vec<Arena>,
    /// The contents that the last call started from, by what made them (an argument and the views of its memory): a
    /// case is called several times in a row.
    contents: Vec<(Vec<ArgSpec>, Vec<u8>)>,
}

/// Regions for the arguments of a call.
struct Arena {
    layout: Layout,
    regions: Vec<Region>,
    /// What each region was last filled for.
    holds: Vec<ArgSpec>,
}

impl Arena {
    /// Whether these arguments fit its regions.
    fn fits(&self, layout: Layout, args: &[ArgSpec]) -> bool {
        let same = |(a, b): (&ArgSpec, &ArgSpec)| {
            a.bytes() == b.bytes() && a.elem.bytes() == b.elem.bytes() && a.view_of == b.view_of
        };
        self.layout == layout
            && self.holds.len() == args.len()
            && self.holds.iter().zip(args).all(same)
    }
}

impl Session {
    fn answer(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Load { path, symbol } => {
                self.kernels.push(Kernel::open(&path, &symbol)?);
                Ok(Reply::Loaded {
                    library: self.kernels.len() - 1,
                })
            }
            Request::Call {
                library,
                args,
                layout,
                poison,
                threads,
                outputs,
            } => {
                self.generate(&args);
                let at = self.arenas.iter().position(|arena| arena.layout == layout);
                let known = at
                    .map(|at| self.arenas.swap_remove(at))
                    .filter(|arena| arena.fits(layout, &args));
                let (mut arena, stale) = match known {
                    Some(arena) => {
                        let changed = |i: usize| makers(&arena.holds, i) != makers(&args, i);
                        let stale = (0..args.len()).map(changed).collect();
                        (arena, stale)
                    }
                    None => (
                        map(&args, layout).map_err(|error| error.to_string())?,
                        vec![true; args.len()],
                    ),
                };
                arena.holds = args;
                let kernel = self.kernels.get(library).ok_or("no such library")?;
                kernel.set_threads(threads);
                let contents: Vec<&[u8]> = self.contents.iter().map(|(_, c)| &c[..]).collect();
                let reply = call(kernel, &mut arena, &contents, &stale, poison, &outputs)
                    .map_err(|error| error.to_string())?;
                self.arenas.push(arena);
                Ok(reply)
            }
            Request::Device(_) => Err("this worker has no GPU".to_owned()),
            Request::Time {
                libraries,
                args,
                threads,
                budget_ns,
                max_rounds,
                seed,
            } => {
                self.arenas.clear();
                self.contents.clear();
                let kernels: Vec<&Kernel> = libraries
                    .iter()
                    .map(|&library| self.kernels.get(library).ok_or("no such library"))
                    .collect::<Result<_, _>>()?;
                kernels
                    .iter()
                    .for_each(|kernel| kernel.set_threads(threads));
                time(
                    &kernels,
                    &args,
                    Duration::from_nanos(budget_ns),
                    max_rounds,
                    seed,
                )
            }
        }
    }

    /// Makes `contents` those of `args`, one for every argument.
    fn generate(&mut self, args: &[ArgSpec]) {
        self.contents.truncate(args.len());
        for i in 0..args.len() {
            let makers = makers(args, i);
            if self
                .contents
                .get(i)
                .is_some_and(|(known, _)| *known == makers)
            {
                continue;
            }
            let mut bytes = Vec::new();
            if args[i].access != Access::Write {
                bytes.resize(args[i].own_bytes() as usize, 0);
                write_content(&mut bytes, &makers);
            }
            let entry = (makers, bytes);
            match self.contents.get_mut(i) {
                Some(slot) => *slot = entry,
                None => self.contents.push(entry),
            }
        }
    }
}

/// Argument `at` and those that are views of its memory.
fn makers(args: &[ArgSpec], at: usize) -> Vec<ArgSpec> {
    let views = args.iter().filter(|arg| arg.view_of == Some(at));
    args.get(at).into_iter().chain(views).cloned().collect()
}

/// Writes what an argument and the views of its memory say into it.
fn write_content(bytes: &mut [u8], makers: &[ArgSpec]) {
    for arg in makers {
        // A view covers whole elements only.
        let whole = bytes.len() / arg.elem.bytes() * arg.elem.bytes();
        fill(&mut bytes[..whole], arg.elem, &arg.values, arg.seed);
    }
}

/// Every argument's region and the bytes of its elements: views lie in the region of another one.
fn places(args: &[ArgSpec]) -> Vec<(usize, usize)> {
    let place = |(i, arg): (usize, &ArgSpec)| {
        let region = arg.view_of.filter(|base| *base < args.len()).unwrap_or(i);
        (region, arg.elem.bytes())
    };
    args.iter().enumerate().map(place).collect()
}

fn map(args: &[ArgSpec], layout: Layout) -> io::Result<Arena> {
    let regions = args
        .iter()
        .map(|arg| {
            let bytes = usize::try_from(arg.own_bytes()).map_err(io::Error::other)?;
            let mut region = Region::new(bytes, arg.elem.bytes(), layout, 0)?;
            region.prefer_huge_pages();
            Ok(region)
        })
        .collect::<io::Result<_>>()?;
    Ok(Arena {
        layout,
        regions,
        holds: args.to_vec(),
    })
}

fn call(
    kernel: &Kernel,
    arena: &mut Arena,
    contents: &[&[u8]],
    stale: &[bool],
    poison: Poison,
    outputs: &std::path::Path,
) -> io::Result<Reply> {
    let Arena { regions, holds, .. } = arena;
    let all = regions
        .iter_mut()
        .zip(holds.iter())
        .zip(contents.iter().zip(stale));
    for ((region, arg), (content, stale)) in all {
        region.draw_canaries();
        match arg.access {
            Access::Write => poison.fill(region.bytes_mut(), arg.elem),
            // Nothing could write to it since the last call put this very content there.
            Access::Read if !stale => {}
            Access::Read | Access::ReadWrite => region.bytes_mut().copy_from_slice(content),
        }
        if arg.access == Access::Read {
            region.set_writable(false)?;
        }
    }
    let (status, returned) = kernel.call(regions, &places(holds));
    let overrun = regions.iter().position(|region| !region.canaries_intact());
    for region in regions.iter_mut() {
        region.set_writable(true)?;
    }
    let mut pieces = Vec::new();
    // Written over and not truncated: the system need not find new pages for every call.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(outputs)?;
    let written = regions
        .iter()
        .zip(holds.iter())
        .filter(|(_, arg)| arg.access != Access::Read)
        .map(|(region, _)| region.bytes());
    for piece in written.chain(returned.iter().map(Vec::as_slice)) {
        file.write_all(piece)?;
        pieces.push(piece.len() as u64);
    }
    Ok(Reply::Called {
        status,
        pieces,
        overrun,
    })
}

/// A sample lasts at least about this long, so that the clock's own cost does not show.
const SAMPLE_NS: f64 = 30_000.0;
/// Calls that are slower than this even when cold are timed one by one without finding out more about them.
const CALIBRATE_BELOW_NS: f64 = 2e6;
/// Fewer rounds than this prove nothing; they are run whatever they cost.
const MIN_ROUNDS: usize = 5;

fn time(
    kernels: &[&Kernel],
    args: &[ArgSpec],
    budget: Duration,
    max_rounds: usize,
    seed: u64,
) -> Result<Reply, String> {
    let started = Instant::now();
    let mut regions = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        let bytes = usize::try_from(arg.own_bytes()).map_err(|error| error.to_string())?;
        // Where allocators put large buffers: 16 bytes into a line. The stagger keeps equal offsets into pages apart.
        let mut region = Region::new(bytes, arg.elem.bytes(), Layout::Left, 16 + 320 * i)
            .map_err(|error| error.to_string())?;
        match arg.access {
            Access::Write => Poison::A.fill(region.bytes_mut(), arg.elem),
            Access::Read | Access::ReadWrite => {
                write_content(region.bytes_mut(), &makers(args, i));
            }
        }
        regions.push(region);
    }
    let pristine: Vec<Option<Vec<u8>>> = regions
        .iter()
        .zip(args)
        .map(|(region, arg)| (arg.access == Access::ReadWrite).then(|| region.bytes().to_vec()))
        .collect();
    let restore = |regions: &mut Vec<Region>| {
        for (region, old) in regions.iter_mut().zip(&pristine) {
            if let Some(old) = old {
                region.bytes_mut().copy_from_slice(old);
            }
        }
    };
    let places = places(args);
    let mut batches = Vec::new();
    for kernel in kernels {
        restore(&mut regions);
        // The first call also warms caches, starts threads and touches pages.
        let start = Instant::now();
        let status = kernel.call_repeatedly(&regions, &places, 1);
        if status != 0 {
            return Err(match status {
                abi::STATUS_PANIC => "the function panics on the generated inputs; say with `inputs(..)` from which ranges its arguments come".to_owned(),
                status => format!("the call to time ended with status {status}"),
            });
        }
        let mut once = start.elapsed().as_nanos() as f64;
        if once < CALIBRATE_BELOW_NS {
            let mut batch = 1usize;
            loop {
                restore(&mut regions);
                once = clock(kernel, &regions, &places, batch);
                if once * batch as f64 >= SAMPLE_NS / 4.0 || batch >= 1 << 20 {
                    break;
                }
                batch *= 4;
            }
        }
        batches.push(((SAMPLE_NS / once.max(0.1)).ceil() as usize).clamp(1, 1 << 20));
    }
    let mut rng = Rng::new(seed);
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    let mut samples = Vec::new();
    while samples.len() < max_rounds && (samples.len() < MIN_ROUNDS || started.elapsed() < budget) {
        rng.shuffle(&mut order);
        let mut round = vec![0.0; kernels.len()];
        for &i in &order {
            restore(&mut regions);
            round[i] = clock(kernels[i], &regions, &places, batches[i]);
        }
        samples.push(round);
    }
    Ok(Reply::Timed { samples })
}

/// Nanoseconds per call over `batch` calls.
fn clock(kernel: &Kernel, regions: &[Region], places: &[(usize, usize)], batch: usize) -> f64 {
    let start = Instant::now();
    kernel.call_repeatedly(regions, places, batch);
    start.elapsed().as_nanos() as f64 / batch as f64
}
