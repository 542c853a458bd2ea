//! Native calls of functions whose parameters or results are more than slices and scalars.

use ndarray::{Array1, Array2, Array3};

use crate::meaning::{Arg, IntoArgs, Leaves, check};

macro_rules! by_name {
    ($module:ident, $test:ident, $file:literal: $($name:ident: $call:expr,)*) => {
        #[allow(clippy::all, reason = "written as people write, not as clippy would")]
        #[path = $file]
        mod $module;

        #[test]
        fn $test() {
            let text = include_str!($file);
            $(check($file, text, stringify!($name), &$call);)*
        }
    };
}

fn gain(a: &mut Leaves<'_>) -> records::Gain {
    let number = |a: &mut Leaves<'_>, name: &str| if a.has(name) { a.get(name) } else { 0.5 };
    records::Gain {
        factor: number(a, "self.factor"),
        offset: number(a, "self.offset"),
        data: a.vec("self.data"),
    }
}

fn filter(a: &mut Leaves<'_>) -> records::Filter {
    let array = |a: &mut Leaves<'_>, name: &str| {
        if a.has(name) {
            a.vec(name)
        } else {
            vec![0.0; 3]
        }
    };
    let taps = array(a, "self.taps");
    let history = array(a, "self.history");
    records::Filter {
        a: if a.has("self.a") {
            a.get("self.a")
        } else {
            0.0
        },
        last: if a.has("self.last") {
            a.vec("self.last")[0]
        } else {
            0.0
        },
        taps: [taps[0], taps[1], taps[2]],
        history: [history[0], history[1]],
        count: if a.has("self.count") {
            a.vec("self.count")[0]
        } else {
            0
        },
    }
}

fn points(flat: &[f32]) -> Vec<records::P2> {
    let point = |p: &[f32]| records::P2 { x: p[0], y: p[1] };
    flat.chunks_exact(2).map(point).collect()
}

fn flat(points: &[records::P2]) -> Vec<f32> {
    points.iter().flat_map(|p| [p.x, p.y]).collect()
}

fn particles(flat: &[f32]) -> Vec<records::Particle> {
    let particle = |p: &[f32]| records::Particle {
        at: records::P2 { x: p[0], y: p[1] },
        v: [p[2], p[3]],
        mass: p[4],
    };
    flat.chunks_exact(5).map(particle).collect()
}

fn block_list(a: &mut Leaves<'_>) -> Vec<records::Block> {
    let (scales, bytes) = (a.vec::<f32>("blocks.f32"), a.vec::<i8>("blocks.i8"));
    let block = |(s, q): (&[f32], &[i8])| records::Block {
        scale: s[0],
        q: [q[4], q[5], q[6], q[7]],
    };
    scales
        .chunks_exact(2)
        .zip(bytes.chunks_exact(8))
        .map(block)
        .collect()
}

fn mode(a: &mut Leaves<'_>) -> records::Mode {
    use records::Mode::{Add, Mul, Skip};
    [Add, Mul, Skip][a.get::<u8>("mode") as usize % 3]
}

fn option(a: &mut Leaves<'_>, name: &str) -> Option<f64> {
    let value = a.get::<f64>(name);
    a.get::<bool>(&format!("{name}.is_some")).then_some(value)
}

fn bias(a: &mut Leaves<'_>) -> Option<Vec<f32>> {
    let values = a.vec("bias");
    a.get::<bool>("bias.is_some").then_some(values)
}

fn grid(a: &mut Leaves<'_>) -> records::Grid {
    records::Grid {
        width: a.get("self.width"),
        height: a.get("self.height"),
        cells: a.vec("self.cells"),
        next: if a.has("self.next") {
            a.vec("self.next")
        } else {
            Vec::new()
        },
    }
}

fn rows(a: &mut Leaves<'_>) -> records::Rows {
    let (flat, cols) = (
        a.vec::<f32>("self.weights"),
        a.get::<usize>("self.weights.shape.1"),
    );
    records::Rows {
        weights: flat.chunks_exact(cols).map(<[f32]>::to_vec).collect(),
        bias: a.vec("self.bias"),
    }
}

by_name!(records, records_mean_the_same, "cases/records.rs":
    apply: |a| {
        let mut out = a.vec("out");
        gain(a).apply(&mut out);
        a.set("out", out);
        vec![]
    },
    scale_in_place: |a| {
        let mut gain = gain(a);
        gain.scale_in_place();
        a.set("self.data", gain.data);
        vec![]
    },
    scale_by_index: |a| {
        let mut gain = gain(a);
        gain.scale_by_index(a.get("k"));
        a.set("self.data", gain.data);
        vec![]
    },
    total: |a| gain(a).total().into_args(),
    scaled: |a| {
        let gain = gain(a).scaled();
        (gain.factor, gain.offset, gain.data).into_args()
    },
    run: |a| {
        let (mut filter, mut out) = (filter(a), a.vec("out"));
        filter.run(&a.vec::<f64>("x"), &mut out);
        a.set("out", out);
        a.set("self.last", vec![filter.last]);
        a.set("self.count", vec![filter.count]);
        vec![]
    },
    fir: |a| {
        let (mut filter, mut x) = (filter(a), a.vec("x"));
        filter.fir(&mut x);
        a.set("x", x);
        a.set("self.history", filter.history.to_vec());
        vec![]
    },
    through_a_helper: |a| {
        let (mut filter, mut x) = (filter(a), a.vec("x"));
        filter.through_a_helper(&mut x);
        a.set("x", x);
        a.set("self.last", vec![filter.last]);
        vec![]
    },
    centre: |a| records::centre(&points(&a.vec::<f32>("points"))).into_args(),
    lengths: |a| {
        let mut out = a.vec("out");
        records::lengths(&points(&a.vec::<f32>("points")), &mut out);
        a.set("out", out);
        vec![]
    },
    move_points: |a| {
        let mut list = points(&a.vec::<f32>("points"));
        let by = records::P2 { x: a.get("by.x"), y: a.get("by.y") };
        records::move_points(&mut list, &by, a.get("k"));
        a.set("points", flat(&list));
        vec![]
    },
    replace_points: |a| {
        let mut list = points(&a.vec::<f32>("points"));
        records::replace_points(&mut list, a.get("k"));
        a.set("points", flat(&list));
        vec![]
    },
    doubled_points: |a| flat(&records::doubled_points(&points(&a.vec::<f32>("points")))).into_args(),
    pushed_points: |a| flat(&records::pushed_points(&a.vec::<f32>("x"), &a.vec::<f32>("y"))).into_args(),
    integrate: |a| {
        let mut list = particles(&a.vec::<f32>("particles"));
        records::integrate(&mut list, a.get("dt"));
        let flat = |p: &records::Particle| [p.at.x, p.at.y, p.v[0], p.v[1], p.mass];
        a.set("particles", list.iter().flat_map(flat).collect::<Vec<f32>>());
        vec![]
    },
    momentum: |a| records::momentum(&particles(&a.vec::<f32>("particles"))).into_args(),
    dequantised: |a| {
        let mut out = a.vec("out");
        records::dequantised(&block_list(a), &mut out);
        a.set("out", out);
        vec![]
    },
    block_sums: |a| records::block_sums(&block_list(a)).into_args(),
    with_mode: |a| {
        let mut out = a.vec("out");
        records::with_mode(&a.vec::<f32>("x"), a.get("k"), mode(a), &mut out);
        a.set("out", out);
        vec![]
    },
    mode_in_loops: |a| {
        records::mode_in_loops(&a.vec::<f32>("x"), a.get("cols"), mode(a)).into_args()
    },
    local_mode: |a| records::local_mode(&a.vec::<i32>("x")).into_args(),
    optional_bias: |a| {
        let (mut out, bias) = (a.vec("out"), bias(a));
        records::optional_bias(&a.vec::<f32>("x"), bias.as_deref(), a.get("cols"), &mut out);
        a.set("out", out);
        vec![]
    },
    optional_bias_let: |a| {
        let (mut x, bias) = (a.vec("x"), bias(a));
        records::optional_bias_let(&mut x, bias.as_deref());
        a.set("x", x);
        vec![]
    },
    optional_scalar: |a| records::optional_scalar(&a.vec::<f64>("x"), option(a, "k")).into_args(),
    optional_match: |a| {
        let mut out = a.vec("out");
        records::optional_match(&a.vec::<f64>("x"), option(a, "lo"), option(a, "hi"), &mut out);
        a.set("out", out);
        vec![]
    },
    tuple_sizes: |a| {
        let mut out = a.vec("out");
        records::tuple_sizes(&a.vec::<f32>("x"), (a.get("h"), a.get("w")), &mut out);
        a.set("out", out);
        vec![]
    },
    nested_rows: |a| {
        let (points, m) = (a.vec::<f32>("points"), a.vec::<f32>("m"));
        let (mut out, m) = (a.vec::<f32>("out"), m.as_chunks::<3>().0);
        records::nested_rows(points.as_chunks().0, &[m[0], m[1]], out.as_chunks_mut().0);
        a.set("out", out);
        vec![]
    },
    nested_vec: |a| {
        records::nested_vec(a.vec::<f32>("points").as_chunks().0, a.get("k")).into_args()
    },
    array_result: |a| records::array_result(&a.vec::<f32>("x")).into_args(),
    two_results: |a| records::two_results(&a.vec::<f32>("x"), a.get("cols")).into_args(),
    running_total: |a| {
        let mut total = a.vec::<f32>("total");
        records::running_total(&a.vec::<f32>("x"), &mut total[0]);
        a.set("total", total);
        vec![]
    },
    life: |a| {
        // The caller of a kernel exchanges the owners.
        let mut grid = grid(a);
        grid.life();
        a.set("self.cells", grid.next);
        a.set("self.next", grid.cells);
        vec![]
    },
    flipped: |a| grid(a).flipped().into_args(),
    forward: |a| rows(a).forward(&a.vec::<f32>("x")).into_args(),
    forward_index: |a| {
        let mut out = a.vec("out");
        rows(a).forward_index(&a.vec::<f32>("x"), &mut out);
        a.set("out", out);
        vec![]
    },
    local_rows: |a| records::local_rows(&a.vec::<f32>("x"), a.get("n")).into_args(),
    cloned_field: |a| gain(a).cloned_field(a.get("k")).into_args(),
    max_minus_min: |a| gain(a).max_minus_min().into_args(),
    gather: |a| {
        let weights = a.vec::<f32>("self.weights");
        let mesh = records::Mesh::<3> {
            weights: [weights[0], weights[1], weights[2]],
            index: a.vec::<u32>("self.index").as_chunks().0.to_vec(),
        };
        let mut out = a.vec("out");
        mesh.gather(&a.vec::<f32>("values"), &mut out);
        a.set("out", out);
        vec![]
    },
);

macro_rules! slices {
    ($a:ident, $call:expr, $($input:ident: $from:ty),* => $out:ident: $to:ty) => {{
        let mut out = $a.vec::<$to>(stringify!($out));
        $call($(&$a.vec::<$from>(stringify!($input)),)* &mut out);
        $a.set(stringify!($out), out);
        vec![]
    }};
}

by_name!(generics, generics_mean_the_same, "cases/generics.rs":
    fir: |a| slices!(a, generics::fir, x: f32, taps: f32 => out: f32),
    norm: |a| generics::norm(&a.vec::<f64>("x")).into_args(),
    averages: |a| slices!(a, generics::averages, x: f32 => out: f32),
    argmax: |a| generics::argmax(&a.vec::<i32>("x")).into_args(),
    sums: |a| {
        let mut out = a.vec::<u32>("out");
        generics::sums(&a.vec::<u32>("x"), a.get("cols"), &mut out);
        a.set("out", out);
        vec![]
    },
    with_sum: |a| generics::with_sum(&a.vec::<f32>("x")).into_args(),
    blocks: |a| slices!(a, generics::blocks::<4>, x: f32 => out: f32),
    interleave: |a| {
        let mut out = a.vec::<f32>("out");
        generics::interleave(&a.vec::<f32>("a"), &a.vec::<f32>("b"), out.as_chunks_mut::<2>().0);
        a.set("out", out);
        vec![]
    },
    areas: |a| slices!(a, generics::areas, x: f32 => out: f32),
    takes_a_closure: |a| {
        let mut out = a.vec::<f32>("out");
        generics::takes_a_closure(&a.vec::<f32>("x"), &mut out, a.get("k"));
        a.set("out", out);
        vec![]
    },
    own_macros: |a| slices!(a, generics::own_macros, x: f32 => out: f32),
    into_f64: |a| generics::into_f64(&a.vec::<f32>("x")).into_args(),
    widened: |a| slices!(a, generics::widened, x: u8 => out: f32),
);

fn one(a: &mut Leaves<'_>, name: &str) -> Array1<f32> {
    Array1::from_vec(a.vec(name))
}

fn two<T: crate::meaning::Many>(a: &mut Leaves<'_>, name: &str) -> Array2<T> {
    let extent = |axis: usize| format!("{name}.shape.{axis}");
    let shape = (a.get(&extent(0)), a.get(&extent(1)));
    Array2::from_shape_vec(shape, a.vec(name)).unwrap()
}

fn three(a: &mut Leaves<'_>, name: &str) -> Array3<f32> {
    let extent = |axis: usize| format!("{name}.shape.{axis}");
    let shape = (a.get(&extent(0)), a.get(&extent(1)), a.get(&extent(2)));
    Array3::from_shape_vec(shape, a.vec(name)).unwrap()
}

fn result_one(array: Array1<f32>) -> Vec<Arg> {
    (array.to_vec(), array.len()).into_args()
}

fn result_two(array: Array2<f32>) -> Vec<Arg> {
    let (h, w) = array.dim();
    (array.into_raw_vec_and_offset().0, h, w).into_args()
}

fn raw<T: Clone, D: ndarray::Dimension>(array: ndarray::Array<T, D>) -> Vec<T> {
    array.into_raw_vec_and_offset().0
}

by_name!(arrays, arrays_mean_the_same, "cases/arrays.rs":
    laplace: |a| {
        let (u, mut next) = (two::<f64>(a, "u"), two::<f64>(a, "next"));
        let diff = arrays::laplace(&u, &mut next);
        a.set("next", raw(next));
        diff.into_args()
    },
    row_norms: |a| result_one(arrays::row_norms(two(a, "x").view())),
    outer_rows: |a| {
        let mut out = one(a, "out");
        arrays::outer_rows(&two(a, "x"), &mut out);
        a.set("out", raw(out));
        vec![]
    },
    column_sums: |a| {
        let mut out = a.vec("out");
        arrays::column_sums(&two(a, "x"), &mut out);
        a.set("out", out);
        vec![]
    },
    columns_max: |a| arrays::columns_max(&two(a, "x")).into_args(),
    scale_rows: |a| {
        let mut x = two(a, "x");
        arrays::scale_rows(&mut x, &one(a, "k"));
        a.set("x", raw(x));
        vec![]
    },
    scale_rows_index: |a| {
        let mut x = two(a, "x");
        arrays::scale_rows_index(&mut x, &one(a, "k"));
        a.set("x", raw(x));
        vec![]
    },
    add_row: |a| {
        let mut x = two(a, "x");
        arrays::add_row(&mut x, one(a, "b").view());
        a.set("x", raw(x));
        vec![]
    },
    arithmetic: |a| result_two(arrays::arithmetic(&two(a, "a"), &two(a, "b"), a.get("k"))),
    by_mapv: |a| result_two(arrays::by_mapv(&two(a, "x"))),
    zipped: |a| {
        let mut out = two(a, "out");
        arrays::zipped(&two(a, "a"), &two(a, "b"), &mut out);
        a.set("out", raw(out));
        vec![]
    },
    zipped_rows: |a| {
        let mut out = one(a, "out");
        arrays::zipped_rows(two(a, "x").view(), &mut out);
        a.set("out", raw(out));
        vec![]
    },
    assigned: |a| {
        let mut out = two(a, "out");
        arrays::assigned(&two(a, "x"), &mut out.view_mut(), a.get("k"));
        a.set("out", raw(out));
        vec![]
    },
    blocks: |a| result_two(arrays::blocks(&three(a, "x"))),
    trimmed: |a| arrays::trimmed(&two(a, "x")).into_args(),
    every_second: |a| {
        let mut out = one(a, "out");
        arrays::every_second(&one(a, "x"), &mut out);
        a.set("out", raw(out));
        vec![]
    },
    transposed: |a| result_two(arrays::transposed(&two(a, "x"))),
    from_fn: |a| {
        let array = arrays::from_fn(a.get("n"), a.get("m"));
        let (h, w) = array.dim();
        (raw(array), h, w).into_args()
    },
    shapes: |a| arrays::shapes(&three(a, "x")).into_args(),
    as_slices: |a| {
        let mut out = one(a, "out");
        arrays::as_slices(&one(a, "x"), &mut out);
        a.set("out", raw(out));
        vec![]
    },
    indexed: |a| {
        let mut x = two::<i32>(a, "x");
        arrays::indexed(&mut x);
        a.set("x", raw(x));
        vec![]
    },
    forward: |a| {
        let layer = arrays::Layer { weights: two(a, "self.weights"), bias: one(a, "self.bias") };
        result_one(layer.forward(one(a, "x").view()))
    },
);
