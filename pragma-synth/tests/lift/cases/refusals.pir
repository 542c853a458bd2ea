# refusals.rs:10:27: `fib` calls itself
# why: helpers are read in place of their calls, which must come to an end
# help: use a loop

# refusals.rs:15:18: the function `libm::erff` is not known
# why: it is not in this crate's sources, so the engine cannot see what it does
# help: write it out here, or as a function of this crate

# refusals.rs:20:5: sorting a list of this length is not understood
# why: a kernel is loops over places that are known; the standard library sorts long lists well
# help: sort before the function that is tuned, keep the first `k` with `truncate(k)`, or sort a fixed array of at most 64

# refusals.rs:26:9: how long this `Vec` becomes depends on data
# why: a kernel's results have lengths that follow from its arguments
# help: write into `out: &mut [_]` and return how much of it was used

# refusals.rs:34:5: how long this `Vec` becomes depends on data
# why: a kernel's results have lengths that follow from its arguments
# help: write into `out: &mut [_]` and return how much of it was used

kernel early_vec(x: [f32; m], n: usize) -> list_1: ret [f32; m] dims(m) {
  if n == 0 {
    decline
  }
  alloc list_1 len m fill 1.0
}

# refusals.rs:46:14: the macro `square!` is not understood
# why: it is not one of this crate, so the engine cannot see what it does
# help: write out what it does

# refusals.rs:52:24: `by_ref` leaves the iterator half way
# why: how far it has come would have to be known afterwards
# help: call it on a new iterator: `x.iter().position(..)`

# refusals.rs:59:9: types differ here: `f64` and `f32`
# why: the types as read from the source must agree with those that rustc finds
# help: annotate the variable or the literal with its type

# refusals.rs:66:15: `LIMIT` is not known
# why: it is not in this crate's sources, so the engine cannot see what it is
# help: pass it as a parameter, or write its value here

# refusals.rs:72:14: the function `checked` is not known
# why: it is not in this crate's sources, so the engine cannot see what it does
# help: write it out here, or as a function of this crate

# refusals.rs:77:21: the method `to_string` of a number is not understood here
# why: the engine turns the function into plain loops, and knows no loops for this
# help: write it with loops, indexing and the common iterator methods

# refusals.rs:82:5: the macro `println!` is not understood
# why: it is not one of this crate, so the engine cannot see what it does
# help: write out what it does

# refusals.rs:87:5: `shape(return = [n, 2])` does not say the length of this `Vec`
# why: the function returns `3 * m` elements
# help: write `shape(return = [3 * m])`

# refusals.rs:91:5: the type of `best` is not known here
# why: its value comes later, and the engine reads types in order
# help: write its type: `let best: f32;`

# refusals.rs:97:6: it is not known that there is at least one item
# why: the first item is where the search starts from
# help: write the search as a loop that starts from a value of your own, such as `f32::NEG_INFINITY`

# refusals.rs:105:9: a slice, an iterator or the length of a `Vec` changes on one path only
# why: the loop nest must know where a slice begins and how long it is
# help: use an index and an `if` around the access, not around the slice

# refusals.rs:112:8: the function may fail after it has written something
# why: a kernel hands a call that fails over to the reference, which must find all arguments as they were
# help: check everything that can fail before the first write

# refusals.rs:129:9: the error of a `Result` is looked at
# why: a kernel knows only that something failed: what failed is the reference's business
# help: write `Err(_)`, or return the error with `?`

# refusals.rs:139:35: `Curve` has variants with fields
# why: the loop nest has numbers only; a variant without fields is one
# help: match on it before the loop, or use numbers and a flag

# refusals.rs:157:14: `v` here may be another one than in the macro
# why: the engine reads macros as text
# help: give the variable another name

# refusals.rs:163:5: the length of the returned `Vec` depends on data
# why: a kernel writes its result into memory that is allocated before it runs
# help: take `out: &mut [_]`, or return a `Vec` whose length follows from the arguments

# refusals.rs:173:50: the method `len` of something unknown is not understood
# why: the engine turns the function into plain loops, and knows no loops for this
# help: write it with loops, indexing, or another method

# refusals.rs:178:16: a slice is assigned where its kind may change
# why: the loop nest has scalar variables only; slices and tuples are names for them
# help: bind it to a new variable with `let`, or use an index instead

