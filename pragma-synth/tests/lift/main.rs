//! Golden tests of the lifter: what each function of `cases/*.rs` is read as.
//!
//! A case file is plain Rust; every `pub fn` in it is a kernel, and a doc line `attr: ..` holds
//! what its attribute would. Beside it stands the text of the programs it is read as.
//! `PRAGMA_BLESS=1` rewrites those.

mod forms;
mod meaning;
mod robust;
mod support;
mod understands;

use std::path::Path;

use meaning::meanings;
use support::{kernels, source_crate};

meanings!(quickstart, quickstart_means_the_same, "cases/quickstart.rs":
    saxpy(_, _, _), dot(_, _), gelu(_, _), softmax(_, _), rms_norm(_, _, _, _),
    layer_norm(_, _, _, _, _), cosine(_, _), argmax(_, _, _));

meanings!(spellings, spellings_mean_the_same, "cases/spellings.rs": saxpy_index(_, _, _), saxpy_n(_, _, _, _), saxpy_for_each(_, _, _), saxpy_while(_, _, _), saxpy_vec(_, _, _), saxpy_push(_, _, _), dot_index(_, _), dot_fold(_, _), dot_enumerate(_, _), dot_map_range(_, _), dot_chunks(_, _), dot_unrolled(_, _), gelu_helper(_, _), gelu_in_place(_), gelu_collect(_), gelu_closure(_, _), gelu_sqrt(_, _), softmax_index(_, _, _, _), softmax_rows_slices(_, _), softmax_iter(_, _, _), softmax_reduce(_, _), rms_norm_rows(_, _, _, _, _, _), rms_norm_named_rows(_, _, _, _), rms_norm_one(_, _, _), layer_norm_chunks(_, _, _, _), layer_norm_two_sums(_, _, _, _), cosine_helpers(_, _), cosine_zip(_, _), cosine_fold(_, _), cosine_rows(_, _, _), argmax_first(_, _, _), argmax_max_by(_, _, _), argmax_partial(_, _, _), argmax_fold(_, _, _), argmax_collect(_, _));

meanings!(idioms, idioms_mean_the_same, "cases/idioms.rs": quantize(_, _, _), dequantize(_, _, _, _), luma(_, _), luma_chunks(_, _), matmul(_, _, _, _, _, _), matvec(_, _, _), transpose(_, _, _, _), cumsum(_), cumsum_index(_), diff(_, _), fir(_, _, _), count_byte(_, _), count_filter(_, _), sum_positive(_), any_negative(_), all_below(_, _), first_above(_, _), hamming(_, _), xor_key(_, _), xor_cycle(_, _), min_max(_), max_int(_), min_copied(_), relu_if(_), leaky(_, _), three_way(_, _), clamp_border(_, _), stencil(_, _, _, _), every_second(_, _), step_range(_), reverse(_, _), reverse_range(_, _), skip_take(_), triangle(_, _, _), histogram(_, _), gather(_, _, _), wrapping(_, _), local_table(_, _), early_return(_), helper_early(_, _), helper_search(_, _), if_let_search(_, _), continues(_, _), breaks(_), escape(_, _, _), pooled(_, _, _), rope(_, _, _), interleaved(_), matrix3(_, _, _), ema(_, _, _), block_scale(_, _, _), block_dot(_, _), alpha_over(_, _), filled(_, _, _), copied(_, _), signed_loop(_, _), small_signed(_), float_math(_, _), ordering(_, _), max_pool(_, _, _), assert_bound(_, _));

meanings!(inlining, inlining_means_the_same, "cases/inlining.rs": through_modules(_, _), path_free(_), smooth(_, _), grid_sum(_), nbody(_, _, _), mixes(_, _, _, _), generic_helper(_, _, _), through_references(_, _), tuple_helper(_, _), inner_items(_, _), nested_closures(_, _, _), counting_closure(_), minmax_functions(_, _, _, _), blur(_, _, _), blur_zero(_, _, _), blocks(_, _, _));

meanings!(integers, integers_mean_the_same, "cases/integers.rs": fnv(_), adler(_), crc_bitwise(_), crc_nibbles(_), words(_), pack(_, _), unpack(_, _), nibbles(_, _, _), saturating(_, _, _), divisions(_, _, _), widening(_, _), leading(_, _), float_bits(_, _), from_bits(_, _), delta_decode(_), zigzag(_, _), run_lengths(_), first_repeat(_), binary_search(_, _), gcd(_, _, _), collatz(_, _), bool_slice(_, _), casts(_, _, _), unsigned_distance(_, _), majority(_), smith_waterman(_, _, _), while_columns(_, _), big_endian(_, _), signed_size(_, _, _), unsigned_size(_, _, _), repeated(_, _));

meanings!(vecs, vecs_mean_the_same, "cases/vecs.rs": two_pass(_, _), prefix(_), scratch_rows(_, _, _), small_array(_, _), halves(_, _), sub_slices(_, _, _), by_column(_, _, _), strided_column(_, _, _), outer(_, _), chained(_, _), enumerate_skip(_), rev_enumerate(_), horner(_, _, _), take_while_sum(_), filter_map_sum(_), zip_three(_, _, _, _), rows_of_rows(_, _, _, _), swap_ends(_), butterflies(_, _), fill_rows(_, _), attention(_, _, _, _, _), conv1d(_, _, _), last_first(_), next_cursor(_), nested_tuple(_, _), euclidean(_, _), weighted_median(_, _), scan_sum(_), scan_ema(_, _, _), raw_names(_, _), nearest(_, _), largest_magnitude(_), lengths_in_bits(_));

meanings!(jumps, jumps_mean_the_same, "cases/jumps.rs": labelled_continue(_, _, _), labelled_break(_, _, _), three_levels(_, _), helper_returns_from_two_loops(_), helper_with_many_exits(_, _, _), helper_with_nested_guards(_, _, _), while_with_break(_), while_with_continue(_), loop_cursor(_), two_cursors(_, _), match_in_loop(_, _), if_else_chain(_, _), block_value(_, _), cursor(_, _, _, _), stepping_cursor(_, _), two_steps(_, _), cursor_on_one_path(_, _), cursor_that_breaks(_));

meanings!(outcomes, outcomes_mean_the_same, "cases/outcomes.rs": add_checked(_, _, _), moving_sum(_, _, _), mean_option(_), first_negative(_), first_negative_loop(_), harmonic(_), reciprocals_or(_, _, _), reciprocals_matched(_, _), scatter_rows(_, _, _, _), histogram_checked(_, _), parse_digits(_, _), option_chain(_, _), result_ok_or(_, _), collected(_, _), early_vec(_, _), let_else_guard(_, _), if_let_ok(_, _));

meanings!(more, more_mean_the_same, "cases/more.rs": digits(_), lower(_), classes(_), hex(_, _), median_of_nine(_, _), sorted_by(_, _), largest(_, _), rounds(_, _), mapped_arrays(_, _, _), matrix_product(_, _), xorshift(_, _, _), box_filter(_, _, _, _), previous(_, _), tables(_, _));

#[test]
fn golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lift/cases");
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect();
    files.sort();
    let bless = std::env::var_os("PRAGMA_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let krate = source_crate(&name, &text);
        let mut found = String::new();
        for kernel in kernels(&krate) {
            found.push_str(&kernel.describe(&krate));
            found.push('\n');
        }
        let golden = path.with_extension("pir");
        if bless {
            std::fs::write(&golden, &found).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != found {
            wrong.push(name);
        }
    }
    assert!(
        wrong.is_empty(),
        "read differently than recorded (PRAGMA_BLESS=1 to update): {wrong:?}"
    );
}

/// The functions of the examples are read, with the shapes that their attributes give.
#[test]
fn examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut count = 0;
    for krate in ["quickstart/src", "bin-app/src"] {
        for entry in std::fs::read_dir(root.join(krate)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let krate = source_crate("example.rs", &text);
            for kernel in support::marked(&krate) {
                let name = kernel.function.sig.ident.to_string();
                let lifted = kernel
                    .lift(&krate)
                    .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
                for (param, shape) in &kernel.attribute.shapes {
                    assert!(
                        lifted.shapes.contains(&(param.clone(), shape.clone())),
                        "{name}"
                    );
                }
                count += 1;
            }
        }
    }
    assert!(count >= 9, "{count}");
}
