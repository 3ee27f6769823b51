//! Collectives in all forms against a plain computation of what each rank must have.

mod support;

use std::ffi::c_int;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, failure, len, programs, to, try_program};

/// How a collective is called.
#[derive(Clone, Copy, Debug)]
enum Form {
    Blocking,
    Started,
    Persistent,
}

const FORMS: [Form; 3] = [Form::Blocking, Form::Started, Form::Persistent];

/// Calls a collective in one of its forms, to its end. A persistent one is started twice.
macro_rules! form {
    ($form:expr, $name:ident $started:ident $persistent:ident ($($argument:expr),*)) => {
        match $form {
            Form::Blocking => ok!($name($($argument,)* MPI_COMM_WORLD)),
            Form::Started => {
                let mut request = MPI_REQUEST_NULL;
                ok!($started($($argument,)* MPI_COMM_WORLD, &mut request));
                ok!(MPI_Wait(&mut request, MPI_STATUS_IGNORE));
            }
            Form::Persistent => {
                let mut request = MPI_REQUEST_NULL;
                ok!($persistent($($argument,)* MPI_COMM_WORLD, MPI_INFO_NULL, &mut request));
                for _ in 0..2 {
                    ok!(MPI_Start(&mut request));
                    ok!(MPI_Wait(&mut request, MPI_STATUS_IGNORE));
                }
                ok!(MPI_Request_free(&mut request));
            }
        }
    };
}

/// The element that rank `from` has for rank `to`, at place `i`.
fn element(from: usize, to: usize, i: usize) -> i64 {
    (10_000 * from + 100 * to + i) as i64
}

fn block(from: usize, to: usize, len: usize) -> Vec<i64> {
    (0..len).map(|i| element(from, to, i)).collect()
}

#[test]
fn a_broadcast_gives_all_ranks_what_each_root_has() {
    programs(|me, size| {
        for form in FORMS {
            for root in 0..size {
                let mut data = if me == root {
                    block(root, 0, 5)
                } else {
                    vec![0; 5]
                };
                form!(form, MPI_Bcast MPI_Ibcast MPI_Bcast_init(to(&mut data), 5, MPI_INT64_T, root as c_int));
                assert_eq!(data, block(root, 0, 5), "{form:?}");
            }
        }
    });
}

#[test]
fn gather_and_scatter_are_each_others_inverse() {
    programs(|me, size| {
        for form in FORMS {
            let root = size / 2;
            let mine = block(me, root, 3);
            let mut all = vec![0i64; if me == root { 3 * size } else { 0 }];
            form!(form, MPI_Gather MPI_Igather MPI_Gather_init(
                at(&mine), 3, MPI_INT64_T, to(&mut all), 3, MPI_INT64_T, root as c_int));
            if me == root {
                let expected: Vec<i64> = (0..size).flat_map(|from| block(from, root, 3)).collect();
                assert_eq!(all, expected, "{form:?}");
            }
            let mut back = vec![0i64; 3];
            form!(form, MPI_Scatter MPI_Iscatter MPI_Scatter_init(
                at(&all), 3, MPI_INT64_T, to(&mut back), 3, MPI_INT64_T, root as c_int));
            assert_eq!(back, mine, "{form:?}");
        }
    });
}

#[test]
fn blocks_of_any_lengths_are_gathered_and_scattered_to_any_places() {
    programs(|me, size| {
        for form in FORMS {
            // Rank r has r elements; blocks are in reverse order, with a gap of one.
            let counts: Vec<c_int> = (0..size as c_int).collect();
            let places: Vec<c_int> = (0..size)
                .map(|rank| (rank + 1..size).map(|after| after as c_int + 1).sum())
                .collect();
            let total = size * (size + 1) / 2 + 1;
            let mine = block(me, 0, me);
            let (mut all, mut back) = (vec![-1i64; total], vec![0i64; me]);
            form!(form, MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init(
                at(&mine), me as c_int, MPI_INT64_T, to(&mut all), counts.as_ptr(), places.as_ptr(), MPI_INT64_T));
            let mut expected = vec![-1i64; total];
            for from in 0..size {
                let place = places[from] as usize;
                expected[place..place + from].copy_from_slice(&block(from, 0, from));
            }
            assert_eq!(all, expected, "{form:?}");
            all.fill(-1);
            form!(form, MPI_Gatherv MPI_Igatherv MPI_Gatherv_init(
                at(&mine), me as c_int, MPI_INT64_T, to(&mut all), counts.as_ptr(), places.as_ptr(), MPI_INT64_T, 0));
            if me == 0 {
                assert_eq!(all, expected, "{form:?}");
            }
            form!(form, MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init(
                at(&all), counts.as_ptr(), places.as_ptr(), MPI_INT64_T, to(&mut back), me as c_int, MPI_INT64_T, 0));
            assert_eq!(back, mine, "{form:?}");
        }
    });
}

#[test]
fn every_rank_gets_its_block_of_every_other_rank() {
    programs(|me, size| {
        for form in FORMS {
            let output: Vec<i64> = (0..size).flat_map(|to| block(me, to, 2)).collect();
            let expected: Vec<i64> = (0..size).flat_map(|from| block(from, me, 2)).collect();
            let mut input = vec![0i64; 2 * size];
            form!(form, MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init(
                at(&output), 2, MPI_INT64_T, to(&mut input), 2, MPI_INT64_T));
            assert_eq!(input, expected, "{form:?}");
            let (counts, places) = (
                vec![2; size],
                (0..size as c_int).map(|rank| 2 * rank).collect::<Vec<_>>(),
            );
            input.fill(0);
            form!(form, MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init(
                at(&output), counts.as_ptr(), places.as_ptr(), MPI_INT64_T,
                to(&mut input), counts.as_ptr(), places.as_ptr(), MPI_INT64_T));
            assert_eq!(input, expected, "{form:?}");
            let bytes: Vec<c_int> = places.iter().map(|at| 8 * at).collect();
            let types = vec![MPI_INT64_T; size];
            input.fill(0);
            form!(form, MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init(
                at(&output), counts.as_ptr(), bytes.as_ptr(), types.as_ptr(),
                to(&mut input), counts.as_ptr(), bytes.as_ptr(), types.as_ptr()));
            assert_eq!(input, expected, "{form:?}");
            let mine = block(me, 0, 2);
            let mut all = vec![0i64; 2 * size];
            form!(form, MPI_Allgather MPI_Iallgather MPI_Allgather_init(
                at(&mine), 2, MPI_INT64_T, to(&mut all), 2, MPI_INT64_T));
            assert_eq!(
                all,
                (0..size)
                    .flat_map(|from| block(from, 0, 2))
                    .collect::<Vec<_>>(),
                "{form:?}"
            );
            form!(form, MPI_Barrier MPI_Ibarrier MPI_Barrier_init());
        }
    });
}

#[test]
fn reductions_and_prefixes_are_those_of_a_loop_over_the_ranks() {
    programs(|me, size| {
        for form in FORMS {
            check_totals(me, size, form);
            check_reduce(me, size, form);
            check_reduce_scatter(me, size, form);
        }
    });
}

/// The sums of the first four elements that these ranks have for rank 0.
fn sums(ranks: std::ops::Range<usize>) -> Vec<i64> {
    (0..4)
        .map(|i| ranks.clone().map(|from| element(from, 0, i)).sum())
        .collect()
}

/// Totals, which every rank gets, and prefixes.
fn check_totals(me: usize, size: usize, form: Form) {
    let mine = block(me, 0, 4);
    let mut result = vec![-1i64; 4];
    form!(form, MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init(
        at(&mine), to(&mut result), 4, MPI_INT64_T, MPI_SUM));
    assert_eq!(result, sums(0..size), "{form:?}");
    form!(form, MPI_Scan MPI_Iscan MPI_Scan_init(at(&mine), to(&mut result), 4, MPI_INT64_T, MPI_SUM));
    assert_eq!(result, sums(0..me + 1), "{form:?}");
    result.fill(-1);
    form!(form, MPI_Exscan MPI_Iexscan MPI_Exscan_init(at(&mine), to(&mut result), 4, MPI_INT64_T, MPI_SUM));
    let untouched = vec![-1; 4];
    let expected = if me == 0 { untouched } else { sums(0..me) };
    assert_eq!(result, expected, "{form:?}");
}

/// Sums that a root gets.
fn check_reduce(me: usize, size: usize, form: Form) {
    let (mine, root) = (block(me, 0, 4), size - 1);
    let mut result = vec![-1i64; 4];
    form!(form, MPI_Reduce MPI_Ireduce MPI_Reduce_init(
        at(&mine), to(&mut result), 4, MPI_INT64_T, MPI_SUM, root as c_int));
    let untouched = vec![-1; 4];
    let expected = if me == root { sums(0..size) } else { untouched };
    assert_eq!(result, expected, "{form:?}");
}

/// Sums of which each rank gets its block.
fn check_reduce_scatter(me: usize, size: usize, form: Form) {
    let blocks: Vec<i64> = (0..size).flat_map(|to| block(me, to, 2)).collect();
    let expected: Vec<i64> = (0..2)
        .map(|i| (0..size).map(|from| element(from, me, i)).sum())
        .collect();
    let mut part = vec![0i64; 2];
    form!(form, MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init(
        at(&blocks), to(&mut part), 2, MPI_INT64_T, MPI_SUM));
    assert_eq!(part, expected, "{form:?}");
    let counts = vec![2; size];
    part.fill(0);
    form!(form, MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init(
        at(&blocks), to(&mut part), counts.as_ptr(), MPI_INT64_T, MPI_SUM));
    assert_eq!(part, expected, "{form:?}");
}

/// Multiplies matrices of two rows, which does not commute.
unsafe extern "C" fn multiply(
    input: *mut std::ffi::c_void,
    inout: *mut std::ffi::c_void,
    len: *mut c_int,
    _: *mut MPI_Datatype,
) {
    // SAFETY: the library passes buffers of as many elements.
    let (a, b) = unsafe {
        let len = *len as usize;
        (
            std::slice::from_raw_parts(input.cast::<[u64; 4]>(), len),
            std::slice::from_raw_parts_mut(inout.cast(), len),
        )
    };
    for (a, b) in a.iter().zip(b) {
        *b = product(a, b);
    }
}

fn product(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    let at = |row: usize, column: usize| {
        a[2 * row]
            .wrapping_mul(b[column])
            .wrapping_add(a[2 * row + 1].wrapping_mul(b[2 + column]))
    };
    [at(0, 0), at(0, 1), at(1, 0), at(1, 1)]
}

#[test]
fn an_operator_of_the_program_is_applied_in_rank_order() {
    programs(|me, size| {
        let matrix = |rank: usize| [1, rank as u64 + 1, rank as u64, 1];
        let (mut datatype, mut op) = (MPI_DATATYPE_NULL, MPI_OP_NULL);
        ok!(MPI_Type_contiguous(4, MPI_UINT64_T, &mut datatype));
        ok!(MPI_Type_commit(&mut datatype));
        ok!(MPI_Op_create(Some(multiply), 0, &mut op));
        let mut result = [[0u64; 4]; 2];
        ok!(MPI_Allreduce(
            at(&[matrix(me); 2]),
            to(&mut result),
            2,
            datatype,
            op,
            MPI_COMM_WORLD
        ));
        let expected = (0..size)
            .map(matrix)
            .reduce(|a, b| product(&a, &b))
            .unwrap();
        assert_eq!(result, [expected; 2]);
        ok!(MPI_Op_free(&mut op));
        ok!(MPI_Type_free(&mut datatype));
        assert_eq!((datatype, op), (MPI_DATATYPE_NULL, MPI_OP_NULL));
    });
}

/// Returns the all-reduce of one element of this datatype, into an element that was all zeros.
fn all_reduced<T: Copy + Default>(own: T, datatype: MPI_Datatype, op: MPI_Op) -> T {
    let (own, mut result) = ([own], [T::default()]);
    ok!(MPI_Allreduce(
        at(&own),
        to(&mut result),
        1,
        datatype,
        op,
        MPI_COMM_WORLD
    ));
    result[0]
}

#[test]
fn predefined_operators_are_on_the_datatypes_that_the_standard_lists() {
    try_program(Program::new(3), |me, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        let rank = me as i32;
        let pair = all_reduced((5 - rank % 2, rank), MPI_2INT, MPI_MINLOC);
        assert_eq!(pair, (4, 1));
        let value = [(me as f64).to_bits(), rank as u64];
        let double = all_reduced(value, MPI_DOUBLE_INT, MPI_MAXLOC);
        assert_eq!(double[0], 2f64.to_bits());
        let complex = all_reduced([0f64, 1.0], MPI_C_DOUBLE_COMPLEX, MPI_PROD);
        assert_eq!(complex, [0.0, -1.0]);
        assert!(all_reduced(me == 1, MPI_C_BOOL, MPI_LOR));
        // SAFETY: the buffers are of one element.
        let wrong = unsafe {
            MPI_Allreduce(
                at(&[1f64]),
                to(&mut [0f64]),
                1,
                MPI_DOUBLE,
                MPI_BAND,
                MPI_COMM_WORLD,
            )
        };
        assert_eq!(wrong, MPI_ERR_OP);
    })
    .unwrap();
}

#[test]
fn what_is_in_place_stays_there_and_one_buffer_for_both_is_refused() {
    programs(gather_and_reduce_in_place);
    let said = failure(2, |_, _| {
        let mut data = [1i64];
        ok!(MPI_Allreduce(
            at(&data),
            to(&mut data),
            1,
            MPI_INT64_T,
            MPI_SUM,
            MPI_COMM_WORLD
        ));
    });
    assert!(
        said.contains("MPI_ERR_BUFFER") && said.contains("pass MPI_IN_PLACE"),
        "{said}"
    );
}

fn gather_and_reduce_in_place(me: usize, size: usize) {
    let mut all = vec![0i64; size];
    all[me] = element(me, 0, 0);
    ok!(MPI_Allgather(
        MPI_IN_PLACE,
        0,
        MPI_DATATYPE_NULL,
        to(&mut all),
        1,
        MPI_INT64_T,
        MPI_COMM_WORLD
    ));
    let expected: Vec<i64> = (0..size).map(|from| element(from, 0, 0)).collect();
    assert_eq!(all, expected);
    let mut sum = [me as i64];
    ok!(MPI_Allreduce(
        MPI_IN_PLACE,
        to(&mut sum),
        1,
        MPI_INT64_T,
        MPI_SUM,
        MPI_COMM_WORLD
    ));
    assert_eq!(sum, [(size * (size - 1) / 2) as i64]);
}

#[test]
fn ranks_that_differ_in_call_operator_or_datatype_are_named() {
    let calls = failure(3, |me, _| match me {
        2 => ok!(MPI_Barrier(MPI_COMM_WORLD)),
        _ => ok!(MPI_Bcast(to(&mut [0u8]), 1, MPI_BYTE, 0, MPI_COMM_WORLD)),
    });
    assert!(calls.contains("rank 2: MPI_Barrier at "), "{calls}");
    let operators = failure(3, |me, _| {
        let op = if me == 1 { MPI_MAX } else { MPI_SUM };
        ok!(MPI_Allreduce(
            at(&[1i32]),
            to(&mut [0i32]),
            1,
            MPI_INT,
            op,
            MPI_COMM_WORLD
        ));
    });
    assert!(
        operators.contains("rank 1: MPI_Allreduce(1 x MPI_INT, MPI_MAX) at "),
        "{operators}"
    );
    let datatypes = failure(2, |me, _| {
        let datatype = if me == 1 { MPI_FLOAT } else { MPI_INT };
        let mut data = [0i32; 2];
        ok!(MPI_Bcast(
            to(&mut data),
            len(&data),
            datatype,
            0,
            MPI_COMM_WORLD
        ));
    });
    assert!(
        datatypes.contains("rank 0 sends MPI_INT, and this rank receives MPI_FLOAT"),
        "{datatypes}"
    );
}
